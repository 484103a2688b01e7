//! What comes next: the next trial, or the end and its reason.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Role, Stopping, round};
use crate::environment::Covariates;
use crate::samples::{Comparison, Samples};
use crate::seed::Seed;

/// Failures after which an arm is not tried again.
const FAILURES_ENOUGH: usize = 2;

/// Error rate of the intervals whose width the stopping rule looks at, before the adjustment for
/// the number of arms.
const ALPHA: f64 = 0.05;

/// How a trial ended, as far as the design cares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Done {
    /// Measured, with the figure of the experiment's metric.
    Measured(f64),
    /// Cannot be run here.
    Skipped,
    /// Failed or timed out.
    Failed,
}

/// One trial that has been run.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Round, block and position.
    pub place: (u32, u32, u32),
    /// Index of the arm.
    pub arm: usize,
    /// What it was in its block.
    pub role: Role,
    /// How it ended.
    pub done: Done,
    /// How long it took in seconds, process and clean-up included.
    pub wall_s: f64,
    /// Whether the machine was disturbed meanwhile.
    pub disturbed: bool,
}

impl Seen {
    /// Whether covariates give a reason to drop the trial's block.
    pub fn is_disturbed(covariates: &Covariates) -> bool {
        covariates.disturbance().is_some()
    }
}

/// The trials of one experiment so far.
#[derive(Clone, Debug, Default)]
pub struct History {
    seen: HashMap<(u32, u32, u32), Seen>,
    /// By arm, the rounds in which it was not measured and whether it was skipped there; asked
    /// before every trial, so kept apart.
    troubles: HashMap<usize, Vec<(u32, bool)>>,
    begun: HashSet<u32>,
}

impl History {
    /// Adds a trial. A trial whose place is taken is a repetition: it is ignored and the answer
    /// is `false`.
    pub fn add(&mut self, seen: Seen) -> bool {
        if self.seen.contains_key(&seen.place) {
            return false;
        }
        self.begun.insert(seen.place.0);
        if !matches!(seen.done, Done::Measured(_)) {
            let trouble = (seen.place.0, seen.done == Done::Skipped);
            self.troubles.entry(seen.arm).or_default().push(trouble);
        }
        self.seen.insert(seen.place, seen);
        true
    }

    /// The number of rounds begun.
    pub fn rounds(&self) -> u32 {
        self.begun.iter().max().map_or(0, |last| last + 1)
    }

    /// The number of blocks begun, dropped ones included.
    pub fn blocks(&self) -> usize {
        let blocks: HashSet<(u32, u32)> =
            self.seen.keys().map(|place| (place.0, place.1)).collect();
        blocks.len()
    }

    /// The number of trials.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether nothing has been run.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The time taken so far, in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.seen.values().map(|seen| seen.wall_s).sum()
    }

    /// The blocks that are dropped because the machine was disturbed.
    ///
    /// Where more than half of all blocks were disturbed, none is dropped: then disturbance is
    /// how this machine is, and what remained would be no better.
    pub fn dropped_blocks(&self) -> Vec<(u32, u32)> {
        let mut blocks: HashMap<(u32, u32), bool> = HashMap::new();
        for seen in self.seen.values() {
            *blocks.entry((seen.place.0, seen.place.1)).or_default() |= seen.disturbed;
        }
        let mut dropped: Vec<(u32, u32)> = blocks
            .iter()
            .filter(|(_, disturbed)| **disturbed)
            .map(|(place, _)| *place)
            .collect();
        if 2 * dropped.len() > blocks.len() {
            dropped.clear();
        }
        dropped.sort_unstable();
        dropped
    }

    /// The figures of the experiment's metric without the dropped blocks.
    pub fn samples(&self, arms: usize) -> Samples {
        let dropped = self.dropped_blocks();
        let mut samples = Samples::new(arms);
        for seen in self.seen.values() {
            let (round, block, _) = seen.place;
            if let Done::Measured(value) = seen.done
                && dropped.binary_search(&(round, block)).is_err()
            {
                samples.add(round, block, seen.arm, seen.role, value);
            }
        }
        samples
    }

    /// Whether the arm is given up before `round`: it was skipped, or failed twice.
    fn given_up(&self, arm: usize, round: u32) -> bool {
        let Some(troubles) = self.troubles.get(&arm) else {
            return false;
        };
        let before = || troubles.iter().filter(|(when, _)| *when < round);
        before().any(|(_, skipped)| *skipped) || before().count() >= FAILURES_ENOUGH
    }
}

/// Why an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every effect is known as well as was asked.
    Precise,
    /// The largest number of rounds was reached.
    MaxRounds,
    /// Another round would have passed the time allowed.
    Budget,
    /// The reference arm cannot be measured.
    NoReference,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::Precise => "every effect was known precisely enough",
            StopReason::MaxRounds => "the largest number of rounds was reached",
            StopReason::Budget => "the time allowed was used up",
            StopReason::NoReference => "the reference arm could not be measured",
        })
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// This trial.
    Trial {
        /// Round, block and position.
        place: (u32, u32, u32),
        /// Index of the arm.
        arm: usize,
        /// What it is in its block.
        role: Role,
    },
    /// Nothing: the experiment is done.
    Stop(StopReason),
}

/// The next trial of an experiment, or the reason to stop.
///
/// Rounds are whole: the stopping rule is asked between rounds only. With a budget, a round is
/// not begun when it would probably pass the budget; the first round is always done.
pub fn next(
    seed: Seed,
    arms: usize,
    stopping: Stopping,
    budget_s: Option<f64>,
    history: &History,
) -> Next {
    for number in 0.. {
        if history.given_up(0, number) {
            return Next::Stop(StopReason::NoReference);
        }
        let alive: Vec<usize> = (1..arms)
            .filter(|arm| !history.given_up(*arm, number))
            .collect();
        if !history.begun.contains(&number)
            && let Some(reason) = stop_before(number, &alive, arms, stopping, budget_s, history)
        {
            return Next::Stop(reason);
        }
        for (block, trials) in round(seed, number, &alive).iter().enumerate() {
            for (position, trial) in trials.iter().enumerate() {
                let place = (number, block as u32, position as u32);
                if !history.seen.contains_key(&place) {
                    return Next::Trial {
                        place,
                        arm: trial.arm,
                        role: trial.role,
                    };
                }
            }
        }
    }
    unreachable!("rounds are counted without end")
}

fn stop_before(
    number: u32,
    alive: &[usize],
    arms: usize,
    stopping: Stopping,
    budget_s: Option<f64>,
    history: &History,
) -> Option<StopReason> {
    let usable = usable_rounds(alive, arms, history);
    if usable >= stopping.max_rounds as usize || number >= 2 * stopping.max_rounds {
        return Some(StopReason::MaxRounds);
    }
    let over_budget = budget_s.is_some_and(|budget| {
        let elapsed = history.elapsed_s();
        elapsed + elapsed / f64::from(number.max(1)) > budget
    });
    if over_budget && number > 0 {
        return Some(StopReason::Budget);
    }
    let enough = usable >= stopping.rounds as usize;
    (enough && is_precise(alive, arms, stopping.half_width, history)).then_some(StopReason::Precise)
}

/// The rounds in which the arm measured least often was compared with its reference.
fn usable_rounds(alive: &[usize], arms: usize, history: &History) -> usize {
    let samples = history.samples(arms);
    let compared = alive
        .iter()
        .map(|arm| samples.log_ratios(*arm, 0).len())
        .min();
    compared.unwrap_or_else(|| samples.values(0).len())
}

fn is_precise(alive: &[usize], arms: usize, half_width: f64, history: &History) -> bool {
    let samples = history.samples(arms);
    let alpha = ALPHA / alive.len().max(1) as f64;
    alive.iter().all(|arm| {
        Comparison::new(samples.log_ratios(*arm, 0)).is_some_and(|comparison| {
            comparison.interval(alpha).half_width() <= half_width * comparison.ratio()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(
        arms: usize,
        stopping: Stopping,
        budget_s: Option<f64>,
        figure: impl Fn(usize, u32) -> Done,
    ) -> (Vec<Next>, StopReason) {
        let mut history = History::default();
        let mut trials = Vec::new();
        loop {
            let upcoming = next(Seed(5), arms, stopping, budget_s, &history);
            match upcoming {
                Next::Stop(reason) => return (trials, reason),
                Next::Trial { place, arm, role } => {
                    trials.push(upcoming);
                    let done = figure(arm, place.0);
                    history.add(Seen {
                        place,
                        arm,
                        role,
                        done,
                        wall_s: 1.0,
                        disturbed: false,
                    });
                }
            }
        }
    }

    #[test]
    fn precise_figures_end_after_the_fewest_rounds() {
        let (trials, reason) = run(4, Stopping::default(), None, |arm, _| {
            Done::Measured(arm as f64 + 1.0)
        });
        // The interval for three arms needs an error rate of 1.7 %, which seven rounds just attain.
        assert_eq!(reason, StopReason::Precise);
        assert_eq!(trials.len(), 7 * 5);
    }

    #[test]
    fn noisy_figures_go_on_to_the_most_rounds() {
        let noisy = |arm: usize, round: u32| {
            let wobble = Seed(9)
                .nth(u64::from(round))
                .nth(arm as u64)
                .generator()
                .below(1000);
            Done::Measured(1.0 + wobble as f64 / 1000.0)
        };
        let (trials, reason) = run(2, Stopping::default(), None, noisy);
        assert_eq!(reason, StopReason::MaxRounds);
        assert_eq!(trials.len(), 30 * 3);
    }

    #[test]
    fn a_budget_ends_it_before_the_round_that_would_pass_it() {
        let (trials, reason) = run(2, Stopping::default(), Some(14.0), |_, round| {
            Done::Measured(1.0 + f64::from(round % 3))
        });
        assert_eq!(reason, StopReason::Budget);
        assert_eq!(trials.len(), 12);
    }

    #[test]
    fn an_arm_that_cannot_run_is_left_out_of_later_rounds_only() {
        let (trials, _) = run(3, Stopping::default(), None, |arm, _| match arm {
            1 => Done::Skipped,
            2 => Done::Failed,
            _ => Done::Measured(1.0),
        });
        let count = |wanted: usize| {
            trials
                .iter()
                .filter(|next| matches!(next, Next::Trial { arm, .. } if *arm == wanted))
                .count()
        };
        assert_eq!(count(1), 1);
        assert_eq!(count(2), 2);
    }

    #[test]
    fn without_a_reference_it_ends() {
        let (_, reason) = run(3, Stopping::default(), None, |_, _| Done::Failed);
        assert_eq!(reason, StopReason::NoReference);
    }

    #[test]
    fn what_comes_next_depends_on_outcomes_only_not_on_when_it_is_asked() {
        let (trials, _) = run(9, Stopping::default(), None, |arm, _| {
            Done::Measured(arm as f64 + 1.0)
        });
        let mut history = History::default();
        for expected in trials {
            assert_eq!(
                next(Seed(5), 9, Stopping::default(), None, &history.clone()),
                expected
            );
            let Next::Trial { place, arm, role } = expected else {
                continue;
            };
            history.add(Seen {
                place,
                arm,
                role,
                done: Done::Measured(arm as f64 + 1.0),
                wall_s: 1.0,
                disturbed: false,
            });
        }
    }

    #[test]
    fn disturbed_blocks_are_measured_again_unless_most_are_disturbed() {
        let mut history = History::default();
        let seen = |round, disturbed| Seen {
            place: (round, 0, 0),
            arm: 0,
            role: Role::Reference,
            done: Done::Measured(1.0),
            wall_s: 1.0,
            disturbed,
        };
        history.add(seen(0, true));
        history.add(seen(1, false));
        history.add(seen(2, false));
        assert_eq!(history.dropped_blocks(), [(0, 0)]);
        assert_eq!(history.samples(1).values(0).len(), 2);
        history.add(seen(3, true));
        history.add(seen(4, true));
        assert!(history.dropped_blocks().is_empty());
    }
}
