//! A table whose cells have a colour.
//!
//! Each cell shows its figure; the colour only repeats it in five steps to either side, so that
//! the map can be read without it.

use crate::document::{Map, MapCell, MapRow, Tone};
use crate::render::html::markup::{Attributes, Html};

/// The map, and why cells have no figure.
pub(super) fn draw(html: &mut Html, map: &Map) {
    let names =
        [&map.row_factor, &map.column_factor].map(|factor| factor.as_deref().unwrap_or("pairs"));
    let label = format!("Map of {}", names.join(" and "));
    html.scrolling(&label, |html| {
        html.element("table", &[], |html| {
            html.element("thead", &[], |html| head(html, map));
            html.element("tbody", &[], |html| map.rows.iter().for_each(|one| row(html, one)));
        });
    });
    if !map.reasons.is_empty() {
        html.class("ol", "reasons", |html| {
            map.reasons.iter().for_each(|reason| html.leaf("li", &[], reason));
        });
    }
}

fn head(html: &mut Html, map: &Map) {
    if let Some(factor) = &map.column_factor {
        html.element("tr", &[], |html| {
            html.empty_cell();
            let columns = map.columns.len().to_string();
            let scope = [("scope", "colgroup"), ("colspan", &columns)];
            html.heading(&[&scope[..], &[("class", "factor")]].concat(), factor);
        });
    }
    html.element("tr", &[], |html| {
        match &map.row_factor {
            Some(factor) => html.heading(&[("scope", "col"), ("class", "factor rows")], factor),
            None => html.empty_cell(),
        }
        map.columns.iter().for_each(|column| html.heading(&[("scope", "col")], column));
    });
}

fn row(html: &mut Html, row: &MapRow) {
    html.element("tr", &[], |html| {
        html.heading(&[("scope", "row")], &row.name);
        row.cells.iter().for_each(|one| cell(html, one));
    });
}

fn cell(html: &mut Html, cell: &MapCell) {
    html.class("td", shade(cell), |html| {
        html.element("b", &[], |html| {
            html.text(&cell.text);
            if let Some(number) = cell.reason {
                html.leaf("sup", &[], &number.to_string());
            }
        });
        if !cell.below.is_empty() {
            html.text(" ");
            html.leaf("span", &[], &cell.below);
        }
    });
}

/// Five steps to either side: up to 1.25, 2, 4, 10 times, and beyond.
fn shade(cell: &MapCell) -> &'static str {
    const STEPS: [f64; 4] = [1.25, 2.0, 4.0, 10.0];
    const BETTER: [&str; 5] = ["heat-b1", "heat-b2", "heat-b3", "heat-b4", "heat-b5"];
    const WORSE: [&str; 5] = ["heat-w1", "heat-w2", "heat-w3", "heat-w4", "heat-w5"];
    let step = STEPS.iter().filter(|step| cell.times >= **step).count();
    match cell.tone {
        Tone::Better => BETTER[step],
        Tone::Worse => WORSE[step],
        Tone::Baseline => "heat-baseline",
        Tone::Missing => "heat-none",
        Tone::Plain => "heat-base",
        _ => "heat-same",
    }
}

impl Html {
    fn heading(&mut self, attributes: Attributes<'_>, name: &str) {
        self.element("th", attributes, |html| html.leaf("code", &[], name));
    }

    fn empty_cell(&mut self) {
        self.element("td", &[], |_| {});
    }
}
