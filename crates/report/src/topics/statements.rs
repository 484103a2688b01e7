//! The user's own statements: how long each takes, what it does, and how SQLite executes it.

use lab::analysis::VariantAnalysis;
use lab::trial::StatementRecord;

use super::Subject;
use crate::document::{Block, Cell, Code, Column, Item, Row, Sentence, Table, led};
use crate::figures;
use crate::names::listed;
use crate::sql::shortened;
use crate::words::{grouped, metric_heading};

/// Variants from which on only the baseline's medians are shown: more columns cannot be read.
const VARIANTS_FROM: usize = 6;

/// What is known of each statement besides its median.
const METRICS: [&str; 6] = [
    "p99_us",
    "rows_per_call",
    "vm_steps",
    "scan_steps",
    "sorts",
    "auto_index_rows",
];

/// The table of statements, whether answers are equal, and the plans; nothing where the work is not the user's SQL.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let Some(baseline) = subject.experiment.variants.first() else {
        return Vec::new();
    };
    if baseline.statements.is_empty() || baseline.unmeasured() {
        return Vec::new();
    }
    let mut blocks = vec![
        Block::Heading("Statements".to_owned()),
        Block::table(table(subject, baseline)),
    ];
    blocks.extend(answers(subject));
    blocks.extend(plans(subject, baseline));
    blocks
}

/// A row for each statement: medians by variant, then what the baseline shows besides.
fn table(subject: &Subject<'_>, baseline: &VariantAnalysis) -> Table {
    let variants = &subject.experiment.variants;
    let measured = (0..variants.len()).filter(|index| !variants[*index].unmeasured());
    let mut shown: Vec<usize> = measured.collect();
    if shown.len() >= VARIANTS_FROM {
        shown.truncate(1);
    }
    let several = shown.len() > 1;
    let others = METRICS.iter().filter(|metric| has(baseline, metric));
    let others: Vec<&str> = others.copied().collect();
    let medians = shown.iter().map(|variant| {
        let heading = Column::right(metric_heading("p50_us"));
        match several {
            true => Column {
                below: Some(subject.names.sentence(*variant).plain()),
                ..heading
            },
            false => heading,
        }
    });
    let columns = medians.chain(others.iter().map(|metric| Column {
        about: Some((*metric).to_owned()),
        ..Column::right(metric_heading(metric))
    }));
    let row = |statement: &StatementRecord| {
        let figure = |variant: usize, metric: &str| {
            let metric = format!("{metric}.{}", statement.name);
            let summary = variants[variant].summaries.get(&metric);
            Cell::figure(summary.map(|it| it.median), |value| {
                figures::figure(value, &metric)
            })
        };
        let medians = shown.iter().map(|variant| figure(*variant, "p50_us"));
        let others = others.iter().map(|metric| figure(0, metric));
        let name = Cell::code(&statement.name).with_below(one_line(&statement.sql));
        Row::led(name, medians.chain(others))
    };
    Table {
        sortable: true,
        dense: true,
        data: true,
        ..Table::new(
            "Statements",
            led(Column::left("statement"), columns),
            baseline.statements.iter().map(row),
        )
    }
}

/// Whether a metric is more than zero for some statement.
fn has(variant: &VariantAnalysis, metric: &str) -> bool {
    variant.statements.iter().any(|statement| {
        let summary = variant
            .summaries
            .get(&format!("{metric}.{}", statement.name));
        summary.is_some_and(|summary| summary.median > 0.0)
    })
}

/// The beginning of a statement, without line breaks.
fn one_line(sql: &str) -> String {
    const LENGTH: usize = 80;
    let words: Vec<&str> = sql.split_whitespace().collect();
    shortened(&words.join(" "), LENGTH)
}

/// In how many trials answers were compared. A variant with another answer has failed.
fn answers(subject: &Subject<'_>) -> Option<Block> {
    let variants = subject.experiment.variants.iter().skip(1);
    let equal = variants.filter(|variant| !variant.unmeasured());
    let compared: usize = equal.map(|variant| variant.answers_compared).sum();
    (compared > 0).then(|| {
        Block::small(format!(
            "The answers of other variants were compared with the baseline's in {compared} trials, by the number of rows and a checksum of all rows. They are equal."
        ))
    })
}

/// The plan of each statement, and those of variants that differ.
fn plans(subject: &Subject<'_>, baseline: &VariantAnalysis) -> Vec<Block> {
    let all = baseline.statements.iter();
    let (differing, same): (Vec<_>, Vec<_>) = all
        .map(|statement| (statement, plans_of(subject, &statement.name)))
        .filter(|(_, plans)| plans.iter().any(|(plan, _)| !plan.is_empty()))
        .partition(|(_, plans)| plans.len() > 1);
    let mut blocks = Vec::new();
    if !differing.is_empty() {
        blocks.push(Block::Heading("Query plans that differ".to_owned()));
    }
    for (statement, plans) in differing {
        for (plan, variants) in plans {
            let names = variants.iter().map(|it| subject.names.sentence(*it));
            let lead = Sentence::code(&statement.name).words(": ");
            blocks.push(Block::small(
                lead.and(listed(names.collect(), usize::MAX - 1)),
            ));
            blocks.push(code(plan));
        }
    }
    let items = same.into_iter().map(|(statement, plans)| {
        let plan = plans.into_iter().next().map_or(&[][..], |(plan, _)| plan);
        let nodes: Vec<&str> = plan.iter().map(|node| node.trim_start()).collect();
        let name = Sentence::code(&statement.name);
        // Names of recorded statements are made up; those of others are the user's.
        let name = match subject.experiment.workload == "replay" {
            true => name.words(", ").and_code(one_line(&statement.sql)),
            false => name,
        };
        Item::new(name.words(": ").words(nodes.join("; ")))
    });
    if let Some(list) = Block::list(items) {
        blocks.extend([Block::Heading("Query plans".to_owned()), list]);
    }
    blocks
}

/// The plans of a statement with the variants that have them.
fn plans_of<'a>(subject: &Subject<'a>, name: &str) -> Vec<(&'a [String], Vec<usize>)> {
    let variants = subject.experiment.variants.iter().enumerate();
    let plans = variants.flat_map(|(index, variant)| {
        let own = variant.statements.iter().filter(|it| it.name == name);
        own.map(move |statement| (statement.plan.as_slice(), index))
    });
    grouped(plans)
}

fn code(plan: &[String]) -> Block {
    Block::Code(Code {
        language: "text",
        text: plan.join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_shortened_to_one_line() {
        assert_eq!(one_line("SELECT 1\n  FROM t"), "SELECT 1 FROM t");
        let long = one_line(&"ä".repeat(200));
        assert_eq!(long.chars().count(), 81);
    }
}
