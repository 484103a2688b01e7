//! No sentence of a report says more than the table, the chart, the tier and the confirmation run next to
//! it: checked on runs that never took place, from their plans to the blocks of their reports.
//!
//! `PROPTEST_CASES=5000 cargo test -p pragmark-report --test it agreement` looks at more of them.

mod checks;
mod counters;
mod crashes;
mod plan;
mod reading;
mod recipe;
mod trials;

use lab::analysis::{AgainstStronger, ComparisonResult, ExperimentAnalysis};
use pragmark_report as report;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tuning::Analysis;

use crate::agreement::reading::Reading;
use crate::agreement::recipe::{RunRecipe, runs};

/// Cases that are tried unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 200;

fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: match std::env::var_os("PROPTEST_CASES") {
            Some(_) => default.cases,
            None => CASES,
        },
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_sentence_contradicts_its_figures(recipe in runs()) {
        let faults = faults(&recipe);
        prop_assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

proptest! {
    // Pages take longer than their documents.
    #![proptest_config(ProptestConfig { cases: cases().cases.div_ceil(8), ..cases() })]

    #[test]
    fn every_form_of_a_report_holds_numbers_only(recipe in runs()) {
        let analysis = trials::analysis(&recipe);
        let style = report::Style { width: 60, colour: false };
        let forms = [
            report::terminal(&analysis, style),
            report::markdown(&analysis),
            report::html(&analysis).unwrap(),
        ];
        for form in forms {
            let is_bad = |piece: &&str| {
                ["NaN", "inf\"", "inf,", "inf "].iter().any(|it| piece.contains(it))
            };
            let bad = form.split('\n').flat_map(|line| line.split('>')).find(is_bad);
            prop_assert!(bad.is_none(), "{}", bad.unwrap_or_default());
        }
    }
}

fn faults(recipe: &RunRecipe) -> Vec<String> {
    let analysis = trials::analysis(recipe);
    checks::faults(&Reading::of(&analysis))
}

/// The first of the runs, which are always the same, that is as wanted.
fn first_run(is_wanted: impl Fn(&Analysis) -> bool) -> Analysis {
    let mut runner = TestRunner::deterministic();
    let recipes = std::iter::repeat_with(|| runs().new_tree(&mut runner).unwrap().current());
    let mut analyses = recipes.map(|recipe| trials::analysis(&recipe));
    analyses.find(is_wanted).unwrap()
}

/// An analysis of which one experiment is as wanted, and the place of this one.
fn first(is_wanted: impl Fn(&ExperimentAnalysis) -> bool) -> (Analysis, usize) {
    let place = |analysis: &Analysis| analysis.experiments.iter().position(&is_wanted);
    let analysis = first_run(|it| place(it).is_some());
    let place = place(&analysis).unwrap();
    (analysis, place)
}

/// A variant of this standing.
fn of_standing(experiment: &ExperimentAnalysis, wanted: ComparisonResult) -> Option<usize> {
    let mut variants = experiment.variants.iter();
    variants.position(|variant| variant.compared(&experiment.metric) == wanted)
}

/// What the checks say of an analysis after `tamper` has made it say something else.
fn tampered(
    is_wanted: impl Fn(&ExperimentAnalysis) -> bool,
    tamper: impl Fn(&mut ExperimentAnalysis),
) -> String {
    let (mut analysis, place) = first(is_wanted);
    assert!(checks::faults(&Reading::of(&analysis)).is_empty());
    tamper(&mut analysis.experiments[place]);
    checks::faults(&Reading::of(&analysis)).join("\n")
}

#[test]
fn a_letter_shared_with_the_baseline_is_noticed() {
    let is_better = |experiment: &ExperimentAnalysis| {
        of_standing(experiment, ComparisonResult::Better).is_some()
    };
    let faults = tampered(is_better, |experiment| {
        let better = of_standing(experiment, ComparisonResult::Better).unwrap();
        for place in [0, better] {
            experiment.variants[place].groups = "a".to_owned();
        }
    });
    assert!(faults.contains("and the letters of"), "{faults}");
}

#[test]
fn a_difference_that_its_interval_does_not_show_is_noticed() {
    let is_same =
        |experiment: &ExperimentAnalysis| of_standing(experiment, ComparisonResult::Same).is_some();
    let faults = tampered(is_same, |experiment| {
        let same = of_standing(experiment, ComparisonResult::Same).unwrap();
        experiment.variants[same].effect.as_mut().unwrap().q_value = 0.0;
    });
    assert!(faults.contains("does not show the difference"), "{faults}");
}

#[test]
fn figures_beyond_sense_are_noticed() {
    let is_same =
        |experiment: &ExperimentAnalysis| of_standing(experiment, ComparisonResult::Same).is_some();
    let faults = tampered(is_same, |experiment| {
        let same = of_standing(experiment, ComparisonResult::Same).unwrap();
        let effect = experiment.variants[same].effect.as_mut().unwrap();
        effect.estimate.detectable = 1e12;
    });
    assert!(faults.contains("a detectable difference beyond sense"), "{faults}");
}

#[test]
fn a_durability_class_that_denies_a_gain_is_noticed() {
    let gains = |experiment: &ExperimentAnalysis| {
        let mut weaker = experiment.by_durability.iter().skip(1);
        weaker.any(|class| {
            experiment.variants[class.variants[0]].compared(&experiment.metric)
                == ComparisonResult::Better
        })
    };
    let faults = tampered(gains, |experiment| {
        for class in experiment.by_durability.iter_mut().skip(1) {
            class.against_stronger = Some(AgainstStronger::Same(0));
        }
    });
    assert!(faults.contains("durability says otherwise"), "{faults}");
}

#[test]
fn an_upper_bound_that_is_exceeded_in_silence_is_noticed() {
    let is_exceeded = |experiment: &ExperimentAnalysis| {
        let mut bounds = experiment.upper_bounds.iter();
        bounds.any(|bound| !bound.exceeded_by.is_empty())
    };
    let faults = tampered(is_exceeded, |experiment| {
        experiment.upper_bounds[0].exceeded_by.clear();
    });
    assert!(faults.contains("is exceeded"), "{faults}");
}

#[test]
fn a_finding_that_its_rounds_do_not_show_is_noticed() {
    let mut analysis = first_run(|it| !it.findings.is_empty());
    let finding = &mut analysis.findings[0];
    let mut experiments = analysis.experiments.iter();
    let experiment = experiments.find(|experiment| experiment.key == finding.experiment);
    let baseline = &experiment.unwrap().variants[0];
    finding.tied.push(baseline.label.clone());
    finding.interval.low = 0.9;
    let faults = checks::faults(&Reading::of(&analysis)).join("\n");
    for fault in ["it ties with the baseline", "its rounds do not show it"] {
        assert!(faults.contains(fault), "{faults}");
    }
}
