use super::super::findings::finding;
use super::*;
use crate::analysis::{Effect, Summary};
use crate::stats::{ALPHA, Estimate};
use crate::tier::{Accident, Counts, Losses, ModelSafety, Safety};
use crate::trial::ReadBack;

/// Returns a variant with its gain over the baseline, its firm groups and what a power cut takes.
fn variant(mode: &str, gain: f64, groups: &str, power: Option<Counts>) -> VariantAnalysis {
    let levels = Settings::from([("journal_mode".to_owned(), mode.into())]);
    let ratios: Vec<f64> =
        [-0.01, 0.0, 0.01, 0.02, -0.02, 0.005, -0.005].map(|noise| gain.ln() + noise).into();
    let summary = Summary::of(&[gain; 7]).unwrap();
    let mut variant = VariantAnalysis {
        summaries: [("rows_per_s".to_owned(), summary)].into(),
        effect: Some(Effect {
            estimate: Estimate::from_log_ratios(&ratios, ALPHA).unwrap(),
            q_value: if gain == 1.0 { 1.0 } else { 0.001 },
        }),
        firm_groups: groups.to_owned(),
        safety: power.map(|power| safety(Losses::of(power))),
        connections: vec![ReadBack {
            pragmas: [("journal_mode".to_owned(), mode.to_owned())].into(),
            connection: "writer".to_owned(),
        }],
        ..VariantAnalysis::made_up(levels)
    };
    variant.trials.measured = 7;
    variant
}

fn safety(power: Losses) -> Safety {
    let model = |name, accident, ordinary| ModelSafety {
        ordinary,
        ..ModelSafety::not_measured(name, accident, true, "")
    };
    let kill = Losses::of(Counts::of(100, 0, 0, 0));
    Safety::of(vec![model("kill", Accident::Process, kill), model("torn", Accident::Power, power)])
}

/// Returns the first variant is the baseline; the ranking is by gain.
fn experiment(mut variants: Vec<VariantAnalysis>) -> ExperimentAnalysis {
    variants[0].baseline = true;
    variants[0].effect = None;
    let mut ranking: Vec<usize> = (0..variants.len()).collect();
    let gain = |index: &usize| variants[*index].summaries["rows_per_s"].median;
    ranking.sort_by(|one, other| gain(other).total_cmp(&gain(one)));
    ExperimentAnalysis {
        metric: "rows_per_s".to_owned(),
        crash_relevant: vec!["journal_mode".to_owned()],
        ranking,
        variants,
        ..ExperimentAnalysis::default()
    }
}

fn nothing() -> Option<Counts> {
    Some(Counts::of(100, 0, 0, 0))
}

fn last() -> Option<Counts> {
    Some(Counts::of(100, 0, 3, 1))
}

fn recent() -> Option<Counts> {
    Some(Counts::of(100, 0, 30, 7))
}

fn corrupt() -> Option<Counts> {
    Some(Counts::of(100, 5, 0, 0))
}

/// What is accepted, with the variant that is advised.
fn advised(experiment: &ExperimentAnalysis) -> Vec<(MayLose, Option<usize>)> {
    let rungs = ladder(experiment).unwrap().rungs.into_iter();
    rungs.map(|rung| (rung.may_lose, rung.advice.ok().map(|it| it.variant))).collect()
}

#[test]
fn each_rung_is_the_fastest_that_loses_no_more_than_is_accepted() {
    let experiment = experiment(vec![
        variant("delete", 1.0, "d", last()),
        variant("full", 3.0, "c", nothing()),
        variant("normal", 80.0, "b", recent()),
        variant("off", 120.0, "a", corrupt()),
    ]);
    let all =
        [(MayLose::Nothing, Some(1)), (MayLose::Recent, Some(2)), (MayLose::Anything, Some(3))];
    assert_eq!(advised(&experiment), all);
    let ladder = ladder(&experiment).unwrap();
    let advice = ladder.rung(MayLose::Nothing).unwrap().advice.as_ref().unwrap();
    let gain = advice.gain.unwrap();
    assert!((gain.ratio - 3.0).abs() < 0.05 && gain.is_found, "{gain:?}");
    assert_eq!(advice.settings["journal_mode"], "full".into());
}

#[test]
fn a_rung_that_buys_no_speed_is_left_out() {
    let experiment = experiment(vec![
        variant("delete", 1.0, "b", last()),
        variant("full", 3.0, "a", nothing()),
        variant("normal", 3.1, "a", recent()),
        variant("off", 3.2, "a", corrupt()),
    ]);
    assert_eq!(advised(&experiment), [(MayLose::Nothing, Some(1))]);
    let ladder = ladder(&experiment).unwrap();
    assert_eq!(ladder.rung(MayLose::Recent).unwrap().may_lose, MayLose::Nothing);
}

#[test]
fn of_variants_that_are_equally_good_always_the_same_one_is_advised() {
    for (full, extra) in [(3.0, 3.1), (3.1, 3.0)] {
        let experiment = experiment(vec![
            variant("delete", 1.0, "b", last()),
            variant("full", full, "a", nothing()),
            variant("extra", extra, "a", nothing()),
        ]);
        assert_eq!(advised(&experiment)[0], (MayLose::Nothing, Some(1)));
    }
    // The baseline comes before what was not found to be better.
    let mut experiment = experiment(vec![
        variant("delete", 1.0, "a", nothing()),
        variant("full", 1.1, "a", nothing()),
    ]);
    let better = ladder(&experiment).unwrap().rungs.remove(0).advice.unwrap();
    assert_eq!(better.variant, 1);
    experiment.variants[1].effect.as_mut().unwrap().q_value = 0.5;
    let keep = ladder(&experiment).unwrap().rungs.remove(0).advice.unwrap();
    assert_eq!((keep.variant, keep.gain), (0, None));
}

#[test]
fn without_evidence_there_is_no_advice_but_its_reason() {
    let why = |experiment: &ExperimentAnalysis, rung: usize| {
        let mut rungs = ladder(experiment).unwrap().rungs;
        rungs.remove(rung).advice.unwrap_err()
    };
    // The first by the rules looks much worse than the best, yet is not distinguishable from it.
    let noisy = experiment(vec![
        variant("delete", 1.0, "ab", last()),
        variant("truncate", 1.2, "ab", nothing()),
        variant("full", 3.0, "ab", nothing()),
    ]);
    assert_eq!(why(&noisy, 0), Withheld::Unresolved(2));
    // Tiers were switched off.
    let unknown =
        experiment(vec![variant("delete", 1.0, "b", None), variant("full", 3.0, "a", None)]);
    let all =
        [(MayLose::Unchanged, Some(0)), (MayLose::Nothing, None), (MayLose::Anything, Some(1))];
    assert_eq!(advised(&unknown), all);
    assert_eq!(why(&unknown, 1), Withheld::NotMeasured(String::new()));
    // Too few rounds.
    let mut short =
        experiment(vec![variant("delete", 1.0, "b", last()), variant("full", 3.0, "a", nothing())]);
    short.variants[1].effect = None;
    assert_eq!(why(&short, 0), Withheld::TooFewRounds);
    // The confirmation run sees nothing.
    assert_eq!(why(&unconfirmed(nothing()), 0), Withheld::Unconfirmed(1));
}

/// Returns an experiment whose confirmation run does not distinguish what was best from a baseline with these losses.
fn unconfirmed(losses: Option<Counts>) -> ExperimentAnalysis {
    let mut unconfirmed =
        experiment(vec![variant("delete", 1.0, "b", losses), variant("full", 3.0, "a", nothing())]);
    let same = Estimate::from_log_ratios(&[-0.1, 0.1, 0.05, -0.06, 0.0], ALPHA).unwrap();
    unconfirmed.variants[1].confirmation = Some(same);
    unconfirmed
}

#[test]
fn safety_that_the_baseline_lacks_needs_no_gain_in_speed() {
    let advice = ladder(&unconfirmed(last())).unwrap().rungs.remove(0).advice.unwrap();
    assert_eq!((advice.variant, advice.gain.map(|gain| gain.is_found)), (1, Some(false)));
}

#[test]
fn what_is_documented_to_corrupt_is_not_advised_because_no_image_shows_it() {
    use crate::tier::{Documented, Promise};
    let mut normal = variant("normal", 3.0, "a", nothing());
    let models = &mut normal.safety.as_mut().unwrap().models;
    models[1].documented = Some(Documented {
        promise: Promise::MayCorrupt,
        says: String::new(),
        source: String::new(),
    });
    let experiment = experiment(vec![variant("delete", 1.0, "b", nothing()), normal]);
    let all = [(MayLose::Nothing, Some(0)), (MayLose::Anything, Some(1))];
    assert_eq!(advised(&experiment), all);
}

#[test]
fn an_engine_that_does_not_sync_is_less_safe_than_one_of_which_nothing_is_known() {
    let mut unsynced = variant("full", 19.0, "a", None);
    unsynced.safety = Some(Safety::not_measured("").unsynced("0 of 20".to_owned()));
    let mut experiment = experiment(vec![variant("delete", 1.0, "b", None), unsynced]);
    assert!(experiment.is_less_safe(&experiment.variants[1]));
    let rungs = ladder(&experiment).unwrap().rungs;
    assert!(rungs.iter().all(|rung| {
        rung.may_lose == MayLose::Anything
            || rung.advice.as_ref().ok().is_none_or(|advice| advice.variant == 0)
    }));
    experiment.variants[0].safety = experiment.variants[1].safety.clone();
    assert!(!experiment.is_less_safe(&experiment.variants[1]));
}

#[test]
fn what_breaks_a_constraint_is_neither_advised_nor_a_finding() {
    use crate::analysis::Answer;
    let mut experiment = experiment(vec![
        variant("delete", 1.0, "c", nothing()),
        variant("wal", 3.0, "a", nothing()),
        variant("persist", 1.5, "b", nothing()),
    ]);
    experiment.variants[1].breaks = vec!["p99_us <= 1.05".to_owned()];
    assert_eq!(advised(&experiment), [(MayLose::Nothing, Some(2))]);
    assert_eq!(finding(&experiment).unwrap().variant, 2);
    experiment.variants[2].breaks = vec!["p99_us <= 1.05".to_owned()];
    assert_eq!(advised(&experiment), [(MayLose::Nothing, Some(0))]);
    assert!(finding(&experiment).is_none());
    assert_eq!(experiment.answer(None), Answer::BreaksConstraints(1));
    // Even what is set now may be too large.
    experiment.variants[0].breaks = vec!["peak_memory_bytes <= 1 MiB".to_owned()];
    let rung = ladder(&experiment).unwrap().rungs.remove(0);
    assert_eq!(rung.advice, Err(Withheld::NoneWithinConstraints));
}

#[test]
fn what_is_better_and_cannot_be_chosen_is_counted_by_why() {
    use crate::analysis::Answer;
    let mut experiment = experiment(vec![
        variant("delete", 1.0, "c", nothing()),
        variant("wal", 3.0, "a", nothing()),
        variant("persist", 1.5, "b", nothing()),
    ]);
    experiment.variants[1].trials.failed = 1;
    experiment.variants[2].trials.timed_out = 1;
    let Answer::NothingBetter(compared) = experiment.answer(None) else {
        panic!("{:?}", experiment.answer(None));
    };
    let better = (compared.better, compared.better_with_failures);
    assert_eq!(better, (0, 2));
    // Another that breaks a constraint says nothing of one that keeps them and is not yet distinguishable.
    experiment.variants[1].trials.failed = 0;
    experiment.variants[1].breaks = vec!["p99_us <= 1.05".to_owned()];
    experiment.variants[2].trials.timed_out = 0;
    let answer = experiment.answer(None);
    assert!(!matches!(answer, Answer::BreaksConstraints(_)), "{answer:?}");
}

#[test]
fn a_stricter_rung_without_advice_takes_that_of_a_looser_one_that_it_accepts() {
    let experiment = experiment(vec![
        variant("delete", 1.0, "b", nothing()),
        variant("wal", 2.0, "a", nothing()),
    ]);
    let of = |may_lose| rung(&experiment, may_lose);
    let withheld = Rung { may_lose: MayLose::Nothing, advice: Err(Withheld::Unresolved(2)) };
    let rungs = monotone(&experiment, vec![withheld, of(MayLose::Recent)]);
    assert_eq!(rungs[0].advice, rungs[1].advice);
    assert_eq!(without_gainless(&experiment, rungs).len(), 1);
    let losing = super::tests::experiment(vec![
        variant("delete", 1.0, "b", nothing()),
        variant("wal", 2.0, "a", recent()),
    ]);
    let withheld = Rung { may_lose: MayLose::Nothing, advice: Err(Withheld::Unresolved(2)) };
    let rungs = monotone(&losing, vec![withheld, rung(&losing, MayLose::Recent)]);
    assert!(rungs[0].advice.is_err(), "a looser variant is no stricter one");
}

#[test]
fn of_equally_good_and_safe_settings_full_comes_before_extra() {
    let with = |synchronous: &str| {
        let mut variant = variant("wal", 2.0, "a", nothing());
        variant.settings.insert("synchronous".to_owned(), synchronous.into());
        variant.levels.insert("synchronous".to_owned(), synchronous.into());
        variant
    };
    let base = variant("delete", 1.0, "b", nothing());
    let experiment = experiment(vec![base, with("extra"), with("full")]);
    assert_eq!(advised(&experiment)[0], (MayLose::Nothing, Some(2)));
}
