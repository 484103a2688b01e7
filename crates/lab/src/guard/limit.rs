//! What a metric of the new side may be by itself: for those who own the machine that measures.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::budget::comparison;
use super::{Budget, BudgetError, Comparator};
use crate::metric::{self, Unit};

/// The bound of a figure, such as `<= 20 ms` or `<= 500`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Limit {
    /// Which side of the number is allowed.
    comparator: Comparator,
    /// The number, in its own unit.
    number: f64,
    /// Its unit; without one, that of the metric.
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

/// What a unit measures.
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

    /// That of figures with this unit.
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
    /// The same as a bound of figures of this metric, which may end in the name of a statement.
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

    /// The same in a unit, where it has none.
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
                let known = MEASURES.iter().find(|measure| measure.name == name);
                Some(known.ok_or_else(unknown)?)
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
