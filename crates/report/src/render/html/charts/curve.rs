//! Lines along a size.
//!
//! The lines are drawn in a box of 100 by 100 that is stretched to the room there is, with strokes
//! that are not stretched with it; dots, marks and text are placed by percentages next to it.

use super::labels::{self, Label};
use super::{Axis, Percent, Tick, axis, dot, line, tick_labels, upright};
use crate::document::{Bend, Curve, Line, Mark, Point};
use crate::figures;
use crate::render::html::markup::Html;

/// Classes of lines: their colours and dashes.
const CLASSES: [&str; 4] = ["s1", "s2", "s3", "s4"];

/// Room that the label of a bend needs, in parts of a hundred.
const NEAR: f64 = 14.0;

/// Both axes.
struct Axes {
    x: Axis,
    y: Axis,
}

impl Axes {
    fn over(curve: &Curve) -> Option<Axes> {
        let points = || curve.lines.iter().flat_map(|line| &line.points);
        let ends = points().flat_map(|point| [point.range.low, point.range.high]);
        Some(Axes {
            x: Axis::logarithmic_over(points().map(|point| point.x))?,
            y: Axis::over(ends)?,
        })
    }

    fn at(&self, (x, y): (f64, f64)) -> (Percent, Percent) {
        (self.x.at(x), self.y.at(y).flipped())
    }

    fn course(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let pairs = points.map(|point| {
            let (x, y) = self.at(point);
            format!("{:.2},{:.2}", x.0, y.0)
        });
        pairs.collect::<Vec<_>>().join(" ")
    }
}

/// What a reader must know of the axes.
pub(super) fn remark(curve: &Curve) -> Option<String> {
    let axes = Axes::over(curve)?;
    Some(match (axes.y.is_log(), axes.y.is_cut()) {
        (true, _) => "both scales are logarithmic".to_owned(),
        (_, true) => "logarithmic across; the vertical scale does not begin at zero".to_owned(),
        _ => "logarithmic across".to_owned(),
    })
}

/// The chart.
pub(super) fn draw(html: &mut Html, curve: &Curve) {
    let Some(axes) = Axes::over(curve) else {
        return;
    };
    let up: Vec<Tick> = axes.y.ticks(&curve.metric);
    html.class("div", "plot", |html| {
        up_labels(html, &up);
        html.element("svg", &[("class", "area"), ("role", "img")], |html| {
            let title = format!("A line chart along {}", curve.factor);
            html.leaf("title", &[], &title);
            for tick in &up {
                let at = tick.at.flipped().text();
                line(html, "grid", ["0", "100%"], [&at, &at]);
            }
            for (it, class) in curve.lines.iter().zip(CLASSES) {
                html.class("g", class, |html| draw_line(html, &axes, it));
            }
            bend_labels(html, &axes, curve);
        });
        end_labels(html, &axes, curve);
        tick_labels(html, &across(&axes, curve));
        html.class("div", "factor", |html| html.leaf("code", &[], &curve.factor));
    });
}

pub(super) fn up_labels(html: &mut Html, ticks: &[Tick]) {
    html.drawing("up", |html| {
        for tick in ticks {
            let at = tick.at.flipped().text();
            let place = [("x", "100%"), ("y", &at)];
            let aligned = [("dy", ".32em"), ("text-anchor", "end")];
            html.leaf("text", &[place, aligned].concat(), &tick.label);
        }
    });
}

fn draw_line(html: &mut Html, axes: &Axes, it: &Line) {
    if let Some(bend) = &it.bend {
        upright(html, "knee", axes.at(bend.at).0);
    }
    let stretched = [
        ("viewBox", "0 0 100 100"),
        ("preserveAspectRatio", "none"),
        ("width", "100%"),
        ("height", "100%"),
    ];
    html.element("svg", &stretched, |html| {
        let course = axes.course(it.points.iter().map(|point| (point.x, point.y)));
        html.empty("polyline", &[("class", "line"), ("points", &course)]);
        if let Some(bend) = &it.bend {
            let course = axes.course(bend.course.iter().copied());
            html.empty("polyline", &[("class", "model"), ("points", &course)]);
        }
    });
    let points = it.points.iter();
    points.for_each(|point| draw_point(html, axes, point));
    if let Some(bend) = &it.bend {
        let (x, y) = axes.at(bend.at);
        dot(html, (&x.text(), &y.text()), Mark::Diamond, 4.0, "hollow");
    }
}

fn draw_point(html: &mut Html, axes: &Axes, point: &Point) {
    let (x, y) = axes.at((point.x, point.y));
    let end = |value: f64| axes.y.at(value).flipped().text();
    let x = x.text();
    html.element("g", &[], |html| {
        html.leaf("title", &[], &point.words);
        let ends = [&*end(point.range.low), &end(point.range.high)];
        line(html, "range", [&x, &x], ends);
        dot(html, (&x, &y.text()), Mark::Circle, 4.5, "dot");
    });
}

/// What stands above bends; where two are near, only the first, as the sentences below name both.
fn bend_labels(html: &mut Html, axes: &Axes, curve: &Curve) {
    let mut placed: Vec<f64> = Vec::new();
    for (it, class) in curve.lines.iter().zip(CLASSES) {
        let Some(Bend { at, label, .. }) = &it.bend else {
            continue;
        };
        let x = axes.x.at(at.0);
        if placed.iter().any(|other| (other - x.0).abs() < NEAR) {
            continue;
        }
        placed.push(x.0);
        let (class, x) = (format!("bend {class}"), x.text());
        let middle = [("class", class.as_str()), ("text-anchor", "middle")];
        let attributes = [middle, [("x", &x), ("y", "-0.5em")]].concat();
        html.leaf("text", &attributes, &format!("◇ {label}"));
    }
}

/// Names of lines at their right ends, as near as they can be without overlapping.
fn end_labels(html: &mut Html, axes: &Axes, curve: &Curve) {
    let end = |line: &Line| line.points.last().map(|point| axes.at((point.x, point.y)).1);
    let lines = curve.lines.iter();
    let mut ends: Vec<Label> =
        lines.map(|line| Label::new(&line.label, end(line).unwrap_or(Percent(0.0)))).collect();
    labels::spread(ends.iter_mut().collect());
    html.element("svg", &[("class", "ends")], |html| {
        for (label, class) in ends.iter().zip(CLASSES) {
            for (text, at) in label.lines() {
                let middle = ("dy", ".32em");
                super::label(html, class, ["0", &at.text()], middle, text);
            }
        }
    });
}

/// Marks at the levels that were measured, as far as there is room.
fn across(axes: &Axes, curve: &Curve) -> Vec<Tick> {
    let points = curve.lines.iter().flat_map(|line| &line.points);
    let mut levels: Vec<f64> = points.map(|point| point.x).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let tick =
        |level: f64| Tick { at: axes.x.at(level), label: figures::level(level), minor: false };
    axis::spaced(levels.into_iter().map(tick).collect())
}
