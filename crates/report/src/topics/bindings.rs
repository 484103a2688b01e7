//! Cost of a call through each binding.

use lab::analysis::{BindingCosts, Bindings, Cost, ExperimentAnalysis, Over};
use lab::level::label;
use lab::metric::Unit;
use lab::stats::Interval;

use super::subject::Subject;
use crate::document::{Block, Cell, Column, Item, Row, Sentence, Table, blocks, led};
use crate::figures::with_unit;

/// Most parts of a table here: experiments with more have tables of their own.
const MOST_PARTS: usize = 8;

/// Explanation of the table.
const HOW: &str = "Time for a row (for a statement in the life of tasks), and the time that it adds to the native binding: differences within the same rounds, with 95 % intervals; ≈ where it is not distinguishable from none. Bindings with a SQLite of their own differ by that library, too.";

/// Explanation if other factors are crossed with the driver.
const WHAT_IS_COMPARED: &str = "Each binding is compared with the native row at the same levels of other factors. Native rows differ by these levels alone: no binding has a part in it.";

/// Introduces a difference that the levels of other factors make natively.
const BY_LEVELS: &str = "by its levels";

/// The heading of the table of defaults.
const DEFAULTS: &str =
    "PRAGMAs that differ between bindings, on a fresh connection before anything was set.";

/// The bindings of an experiment where there are few enough parts for a table.
pub(super) fn compared(experiment: &ExperimentAnalysis) -> Option<&Bindings> {
    let bindings = experiment.bindings.as_ref();
    bindings.filter(|bindings| bindings.parts.len() <= MOST_PARTS && bindings.rows.len() > 1)
}

/// Whether a binding costs anything at all, what it costs, and which defaults it has.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let Some(bindings) = compared(subject.experiment) else { return Vec::new() };
    blocks![
        Block::heading("What a call through each binding costs"),
        Block::list(sentences(bindings).into_iter().map(Item::new)),
        Block::Depth {
            brief: vec![Block::table(costs(bindings, short))],
            full: vec![Block::table(costs(bindings, cell)), Block::small(HOW)],
        },
        (!bindings.defaults.is_empty()).then(|| defaults(bindings)),
    ]
}

fn costs(bindings: &Bindings, cell: fn(Option<Cost>) -> Cell) -> Table {
    let parts = bindings.parts.iter().map(|part| Column::right(Sentence::code(part)));
    let rows = bindings.rows.iter().map(|row| {
        let cells = [Cell::new(row.name.as_str()), Cell::new(row.sqlite.as_str())];
        Row::new(cells.into_iter().chain(row.costs.iter().map(|cost| cell(*cost))))
    });
    let first = [Column::left("binding"), Column::left("SQLite").full_only()];
    Table::new("Cost of a row, and over the native binding", first.into_iter().chain(parts), rows)
        .sortable()
}

fn defaults(bindings: &Bindings) -> Block {
    let names: Vec<&str> = bindings.defaults.iter().map(|default| default.0.as_str()).collect();
    let brief = format!(
        "Bindings differ in the defaults of {}: the page and the Markdown report list them.",
        names.join(", ")
    );
    let columns = bindings.rows.iter().map(|row| Column::left(row.name.as_str()));
    let row = |(name, values): &(String, Vec<Option<String>>)| {
        let cells = values.iter().map(|value| Cell::number(value.clone()));
        Row::led(Cell::code(name), cells)
    };
    let table = Table::new(
        "Defaults of each binding",
        led(Column::left("PRAGMA"), columns),
        bindings.defaults.iter().map(row),
    );
    Block::Depth {
        brief: vec![Block::small(brief)],
        full: vec![Block::small(DEFAULTS), Block::table(table)],
    }
}

/// Returns the costs of the cheapest and the dearest binding, for each kind of work. If other factors are crossed
/// with the driver, bindings are compared at the same levels of these only.
fn sentences(bindings: &Bindings) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for (index, part) in bindings.parts.iter().enumerate() {
        let natives = bindings.rows.iter().filter(|row| row.native == Some(row.variant));
        sentences.extend(natives.filter_map(|native| sentence(bindings, native, index, part)));
    }
    if bindings.rows.iter().any(|row| !row.levels.is_empty()) {
        sentences.push(WHAT_IS_COMPARED.into());
    }
    sentences
}

/// Returns the sentence on a part of the work at the levels of a native row; none if nothing is compared there.
fn sentence(
    bindings: &Bindings,
    native: &BindingCosts,
    index: usize,
    part: &str,
) -> Option<Sentence> {
    let cost = native.costs.get(index).copied()??;
    let calls = calls(bindings, native, index);
    if calls.is_empty() && cost.by_levels.is_none() {
        return None;
    }
    // The time of a row without a binding, and its difference by the levels of other factors alone.
    let mut sentence = Sentence::code(part);
    if !native.levels.is_empty() {
        sentence = sentence.words(", with ").and_code(label(&native.levels));
    }
    sentence = sentence.words(": natively ").figure(nanoseconds(cost.median)).words(" a row");
    let mut sentence = match cost.by_levels {
        Some(change) => (sentence.words(format!(" ({BY_LEVELS} ")).figure(more(change))).words(")"),
        None => sentence,
    };
    let dearest = calls.last().filter(|_| calls.len() > 1);
    for (row, over) in calls.first().into_iter().chain(dearest) {
        let through = sentence.words(", through ").and_code(&row.binding);
        sentence = through.words(" ").figure(more(*over));
    }
    Some(sentence.words("."))
}

/// Returns the costs of the calls of each binding at the levels of a native row, the cheapest first.
fn calls<'b>(
    bindings: &'b Bindings,
    native: &BindingCosts,
    index: usize,
) -> Vec<(&'b BindingCosts, Over)> {
    let rows = bindings.rows.iter();
    let mut calls: Vec<(&BindingCosts, Over)> = rows
        .filter(|row| row.native == Some(native.variant))
        .filter_map(|row| Some((row, row.costs.get(index).copied()??.over?)))
        .collect();
    calls.sort_by(|(_, a), (_, b)| a.centre.total_cmp(&b.centre));
    calls
}

/// Returns the additional cost of a row, without the interval; the time if nothing is compared.
fn short(cost: Option<Cost>) -> Cell {
    let by_levels = |cost: Cost| Some(format!("{BY_LEVELS} {}", more(cost.by_levels?)));
    let short = |cost: Cost| cost.over.map(more).or_else(|| by_levels(cost));
    Cell::number(cost.map(|cost| short(cost).unwrap_or_else(|| nanoseconds(cost.median))))
}

/// The time for a row, and below it what it adds to the native binding; a dash where it was not measured.
fn cell(cost: Option<Cost>) -> Cell {
    let Some(cost) = cost else { return Cell::number(None) };
    let by_levels = cost.by_levels.map(|change| format!("{BY_LEVELS} {}", difference(change)));
    let over = cost.over.map(difference).or(by_levels);
    Cell {
        value: Some(cost.over.map_or(0.0, |over| over.centre)),
        ..Cell::number(Some(nanoseconds(cost.median)))
    }
    .with_below(over.unwrap_or_default())
}

fn difference(over: Over) -> String {
    format!("{} {}", more(over), interval(over.interval))
}

fn nanoseconds(value: f64) -> String {
    with_unit(value, Unit::Nanoseconds)
}

/// Writes the additional cost of a row; marked if it is not distinguishable from nothing.
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
    let end = |value: f64| match value {
        f64::INFINITY => "+∞".to_owned(),
        f64::NEG_INFINITY => "−∞".to_owned(),
        value => signed(value),
    };
    format!("[{}, {}]", end(interval.low), end(interval.high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::level::{Level, Settings};

    fn over((centre, low, high): (f64, f64, f64)) -> Over {
        Over { centre, interval: Interval { low, high } }
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
            costs: vec![Some(Cost { median, over: calls.map(over), by_levels: None })],
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
        Cost { median: 420.0, over: None, by_levels: Some(over((-30.0, -40.0, -20.0))) }
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
            sentences[0].plain(),
            "point-read: natively 450 ns a row, through Go ≈ −10.0 ns, through Ruby +56.5 µs."
        );
    }

    #[test]
    fn bindings_are_compared_at_the_same_build_and_the_build_has_words_of_its_own() {
        let sentences: Vec<String> = sentences(&builds()).iter().map(Sentence::plain).collect();
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
        assert_eq!(tuned.text.plain(), "420 ns");
        assert_eq!(tuned.below[0].plain(), "by its levels −30.0 ns [−40.0 ns, −20.0 ns]");
        assert_eq!(tuned.value, Some(0.0));
        let mut alone = builds();
        alone.rows.truncate(2);
        assert_eq!(
            sentences(&alone)[0].plain(),
            "point-read, with engine_options=tuned: natively 420 ns a row (by its levels −30.0 ns)."
        );
    }

    #[test]
    fn a_difference_that_is_not_found_is_marked_and_a_missing_one_is_a_dash() {
        let costs: Vec<Cell> = bindings().rows.iter().map(|row| cell(row.costs[0])).collect();
        assert!(costs[0].below.is_empty());
        let below = |cost: &Cell| cost.below[0].plain();
        assert!(below(&costs[1]).starts_with("+56.5 µs [+56.0 µs"));
        assert!(below(&costs[2]).starts_with("≈ −10.0 ns [−40.0 ns"));
        assert_eq!(cell(None).text.plain(), "–");
    }
}
