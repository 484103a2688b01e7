//! Tables on the page.

use super::Writer;
use super::blocks::tone_class;
use super::charts::strip;
use super::markup::Html;
use crate::document::{Cell, Column, Piece, Row, Table, Tone};

impl Writer {
    /// A table that scrolls by itself where it is too wide.
    pub(super) fn table(&mut self, html: &mut Html, table: &Table) {
        html.scrolling(&table.label, |html| {
            let kinds =
                [(table.dense, " dense"), (table.sortable, " sortable"), (table.data, " data")];
            let kinds = kinds.map(|(is_so, class)| if is_so { class } else { "" });
            let class = format!("figures{}", kinds.concat());
            html.class("table", &class, |html| {
                html.element("thead", &[], |html| {
                    html.element("tr", &[], |html| {
                        table.columns.iter().for_each(|column| self.column(html, column));
                    });
                });
                html.element("tbody", &[], |html| {
                    table.rows.iter().for_each(|row| self.row(html, table, row));
                });
                if !table.foot.is_empty() {
                    html.class("tbody", "foot", |html| {
                        table.foot.iter().for_each(|foot| self.row(html, table, foot));
                    });
                }
            });
        });
    }

    fn column(&mut self, html: &mut Html, column: &Column) {
        let mut attributes = vec![("scope", "col")];
        attributes.extend(column.right.then_some(("class", "r")));
        attributes.extend(column.about.as_deref().map(|about| ("title", about)));
        html.element("th", &attributes, |html| {
            self.sentence(html, &column.heading);
            if let Some(below) = &column.below {
                html.leaf("span", &[("class", "below")], below);
            }
        });
    }

    fn row(&mut self, html: &mut Html, table: &Table, row: &Row) {
        let anchor = row.anchor.as_deref().map(|anchor| ("id", anchor));
        html.element("tr", anchor.as_slice(), |html| {
            let missing = Cell::default();
            for (index, column) in table.columns.iter().enumerate() {
                let cell = row.cells.get(index).unwrap_or(&missing);
                let is_heading = index == 0 && !table.data;
                self.cell(html, cell, column, is_heading);
            }
        });
        html.line();
    }

    fn cell(&mut self, html: &mut Html, cell: &Cell, column: &Column, is_heading: bool) {
        let tone = (cell.tone != Tone::Plain).then(|| tone_class(cell.tone));
        let kinds = [tone, column.right.then_some("r"), column.prose.then_some("prose")];
        let class = kinds.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let value = cell.value.map(|value| value.to_string());
        let mut attributes = Vec::new();
        attributes.extend((!class.is_empty()).then_some(("class", class.as_str())));
        attributes.extend(value.as_deref().map(|value| ("data-v", value)));
        attributes.extend(cell.title.as_deref().map(|title| ("title", title)));
        let name = if is_heading {
            attributes.push(("scope", "row"));
            "th"
        } else {
            "td"
        };
        html.element(name, &attributes, |html| self.cell_content(html, cell));
    }

    fn cell_content(&mut self, html: &mut Html, cell: &Cell) {
        if let Some(sign) = cell.sign {
            html.leaf("span", &[("class", "sign")], sign);
        }
        match (cell.strong, &cell.text.0[..]) {
            (true, _) => html.element("b", &[], |html| self.sentence(html, &cell.text)),
            // Cells stay on one line anyway.
            (false, [Piece::Number(text)]) => html.text(text),
            (false, _) => self.sentence(html, &cell.text),
        }
        for below in &cell.below {
            html.class("span", "below", |html| self.sentence(html, below));
        }
        if let Some(it) = &cell.strip {
            strip::draw(html, it);
        }
    }
}
