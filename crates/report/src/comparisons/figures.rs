//! Counters of two sides in the cells of a table.

use lab::exact::{Change, Count, Figure};

use crate::document::{Cell, Tone};
use crate::figures::{figure, percent, ratio_without_interval};

/// The smallest relative change that three digits of a ratio show.
const VISIBLE: f64 = 0.005;

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
    let [base, new] = [it.base, it.new].map(|side| count(side, &it.metric));
    let text = match it.ratio() {
        _ if it.base == it.new => new,
        Some(ratio) if base == new => format!("{new} ({})", times(ratio)),
        _ => format!("{base} → {new}"),
    };
    Cell { tone: mark(it.change).1, value: it.new.exact(), ..Cell::number(Some(text)) }
}

/// The new value divided by that of the base, or why there is no verdict.
pub(super) fn ratio(it: &Figure) -> Cell {
    let (sign, tone) = mark(it.change);
    let text = match (it.change, it.ratio()) {
        (Change::NotExact, _) => "does not repeat".to_owned(),
        (Change::Missing, _) => "–".to_owned(),
        (Change::Same, _) => "same".to_owned(),
        (_, Some(ratio)) if ratio.is_finite() && ratio > 0.0 => times(ratio),
        (_, Some(0.0)) => "none left".to_owned(),
        _ => "new".to_owned(),
    };
    Cell { value: it.ratio(), ..Cell::new(text).signed(sign, tone) }
}

/// A ratio of exact counters that is not 1, however near to it: `×1.25`, `0.2 % more`.
pub(super) fn times(ratio: f64) -> String {
    match ratio - 1.0 {
        more if more.abs() >= VISIBLE || more == 0.0 => ratio_without_interval(ratio),
        more if more > 0.0 => format!("{} more", percent(more)),
        less => format!("{} less", percent(-less)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use lab::trial::Measured;

    fn steps(base: f64, new: f64) -> Figure {
        let trial = |steps: f64| Measured {
            metrics: [("vm_steps".to_owned(), steps)].into(),
            ..Measured::default()
        };
        let (base, new) = (trial(base), trial(new));
        Figure::between("vm_steps", &[&base, &base], &[&new, &new])
    }

    #[test]
    fn a_change_that_three_digits_do_not_show_is_no_ratio_of_one() {
        let text = |cell: Cell| cell.text.plain();
        assert_eq!(text(ratio(&steps(455.2, 454.9))), "0.1 % less");
        assert_eq!(text(ratio(&steps(1_000.0, 1_002.0))), "0.2 % more");
        assert_eq!(text(ratio(&steps(1_000.0, 1_006.0))), "×1.01");
        assert_eq!(text(ratio(&steps(455.0, 455.0))), "same");
        assert_eq!(text(both(Some(&steps(455.2, 454.9)))), "455 (0.1 % less)");
        assert_eq!(text(both(Some(&steps(455.0, 455.0)))), "455");
        assert_eq!(text(both(Some(&steps(455.0, 600.0)))), "455 → 600");
    }
}
