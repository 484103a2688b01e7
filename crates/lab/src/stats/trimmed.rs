//! The trimmed mean with its interval, for many differences among which some were disturbed.
//!
//! Tukey and McLaughlin, "Less vulnerable confidence and significance procedures for location based on a single sample",
//! Sankhyā A 25 (1963); Wilcox, "Introduction to Robust Estimation and Hypothesis Testing", section 4.3. A fifth of
//! the values is left out at each end, and their spread is that of the winsorised sample. It takes the time of a sort.

use super::descriptive::mean;
use super::interval::Interval;
use super::student::student_reach;

/// The share that is left out at each end.
const SHARE: f64 = 0.2;

/// The trimmed mean and its two-sided interval at error rate `alpha`; none with fewer than five values, or with one that is
/// not finite. Values that are all equal give an interval of one point.
pub fn trimmed_interval(values: &[f64], alpha: f64) -> Option<(f64, Interval)> {
    let n = values.len();
    if n < 5 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let out = (SHARE * n as f64) as usize;
    let centre = mean(&sorted[out..n - out])?;
    let (low, high) = (sorted[out], sorted[n - 1 - out]);
    let winsorised: Vec<f64> = sorted.iter().map(|value| value.clamp(low, high)).collect();
    let middle = mean(&winsorised)?;
    let squares: f64 = winsorised.iter().map(|value| (value - middle).powi(2)).sum();
    let kept = (n - 2 * out) as f64;
    let deviation = (squares / (n - 1) as f64).sqrt();
    let error = deviation * (n as f64).sqrt() / kept;
    let reach = match error > 0.0 {
        true => student_reach(alpha, kept - 1.0) * error,
        false => 0.0,
    };
    let (low, high) = (centre - reach, centre + reach);
    Some((centre, Interval { low, high }))
}

#[cfg(test)]
mod tests {
    use super::super::simulation::Noise;
    use super::*;

    #[test]
    fn a_small_example_is_computed_by_hand() {
        // Trimmed: 2, 3, 4 → 3. Winsorised: 2, 2, 3, 4, 4 → sum of squares 4, deviation 1, error √5 / 3; t(2) = 4.3027.
        let (centre, interval) = trimmed_interval(&[3.0, 2.0, 90.0, 4.0, -7.0], 0.05).unwrap();
        let reach = 4.302_65 * 5.0_f64.sqrt() / 3.0;
        assert!((centre - 3.0).abs() < 1e-12);
        assert!((interval.high - 3.0 - reach).abs() < 1e-3, "{interval:?}");
        let (_, point) = trimmed_interval(&[2.0; 9], 0.05).unwrap();
        assert_eq!((point.low, point.high), (2.0, 2.0));
        assert!(trimmed_interval(&[1.0; 4], 0.05).is_none());
    }

    #[test]
    fn it_covers_with_normal_and_with_heavy_tails() {
        let mut noise = Noise::new(31);
        for (n, factor) in [(7, 1.0), (7, 8.0), (20, 1.0), (20, 8.0), (80, 8.0)] {
            const CASES: usize = 4_000;
            let mut covers = 0;
            for _ in 0..CASES {
                let heavy = |noise: &mut Noise| match noise.uniform() < 0.1 {
                    true => factor * noise.normal(),
                    false => noise.normal(),
                };
                let values: Vec<f64> = (0..n).map(|_| heavy(&mut noise)).collect();
                let (_, interval) = trimmed_interval(&values, 0.05).unwrap();
                covers += usize::from(interval.contains(0.0));
            }
            let rate = covers as f64 / CASES as f64;
            assert!((0.935..=0.985).contains(&rate), "{rate} of {n}, {factor}");
        }
    }
}
