//! Claims that do not apply: to the machine, or to data of the run's size.

use crate::lab::claims::Verdict;
use crate::lab::environment::FsyncLatency;
use crate::lab::experiment::Scale;
use crate::world::{RATIO, World, claim, judged, verdict};

#[test]
fn a_claim_applies_to_the_file_systems_of_which_it_speaks() {
    let on = |names: &str| {
        let body = format!("{RATIO}\nat_least = 1.2\nfile_systems = [{names}]");
        judged(&World::default(), &body)
    };
    let other = on("\"btrfs\", \"xfs\"");
    assert_eq!(other.verdict, Verdict::NotApplicable);
    let why = other.why.unwrap();
    assert!(why.contains("btrfs and xfs") && why.contains("here is ext4"), "{why}");
    assert_ne!(on("\"btrfs\", \"ext4\"").verdict, Verdict::NotApplicable);
}

fn with_fsync(medians_ns: Vec<u64>) -> World {
    World { fsync: FsyncLatency::of(medians_ns), ..World::default() }
}

fn needs_fsync(bound: &str) -> String {
    format!("{RATIO}\n{bound}\nrequires = [\"fsync\"]")
}

#[test]
fn a_claim_that_needs_a_slow_fsync_does_not_apply_to_a_fast_one() {
    let body = needs_fsync("at_least = 1.2");
    let fast = judged(&with_fsync(vec![20_000]), &body);
    assert_eq!(fast.verdict, Verdict::NotApplicable);
    assert!(fast.why.unwrap().contains("0.020 ms"));
    assert_eq!(verdict(&with_fsync(vec![]), &body), Verdict::NotApplicable);
    let slow = judged(&World::default(), &body);
    assert_eq!((slow.verdict, slow.would_be), (Verdict::Confirmed, None));
}

#[test]
fn what_does_not_apply_shows_its_figure_and_what_it_would_have_been_judged() {
    let fast = with_fsync(vec![20_000]);
    for (bound, would_be) in
        [("at_least = 1.2", Verdict::Confirmed), ("at_most = 1.2", Verdict::Refuted)]
    {
        let judged = judged(&fast, &needs_fsync(bound));
        assert_eq!(judged.verdict, Verdict::NotApplicable);
        assert_eq!(judged.would_be, Some(would_be));
        assert!((judged.figure.unwrap() - 1.3).abs() < 0.02);
        assert!(judged.interval.unwrap().contains(judged.figure.unwrap()));
    }
    let unmeasured = World { missing: Some(2), ..fast };
    let judged = judged(&unmeasured, &needs_fsync("at_least = 1.2"));
    assert_eq!(judged.verdict, Verdict::NotApplicable);
    assert_eq!((judged.would_be, judged.figure), (None, None));
}

#[test]
fn the_fsync_that_counts_is_the_median_while_the_experiment_ran() {
    let body = needs_fsync("at_least = 1.2");
    let moved = with_fsync(vec![85_000, 4_000_000, 600_000]);
    assert_eq!(verdict(&moved, &body), Verdict::Confirmed);
    let mostly_fast = judged(&with_fsync(vec![85_000, 4_000_000, 90_000]), &body);
    assert_eq!(mostly_fast.verdict, Verdict::NotApplicable);
    let why = mostly_fast.why.unwrap();
    assert!(why.contains("0.090 ms (0.085 to 4.000 ms in 3 probes)"), "{why}");
}

#[test]
fn claims_that_do_not_apply_do_not_make_the_others_harder_to_decide() {
    let together = [
        claim("a", &format!("{RATIO}\nat_least = 1.2")),
        claim("b", &needs_fsync("at_least = 1.25")),
    ];
    let judged = with_fsync(vec![20_000]).judge(&together.concat());
    assert_eq!(judged[0].alpha, 0.05);
    // As if it were the second of two.
    assert!(judged[1].alpha <= 0.05);
    assert_eq!(judged[1].would_be, Some(Verdict::Confirmed));
}

#[test]
fn a_claim_about_sizes_is_not_judged_at_a_scale_that_lacks_them() {
    let body =
        format!("{RATIO}\nat_most = 1.2\nnot_at = {{ quick = \"64 rows instead of 32,768\" }}");
    let quick = World { scale: Scale::Quick, ..World::default() };
    let judged = judged(&quick, &body);
    assert_eq!(judged.verdict, Verdict::NotApplicable);
    assert_eq!(judged.would_be, None);
    assert!(judged.figure.is_some());
    assert_eq!(judged.why.unwrap(), "not at this scale (quick): 64 rows instead of 32,768");
    assert_eq!(verdict(&World::default(), &body), Verdict::Refuted);
}
