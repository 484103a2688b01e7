//! Figures of two sides in the cells of a table, and the signs of changes.

use lab::comparison::{Change, Count, Figure, Ratio};

use crate::document::{Cell, Column, Sign, Tone};
use crate::figures::{self, figure, percent, ratio_without_interval};

/// The smallest relative change that three digits of a ratio show.
const VISIBLE: f64 = 0.005;

/// Returns the sign of a change and its tone.
pub(super) fn mark(change: Change) -> Sign {
    match change {
        Change::Same => ("=", Tone::Same),
        Change::Better => ("▲", Tone::Better),
        Change::Worse => ("▼", Tone::Worse),
        Change::Other => ("≠", Tone::Neutral),
        Change::NotExact => ("?", Tone::Doubt),
        Change::Missing => ("–", Tone::Neutral),
        Change::NotDetectable => ("≈", Tone::Same),
    }
}

/// Returns a measured ratio with its interval: `×2.1 [1.9, 2.3]`.
pub(super) fn measured(ratio: Ratio) -> String {
    figures::ratio(ratio.ratio, ratio.interval)
}

/// Returns a counter: a range if it does not repeat exactly, a dash if there is none.
pub(super) fn count(count: Count, metric: &str) -> String {
    match count {
        Count::Exact(value) | Count::Once(value) => figure(value, metric),
        Count::Varies { low, high } => {
            format!("{} to {}", figure(low, metric), figure(high, metric))
        }
        Count::Missing => "–".to_owned(),
    }
}

/// Returns the columns of the cells of a counter.
pub(super) fn columns() -> [Column; 3] {
    [Column::right("base"), Column::right("new"), Column::left("new / base")]
}

/// Returns the cells of a counter of the base, of the new side, and of its ratio.
pub(super) fn counter(figure: &Figure) -> [Cell; 3] {
    let [base, new] =
        [figure.base, figure.new].map(|side| Cell::number(Some(count(side, &figure.metric))));
    [base, new, ratio(figure)]
}

/// Returns a counter of both sides, once if it is the same.
pub(super) fn both(figure: Option<&Figure>) -> Cell {
    let Some(figure) = figure else { return Cell::number(None) };
    let [base, new] = [figure.base, figure.new].map(|side| count(side, &figure.metric));
    let text = match figure.ratio() {
        _ if figure.base == figure.new => new,
        Some(ratio) if base == new => format!("{new} ({})", times(ratio)),
        _ => format!("{base} → {new}"),
    };
    let (_, tone) = mark(figure.change);
    Cell { tone, value: figure.new.exact(), ..Cell::number(Some(text)) }
}

/// Returns the new value divided by the base's, or the reason for no verdict.
fn ratio(figure: &Figure) -> Cell {
    let text = match (figure.change, figure.ratio()) {
        (Change::NotExact, _) => "does not repeat".to_owned(),
        (Change::Missing, _) => "–".to_owned(),
        (Change::Same, _) => "same".to_owned(),
        (_, Some(ratio)) if ratio.is_finite() && ratio > 0.0 => times(ratio),
        (_, Some(0.0)) => "none left".to_owned(),
        _ => "new".to_owned(),
    };
    Cell { value: figure.ratio(), ..Cell::new(text).signed(mark(figure.change)) }
}

/// Returns the cells of a counter of a single counting pass, which is a fact and no verdict.
pub(super) fn counter_of_a_pass(figure: &Figure) -> [Cell; 3] {
    let [base, new, _] = counter(figure);
    let how_much = match (figure.base, figure.new) {
        (Count::Once(base), Count::Once(new)) if base > 0.0 && new > 0.0 => {
            format!("{}, counted once", times(new / base))
        }
        _ => "counted once".to_owned(),
    };
    [base, new, Cell::new(how_much).signed(("?", Tone::Doubt))]
}

/// Writes a ratio of exact counters that is not 1, however near to it: `×1.25`, `0.2 % more`.
pub(super) fn times(ratio: f64) -> String {
    match ratio - 1.0 {
        more if more.abs() >= VISIBLE || more == 0.0 => ratio_without_interval(ratio),
        more if more > 0.0 => format!("{} more", percent(more)),
        less => format!("{} less", percent(-less)),
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
        Figure::of("vm_steps", "vm_steps", &[&base, &base], &[&new, &new])
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

    #[test]
    fn a_counter_of_a_single_pass_says_how_much_it_differs() {
        let of = |base: f64, new: f64| {
            let figure = Figure {
                metric: "bytes_written_per_row".to_owned(),
                base: Count::Once(base),
                new: Count::Once(new),
                change: Change::NotExact,
            };
            counter_of_a_pass(&figure)[2].text.plain()
        };
        assert_eq!(of(10.0, 20.0), "×2, counted once");
        assert_eq!(of(15.1, 15.12), "0.1 % more, counted once");
        assert_eq!(of(0.0, 1.0), "counted once");
    }
}
