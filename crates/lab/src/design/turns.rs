//! Which experiment of a run has its turn.
//!
//! Experiments take turns, a round each, so that a run that is cut short, by a time limit or by
//! its user, has measured all of them about equally often, and slow changes of the machine are
//! spread over all of them.

use super::confirmation::confirmation_trials;
use super::{Course, History, Next, next};

/// What comes next in each experiment, in the order of `courses`.
pub fn outlook(courses: &[Course], histories: &[&History]) -> Vec<Next> {
    courses.iter().zip(histories).map(|(course, history)| next(course, history)).collect()
}

/// The experiment whose turn it is: the one that is in the earliest round; none when all of them
/// have come to their end.
pub fn turn(outlook: &[Next]) -> Option<usize> {
    let round = |next: &Next| match next {
        Next::Trial { place, .. } => Some(place.0),
        Next::Stop(_) => None,
    };
    (0..outlook.len())
        .filter_map(|index| Some((round(&outlook[index])?, index)))
        .min()
        .map(|(_, index)| index)
}

/// The part of a time limit, in seconds, that is left for the rounds of the experiment `index`:
/// the others keep what they have used, and what the trials after the last round will take is put
/// aside.
pub fn budget_of(limit_s: f64, index: usize, courses: &[Course], histories: &[&History]) -> f64 {
    let used_by_others: f64 = histories
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != index)
        .map(|(_, history)| history.elapsed_s())
        .sum();
    let put_aside: f64 = courses
        .iter()
        .zip(histories)
        .map(|(course, history)| seconds_after(course, history.trial_s().unwrap_or(0.0)))
        .sum();
    limit_s - used_by_others - put_aside
}

/// Trials of an experiment that are counted and not timed: one for each variant.
pub(super) fn counting_trials(course: &Course) -> usize {
    if course.counting { course.variants } else { 0 }
}

/// Seconds that the trials after the last round of an experiment take in all when a trial takes
/// `trial_s`: those that count, and those that measure again what was chosen from many.
pub(super) fn seconds_after(course: &Course, trial_s: f64) -> f64 {
    (counting_trials(course) + confirmation_trials(course)) as f64 * trial_s
}

#[cfg(test)]
mod tests {
    use super::super::{Done, Observation, Role, StopReason, Stopping, trials_per_round};
    use super::*;
    use crate::seed::Seed;

    /// Seconds of each trial.
    const TRIAL_S: f64 = 2.0;

    fn course(variants: usize, rounds: u32) -> Course {
        Course {
            seed: Seed(7),
            variants,
            upper_bounds: 0,
            counting: true,
            stopping: Stopping { rounds, max_rounds: rounds, ..Stopping::default() },
            budget_s: None,
            alone: false,
        }
    }

    /// Carries a run out; gives the experiment and round of each trial, and why each ended.
    fn run(mut courses: Vec<Course>, limit_s: Option<f64>) -> (Vec<(usize, u32)>, Vec<StopReason>) {
        let mut histories: Vec<History> = courses.iter().map(|_| History::default()).collect();
        let mut trials = Vec::new();
        loop {
            let so_far: Vec<&History> = histories.iter().collect();
            let budgets: Vec<Option<f64>> = (0..courses.len())
                .map(|index| Some(budget_of(limit_s?, index, &courses, &so_far)))
                .collect();
            for (course, budget_s) in courses.iter_mut().zip(budgets) {
                course.budget_s = budget_s;
            }
            let outlook = outlook(&courses, &so_far);
            let Some(index) = turn(&outlook) else {
                let reasons = outlook.iter().map(|next| match next {
                    Next::Stop(reason) => *reason,
                    Next::Trial { .. } => unreachable!("no experiment has a turn"),
                });
                return (trials, reasons.collect());
            };
            let Next::Trial { place, variant, role } = outlook[index] else {
                unreachable!("its turn")
            };
            if role != Role::Counting {
                trials.push((index, place.0));
            }
            histories[index].add(Observation {
                place,
                variant,
                role,
                done: Done::Measured(1.0 + variant as f64),
                wall_s: TRIAL_S,
                disturbed: false,
            });
        }
    }

    #[test]
    fn experiments_take_turns_a_whole_round_each() {
        let (trials, reasons) = run(vec![course(2, 2), course(3, 3)], None);
        let mut turns = trials;
        turns.dedup();
        assert_eq!(turns, [(0, 0), (1, 0), (0, 1), (1, 1), (1, 2)]);
        assert_eq!(reasons, [StopReason::MaxRounds; 2]);
    }

    #[test]
    fn a_time_limit_is_shared_by_all_and_holds_for_the_counting_too() {
        let courses = vec![course(2, 50), course(4, 50), course(3, 2)];
        let limit_s = 300.0;
        let (trials, reasons) = run(courses.clone(), Some(limit_s));
        let rounds =
            |index| trials.iter().filter(|(at, _)| *at == index).map(|(_, round)| *round + 1).max();
        assert_eq!(reasons, [StopReason::Budget, StopReason::Budget, StopReason::MaxRounds]);
        let (first, second) = (rounds(0).unwrap(), rounds(1).unwrap());
        assert!(first.abs_diff(second) <= 1, "{first} and {second} rounds");
        let counting: f64 = courses.iter().map(|course| course.variants as f64 * TRIAL_S).sum();
        let taken = trials.len() as f64 * TRIAL_S + counting;
        let a_round = trials_per_round(4) as f64 * TRIAL_S;
        assert!(taken <= limit_s && taken > limit_s - a_round, "{taken} s");
    }

    #[test]
    fn every_experiment_gets_its_first_round_however_little_time_there_is() {
        let (trials, reasons) = run(vec![course(2, 9), course(2, 9)], Some(1.0));
        let mut turns = trials;
        turns.dedup();
        assert_eq!(turns, [(0, 0), (1, 0)]);
        assert_eq!(reasons, [StopReason::Budget; 2]);
    }
}
