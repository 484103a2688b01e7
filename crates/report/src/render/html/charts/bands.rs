//! Dots in bands, some of them joined by a line.
//!
//! Bands, the form of the dots and their names carry everything; colour only repeats it.

use super::{Axis, Percent, dot, gridline, line, tick_labels};
use crate::document::{Band, BandDot, Bands};
use crate::render::html::Writer;
use crate::render::html::blocks::tone_class;
use crate::render::html::markup::Html;

/// Dots nearer to each other than this, in parts of a hundred of the width, stand on lanes of
/// their own.
const NEAR: f64 = 2.4;
/// Lanes of a band, from its middle outwards in turn; further dots share the middle one.
const LANES: [f64; 5] = [0.0, -1.0, 1.0, -2.0, 2.0];
/// Distance of lanes, as a part of the height of a band.
const LANE: f64 = 0.16;

/// A dot and where it stands.
type Placed<'a> = (&'a BandDot, Percent, Percent);

/// Returns the axis; none without a dot.
pub(super) fn axis(bands: &Bands) -> Option<Axis> {
    let dots = bands.bands.iter().flat_map(|band| &band.dots);
    Axis::over(dots.map(|dot| dot.value))
}

impl Writer {
    /// The bands, and the line through the dots that are joined.
    pub(super) fn bands(&mut self, html: &mut Html, bands: &Bands) {
        let Some(axis) = axis(bands) else { return };
        let height = 100.0 / bands.bands.len() as f64;
        let top = |index: usize| index as f64 * height;
        let all = bands.bands.iter().enumerate();
        let placed: Vec<Vec<Placed<'_>>> =
            all.map(|(index, band)| placed(band, axis, top(index), height)).collect();
        let ticks = axis.ticks(&bands.metric);
        html.class("div", "plot", |html| {
            html.class("ol", "bands", |html| {
                bands.bands.iter().for_each(|band| self.band(html, band));
            });
            html.element("svg", &[("class", "area"), ("role", "img")], |html| {
                html.leaf("title", &[], "Dots in bands");
                ticks.iter().for_each(|tick| gridline(html, tick));
                for index in 0..bands.bands.len() {
                    let at = Percent(top(index)).text();
                    line(html, "edge", ["0", "100%"], [&at, &at]);
                }
                join(html, &placed);
                for (band, dots) in bands.bands.iter().zip(&placed) {
                    html.class("g", tone_class(band.tone), |html| {
                        dots.iter().for_each(|dot| draw(html, dot));
                    });
                }
            });
            tick_labels(html, &ticks);
        });
    }

    fn band(&mut self, html: &mut Html, band: &Band) {
        html.class("li", tone_class(band.tone), |html| {
            html.sign(&band.sign);
            html.element("span", &[], |html| {
                html.leaf("b", &[], &band.name);
                if !band.detail.is_empty() {
                    html.element("small", &[], |html| self.sentence(html, &band.detail));
                }
            });
        });
    }
}

fn placed<'a>(band: &'a Band, axis: Axis, top: f64, height: f64) -> Vec<Placed<'a>> {
    // Joined dots keep the middle of their band, because the line goes through it.
    let mut order: Vec<&BandDot> = band.dots.iter().collect();
    order.sort_by(|one, other| {
        let by_value = one.value.total_cmp(&other.value);
        other.joined.cmp(&one.joined).then(by_value)
    });
    let mut lanes: [Vec<f64>; LANES.len()] = Default::default();
    let place = |dot: &'a BandDot| {
        let x = axis.at(dot.value);
        let is_free = |taken: &Vec<f64>| taken.iter().all(|other| (other - x.0).abs() >= NEAR);
        let lane = lanes.iter().position(is_free).unwrap_or(0);
        lanes[lane].push(x.0);
        (dot, x, Percent(top + height * (0.5 + LANE * LANES[lane])))
    };
    order.into_iter().map(place).collect()
}

/// Steps from the first of the joined dots to the last: down to the next band, then along it.
fn join(html: &mut Html, placed: &[Vec<Placed<'_>>]) {
    let joined = placed.iter().flatten().filter(|(dot, ..)| dot.joined);
    let mut last: Option<(Percent, Percent)> = None;
    for (_, x, y) in joined {
        if let Some((from_x, from_y)) = last {
            let (down, along) = (from_x.text(), y.text());
            line(html, "step", [&down, &down], [&from_y.text(), &along]);
            line(html, "step", [&down, &x.text()], [&along, &along]);
        }
        last = Some((*x, *y));
    }
}

fn draw(html: &mut Html, (it, x, y): &Placed<'_>) {
    let (class, radius) = if it.joined { ("dot", 6.0) } else { ("hollow", 4.5) };
    html.element("g", &[], |html| {
        html.leaf("title", &[], &it.words);
        dot(html, (&x.text(), &y.text()), it.mark, radius, class);
    });
}
