//! Tables in Markdown.

use lab::text::one_line;

use super::Markdown;
use super::marks::fenced_as;
use crate::document::{Cell, Column, Row, Table};
use crate::render::rows::with_text;

/// Spaces between the columns of a table of data.
const GAP: usize = 2;

impl Markdown {
    /// Adds a table; one of data stands in a fence with its columns one below the other.
    pub(super) fn table(&mut self, table: &Table) {
        if table.data {
            return self.part(fenced_as("text", &aligned(table)));
        }
        let columns = with_text(table);
        let headings: Vec<String> =
            columns.iter().map(|column| self.heading(&table.columns[*column])).collect();
        let rule =
            columns.iter().map(|column| if table.columns[*column].right { "--:" } else { "---" });
        let rule: Vec<&str> = rule.collect();
        let mut lines =
            vec![format!("| {} |", headings.join(" | ")), format!("|{}|", rule.join("|"))];
        let rows = table.rows.iter().chain(&table.foot);
        lines.extend(rows.map(|row| self.row(row, &columns)));
        self.part(lines.join("\n"));
    }

    fn heading(&mut self, column: &Column) -> String {
        let heading = self.dressed(&column.heading);
        match &column.below {
            Some(below) => format!("{heading} {}", super::escaped(below)),
            None => heading,
        }
    }

    fn row(&mut self, row: &Row, columns: &[usize]) -> String {
        let cells = columns.iter().map(|column| row.cells.get(*column));
        let cells = cells.map(|one| one.map_or(String::new(), |cell| self.cell(cell)));
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    }

    fn cell(&mut self, cell: &Cell) -> String {
        let text = self.dressed(&cell.text);
        let text = if cell.strong && !text.is_empty() { format!("**{text}**") } else { text };
        let sign = cell.sign.map_or(String::new(), |sign| format!("{sign} "));
        let below = cell.below.iter().map(|below| format!("<br>{}", self.dressed(below)));
        let below: String = below.collect();
        format!("{sign}{text}{below}").trim_end().to_owned()
    }
}

fn aligned(table: &Table) -> String {
    let headings = table.columns.iter().map(|column| column.heading.plain()).collect();
    let cells = |row: &Row| row.cells.iter().map(|cell| cell.text.plain()).collect();
    let rows = table.rows.iter().map(cells);
    let lines: Vec<Vec<String>> = [headings].into_iter().chain(rows).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0) + GAP
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let line = |cells: &Vec<String>| {
        let cells = cells.iter().zip(widths.iter().chain(std::iter::repeat(&GAP)));
        let cells = cells.map(|(cell, width)| format!("{:width$}", one_line(cell)));
        cells.collect::<String>().trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}
