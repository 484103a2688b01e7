//! What each binding costs, in the terminal: in sentences, and as a table with a line for each binding
//! and the cost of a row over the native one.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use lab::analysis::{Bindings, Cost, ExperimentAnalysis};

use super::paint::Paint;
use super::text::Text;
use crate::answer::plain;
use crate::bindings::{cell, sentences, shown};

/// Adds what there is to say.
pub(super) fn bindings(text: &mut Text, experiment: &ExperimentAnalysis) {
    let Some(bindings) = shown(experiment) else {
        return;
    };
    text.gap();
    text.heading("What a call through each binding costs");
    for sentence in sentences(bindings) {
        text.item(Paint::Plain, "–", &plain(&sentence));
    }
    text.block(&table(bindings, text.width()));
    if !bindings.defaults.is_empty() {
        let names: Vec<&str> = bindings.defaults.iter().map(|it| it.0.as_str()).collect();
        let line = format!(
            "bindings differ in the defaults of {}: the page and the Markdown report show them",
            names.join(", ")
        );
        text.item(Paint::Plain, "·", &line);
    }
}

/// Differences without their intervals, which a window has no room for.
fn table(bindings: &Bindings, width: usize) -> String {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─');
    table
        .load_style(TableStyle::new().header_separator(line))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let parts = bindings.parts.iter().map(|part| right(part));
    table.set_header([Cell::new("a row over native")].into_iter().chain(parts));
    for row in &bindings.rows {
        let costs = row.costs.iter().map(|cost| right(&short(*cost)));
        table.add_row([Cell::new(&row.name)].into_iter().chain(costs));
    }
    table.to_string()
}

fn short(cost: Option<Cost>) -> String {
    let cell = cell(cost);
    match cell.over {
        Some(over) => over.split(" [").next().unwrap_or_default().to_owned(),
        None => cell.time,
    }
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
