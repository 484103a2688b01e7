//! Location of paired differences without assuming a normal distribution: the Hodges–Lehmann
//! estimate with the interval that inverts Wilcoxon's signed-rank test.
//!
//! Both come from the Walsh averages, the means of all pairs of differences, each value paired
//! with itself too: Hodges and Lehmann, "Estimates of location based on rank tests", Annals of
//! Mathematical Statistics 34 (1963); Tukey's construction of the interval is in Hollander, Wolfe
//! and Chicken, "Nonparametric Statistical Methods", 3rd ed., section 3.3. The method assumes that
//! differences are independent and symmetric about their centre, which random order within blocks
//! brings about for variants that do not differ.
//!
//! **The convention is conservative.** The statistic takes whole numbers only, so that a level can
//! rarely be met exactly: an interval at error rate `alpha` takes the nearest attainable rate that
//! is not greater, and covers with probability at least `1 - alpha`. Ties, too, are counted so
//! that they never make a difference look more significant.
//!
//! **No average is stored.** There are n(n+1)/2 of them, which is 50 million for 10,000 rounds. In sorted differences the
//! averages at or below a value are counted in one pass, and the average of any rank follows by bisection over the
//! numbers that a computer has: 64 passes, and the result is the same average that sorting all of them would give.

use std::sync::OnceLock;

use statrs::distribution::{ContinuousCDF, Normal};

use super::interval::Interval;
use super::interval::{SampleError, check_sample};

/// The largest remainder of differences that cancel, such as ln(2/3) + ln(3/2): an average so near to the value tested is a tie with
/// it.
const REMAINDER: f64 = 1e-12;

/// Paired differences prepared for many questions: they are sorted once, after which an interval, the centre or a p-value
/// takes time in proportion to their number.
#[derive(Clone, Debug)]
pub struct PairedSample {
    sorted: Vec<f64>,
    null: SignedRank,
}

impl PairedSample {
    /// Prepares the differences; memory grows with their number.
    ///
    /// # Errors
    /// [`SampleError`] if `diffs` is empty or holds a value that is not finite.
    pub fn new(diffs: &[f64]) -> Result<PairedSample, SampleError> {
        check_sample(diffs, 1)?;
        let mut sorted = diffs.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Ok(PairedSample { null: SignedRank::of(diffs.len()), sorted })
    }

    /// Returns the number of differences.
    pub fn size(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the Hodges–Lehmann estimate: the median of the Walsh averages.
    pub fn centre(&self) -> f64 {
        let averages = self.averages();
        let below = self.average((averages - 1) / 2);
        match averages % 2 {
            1 => below,
            _ => below.midpoint(self.average(averages / 2)),
        }
    }

    /// Returns the two-sided interval at error rate `alpha` (above 0, at most 1). It is
    /// [`Interval::EVERYTHING`] when so few differences cannot attain the rate: see
    /// [`wilcoxon_smallest_alpha`].
    pub fn interval(&self, alpha: f64) -> Interval {
        // A statistic of `k` means that `k` Walsh averages lie beyond the value tested, so the
        // values not rejected reach from the average after the last rejected count to its mirror.
        let averages = self.averages();
        let rejected = self.null.rejected_values(alpha.min(1.0), averages.div_ceil(2));
        if rejected == 0 {
            return Interval::EVERYTHING;
        }
        Interval { low: self.average(rejected - 1), high: self.average(averages - rejected) }
    }

    /// Returns the two-sided p-value of the hypothesis that the differences are centred on `null`. It
    /// agrees with [`interval`](Self::interval): a finite `null` lies in the interval at `alpha`
    /// exactly when its p-value is greater than `alpha`.
    pub fn p_value(&self, null: f64) -> f64 {
        let at_most = self.count(|average| average <= null + REMAINDER);
        let below = self.count(|average| average < null - REMAINDER);
        self.null.two_sided(at_most.min(self.averages() - below))
    }

    /// Returns the number of Walsh averages.
    fn averages(&self) -> usize {
        self.size() * (self.size() + 1) / 2
    }

    /// Returns the Walsh average of this rank, from 0: the smallest number with more averages at or below it.
    fn average(&self, rank: usize) -> f64 {
        let [mut low, mut high] = [self.sorted[0], self.sorted[self.size() - 1]].map(key);
        while low < high {
            let middle = low.midpoint(high);
            let value = of_key(middle);
            if self.count(|average| average <= value) > rank {
                high = middle
            } else {
                low = middle + 1
            }
        }
        of_key(low)
    }

    /// Returns the number of Walsh averages that are `small`, which all averages below a small one are. The partners of a value with
    /// a small average are fewer for a larger value.
    fn count(&self, small: impl Fn(f64) -> bool) -> usize {
        let (mut count, mut partners) = (0, self.size());
        for (index, value) in self.sorted.iter().enumerate() {
            while partners > index && !small(value.midpoint(self.sorted[partners - 1])) {
                partners -= 1;
            }
            if partners <= index {
                break;
            }
            count += partners - index;
        }
        count
    }
}

/// The bit of the sign.
const SIGN: u64 = 1 << 63;

/// Returns a number as an integer in the same order.
fn key(value: f64) -> u64 {
    match value.to_bits() {
        positive if positive & SIGN == 0 => positive | SIGN,
        negative => !negative,
    }
}

/// Returns the number of a [`key`].
fn of_key(key: u64) -> f64 {
    f64::from_bits(match key & SIGN {
        0 => !key,
        _ => key ^ SIGN,
    })
}

/// Returns the two-sided signed-rank p-value of the hypothesis that the differences are centred on `null`:
/// the same as [`PairedSample::p_value`].
///
/// # Errors
/// [`SampleError`] if `diffs` is empty or holds a value that is not finite.
pub fn wilcoxon_p_value(diffs: &[f64], null: f64) -> Result<f64, SampleError> {
    Ok(PairedSample::new(diffs)?.p_value(null))
}

/// Returns the smallest error rate that `n` differences can attain, `2^(1-n)` where probabilities are
/// exact (up to 60 differences): below it every interval is unbounded and no p-value falls.
pub fn wilcoxon_smallest_alpha(n: usize) -> f64 {
    SignedRank::of(n).two_sided(0)
}

/// Largest sample size with exact probabilities. 2^60 sign patterns still fit an unsigned 64-bit
/// count, so nothing is rounded before the final division.
pub(super) const EXACT_UP_TO: usize = 60;

/// `P(T <= k)` for each `k`, by sample size; filled on first use because comparisons of many variants
/// ask for the same few sizes many thousands of times.
static CUMULATIVE: [OnceLock<Box<[f64]>>; EXACT_UP_TO + 1] =
    [const { OnceLock::new() }; EXACT_UP_TO + 1];

/// The distribution of the signed-rank statistic of `n` differences under the null hypothesis.
#[derive(Clone, Copy, Debug)]
pub(super) enum SignedRank {
    /// `P(T <= k)` at index `k`.
    Exact(&'static [f64]),
    /// Mean and standard deviation of the approximating normal distribution.
    Normal { mean: f64, sd: f64 },
}

impl SignedRank {
    /// Returns the distribution for `n` differences.
    pub(super) fn of(n: usize) -> SignedRank {
        match CUMULATIVE.get(n) {
            Some(cell) => SignedRank::Exact(cell.get_or_init(|| cumulative(n))),
            None => SignedRank::normal(n),
        }
    }

    /// Returns the normal approximation for `n` differences.
    fn normal(n: usize) -> SignedRank {
        let n = n as f64;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0;
        SignedRank::Normal { mean: n * (n + 1.0) / 4.0, sd: variance.sqrt() }
    }

    /// Two-sided probability of a statistic at least as far out as `k` counted from the nearer
    /// end: `2 P(T <= k)`, at most 1.
    pub(super) fn two_sided(&self, k: usize) -> f64 {
        let lower = match self {
            SignedRank::Exact(cumulative) => cumulative.get(k).copied().unwrap_or(1.0),
            SignedRank::Normal { mean, sd } => Normal::standard().cdf((k as f64 + 0.5 - mean) / sd),
        };
        (2.0 * lower).min(1.0)
    }

    /// Returns how many values of the statistic, counted from its lower end, are so far out that
    /// [`two_sided`](Self::two_sided) is at most `alpha`. `most` bounds the answer.
    pub(super) fn rejected_values(&self, alpha: f64, most: usize) -> usize {
        let (mut rejected, mut kept) = (0, most);
        while rejected < kept {
            let middle = rejected.midpoint(kept);
            if self.two_sided(middle) <= alpha {
                rejected = middle + 1;
            } else {
                kept = middle;
            }
        }
        rejected
    }
}

/// Returns the greatest two-sided error rate that `n` differences attain without exceeding `alpha`; `None`
/// when every attainable rate is greater.
pub(super) fn attained_alpha(n: usize, alpha: f64) -> Option<f64> {
    let null = SignedRank::of(n);
    let last = null.rejected_values(alpha, n * (n + 1) / 2).checked_sub(1)?;
    Some(null.two_sided(last))
}

/// `P(T <= k)` for `k` from 0 to n(n+1)/2.
fn cumulative(n: usize) -> Box<[f64]> {
    let patterns = (1_u64 << n) as f64;
    counts(n)
        .iter()
        .scan(0_u64, |sum, count| {
            *sum += count;
            Some(*sum as f64 / patterns)
        })
        .collect()
}

/// Returns how many of the 2^n sign patterns give each value of the statistic, for `n` up to
/// [`EXACT_UP_TO`]: rank by rank, a pattern either leaves the sum as it is or adds the rank.
pub(super) fn counts(n: usize) -> Vec<u64> {
    let mut counts = vec![0_u64; n * (n + 1) / 2 + 1];
    counts[0] = 1;
    for rank in 1..=n {
        for sum in (rank..counts.len()).rev() {
            counts[sum] += counts[sum - rank];
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(diffs: &[f64], alpha: f64) -> Interval {
        PairedSample::new(diffs).unwrap().interval(alpha)
    }

    /// Depression scores before and after treatment (Hollander, Wolfe and Chicken, example 3.1):
    /// in R, `wilcox.test(y - x, conf.int = TRUE)` gives p = 0.03906, estimate -0.46,
    /// interval -0.786 to -0.010 at the attained level 96.1 %.
    const HAMILTON: [f64; 9] =
        [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010];

    #[test]
    fn a_published_example_is_reproduced() {
        let sample = PairedSample::new(&HAMILTON).unwrap();
        let interval = sample.interval(0.05);
        assert!((sample.centre() + 0.46).abs() < 1e-9, "{}", sample.centre());
        assert!((sample.p_value(0.0) - 0.039_062_5).abs() < 1e-12);
        assert!((interval.low + 0.786).abs() < 1e-9, "{interval:?}");
        assert!((interval.high + 0.010).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn an_interval_is_unbounded_below_the_smallest_attainable_rate() {
        for n in 1..=12 {
            let diffs: Vec<f64> = (0..n).map(|i| (i * i) as f64).collect();
            let smallest = wilcoxon_smallest_alpha(n);
            assert_eq!(smallest, 2_f64.powi(1 - n as i32));
            assert_eq!(interval(&diffs, smallest * 0.999), Interval::EVERYTHING);
            let widest = Interval { low: 0.0, high: diffs[n - 1] };
            assert!(interval(&diffs, smallest).is_within(&widest));
        }
        assert_eq!(wilcoxon_smallest_alpha(0), 1.0);
    }

    #[test]
    fn equal_differences_are_certain_once_there_are_enough() {
        let interval = interval(&[0.25; 7], 0.05);
        assert_eq!((interval.low, interval.high), (0.25, 0.25));
        assert_eq!(wilcoxon_p_value(&[0.0; 7], 0.0), Ok(1.0));
        assert_eq!(wilcoxon_p_value(&[0.25; 7], 0.0), Ok(1.0 / 64.0));
    }

    /// All Walsh averages, sorted.
    fn walsh_averages(values: &[f64]) -> Vec<f64> {
        let of = |(index, first): (usize, &f64)| -> Vec<f64> {
            values[index..].iter().map(|second| first.midpoint(*second)).collect()
        };
        let mut all: Vec<f64> = values.iter().enumerate().flat_map(of).collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    #[test]
    fn the_average_of_every_rank_is_that_of_sorting_all() {
        let wave = |i: i32| f64::from(i).sin() * 10_f64.powi(i % 7 - 3);
        let samples: [Vec<f64>; 6] = [
            HAMILTON.to_vec(),
            vec![-0.0],
            vec![0.0, -0.0, 0.0, 1.0, -1.0],
            vec![2.5; 9],
            (0..40).map(wave).collect(),
            (-9..9).map(|i| f64::from(i / 3)).collect(),
        ];
        for values in samples {
            let sample = PairedSample::new(&values).unwrap();
            let all = walsh_averages(&values);
            let ranks = (0..all.len()).map(|rank| sample.average(rank));
            assert_eq!(ranks.collect::<Vec<_>>(), all);
            for null in all.iter().flat_map(|it| [*it, it + 1e-3]) {
                let at_most = all.iter().filter(|average| **average <= null).count();
                assert_eq!(sample.count(|average| average <= null), at_most);
            }
        }
    }

    #[test]
    fn ten_thousand_rounds_need_no_memory_for_their_pairs() {
        // 50 million averages.
        let diffs: Vec<f64> = (0..10_000).map(|i| f64::from(i % 1_009) / 1e3).collect();
        let sample = PairedSample::new(&diffs).unwrap();
        assert_eq!(sample.sorted.capacity(), sample.size());
        let interval = sample.interval(0.05);
        assert!(interval.contains(sample.centre()) && interval.half_width() < 0.01);
    }

    #[test]
    fn large_samples_are_answered_too() {
        let diffs: Vec<f64> = (0..200).map(|i| (i as f64 * 0.7).sin() + 0.3).collect();
        let sample = PairedSample::new(&diffs).unwrap();
        let interval = sample.interval(0.05);
        assert!(interval.contains(sample.centre()) && interval.half_width() < 0.15);
        assert!(sample.p_value(0.0) < 1e-4);
    }

    #[test]
    fn samples_without_meaning_are_refused() {
        assert!(PairedSample::new(&[]).is_err());
        let error = PairedSample::new(&[0.0, f64::INFINITY]).unwrap_err();
        assert_eq!(error, SampleError::NotFinite { index: 1, value: f64::INFINITY });
        assert!(wilcoxon_p_value(&[f64::NAN], 0.0).is_err());
    }

    /// The statistic of every sign pattern, one by one.
    fn enumerated(n: usize) -> Vec<u64> {
        let mut counts = vec![0; n * (n + 1) / 2 + 1];
        for pattern in 0_u32..1 << n {
            let statistic: usize = (1..=n).filter(|rank| pattern & (1 << (rank - 1)) != 0).sum();
            counts[statistic] += 1;
        }
        counts
    }

    #[test]
    fn ratios_that_cancel_are_no_difference() {
        // Sizes of one to three bytes: an average of two such logarithms is a remainder instead of 0.
        let ratios = [2.0, 3.0, 1.5, 2.0 / 3.0, 1.0 / 3.0, 0.5].map(f64::ln);
        for one in ratios {
            for other in ratios {
                let sample = PairedSample::new(&[one, other, -one, -other, 0.0, 0.0]).unwrap();
                assert_eq!(sample.p_value(0.0), 1.0, "{one} {other}");
            }
        }
        let diffs = [-0.1, -0.2, -0.3, -0.15, -0.25, 2.0_f64.ln() + 1.5_f64.ln() - 3.0_f64.ln()];
        let sample = PairedSample::new(&diffs).unwrap();
        let at_zero = PairedSample::new(&[-0.1, -0.2, -0.3, -0.15, -0.25, 0.0]).unwrap();
        assert_eq!(sample.p_value(0.0), at_zero.p_value(0.0));
    }

    #[test]
    fn counts_agree_with_enumeration_of_all_sign_patterns() {
        for n in 0..=10 {
            assert_eq!(counts(n), enumerated(n), "n = {n}");
        }
    }

    #[test]
    fn counts_are_symmetric_and_sum_to_all_sign_patterns() {
        for n in 0..=EXACT_UP_TO {
            let counts = counts(n);
            assert_eq!(counts.iter().sum::<u64>(), 1 << n, "n = {n}");
            assert!(counts.iter().eq(counts.iter().rev()), "n = {n}");
        }
    }

    #[test]
    fn critical_values_agree_with_published_tables() {
        // Two-sided 5 % critical values T: reject when the statistic is at most T (Wilcoxon 1945,
        // and Hollander, Wolfe and Chicken, table A.4).
        for (n, critical) in
            [(6, 0), (7, 2), (8, 3), (10, 8), (15, 25), (20, 52), (25, 89), (30, 137)]
        {
            let rejected = SignedRank::of(n).rejected_values(0.05, n * (n + 1) / 2);
            assert_eq!(rejected, critical + 1, "n = {n}");
        }
    }

    #[test]
    fn the_attained_rate_is_the_greatest_within_the_rate_asked_for() {
        assert_eq!(attained_alpha(5, 0.05), None);
        assert_eq!(attained_alpha(6, 0.05), Some(2.0 / 64.0));
        assert_eq!(attained_alpha(7, 0.05), Some(6.0 / 128.0));
        assert!((attained_alpha(100, 0.05).unwrap() - 0.05).abs() < 1e-3);
    }

    #[test]
    fn the_approximation_takes_over_without_a_step() {
        let normal = SignedRank::normal(EXACT_UP_TO);
        let exact = SignedRank::of(EXACT_UP_TO);
        for k in (500..915).step_by(5) {
            let (approximate, true_value) = (normal.two_sided(k), exact.two_sided(k));
            assert!((approximate - true_value).abs() < 3e-3, "{k}: {approximate} {true_value}");
        }
        // Far out the normal tails are heavier: a little more cautious, hardly ever bolder.
        for alpha in [0.1, 0.05, 0.01, 0.001] {
            let critical = exact.rejected_values(alpha, 915);
            let approximate = normal.rejected_values(alpha, 915);
            let allowed = critical - critical / 50..=critical + 1;
            assert!(allowed.contains(&approximate), "{alpha}: {approximate} {critical}");
        }
        assert!(matches!(SignedRank::of(EXACT_UP_TO + 1), SignedRank::Normal { .. }));
    }
}
