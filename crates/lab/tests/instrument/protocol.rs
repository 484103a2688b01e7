//! The whole protocol on a simulated machine: schedule, blocks, stopping rule and intervals
//! together, as a run uses them, with variants spread over several blocks.
//!
//! Every figure comes from fixed seeds; bounds leave room for the simulation error.

use lab::design::{
    DesignParams, Done, History, Next, Observation, StopReason, Stopping, next, round,
};
use lab::samples::{Comparison, Samples};
use lab::seed::Seed;

use pragmark_lab as lab;

use super::ALPHA;
use super::machine::{Machine, Profile};

/// Carries out an experiment of variants with these log effects on a fresh machine.
pub fn run(seed: u64, effects: &[f64], stopping: Stopping) -> (Samples, StopReason) {
    let mut machine = Machine::new(Profile::NOISY, seed);
    let mut history = History::default();
    let params = DesignParams {
        seed: Seed(seed),
        variants: effects.len(),
        upper_bounds: 0,
        counting: false,
        stopping,
        budget_s: None,
        alone: false,
    };
    loop {
        match next(&params, &history) {
            Next::Stop(reason) => return (history.samples(effects.len()), reason),
            Next::Trial { place, variant, role } => {
                let done = Done::Measured(machine.trial(effects[variant]).exp());
                history.add(Observation {
                    place,
                    variant,
                    role,
                    done,
                    wall_s: 1.0,
                    disturbed: false,
                });
            }
        }
    }
}

pub fn share(answers: &[bool]) -> f64 {
    answers.iter().filter(|answer| **answer).count() as f64 / answers.len() as f64
}

/// How often intervals at 95 % hold the true effect, over runs and variants.
fn coverage(runs: u64, effects: &[f64], stopping: Stopping) -> f64 {
    let mut covered = Vec::new();
    for seed in 0..runs {
        let (samples, _) = run(seed, effects, stopping);
        for (variant, effect) in effects.iter().enumerate().skip(1) {
            let comparison = Comparison::new(samples.log_ratios(variant, 0)).unwrap();
            covered.push(comparison.interval(ALPHA).contains(effect.exp()));
        }
    }
    share(&covered)
}

#[test]
fn stopping_on_width_keeps_the_coverage() {
    // A width that is sometimes reached early, so that the rule really chooses.
    let stopping = Stopping { half_width: 0.03, ..Stopping::default() };
    let reached_early =
        (0..60).filter(|seed| run(*seed, &[0.0, 0.05], stopping).1 == StopReason::Precise).count();
    assert!((10..=58).contains(&reached_early), "{reached_early} of 60 runs stopped early");
    let covered = coverage(700, &[0.0, 0.05], stopping);
    assert!(covered >= 0.93, "coverage {covered}");
}

#[test]
fn variants_spread_over_blocks_are_covered_too() {
    // Nine variants need two blocks a round, each with a baseline of its own.
    let effects = [0.0, 0.0, 0.05, -0.1, 0.2, 0.0, 0.3, -0.3, 0.1];
    assert_eq!(round(Seed(1), 0, &(1..effects.len()).collect::<Vec<_>>()).len(), 2);
    let stopping = Stopping { rounds: 10, max_rounds: 10, ..Stopping::default() };
    let covered = coverage(150, &effects, stopping);
    assert!(covered >= 0.93, "coverage {covered}");
}

#[test]
fn the_aa_check_and_identical_variants_raise_no_more_alarms_than_stated() {
    let stopping = Stopping { rounds: 7, max_rounds: 7, ..Stopping::default() };
    let (mut aa_checks, mut variants) = (Vec::new(), Vec::new());
    for seed in 0..1_500 {
        let (samples, _) = run(seed, &[0.0; 4], stopping);
        let alarm =
            |diffs: Vec<f64>| !Comparison::new(diffs).unwrap().interval(ALPHA).contains(1.0);
        aa_checks.push(alarm(samples.aa_check_log_ratios()));
        variants.extend((1..4).map(|variant| alarm(samples.log_ratios(variant, 0))));
    }
    assert!(share(&aa_checks) <= 0.06, "A/A check alarms {}", share(&aa_checks));
    assert!(share(&variants) <= 0.06, "false positives {}", share(&variants));
}

#[test]
fn variants_of_different_blocks_are_compared_without_bias() {
    let effects = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1];
    let stopping = Stopping { rounds: 12, max_rounds: 12, ..Stopping::default() };
    let mut ratios: Vec<f64> = (0..200)
        .map(|seed| {
            Comparison::new(run(seed, &effects, stopping).0.log_ratios(7, 1)).unwrap().ratio()
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    assert!((median - 0.1f64.exp()).abs() < 0.01, "median ratio {median}");
}

#[test]
fn a_history_names_roles_apart() {
    let (samples, _) =
        run(3, &[0.0, 0.0], Stopping { rounds: 7, max_rounds: 7, ..Stopping::default() });
    assert_eq!(samples.aa_check_log_ratios().len(), 7);
    assert_eq!(samples.values(0).len(), 7);
}
