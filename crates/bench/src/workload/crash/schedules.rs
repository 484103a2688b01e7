//! What needs no crash: two connections that meet at chosen moments, in the journal mode of the variant.

use std::path::Path;
use std::sync::Arc;

use accidents::schedule::{Finding, Sampled, Stage, sample};
use crash::{CrashSettings, LockingMode};
use engine::Library;
use lab::seed::Seed;
use lab::tier::{Schedules, WrongSchedule};

use super::again::engine_name;

/// Plays at most `each` schedules of a scenario in a folder of the trial. Nothing that goes wrong here spoils what was found of
/// crashes: the reason stands in the place of the answer.
pub(super) fn play(
    library: &Arc<Library>,
    variant: &CrashSettings,
    folder: &Path,
    each: usize,
    seed: Seed,
) -> Schedules {
    if variant.locking_mode == LockingMode::Exclusive {
        return not_measured("with locking_mode=exclusive no second connection comes in");
    }
    if each == 0 {
        return not_measured("the parameter `schedules` is 0");
    }
    let mode = variant.journal_mode.name();
    let seed = seed.child("schedules");
    let sampled = Stage::new(library, folder)
        .and_then(|mut stage| sample(&mut stage, mode, each as u64, seed));
    match sampled {
        Ok(Sampled { played: 0, .. }) => {
            not_measured(&format!("there is no scenario for journal_mode={mode}"))
        }
        Ok(sampled) => played(sampled, library),
        Err(error) => not_measured(&error.to_string()),
    }
}

fn not_measured(why: &str) -> Schedules {
    Schedules::NotMeasured {
        why: why.to_owned(),
    }
}

fn played(sampled: Sampled, library: &Library) -> Schedules {
    Schedules::Played {
        played: sampled.played,
        wrong: sampled.wrong,
        first: sampled.first.map(|first| wrong_schedule(&first, library)),
    }
}

/// A schedule that went wrong, with the command that plays it again.
pub(super) fn wrong_schedule(finding: &Finding, library: &Library) -> WrongSchedule {
    let engine = engine_name(&super::source(&library.identity().origin));
    WrongSchedule {
        again: format!(
            "pragmark crash --schedule {} --engine {engine}",
            finding.schedule
        ),
        what: finding.what.join("; "),
        schedule: finding.schedule.clone(),
    }
}
