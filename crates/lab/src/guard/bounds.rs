//! Bounds of metrics: budgets relative to the base, and limits of the new side by itself, for those who own the machine that
//! measures.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::metric::{self, Unit};

/// The bound of a ratio, such as `<= 1.10`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Budget {
    /// Which side of the bound is allowed.
    pub comparator: Comparator,
    /// The bound: the new figure divided by the base figure, above 0.
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

/// Reason why a text is not a budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// It has another form.
    #[error(
        "`{0}` is not a bound: write `<= 1.10` or `>= 0.95`, a ratio to the base or to the current settings"
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
    #[error("there is no metric `{0}`; `pragmark list metrics` shows all")]
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
    /// Returns whether a ratio is within the budget.
    pub fn allows(self, ratio: f64) -> bool {
        match self.comparator {
            Comparator::AtMost => ratio <= self.bound,
            Comparator::AtLeast => ratio >= self.bound,
        }
    }

    /// Checks that the budget suits this metric, which may end in the name of a statement.
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

/// Parses a comparison with a number that is not negative, such as `<= 1.5`.
fn comparison(text: &str) -> Option<(Comparator, f64)> {
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

/// The bound of a figure, such as `<= 20 ms` or `<= 500`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Limit {
    /// Which side of the number is allowed.
    comparator: Comparator,
    /// The number, in its own unit.
    number: f64,
    /// Its unit; without one, the unit of the metric.
    unit: Option<&'static Measure>,
}

/// A unit in which limits are written.
#[derive(Debug, PartialEq)]
struct Measure {
    name: &'static str,
    of: Quantity,
    /// In seconds or bytes.
    size: f64,
}

/// Quantity that a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Time,
    Size,
}

const MEASURES: [Measure; 8] = [
    Measure::new("ns", Quantity::Time, 1e-9),
    Measure::new("us", Quantity::Time, 1e-6),
    Measure::new("µs", Quantity::Time, 1e-6),
    Measure::new("ms", Quantity::Time, 1e-3),
    Measure::new("s", Quantity::Time, 1.0),
    Measure::new("B", Quantity::Size, 1.0),
    Measure::new("KiB", Quantity::Size, 1024.0),
    Measure::new("MiB", Quantity::Size, 1_048_576.0),
];

impl Measure {
    const fn new(name: &'static str, of: Quantity, size: f64) -> Measure {
        Measure { name, of, size }
    }

    /// Returns the quantity and the size of figures with this unit.
    fn of_figures(unit: Unit) -> Option<(Quantity, f64)> {
        Some(match unit {
            Unit::Seconds => (Quantity::Time, 1.0),
            Unit::Microseconds => (Quantity::Time, 1e-6),
            Unit::Nanoseconds => (Quantity::Time, 1e-9),
            Unit::Bytes => (Quantity::Size, 1.0),
            _ => return None,
        })
    }
}

impl Limit {
    /// Returns the limit as a bound of figures of this metric, which may end in the name of a statement.
    ///
    /// # Errors
    /// The metric is unknown, has another unit, or is better in the direction that is not allowed.
    pub fn of_metric(&self, name: &str) -> Result<Budget, BudgetError> {
        let found = metric::find(name).ok_or_else(|| BudgetError::Metric(name.to_owned()))?;
        let bound = match (self.unit, Measure::of_figures(found.unit)) {
            (None, _) => self.number,
            (Some(own), Some((of, size))) if own.of == of => self.number * own.size / size,
            (Some(own), _) => {
                return Err(BudgetError::Unit { metric: name.to_owned(), unit: own.name });
            }
        };
        let budget = Budget { comparator: self.comparator, bound };
        budget.check(name).map(|()| budget)
    }

    /// Returns the limit in this unit, unless it has one.
    pub(super) fn in_unit(self, name: &str) -> Limit {
        let unit = || MEASURES.iter().find(|measure| measure.name == name);
        Limit { unit: self.unit.or_else(unit), ..self }
    }
}

impl FromStr for Limit {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Limit, BudgetError> {
        let trimmed = text.trim();
        let digits = trimmed.trim_end_matches(|c: char| c.is_alphabetic());
        let unit = match &trimmed[digits.len()..] {
            "" => None,
            name => {
                let unknown = || BudgetError::Limit(text.to_owned());
                Some(MEASURES.iter().find(|measure| measure.name == name).ok_or_else(unknown)?)
            }
        };
        let (comparator, number) =
            comparison(digits).ok_or_else(|| BudgetError::Limit(text.to_owned()))?;
        Ok(Limit { comparator, number, unit })
    }
}

impl TryFrom<String> for Limit {
    type Error = BudgetError;

    fn try_from(text: String) -> Result<Limit, BudgetError> {
        text.parse()
    }
}

impl From<Limit> for String {
    fn from(limit: Limit) -> String {
        limit.to_string()
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = Budget { comparator: self.comparator, bound: self.number };
        match self.unit {
            Some(unit) => write!(f, "{number} {}", unit.name),
            None => write!(f, "{number}"),
        }
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

    fn bound(text: &str, metric: &str) -> Result<f64, BudgetError> {
        let limit: Limit = text.parse()?;
        Ok(limit.of_metric(metric)?.bound)
    }

    #[test]
    fn a_limit_is_converted_to_the_unit_of_its_metric() {
        let close = |text, metric, expected: f64| {
            let bound = bound(text, metric).unwrap();
            assert!((bound / expected - 1.0).abs() < 1e-12, "{text}: {bound}");
        };
        close("<= 20 ms", "p99_us.find", 20_000.0);
        close("<= 20", "p99_us", 20.0);
        close("<=1.5s", "p99_us", 1_500_000.0);
        close("<= 2 MiB", "bytes_written", 2_097_152.0);
        close(">= 100", "txns_per_s", 100.0);
        assert_eq!(bound("<= 0", "scan_steps.find"), Ok(0.0));
        assert_eq!("<= 20 ms".parse::<Limit>().unwrap().to_string(), "<= 20 ms");
    }

    #[test]
    fn units_of_other_quantities_and_wrong_directions_are_refused() {
        for (text, metric, words) in [
            ("<= 20 MiB", "p99_us", "MiB"),
            ("<= 20 ms", "syncs", "ms"),
            (">= 20 ms", "p99_us", "smaller is better"),
            ("<= 20 days", "p99_us", "days"),
            ("20 ms", "p99_us", "20 ms"),
            ("<= 1", "p9", "no metric `p9`"),
        ] {
            let problem = bound(text, metric).unwrap_err().to_string();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }
}
