//! Charts on the page.
//!
//! The drawing is our own because no light crate draws SVG that follows the style sheet of its page
//! (light, dark, print) and stays legible on a narrow screen: a picture scaled to 400 pixels has
//! text of five. Here nothing is scaled: marks and labels stand at percentages of the width there is, and
//! attributes of SVG say where, so that the page needs no inline style.

mod axis;
pub(super) mod bands;
pub(super) mod course;
pub(super) mod curve;
pub(super) mod forest;
pub(super) mod map;
pub(super) mod strip;

use std::fmt;

use crate::document::{Bar, Chart, Count, Mark, Plot, Tone};
use axis::{Axis, Tick};

/// A place along an axis, 0 to 100, as SVG takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}%", self.0)
    }
}

impl Percent {
    /// The same from the other end.
    pub(crate) fn flipped(self) -> Percent {
        Percent(100.0 - self.0)
    }
}

/// Returns what a reader must know of a chart, such as that an axis is logarithmic.
pub(super) fn remarks(chart: &Chart) -> Vec<String> {
    let of_axis = match &chart.plot {
        Plot::Forest(it) => forest::axis(it).and_then(|axis| axis.remark()).map(str::to_owned),
        Plot::Bands(it) => bands::axis(it).and_then(|axis| axis.remark()).map(str::to_owned),
        Plot::Curve(it) => curve::remark(it),
        Plot::Course(it) => course::remark(it),
        Plot::Map(_) | Plot::Bars(_) => None,
    };
    of_axis.into_iter().chain(chart.remark.clone()).collect()
}

/// The tones of counts, and where the part of each begins and how wide it is.
pub(super) fn shares(counts: &[Count]) -> Vec<(Tone, Percent, Percent)> {
    let all: usize = counts.iter().map(|count| count.count).sum();
    let mut from = 0.0;
    let share = |count: &Count| {
        let percent = 100.0 * count.count as f64 / all.max(1) as f64;
        from += percent;
        (count.tone, Percent(from - percent), Percent(percent))
    };
    counts.iter().map(share).collect()
}

/// The width of a bar.
pub(super) fn width(bar: &Bar) -> Percent {
    Percent(100.0 * bar.share.min(1.0))
}

impl Mark {
    /// A dot of this form and a size.
    pub(super) fn drawn(
        self,
        x: impl fmt::Display,
        y: impl fmt::Display,
        radius: f64,
        class: &str,
    ) -> String {
        let path = match self {
            Mark::Circle => {
                return format!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{radius}"/>"#);
            }
            Mark::Diamond => format!("M0-{0} {0} 0 0 {0}-{0} 0z", radius + 2.0),
            Mark::Square => format!("M-{radius}-{radius}h{0}v{0}h-{0}z", 2.0 * radius),
        };
        let path = format!(r#"<path class="{class}" d="{path}"/>"#);
        format!(r#"<svg x="{x}" y="{y}" overflow="visible">{path}</svg>"#)
    }
}
