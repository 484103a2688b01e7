//! What can be wrong with numbers handed to the statistics.

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
    #[error("the error rate {alpha} is not between 0 and 1")]
    BadErrorRate {
        /// The rate.
        alpha: f64,
    },
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

/// Whether `alpha` can serve as an error rate: strictly between 0 and 1.
pub(super) fn is_error_rate(alpha: f64) -> bool {
    alpha > 0.0 && alpha < 1.0
}
