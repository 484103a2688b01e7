//! What each binding costs, in words and cells that all views share.

use lab::analysis::{BindingCosts, Bindings, Cost, ExperimentAnalysis, Over};
use lab::metric::Unit;
use lab::stats::Interval;

use crate::answer::{Piece, Sentence};
use crate::figures::with_unit;

/// Parts from which on there is no table here: those of many parts have tables of their own.
const MOST_PARTS: usize = 8;

/// What a reader must know of the table.
pub(crate) const HOW: &str = "Time for a row (for a statement in the life of tasks), and what that is over the native binding: differences within the same rounds, with their 95 % interval; ≈ where it cannot be told from none. Bindings that carry a SQLite of their own differ by that too.";

/// The heading of the table of defaults.
pub(crate) const DEFAULTS: &str =
    "PRAGMAs of a fresh connection in which bindings differ, as measured before anything was set.";

/// The bindings of an experiment where there are few enough parts for a table.
pub(crate) fn shown(experiment: &ExperimentAnalysis) -> Option<&Bindings> {
    experiment
        .bindings
        .as_ref()
        .filter(|bindings| bindings.parts.len() <= MOST_PARTS && bindings.rows.len() > 1)
}

/// What the cheapest and the dearest binding cost, for each kind of work: whether a binding costs
/// anything at all.
pub(crate) fn sentences(bindings: &Bindings) -> Vec<Sentence> {
    let parts = bindings.parts.iter().enumerate();
    parts
        .filter_map(|(place, part)| sentence(bindings, place, part))
        .collect()
}

fn sentence(bindings: &Bindings, place: usize, part: &str) -> Option<Sentence> {
    let native = bindings.rows.first()?.costs.get(place).copied()??;
    let mut others: Vec<(&BindingCosts, Over)> = bindings
        .rows
        .iter()
        .filter_map(|row| Some((row, row.costs.get(place).copied()??.over?)))
        .collect();
    others.sort_by(|(_, a), (_, b)| a.centre.total_cmp(&b.centre));
    let ((least, low), (most, high)) = (others.first()?, others.last()?);
    let mut sentence = vec![
        Piece::Code(part.to_owned()),
        Piece::Words(": natively ".to_owned()),
        Piece::Figure(nanoseconds(native.median)),
        Piece::Words(" a row, through ".to_owned()),
        Piece::Code(least.name.clone()),
        Piece::Words(" ".to_owned()),
        Piece::Figure(more(*low)),
    ];
    if others.len() > 1 {
        sentence.extend([
            Piece::Words(", through ".to_owned()),
            Piece::Code(most.name.clone()),
            Piece::Words(" ".to_owned()),
            Piece::Figure(more(*high)),
        ]);
    }
    sentence.push(Piece::Words(".".to_owned()));
    Some(sentence)
}

/// One cell: the time for a row, and what it is over the native binding.
pub(crate) struct Cell {
    /// The time.
    pub(crate) time: String,
    /// The difference with its interval; none for the native binding.
    pub(crate) over: Option<String>,
    /// The difference in nanoseconds, by which columns are sorted.
    pub(crate) value: Option<f64>,
}

/// The cell of a part; a dash where it was not measured.
pub(crate) fn cell(cost: Option<Cost>) -> Cell {
    let Some(cost) = cost else {
        return Cell {
            time: "–".to_owned(),
            over: None,
            value: None,
        };
    };
    Cell {
        time: nanoseconds(cost.median),
        over: cost
            .over
            .map(|over| format!("{} {}", more(over), interval(over.interval))),
        value: Some(cost.over.map_or(0.0, |over| over.centre)),
    }
}

fn nanoseconds(value: f64) -> String {
    with_unit(value, Unit::Nanoseconds)
}

/// What a row costs more; marked where it cannot be told from nothing.
fn more(over: Over) -> String {
    let sign = if over.is_found() { "" } else { "≈ " };
    format!("{sign}{}", signed(over.centre))
}

fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", nanoseconds(value.abs()))
}

/// Both ends with their sign; an open end is written as ∞.
fn interval(interval: Interval) -> String {
    let end = |value: f64| match value.is_finite() {
        true => signed(value),
        false if value > 0.0 => "+∞".to_owned(),
        false => "−∞".to_owned(),
    };
    format!("[{}, {}]", end(interval.low), end(interval.high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::plain;

    fn row(name: &str, median: f64, over: Option<(f64, f64, f64)>) -> BindingCosts {
        BindingCosts {
            arm: 0,
            name: name.to_owned(),
            sqlite: "3.54.1".to_owned(),
            costs: vec![Some(Cost {
                median,
                over: over.map(|(centre, low, high)| Over {
                    centre,
                    interval: Interval { low, high },
                }),
            })],
        }
    }

    fn bindings() -> Bindings {
        Bindings {
            parts: vec!["point-read".to_owned()],
            rows: vec![
                row("native", 450.0, None),
                row("Ruby", 57_000.0, Some((56_500.0, 56_000.0, 57_000.0))),
                row("Go", 440.0, Some((-10.0, -40.0, 20.0))),
            ],
            defaults: Vec::new(),
        }
    }

    #[test]
    fn a_sentence_names_the_cheapest_and_the_dearest_binding() {
        let sentences = sentences(&bindings());
        assert_eq!(
            plain(&sentences[0]),
            "point-read: natively 450 ns a row, through Go ≈ −10.0 ns, through Ruby +56.5 µs."
        );
    }

    #[test]
    fn a_difference_that_is_not_found_is_marked_and_a_missing_one_is_a_dash() {
        let costs: Vec<Cell> = bindings()
            .rows
            .iter()
            .map(|row| cell(row.costs[0]))
            .collect();
        assert_eq!(costs[0].over, None);
        assert!(
            costs[1]
                .over
                .as_ref()
                .unwrap()
                .starts_with("+56.5 µs [+56.0 µs")
        );
        assert!(
            costs[2]
                .over
                .as_ref()
                .unwrap()
                .starts_with("≈ −10.0 ns [−40.0 ns")
        );
        assert_eq!(cell(None).time, "–");
    }
}
