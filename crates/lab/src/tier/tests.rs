use super::*;
use crate::level::Settings;
use crate::trial::{Measured, Outcome};
use proptest::prelude::*;

fn model(name: &str, counts: Counts) -> ModelSafety {
    let accident = match name {
        "kill" => Accident::Process,
        _ => Accident::Power,
    };
    ModelSafety {
        ordinary: Losses::of(counts),
        ..ModelSafety::not_measured(name, accident, !name.starts_with("lying"), "")
    }
}

fn clean(images: u64) -> Counts {
    Counts::of(images, 0, 0, 0)
}

fn losing(losing: u64, images: u64, most: u64) -> Counts {
    Counts::of(images, 0, losing, most)
}

fn corrupt(bad: u64, images: u64) -> Counts {
    Counts::of(images, bad, 0, 0)
}

fn rarely(model: ModelSafety, counts: Counts) -> ModelSafety {
    let on = OnOccasion {
        occasion: "shrinking".to_owned(),
        counts,
        witness: Some(format!("a witness under {}", model.model)),
        again: None,
        cause: None,
    };
    ModelSafety { occasions: vec![on], ..model }
}

fn class(process: Loss, power: Loss) -> Class {
    Class { process: Some(process), power: Some(power), uncrashed: false }
}

#[test]
fn losses_are_worded_as_what_the_images_show() {
    let said = |counts: Counts| Losses::of(counts).to_string();
    assert_eq!(said(clean(12)), "loses no acknowledged transaction in 12 images");
    assert_eq!(said(clean(1)), "loses no acknowledged transaction in 1 image");
    assert_eq!(
        said(losing(2, 12, 1)),
        "can lose the last transaction (2 of 12 images, none corrupt)"
    );
    assert_eq!(
        said(losing(2, 12, 3)),
        "can lose recent transactions (2 of 12 images, up to 3 in the test, none corrupt)"
    );
    assert_eq!(said(corrupt(5, 12)), "can corrupt (5 of 12 images)");
    assert_eq!(said(clean(0)), "not measured (no crash image was checked)");
}

#[test]
fn a_tier_says_what_each_accident_takes() {
    let safety = Safety::of(vec![
        model("kill", clean(100)),
        model("reorder", losing(4, 50, 2)),
        model("torn", losing(1, 60, 5)),
    ]);
    assert_eq!(safety.tier.power, Losses::of(losing(5, 110, 5)));
    assert_eq!(
        safety.tier.to_string(),
        "process dies: loses no acknowledged transaction in 100 images; power cut: can lose recent \
         transactions (5 of 110 images, up to 5 in the test, none corrupt)"
    );
    assert_eq!(safety.beyond, None);
}

/// What a reader knows of these settings: each must look different.
#[test]
fn the_five_configurations_that_everybody_knows_have_five_tiers() {
    let tier = |kill: Counts, reorder: Counts| {
        let models = vec![model("kill", kill), model("reorder", reorder)];
        Safety::of(models).tier.class()
    };
    let delete_full = tier(clean(841), losing(31, 2_050, 1));
    let wal_normal = tier(clean(841), losing(610, 1_904, 9));
    let wal_full = tier(clean(841), clean(2_100));
    let memory = tier(corrupt(96, 841), corrupt(512, 2_480));
    let synchronous_off = tier(clean(841), corrupt(512, 2_480));
    let all = [delete_full, wal_normal, wal_full, memory, synchronous_off];
    assert_eq!(crate::level::distinct(all).len(), 5);
    assert_eq!(wal_full, class(Loss::Nothing, Loss::Nothing));
    assert_eq!(delete_full, class(Loss::Nothing, Loss::LastTransaction));
    assert_eq!(wal_normal, class(Loss::Nothing, Loss::RecentTransactions));
    assert_eq!(synchronous_off, class(Loss::Nothing, Loss::Corruption));
    assert_eq!(memory, class(Loss::Corruption, Loss::Corruption));
}

#[test]
fn models_outside_the_assumptions_decide_no_tier() {
    let safety = Safety::of(vec![
        model("kill", clean(100)),
        model("torn", clean(100)),
        model("lying-fifo", corrupt(7, 9)),
    ]);
    assert!(safety.tier.class().loses_nothing());
    assert_eq!(safety.beyond, Some(Losses::of(corrupt(7, 9))));
    let only_beyond = Safety::of(vec![model("lying-fifo", clean(1))]);
    assert_eq!(only_beyond.tier.class(), Class::default());
}

#[test]
fn a_model_without_a_measurement_leaves_corruption_alone_to_be_said() {
    let gap =
        || ModelSafety { ordinary: Losses::not_measured("out of time"), ..model("torn", clean(1)) };
    let power = |counts| Safety::of(vec![model("reorder", counts), gap()]).tier.power;
    let why = Losses::not_measured("model torn: out of time");
    assert_eq!(power(clean(100)), why);
    assert_eq!(power(losing(1, 100, 1)), why);
    assert_eq!(power(corrupt(1, 100)), Losses::of(corrupt(1, 100)));
}

#[test]
fn what_happens_on_a_rare_occasion_alone_is_a_footnote_with_its_own_counts() {
    let models = vec![
        rarely(model("kill", clean(100)), clean(9)),
        rarely(model("reorder", losing(3, 50, 1)), losing(1, 30, 1)),
        rarely(model("torn", clean(60)), corrupt(2, 40)),
    ];
    let tier = Safety::of(models).tier;
    assert_eq!(tier.class(), class(Loss::Nothing, Loss::LastTransaction));
    let [rare] = &tier.occasions[..] else {
        panic!("{:?}", tier.occasions);
    };
    assert_eq!(
        rare.words(|count| count.to_string()),
        "on shrinking, in a power cut: can corrupt (2 of 70 images)"
    );
    assert_eq!(rare.witness.as_deref(), Some("a witness under torn"));
    // Where ordinary commits corrupt too, the occasion adds nothing.
    let daily =
        vec![model("reorder", corrupt(1, 50)), rarely(model("torn", clean(60)), corrupt(2, 40))];
    assert_eq!(Safety::of(daily).tier.occasions, []);
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
fn damage_that_needs_no_crash_is_the_worst_of_all() {
    let models = || vec![model("kill", corrupt(1, 100)), model("torn", clean(9))];
    let found = Safety::of(models()).with_schedules(Some(wrong_schedule()));
    assert_eq!(
        found.to_string(),
        "corrupts without a crash (2 of 900 schedules, such as checkpoint-and-restart/wal@9,30)"
    );
    let alone = Schedules::Alone { what: "row 7 is missing".to_owned(), again: String::new() };
    let damaged = Safety::of(models()).with_schedules(Some(alone.clone()));
    assert_eq!(damaged.to_string(), "corrupts without a crash (row 7 is missing)");
    assert_eq!(wrong_schedule().merged(alone.clone()), alone);
    let clean = Schedules::Played { played: 900, wrong: 0, first: None };
    let crashes_only = Safety::of(models()).with_schedules(Some(clean.clone()));
    let (found, crashes_only) = (found.tier.class(), crashes_only.tier.class());
    assert_eq!(found.is_at_least_as_safe_as(crashes_only), Some(false));
    assert_eq!(crashes_only.is_at_least_as_safe_as(found), Some(true));
    assert!(crashes_only.order() < found.order());
    // What one round found is not forgotten because another missed it.
    let not_measured = || Schedules::NotMeasured { why: String::new() };
    assert_eq!(clean.clone().merged(wrong_schedule()), wrong_schedule());
    assert_eq!(wrong_schedule().merged(clean.clone()), wrong_schedule());
    assert_eq!(not_measured().merged(clean.clone()), clean);
}

#[test]
fn tiers_compare_accident_by_accident() {
    use Loss::{Corruption, LastTransaction, Nothing, RecentTransactions};
    let as_safe = |one: Class, other| one.is_at_least_as_safe_as(other);
    let (recent, last) = (class(Nothing, RecentTransactions), class(Nothing, LastTransaction));
    assert_eq!(as_safe(last, recent), Some(true));
    assert_eq!(as_safe(recent, last), Some(false));
    assert_eq!(as_safe(recent, recent), Some(true));
    // Neither of two that trade one accident for the other.
    let traded = class(LastTransaction, Nothing);
    assert_eq!(as_safe(traded, last), Some(false));
    assert_eq!(as_safe(last, traded), Some(false));
    // What was not measured is neither worse nor safer, but what was may decide.
    let half = Class { power: None, ..class(Corruption, Nothing) };
    assert_eq!(as_safe(half, last), Some(false));
    assert_eq!(as_safe(last, half), None);
    assert_eq!(as_safe(Class::default(), Class::default()), None);
}

#[test]
fn what_a_rung_admits_follows_from_both_accidents() {
    use Loss::{Corruption, LastTransaction, Nothing, RecentTransactions};
    assert!(class(Nothing, Nothing).loses_nothing());
    assert!(!class(Nothing, LastTransaction).loses_nothing());
    for loss in [Nothing, LastTransaction, RecentTransactions] {
        assert!(class(Nothing, loss).loses_recent_at_most(), "{loss:?}");
    }
    assert!(!class(Nothing, Corruption).loses_recent_at_most());
    assert!(!class(LastTransaction, Nothing).loses_recent_at_most());
    assert!(!Class::default().loses_recent_at_most());
    let uncrashed = Class { uncrashed: true, ..class(Nothing, Nothing) };
    assert!(!uncrashed.loses_nothing() && !uncrashed.loses_recent_at_most());
}

#[test]
fn a_broken_promise_is_seen_and_a_kept_one_is_not() {
    let with = |promise, counts| ModelSafety {
        documented: Some(Documented { promise, says: String::new(), source: String::new() }),
        ..model("kill", counts)
    };
    let breaks = |promise, counts| {
        let model = with(promise, counts);
        model.breaks_a_promise(model.worst())
    };
    assert!(breaks(Promise::Safe, losing(1, 2, 1)));
    assert!(breaks(Promise::MayLose, corrupt(1, 2)));
    assert!(!breaks(Promise::MayLose, losing(1, 2, 1)));
    assert!(!breaks(Promise::MayCorrupt, clean(2)));
    assert!(!breaks(Promise::Silent, corrupt(1, 2)));
    assert!(!breaks(Promise::Safe, clean(0)));
    assert!(with(Promise::MayCorrupt, clean(2)).is_safer_than_documented());
    assert!(with(Promise::MayCorrupt, losing(1, 2, 1)).is_safer_than_documented());
    assert!(!with(Promise::MayLose, losing(1, 2, 1)).is_safer_than_documented());
    assert!(!with(Promise::Safe, clean(2)).is_safer_than_documented());
    assert!(!with(Promise::Silent, clean(2)).is_safer_than_documented());
}

#[test]
fn of_two_findings_the_worse_is_kept_then_the_larger() {
    let keep = |one: Counts, other: Counts| {
        let both = [one, other].map(|counts| vec![model("kill", counts)]);
        let [one, other] = both;
        merged(one, other).remove(0).ordinary
    };
    assert_eq!(keep(corrupt(1, 10), clean(1_000)), Losses::of(corrupt(1, 10)));
    assert_eq!(keep(clean(10), losing(1, 5, 1)), Losses::of(losing(1, 5, 1)));
    assert_eq!(keep(clean(10), clean(20)), Losses::of(clean(20)));
    assert_eq!(keep(clean(20), clean(10)), Losses::of(clean(20)));
    assert_eq!(keep(clean(0), clean(1)), Losses::of(clean(1)));
    assert_eq!(keep(clean(1), clean(0)), Losses::of(clean(1)));
    let both = merged(vec![model("kill", clean(1))], vec![model("torn", clean(1))]);
    assert_eq!(both.len(), 2);
}

#[test]
fn what_one_trial_found_on_an_occasion_is_not_forgotten() {
    let one = rarely(model("torn", clean(60)), corrupt(1, 4));
    let other = rarely(model("torn", losing(1, 90, 1)), clean(40));
    let both = merged(vec![one], vec![other]).remove(0);
    assert_eq!(both.ordinary, Losses::of(losing(1, 90, 1)));
    assert_eq!(both.occasions[0].counts, corrupt(1, 4));
    assert_eq!(both.worst(), Some(Loss::Corruption));
}

#[test]
fn what_a_trial_did_not_measure_has_its_reason() {
    let why = |outcome: Outcome| {
        let tier = Safety::of_outcome(&outcome).tier;
        tier.why_not().unwrap_or_default().to_owned()
    };
    let skipped = Outcome::Skipped { why: "no such engine".to_owned() };
    assert_eq!(why(skipped), "skipped: no such engine");
    let silent = Outcome::Measured(Box::<Measured>::default());
    assert_eq!(why(silent), "the driver named no storage model");
}

#[test]
fn a_set_holds_the_settings_that_decide_and_the_engine() {
    let names = ["journal_mode".to_owned(), "synchronous".to_owned()];
    let settings =
        Settings::from([("journal_mode".to_owned(), "wal".into()), ("rows".to_owned(), 10.into())]);
    let set = TierSet::of(&settings, &names, "default");
    assert_eq!(set.to_string(), "journal_mode=wal");
    assert!(set.decides());
    let page = TierSet { settings: [("page_size".to_owned(), 512.into())].into(), ..set };
    assert!(!page.decides());
    let own = Settings::from([("engine".to_owned(), "system".into())]);
    assert_eq!(
        TierSet::of(&own, &names, "default").to_string(),
        "default settings with the engine system"
    );
}

fn any_counts() -> impl Strategy<Value = Counts> {
    prop_oneof![
        (1..100u64).prop_map(clean),
        (1..100u64, 1..9u64).prop_map(|(images, most)| losing(1, images, most)),
        (1..100u64).prop_map(|images| corrupt(1, images)),
        Just(Counts::default()),
    ]
}

proptest! {
    /// However many clean models are added, what was found stays found.
    #[test]
    fn nothing_found_is_talked_away(all in prop::collection::vec(any_counts(), 1..8)) {
        let models: Vec<ModelSafety> = all.iter().map(|counts| model("m", *counts)).collect();
        let power = Safety::of(models).tier.power.loss();
        let losses = all.iter().map(|counts| Losses::of(*counts).loss());
        let worst = losses.clone().flatten().max();
        if worst == Some(Loss::Corruption) {
            prop_assert_eq!(power, worst);
        } else if losses.clone().any(|loss| loss.is_none()) {
            prop_assert_eq!(power, None);
        } else {
            prop_assert_eq!(power, worst);
        }
    }

    #[test]
    fn losses_are_read_back_as_they_were_written(counts in any_counts()) {
        let losses = Losses::of(counts);
        let text = serde_json::to_string(&losses).unwrap();
        prop_assert_eq!(serde_json::from_str::<Losses>(&text).unwrap(), losses);
    }
}

#[test]
fn what_no_image_shows_has_an_upper_bound_by_their_number() {
    let bound = |images| Counts::of(images, 0, 0, 0).bound_of_none();
    assert_eq!(bound(0), 1.0);
    assert!((bound(1) - 0.95).abs() < 1e-9);
    assert!((bound(457) - 3.0 / 457.0).abs() < 1e-4, "{}", bound(457));
    // The share that a larger sample showed lies below it.
    assert!(6.0 / 3_501.0 < bound(457));
}
