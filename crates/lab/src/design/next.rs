//! What comes next: the next trial, or the end and its reason.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{History, Role, Stopping, round};
use crate::samples::Comparison;
use crate::seed::Seed;
use crate::stats::ALPHA;

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

/// What decides the course of an experiment, besides outcomes.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// From which the order of trials derives.
    pub seed: Seed,
    /// Arms, the reference among them.
    pub arms: usize,
    /// Limits; their indices follow those of the arms.
    pub limits: usize,
    /// Whether each arm is run once more in the end, counting what it does to files.
    pub counting: bool,
    /// When it ends.
    pub stopping: Stopping,
    /// Seconds that its rounds may take; none for no limit.
    pub budget_s: Option<f64>,
}

/// The next trial of an experiment, or the reason to stop.
///
/// Rounds are whole: the stopping rule is asked between rounds only. With a budget, a round is
/// not begun when it would probably pass the budget; the first round is always done.
pub fn next(course: &Course, history: &History) -> Next {
    for number in 0.. {
        if history.given_up(0, number) {
            return Next::Stop(StopReason::NoReference);
        }
        let alive: Vec<usize> = (1..course.arms + course.limits)
            .filter(|arm| !history.given_up(*arm, number))
            .collect();
        if !history.begun.contains(&number)
            && let Some(reason) = stop_before(number, &alive, course, history)
        {
            return count_before(number, &alive, course, history).unwrap_or(Next::Stop(reason));
        }
        for (block, trials) in round(course.seed, number, &alive).iter().enumerate() {
            for (position, trial) in trials.iter().enumerate() {
                let place = (number, block as u32, position as u32);
                if !history.seen.contains_key(&place) {
                    let role = if trial.arm < course.arms {
                        trial.role
                    } else {
                        Role::Limit
                    };
                    return Next::Trial {
                        place,
                        arm: trial.arm,
                        role,
                    };
                }
            }
        }
    }
    unreachable!("rounds are counted without end")
}

/// The next counting trial: one for each arm that was measured, after the last round.
fn count_before(number: u32, alive: &[usize], course: &Course, history: &History) -> Option<Next> {
    let measured = |arm: &usize| *arm < course.arms && !history.counted.contains(arm);
    let arm = course
        .counting
        .then(|| [0].iter().chain(alive).copied().find(measured))??;
    Some(Next::Trial {
        place: (number, 0, arm as u32),
        arm,
        role: Role::Counting,
    })
}

fn stop_before(
    number: u32,
    alive: &[usize],
    course: &Course,
    history: &History,
) -> Option<StopReason> {
    let Course {
        arms,
        stopping,
        budget_s,
        ..
    } = *course;
    let alive: Vec<usize> = alive.iter().copied().filter(|arm| *arm < arms).collect();
    let usable = usable_rounds(&alive, arms, history);
    if usable >= stopping.max_rounds as usize || number >= 2 * stopping.max_rounds {
        return Some(StopReason::MaxRounds);
    }
    let enough = usable >= stopping.rounds as usize;
    if enough && is_precise(&alive, arms, stopping.half_width, history) {
        return Some(StopReason::Precise);
    }
    let over_budget = budget_s.is_some_and(|budget| {
        let elapsed = history.elapsed_s();
        elapsed + elapsed / f64::from(number.max(1)) > budget
    });
    (over_budget && number > 0).then_some(StopReason::Budget)
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
    use super::super::{Done, Seen};
    use super::*;

    fn course(arms: usize, stopping: Stopping, budget_s: Option<f64>) -> Course {
        Course {
            seed: Seed(5),
            arms,
            limits: 0,
            counting: false,
            stopping,
            budget_s,
        }
    }

    fn run(
        arms: usize,
        stopping: Stopping,
        budget_s: Option<f64>,
        figure: impl Fn(usize, u32) -> Done,
    ) -> (Vec<Next>, StopReason) {
        let mut history = History::default();
        let mut trials = Vec::new();
        loop {
            let upcoming = next(&course(arms, stopping, budget_s), &history);
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
                next(&course(9, Stopping::default(), None), &history.clone()),
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
    fn limits_run_in_every_round_and_each_measured_arm_is_counted_once_in_the_end() {
        let course = Course {
            limits: 2,
            counting: true,
            ..course(3, Stopping::default(), None)
        };
        let mut history = History::default();
        let mut roles = Vec::new();
        while let Next::Trial { place, arm, role } = next(&course, &history) {
            roles.push((role, arm));
            let done = if arm == 2 {
                Done::Skipped
            } else {
                Done::Measured(arm as f64 + 1.0)
            };
            history.add(Seen {
                place,
                arm,
                role,
                done,
                wall_s: 1.0,
                disturbed: false,
            });
        }
        let count = |wanted| roles.iter().filter(|seen| **seen == wanted).count();
        assert_eq!((count((Role::Limit, 3)), count((Role::Limit, 4))), (7, 7));
        assert_eq!(
            roles[roles.len() - 2..],
            [(Role::Counting, 0), (Role::Counting, 1)]
        );
        assert_eq!(count((Role::Counting, 2)), 0);
    }
}
