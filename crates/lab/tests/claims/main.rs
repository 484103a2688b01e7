//! Verdicts of claims over made-up figures.

mod applicability;
mod bounds;
#[path = "../common/mod.rs"]
mod common;
mod devices;
mod over_the_design;
mod world;

use common::{columns, read};
use lab::claims::Verdict;
use pragmark_lab as lab;
use world::{RATIO, World, claim, judged, verdict};

#[test]
fn a_ratio_is_judged_by_its_whole_interval() {
    let world = World::default();
    assert_eq!(verdict(&world, &format!("{RATIO}\nat_least = 1.2")), Verdict::Confirmed);
    assert_eq!(verdict(&world, &format!("{RATIO}\nat_most = 1.2")), Verdict::Refuted);
    assert_eq!(verdict(&world, &format!("{RATIO}\nbetween = [1.2, 1.4]")), Verdict::Confirmed);
    assert_eq!(verdict(&world, &format!("{RATIO}\nbetween = [1.4, 1.6]")), Verdict::Refuted);
    let judged = judged(&world, &format!("{RATIO}\nat_least = 1.2"));
    assert!((judged.figure.unwrap() - 1.3).abs() < 0.02);
    assert!(judged.interval.unwrap().contains(judged.figure.unwrap()));
    let just_there = format!("{RATIO}\nat_least = {}", judged.figure.unwrap());
    assert_eq!(verdict(&world, &just_there), Verdict::Inconclusive);
}

#[test]
fn the_other_forms_are_judged_too() {
    let world = World::default();
    let ordering = |variants: &str, tolerance: &str| {
        format!("ordering = {{ variants = [{variants}] }}\ntolerance = {tolerance}")
    };
    let falling = "{ columns = 4 }, { columns = 2 }, { columns = 1 }, { columns = 8 }";
    assert_eq!(verdict(&world, &ordering(falling, "0.0")), Verdict::Confirmed);
    assert_eq!(
        verdict(&world, &ordering("{ columns = 1 }, { columns = 4 }", "0.05")),
        Verdict::Refuted
    );
    assert_eq!(
        verdict(&world, &ordering("{ columns = 1 }, { columns = 2 }", "0.2")),
        Verdict::Confirmed
    );

    assert_eq!(
        verdict(&world, "spread = { over = \"columns\" }\nat_most = 0.6"),
        Verdict::Confirmed
    );
    assert_eq!(verdict(&world, "spread = { over = \"columns\" }\nat_most = 0.2"), Verdict::Refuted);
    let spread = judged(&world, "spread = { over = \"columns\" }\nat_most = 0.6");
    assert!((spread.figure.unwrap() - (1.3 / 0.9 - 1.0)).abs() < 0.03);

    let equal = |within: &str| {
        format!("equal = {{ of = {{ columns = 2 }}, to = {{ columns = 1 }} }}\nwithin = {within}")
    };
    assert_eq!(verdict(&world, &equal("0.2")), Verdict::Confirmed);
    assert_eq!(verdict(&world, &equal("0.05")), Verdict::Refuted);

    let extreme = |form: &str, is: &str| format!("{form} = {{ over = \"columns\", is = [{is}] }}");
    assert_eq!(verdict(&world, &extreme("argmax", "4")), Verdict::Confirmed);
    assert_eq!(verdict(&world, &extreme("argmax", "2, 8")), Verdict::Refuted);
    assert_eq!(verdict(&world, &extreme("argmin", "8")), Verdict::Confirmed);
    assert_eq!(verdict(&world, &extreme("argmin", "4")), Verdict::Refuted);
}

#[test]
fn single_figures_and_ratios_of_ratios_are_judged() {
    let world = World { truth: [100.0, 110.0, 143.0, 90.0], rounds: 9, ..World::default() };
    let judged = judged(&world, "value = { of = { columns = 8 } }\nbetween = [50, 300]");
    assert_eq!(judged.verdict, Verdict::Confirmed);
    assert_eq!(judged.unit.as_deref(), Some("rows_per_s"));
    assert!(judged.figure.unwrap() > 80.0);
    assert_eq!(verdict(&world, "value = { of = { columns = 8 } }\nat_most = 50"), Verdict::Refuted);
    let doubled = "ratio_of_ratios = { of = { columns = 4 }, to = { columns = 2 }, over_of = { columns = 2 }, over_to = { columns = 1 } }";
    let twice = self::judged(&world, &format!("{doubled}\nat_least = 1.1"));
    assert_eq!(twice.verdict, Verdict::Confirmed);
    assert!((twice.figure.unwrap() - 1.3 / 1.1).abs() < 0.03);
}

#[test]
fn two_figures_of_the_same_trials_are_compared_and_so_is_their_ratio_between_variants() {
    let world = World::default();
    let of = "{ columns = 4 }";
    let metrics = r#"metric = "rows_per_s.load", to_metric = "rows_per_s""#;
    let ratio = format!("ratio = {{ of = {of}, to = {of}, {metrics} }}\nat_least = 2.5");
    let judged = self::judged(&world, &ratio);
    assert_eq!(judged.verdict, Verdict::Confirmed);
    assert!((judged.figure.unwrap() - 2.6).abs() < 0.01, "{judged:?}");
    let over = format!(
        "ratio_of_ratios = {{ of = {of}, to = {of}, over_of = {{ columns = 1 }}, over_to = {{ columns = 1 }}, {metrics} }}\nbetween = [1.25, 1.35]"
    );
    let judged = self::judged(&world, &over);
    assert_eq!(judged.verdict, Verdict::Confirmed);
    assert!((judged.figure.unwrap() - 1.3).abs() < 0.02, "{judged:?}");
    let missing = World { missing: Some(2), ..World::default() };
    let judged = self::judged(&missing, &ratio);
    assert_eq!(judged.verdict, Verdict::Inconclusive);
    assert!(judged.why.unwrap().contains("no such thing"));
}

#[test]
fn the_verdict_can_be_read_off_the_interval_shown() {
    let noisy = World { noise: 0.2, rounds: 9, ..World::default() };
    let bounds = [1.0, 1.1, 1.2, 1.3, 1.4];
    let claims: String = bounds
        .iter()
        .map(|bound| claim(&format!("c{bound}"), &format!("{RATIO}\nat_least = {bound}")))
        .collect();
    for judged in noisy.judge(&claims) {
        let interval = judged.interval.unwrap();
        let low = judged.bounds.low.unwrap();
        let expected = if interval.low >= low {
            Verdict::Confirmed
        } else if interval.high < low {
            Verdict::Refuted
        } else {
            Verdict::Inconclusive
        };
        assert_eq!(judged.verdict, expected, "{judged:?}");
    }
}

#[test]
fn judging_many_claims_together_asks_more_of_each() {
    let world = World { noise: 0.15, rounds: 10, truth: [1.0, 1.0, 1.17, 1.0], ..World::default() };
    let alone = judged(&world, &format!("{RATIO}\nat_least = 1.05"));
    let many: String =
        (0..12).map(|n| claim(&format!("c{n}"), &format!("{RATIO}\nat_least = 1.05"))).collect();
    let together = world.judge(&many).remove(0);
    assert!(together.alpha < alone.alpha);
    assert!(together.interval.unwrap().half_width() >= alone.interval.unwrap().half_width());
}

#[test]
fn a_claim_about_an_variant_that_was_not_measured_is_inconclusive_and_says_why() {
    let world = World { missing: Some(2), ..World::default() };
    let judged = judged(&world, &format!("{RATIO}\nat_least = 1.2"));
    assert_eq!(judged.verdict, Verdict::Inconclusive);
    assert!(judged.why.unwrap().contains("no such thing"));
}

#[test]
fn exact_claims_must_hold_in_every_round() {
    let exact = |bound: &str| {
        format!(
            "ratio = {{ of = {{ columns = 2 }}, to = {{ columns = 1 }}, metric = \"db_bytes\" }}\nat_most = {bound}\nexact = true"
        )
    };
    let sizes = World { noise: 0.0, rounds: 3, ..World::default() };
    assert_eq!(verdict(&sizes, &exact("1.11")), Verdict::Confirmed);
    assert_eq!(verdict(&sizes, &exact("1.05")), Verdict::Refuted);
    let wobbling = World { noise: 0.1, rounds: 12, ..World::default() };
    let judged = judged(&wobbling, &exact("1.1"));
    assert_eq!(judged.verdict, Verdict::Refuted);
    assert!(judged.why.unwrap().contains("rounds only"));
}

#[test]
fn an_exact_claim_is_not_confirmed_by_the_trials_that_did_not_fail() {
    let ratio = "ratio = { of = { columns = 2 }, to = { columns = 1 }, metric = \"db_bytes\" }";
    let value = "value = { of = { columns = 2 }, metric = \"db_bytes\" }";
    let world = |failing: usize| World {
        noise: 0.0,
        rounds: 3,
        failing: Some(failing),
        ..World::default()
    };
    for (form, holds, fails) in [(ratio, 1.11, 1.05), (value, 9.0, 1.05)] {
        let exact = |bound: f64| format!("{form}\nat_most = {bound:?}\nexact = true");
        let unsure = judged(&world(1), &exact(holds));
        assert_eq!(unsure.verdict, Verdict::Inconclusive, "{form}");
        assert!(unsure.why.unwrap().contains("1 of its 9 trials failed"));
        // One exception refutes, and trials of other variants say nothing.
        assert_eq!(verdict(&world(1), &exact(fails)), Verdict::Refuted);
        assert_eq!(verdict(&world(3), &exact(holds)), Verdict::Confirmed);
    }
    // A mean over many rounds does without some.
    let noisy = World { failing: Some(1), ..World::default() };
    let inexact = format!("{ratio}\nat_most = 1.2");
    assert_eq!(verdict(&noisy, &inexact), Verdict::Confirmed);
}

#[test]
fn what_an_aa_check_shows_refutes_an_exact_claim_about_the_baseline() {
    let world = |aa_check: f64| World {
        truth: [2.0, 1.0, 1.0, 1.0],
        noise: 0.0,
        rounds: 3,
        aa_check: Some(aa_check),
        ..World::default()
    };
    let exact = "value = { of = { columns = 1 } }\nat_most = 3\nexact = true";
    assert_eq!(verdict(&world(2.0), exact), Verdict::Confirmed);
    let exception = judged(&world(2.6), exact);
    assert_eq!(exception.verdict, Verdict::Refuted);
    assert_eq!(exception.rounds, 3);
    assert_eq!(exception.why.unwrap(), "it holds in 1 of 3 rounds only");
}

#[test]
fn no_rows_compared_with_no_rows_confirm_nothing() {
    let world = World { truth: [0.0, 1.0, 0.0, 1.0], noise: 0.0, rounds: 7, ..World::default() };
    for more in ["", "\nexact = true"] {
        let judged = judged(&world, &format!("{RATIO}\nat_least = 1{more}"));
        assert_eq!(judged.verdict, Verdict::Inconclusive, "{judged:?}");
    }
    let equal = "equal = { of = { columns = 4 }, to = { columns = 1 } }\nwithin = 0.1";
    assert_eq!(verdict(&world, equal), Verdict::Inconclusive);
}

#[test]
fn an_exact_ratio_is_not_confirmed_by_the_rounds_that_have_one() {
    let world = |truth: [f64; 4]| World { truth, noise: 0.0, rounds: 3, ..World::default() };
    let exact = "spread = { over = \"columns\" }\nat_most = 0\nexact = true";
    // Nothing everywhere is the same everywhere, which shows nothing.
    let nothing = judged(&world([0.0; 4]), exact);
    assert_eq!(nothing.verdict, Verdict::Inconclusive, "{nothing:?}");
    assert!(nothing.why.unwrap().contains("nothing was compared"));
    let unsure = judged(&world([0.0, 0.0, 0.0, 5.0]), exact);
    assert_eq!(unsure.verdict, Verdict::Inconclusive, "{unsure:?}");
}

#[test]
fn preliminary_claims_share_the_error_rate_by_holm_as_others_do() {
    let world = World { rounds: 4, ..World::default() };
    let both = [1.2, 1.25]
        .map(|bound| claim(&format!("c{bound}"), &format!("{RATIO}\nat_least = {bound}")));
    let mut levels: Vec<f64> = world.judge(&both.concat()).iter().map(|one| one.alpha).collect();
    levels.sort_by(f64::total_cmp);
    assert_eq!(levels, [0.025, 0.05]);
}

#[test]
fn an_exact_figure_may_be_nothing_at_all() {
    let none = World { truth: [0.0; 4], noise: 0.0, rounds: 2, ..World::default() };
    let body = "value = { of = { columns = 2 } }\nat_most = 0\nexact = true";
    let judged = judged(&none, body);
    assert_eq!(judged.verdict, Verdict::Confirmed);
    assert_eq!(judged.figure, Some(0.0));
}

#[test]
fn few_rounds_give_a_preliminary_verdict() {
    let judged =
        judged(&World { rounds: 4, ..World::default() }, &format!("{RATIO}\nat_least = 1.2"));
    assert!(judged.preliminary);
    assert_eq!(judged.verdict, Verdict::Confirmed);
}

#[test]
fn what_no_variants_can_show_is_refused_with_the_file() {
    let refused = |body: &str| {
        let text = columns(&claim("a", body));
        read(&text).expect_err("a problem").to_string()
    };
    let across = |to: &str| {
        format!(
            "ratio = {{ of = {{ columns = 2 }}, to = {{ {to} }}, across = true }}\nat_least = 1"
        )
    };
    assert!(refused(&across("columns = 2")).contains("no two variants differ"));
    assert!(refused(&across("columns = 3")).contains("is not a level"));
    assert!(refused("best = { share = 0.5, hold = { columns = 4 } }").contains("1 of 4 variants"));
    assert!(refused("best = { share = 2.0, hold = { columns = 4 } }").contains("between 0 and 1"));
    let both = "spread = { over = \"columns\", across = true, without_worst = true }\nat_most = 1";
    assert!(refused(both).contains("without_worst"));
    let two = "argmin = { over = \"columns\", variant = { columns = 2 } }";
    assert!(refused(two).contains("either"));
}
