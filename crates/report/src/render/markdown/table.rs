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
            columns.iter().map(|it| self.heading(&table.columns[*it])).collect();
        let rule = columns.iter().map(|it| match table.columns[*it].right {
            true => "--:",
            false => "---",
        });
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
        let cells = columns.iter().map(|it| row.cells.get(*it));
        let cells = cells.map(|it| it.map_or(String::new(), |cell| self.cell(cell)));
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    }

    fn cell(&mut self, cell: &Cell) -> String {
        let text = self.dressed(&cell.text);
        let text = match cell.strong && !text.is_empty() {
            true => format!("**{text}**"),
            false => text,
        };
        let sign = cell.sign.map_or(String::new(), |sign| format!("{sign} "));
        let below = cell.below.iter().map(|it| format!("<br>{}", self.dressed(it)));
        let below: String = below.collect();
        format!("{sign}{text}{below}").trim_end().to_owned()
    }
}

fn aligned(table: &Table) -> String {
    let headings = table.columns.iter().map(|it| it.heading.plain()).collect();
    let cells = |row: &Row| row.cells.iter().map(|it| it.text.plain()).collect();
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
