//! The figures that confirm a claim.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Claim, Form};

/// The figures that confirm a claim: from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Smallest confirming figure; none where there is no lower bound.
    pub low: Option<f64>,
    /// Largest confirming figure; none where there is no upper bound.
    pub high: Option<f64>,
}

impl Bounds {
    /// At least this.
    fn at_least(low: f64) -> Bounds {
        Bounds { low: Some(low), high: None }
    }

    /// At most this.
    fn at_most(high: f64) -> Bounds {
        Bounds { low: None, high: Some(high) }
    }

    /// Whether the figure confirms.
    pub fn hold(&self, figure: f64) -> bool {
        self.low.is_none_or(|low| figure >= low) && self.high.is_none_or(|high| figure <= high)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (Some(low), Some(high)) => write!(f, "{low} to {high}"),
            (Some(low), None) => write!(f, "at least {low}"),
            (None, Some(high)) => write!(f, "at most {high}"),
            (None, None) => f.write_str("any"),
        }
    }
}

impl Claim {
    /// The bounds written as `at_least`, `at_most` or `between`.
    pub fn stated_bounds(&self) -> Bounds {
        match self.between {
            Some([low, high]) => Bounds { low: Some(low), high: Some(high) },
            None => Bounds { low: self.at_least, high: self.at_most },
        }
    }

    /// The bounds on the figure of `form`: those stated, or what `equal` and `ordering` mean.
    pub fn bounds(&self, form: Form<'_>) -> Bounds {
        match form {
            Form::Equal(_) => {
                let within = self.within.unwrap_or_default();
                Bounds { low: Some(1.0 - within), high: Some(1.0 + within) }
            }
            Form::Best(_) => Bounds::at_least(1.0),
            Form::Ordering(_) | Form::Argmax(_) | Form::Argmin(_) => {
                Bounds::at_least(1.0 - self.tolerance.unwrap_or_default())
            }
            Form::SameOrder(_) => Bounds::at_most(1.0 + self.tolerance.unwrap_or_default()),
            _ => self.stated_bounds(),
        }
    }
}
