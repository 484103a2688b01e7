//! Schedules as data: their text form, and their order. Pure logic, so that it can be tested without a
//! database.

use super::scenario::{RARE, SCENARIOS, Scenario};
use crate::error::{CrashError, Result};
use lab::seed::{Seed, SplitMix64};
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

/// The place of each action of the second connection: the number of calls of the first before it. Places
/// never decrease, because a connection acts in order; a place after the last call means the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The scenario.
    pub scenario: &'static str,
    /// The journal mode.
    pub journal_mode: &'static str,
    /// The places.
    pub places: Vec<usize>,
}

/// How a schedule is written.
pub(super) const EXAMPLE: &str = "checkpoint-and-restart/wal@9,30";

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<String> = self.places.iter().map(usize::to_string).collect();
        write!(f, "{}/{}@{}", self.scenario, self.journal_mode, places.join(","))
    }
}

impl FromStr for Schedule {
    type Err = CrashError;

    fn from_str(text: &str) -> Result<Schedule> {
        let wrong = || {
            let what = "is not a schedule; one looks like";
            CrashError::Failed(format!("{text} {what} {EXAMPLE}"))
        };
        let (name, places) = text.split_once('@').ok_or_else(wrong)?;
        let (id, journal_mode) = name.split_once('/').ok_or_else(wrong)?;
        let (scenario, journal_mode) = all()
            .find(|(scenario, mode)| scenario.id == id && *mode == journal_mode)
            .ok_or_else(|| CrashError::scenario(name))?;
        let places = places
            .split(',')
            .map(|place| place.trim().parse().map_err(|_| wrong()))
            .collect::<Result<Vec<usize>>>()?;
        if places.len() != scenario.second.len() || !places.is_sorted() {
            return Err(wrong());
        }
        Ok(Schedule { scenario: scenario.id, journal_mode, places })
    }
}

/// Returns every scenario in every journal mode in which it makes sense.
pub fn all() -> impl Iterator<Item = (&'static Scenario, &'static str)> {
    SCENARIOS
        .iter()
        .chain(RARE)
        .flat_map(|scenario| scenario.journal_modes.iter().map(move |mode| (scenario, *mode)))
}

/// Advances to the next places, in lexicographic order; returns false if there are none. `calls` is the
/// number of calls that the first connection made under the current places: all later places mean "at the
/// end" and are skipped.
pub(super) fn advance(places: &mut [usize], calls: usize) -> bool {
    let Some(movable) = places.iter().rposition(|place| *place <= calls) else { return false };
    let next = places[movable] + 1;
    places[movable..].fill(next);
    true
}

/// Draws places for each action.
fn draw(places: &mut [usize], calls: usize, generator: &mut SplitMix64) {
    for place in &mut *places {
        *place = generator.below(calls as u64 + 2) as usize;
    }
    places.sort_unstable();
}

/// Schedules of a scenario that are drawn, no two alike.
pub(super) struct SampledPlaces {
    calls: usize,
    generator: SplitMix64,
    known: HashSet<Vec<usize>>,
}

impl SampledPlaces {
    /// How often a schedule is drawn that was drawn before until the scenario counts as exhausted.
    const DRAWS: u32 = 50;

    pub(super) fn new(calls: usize, seed: Seed) -> SampledPlaces {
        SampledPlaces { calls, generator: seed.generator(), known: HashSet::new() }
    }

    /// Draws places that were not drawn before; false where there seem to be none.
    pub(super) fn next(&mut self, places: &mut [usize]) -> bool {
        (0..SampledPlaces::DRAWS).any(|_| {
            draw(places, self.calls, &mut self.generator);
            self.known.insert(places.to_vec())
        })
    }
}

/// How many schedules there are if every run makes the same number of calls, at most `u64::MAX`: the
/// ways to choose places from `calls + 2` with repetition.
pub(super) fn count(calls: usize, actions: usize) -> u64 {
    let choices = calls as u128 + 2;
    let ways = (0..actions as u128)
        .fold(1_u128, |ways, action| ways.saturating_mul(choices + action) / (action + 1));
    u64::try_from(ways).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn enumerate(calls: usize, actions: usize) -> Vec<Vec<usize>> {
        let mut places = vec![0; actions];
        let mut all = vec![places.clone()];
        while advance(&mut places, calls) {
            all.push(places.clone());
        }
        all
    }

    #[test]
    fn places_are_drawn_in_order_and_reach_both_ends() {
        let mut generator = lab::seed::Seed(1).generator();
        let mut drawn = std::collections::BTreeSet::new();
        for _ in 0..1_000 {
            let mut places = [0; 2];
            draw(&mut places, 3, &mut generator);
            assert!(places.is_sorted());
            drawn.insert(places);
        }
        assert_eq!(drawn.len() as u64, count(3, 2), "{drawn:?}");
    }

    #[test]
    fn what_is_drawn_is_never_drawn_again_and_is_all_in_the_end() {
        let mut drawn = SampledPlaces::new(3, Seed(1));
        let mut places = [0; 2];
        let mut seen = std::collections::BTreeSet::new();
        while drawn.next(&mut places) {
            assert!(seen.insert(places));
        }
        assert_eq!(seen.len() as u64, count(3, 2));
    }

    #[test]
    fn one_act_takes_place_before_after_and_between_all_calls() {
        assert_eq!(enumerate(2, 1), [[0], [1], [2], [3]]);
    }

    proptest! {
        #[test]
        fn places_are_enumerated_once_each_in_order_and_completely(calls in 0_usize..9, actions in 1_usize..4) {
            let all = enumerate(calls, actions);
            prop_assert!(all.is_sorted_by(|a, b| a < b));
            prop_assert!(all.iter().all(|places| places.is_sorted()));
            prop_assert_eq!(all.len() as u64, count(calls, actions));
        }

        #[test]
        fn a_schedule_survives_being_written_down(first in 0_usize..99, more in 0_usize..99) {
            let schedule = Schedule {
                scenario: "checkpoint-and-restart",
                journal_mode: "wal",
                places: vec![first, first + more],
            };
            let read: Schedule = schedule.to_string().parse().unwrap();
            prop_assert_eq!(read, schedule);
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_an_example() {
        for text in [
            "",
            "checkpoint-and-restart",
            "checkpoint-and-restart/wal@",
            "checkpoint-and-restart/wal@1",
            "checkpoint-and-restart/wal@5,4",
            "checkpoint-and-restart/wal@a,b",
        ] {
            let error = text.parse::<Schedule>().unwrap_err().to_string();
            assert!(error.contains(EXAMPLE), "{error}");
        }
        for text in ["absent/wal@1,2", "checkpoint-and-restart/delete@1,2"] {
            let error = text.parse::<Schedule>().unwrap_err().to_string();
            assert!(error.contains("no scenario"), "{error}");
        }
        EXAMPLE.parse::<Schedule>().unwrap();
    }
}
