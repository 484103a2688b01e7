//! A figure over many runs.
//!
//! A run has no element of its own: all dots are one path, and all intervals are another, so that a thousand runs need
//! thirty bytes each.

use std::fmt::Write as _;

use super::axis::{self, Axis};
use super::{Percent, Tick, grid, stretched, tick_labels, up_labels, upright};
use crate::document::Course;
use crate::render::html::markup::Html;

/// The most changes of circumstances that say what changed.
const SAID: usize = 60;

/// Returns what a reader must know of the axis.
pub(super) fn remark(course: &Course) -> Option<String> {
    let axis = axis(course)?;
    Some(match (axis.is_log(), axis.is_cut()) {
        (true, _) => "logarithmic".to_owned(),
        (_, true) => "the scale does not begin at zero".to_owned(),
        _ => return None,
    })
}

fn axis(course: &Course) -> Option<Axis> {
    Axis::over(course.points.iter().flat_map(|end| [end.interval.low, end.y, end.interval.high]))
}

/// Where a run stands.
fn across(course: &Course, run: f64) -> Percent {
    Percent(100.0 * (run + 0.5) / course.runs.max(1) as f64)
}

/// The chart.
pub(super) fn draw(html: &mut Html, course: &Course) {
    let Some(axis) = axis(course) else { return };
    let up = axis.ticks_of(&course.scale);
    html.class("div", "plot", |html| {
        up_labels(html, &up);
        html.element("svg", &[("class", "area"), ("role", "img")], |html| {
            html.leaf("title", &[], &course.words);
            grid(html, &up);
            marks(html, course);
            for change in &course.changes {
                upright(html, "change", across(course, *change));
            }
            figures(html, &axis, course);
        });
        tick_labels(html, &days(course));
    });
}

/// Where the circumstances changed.
fn marks(html: &mut Html, course: &Course) {
    let is_said = course.marks.len() <= SAID;
    for mark in &course.marks {
        html.element("g", &[], |html| {
            if is_said {
                html.leaf("title", &[], &mark.words);
            }
            upright(html, "around", across(course, mark.at));
        });
    }
}

fn figures(html: &mut Html, axis: &Axis, course: &Course) {
    let (mut ranges, mut dots, mut levels) = (String::new(), String::new(), String::new());
    let height = |value: f64| axis.at(value).flipped().0;
    for point in &course.points {
        let x = across(course, point.run as f64).0;
        let (low, high) = (height(point.interval.low), height(point.interval.high));
        let _ = write!(ranges, "M{x:.2} {low:.1}V{high:.1}");
        let _ = write!(dots, "M{x:.2} {:.1}h0", height(point.y));
    }
    for level in &course.levels {
        let [from, to] = [level.from, level.to].map(|run| across(course, run as f64).0);
        let _ = write!(levels, "M{from:.2} {:.1}H{to:.2}", height(level.y));
    }
    stretched(html, |html| {
        for (class, path) in [("ranges", ranges), ("level", levels), ("dots", dots)] {
            html.empty("path", &[("class", class), ("d", &path)]);
        }
    });
}

/// The days of some runs.
fn days(course: &Course) -> Vec<Tick> {
    let ticks = course.days.iter().map(|(run, day)| Tick {
        at: across(course, *run as f64),
        label: day.clone(),
        minor: false,
    });
    axis::spaced(ticks.collect())
}
