//! A closed interval of real numbers, the form in which every uncertainty is reported.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A closed interval `[low, high]`; either end may be infinite, which says that the data do not
/// bound it.
///
/// JSON has no infinities: an infinite end is written as `null` and read back as the infinity of
/// its side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end, never above `high`; `-∞` when the data set no lower bound.
    #[serde(serialize_with = "finite_or_null", deserialize_with = "low_end")]
    pub low: f64,
    /// Upper end, never below `low`; `+∞` when the data set no upper bound.
    #[serde(serialize_with = "finite_or_null", deserialize_with = "high_end")]
    pub high: f64,
}

impl Interval {
    /// The whole real line: nothing is known.
    pub const EVERYTHING: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Returns the interval of the inverse of a ratio.
    pub fn inverse(self) -> Interval {
        Interval { low: 1.0 / self.high, high: 1.0 / self.low }
    }

    /// Returns whether `value` lies in the interval, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Returns whether the whole interval lies in `outer`, ends included.
    #[cfg(test)]
    pub(crate) fn is_within(&self, outer: &Interval) -> bool {
        outer.low <= self.low && self.high <= outer.high
    }

    /// Returns whether both ends are finite.
    pub fn is_bounded(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// Half the distance between the ends; infinite when an end is.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Returns the interval of `f(x)`, for a function that never decreases.
    pub fn map_increasing(&self, f: impl Fn(f64) -> f64) -> Interval {
        Interval { low: f(self.low), high: f(self.high) }
    }

    /// From differences of natural logarithms to ratios: the whole line becomes `[0, ∞]`.
    pub fn exp(&self) -> Interval {
        self.map_increasing(f64::exp)
    }
}

fn finite_or_null<S: Serializer>(end: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    end.is_finite().then_some(*end).serialize(serializer)
}

fn low_end<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NEG_INFINITY))
}

fn high_end<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// From this number of blocks on, the signed-rank method is used. Six can just attain 5 %
/// two-sided, with no room for a single block of the other sign; seven attain 1.6 %.
pub const MIN_BLOCKS_FOR_WILCOXON: usize = 7;

/// Below this number of blocks nothing is estimated: one difference has no spread, and of two the spread is
/// known so badly that the interval is thirteen standard errors wide on either side.
pub const MIN_BLOCKS_FOR_ESTIMATE: usize = 3;

/// How an effect is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Hodges–Lehmann estimate with the exact signed-rank interval.
    Wilcoxon,
    /// Mean with the paired t interval.
    PairedT,
}

impl Method {
    /// Returns the method for this number of blocks; `None` when no estimate can be made.
    pub fn for_blocks(blocks: usize) -> Option<Method> {
        match blocks {
            0..MIN_BLOCKS_FOR_ESTIMATE => None,
            MIN_BLOCKS_FOR_ESTIMATE..MIN_BLOCKS_FOR_WILCOXON => Some(Method::PairedT),
            _ => Some(Method::Wilcoxon),
        }
    }
}

/// A sample that no estimate can be made from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// Fewer values than the method needs.
    #[error("{got} values are too few: at least {needed} are needed")]
    TooFew {
        /// The smallest number of values that is enough.
        needed: usize,
        /// The number of values given.
        got: usize,
    },
    /// A value is infinite or not a number (the logarithm of a zero rate, for instance).
    #[error("value {index} is {value}, which is not a finite number")]
    NotFinite {
        /// Position of the first such value, counted from zero.
        index: usize,
        /// The value itself.
        value: f64,
    },
    /// The error rate is not strictly between 0 and 1.
    #[error("the error rate {0} is not between 0 and 1")]
    BadErrorRate(f64),
}

/// Refuses a sample with fewer than `needed` values or with a value that is not finite.
pub(super) fn check_sample(values: &[f64], needed: usize) -> Result<(), SampleError> {
    if values.len() < needed {
        return Err(SampleError::TooFew { needed, got: values.len() });
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(SampleError::NotFinite { index, value: values[index] }),
        None => Ok(()),
    }
}

/// Returns whether `alpha` can serve as an error rate: strictly between 0 and 1.
pub(super) fn is_error_rate(alpha: f64) -> bool {
    alpha > 0.0 && alpha < 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Interval = Interval { low: 0.0, high: 1.0 };

    #[test]
    fn ends_belong_to_the_interval() {
        assert!(UNIT.contains(0.0) && UNIT.contains(1.0));
        assert!(!UNIT.contains(-1e-12) && !UNIT.contains(1.0 + 1e-12));
        assert!(!UNIT.contains(f64::NAN));
    }

    #[test]
    fn containment_counts_shared_ends() {
        let right = Interval { low: 1.0, high: 2.0 };
        assert!(UNIT.is_within(&UNIT) && UNIT.is_within(&Interval::EVERYTHING));
        assert!(!UNIT.is_within(&right));
    }

    #[test]
    fn ratios_of_an_unbounded_interval_are_all_the_positive_numbers() {
        let ratios = Interval::EVERYTHING.exp();
        assert_eq!((ratios.low, ratios.high), (0.0, f64::INFINITY));
        assert_eq!(Interval::EVERYTHING.half_width(), f64::INFINITY);
        assert!(!ratios.is_bounded() && UNIT.is_bounded());
    }

    #[test]
    fn infinite_ends_travel_through_json_as_null() {
        let half_open = Interval { low: 0.1, high: f64::INFINITY };
        for (interval, json) in [
            (UNIT, r#"{"low":0.0,"high":1.0}"#),
            (half_open, r#"{"low":0.1,"high":null}"#),
            (Interval::EVERYTHING, r#"{"low":null,"high":null}"#),
        ] {
            assert_eq!(serde_json::to_string(&interval).unwrap(), json);
            assert_eq!(serde_json::from_str::<Interval>(json).unwrap(), interval);
        }
        assert!(serde_json::from_str::<Interval>(r#"{"low":0.0}"#).is_err());
    }
}
