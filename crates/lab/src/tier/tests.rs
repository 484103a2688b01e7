use super::*;
use crate::level::Settings;
use crate::trial::{Measured, Outcome};
use proptest::prelude::*;

fn model(model: &str, tier: Tier) -> ModelSafety {
    ModelSafety {
        model: model.to_owned(),
        assumed: !model.starts_with("lying"),
        adds_up: false,
        tier,
        documented: None,
        witness: None,
        again: None,
        narrowed: None,
        cause: None,
    }
}

fn clean(images: u64) -> Tier {
    Tier::NoViolation { images }
}

fn losing(losing: u64, images: u64, most: u64) -> Tier {
    Tier::LosesCommits {
        losing,
        images,
        most,
    }
}

fn corrupt(bad: u64, images: u64) -> Tier {
    Tier::CanCorrupt { bad, images }
}

#[test]
fn tiers_are_worded_as_what_they_prove() {
    assert_eq!(clean(12).to_string(), "no violation in 12 images");
    assert_eq!(
        losing(2, 12, 3).to_string(),
        "loses recent commits, never corrupts (2 of 12, up to 3)"
    );
    assert_eq!(corrupt(5, 12).to_string(), "can corrupt (5 of 12, witness)");
    assert_eq!(
        Tier::not_measured("no engine").to_string(),
        "not measured (no engine)"
    );
    assert!(Class::NoViolation > Class::LosesCommits);
    assert!(Class::LosesCommits > Class::CanCorrupt);
    assert!(Class::CanCorrupt > Class::CorruptsUncrashed);
}

#[test]
fn the_worst_model_decides_and_counts_add_up() {
    let safety = Safety::of(vec![
        model("kill", clean(100)),
        model("reorder", losing(4, 50, 2)),
        model("torn", losing(1, 60, 5)),
    ]);
    assert_eq!(safety.tier, losing(5, 210, 5));
    assert_eq!(safety.beyond, None);
    let safety = Safety::of(vec![
        model("reorder", losing(4, 50, 2)),
        model("torn", corrupt(1, 60)),
    ]);
    assert_eq!(safety.tier, corrupt(1, 110));
}

#[test]
fn models_outside_the_assumptions_stand_apart() {
    let safety = Safety::of(vec![
        model("kill", clean(100)),
        model("lying-fifo", corrupt(7, 9)),
    ]);
    assert_eq!(safety.tier, clean(100));
    assert_eq!(safety.beyond, Some(corrupt(7, 9)));
    let only_beyond = Safety::of(vec![model("lying-fifo", clean(1))]);
    assert_eq!(only_beyond.tier.class(), None);
}

#[test]
fn a_model_without_a_measurement_leaves_room_for_corruption_only() {
    let gap = || model("torn", Tier::not_measured("out of time"));
    let safety = Safety::of(vec![model("kill", clean(100)), gap()]);
    assert_eq!(safety.tier, Tier::not_measured("model torn: out of time"));
    let safety = Safety::of(vec![model("kill", corrupt(1, 100)), gap()]);
    assert_eq!(safety.tier, corrupt(1, 100));
}

#[test]
fn a_tier_that_holds_on_occasions_only_is_told_with_what_holds_otherwise() {
    let rare = |tier, otherwise| ModelSafety {
        narrowed: Some(Narrowed {
            only: vec!["where it shrinks".to_owned()],
            otherwise,
        }),
        ..model("torn", tier)
    };
    let safety = Safety::of(vec![
        model("kill", clean(100)),
        model("reorder", losing(3, 50, 1)),
        rare(corrupt(2, 40), clean(30)),
    ]);
    assert_eq!(safety.tier, corrupt(2, 190));
    let narrowed = safety.narrowed.unwrap();
    assert_eq!(narrowed.only, ["where it shrinks"]);
    assert_eq!(narrowed.otherwise, losing(3, 180, 1));
    // It is no match for settings that corrupt at any time.
    let at_any_time = Safety::of(vec![
        model("kill", clean(100)),
        model("reorder", losing(3, 50, 1)),
        model("torn", corrupt(2, 40)),
    ]);
    let rarely = Safety::of(vec![
        model("kill", clean(100)),
        model("reorder", losing(3, 50, 1)),
        rare(corrupt(2, 40), clean(30)),
    ]);
    assert_eq!(
        at_any_time.worse_under(&rarely),
        Some(vec!["torn".to_owned()])
    );
    assert_eq!(rarely.worse_under(&at_any_time), Some(vec![]));
    // One model that fares as badly every day leaves nothing to be said.
    let daily = Safety::of(vec![
        model("reorder", corrupt(1, 50)),
        rare(corrupt(2, 40), clean(30)),
    ]);
    assert_eq!(daily.narrowed, None);
}

fn wrong_schedule() -> Schedules {
    Schedules::Played {
        played: 900,
        wrong: 2,
        first: Some(WrongSchedule {
            schedule: "checkpoint-and-restart/wal@9,30".to_owned(),
            what: "a transaction is gone".to_owned(),
            again: "pragmark crash --schedule checkpoint-and-restart/wal@9,30".to_owned(),
        }),
    }
}

#[test]
fn damage_that_needs_no_crash_is_a_tier_of_its_own_and_the_worst() {
    let models = || vec![model("kill", corrupt(1, 100))];
    let found = Safety::of(models()).with_schedules(Some(wrong_schedule()));
    assert_eq!(
        found.tier.to_string(),
        "corrupts without a crash (2 of 900 schedules, such as checkpoint-and-restart/wal@9,30)"
    );
    let clean = Schedules::Played {
        played: 900,
        wrong: 0,
        first: None,
    };
    let crashes_only = Safety::of(models()).with_schedules(Some(clean.clone()));
    assert_eq!(crashes_only.tier, corrupt(1, 100));
    assert!(
        found
            .worse_under(&crashes_only)
            .is_some_and(|worse| !worse.is_empty())
    );
    assert_eq!(crashes_only.worse_under(&found), Some(vec![]));
    // What one round found is not forgotten because another missed it.
    let not_measured = || Schedules::NotMeasured { why: String::new() };
    assert_eq!(clean.clone().merged(wrong_schedule()), wrong_schedule());
    assert_eq!(wrong_schedule().merged(clean.clone()), wrong_schedule());
    assert_eq!(not_measured().merged(clean.clone()), clean);
}

#[test]
fn settings_are_compared_model_by_model() {
    let rare = Safety::of(vec![
        model("kill", clean(100)),
        model("reorder", corrupt(1, 100)),
        model("lying-fifo", corrupt(1, 100)),
    ]);
    let often = Safety::of(vec![
        model("kill", corrupt(9, 100)),
        model("reorder", corrupt(90, 100)),
        model("lying-fifo", clean(100)),
    ]);
    assert_eq!(often.tier.class(), rare.tier.class());
    assert_eq!(often.worse_under(&rare), Some(vec!["kill".to_owned()]));
    assert_eq!(rare.worse_under(&often), Some(vec![]));
    let partly = Safety::of(vec![model("kill", clean(100))]);
    assert_eq!(partly.worse_under(&rare), None);
    assert_eq!(rare.worse_under(&partly), None);
    let unknown = Safety::not_measured("no");
    assert_eq!(unknown.worse_under(&unknown), None);
}

#[test]
fn no_image_is_no_measurement() {
    assert_eq!(Tier::of_counts(0, 0, 0, 0).class(), None);
}

#[test]
fn a_broken_promise_is_seen_and_a_kept_one_is_not() {
    let with = |promise, tier| ModelSafety {
        documented: Some(Documented {
            promise,
            says: String::new(),
            source: String::new(),
        }),
        ..model("kill", tier)
    };
    assert!(with(Promise::Safe, losing(1, 2, 1)).breaks_a_promise());
    assert!(with(Promise::MayLose, corrupt(1, 2)).breaks_a_promise());
    assert!(!with(Promise::MayLose, losing(1, 2, 1)).breaks_a_promise());
    assert!(!with(Promise::MayCorrupt, clean(2)).breaks_a_promise());
    assert!(!with(Promise::Silent, corrupt(1, 2)).breaks_a_promise());
    assert!(!with(Promise::Safe, Tier::not_measured("")).breaks_a_promise());
    assert!(with(Promise::MayCorrupt, clean(2)).is_safer_than_documented());
    assert!(with(Promise::MayCorrupt, losing(1, 2, 1)).is_safer_than_documented());
    assert!(!with(Promise::MayLose, losing(1, 2, 1)).is_safer_than_documented());
    assert!(!with(Promise::Safe, clean(2)).is_safer_than_documented());
    assert!(!with(Promise::Silent, clean(2)).is_safer_than_documented());
}

#[test]
fn of_two_findings_the_worse_is_kept_then_the_larger() {
    let keep = |one: Tier, other: Tier| {
        merged(vec![model("kill", one)], vec![model("kill", other)])
            .remove(0)
            .tier
    };
    assert_eq!(keep(corrupt(1, 10), clean(1_000)), corrupt(1, 10));
    assert_eq!(keep(clean(10), losing(1, 5, 1)), losing(1, 5, 1));
    assert_eq!(keep(clean(10), clean(20)), clean(20));
    assert_eq!(keep(clean(20), clean(10)), clean(20));
    assert_eq!(keep(Tier::not_measured("no"), clean(1)), clean(1));
    assert_eq!(keep(clean(1), Tier::not_measured("no")), clean(1));
    let both = merged(vec![model("kill", clean(1))], vec![model("torn", clean(1))]);
    assert_eq!(both.len(), 2);
}

#[test]
fn what_a_trial_did_not_measure_has_its_reason() {
    let why = |outcome: Outcome| match Safety::of_outcome(&outcome).tier {
        Tier::NotMeasured { why } => why,
        tier => panic!("{tier}"),
    };
    let skipped = Outcome::Skipped {
        why: "no such engine".to_owned(),
    };
    assert_eq!(why(skipped), "skipped: no such engine");
    let silent = Outcome::Measured(Box::<Measured>::default());
    assert_eq!(why(silent), "the driver named no storage model");
}

#[test]
fn a_set_holds_the_settings_that_decide_and_the_engine() {
    let names = ["journal_mode".to_owned(), "synchronous".to_owned()];
    let settings = Settings::from([
        ("journal_mode".to_owned(), "wal".into()),
        ("rows".to_owned(), 10.into()),
    ]);
    let set = TierSet::of(&settings, &names, "default");
    assert_eq!(set.to_string(), "journal_mode=wal");
    assert!(set.decides());
    let page = TierSet {
        settings: [("page_size".to_owned(), 512.into())].into(),
        ..set
    };
    assert!(!page.decides());
    let own = Settings::from([("engine".to_owned(), "system".into())]);
    assert_eq!(
        TierSet::of(&own, &names, "default").to_string(),
        "default settings with the engine system"
    );
}

fn any_tier() -> impl Strategy<Value = Tier> {
    prop_oneof![
        (1..100u64).prop_map(clean),
        (1..100u64, 1..9u64).prop_map(|(images, most)| losing(1, images, most)),
        (1..100u64).prop_map(|images| corrupt(1, images)),
        Just(Tier::not_measured("no")),
    ]
}

proptest! {
    /// However many clean models are added, what was found stays found.
    #[test]
    fn nothing_found_is_talked_away(tiers in prop::collection::vec(any_tier(), 1..8)) {
        let models: Vec<ModelSafety> = tiers.iter().map(|tier| model("m", tier.clone())).collect();
        let whole = Safety::of(models).tier;
        let worst = tiers.iter().filter_map(Tier::class).min();
        if worst == Some(Class::CanCorrupt) {
            prop_assert_eq!(whole.class(), Some(Class::CanCorrupt));
        } else if tiers.iter().any(|tier| tier.class().is_none()) {
            prop_assert_eq!(whole.class(), None);
        } else {
            prop_assert_eq!(whole.class(), worst);
        }
    }

    #[test]
    fn a_tier_is_read_back_as_it_was_written(tier in any_tier()) {
        let text = serde_json::to_string(&tier).unwrap();
        prop_assert_eq!(serde_json::from_str::<Tier>(&text).unwrap(), tier);
    }
}
