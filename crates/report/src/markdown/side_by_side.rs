//! Experiments on several directories in Markdown.

use lab::analysis::Analysis;

use super::marks::{code, escaped};
use crate::side_by_side::{Cell, Directories, lead, tables};

/// Adds a table for each experiment that was done on several directories.
pub(super) fn add(text: &mut String, analysis: &Analysis) {
    let tables = tables(analysis);
    if tables.is_empty() {
        return;
    }
    let lead = lead(&analysis.plan);
    text.push_str(&format!("\n## The directories side by side\n\n{lead}\n"));
    for table in &tables {
        text.push_str(&format!("\n### {}\n\n", escaped(table.question)));
        add_table(text, table);
    }
}

fn add_table(text: &mut String, table: &Directories<'_>) {
    let mut line = |cells: Vec<String>| text.push_str(&format!("| {} |\n", cells.join(" | ")));
    let after = |first: &str, rest: Vec<String>| -> Vec<String> {
        [first.to_owned()].into_iter().chain(rest).collect()
    };
    let columns = table.columns.iter();
    let headings = columns.clone().map(|column| {
        let file_system = column.file_system.as_deref().map(escaped);
        format!("{} {}", code(&column.path), file_system.unwrap_or_default())
    });
    line(after(&escaped(&table.heading), headings.collect()));
    line(after(
        "---",
        columns.clone().map(|_| "--:".to_owned()).collect(),
    ));
    for row in &table.rows {
        line(after(
            &code(&row.name),
            row.cells.iter().map(cell).collect(),
        ));
    }
    line(after(
        "*all variants, to the first*",
        columns.map(|column| escaped(&column.to_first)).collect(),
    ));
}

fn cell(cell: &Cell) -> String {
    let figure = match cell.best {
        true => format!("**{}**", escaped(&cell.figure)),
        false => escaped(&cell.figure),
    };
    let ratio = escaped(cell.ratio.as_deref().unwrap_or_default());
    let standing = cell.standing.sign();
    format!("{figure} {standing} {ratio}").trim_end().to_owned()
}
