//! A counter on both sides, and whether it is the same in every repetition.

use serde::Serialize;

use crate::metric;
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
    /// The counter of this name in the trials of a side.
    pub fn of(name: &str, trials: &[&Measured]) -> Count {
        let values = trials.iter().map(|trial| value(name, trial));
        let Some(values) = values.collect::<Option<Vec<f64>>>() else {
            return Count::Missing;
        };
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match values.as_slice() {
            [] => Count::Missing,
            [only] => Count::Once(*only),
            _ if low == high => Count::Exact(low),
            _ => Count::Varies { low, high },
        }
    }

    /// The value where it is the same in every repetition.
    pub fn exact(self) -> Option<f64> {
        match self {
            Count::Exact(value) => Some(value),
            _ => None,
        }
    }
}

/// The counter of this name. What is counted by kind of file is 0 where no file of that kind took part.
fn value(name: &str, trial: &Measured) -> Option<f64> {
    let of_all = |family: &str| {
        let is_by_kind = metric::find(family).is_some_and(|metric| metric.counted);
        (is_by_kind && trial.metrics.contains_key(family)).then_some(0.0)
    };
    let own = trial.metrics.get(name).copied();
    own.or_else(|| of_all(name.split_once('.')?.0))
}

/// How a counter of the new side differs from that of the base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is equal.
    Same,
    /// It is better.
    Better,
    /// It is worse.
    Worse,
    /// It is another number, which is neither better nor worse: of executions, or of rows.
    Other,
    /// It is no verdict, because it is not the same in every repetition.
    NotExact,
    /// One side or both do not have it.
    Missing,
}

/// A counter on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The metric, without the name of a statement.
    pub metric: String,
    /// That of the base.
    pub base: Count,
    /// That of the new side.
    pub new: Count,
    /// How they differ.
    pub change: Change,
}

impl Figure {
    /// The figure of a metric that the trials have under this name.
    pub(super) fn of(metric: &str, name: &str, base: &[&Measured], new: &[&Measured]) -> Figure {
        let (base, new) = (Count::of(name, base), Count::of(name, new));
        Figure { metric: metric.to_owned(), change: change(metric, base, new), base, new }
    }

    /// The figure of a metric in other trials than those of an exact comparison.
    pub fn between(name: &str, base: &[&Measured], new: &[&Measured]) -> Figure {
        Figure::of(name, name, base, new)
    }

    /// The new value divided by that of the base; none where either is not exact, infinite where only the base is 0.
    pub fn ratio(&self) -> Option<f64> {
        match (self.base.exact()?, self.new.exact()?) {
            (base, new) if base == new => Some(1.0),
            (base, new) => Some(new / base),
        }
    }
}

/// Whether a counter says how much work something is, so that less of it is better.
pub(super) fn is_work(metric: &str) -> bool {
    !["executions", "rows_per_call"].contains(&metric)
}

fn change(metric: &str, base: Count, new: Count) -> Change {
    match (base.exact(), new.exact()) {
        (Some(base), Some(new)) if base == new => Change::Same,
        (Some(_), Some(_)) if !is_work(metric) => Change::Other,
        (Some(base), Some(new)) if (new > base) == metric::higher_is_better(metric) => {
            Change::Better
        }
        (Some(_), Some(_)) => Change::Worse,
        _ if base == Count::Missing || new == Count::Missing => Change::Missing,
        _ => Change::NotExact,
    }
}
