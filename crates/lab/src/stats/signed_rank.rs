//! The null distribution of Wilcoxon's signed-rank statistic: exact and computed once per sample
//! size up to [`EXACT_UP_TO`], a normal approximation with continuity correction beyond.
//!
//! Under the null hypothesis (differences symmetric about the value tested) each of the ranks
//! 1..n counts towards the statistic or not with equal chance, so that the number of sign patterns
//! with statistic `k` is the number of subsets of 1..n that sum to `k`: Wilcoxon, "Individual
//! comparisons by ranking methods", Biometrics Bulletin 1 (1945); Hollander, Wolfe and Chicken,
//! "Nonparametric Statistical Methods", 3rd ed., section 3.1.

use std::sync::OnceLock;

use statrs::distribution::{ContinuousCDF, Normal};

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
    /// The distribution for `n` differences.
    pub(super) fn of(n: usize) -> SignedRank {
        match CUMULATIVE.get(n) {
            Some(cell) => SignedRank::Exact(cell.get_or_init(|| cumulative(n))),
            None => SignedRank::normal(n),
        }
    }

    /// The normal approximation for `n` differences.
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

    /// How many values of the statistic, counted from its lower end, are so far out that
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

/// The greatest two-sided error rate that `n` differences attain without exceeding `alpha`; `None`
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

/// How many of the 2^n sign patterns give each value of the statistic, for `n` up to
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
