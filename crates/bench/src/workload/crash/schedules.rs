//! What needs no crash: two connections that meet at chosen moments, in the journal mode of the variant.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crash::schedule::{Extent, Finding, Scenario, ScenarioResult, explore_all};
use crash::{CrashSettings, LockingMode};
use engine::Library;
use lab::seed::Seed;
use lab::tier::{SCHEDULES_EACH, SCHEDULES_IN_FULL, Schedules, WrongSchedule};
use serde::{Deserialize, Serialize};

use super::again::engine_name;
use super::known_schedules::Known;

/// Plays the scenarios of the variant in a folder of the trial: those with few schedules in full, `each` of the others.
/// Nothing that goes wrong here spoils what was found of crashes: the reason stands in the place of the answer.
pub(super) fn run(
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
    let extent = extent(each as u64, seed);
    let known = Known::of(library, mode, extent);
    if let Some(summary) = known.as_ref().and_then(Known::find) {
        return summary.schedules(library);
    }
    let stop = AtomicBool::new(false);
    let is_of_mode = |scenario: &Scenario, of: &str| scenario.is_of_tiers() && of == mode;
    match explore_all(library, folder, extent, is_of_mode, &stop, |_| {}) {
        Ok(explored) if explored.is_empty() => {
            not_measured(&format!("there is no scenario for journal_mode={mode}"))
        }
        Ok(explored) => {
            let summary = Summary::of(&explored);
            if let Some(known) = &known {
                known.keep(&summary);
            }
            summary.schedules(library)
        }
        Err(error) => not_measured(&error.to_string()),
    }
}

/// What is played where `each` schedules of a scenario are wanted: as much as for a safety tier, or less.
fn extent(each: u64, seed: Seed) -> Extent {
    let in_full = match each >= u64::from(SCHEDULES_EACH) {
        true => SCHEDULES_IN_FULL.into(),
        false => 0,
    };
    Extent {
        all_up_to: each.max(in_full),
        sample: each,
        seed: seed.child("schedules").0,
        threads: super::settings::processors(),
    }
}

fn not_measured(why: &str) -> Schedules {
    Schedules::NotMeasured { why: why.to_owned() }
}

/// What came of all scenarios of a journal mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    played: u64,
    wrong: u64,
    first: Option<Finding>,
}

impl Summary {
    fn of(explored: &[ScenarioResult]) -> Summary {
        let mut findings = explored.iter().flat_map(|scenario| &scenario.findings);
        Summary {
            played: explored.iter().map(|scenario| scenario.played).sum(),
            wrong: explored.iter().map(|scenario| scenario.wrong).sum(),
            first: findings.next().cloned(),
        }
    }

    fn schedules(self, library: &Library) -> Schedules {
        let first = self.first.as_ref();
        Schedules::Played {
            played: self.played,
            wrong: self.wrong,
            first: first.map(|first| wrong_schedule(first, library)),
        }
    }
}

/// A schedule that went wrong, with the command that plays it again.
pub(super) fn wrong_schedule(finding: &Finding, library: &Library) -> WrongSchedule {
    let engine = engine_name(&super::source(&library.identity().origin));
    WrongSchedule {
        again: format!("pragmark crash --schedule {} --engine {engine}", finding.schedule),
        what: finding.what.join("; "),
        schedule: finding.schedule.clone(),
    }
}
