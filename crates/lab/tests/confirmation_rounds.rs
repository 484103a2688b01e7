//! What was chosen from many variants is measured again, and only that tells how much it gains.

mod common;

use lab::analysis::{Analysis, Collector, Finding, observation};
use lab::design::{History, Next, next};
use lab::plan::confirmation_plan;
use lab::record::{EnvironmentFile, FORMAT, PlannedExperiment, Purpose, RunPlan, TrialRecord};
use lab::seed::{Seed, SplitMix64};
use lab::trial::Measured;
use pragmark_lab as lab;

use common::{run_of, trial};

/// How much faster than the baseline every other variant is.
const GAIN: f64 = 1.08;
/// Deviation of the logarithm of a trial's figure.
const NOISE: f64 = 0.04;

/// An experiment with this many variants besides the baseline.
fn planned(others: usize, run: u64) -> RunPlan {
    let levels: Vec<String> = (1..=others + 1).map(|rows| rows.to_string()).collect();
    let text = format!(
        r#"id = "rows"
question = "How many rows?"
workload = "bulk-insert"
[factors]
rows = [{}]
[design]
kind = "one-at-a-time"
baseline = {{ rows = 1 }}
stopping = {{ rounds = 7, max_rounds = 7 }}"#,
        levels.join(", ")
    );
    run_of(&text, Seed(run))
}

/// The trials of an experiment on a machine that is noisy.
fn trials(plan: &RunPlan, planned: &PlannedExperiment) -> Vec<TrialRecord> {
    let mut generator = plan.seed.child("noise").generator();
    let (mut trials, mut history) = (Vec::new(), History::default());
    while let Next::Trial { place, variant, role } =
        next(&planned.design_params(plan.seed), &history)
    {
        let gain = if variant == 0 { 1.0 } else { GAIN };
        let rate = 100.0 * gain * (NOISE * normal(&mut generator)).exp();
        let measured =
            Measured { metrics: [("rows_per_s".to_owned(), rate)].into(), ..Measured::default() };
        let record = trial(planned, place, variant, role, measured);
        history.add(observation(planned, &record).unwrap());
        trials.push(record);
    }
    trials
}

/// Nearly normal: the sum of twelve uniform figures.
fn normal(generator: &mut SplitMix64) -> f64 {
    let sum: u64 = (0..12).map(|_| generator.below(1 << 20)).sum();
    sum as f64 / f64::from(1 << 20) - 6.0
}

fn environment() -> EnvironmentFile {
    EnvironmentFile {
        format: FORMAT,
        machine: Default::default(),
        engines: Vec::new(),
        noise: None,
    }
}

fn collector(plan: &RunPlan) -> Collector {
    let mut collector = Collector::new(plan.clone(), environment());
    let trials = trials(plan, &plan.experiments[0]).into_iter();
    trials.for_each(|trial| collector.add(trial));
    collector
}

/// The run as it chooses, and as it tells after confirmation rounds.
fn before_and_after(others: usize, run: u64) -> (Analysis, Analysis) {
    let plan = planned(others, run);
    let chosen = collector(&plan).finish();
    let confirmation = confirmation_plan(&plan, &chosen.chosen_from_many(), None);
    let mut told = collector(&plan);
    for again in &confirmation.experiments {
        let trials = trials(&confirmation, again);
        let trials =
            trials.into_iter().map(|trial| TrialRecord { purpose: Purpose::Confirmation, ..trial });
        trials.for_each(|trial| told.add(trial));
    }
    (chosen, told.finish())
}

fn the_finding(analysis: &Analysis) -> Option<&Finding> {
    analysis.findings.first()
}

#[test]
fn the_gain_of_the_best_of_many_is_told_by_rounds_that_did_not_choose_it() {
    let (mut chosen, mut told) = (Vec::new(), Vec::new());
    for run in 0..60 {
        let (before, after) = before_and_after(24, run);
        let (Some(before), Some(after)) = (the_finding(&before), the_finding(&after)) else {
            continue;
        };
        assert_eq!(before.levels, after.levels);
        assert_eq!((before.confirmation_rounds, after.confirmation_rounds), (None, Some(7)));
        chosen.push(before.gain.ln());
        told.push(after.gain.ln());
    }
    let mean = |gains: &[f64]| (gains.iter().sum::<f64>() / gains.len() as f64).exp();
    assert!(chosen.len() >= 20, "{} were found at all", chosen.len());
    assert!(mean(&chosen) > GAIN + 0.005, "chosen: {}", mean(&chosen));
    let told = mean(&told);
    assert!((told - GAIN).abs() < 0.01, "told: {told}");
}

#[test]
fn the_best_of_few_is_not_measured_again() {
    for run in 0..10 {
        let (before, after) = before_and_after(12, run);
        assert!(before.chosen_from_many()[0].is_empty());
        assert_eq!(after.confirmation_trials.total(), 0);
    }
}

#[test]
fn confirmation_rounds_change_neither_choice_nor_ranks_nor_the_figures_of_variants() {
    let (before, after) = (0..60)
        .map(|run| before_and_after(24, run))
        .find(|(before, _)| the_finding(before).is_some())
        .unwrap();
    assert_eq!(after.confirmation_trials.measured, 7 * 3);
    assert_eq!(before.trials, after.trials);
    let (before, after) = (&before.experiments[0], &after.experiments[0]);
    assert_eq!(before.ranking, after.ranking);
    for (before, after) in before.variants.iter().zip(&after.variants) {
        assert_eq!(before.summaries, after.summaries);
        assert_eq!(before.effect, after.effect);
    }
}
