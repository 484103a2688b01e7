//! Two runs of one experiment, on a machine that is faster or slower as a whole the second time.

mod common;

use lab::analysis::{Analysis, Collector, observation};
use lab::comparison::{
    Change, Doubt, Incomparable, RunComparison, RunDigest, Severity, VariantComparison,
};
use lab::design::{History, Next, next};
use lab::record::{EnvironmentFile, FORMAT};
use lab::seed::{Seed, SplitMix64};
use lab::trial::{Measured, StatementRecord};
use pragmark_lab as lab;

use common::{run_of, trial};

const NOISE: f64 = 0.03;

const EXPERIMENT: &str = r#"id = "rows"
question = "How many rows?"
workload = "bulk-insert"
[factors]
rows = [1, 2, 3]
[design]
kind = "one-at-a-time"
baseline = { rows = 1 }
stopping = { rounds = 9, max_rounds = 9 }"#;

/// What a run is like.
#[derive(Clone, Copy)]
struct Made {
    run: u64,
    /// How fast the machine is.
    machine: f64,
    /// How fast the second variant is compared with the baseline.
    gain: f64,
    cpu: &'static str,
    steps: f64,
    plan: &'static str,
}

const USUAL: Made = Made {
    run: 1,
    machine: 1.0,
    gain: 1.5,
    cpu: "a",
    steps: 10.0,
    plan: "SEARCH t USING INDEX i (a=?)",
};

fn normal(generator: &mut SplitMix64) -> f64 {
    let sum: u64 = (0..12).map(|_| generator.below(1 << 20)).sum();
    sum as f64 / f64::from(1 << 20) - 6.0
}

fn analysis(made: Made) -> Analysis {
    analysis_of(made, u32::MAX)
}

/// Returns the analysis of a run that ends after `rounds` rounds.
fn analysis_of(made: Made, rounds: u32) -> Analysis {
    let plan = run_of(EXPERIMENT, Seed(made.run));
    let mut environment = EnvironmentFile {
        format: FORMAT,
        machine: Default::default(),
        engines: Vec::new(),
        noise: None,
    };
    environment.machine.cpu.model = Some(made.cpu.to_owned());
    let mut collector = Collector::new(plan.clone(), environment);
    let (mut history, mut generator) = (History::default(), Seed(made.run).generator());
    let planned = &plan.experiments[0];
    while let Next::Trial { place, variant, role } =
        next(&planned.design_params(plan.seed), &history)
        && place.0 < rounds
    {
        let gain = if variant == 1 { made.gain } else { 1.0 };
        let rate = 100.0 * made.machine * gain * (NOISE * normal(&mut generator)).exp();
        let metrics = [("rows_per_s", rate), ("vm_steps.q", made.steps), ("executions.q", 20.0)];
        let measured = Measured {
            metrics: metrics.map(|(name, value)| (name.to_owned(), value)).into(),
            statements: vec![StatementRecord {
                name: "q".to_owned(),
                sql: "SELECT 1".to_owned(),
                plan: vec![made.plan.to_owned()],
                ..StatementRecord::default()
            }],
            ..Measured::default()
        };
        let record = trial(planned, place, variant, role, measured);
        history.add(observation(planned, &record).unwrap());
        collector.add(record);
    }
    collector.finish()
}

fn compared(base: Made, new: Made) -> RunComparison {
    RunComparison::of(&analysis(base).into(), &analysis(new).into())
}

fn variant<'a>(comparison: &'a RunComparison, label: &str) -> &'a VariantComparison {
    let variants = &comparison.experiments[0].variants;
    variants.iter().find(|it| it.label == label).unwrap()
}

#[test]
fn a_faster_machine_is_no_verdict_and_a_changed_ratio_is_one() {
    let new = Made { run: 2, machine: 3.0, gain: 1.2, cpu: "b", ..USUAL };
    let comparison = compared(USUAL, new);
    assert_eq!(comparison.doubts, [Doubt::OtherMachine]);
    assert!(
        comparison.differences.iter().any(|it| (it.base.as_str(), it.new.as_str()) == ("a", "b"))
    );
    let changed = variant(&comparison, "rows=2").change.unwrap();
    assert_eq!(changed.verdict, Change::Worse);
    assert!(changed.ratio.interval.contains(1.2 / 1.5), "{changed:?}");
    let same = variant(&comparison, "rows=3").change.unwrap();
    assert_eq!(same.verdict, Change::NotDetectable);
    assert!(same.detectable > 0.01 && same.detectable < 0.15, "{same:?}");
    let baseline = variant(&comparison, "rows=1");
    assert!(baseline.change.is_none() && baseline.baseline);
    assert_eq!(comparison.experiments[0].variants[1].label, "rows=2");
}

#[test]
fn identical_runs_raise_an_alarm_in_few_comparisons() {
    let mut alarms = 0;
    for run in 0..150 {
        let (one, other) = (Made { run: 2 * run, ..USUAL }, Made { run: 2 * run + 1, ..USUAL });
        let comparison = compared(one, other);
        let mut variants = comparison.experiments[0].variants.iter();
        let differs = |it: &VariantComparison| {
            it.change.is_some_and(|change| change.verdict != Change::NotDetectable)
        };
        alarms += i32::from(variants.any(differs));
    }
    // 5 % of 150 comparisons of two variants each are 7.5.
    assert!(alarms <= 15, "{alarms}");
}

#[test]
fn plans_and_counters_that_repeat_are_verdicts() {
    let scan = Made { run: 2, steps: 900.0, plan: "SCAN t", ..USUAL };
    let comparison = compared(USUAL, scan);
    let exact = &variant(&comparison, "rows=2").exact;
    assert_eq!(exact.statements[0].severity(), Severity::Scan);
    let same = compared(USUAL, Made { run: 2, ..USUAL });
    assert_eq!(variant(&same, "rows=2").exact.statements[0].severity(), Severity::Same);
}

#[test]
fn what_only_one_run_has_is_listed() {
    let (base, mut new) = (analysis(USUAL), analysis(USUAL));
    new.experiments[0].variants.pop();
    let comparison = RunComparison::of(&base.clone().into(), &new.clone().into());
    assert_eq!(comparison.unmatched.only_base, ["rows: rows=3"]);
    new.experiments[0].key = "other".to_owned();
    let comparison = RunComparison::of(&base.clone().into(), &new.clone().into());
    assert!(comparison.experiments.is_empty());
    assert_eq!(
        (comparison.unmatched.only_base, comparison.unmatched.only_new),
        (vec!["rows".to_owned()], vec!["other".to_owned()])
    );
}

#[test]
fn why_ratios_cannot_be_compared_is_said() {
    let base: RunDigest = analysis(USUAL).into();
    let mut reordered: RunDigest = analysis(Made { run: 2, ..USUAL }).into();
    let variants = &mut reordered.experiments[0].variants;
    variants.swap(0, 1);
    (variants[0].baseline, variants[1].baseline) = (true, false);
    let why = |new: &RunDigest| -> Vec<Option<Incomparable>> {
        let comparison = RunComparison::of(&base, new);
        let variants = &comparison.experiments[0].variants;
        variants.iter().map(|it| it.incomparable).collect()
    };
    assert_eq!(why(&reordered), [Some(Incomparable::OtherBaseline); 3]);
    let mut short: RunDigest = analysis(Made { run: 3, ..USUAL }).into();
    let variants = &mut short.experiments[0].variants;
    variants[1].log_ratios.truncate(1);
    variants[2].log_ratios.clear();
    variants[2].summaries.clear();
    let few = [Incomparable::FewRounds, Incomparable::Unmeasured].map(Some);
    assert_eq!(why(&short), [&[None], &few[..]].concat());
    let baseline = &mut short.experiments[0].variants[0];
    baseline.summaries.clear();
    let unmeasured = Some(Incomparable::BaselineUnmeasured);
    assert_eq!(why(&short), [None, unmeasured, unmeasured]);
}

#[test]
fn ratios_that_would_not_show_a_tenfold_change_are_not_compared() {
    let base: RunDigest = analysis(USUAL).into();
    let mut noisy: RunDigest = analysis(Made { run: 2, ..USUAL }).into();
    noisy.experiments[0].variants[1].log_ratios = vec![4.0, -3.0, 1.0];
    let comparison = RunComparison::of(&base, &noisy);
    let it = &comparison.experiments[0].variants;
    let it = it.iter().find(|it| it.label == "rows=2").unwrap();
    assert_eq!((it.change, it.incomparable), (None, Some(Incomparable::FewRounds)));
    let preliminary = |it: &Doubt| matches!(it, Doubt::Preliminary { .. });
    assert_eq!(comparison.doubts.iter().filter(|it| preliminary(it)).count(), 1);
}

#[test]
fn fewer_than_seven_rounds_are_preliminary_even_where_they_give_no_estimate() {
    for (rounds, is_preliminary) in [(0, false), (1, true), (6, true), (9, false)] {
        let experiment = &analysis_of(USUAL, rounds).experiments[0];
        assert_eq!((experiment.rounds, experiment.preliminary), (rounds, is_preliminary));
    }
}

#[test]
fn what_is_not_compared_raises_no_doubt() {
    let mut base: RunDigest = analysis(USUAL).into();
    let mut new: RunDigest = analysis(Made { run: 2, ..USUAL }).into();
    base.experiments[0].preliminary = true;
    new.experiments[0].key = "another".to_owned();
    assert_eq!(RunComparison::of(&base, &new).doubts, []);
}
