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

use super::descriptive::sorted_quantile;
use super::error::{SampleError, check_sample};
use super::interval::Interval;
use super::signed_rank::SignedRank;

/// Paired differences prepared for many questions: the Walsh averages are sorted once, after which
/// an interval, the centre or a p-value takes a few comparisons.
#[derive(Clone, Debug)]
pub struct PairedSample {
    size: usize,
    walsh: Vec<f64>,
    null: SignedRank,
}

impl PairedSample {
    /// Prepares the differences; time and memory grow with the square of their number.
    ///
    /// # Errors
    /// [`SampleError`] when there is no difference or one is not finite.
    pub fn new(diffs: &[f64]) -> Result<PairedSample, SampleError> {
        check_sample(diffs, 1)?;
        let mut walsh: Vec<f64> = walsh_averages(diffs).collect();
        walsh.sort_unstable_by(f64::total_cmp);
        Ok(PairedSample {
            size: diffs.len(),
            walsh,
            null: SignedRank::of(diffs.len()),
        })
    }

    /// The number of differences.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The Hodges–Lehmann estimate: the median of the Walsh averages.
    pub fn centre(&self) -> f64 {
        sorted_quantile(&self.walsh, 0.5)
    }

    /// The two-sided interval at error rate `alpha` (above 0, at most 1). It is
    /// [`Interval::EVERYTHING`] when so few differences cannot attain the rate: see
    /// [`wilcoxon_smallest_alpha`].
    pub fn interval(&self, alpha: f64) -> Interval {
        // A statistic of `k` means that `k` Walsh averages lie beyond the value tested, so the
        // values not rejected reach from the average after the last rejected count to its mirror.
        let averages = self.walsh.len();
        let rejected = self
            .null
            .rejected_values(alpha.min(1.0), averages.div_ceil(2));
        if rejected == 0 {
            return Interval::EVERYTHING;
        }
        Interval {
            low: self.walsh[rejected - 1],
            high: self.walsh[averages - rejected],
        }
    }

    /// The two-sided p-value of the hypothesis that the differences are centred on `null`. It
    /// agrees with [`interval`](Self::interval): a finite `null` lies in the interval at `alpha`
    /// exactly when its p-value is greater than `alpha`.
    pub fn p_value(&self, null: f64) -> f64 {
        let at_most = self.walsh.partition_point(|average| *average <= null);
        let below = self.walsh.partition_point(|average| *average < null);
        self.null.two_sided(at_most.min(self.walsh.len() - below))
    }
}

/// The two-sided signed-rank p-value of the hypothesis that the differences are centred on `null`:
/// the same as [`PairedSample::p_value`], without sorting, for a sample used only once.
///
/// # Errors
/// [`SampleError`] when there is no difference or one is not finite.
pub fn wilcoxon_p_value(diffs: &[f64], null: f64) -> Result<f64, SampleError> {
    check_sample(diffs, 1)?;
    let (mut at_most, mut at_least) = (0, 0);
    for average in walsh_averages(diffs) {
        at_most += usize::from(average <= null);
        at_least += usize::from(average >= null);
    }
    Ok(SignedRank::of(diffs.len()).two_sided(at_most.min(at_least)))
}

/// The smallest error rate that `n` differences can attain, `2^(1-n)` where probabilities are
/// exact (up to 60 differences): below it every interval is unbounded and no p-value falls.
pub fn wilcoxon_smallest_alpha(n: usize) -> f64 {
    SignedRank::of(n).two_sided(0)
}

/// The means of all pairs of values, each value paired with itself too.
fn walsh_averages(values: &[f64]) -> impl Iterator<Item = f64> {
    values.iter().enumerate().flat_map(move |(index, first)| {
        values[index..]
            .iter()
            .map(move |second| first.midpoint(*second))
    })
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
    const HAMILTON: [f64; 9] = [
        -0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010,
    ];

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
            let widest = Interval {
                low: 0.0,
                high: diffs[n - 1],
            };
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
        assert_eq!(
            error,
            SampleError::NotFinite {
                index: 1,
                value: f64::INFINITY
            }
        );
        assert!(wilcoxon_p_value(&[f64::NAN], 0.0).is_err());
    }
}
