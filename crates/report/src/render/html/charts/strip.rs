//! A figure against what is allowed, in the height of a line.

use lab::stats::Interval;

use super::{Axis, Percent};
use crate::document::Strip;

/// Where the zone of allowed figures begins, and how wide it is.
pub(crate) fn zone(strip: &Strip, axis: &Axis) -> (Percent, Percent) {
    let place = |value: Option<f64>, open: f64| value.map_or(Percent(open), |value| axis.at(value));
    let (from, to) = (place(strip.allowed.0, 0.0), place(strip.allowed.1, 100.0));
    (from, Percent(to.0 - from.0))
}

pub(crate) fn axis(strip: &Strip) -> Option<Axis> {
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
