//! What lies behind the figures: what the work did, bytecode and query plans.

use lab::analysis::ExperimentAnalysis;
use lab::trial::DataTable;

use super::marks::{code, escaped, fenced};
use crate::figures;
use crate::found::{Found, found};
use crate::names::Names;
use crate::work::{HOW, Work};

/// Spaces between the columns of a fenced table.
const GAP: usize = 2;

/// Adds what there is, with an empty line before each piece.
pub(super) fn add(text: &mut String, experiment: &ExperimentAnalysis) {
    if let Some(work) = Work::totals(experiment) {
        text.push_str(&work_table(experiment, &work));
    }
    for found in found(experiment) {
        text.push_str(&in_fences(&found));
    }
}

/// The counts without kinds of files.
fn work_table(experiment: &ExperimentAnalysis, work: &Work) -> String {
    let names = Names::of(experiment);
    let headings: Vec<&str> = work
        .columns
        .iter()
        .map(|column| &column.heading[..])
        .collect();
    let mut lines = vec![
        format!("\n**Why: what the work did.** {HOW}\n"),
        format!("| variant | {} |", headings.join(" | ").to_lowercase()),
        format!("|---|{}", "--:|".repeat(headings.len())),
    ];
    lines.extend(work.rows.iter().map(|(variant, counts)| {
        let cells: Vec<String> = work
            .columns
            .iter()
            .zip(counts)
            .map(|(column, count)| match count {
                Some(count) => figures::compact(*count, &column.metric),
                None => "–".to_owned(),
            })
            .collect();
        format!("| {} | {} |", code(names.get(*variant)), cells.join(" | "))
    }));
    lines.join("\n") + "\n"
}

fn in_fences(found: &Found<'_>) -> String {
    let mut text = format!("\n**Why: {}**\n", escaped(found.title));
    for variant in &found.variants {
        let variants: Vec<String> = variant
            .variants
            .iter()
            .map(|variant| code(variant))
            .collect();
        let table = fenced(&aligned(variant.table));
        text.push_str(&format!("\n{}\n\n{table}\n", variants.join(", ")));
    }
    text
}

/// The lines of a table with its columns one below the other.
fn aligned(table: &DataTable) -> Vec<String> {
    let width = |column: usize| {
        let rows = table.rows.iter().chain([&table.columns]);
        let cells = rows.filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = widths.get(column).copied().unwrap_or(0) + GAP;
            format!("{:width$}", cell.replace(['\n', '\r'], " "))
        });
        cells.collect::<String>().trim_end().to_owned()
    };
    [&table.columns]
        .into_iter()
        .chain(&table.rows)
        .map(line)
        .collect()
}
