//! Tables as wide as the window: columns that do not fit are left out, the last first, or continue below.

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width,
};

use lab::text::one_line;

use super::text::{Paint, Text};
use crate::document::{Cell, Piece, Row, Sentence, Table};
use crate::figures;
use crate::render::rows::{Line, abridged, with_text};

/// Between columns.
const GAP: usize = 2;

/// Adds a table, and what was left out of it. A dense table continues below instead, because its columns are
/// what it is about.
pub(super) fn add(text: &mut Text, table: &Table) {
    let all = with_text(table).into_iter();
    let brief: Vec<usize> = all.filter(|column| !table.columns[*column].full_only).collect();
    let mut parts = parts(table, &brief, text.width);
    let kept = if table.dense { parts.len() } else { 1 };
    let repeated = naming(table, &brief, text.width);
    let left_out: usize = parts.drain(kept..).map(|part| part.len() - repeated).sum();
    for columns in &parts {
        let widths: Vec<usize> =
            columns.iter().map(|column| least_width(table, *column, text.width)).collect();
        let laid_out = laid_out(table, columns, &widths, text.width);
        text.block(&laid_out.replace('\u{a0}', " "));
        for column in columns {
            text.note_terms(&table.columns[*column].heading);
        }
    }
    if left_out > 0 {
        let columns = if left_out == 1 { "column" } else { "columns" };
        let hint =
            format!("{left_out} more {columns} in a wider window, on the page and in Markdown");
        text.item(Paint::Dim, "·", &hint);
    }
}

/// The columns in groups that fit the width, each after the columns that name its rows and with one more at least.
fn parts(table: &Table, columns: &[usize], width: usize) -> Vec<Vec<usize>> {
    if columns.is_empty() {
        return vec![Vec::new()];
    }
    let (naming, others) = columns.split_at(naming(table, columns, width));
    let mut parts = vec![naming.to_vec()];
    let mut used = least_widths(table, naming, width);
    for column in others {
        let least = least_width(table, *column, width);
        let is_full =
            used + least > width && parts.last().is_some_and(|part| part.len() > naming.len());
        if is_full {
            parts.push(naming.to_vec());
            used = least_widths(table, naming, width);
        }
        used += least;
        if let Some(part) = parts.last_mut() {
            part.push(*column);
        }
    }
    parts
}

/// Returns how many of the first columns name the rows: columns of words before the first with figures, if they leave room
/// for it.
fn naming(table: &Table, columns: &[usize], width: usize) -> usize {
    let words = columns.iter().take_while(|column| !table.columns[**column].right);
    let most = words.count().min(columns.len().saturating_sub(1));
    let fits = |some: &usize| least_widths(table, &columns[..*some], width) <= width / 2;
    (1..=most).rev().find(fits).unwrap_or(1)
}

/// The [`least_width`] of all of them.
fn least_widths(table: &Table, columns: &[usize], width: usize) -> usize {
    columns.iter().map(|column| least_width(table, *column, width)).sum()
}

/// The longest word of a column, and the gap behind it; a name is broken where it is very long for the window.
fn least_width(table: &Table, column: usize, width: usize) -> usize {
    const LONGEST: usize = 30;
    let rows = table.rows.iter().chain(&table.foot);
    let cells = rows.filter_map(|row| row.cells.get(column)).map(content);
    let longest = cells
        .chain([kept_together(&table.columns[column].heading)])
        .map(|text| text.split([' ', '\n']).map(|word| word.chars().count()).max().unwrap_or(0));
    longest.max().unwrap_or(0).min(LONGEST.min(width * 2 / 5)) + GAP
}

/// The text of a cell; its figures stay on one line.
fn content(cell: &Cell) -> String {
    let text = kept_together(&cell.text);
    match cell.sign {
        Some(sign) => format!("{sign}\u{a0}{text}"),
        None => text,
    }
}

fn kept_together(sentence: &Sentence) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Figure(text) | Piece::Number(text) => text.replace(' ', "\u{a0}"),
        other => crate::document::plain(std::slice::from_ref(other)),
    };
    let text: String = sentence.0.iter().map(piece).collect();
    one_line(&text).into_owned()
}

fn laid_out(table: &Table, columns: &[usize], widths: &[usize], width: usize) -> String {
    let mut grid = comfy_table::Table::new();
    let line = LineStyle::none().fill('─');
    let align = |column: usize, text: String| {
        let cell = comfy_table::Cell::new(text);
        if table.columns[column].right { cell.set_alignment(CellAlignment::Right) } else { cell }
    };
    let heading = |column: &usize| {
        let Some(it) = table.columns.get(*column) else { return comfy_table::Cell::new("") };
        let below = it.below.as_deref().map(one_line);
        let below = below.map(|below| format!("\n{below}"));
        align(*column, format!("{}{}", kept_together(&it.heading), below.unwrap_or_default()))
    };
    grid.load_style(TableStyle::new().header_separator(line))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header(columns.iter().map(heading));
    let cells = |row: &Row| -> Vec<comfy_table::Cell> {
        let cell = |column: &usize| {
            let text = row.cells.get(*column).map(content);
            align(*column, text.unwrap_or_default())
        };
        columns.iter().map(cell).collect()
    };
    for line in abridged(table) {
        match line {
            Line::Row(row) => grid.add_row(cells(row)),
            Line::LeftOut(more) => {
                // A column of numbers has no room for words.
                let first = columns.iter().position(|column| !table.columns[*column].right);
                let mut cells = vec![String::new(); first.unwrap_or(0)];
                cells.push(format!("… {} more", figures::count(more)));
                grid.add_row(cells)
            }
        };
    }
    if !table.foot.is_empty() {
        grid.add_row([""]);
    }
    for row in &table.foot {
        grid.add_row(cells(row));
    }
    let least = widths.iter().map(|width| Width::Fixed(u16::try_from(*width).unwrap_or(u16::MAX)));
    grid.set_constraints(least.map(ColumnConstraint::LowerBoundary));
    for (index, column) in grid.column_iter_mut().enumerate() {
        let is_last = index + 1 == columns.len();
        column.set_padding((0, if is_last { 0 } else { GAP as u16 }));
    }
    grid.to_string()
}
