//! Recorded traffic: how much of it was replayed, whether it did the same as in the recording, and what differed.

use lab::analysis::VariantAnalysis;
use lab::measures::Measures;
use lab::trial::{DataTable, stand_ins};

use super::subject::Subject;
use crate::document::{Block, Cell, Column, Item, Row, Sentence, Table, blocks, led};
use crate::figures;
use crate::words::{metric_heading, plural};

/// The figures of each variant.
const METRICS: [&str; 4] =
    ["coverage_percent", "coverage_time_percent", "agreement_percent", "divergences"];

/// Kinds of divergences that are named for each variant; the evidence has more.
const NAMED: usize = 20;

/// A table of the variants, and what is missing or differs; nothing where no recording is replayed.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let measured = subject.measured();
    if subject.experiment.measures() != Measures::Replay || measured.is_empty() {
        return Vec::new();
    }
    blocks![
        Block::heading("Replay"),
        Block::table(table(subject, &measured)),
        time(&subject.experiment.variants[measured[0]]).map(Block::small),
        Block::list(items(subject, &measured)),
    ]
}

fn table(subject: &Subject<'_>, measured: &[usize]) -> Table {
    let variants = &subject.experiment.variants;
    let figures = METRICS.map(|metric| Column::right(metric_heading(metric)));
    let columns = led(Column::left("variant"), figures);
    let columns = columns.chain([Column::left("tables at the end").prose()]);
    let row = |index: &usize| {
        let variant = &variants[*index];
        let figure =
            |metric: &&str| Cell::figure(variant.median(metric), |value| share(value, metric));
        let end = Cell::new(end_words(titled(variant, "end state")));
        let cells = METRICS.iter().map(figure).chain([end]);
        Row::led(subject.names.cell(*index), cells)
    };
    Table::new("Replay", columns, measured.iter().map(row))
}

/// A figure in words. A share that is not everything does not read as everything.
fn share(value: f64, metric: &str) -> String {
    /// From here on, three digits would be 100.
    const NEARLY: f64 = 99.95;
    if metric.ends_with("_percent") && (NEARLY..100.0).contains(&value) {
        "> 99.9 %".to_owned()
    } else {
        figures::figure(value, metric)
    }
}

/// How long the application itself took.
fn time(variant: &VariantAnalysis) -> Option<String> {
    let recorded = figures::figure(variant.median("recorded_s")?, "recorded_s");
    Some(format!(
        "The recording lasted {recorded} from its first to its last statement, pauses of the application included. Tables and divergences are those of each variant's first trial."
    ))
}

fn titled<'a>(variant: &'a VariantAnalysis, title: &str) -> Option<&'a DataTable> {
    variant.tables.iter().find(|table| table.title == title)
}

/// The end state in words: what differs first.
fn end_words(table: Option<&DataTable>) -> String {
    let rows = table.map_or(&[][..], |table| &table.rows);
    let (mut equal, mut left_out, mut differing) = (0, Vec::new(), Vec::new());
    for row in rows {
        match row.as_slice() {
            [_, how] if how == "equal" => equal += 1,
            [name, how] if how.starts_with("not compared") => left_out.push((name, how)),
            [name, how] => differing.push(format!("{name} ({how})")),
            _ => {}
        }
    }
    let mut words = Vec::new();
    if !differing.is_empty() {
        words.push(format!("different: {}", differing.join(", ")));
    }
    if equal > 0 {
        words.push(format!("{equal} equal"));
    }
    match left_out.as_slice() {
        [] => {}
        [(name, how)] => words.push(format!("{name} {how}")),
        several => words.push(format!("{} not compared", several.len())),
    }
    words.join("; ")
}

/// Lists statements that could not be replayed, and the first divergences of each variant.
fn items(subject: &Subject<'_>, measured: &[usize]) -> Vec<Item> {
    let variants = &subject.experiment.variants;
    let mut items: Vec<Item> = Vec::new();
    let stand_ins = stand_ins(&variants[measured[0]].tables);
    if !stand_ins.is_empty() {
        let words = "Replayed with stand-ins, so answers and divergences may come from them: ";
        items.push(Item::doubt(None, Sentence::from(words).and_code(stand_ins.join(", "))));
    }
    let missing = titled(&variants[measured[0]], "not replayed");
    for row in missing.map_or(&[][..], |table| &table.rows) {
        if let [what, statements] = row.as_slice() {
            let count = statements.parse().unwrap_or(0);
            let count = plural(count, "statement", "statements");
            items.push(Item::new(format!("Not replayed: {what}, {count}")));
        }
    }
    for index in measured {
        let accepted = titled(&variants[*index], "accepted");
        items.extend(accepted.into_iter().flat_map(|table| table.rows.iter().flatten()).map(
            |why| {
                let lead = subject.names.sentence(*index);
                let words = format!(": accepted although it diverges, so do not compare its figures with other variants': {why}");
                Item::doubt(None, lead.words(words))
            },
        ));
        let divergences = titled(&variants[*index], "divergences");
        let rows = divergences.map_or(&[][..], |table| &table.rows);
        for row in rows.iter().take(NAMED) {
            if let [count, event, what, sql] = row.as_slice() {
                let lead = subject.names.sentence(*index);
                let count = plural(count.parse().unwrap_or(0), "divergence", "divergences");
                let lead = lead.words(format!(": {count}, first at event {event}: {what}: "));
                items.push(Item::new(lead.and(Sentence::code(sql))));
            }
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(rows: &[(&str, &str)]) -> String {
        let row = |(name, how): &(&str, &str)| vec![(*name).to_owned(), (*how).to_owned()];
        end_words(Some(&DataTable {
            title: "end state".to_owned(),
            columns: Vec::new(),
            rows: rows.iter().map(row).collect(),
        }))
    }

    #[test]
    fn a_share_that_is_not_everything_does_not_read_as_everything() {
        let shares = [99.5, 99.98, 100.0].map(|value| share(value, "coverage_percent"));
        assert_eq!(shares, ["99.5 %", "> 99.9 %", "100 %"]);
    }

    #[test]
    fn the_end_says_what_differs_then_what_is_equal_and_what_was_not_compared() {
        assert_eq!(
            words(&[("a", "5 rows instead of 6"), ("b", "equal"), ("c", "equal")]),
            "different: a (5 rows instead of 6); 2 equal"
        );
        assert_eq!(
            words(&[("app.db", "not compared: a commit is missing")]),
            "app.db not compared: a commit is missing"
        );
        assert_eq!(words(&[]), "");
    }
}
