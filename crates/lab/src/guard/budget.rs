//! What a metric of the new side may be, relative to the base.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::metric;

/// The bound of a ratio, such as `<= 1.10`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Budget {
    /// Which side of the bound is allowed.
    pub comparator: Comparator,
    /// The bound: the new figure divided by that of the base, above 0.
    pub bound: f64,
}

/// Which side of a bound is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// At most the bound.
    AtMost,
    /// At least the bound.
    AtLeast,
}

/// Why a text is no budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// It has another form.
    #[error(
        "`{0}` is no budget: write `<= 1.10` or `>= 0.95`, the new figure divided by that of the base"
    )]
    Form(String),
    /// No form of a limit.
    #[error(
        "`{0}` is no limit: write `<= 20 ms`, `>= 100` or `<= 64 KiB`; units are ns, us, ms, s, B, KiB and MiB"
    )]
    Limit(String),
    /// The unit measures something else.
    #[error("`{metric}` is not measured in {unit}")]
    Unit {
        /// The metric.
        metric: String,
        /// The unit of the limit.
        unit: &'static str,
    },
    /// Two names mean one metric.
    #[error("`{0}` is named twice")]
    Twice(String),
    /// The metric is unknown.
    #[error("there is no metric `{0}`; `pragmark list --metrics` shows all")]
    Metric(String),
    /// The comparison allows the worse side.
    #[error("`{metric}`: smaller is better, so its budget is `<= …`")]
    Lower {
        /// The metric.
        metric: String,
    },
    /// The comparison allows the worse side.
    #[error("`{metric}`: larger is better, so its budget is `>= …`")]
    Higher {
        /// The metric.
        metric: String,
    },
}

impl Budget {
    /// Whether a ratio is within it.
    pub fn allows(self, ratio: f64) -> bool {
        match self.comparator {
            Comparator::AtMost => ratio <= self.bound,
            Comparator::AtLeast => ratio >= self.bound,
        }
    }

    /// Checks that it is one for this metric, which may end in the name of a statement.
    ///
    /// # Errors
    /// The metric is unknown, or the budget has the wrong direction.
    pub fn check(self, name: &str) -> Result<(), BudgetError> {
        let found = metric::find(name).ok_or_else(|| BudgetError::Metric(name.to_owned()))?;
        let metric = name.to_owned();
        match (found.better, self.comparator) {
            (metric::Better::Lower, Comparator::AtLeast) => Err(BudgetError::Lower { metric }),
            (metric::Better::Higher, Comparator::AtMost) => Err(BudgetError::Higher { metric }),
            _ => Ok(()),
        }
    }
}

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Budget, BudgetError> {
        let (comparator, bound) = comparison(text)
            .filter(|(_, bound)| *bound > 0.0)
            .ok_or_else(|| BudgetError::Form(text.to_owned()))?;
        Ok(Budget { comparator, bound })
    }
}

/// A comparison with a number that is not negative, such as `<= 1.5`.
pub(super) fn comparison(text: &str) -> Option<(Comparator, f64)> {
    let trimmed = text.trim();
    let (comparator, number) = match (trimmed.strip_prefix("<="), trimmed.strip_prefix(">=")) {
        (Some(number), _) => (Comparator::AtMost, number),
        (_, Some(number)) => (Comparator::AtLeast, number),
        _ => return None,
    };
    let bound: f64 = number.trim().parse().ok()?;
    (bound.is_finite() && bound >= 0.0).then_some((comparator, bound))
}

impl TryFrom<String> for Budget {
    type Error = BudgetError;

    fn try_from(text: String) -> Result<Budget, BudgetError> {
        text.parse()
    }
}

impl From<Budget> for String {
    fn from(budget: Budget) -> String {
        budget.to_string()
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.comparator {
            Comparator::AtMost => "<=",
            Comparator::AtLeast => ">=",
        };
        write!(f, "{sign} {}", self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_comparison_with_a_ratio() {
        let budget: Budget = " <= 1.10".parse().unwrap();
        assert!(budget.allows(1.1) && !budget.allows(1.101));
        assert!(">=0.95".parse::<Budget>().unwrap().allows(0.96));
        for wrong in ["1.1", "< 1.1", "<= x", "<= 0", ">= -1", "<= inf", ""] {
            assert!(wrong.parse::<Budget>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_budget_must_bound_the_worse_side() {
        let at = |text: &str, metric: &str| text.parse::<Budget>().unwrap().check(metric);
        assert_eq!(at("<= 1.1", "p99_us.find"), Ok(()));
        assert!(matches!(at(">= 1.1", "p99_us"), Err(BudgetError::Lower { .. })));
        assert!(matches!(at("<= 1.1", "txns_per_s"), Err(BudgetError::Higher { .. })));
        assert!(matches!(at("<= 1.1", "p98"), Err(BudgetError::Metric(_))));
    }
}
