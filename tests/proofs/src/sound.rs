//! No false alarm: settings under which SQLite promises that nothing is lost, over many images.

use crate::crashes::{MODELS, settings};
use crate::workload::Workload;
use crash::{Cell, CrashError, CrashSettings, Plan, measure};
use engine::Source;
use lab::seed::Seed;
use lab::tier::Loss;
use std::sync::atomic::{AtomicBool, Ordering};

/// Journal mode and synchronous under which a commit that was acknowledged stays, whatever the storage
/// does within SQLite's assumptions (<https://sqlite.org/pragma.html#pragma_synchronous>). A journal
/// that is deleted needs EXTRA for that, because only EXTRA syncs the directory afterwards.
pub const SAFE: [&str; 4] = ["delete/extra", "truncate/full", "persist/full", "wal/full"];

/// Images of a cell in one round; the distinct ones are kept in memory by their hashes.
const IMAGES_OF_A_ROUND: usize = 20_000;

/// What was measured.
#[derive(Debug, Default)]
pub struct Seen {
    /// Images judged. They are distinct within a round; rounds differ in what they draw.
    pub images: u64,
    /// Rounds, each with a seed of its own.
    pub rounds: u64,
    /// Cells that showed anything but that nothing is lost.
    pub alarms: Vec<Cell>,
}

/// Judges images under the safe settings until there are `wanted`, an alarm, or, after a round, a stop.
///
/// # Errors
/// Those of measuring.
pub fn look_for_alarms(
    engine: &Source,
    wanted: u64,
    seed: u64,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Seen, CrashError> {
    let variants: Vec<CrashSettings> = SAFE.iter().filter_map(|name| settings(name)).collect();
    let cells = (variants.len() * MODELS.len()) as u64;
    let mut seen = Seen::default();
    while seen.images < wanted && seen.alarms.is_empty() && !stop.load(Ordering::Relaxed) {
        // Four of five rounds have the built-in workload.
        let workload = match seen.rounds % 5 {
            4 => Workload::ALL[1 + (seen.rounds as usize / 5) % (Workload::ALL.len() - 1)],
            _ => Workload::BuiltIn,
        };
        let share = (wanted - seen.images).div_ceil(cells);
        let plan = Plan {
            second_crash_every: 8,
            interruptions: 2,
            seed: Seed(seed).child("no false alarm").nth(seen.rounds),
            engine: engine.clone(),
            script: workload.script(),
            threads,
            ..Plan::new(
                variants.clone(),
                MODELS.to_vec(),
                (share as usize).clamp(100, IMAGES_OF_A_ROUND),
            )
        };
        let matrix = measure(&plan)?;
        seen.images += matrix.images;
        seen.rounds += 1;
        let alarms =
            matrix.cells.into_iter().filter(|cell| cell.safety.worst() != Some(Loss::Nothing));
        seen.alarms.extend(alarms);
    }
    Ok(seen)
}
