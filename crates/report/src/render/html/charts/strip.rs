//! A figure against what is allowed, in the height of a line.

use lab::stats::Interval;

use super::{Axis, Percent, dot, line};
use crate::document::{Mark, Strip};
use crate::render::html::blocks::tone_class;
use crate::render::html::markup::Html;

/// The strip.
pub(in crate::render::html) fn draw(html: &mut Html, strip: &Strip) {
    let Some(axis) = axis(strip) else { return };
    let place = |value: Option<f64>, open: f64| value.map_or(Percent(open), |value| axis.at(value));
    let (from, to) = (place(strip.allowed.0, 0.0), place(strip.allowed.1, 100.0));
    let class = format!("strip {}", tone_class(strip.tone));
    html.element("svg", &[("role", "img"), ("class", &class)], |html| {
        html.leaf("title", &[], &strip.words);
        let rail = [("x", "0"), ("y", "11"), ("width", "100%"), ("height", "2")];
        html.empty("rect", &[&[("class", "rail")][..], &rail].concat());
        let (x, width) = (from.text(), Percent(to.0 - from.0).text());
        let zone = [("class", "zone"), ("x", &*x), ("y", "3")];
        let size = [("width", &*width), ("height", "18")];
        html.empty("rect", &[&zone[..], &size].concat());
        if let Some(interval) = strip.interval {
            let span = axis.span(interval);
            let ends = [&*span.from.text(), &span.to.text()];
            line(html, "interval", ends, ["12", "12"]);
        }
        let at = axis.at(strip.dot).text();
        dot(html, (&at, "12"), Mark::Circle, 4.5, "dot");
        if let Some(other) = strip.other {
            let at = axis.at(other).text();
            dot(html, (&at, "12"), Mark::Diamond, 4.0, "other");
        }
    });
}

fn axis(strip: &Strip) -> Option<Axis> {
    let interval = strip.interval.filter(Interval::is_bounded);
    let stated = [
        Some(strip.dot),
        strip.allowed.0,
        strip.allowed.1,
        strip.other,
        strip.none,
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
    ];
    Axis::over(stated.into_iter().flatten())
}
