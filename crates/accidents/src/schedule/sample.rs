//! A sample of all scenarios of a journal mode, as large as time allows: for safety tiers, which are one
//! answer for a setting and not one for each scenario.

use super::plan::{self, Schedule};
use super::scenario::Scenario;
use super::{Finding, Stage};
use crate::AccidentError;
use lab::seed::{Seed, SplitMix64};
use std::collections::HashSet;

/// Schedules of a scenario that are played before the next one has its turn: making the files that a
/// scenario begins with takes longer than a schedule.
const TURN: u64 = 20;

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

/// Plays a seeded choice of the schedules of a journal mode, at most `each` of a scenario, as long as
/// `go_on` says so. Scenarios have turns, so that all have had some whenever it ends; the first turn of
/// each is played in any case. Nothing is played where no scenario is of that mode.
///
/// # Errors
/// The stage cannot be set.
pub fn sample(
    stage: &mut Stage,
    journal_mode: &str,
    each: u64,
    seed: Seed,
    mut go_on: impl FnMut() -> bool,
) -> Result<Sampled, AccidentError> {
    let mut decks: Vec<Deck> = plan::all()
        .filter(|(_, mode)| *mode == journal_mode)
        .map(|(scenario, mode)| Deck::new(scenario, mode, seed))
        .collect();
    let mut sampled = Sampled::default();
    let mut turns = 0;
    while !decks.is_empty() && (turns == 0 || go_on()) {
        for deck in &mut decks {
            if turns == 0 || go_on() {
                deck.turn(stage, each, &mut sampled)?;
            }
        }
        decks.retain(|deck| !deck.exhausted);
        turns += 1;
    }
    Ok(sampled)
}

/// The schedules of a scenario.
struct Deck {
    scenario: &'static Scenario,
    journal_mode: &'static str,
    generator: SplitMix64,
    /// The calls of the first connection where it is undisturbed.
    calls: Option<usize>,
    played: HashSet<Vec<usize>>,
    exhausted: bool,
}

impl Deck {
    fn new(scenario: &'static Scenario, journal_mode: &'static str, seed: Seed) -> Deck {
        Deck {
            scenario,
            journal_mode,
            generator: seed.child(scenario.id).child(journal_mode).generator(),
            calls: None,
            played: HashSet::new(),
            exhausted: false,
        }
    }

    fn turn(
        &mut self,
        stage: &mut Stage,
        each: u64,
        sampled: &mut Sampled,
    ) -> Result<(), AccidentError> {
        let mut schedule = Schedule::undisturbed(self.scenario, self.journal_mode);
        let calls = match self.calls {
            Some(calls) => calls,
            None => stage.play(&schedule, false)?.calls,
        };
        self.calls = Some(calls);
        for _ in 0..TURN {
            self.exhausted = self.played.len() as u64 >= each || !self.draw(&mut schedule, calls);
            if self.exhausted {
                break;
            }
            let played = stage.play(&schedule, false)?;
            sampled.played += 1;
            if !played.wrong.is_empty() {
                sampled.wrong += 1;
                sampled.first.get_or_insert_with(|| Finding {
                    schedule: schedule.to_string(),
                    what: played.wrong,
                });
            }
        }
        Ok(())
    }

    /// Draws a schedule that was not played yet; false where there seems to be none left.
    fn draw(&mut self, schedule: &mut Schedule, calls: usize) -> bool {
        (0..DRAWS).any(|_| {
            plan::draw(&mut schedule.places, calls, &mut self.generator);
            self.played.insert(schedule.places.clone())
        })
    }
}
