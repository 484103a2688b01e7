//! What must hold for every sample, whatever its values: checked on generated ones.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

use super::*;

/// Returns the settings of all property tests: the cases come from a fixed seed, so a failure can be
/// repeated and nothing needs to be kept on disk.
pub(super) fn fixed_seed() -> Config {
    Config { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() }
}

fn sample(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-1.0..1.0_f64, sizes)
}

/// Few distinct values, so that ties and zeros abound.
fn tied_sample(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((-3..4).prop_map(f64::from), sizes)
}

fn p_values() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..=1.0_f64, 1..40)
}

/// Returns the two-sided p-value from the definition: the statistic of every sign pattern over the ranks
/// of the distances from `null`, which must all differ.
fn p_value_by_enumeration(diffs: &[f64], null: f64) -> f64 {
    let mut distances: Vec<f64> = diffs.iter().map(|diff| diff - null).collect();
    distances.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = distances.len();
    let statistic = |positive: &dyn Fn(usize) -> bool| -> usize {
        (0..n).filter(|&rank| positive(rank)).map(|rank| rank + 1).sum()
    };
    let total = n * (n + 1) / 2;
    let observed = statistic(&|rank| distances[rank] > 0.0);
    let extreme = observed.min(total - observed);
    let as_far = (0_u32..1 << n).filter(|pattern| {
        let pattern = statistic(&|rank| pattern & (1 << rank) != 0);
        pattern.min(total - pattern) <= extreme
    });
    as_far.count() as f64 / (1_u32 << n) as f64
}

proptest! {
    #![proptest_config(fixed_seed())]

    #[test]
    fn p_values_agree_with_enumeration(diffs in sample(1..11), null in -0.5..0.5_f64) {
        let expected = p_value_by_enumeration(&diffs, null);
        prop_assert!((wilcoxon_p_value(&diffs, null).unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn an_interval_holds_what_its_test_does_not_reject(
        diffs in tied_sample(1..30),
        alpha in 0.001..1.0_f64,
    ) {
        let sample = PairedSample::new(&diffs).unwrap();
        let interval = sample.interval(alpha);
        for null in (-16..17).map(|step| f64::from(step) / 4.0) {
            prop_assert_eq!(interval.contains(null), sample.p_value(null) > alpha);
        }
    }

    #[test]
    fn intervals_nest_and_hold_the_centre(
        diffs in sample(1..80),
        alpha in 0.001..0.5_f64,
        factor in 0.01..1.0_f64,
    ) {
        let sample = PairedSample::new(&diffs).unwrap();
        let (narrow, wide) = (sample.interval(alpha), sample.interval(alpha * factor));
        prop_assert!(narrow.is_within(&wide));
        prop_assert!(narrow.contains(sample.centre()));
        let (narrow, wide) =
            (student_interval(&diffs, alpha), student_interval(&diffs, alpha * factor));
        prop_assert!(narrow.is_within(&wide));
        prop_assert!(narrow.contains(mean(&diffs).unwrap()));
    }

    #[test]
    fn a_shift_of_the_differences_shifts_the_answer(
        diffs in sample(7..30),
        shift in -1.0..1.0_f64,
    ) {
        let shifted: Vec<f64> = diffs.iter().map(|diff| diff + shift).collect();
        let [diffs, shifted] = [diffs, shifted].map(|diffs| PairedSample::new(&diffs).unwrap());
        let (here, there) = (diffs.interval(0.05), shifted.interval(0.05));
        prop_assert!((there.low - here.low - shift).abs() < 1e-9);
        prop_assert!((there.high - here.high - shift).abs() < 1e-9);
        let centres = shifted.centre() - diffs.centre();
        prop_assert!((centres - shift).abs() < 1e-9);
    }

    #[test]
    fn swapping_the_variants_mirrors_the_estimate(diffs in sample(3..30), alpha in 0.001..0.5_f64) {
        let swapped: Vec<f64> = diffs.iter().map(|diff| -diff).collect();
        let one = Estimate::from_log_ratios(&diffs, alpha).unwrap();
        let other = Estimate::from_log_ratios(&swapped, alpha).unwrap();
        prop_assert!((one.centre * other.centre - 1.0).abs() < 1e-9);
        prop_assert!((one.detectable - other.detectable).abs() < 1e-9);
        prop_assert_eq!(one.interval.is_bounded(), other.interval.is_bounded());
        if one.interval.is_bounded() {
            prop_assert!((one.interval.low * other.interval.high - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn estimates_exclude_what_their_p_value_rejects(diffs in sample(3..30), null in -0.5..0.5_f64) {
        let estimate = Estimate::from_log_ratios(&diffs, 0.05).unwrap();
        let p = p_value(&diffs, null).unwrap();
        prop_assume!((p - 0.05).abs() > 1e-9);
        prop_assert_eq!(estimate.interval.contains(null.exp()), p > 0.05);
    }

    #[test]
    fn holm_lies_between_no_correction_and_bonferroni(p_values in p_values()) {
        let rows = holm(&p_values, 0.05);
        let count = p_values.len() as f64;
        for (row, p) in rows.iter().zip(&p_values) {
            prop_assert!(*p <= row.adjusted_p && row.adjusted_p <= (p * count).min(1.0));
            prop_assert!(0.05 / count <= row.level && row.level <= 0.05);
            prop_assert_eq!(row.rejected, *p <= row.level);
            if (row.adjusted_p - 0.05).abs() > 1e-12 {
                prop_assert_eq!(row.rejected, row.adjusted_p <= 0.05);
            }
        }
    }

    #[test]
    fn corrections_keep_the_order_and_holm_is_the_stricter(p_values in p_values()) {
        let (rows, rates) = (holm(&p_values, 0.05), benjamini_hochberg(&p_values));
        for (i, first) in p_values.iter().enumerate() {
            prop_assert!(*first <= rates[i] && rates[i] <= rows[i].adjusted_p);
            for (j, second) in p_values.iter().enumerate().filter(|(_, second)| first <= second) {
                prop_assert!(rows[i].adjusted_p <= rows[j].adjusted_p, "{} {}", first, second);
                prop_assert!(rates[i] <= rates[j]);
            }
        }
    }

    #[test]
    fn quantiles_rise_within_the_range(values in sample(1..40), a in 0.0..=1.0, b in 0.0..=1.0) {
        let (low, high) = (f64::min(a, b), f64::max(a, b));
        let (first, second) = (quantile(&values, low).unwrap(), quantile(&values, high).unwrap());
        prop_assert!(first <= second + 1e-12);
        prop_assert!(range(&values).unwrap().contains(first));
    }
}
