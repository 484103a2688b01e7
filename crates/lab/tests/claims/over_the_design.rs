//! Claims about the whole design: means over pairs, spreads, extremes and the best of all.

use std::collections::BTreeMap;

use crate::common::{catalogue, read};
use crate::lab::claims::{Evidence, Judged, Verdict, judge};
use crate::lab::design::variants;
use crate::lab::experiment::Scale;
use crate::world::{World, claim};

/// Two factors of two levels over made-up figures: `full` is 1.5 times as good as `off`, but with
/// `wal` it gains nothing.
const GRID: [f64; 4] = [1.0, 1.5, 1.02, 1.02];

fn grid_judged(truth: [f64; 4], body: &str) -> Judged {
    let text = format!(
        r#"id = "grid"
question = "?"
workload = "bulk-insert"
factors = {{ journal_mode = ["delete", "wal"], synchronous = ["off", "full"] }}
[design]
kind = "factorial"
baseline = {{ journal_mode = "delete", synchronous = "off" }}
{}"#,
        claim("a", body)
    );
    let experiment = read(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let variants = variants(&experiment, Scale::Default, &catalogue());
    let labels: Vec<&str> = variants.iter().map(|variant| variant.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "journal_mode=delete synchronous=off",
            "journal_mode=delete synchronous=full",
            "journal_mode=wal synchronous=off",
            "journal_mode=wal synchronous=full"
        ]
    );
    let world = World { truth, ..World::default() };
    judge(&Evidence {
        experiment: &experiment,
        variants: &variants,
        samples: &BTreeMap::from([("rows_per_s".to_owned(), world.samples(world.truth))]),
        problems: &[const { None }; 4],
        failures: &[const { None }; 4],
        scale: Scale::Default,
        fsync: None,
        file_system: None,
        devices: &[],
    })
    .remove(0)
}

#[test]
fn an_effect_over_the_whole_design_is_the_mean_over_its_pairs() {
    let sync = r#"of = { synchronous = "full" }, to = { synchronous = "off" }, across = true"#;
    let judged = grid_judged(GRID, &format!("ratio = {{ {sync} }}\nat_least = 1.1"));
    // The root of 1.5 × 1.
    assert!((judged.figure.unwrap() - 1.5f64.sqrt()).abs() < 0.02);
    assert!(judged.measure.contains("mean over 2 pairs"), "{}", judged.measure);
    assert_eq!(judged.verdict, Verdict::Confirmed);
    let equal = format!("equal = {{ {sync} }}\nwithin = 0.1");
    assert_eq!(grid_judged(GRID, &equal).verdict, Verdict::Refuted);

    let spread = |at_most: f64| {
        let over = r#"spread = { over = "synchronous", across = true }"#;
        grid_judged(GRID, &format!("{over}\nat_most = {at_most}")).verdict
    };
    assert_eq!(spread(0.3), Verdict::Confirmed);
    assert_eq!(spread(0.1), Verdict::Refuted);
}

#[test]
fn a_spread_may_leave_out_the_worst_variant() {
    let variants = [("delete", "off"), ("delete", "full"), ("wal", "off"), ("wal", "full")]
        .map(|(journal, sync)| {
            format!("{{ journal_mode = \"{journal}\", synchronous = \"{sync}\" }}")
        })
        .join(", ");
    let truth = [1.0, 1.02, 0.5, 1.01];
    let body = |more: &str| format!("spread = {{ variants = [{variants}]{more} }}\nat_most = 0.1");
    assert_eq!(grid_judged(truth, &body("")).verdict, Verdict::Refuted);
    let without = grid_judged(truth, &body(", without_worst = true"));
    assert_eq!(without.verdict, Verdict::Confirmed);
    assert!(!without.measure.contains("journal_mode=wal synchronous=off"));
}

#[test]
fn the_extreme_of_all_variants_may_be_named_by_its_levels() {
    let slowest = |journal: &str| {
        let variant =
            format!("variant = {{ journal_mode = \"{journal}\", synchronous = \"off\" }}");
        grid_judged([1.0, 1.2, 0.5, 1.0], &format!("argmin = {{ {variant} }}")).verdict
    };
    assert_eq!(slowest("wal"), Verdict::Confirmed);
    assert_eq!(slowest("delete"), Verdict::Refuted);
}

#[test]
fn the_extreme_may_share_its_place_with_what_counts_as_equal() {
    let slowest = |tolerance: &str| {
        let variant = r#"variant = { journal_mode = "wal", synchronous = "full" }"#;
        let body = format!("argmin = {{ {variant} }}\n{tolerance}");
        grid_judged([1.0, 1.2, 0.5, 0.51], &body).verdict
    };
    assert_eq!(slowest(""), Verdict::Refuted);
    assert_eq!(slowest("tolerance = 0.05"), Verdict::Confirmed);
}

#[test]
fn the_best_variants_hold_certain_levels_when_the_last_of_them_leads() {
    let best = |truth, share: f64, journal: &str| {
        let hold = format!("hold = {{ journal_mode = \"{journal}\" }}");
        grid_judged(truth, &format!("best = {{ share = {share}, {hold} }}"))
    };
    // Both variants of the better half are WAL's.
    let truth = [1.0, 1.1, 1.5, 1.3];
    let judged = best(truth, 0.5, "wal");
    assert_eq!(judged.verdict, Verdict::Confirmed);
    assert!((judged.figure.unwrap() - 1.3 / 1.1).abs() < 0.03);
    assert_eq!(best(truth, 0.5, "delete").verdict, Verdict::Refuted);
    // The best quarter is one variant.
    let mixed = [1.0, 1.6, 1.5, 1.3];
    assert_eq!(best(mixed, 0.25, "delete").verdict, Verdict::Confirmed);
    assert_eq!(best(mixed, 0.5, "delete").verdict, Verdict::Refuted);
}
