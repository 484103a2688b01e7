//! Constraints: bounds of metrics besides the one that is tuned.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::guard::{Budget, BudgetError, Limit};
use crate::metric::{Unit, find, higher_is_better};

/// A bound on a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    /// The metric.
    pub metric: String,
    /// Its bound.
    pub bound: Bound,
}

/// The bound of a constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A bound on the figure divided by the current settings' figure.
    Ratio(Budget),
    /// Of the figure itself.
    Figure(Limit),
}

/// Short names of metrics that constraints are written with.
const NAMES: [(&str, &str); 4] = [
    ("p99", "p99_us"),
    ("size", "db_bytes"),
    ("memory", "peak_memory_bytes"),
    ("cpu", "cpu_user_s"),
];

impl Constraint {
    /// From a text such as `p99 <= 1.05`, a ratio to the current settings, or `memory <= 256 MiB`, a figure.
    ///
    /// # Errors
    /// It has another form, the metric is unknown, has another unit, or is better in the direction that is not allowed.
    pub fn parsed(text: &str) -> Result<Constraint, BudgetError> {
        let at = text.find(['<', '>']).ok_or_else(|| BudgetError::Form(text.to_owned()))?;
        let (name, bound) = (text[..at].trim(), &text[at..]);
        let known = NAMES.iter().find(|(short, _)| *short == name);
        let metric = known.map_or(name, |(_, metric)| metric).to_owned();
        find(&metric).ok_or_else(|| BudgetError::Metric(name.to_owned()))?;
        let is_figure = bound.trim().ends_with(|letter: char| letter.is_alphabetic());
        let bound = if is_figure {
            let limit: Limit = bound.parse()?;
            limit.of_metric(&metric)?;
            Bound::Figure(limit)
        } else {
            let budget: Budget = bound.parse()?;
            budget.check(&metric)?;
            Bound::Ratio(budget)
        };
        Ok(Constraint { metric, bound })
    }

    /// Returns a figure on the scale of constraints, on which less is better: its logarithm, with what counts as next to nothing added, so
    /// that a figure of 0 has one, too. None of what is below that.
    pub fn scaled(&self, figure: f64) -> Option<f64> {
        let log = (figure + self.next_to_nothing()).ln();
        log.is_finite().then(|| self.sign() * log)
    }

    /// By how much figures may exceed the current settings' figure, which is given on the scale of constraints.
    pub fn room(&self, current: f64) -> Option<f64> {
        let figure = (self.sign() * current).exp() - self.next_to_nothing();
        let most = match &self.bound {
            Bound::Ratio(budget) => budget.bound * figure,
            Bound::Figure(limit) => limit.of_metric(&self.metric).ok()?.bound,
        };
        Some(self.scaled(most)? - current)
    }

    /// 1 where less of the metric is better, otherwise -1.
    fn sign(&self) -> f64 {
        if higher_is_better(&self.metric) { -1.0 } else { 1.0 }
    }

    /// Returns the figure that counts as next to nothing for metrics that may be 0.
    fn next_to_nothing(&self) -> f64 {
        match find(&self.metric).map(|metric| metric.unit) {
            Some(Unit::Count | Unit::Bytes | Unit::Percent) => 1.0,
            Some(Unit::Share) => 0.01,
            Some(Unit::Seconds) => 0.001,
            _ => 0.0,
        }
    }

    /// Returns whether the figures of a round, what is judged and the current settings, are within the bound.
    pub fn holds(&self, (own, current): (f64, f64)) -> Option<bool> {
        let (budget, least) = match &self.bound {
            Bound::Ratio(budget) => (*budget, current),
            Bound::Figure(limit) => (limit.of_metric(&self.metric).ok()?, 1.0),
        };
        let bound = budget.bound * least;
        Some(Budget { bound, ..budget }.allows(own))
    }
}

impl fmt::Display for Constraint {
    /// As it is written: `p99_us <= 1.05`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = &self.metric;
        match &self.bound {
            Bound::Ratio(budget) => write!(f, "{metric} {budget}"),
            Bound::Figure(limit) => write!(f, "{metric} {limit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constraint_is_a_ratio_to_the_current_settings_or_has_a_unit() {
        let p99 = Constraint::parsed("p99 <= 1.05").unwrap();
        assert_eq!(p99.metric, "p99_us");
        assert!((p99.room(9.0).unwrap() - 1.05_f64.ln()).abs() < 1e-12);
        let memory = Constraint::parsed("memory <= 256MiB").unwrap();
        let now = memory.scaled(128.0 * 1_048_576.0).unwrap();
        assert!((memory.room(now).unwrap() - 2.0_f64.ln()).abs() < 1e-6);
        let rate = Constraint::parsed("txns_per_s >= 0.9").unwrap();
        assert!((rate.room(0.0).unwrap() + 0.9_f64.ln()).abs() < 1e-12);
        let cpu = Constraint::parsed("cpu <= 1.1").unwrap();
        let now = cpu.scaled(2.0).unwrap();
        assert!((now + cpu.room(now).unwrap() - cpu.scaled(2.2).unwrap()).abs() < 1e-12);
        for wrong in ["p99", "p99 >= 1.05", "speed <= 1", "size <= 3 ms", "p99 <= x"] {
            assert!(Constraint::parsed(wrong).is_err(), "{wrong}");
        }
    }
}
