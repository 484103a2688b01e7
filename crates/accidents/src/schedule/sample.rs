//! A sample of all scenarios of a journal mode: for safety tiers, which are one answer for a setting and not
//! one for each scenario.

use super::plan::{self, Schedule};
use super::{Finding, Stage};
use crate::AccidentError;
use lab::seed::Seed;
use std::collections::HashSet;

/// How often a schedule is drawn that was played before until the scenario counts as exhausted.
const DRAWS: u32 = 50;

/// The result of the schedules of a journal mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sampled {
    /// The schedules played, each once.
    pub played: u64,
    /// Those that went wrong.
    pub wrong: u64,
    /// The first of them.
    pub first: Option<Finding>,
}

/// Plays a seeded choice of the schedules of a journal mode, at most `each` of a scenario. Nothing is played
/// where no scenario is of that mode.
///
/// # Errors
/// The stage cannot be set.
pub fn sample(
    stage: &mut Stage,
    journal_mode: &str,
    each: u64,
    seed: Seed,
) -> Result<Sampled, AccidentError> {
    let mut sampled = Sampled::default();
    for (scenario, mode) in plan::all().filter(|(_, mode)| *mode == journal_mode) {
        let undisturbed = Schedule::undisturbed(scenario, mode);
        let seed = seed.child(scenario.id).child(mode);
        sampled.play(stage, undisturbed, each, seed)?;
    }
    Ok(sampled)
}

impl Sampled {
    /// Plays up to `each` schedules of a scenario, no two alike.
    fn play(
        &mut self,
        stage: &mut Stage,
        mut schedule: Schedule,
        each: u64,
        seed: Seed,
    ) -> Result<(), AccidentError> {
        let calls = stage.play(&schedule, false)?.calls;
        let mut generator = seed.generator();
        let mut known = HashSet::new();
        let mut is_new = |schedule: &mut Schedule| {
            (0..DRAWS).any(|_| {
                plan::draw(&mut schedule.places, calls, &mut generator);
                known.insert(schedule.places.clone())
            })
        };
        for _ in 0..each {
            if !is_new(&mut schedule) {
                break;
            }
            let played = stage.play(&schedule, false)?;
            self.add(&schedule, played.wrong);
        }
        Ok(())
    }

    fn add(&mut self, schedule: &Schedule, wrong: Vec<String>) {
        self.played += 1;
        if !wrong.is_empty() {
            self.wrong += 1;
            self.first.get_or_insert_with(|| Finding {
                schedule: schedule.to_string(),
                what: wrong,
            });
        }
    }
}
