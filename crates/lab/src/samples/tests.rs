use super::*;

#[test]
fn variants_of_one_block_are_compared_directly_and_others_through_their_baselines() {
    let mut samples = Samples::new(3);
    // The machine is twice as fast in block 1: the baselines say so.
    samples.add(0, 0, 0, Role::Baseline, 10.0);
    samples.add(0, 0, 1, Role::Variant, 20.0);
    samples.add(0, 1, 0, Role::Baseline, 20.0);
    samples.add(0, 1, 2, Role::Variant, 40.0);
    assert!((samples.log_ratios(2, 1)[0]).abs() < 1e-12);
    assert!((samples.log_ratios(1, 0)[0] - 2f64.ln()).abs() < 1e-12);
    assert!((samples.log_ratios(0, 2)[0] + 2f64.ln()).abs() < 1e-12);

    samples.add(1, 0, 0, Role::Baseline, 1000.0);
    samples.add(1, 0, 1, Role::Variant, 10.0);
    samples.add(1, 0, 2, Role::Variant, 30.0);
    assert!((samples.log_ratios(2, 1)[1] - 3f64.ln()).abs() < 1e-12);
}

#[test]
fn a_round_without_one_of_the_two_gives_no_ratio() {
    let mut samples = Samples::new(2);
    samples.add(0, 0, 1, Role::Variant, 5.0);
    samples.add(1, 0, 0, Role::Baseline, 5.0);
    assert!(samples.log_ratios(1, 0).is_empty());
    assert!(samples.log_ratios(0, 1).is_empty());
}

#[test]
fn two_metrics_of_the_same_trials_are_divided_within_each_round() {
    let (mut upper, mut lower) = (Samples::new(2), Samples::new(2));
    for (round, baseline, variant) in [(0, 4.0, 9.0), (1, 8.0, 27.0)] {
        upper.add(round, 0, 0, Role::Baseline, baseline);
        lower.add(round, 0, 0, Role::Baseline, 2.0);
        upper.add(round, 0, 1, Role::Variant, variant);
        lower.add(round, 0, 1, Role::Variant, 3.0);
    }
    // Another block of the same round counts to the round's mean.
    upper.add(1, 1, 0, Role::Baseline, 16.0);
    lower.add(1, 1, 0, Role::Baseline, 2.0);
    // A round that lacks one of the two has no ratio.
    upper.add(2, 0, 1, Role::Variant, 5.0);
    let near = |found: Vec<f64>, wanted: &[f64]| {
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found.exp() / wanted - 1.0).abs() < 1e-9, "{found}");
        }
    };
    near(upper.log_ratios_to_metric(&lower, 0), &[2.0, 32f64.sqrt()]);
    near(upper.log_ratios_to_metric(&lower, 1), &[3.0, 9.0]);
    near(upper.log_ratios_to_metric_compared(&lower, 1, 0), &[1.5, 9.0 / 32f64.sqrt()]);
    assert_eq!(upper.differences(1, 0), [5.0, 19.0]);
    assert!(upper.differences(0, 0).is_empty());
}

#[test]
fn variants_of_one_block_differ_by_themselves_and_others_by_what_they_are_over_their_baselines() {
    let mut samples = Samples::new(3);
    samples.add(0, 0, 0, Role::Baseline, 10.0);
    samples.add(0, 0, 1, Role::Variant, 15.0);
    samples.add(0, 0, 2, Role::Variant, 40.0);
    // The machine is slower in the second block of this round.
    samples.add(1, 0, 0, Role::Baseline, 10.0);
    samples.add(1, 0, 1, Role::Variant, 16.0);
    samples.add(1, 1, 0, Role::Baseline, 110.0);
    samples.add(1, 1, 2, Role::Variant, 143.0);
    // A round without one of the two has no difference of them.
    samples.add(2, 0, 0, Role::Baseline, 10.0);
    samples.add(2, 0, 2, Role::Variant, 50.0);
    assert_eq!(samples.differences(2, 1), [25.0, 27.0]);
    assert_eq!(samples.differences(1, 2), [-25.0, -27.0]);
    assert_eq!(samples.differences(2, 0), [30.0, 33.0, 40.0]);
    assert!(samples.differences(1, 1).is_empty());
}

#[test]
fn a_variant_is_set_against_both_baselines_of_its_block() {
    let mut samples = Samples::new(2);
    samples.add(0, 0, 0, Role::Baseline, 8.0);
    samples.add(0, 0, 0, Role::AaCheck, 2.0);
    samples.add(0, 0, 1, Role::Variant, 12.0);
    samples.add(1, 0, 0, Role::Baseline, 8.0);
    samples.add(1, 0, 1, Role::Variant, 16.0);
    assert!((samples.log_over_baselines(0, 1).unwrap() - 3f64.ln()).abs() < 1e-12);
    assert!((samples.log_over_baselines(1, 1).unwrap() - 2f64.ln()).abs() < 1e-12);
    assert_eq!(samples.log_over_baselines(1, 0), Some(0.0));
    assert_eq!(samples.log_over_baselines(2, 0), None);
    assert_eq!(samples.log_over_baselines(2, 1), None);
}

#[test]
fn the_mean_over_pairs_is_that_of_the_pairs_measured_freed_of_their_own_levels() {
    let mut samples = Samples::new(6);
    // One pair differs by two, one by four, one by eight; round 1 has 10 % more of all three.
    let figures = [1.0, 2.0, 4.0, 16.0, 1.0, 8.0];
    for round in 0..3 {
        for (variant, figure) in figures.iter().enumerate() {
            let role = if variant == 0 { Role::Baseline } else { Role::Variant };
            let more = if round == 1 && variant % 2 == 1 { 1.1 } else { 1.0 };
            // Round 2 lacks the third pair.
            if (round, variant) != (2, 5) {
                samples.add(round, 0, variant, role, figure * more);
            }
        }
    }
    let pairs = [(1, 0), (3, 2), (5, 4)];
    let means = samples.mean_log_ratios(&pairs);
    // The geometric mean of two, four and eight.
    let near = |found: f64, wanted: f64| {
        assert!((found.exp() / wanted - 1.0).abs() < 0.02, "{}", found.exp())
    };
    assert_eq!(means.len(), 3);
    near(means[0], 4.0);
    near(means[1], 4.4);
    near(means[2], 4.0);
    // A round with one of the three pairs is not enough.
    samples.add(3, 0, 0, Role::Baseline, 1.0);
    samples.add(3, 0, 1, Role::Variant, 2.0);
    assert_eq!(samples.mean_log_ratios(&pairs).len(), 3);
    assert!(samples.mean_log_ratios(&[]).is_empty());
    assert_eq!(samples.mean_logs().len(), 3);
}

#[test]
fn few_rounds_are_preliminary() {
    let few = Comparison::new(vec![0.1, 0.2, 0.15]).unwrap();
    assert!(few.preliminary());
    assert!(few.interval(0.05).is_bounded());
    let enough = Comparison::new(vec![0.1; 7]).unwrap();
    assert!(!enough.preliminary());
    assert!((enough.ratio() - 0.1f64.exp()).abs() < 1e-12);
    assert!(Comparison::new(vec![0.1]).is_none());
}
