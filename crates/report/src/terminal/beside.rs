//! The figures to be read beside an experiment's own, as many as there is room for.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};
use lab::analysis::{Analysis, ExperimentAnalysis};

use super::paint::Paint;
use super::text::Text;
use crate::beside::Medians;
use crate::figures;
use crate::names::Names;
use crate::words::{metric_heading, plural};

/// The least room for a figure.
const FIGURE: usize = 10;
/// Between columns.
const GAP: usize = 2;

/// Adds what there is.
pub(super) fn beside(text: &mut Text, analysis: &Analysis, experiment: &ExperimentAnalysis) {
    let Some(beside) = Medians::beside(analysis, experiment) else {
        return;
    };
    let names = Names::of(experiment);
    let widths = widths(&beside, &names, text.width());
    let shown = widths.len() - 1;
    let mut table = table(&beside, &names, shown, text.width());
    let constraints = widths.into_iter().map(Width::Fixed);
    table.set_constraints(constraints.map(ColumnConstraint::LowerBoundary));
    text.gap();
    text.block(&table.to_string());
    let more = beside.metrics.len() - shown;
    if more > 0 {
        let more = plural(more, "more metric", "more metrics");
        let hint = format!("{more} in a wider window, on the page and in the Markdown form");
        text.item(Paint::Dim, "·", &hint);
    }
}

/// The least widths of the column of names and of as many metrics as there is room for, one at least, so
/// that no word is broken as long as that can be helped.
fn widths(beside: &Medians, names: &Names, width: usize) -> Vec<u16> {
    let longest = beside
        .rows
        .iter()
        .map(|(variant, _)| longest_word(names.get(*variant)));
    let name = longest.max().unwrap_or(0) + GAP;
    let metrics = beside.metrics.iter();
    let figures = metrics.map(|metric| longest_word(&metric_heading(metric)).max(FIGURE) + GAP);
    let mut room = width.saturating_sub(name);
    let fitting = figures.enumerate().take_while(|(number, figure)| {
        let fits = *number == 0 || *figure <= room;
        room = room.saturating_sub(*figure);
        fits
    });
    let name = name.min(width.saturating_sub(FIGURE));
    let figures = fitting.map(|(_, figure)| figure);
    std::iter::once(name)
        .chain(figures)
        .map(|width| width as u16)
        .collect()
}

fn longest_word(name: &str) -> usize {
    let lengths = name.split(' ').map(|word| word.chars().count());
    lengths.max().unwrap_or(0)
}

fn table(beside: &Medians, names: &Names, fitting: usize, width: usize) -> Table {
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
    for (variant, medians) in &beside.rows {
        let figures = shown.iter().zip(medians).map(|(metric, median)| {
            right(median.map_or_else(|| "–".to_owned(), |median| figures::figure(median, metric)))
        });
        table.add_row([Cell::new(names.get(*variant))].into_iter().chain(figures));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP as u16));
    }
    table
}
