//! Pilots: each variant of an experiment once, ahead of a run whose size has to be judged.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lab::design::Role;
use lab::pilot::Pilot;
use lab::record::{EngineRecord, PlannedExperiment, RunPlan};
use lab::trial::Outcome;

use crate::error::RunError;
use crate::postgres::Servers;
use crate::process::{Driver, run_trial};
use crate::run::{Slot, specification};
use crate::workdir::WorkDir;

/// Runs every variant and limit of the experiment once; none when it was cancelled.
///
/// # Errors
/// When the measured directory cannot be used or the driver cannot be started.
pub fn run_pilots(
    plan: &RunPlan,
    engines: &[EngineRecord],
    planned: &PlannedExperiment,
    driver: &Driver,
    servers: &mut Servers,
    cancelled: &AtomicBool,
) -> Result<Option<Vec<Pilot>>, RunError> {
    let work = WorkDir::create(&planned.directory, &plan.id)?;
    let limit = Duration::from_secs_f64(plan.trial_limit_s);
    let mut pilots = Vec::new();
    for index in 0..planned.variants.len() + planned.upper_bounds.len() {
        let clock = Instant::now();
        let directory = work.trial()?;
        let slot = Slot {
            place: (0, 0, 0),
            variant: index,
            role: Role::Variant,
        };
        let outcome = match specification(plan, engines, planned, directory.path(), slot) {
            Ok(mut spec) => {
                let measured = &planned.directory;
                match servers.provide(&mut spec, measured, &plan.id, cancelled) {
                    Ok(()) => run_trial(driver, &spec, limit, cancelled, &mut |_| {})?,
                    Err(instead) => instead,
                }
            }
            Err(why) => Some(Outcome::Skipped { why }),
        };
        let Some(outcome) = outcome else {
            return Ok(None);
        };
        drop(directory);
        pilots.push(Pilot {
            index,
            wall_s: clock.elapsed().as_secs_f64(),
            outcome,
        });
    }
    Ok(Some(pilots))
}
