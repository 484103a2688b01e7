//! The turns of a run's experiments, and how long the experiments take.
//!
//! Experiments take turns, a round each, so that a run that is cut short, by a time limit or by
//! its user, has measured all of them about equally often, and slow changes of the machine are
//! spread over all of them.
//!
//! Several machines can work on one run only if blocks are known before the blocks ahead of them have ended ([`ahead`]).
//! The forecast assumes that every trial will be measured and that no experiment becomes precise enough. A block
//! that turns out not to be needed is left out of the record, so a forecast never changes a run.
//!
//! Choosing the best of many is biased: of 54 identical variants, the best looks 6.6 % faster
//! after three rounds with 5 % of noise (`docs/method.md`). With many to choose from, the rounds that
//! choose do not report the gain: the chosen variants and the baseline get rounds of their own, in
//! an order and on data of their own ([`crate::plan::confirmation_plan`]).

use super::{
    DesignParams, Done, History, Next, Observation, Stopping, block, next, trials_per_round,
};
use crate::samples::Samples;
use crate::stats::standard_deviation;

/// Returns the next step of each experiment, in the order of `params`.
pub fn outlook(params: &[DesignParams], histories: &[&History]) -> Vec<Next> {
    params.iter().zip(histories).map(|(params, history)| next(params, history)).collect()
}

/// Returns the experiment whose turn it is: the one that is in the earliest round; `None` if all of them
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

/// Returns the part of a time limit, in seconds, that is left for the rounds of the experiment `index`:
/// the others keep what they have used, and what the trials after the last round will take is put
/// aside.
pub fn budget_of(
    limit_s: f64,
    index: usize,
    params: &[DesignParams],
    histories: &[&History],
) -> f64 {
    let used_by_others: f64 = histories
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != index)
        .map(|(_, history)| history.elapsed_s)
        .sum();
    let put_aside: f64 = params
        .iter()
        .zip(histories)
        .map(|(params, history)| seconds_after(params, history.trial_s().unwrap_or(0.0)))
        .sum();
    limit_s - used_by_others - put_aside
}

/// Trials of an experiment that are counted and not timed: one for each variant.
pub(super) fn counting_trials(params: &DesignParams) -> usize {
    if params.counting { params.variants } else { 0 }
}

/// Seconds that the trials after the last round of an experiment take in all when a trial takes
/// `trial_s`: those that count, and those that measure again what was chosen from many.
pub(super) fn seconds_after(params: &DesignParams, trial_s: f64) -> f64 {
    (counting_trials(params) + confirmation_trials(params)) as f64 * trial_s
}

/// Returns the blocks that come next, up to `count`, in their order, each with the index of its experiment.
pub fn ahead(
    params: &[DesignParams],
    histories: &[&History],
    count: usize,
) -> Vec<(usize, Vec<Next>)> {
    let params: Vec<DesignParams> = params.iter().map(imprecise).collect();
    let mut supposed: Vec<History> = histories.iter().map(|history| (*history).clone()).collect();
    let mut blocks = Vec::new();
    while blocks.len() < count {
        let so_far: Vec<&History> = supposed.iter().collect();
        let Some(index) = turn(&outlook(&params, &so_far)) else { break };
        let trials = block(&params[index], so_far[index]);
        let wall_s = so_far[index].trial_s().unwrap_or(0.0);
        for trial in &trials {
            supposed[index].add(measured(*trial, wall_s));
        }
        blocks.push((index, trials));
    }
    blocks
}

/// Returns the same params, without an end for being precise.
fn imprecise(params: &DesignParams) -> DesignParams {
    DesignParams { stopping: Stopping { half_width: -1.0, ..params.stopping }, ..*params }
}

/// Returns the trial as if it had been measured, in the usual time.
fn measured(trial: Next, wall_s: f64) -> Observation {
    let Next::Trial { place, variant, role } = trial else {
        unreachable!("a block consists of trials")
    };
    Observation { place, variant, role, done: Done::Measured(1.0), wall_s, disturbed: false }
}

/// Rounds before which the noise says nothing yet.
const FEWEST: u32 = 3;

/// Returns the rounds that the stopping rule will probably ask for.
///
/// Half the width of a 95 % interval is about 2·σ/√n for paired differences with deviation σ, and
/// a little more for many variants; the variant with the most noise decides. Before three rounds are
/// done, the fewest rounds are expected.
pub fn expected_rounds(variants: usize, stopping: Stopping, history: &History) -> u32 {
    if history.rounds() < FEWEST {
        return stopping.rounds;
    }
    let samples = history.samples(variants);
    let noisiest =
        (1..variants).filter_map(|variant| deviation(&samples, variant)).fold(0.0, f64::max);
    let needed = (normal_quantile_for(variants) * noisiest / stopping.half_width).powi(2).ceil();
    (needed as u32).clamp(stopping.rounds, stopping.max_rounds.max(stopping.rounds))
}

/// Trials of the fewest rounds, and of counting.
pub fn fewest_trials(params: &DesignParams) -> usize {
    params.stopping.rounds as usize * per_round(params) + counting_trials(params)
}

/// Seconds that the experiment will probably still take; `trial_s` is how long a trial takes
/// where none of the experiment's own has been run.
pub fn expected_seconds(params: &DesignParams, history: &History, trial_s: f64) -> f64 {
    let own = history.trial_s().unwrap_or(trial_s);
    let rounds = if params.alone {
        params.stopping.rounds
    } else {
        expected_rounds(params.variants, params.stopping, history)
    };
    let all = f64::from(rounds) * per_round(params) as f64 * own;
    let capped = params.budget_s.map_or(all, |budget| all.min(budget));
    (capped - history.elapsed_s).max(0.0) + seconds_after(params, own)
}

fn per_round(params: &DesignParams) -> usize {
    if params.alone {
        params.variants
    } else {
        trials_per_round(params.variants + params.upper_bounds)
    }
}

fn deviation(samples: &Samples, variant: usize) -> Option<f64> {
    standard_deviation(&samples.log_ratios(variant, 0))
}

/// Two-sided normal quantile at 5 % divided by the number of comparisons, by the tail bound
/// z ≈ √(2·ln(1/p)), which is near enough for a forecast.
fn normal_quantile_for(variants: usize) -> f64 {
    let p = 0.025 / (variants.max(2) - 1) as f64;
    (2.0 * (1.0 / p).ln()).sqrt() * 0.85
}

/// From how many variants on what is chosen is measured again.
pub const MANY: usize = 20;

/// Rounds of their own for what was chosen, unless only a preliminary answer is wanted.
const ROUNDS: u32 = 7;

/// Variants that are chosen at most: one for each of three rungs of the ladder, the best that is not less
/// safe than the baseline, and the best of all.
const CHOSEN: usize = 5;

/// Returns the rounds of measuring again, of an experiment with this rule.
pub fn rounds_again(stopping: Stopping) -> Stopping {
    let rounds = ROUNDS.min(stopping.max_rounds);
    Stopping { rounds, max_rounds: rounds, ..stopping }
}

/// Trials of measuring again, at most, where an experiment has variants enough to choose from.
pub(super) fn confirmation_trials(params: &DesignParams) -> usize {
    if params.variants <= MANY {
        return 0;
    }
    rounds_again(params.stopping).rounds as usize * trials_per_round(1 + CHOSEN)
}

#[cfg(test)]
mod tests {
    use super::super::{Done, Observation, Role, StopReason, Stopping, trials_per_round};
    use super::*;
    use crate::seed::Seed;

    /// Seconds of each trial.
    const TRIAL_S: f64 = 2.0;

    fn params(variants: usize, rounds: u32) -> DesignParams {
        DesignParams {
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
    fn run(
        mut params: Vec<DesignParams>,
        limit_s: Option<f64>,
    ) -> (Vec<(usize, u32)>, Vec<StopReason>) {
        let mut histories: Vec<History> = params.iter().map(|_| History::default()).collect();
        let mut trials = Vec::new();
        loop {
            let so_far: Vec<&History> = histories.iter().collect();
            let budgets: Vec<Option<f64>> = (0..params.len())
                .map(|index| Some(budget_of(limit_s?, index, &params, &so_far)))
                .collect();
            for (params, budget_s) in params.iter_mut().zip(budgets) {
                params.budget_s = budget_s;
            }
            let outlook = outlook(&params, &so_far);
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
        let (trials, reasons) = run(vec![params(2, 2), params(3, 3)], None);
        let mut turns = trials;
        turns.dedup();
        assert_eq!(turns, [(0, 0), (1, 0), (0, 1), (1, 1), (1, 2)]);
        assert_eq!(reasons, [StopReason::MaxRounds; 2]);
    }

    #[test]
    fn a_time_limit_is_shared_by_all_and_holds_for_the_counting_too() {
        let params = vec![params(2, 50), params(4, 50), params(3, 2)];
        let limit_s = 300.0;
        let (trials, reasons) = run(params.clone(), Some(limit_s));
        let rounds =
            |index| trials.iter().filter(|(at, _)| *at == index).map(|(_, round)| *round + 1).max();
        assert_eq!(reasons, [StopReason::Budget, StopReason::Budget, StopReason::MaxRounds]);
        let (first, second) = (rounds(0).unwrap(), rounds(1).unwrap());
        assert!(first.abs_diff(second) <= 1, "{first} and {second} rounds");
        let counting: f64 = params.iter().map(|params| params.variants as f64 * TRIAL_S).sum();
        let taken = trials.len() as f64 * TRIAL_S + counting;
        let a_round = trials_per_round(4) as f64 * TRIAL_S;
        assert!(taken <= limit_s && taken > limit_s - a_round, "{taken} s");
    }

    #[test]
    fn every_experiment_gets_its_first_round_however_little_time_there_is() {
        let (trials, reasons) = run(vec![params(2, 9), params(2, 9)], Some(1.0));
        let mut turns = trials;
        turns.dedup();
        assert_eq!(turns, [(0, 0), (1, 0)]);
        assert_eq!(reasons, [StopReason::Budget; 2]);
    }

    #[test]
    fn time_is_put_aside_where_there_are_variants_enough_to_choose_from() {
        let trials = |variants: usize| {
            confirmation_trials(&DesignParams {
                seed: Seed(1),
                variants,
                upper_bounds: 0,
                counting: false,
                stopping: Stopping::default(),
                budget_s: None,
                alone: false,
            })
        };
        assert_eq!((trials(MANY), trials(MANY + 1)), (0, 7 * 7));
    }
}

#[cfg(test)]
mod ahead_tests {
    use super::*;
    use crate::seed::Seed;

    fn params(variants: usize) -> DesignParams {
        DesignParams {
            seed: Seed(3),
            variants,
            upper_bounds: 1,
            counting: true,
            stopping: Stopping { rounds: 3, max_rounds: 3, ..Stopping::default() },
            budget_s: None,
            alone: false,
        }
    }

    /// Carries two experiments out one block at a time.
    fn carried_out(params: &[DesignParams]) -> Vec<(usize, Vec<Next>)> {
        let mut histories = vec![History::default(); params.len()];
        let mut blocks = Vec::new();
        loop {
            let so_far: Vec<&History> = histories.iter().collect();
            let Some(index) = turn(&outlook(params, &so_far)) else { return blocks };
            let trials = block(&params[index], so_far[index]);
            for trial in &trials {
                histories[index].add(measured(*trial, 1.0));
            }
            blocks.push((index, trials));
        }
    }

    #[test]
    fn what_is_foreseen_is_what_comes_when_all_goes_well() {
        let params = [params(2), params(12)];
        let none = History::default();
        let foreseen = ahead(&params, &[&none, &none], 1_000);
        let blocks = carried_out(&params);
        assert_eq!(foreseen, blocks);
        assert!(blocks.len() > 12, "{}", blocks.len());
        assert_eq!(ahead(&params, &[&none, &none], 5), blocks[..5]);
    }

    #[test]
    fn rounds_beyond_the_fewest_are_foreseen_up_to_the_most() {
        let long = DesignParams {
            stopping: Stopping { rounds: 3, max_rounds: 9, ..Stopping::default() },
            counting: false,
            ..params(2)
        };
        assert_eq!(ahead(&[long], &[&History::default()], 100).len(), 9);
    }
}
