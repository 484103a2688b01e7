//! The figures to be read beside an experiment's own, as many as there is room for.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};
use lab::analysis::{Analysis, ExperimentAnalysis};

use super::paint::Paint;
use super::text::Text;
use crate::beside::Beside;
use crate::figures;
use crate::names::Names;
use crate::words::{metric_heading, plural};

/// Room for a figure under a heading that may take several lines.
const FIGURE: usize = 12;
/// Between columns.
const GAP: usize = 2;

/// Adds what there is.
pub(super) fn beside(text: &mut Text, analysis: &Analysis, experiment: &ExperimentAnalysis) {
    let Some(beside) = Beside::of(analysis, experiment) else {
        return;
    };
    let names = Names::of(experiment);
    let room = (beside
        .rows
        .iter()
        .map(|(arm, _)| longest_word(names.get(*arm))))
    .max();
    let room = (room.unwrap_or(0) + GAP).min(text.width().saturating_sub(FIGURE));
    let fitting = ((text.width() - room) / FIGURE).clamp(1, beside.metrics.len());
    let mut table = table(&beside, &names, fitting, text.width());
    // Words of names are not broken.
    let name = ColumnConstraint::LowerBoundary(Width::Fixed(room as u16));
    table.set_constraints([name]);
    text.gap();
    text.block(&table.to_string());
    let more = beside.metrics.len() - fitting;
    if more > 0 {
        let more = plural(more, "more metric", "more metrics");
        let hint = format!("{more} in a wider window, on the page and in the Markdown form");
        text.item(Paint::Dim, "·", &hint);
    }
}

fn longest_word(name: &str) -> usize {
    let lengths = name.split(' ').map(|word| word.chars().count());
    lengths.max().unwrap_or(0)
}

fn table(beside: &Beside, names: &Names, fitting: usize, width: usize) -> Table {
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let shown = &beside.metrics[..fitting];
    let headings = shown
        .iter()
        .map(|metric| right(metric_heading(metric).to_lowercase()));
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header([Cell::new("side by side")].into_iter().chain(headings));
    for (arm, medians) in &beside.rows {
        let figures = shown.iter().zip(medians).map(|(metric, median)| {
            right(median.map_or_else(|| "–".to_owned(), |median| figures::figure(median, metric)))
        });
        table.add_row([Cell::new(names.get(*arm))].into_iter().chain(figures));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP as u16));
    }
    table
}
