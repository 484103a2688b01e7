//! A figure over many runs.
//!
//! A run has no element of its own: all dots are one path, and all intervals are another, so that a thousand runs need
//! thirty bytes each.

use std::fmt::Write as _;

use super::axis::{self, Axis};
use super::{Percent, Tick};
use crate::document::Course;

/// The most changes of circumstances that say what changed.
pub(crate) const SAID: usize = 60;

/// Returns what a reader must know of the axis.
pub(super) fn remark(course: &Course) -> Option<String> {
    let axis = axis(course)?;
    let words = if axis.is_log() { Some("logarithmic") } else { axis.remark() };
    words.map(str::to_owned)
}

pub(crate) fn axis(course: &Course) -> Option<Axis> {
    Axis::over(course.points.iter().flat_map(|end| [end.interval.low, end.y, end.interval.high]))
}

/// Where a run stands.
pub(crate) fn across(course: &Course, run: f64) -> Percent {
    Percent(100.0 * (run + 0.5) / course.runs.max(1) as f64)
}

/// The classes and paths of intervals, levels and dots.
pub(crate) fn paths(axis: &Axis, course: &Course) -> [(&'static str, String); 3] {
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
    [("ranges", ranges), ("level", levels), ("dots", dots)]
}

/// The days of some runs.
pub(crate) fn days(course: &Course) -> Vec<Tick> {
    let days = course.days.iter();
    let ticks = days.map(|(run, day)| Tick::new(across(course, *run as f64), day.clone()));
    axis::spaced(ticks.collect())
}
