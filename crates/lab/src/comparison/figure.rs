//! Figures of two sides: counters that repeat or do not, measured ratios, and the verdict on both.

use serde::Serialize;

use crate::metric;
use crate::stats::Interval;
use crate::trial::Measured;

/// A counter over the repetitions of one side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// The same in all of at least two repetitions.
    Exact(f64),
    /// Not the same in all of them.
    Varies {
        /// The smallest.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// Counted once, so that nobody knows whether it repeats.
    Once(f64),
    /// Not counted.
    Missing,
}

impl Count {
    /// Returns the counter of this name in the trials of a side.
    pub fn of(name: &str, trials: &[&Measured]) -> Count {
        let values = trials.iter().map(|trial| value(name, trial));
        let Some(values) = values.collect::<Option<Vec<f64>>>() else { return Count::Missing };
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match values.as_slice() {
            [] => Count::Missing,
            [only] => Count::Once(*only),
            _ if low == high => Count::Exact(low),
            _ => Count::Varies { low, high },
        }
    }

    /// Returns the value if it is the same in every repetition.
    pub fn exact(self) -> Option<f64> {
        match self {
            Count::Exact(value) => Some(value),
            _ => None,
        }
    }
}

/// Returns the counter of this name. A counter by kind of file is 0 if no file of that kind took part.
fn value(name: &str, trial: &Measured) -> Option<f64> {
    let of_all = |family: &str| {
        let is_by_kind = metric::find(family).is_some_and(|metric| metric.counted);
        (is_by_kind && trial.metrics.contains_key(family)).then_some(0.0)
    };
    trial.metrics.get(name).copied().or_else(|| of_all(name.split_once('.')?.0))
}

/// Verdict on how the new side differs from the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The counter is equal.
    Same,
    /// The figure is better.
    Better,
    /// The figure is worse.
    Worse,
    /// Another number that is neither better nor worse: of executions, or of rows.
    Other,
    /// No verdict, because the counter is not the same in every repetition.
    NotExact,
    /// One side or both do not have the counter.
    Missing,
    /// The interval of the ratio includes 1.
    NotDetectable,
}

impl Change {
    /// Returns better or worse for a figure of this metric that grew or shrank.
    pub fn towards(grew: bool, metric: &str) -> Change {
        if grew == metric::higher_is_better(metric) { Change::Better } else { Change::Worse }
    }
}

/// A counter on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The metric, without the name of a statement.
    pub metric: String,
    /// The counter of the base.
    pub base: Count,
    /// The counter of the new side.
    pub new: Count,
    /// How they differ.
    pub change: Change,
}

impl Figure {
    /// Compares the counter that the trials have under `name`, which may end in the name of a statement.
    pub fn of(metric: &str, name: &str, base: &[&Measured], new: &[&Measured]) -> Figure {
        Figure::between(metric, Count::of(name, base), Count::of(name, new))
    }

    /// Compares two counters of a metric.
    pub(super) fn between(metric: &str, base: Count, new: Count) -> Figure {
        let change = match (base.exact(), new.exact()) {
            (Some(base), Some(new)) if base == new => Change::Same,
            (Some(_), Some(_)) if !is_work(metric) => Change::Other,
            (Some(base), Some(new)) => Change::towards(new > base, metric),
            _ if base == Count::Missing || new == Count::Missing => Change::Missing,
            _ => Change::NotExact,
        };
        Figure { metric: metric.to_owned(), base, new, change }
    }

    /// Returns whether it changed by less than 0.1 %.
    pub fn is_negligible(&self) -> bool {
        self.ratio().is_some_and(|ratio| (ratio - 1.0).abs() < 0.001)
    }

    /// Returns the new value divided by the base value: none unless both are exact, infinite if only the base is 0.
    pub fn ratio(&self) -> Option<f64> {
        match (self.base.exact()?, self.new.exact()?) {
            (base, new) if base == new => Some(1.0),
            (base, new) => Some(new / base),
        }
    }
}

/// Returns whether a counter says how much work something is, so that less is better.
pub(super) fn is_work(metric: &str) -> bool {
    !["executions", "rows_per_call"].contains(&metric)
}

/// A measured ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
}

impl Ratio {
    /// Returns the ratio of a difference of logarithms.
    pub fn of_logs(difference: f64, interval: Interval) -> Ratio {
        Ratio { ratio: difference.exp(), interval: interval.exp() }
    }

    /// Returns what the ratio of two figures of this metric means.
    pub fn change(&self, metric: &str) -> Change {
        if self.interval.contains(1.0) {
            Change::NotDetectable
        } else {
            Change::towards(self.ratio > 1.0, metric)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_ratio_is_better_only_where_the_metric_says_so() {
        let ratio =
            |ratio: f64, low: f64, high: f64| Ratio { ratio, interval: Interval { low, high } };
        let (above, below) = (ratio(1.3, 1.2, 1.4), ratio(0.7, 0.6, 0.8));
        let changes = |metric: &str| [above, below].map(|ratio| ratio.change(metric));
        assert_eq!(changes("rows_per_s"), [Change::Better, Change::Worse]);
        for metric in ["seconds", "seconds.index", "p99_us", "db_bytes"] {
            assert_eq!(changes(metric), [Change::Worse, Change::Better], "{metric}");
        }
        assert_eq!(ratio(1.0, 0.9, 1.1).change("seconds"), Change::NotDetectable);
    }
}
