//! Dots in bands, some of them joined by a line.
//!
//! Bands, the form of the dots and their names carry everything; colour only repeats it.

use super::{Axis, Percent};
use crate::document::{Band, BandDot, Bands, Tone};

/// Dots nearer to each other than this, in parts of a hundred of the width, stand on lanes of
/// their own.
const NEAR: f64 = 2.4;
/// Lanes of a band, from its middle outwards in turn; further dots share the middle one.
const LANES: [f64; 5] = [0.0, -1.0, 1.0, -2.0, 2.0];
/// Distance of lanes, as a part of the height of a band.
const LANE: f64 = 0.16;

/// A dot and where it stands.
type Placed<'a> = (&'a BandDot, Percent, Percent);

/// The upper edge of a band, its tone and its dots.
type PlacedBand<'a> = (Percent, Tone, Vec<Placed<'a>>);

/// Returns the axis; none without a dot.
pub(crate) fn axis(bands: &Bands) -> Option<Axis> {
    let dots = bands.bands.iter().flat_map(|band| &band.dots);
    Axis::over(dots.map(|dot| dot.value))
}

/// The upper edges of the bands, their tones and their dots.
pub(crate) fn placed<'b>(bands: &'b Bands, axis: &Axis) -> Vec<PlacedBand<'b>> {
    let height = 100.0 / bands.bands.len() as f64;
    let all = bands.bands.iter().enumerate().map(|(index, band)| {
        let top = index as f64 * height;
        (Percent(top), band.tone, dots(band, axis, top, height))
    });
    all.collect()
}

fn dots<'a>(band: &'a Band, axis: &Axis, top: f64, height: f64) -> Vec<Placed<'a>> {
    let mut order: Vec<&BandDot> = band.dots.iter().collect();
    // Joined dots keep the middle of their band, because the line goes through it.
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

/// The ends of a line across and down.
type Step = ([Percent; 2], [Percent; 2]);

/// Steps from the first of the joined dots to the last: down to the next band, then along it.
pub(crate) fn steps(placed: &[PlacedBand<'_>]) -> Vec<Step> {
    let joined = placed.iter().flat_map(|(.., dots)| dots).filter(|(dot, ..)| dot.joined);
    let places: Vec<(Percent, Percent)> = joined.map(|(_, x, y)| (*x, *y)).collect();
    let pairs = places.windows(2).flat_map(|pair| {
        let [(from_x, from_y), (x, y)] = [pair[0], pair[1]];
        [([from_x; 2], [from_y, y]), ([from_x, x], [y; 2])]
    });
    pairs.collect()
}
