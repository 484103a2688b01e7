//! `pragmark load --dry-run`: what a load would do.

use std::fmt::Write;

use app::Result;
use app::load::LoadRequest;
use engine::Value;
use load::{Outline, OutlinedColumn};

use crate::exit::Exit;
use crate::output;

/// Characters of a value that are displayed.
const WIDEST: usize = 40;

/// Displays what a load would do.
pub fn execute(request: &LoadRequest) -> Result<Exit> {
    output::write_text(None, &text(&request.open()?.outline()?))
}

fn text(outline: &Outline) -> String {
    let mut text = "dry run: nothing is written\n\n".to_owned();
    for sql in &outline.sql {
        let _ = writeln!(text, "{sql};");
    }
    text += &columns(&outline.columns);
    text += &match &outline.why_arrays {
        None => "\nstrategy: pages, unless a row does not allow it\n".to_owned(),
        Some(why) => format!("\nstrategy: arrays ({why})\n"),
    };
    text += &outline.notes.iter().map(|note| format!("{note}\n")).collect::<String>();
    let names = outline.columns.iter().map(|column| column.name.clone());
    let values = outline.rows.iter().map(|row| row.iter().map(value).collect());
    let rows = std::iter::once(names.collect()).chain(values);
    text + "\nfirst rows:\n" + &table(&rows.collect::<Vec<_>>())
}

/// The types of the columns, with the values that decided them.
fn columns(columns: &[OutlinedColumn]) -> String {
    let heading = ["column", "type", "decided by"].map(str::to_owned);
    let row = |column: &OutlinedColumn| {
        let decided = column.decided.as_ref().map(|deciding| {
            let load::RowLocation { input, unit, number } = &deciding.row;
            let value = cut(&deciding.value);
            format!("{value} ({input}, {unit} {number})")
        });
        let declared = match column.declared.as_str() {
            "" => "none",
            declared => declared,
        };
        [column.name.clone(), declared.to_owned(), decided.unwrap_or_default()]
    };
    let rows = columns.iter().map(row);
    let rows = std::iter::once(heading).chain(rows).map(Vec::from);
    "\n".to_owned() + &table(&rows.collect::<Vec<_>>())
}

fn value(value: &Value) -> String {
    match value {
        Value::Blob(bytes) => format!("a blob of {} bytes", bytes.len()),
        value => cut(&value.to_string()),
    }
}

/// The beginning of a value, on one line.
fn cut(value: &str) -> String {
    let mut cut: String = value.escape_debug().take(WIDEST).collect();
    if value.escape_debug().count() > WIDEST {
        cut.push('…');
    }
    cut
}

/// Rows of the same length with their columns one below the other.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells.map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
