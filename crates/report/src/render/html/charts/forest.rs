//! Rows of dots with intervals on one axis, with their texts.

use super::{Axis, Percent, dot, gridline, line, tick_labels, upright};
use crate::document::{Forest, ForestRow, Marks, Scale};
use crate::render::html::Writer;
use crate::render::html::blocks::tone_class;
use crate::render::html::markup::Html;

/// The middle of a row.
const MIDDLE: [&str; 2] = ["50%", "50%"];

/// Returns the axis of a chart; none without a measurement.
pub(super) fn axis(forest: &Forest) -> Option<Axis> {
    let of_rows = values(&forest.rows);
    match forest.scale {
        // Room around 1, so that nothing looks like much where nothing is.
        Scale::Ratio if of_rows.is_empty() => None,
        Scale::Ratio => {
            let above = of_rows.into_iter().filter(|value| *value > 0.0);
            Axis::logarithmic_over(above.chain([0.9, 1.1]))
        }
        Scale::Metric(_) => Axis::over_with(&of_rows, &values(&forest.bounds)),
    }
}

fn values(rows: &[ForestRow]) -> Vec<f64> {
    let marks = rows.iter().filter_map(|row| row.marks.as_ref());
    let values = marks.flat_map(|marks| {
        let interval = marks.interval.filter(|interval| interval.is_bounded());
        let interval = interval.into_iter().flat_map(|interval| [interval.low, interval.high]);
        [marks.dot, marks.range.low, marks.range.high].into_iter().chain(interval)
    });
    values.collect()
}

impl Writer {
    /// The rows, the bounds below them, and the axis.
    pub(super) fn forest(&mut self, html: &mut Html, forest: &Forest, id: &str) {
        let axis = axis(forest);
        let grid = format!("{id}-grid");
        html.class("div", "plot", |html| {
            html.class("div", "heads", |html| {
                for column in &forest.columns {
                    html.leaf("span", &[], column);
                }
            });
            html.element("ol", &[], |html| {
                for row in &forest.rows {
                    self.forest_row(html, row, axis, &grid, "data-row");
                }
            });
            if !forest.bounds.is_empty() {
                let label = "Upper bounds: neither ranked nor compared";
                let attributes = [("class", "bounds"), ("aria-label", label)];
                html.element("ol", &attributes, |html| {
                    for row in &forest.bounds {
                        self.forest_row(html, row, axis, &grid, "data-bound");
                    }
                });
            }
            if let Some(axis) = axis {
                draw_axis(html, forest, axis, &grid);
            }
        });
    }

    fn forest_row(
        &mut self,
        html: &mut Html,
        row: &ForestRow,
        axis: Option<Axis>,
        grid: &str,
        data: &'static str,
    ) {
        let attributes = [("class", tone_class(row.tone)), (data, row.id.as_str())];
        html.element("li", &attributes, |html| {
            html.class("span", "name", |html| {
                html.sign(row.sign);
                html.element("span", &[], |html| {
                    self.sentence(html, &row.name);
                    if !row.detail.is_empty() {
                        html.element("small", &[], |html| self.sentence(html, &row.detail));
                    }
                });
            });
            match axis.zip(row.marks) {
                Some((axis, marks)) => {
                    html.class("div", "track", |html| track(html, row, axis, marks, grid));
                    for cell in &row.cells {
                        html.leaf("span", &[("class", "num")], cell);
                    }
                }
                None => {
                    let reason = row.reason.as_deref().unwrap_or_default();
                    html.leaf("span", &[("class", "reason")], reason);
                }
            }
        });
    }
}

fn track(html: &mut Html, row: &ForestRow, axis: Axis, marks: Marks, grid: &str) {
    html.element("svg", &[("role", "img")], |html| {
        html.leaf("title", &[], &row.words);
        html.empty("use", &[("href", &format!("#{grid}"))]);
        let mut stretch = |class, interval| {
            let span = axis.span(interval);
            line(html, class, [&span.from.text(), &span.to.text()], MIDDLE);
        };
        stretch("range", marks.range);
        if let Some(interval) = marks.interval {
            stretch("interval", interval);
        }
        let at = axis.at(marks.dot).text();
        let class = match marks.mark {
            crate::document::Mark::Square => "hollow",
            _ => "dot",
        };
        dot(html, (&at, "50%"), marks.mark, 5.0, class);
    });
}

fn draw_axis(html: &mut Html, forest: &Forest, axis: Axis, grid: &str) {
    let ticks = axis.ticks_of(&forest.scale);
    let baseline: Option<Percent> = forest.baseline.map(|value| axis.at(value));
    html.class("div", "axis", |html| {
        html.drawing("rule", |html| {
            html.element("g", &[("id", grid)], |html| {
                ticks.iter().for_each(|tick| gridline(html, tick));
                if let Some(at) = baseline {
                    upright(html, "zero", at);
                }
            });
        });
        tick_labels(html, &ticks);
    });
}
