//! The effect of one variant against another: centre, interval and what could have been detected,
//! with the method that the number of blocks allows.

use serde::{Deserialize, Serialize};

use super::descriptive::{mean, standard_deviation};
use super::interval::Interval;
use super::interval::{MIN_BLOCKS_FOR_ESTIMATE, Method};
use super::interval::{SampleError, check_sample, is_error_rate};
use super::projection::detectable_difference;
use super::student::{student_interval, student_p_value};
use super::wilcoxon::{PairedSample, wilcoxon_p_value};
use crate::stats::ALPHA;

/// The effect of one variant as a ratio to another, from paired blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number of blocks in which both variants were measured, at least
    /// [`MIN_BLOCKS_FOR_ESTIMATE`].
    pub n: usize,
    /// The estimated ratio, above zero; 1 means no difference.
    pub centre: f64,
    /// The interval of the ratio; its ends are 0 and infinity when the blocks cannot attain the
    /// level.
    pub interval: Interval,
    /// The nominal confidence level of the interval, `1 - alpha`.
    pub level: f64,
    /// How centre and interval were computed.
    pub method: Method,
    /// Whether there were too few blocks for the signed-rank method, which makes the answer
    /// preliminary.
    pub preliminary: bool,
    /// the detectable difference as a fraction: 0.03 means that a ratio of 1.03 (or its
    /// inverse) is found with 80 % power at 5 % two-sided, whatever `level` is.
    pub detectable: f64,
}

impl Estimate {
    /// Estimates the effect from differences of natural logarithms, one for each block, at error
    /// rate `alpha`.
    ///
    /// # Errors
    /// [`SampleError`] for fewer than [`MIN_BLOCKS_FOR_ESTIMATE`] differences, for one that is not
    /// finite, and for an `alpha` not between 0 and 1.
    pub fn from_log_ratios(diffs: &[f64], alpha: f64) -> Result<Estimate, SampleError> {
        let method = method_for(diffs)?;
        if !is_error_rate(alpha) {
            return Err(SampleError::BadErrorRate(alpha));
        }
        let (centre, interval) = match method {
            Method::Wilcoxon => {
                let sample = PairedSample::new(diffs)?;
                (sample.centre(), sample.interval(alpha))
            }
            Method::PairedT => (checked(mean(diffs)), student_interval(diffs, alpha)),
        };
        Ok(Estimate {
            n: diffs.len(),
            centre: centre.exp(),
            interval: interval.exp(),
            level: 1.0 - alpha,
            method,
            preliminary: method == Method::PairedT,
            detectable: detectable(diffs),
        })
    }
}

/// The largest difference that a comparison must have been able to detect to be reported: a ratio of 10.
pub(crate) const LARGEST_DETECTABLE: f64 = 9.0;

impl Estimate {
    /// As [`Estimate::from_log_ratios`] at [`ALPHA`]; `None` if the rounds are too few for their noise: fewer
    /// than [`MIN_BLOCKS_FOR_ESTIMATE`], or so noisy that even a tenfold difference might have gone undetected.
    pub fn supported(diffs: &[f64]) -> Option<Estimate> {
        let estimate = Estimate::from_log_ratios(diffs, ALPHA).ok()?;
        estimate.is_supported().then_some(estimate)
    }

    /// Returns whether a tenfold difference would have been detected. An interval that leaves more open is as wide as
    /// a factor of a hundred and says nothing but that there were too few rounds.
    pub fn is_supported(&self) -> bool {
        self.detectable <= LARGEST_DETECTABLE
    }
}

/// Returns whether the rounds are enough for their noise: see [`Estimate::is_supported`].
pub(super) fn are_enough(diffs: &[f64]) -> bool {
    method_for(diffs).is_ok() && detectable(diffs) <= LARGEST_DETECTABLE
}

/// Returns the difference that a checked sample would detect, as a fraction.
fn detectable(diffs: &[f64]) -> f64 {
    let sd = checked(standard_deviation(diffs));
    detectable_difference(sd, diffs.len()).exp_m1()
}

/// Returns the two-sided p-value of the hypothesis that the differences are centred on `null`, by the
/// method that [`Estimate::from_log_ratios`] takes for as many: the interval of the estimate at
/// `alpha` holds `exp(null)` exactly when this p-value is greater than `alpha`, rounding aside.
///
/// # Errors
/// [`SampleError`] for fewer than [`MIN_BLOCKS_FOR_ESTIMATE`] differences or one that is not
/// finite.
pub fn p_value(diffs: &[f64], null: f64) -> Result<f64, SampleError> {
    match method_for(diffs)? {
        Method::Wilcoxon => wilcoxon_p_value(diffs, null),
        Method::PairedT => student_p_value(diffs, null),
    }
}

fn method_for(diffs: &[f64]) -> Result<Method, SampleError> {
    check_sample(diffs, MIN_BLOCKS_FOR_ESTIMATE)?;
    Method::for_blocks(diffs.len())
        .ok_or(SampleError::TooFew { needed: MIN_BLOCKS_FOR_ESTIMATE, got: diffs.len() })
}

/// Returns a description of a sample that was checked before, so that it always exists.
fn checked(description: Option<f64>) -> f64 {
    description.expect("the sample was checked")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVEN: [f64; 7] = [0.10, 0.12, 0.08, 0.11, 0.09, 0.13, 0.105];

    #[test]
    fn enough_blocks_use_the_signed_rank_method_on_the_scale_of_ratios() {
        let estimate = Estimate::from_log_ratios(&SEVEN, 0.05).unwrap();
        let sample = PairedSample::new(&SEVEN).unwrap();
        assert_eq!((estimate.n, estimate.method), (7, Method::Wilcoxon));
        assert!(!estimate.preliminary);
        assert_eq!(estimate.level, 0.95);
        assert_eq!(estimate.centre, sample.centre().exp());
        assert_eq!(estimate.interval, sample.interval(0.05).exp());
    }

    #[test]
    fn few_blocks_are_preliminary_and_use_paired_t() {
        for n in 3..7 {
            let estimate = Estimate::from_log_ratios(&SEVEN[..n], 0.05).unwrap();
            assert_eq!(estimate.method, Method::PairedT);
            assert!(estimate.preliminary && estimate.interval.is_bounded());
            assert!(estimate.interval.contains(estimate.centre));
        }
    }

    #[test]
    fn nothing_is_estimated_from_two_blocks_or_from_broken_numbers() {
        let too_few = SampleError::TooFew { needed: 3, got: 2 };
        assert_eq!(Estimate::from_log_ratios(&[0.1, 0.2], 0.05), Err(too_few.clone()));
        assert_eq!(p_value(&[0.1, 0.2], 0.0), Err(too_few));
        let broken = Estimate::from_log_ratios(&[0.1, f64::NAN, 0.2], 0.05);
        assert!(matches!(broken, Err(SampleError::NotFinite { index: 1, .. })));
        let rate = Estimate::from_log_ratios(&SEVEN, 1.0);
        assert_eq!(rate, Err(SampleError::BadErrorRate(1.0)));
    }

    #[test]
    fn what_could_not_have_detected_a_tenfold_difference_is_not_supported() {
        assert!(Estimate::supported(&SEVEN).is_some());
        assert_eq!(Estimate::supported(&SEVEN[..2]), None);
        let noisy = [3.0, -2.0, 1.0];
        assert_eq!(Estimate::supported(&noisy), None);
        assert!(Estimate::from_log_ratios(&noisy, 0.05).unwrap().detectable > 9.0);
        let many: Vec<f64> = noisy.iter().cycle().take(30).copied().collect();
        assert!(Estimate::supported(&many).is_some());
    }

    #[test]
    fn a_level_beyond_the_blocks_is_an_unbounded_interval() {
        let estimate = Estimate::from_log_ratios(&SEVEN, 0.01).unwrap();
        assert_eq!((estimate.interval.low, estimate.interval.high), (0.0, f64::INFINITY));
    }

    #[test]
    fn estimates_travel_through_json() {
        for alpha in [0.05, 0.01] {
            let estimate = Estimate::from_log_ratios(&SEVEN, alpha).unwrap();
            let json = serde_json::to_string(&estimate).unwrap();
            assert!(json.contains(r#""method":"wilcoxon""#));
            let read: Estimate = serde_json::from_str(&json).unwrap();
            assert!((read.centre - estimate.centre).abs() < 1e-12);
            assert!((read.detectable - estimate.detectable).abs() < 1e-12);
            assert_eq!(read.interval.is_bounded(), estimate.interval.is_bounded());
            assert_eq!((read.n, read.method, read.level), (7, Method::Wilcoxon, estimate.level));
        }
    }
}
