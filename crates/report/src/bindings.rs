//! What each binding costs, in words and cells that all views share.

use lab::analysis::{BindingCosts, Bindings, Cost, ExperimentAnalysis, Over};
use lab::level::label;
use lab::metric::Unit;
use lab::stats::Interval;

use crate::answer::{Piece, Sentence};
use crate::figures::with_unit;

/// Parts from which on there is no table here: those of many parts have tables of their own.
const MOST_PARTS: usize = 8;

/// What a reader must know of the table.
pub(crate) const HOW: &str = "Time for a row (for a statement in the life of tasks), and what that is over the native binding: differences within the same rounds, with their 95 % interval; ≈ where it cannot be told from none. Bindings that carry a SQLite of their own differ by that too.";

/// What a reader must know besides where other factors are crossed with the driver.
const WHAT_IS_COMPARED: &str = "Each binding is set against the native row with the same levels of other factors. What a native row is over the first one, it is by its levels: no binding has a part in it.";

/// What stands before a difference that the levels of other factors make natively.
const BY_LEVELS: &str = "by its levels";

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
/// anything at all. Where other factors are crossed with the driver, bindings are compared at the same
/// levels of these only.
pub(crate) fn sentences(bindings: &Bindings) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for (place, part) in bindings.parts.iter().enumerate() {
        for native in natives(bindings) {
            sentences.extend(sentence(bindings, native, place, part));
        }
    }
    if bindings.rows.iter().any(|row| !row.levels.is_empty()) {
        sentences.push(vec![words(WHAT_IS_COMPARED)]);
    }
    sentences
}

/// The native rows: one at each level of the other factors.
fn natives(bindings: &Bindings) -> impl Iterator<Item = &BindingCosts> {
    let rows = bindings.rows.iter();
    rows.filter(|row| row.native == Some(row.variant))
}

/// One part of the work at the levels of a native row; none where nothing is compared there.
fn sentence(
    bindings: &Bindings,
    native: &BindingCosts,
    place: usize,
    part: &str,
) -> Option<Sentence> {
    let cost = native.costs.get(place).copied()??;
    let calls = calls(bindings, native, place);
    if calls.is_empty() && cost.by_levels.is_none() {
        return None;
    }
    let mut sentence = natively(native, cost, part);
    let dearest = calls.last().filter(|_| calls.len() > 1);
    for (row, over) in calls.first().into_iter().chain(dearest) {
        sentence.extend([
            words(", through "),
            Piece::Code(row.binding.clone()),
            words(" "),
            Piece::Figure(more(*over)),
        ]);
    }
    sentence.push(words("."));
    Some(sentence)
}

/// What the calls of each binding cost at the levels of a native row, the cheapest first.
fn calls<'b>(
    bindings: &'b Bindings,
    native: &BindingCosts,
    place: usize,
) -> Vec<(&'b BindingCosts, Over)> {
    let rows = bindings.rows.iter();
    let mut calls: Vec<(&BindingCosts, Over)> = rows
        .filter(|row| row.native == Some(native.variant))
        .filter_map(|row| Some((row, row.costs.get(place).copied()??.over?)))
        .collect();
    calls.sort_by(|(_, a), (_, b)| a.centre.total_cmp(&b.centre));
    calls
}

/// What a row takes without a binding, and what the levels of other factors alone make of that.
fn natively(native: &BindingCosts, cost: Cost, part: &str) -> Sentence {
    let mut sentence = vec![Piece::Code(part.to_owned())];
    if !native.levels.is_empty() {
        sentence.extend([words(", with "), Piece::Code(label(&native.levels))]);
    }
    sentence.extend([
        words(": natively "),
        Piece::Figure(nanoseconds(cost.median)),
        words(" a row"),
    ]);
    if let Some(change) = cost.by_levels {
        sentence.extend([
            words(&format!(" ({BY_LEVELS} ")),
            Piece::Figure(more(change)),
            words(")"),
        ]);
    }
    sentence
}

fn words(text: &str) -> Piece {
    Piece::Words(text.to_owned())
}

/// One cell: the time for a row, and what it is over the native binding.
pub(crate) struct Cell {
    /// The time.
    pub(crate) time: String,
    /// The difference with its interval, for a native row with other levels than the first what these
    /// make; none for the first.
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
    let calls = cost.over.map(difference);
    let by_levels = cost.by_levels.map(difference);
    Cell {
        time: nanoseconds(cost.median),
        over: calls.or(by_levels.map(|change| format!("{BY_LEVELS} {change}"))),
        value: Some(cost.over.map_or(0.0, |over| over.centre)),
    }
}

fn difference(over: Over) -> String {
    format!("{} {}", more(over), interval(over.interval))
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
    use lab::level::{Level, Settings};

    fn over((centre, low, high): (f64, f64, f64)) -> Over {
        Over {
            centre,
            interval: Interval { low, high },
        }
    }

    fn row(
        variant: usize,
        name: &str,
        median: f64,
        calls: Option<(f64, f64, f64)>,
    ) -> BindingCosts {
        BindingCosts {
            variant,
            name: name.to_owned(),
            binding: name.to_owned(),
            levels: Settings::new(),
            native: Some(0),
            sqlite: "3.54.1".to_owned(),
            costs: vec![Some(Cost {
                median,
                over: calls.map(over),
                by_levels: None,
            })],
        }
    }

    fn bindings() -> Bindings {
        Bindings {
            parts: vec!["point-read".to_owned()],
            rows: vec![
                row(0, "native", 450.0, None),
                row(1, "Ruby", 57_000.0, Some((56_500.0, 56_000.0, 57_000.0))),
                row(2, "Go", 440.0, Some((-10.0, -40.0, 20.0))),
            ],
            defaults: Vec::new(),
        }
    }

    /// A row of an experiment that crosses the driver with the build.
    fn built(build: &str, native: usize, row: BindingCosts) -> BindingCosts {
        let levels = Settings::from([("engine_options".to_owned(), Level::from(build))]);
        BindingCosts {
            name: format!("{}, {}", row.name, label(&levels)),
            native: Some(native),
            levels,
            ..row
        }
    }

    fn natively_tuned() -> Cost {
        Cost {
            median: 420.0,
            over: None,
            by_levels: Some(over((-30.0, -40.0, -20.0))),
        }
    }

    /// Two builds: the tuned one saves 30 ns natively, and more in what Ruby adds.
    fn builds() -> Bindings {
        let mut tuned = row(1, "native", 420.0, None);
        tuned.costs = vec![Some(natively_tuned())];
        let ruby = row(2, "Ruby", 57_000.0, Some((56_500.0, 56_000.0, 57_000.0)));
        let go = row(3, "Go", 460.0, Some((12.0, 10.0, 14.0)));
        let tuned_ruby = row(4, "Ruby", 56_800.0, Some((56_400.0, 56_000.0, 57_000.0)));
        Bindings {
            parts: vec!["point-read".to_owned()],
            rows: vec![
                built("plain", 0, row(0, "native", 450.0, None)),
                built("tuned", 1, tuned),
                built("plain", 0, ruby),
                built("plain", 0, go),
                built("tuned", 1, tuned_ruby),
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
    fn bindings_are_compared_at_the_same_build_and_the_build_has_words_of_its_own() {
        let sentences: Vec<String> = sentences(&builds()).iter().map(|it| plain(it)).collect();
        assert_eq!(
            sentences[..2],
            [
                "point-read, with engine_options=plain: natively 450 ns a row, through Go +12.0 ns, through Ruby +56.5 µs.",
                "point-read, with engine_options=tuned: natively 420 ns a row (by its levels −30.0 ns), through Ruby +56.4 µs.",
            ]
        );
        assert_eq!(sentences[2..], [WHAT_IS_COMPARED]);
    }

    #[test]
    fn a_native_row_of_another_build_costs_no_call() {
        let tuned = cell(Some(natively_tuned()));
        assert_eq!(tuned.time, "420 ns");
        assert_eq!(
            tuned.over.unwrap(),
            "by its levels −30.0 ns [−40.0 ns, −20.0 ns]"
        );
        assert_eq!(tuned.value, Some(0.0));
        let mut alone = builds();
        alone.rows.truncate(2);
        assert_eq!(
            plain(&sentences(&alone)[0]),
            "point-read, with engine_options=tuned: natively 420 ns a row (by its levels −30.0 ns)."
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
