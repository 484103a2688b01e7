//! Plain descriptions of one sample: what is printed for figures that have no pair to be compared
//! with.
//!
//! Each function answers `None` for an empty sample and for one that holds a value which is not
//! finite.

use super::interval::Interval;
use super::interval::check_sample;

/// Returns the arithmetic mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    check_sample(values, 1).ok()?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the sample standard deviation (divisor `n - 1`), in the unit of the values; `None` for fewer
/// than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    check_sample(values, 2).ok()?;
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Returns the median: the middle value, or the mean of the two middle values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the quantile at `fraction` (0 to 1, otherwise `None`), interpolated linearly between the two
/// nearest values: type 7 of Hyndman and Fan, "Sample quantiles in statistical packages", The
/// American Statistician 50 (1996).
pub fn quantile(values: &[f64], fraction: f64) -> Option<f64> {
    check_sample(values, 1).ok()?;
    if !(0.0..=1.0).contains(&fraction) {
        return None;
    }
    Some(sorted_quantile(&sorted(values), fraction))
}

/// Returns the smallest and the largest value.
pub fn range(values: &[f64]) -> Option<Interval> {
    check_sample(values, 1).ok()?;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Interval { low, high })
}

/// Returns the values in ascending order.
pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Returns the type 7 quantile of values already in ascending order; the caller makes sure that there is
/// at least one and that `fraction` is between 0 and 1.
pub(super) fn sorted_quantile(sorted: &[f64], fraction: f64) -> f64 {
    let position = fraction * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_type_7() {
        // R: quantile(c(15, 20, 35, 40, 50), c(0, .25, .4, .5, 1)) gives 15 20 29 35 50.
        let values = [40.0, 15.0, 50.0, 20.0, 35.0];
        for (fraction, expected) in
            [(0.0, 15.0), (0.25, 20.0), (0.4, 29.0), (0.5, 35.0), (1.0, 50.0)]
        {
            let found = quantile(&values, fraction).unwrap();
            assert!((found - expected).abs() < 1e-12, "{fraction}: {found}");
        }
    }

    #[test]
    fn median_of_an_even_number_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn spread_follows_the_textbook() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert!((standard_deviation(&values).unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(range(&values), Some(Interval { low: 2.0, high: 9.0 }));
    }

    #[test]
    fn nothing_is_said_of_empty_or_broken_samples() {
        assert_eq!(median(&[]), None);
        assert_eq!(mean(&[]), None);
        assert_eq!(range(&[1.0, f64::NAN]), None);
        assert_eq!(standard_deviation(&[1.0]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
    }
}
