//! Counters of two sides in the cells of a table.

use lab::exact::{Change, Count, Figure};

use crate::document::{Cell, Tone};
use crate::figures::{figure, ratio_without_interval};

/// A counter: a range where it does not repeat exactly, a dash where there is none.
pub(super) fn count(count: Count, metric: &str) -> String {
    match count {
        Count::Exact(value) | Count::Once(value) => figure(value, metric),
        Count::Varies { low, high } => {
            format!("{} to {}", figure(low, metric), figure(high, metric))
        }
        Count::Missing => "–".to_owned(),
    }
}

/// A counter of both sides, once where it is the same.
pub(super) fn both(it: Option<&Figure>) -> Cell {
    let Some(it) = it else {
        return Cell::number(None);
    };
    let metric = &it.metric;
    let text = match it.change {
        Change::Same => count(it.new, metric),
        Change::Missing if it.base == it.new => count(it.new, metric),
        _ => format!("{} → {}", count(it.base, metric), count(it.new, metric)),
    };
    Cell {
        tone: mark(it.change).1,
        value: it.new.exact(),
        ..Cell::number(Some(text))
    }
}

/// The new value divided by that of the base, or why there is no verdict.
pub(super) fn ratio(it: &Figure) -> Cell {
    let (sign, tone) = mark(it.change);
    let text = match (it.change, it.ratio()) {
        (Change::NotExact, _) => "does not repeat".to_owned(),
        (Change::Missing, _) => "–".to_owned(),
        (Change::Same, _) => "same".to_owned(),
        (_, Some(ratio)) if ratio.is_finite() && ratio > 0.0 => ratio_without_interval(ratio),
        (_, Some(0.0)) => "none left".to_owned(),
        _ => "new".to_owned(),
    };
    Cell {
        value: it.ratio(),
        ..Cell::new(text).signed(sign, tone)
    }
}

fn mark(change: Change) -> (&'static str, Tone) {
    match change {
        Change::Same => ("=", Tone::Same),
        Change::Better => ("▲", Tone::Better),
        Change::Worse => ("▼", Tone::Worse),
        Change::Other => ("≠", Tone::Neutral),
        Change::NotExact => ("?", Tone::Doubt),
        Change::Missing => ("–", Tone::Neutral),
    }
}
