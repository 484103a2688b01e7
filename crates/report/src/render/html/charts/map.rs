//! A table whose cells have a colour.
//!
//! Each cell shows its figure; the colour only repeats it in five steps to either side, so that
//! the map can be read without it.

use crate::document::{Map, MapCell, Tone};

/// The names of both factors.
pub(crate) fn factors(map: &Map) -> String {
    let factors = [&map.row_factor, &map.column_factor];
    factors.map(|factor| factor.as_deref().unwrap_or("pairs")).join(" and ")
}

/// Five steps to either side: up to 1.25, 2, 4, 10 times, and beyond.
pub(crate) fn shade(cell: &MapCell) -> &'static str {
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
