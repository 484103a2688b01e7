//! Experiments on several directories in the terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use lab::analysis::Analysis;

use super::paint::Paint;
use super::text::Text;
use crate::side_by_side::{Directories, Row, lead, tables};
use crate::words::plural;

/// Variants shown of an experiment: those of a large grid are in the page.
const MOST: usize = 16;

/// Adds a table for each experiment that was done on several directories.
pub(super) fn side_by_side(text: &mut Text, analysis: &Analysis) {
    let tables = tables(analysis);
    if tables.is_empty() {
        return;
    }
    text.gap();
    text.rule();
    text.heading("The directories side by side");
    text.line(Paint::Dim, &lead(&analysis.plan));
    for table in &tables {
        text.gap();
        text.line(Paint::Strong, table.question);
        text.block(&laid_out(table, text.width()));
        if table.rows.len() > MOST {
            let left = table.rows.len() - MOST;
            let variants = plural(left, "more variant is", "more variants are");
            text.item(Paint::Plain, "·", &format!("{variants} in the page"));
        }
    }
}

fn laid_out(directories: &Directories<'_>, width: usize) -> String {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─');
    table
        .load_style(TableStyle::new().header_separator(line))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let heading = [Cell::new(&directories.heading)];
    let columns = directories.columns.iter().map(|column| {
        let file_system = column.file_system.as_deref().unwrap_or_default();
        right(&format!("{}\n{file_system}", column.path))
    });
    table.set_header(heading.into_iter().chain(columns));
    for row in directories.rows.iter().take(MOST) {
        table.add_row(cells(row));
    }
    let whole = [Cell::new("all variants, to the first")];
    let ratios = directories.columns.iter();
    table.add_row(
        whole
            .into_iter()
            .chain(ratios.map(|column| right(&column.to_first))),
    );
    let last = directories.columns.len();
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { 2 }));
    }
    table.to_string()
}

fn cells(row: &Row) -> Vec<Cell> {
    let figures = row.cells.iter().map(|cell| {
        let ratio = cell.ratio.as_deref().unwrap_or_default();
        right(format!("{} {} {ratio}", cell.figure, cell.standing.sign()).trim_end())
    });
    [Cell::new(&row.name)].into_iter().chain(figures).collect()
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
