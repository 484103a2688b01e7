//! Two exact rank tests for short series, used to judge the steadiness of a trial: Mann–Kendall
//! for a trend and Mann–Whitney for a shift between two groups.
//!
//! Exact null distributions are found by counting. Ties count against significance.

/// Returns the two-sided p-value of no monotone trend in a series (Mann, "Nonparametric tests against
/// trend", Econometrica 13, 1945; Kendall, "Rank Correlation Methods"). For at most 20 values,
/// whose orders still fit an unsigned 64-bit count.
pub(super) fn trend_p_value(series: &[f64]) -> f64 {
    let pairs =
        series.iter().enumerate().flat_map(|(i, a)| series[i + 1..].iter().map(move |b| (a, b)));
    let (mut not_rising, mut not_falling) = (0, 0);
    for (earlier, later) in pairs {
        not_rising += usize::from(later <= earlier);
        not_falling += usize::from(later >= earlier);
    }
    two_sided(&inversion_counts(series.len()), not_rising.min(not_falling))
}

/// Returns the two-sided p-value of no shift between two groups (Mann and Whitney, "On a test of whether
/// one of two random variables is stochastically larger than the other", Annals of Mathematical
/// Statistics 18, 1947).
pub(super) fn shift_p_value(first: &[f64], second: &[f64]) -> f64 {
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
    let (mut not_above, mut not_below) = (0, 0);
    for (a, b) in pairs {
        not_above += usize::from(a <= b);
        not_below += usize::from(a >= b);
    }
    two_sided(&shift_counts(first.len(), second.len()), not_above.min(not_below))
}

/// Twice the share of outcomes with a statistic of at most `k`, at most 1.
fn two_sided(counts: &[u64], k: usize) -> f64 {
    let all: u64 = counts.iter().sum();
    let as_far: u64 = counts.iter().take(k + 1).sum();
    (2.0 * as_far as f64 / all as f64).min(1.0)
}

/// Returns how many orders of `n` values have each number of inversions: the last value of a series of
/// `size` can stand before 0 to `size - 1` of the others.
fn inversion_counts(n: usize) -> Vec<u64> {
    let mut counts = vec![1_u64];
    for size in 2..=n {
        let mut next = vec![0; counts.len() + size - 1];
        for (inversions, count) in counts.iter().enumerate() {
            for more in &mut next[inversions..inversions + size] {
                *more += count;
            }
        }
        counts = next;
    }
    counts
}

/// Returns how many ways of mixing `m` and `n` values give each value of Mann and Whitney's statistic:
/// the greatest value belongs either to the first group, above all `n` of the second, or not.
fn shift_counts(m: usize, n: usize) -> Vec<u64> {
    if m == 0 || n == 0 {
        return vec![1];
    }
    let mut counts = vec![0; m * n + 1];
    for (statistic, count) in shift_counts(m - 1, n).into_iter().enumerate() {
        counts[statistic + n] += count;
    }
    for (statistic, count) in shift_counts(m, n - 1).into_iter().enumerate() {
        counts[statistic] += count;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_counted_as_published() {
        // Mahonian numbers, OEIS A008302.
        assert_eq!(inversion_counts(4), [1, 3, 5, 6, 5, 3, 1]);
        assert_eq!(inversion_counts(12).iter().sum::<u64>(), 479_001_600);
    }

    #[test]
    fn shifts_are_counted_as_published() {
        // Gaussian binomial coefficient (5 over 2).
        assert_eq!(shift_counts(2, 3), [1, 1, 2, 2, 2, 1, 1]);
        assert_eq!(shift_counts(3, 12).iter().sum::<u64>(), 455);
    }

    #[test]
    fn p_values_agree_with_hand_counts() {
        // Of the 24 orders of four values one rises throughout, three have one inversion.
        assert_eq!(trend_p_value(&[1.0, 2.0, 3.0, 4.0]), 2.0 / 24.0);
        assert_eq!(trend_p_value(&[4.0, 3.0, 1.0, 2.0]), 8.0 / 24.0);
        assert_eq!(trend_p_value(&[1.0; 6]), 1.0);
        assert_eq!(shift_p_value(&[1.0, 2.0, 3.0], &[4.0; 12]), 2.0 / 455.0);
        assert_eq!(shift_p_value(&[9.0, 2.0], &[4.0, 5.0, 6.0]), 1.0);
    }
}
