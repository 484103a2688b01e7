//! Lines along a size.
//!
//! The lines are drawn in a box of 100 by 100 that is stretched to the room there is, with strokes
//! that are not stretched with it; dots, marks and text are placed by percentages next to it.

use super::{Axis, Percent, Tick, axis};
use crate::document::{Bend, Curve, Line, Point};
use crate::figures;

/// Classes of lines: their colours and dashes.
const CLASSES: [&str; 4] = ["s1", "s2", "s3", "s4"];
/// Room that the label of a bend needs, in parts of a hundred.
const NEAR: f64 = 14.0;

/// A text of a chart: its class, its place along one side, and itself.
type Text = (&'static str, Percent, String);

/// Returns what a reader must know of the axes.
pub(super) fn remark(curve: &Curve) -> Option<String> {
    let axes = Axes::over(curve)?;
    Some(match (axes.y.is_log(), axes.y.is_cut()) {
        (true, _) => "both scales are logarithmic".to_owned(),
        (_, true) => "logarithmic across; the vertical scale does not begin at zero".to_owned(),
        _ => "logarithmic across".to_owned(),
    })
}

/// The lines with their classes.
pub(crate) fn styled(lines: &[Line]) -> impl Iterator<Item = (&Line, &'static str)> {
    lines.iter().zip(CLASSES)
}

/// Both axes.
pub(crate) struct Axes {
    x: Axis,
    pub(crate) y: Axis,
}

impl Axes {
    pub(crate) fn over(curve: &Curve) -> Option<Axes> {
        let points = || curve.lines.iter().flat_map(|line| &line.points);
        let ends = points().flat_map(|point| [point.range.low, point.range.high]);
        Some(Axes {
            x: Axis::logarithmic_over(points().map(|point| point.x))?,
            y: Axis::over(ends)?,
        })
    }

    pub(crate) fn at(&self, (x, y): (f64, f64)) -> (Percent, Percent) {
        (self.x.at(x), self.y.at(y).flipped())
    }

    /// A course as a list of points.
    pub(crate) fn course(&self, points: &[(f64, f64)]) -> String {
        let pairs = points.iter().map(|point| {
            let (x, y) = self.at(*point);
            format!("{:.2},{:.2}", x.0, y.0)
        });
        pairs.collect::<Vec<_>>().join(" ")
    }

    /// The course through the points of a line.
    pub(crate) fn along(&self, points: &[Point]) -> String {
        self.course(&points.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>())
    }

    /// Where a point stands, and the ends of its range.
    pub(crate) fn positions(&self, point: &Point) -> [Percent; 4] {
        let [low, high] = [point.range.low, point.range.high].map(|end| self.y.at(end).flipped());
        let (x, y) = self.at((point.x, point.y));
        [x, y, low, high]
    }

    /// The labels above bends; of two that are near, only the first, as the sentences below name both.
    pub(crate) fn bend_labels(&self, curve: &Curve) -> Vec<Text> {
        let mut placed: Vec<Text> = Vec::new();
        for (line, class) in styled(&curve.lines) {
            let Some(Bend { at, label, .. }) = &line.bend else { continue };
            let x = self.x.at(at.0);
            if !placed.iter().any(|(_, other, _)| (other.0 - x.0).abs() < NEAR) {
                placed.push((class, x, label.clone()));
            }
        }
        placed
    }

    /// Names of lines at their right ends, as near as they can be without overlapping.
    pub(crate) fn end_labels(&self, curve: &Curve) -> Vec<Text> {
        let end = |line: &Line| line.points.last().map(|point| self.at((point.x, point.y)).1);
        let lines = curve.lines.iter();
        let mut ends: Vec<Label> =
            lines.map(|line| Label::new(&line.label, end(line).unwrap_or(Percent(0.0)))).collect();
        spread(ends.iter_mut().collect());
        let texts = ends.iter().zip(CLASSES).flat_map(|(label, class)| {
            label.lines().map(move |(text, at)| (class, at, text.to_owned()))
        });
        texts.collect()
    }

    /// Marks at the levels that were measured, as far as there is room.
    pub(crate) fn across(&self, curve: &Curve) -> Vec<Tick> {
        let points = curve.lines.iter().flat_map(|line| &line.points);
        let mut levels: Vec<f64> = points.map(|point| point.x).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let tick = |level: f64| Tick::new(self.x.at(level), figures::level(level));
        axis::spaced(levels.into_iter().map(tick).collect())
    }
}

/// Height of one line of text, as a part of a hundred of the chart's height (see `.plot` in the
/// style sheet).
const LINE: f64 = 7.5;
/// Characters that fit into one line of a label; a longer word is not broken.
const CHARACTERS: usize = 18;

/// A label and its place from above.
struct Label {
    lines: Vec<String>,
    /// Where its middle stands.
    at: Percent,
}

impl Label {
    /// A label for something that ends here.
    fn new(text: &str, at: Percent) -> Label {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let length = |text: &str| text.chars().count();
            match lines.last_mut() {
                Some(line) if length(line) + length(word) < CHARACTERS => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        Label { lines, at }
    }

    fn height(&self) -> f64 {
        self.lines.len().max(1) as f64 * LINE
    }

    /// Its lines and where the middle of each stands.
    fn lines(&self) -> impl Iterator<Item = (&str, Percent)> {
        let first = self.at.0 - (self.lines.len() as f64 - 1.0) * LINE / 2.0;
        let lines = self.lines.iter().enumerate();
        lines.map(move |(index, line)| (line.as_str(), Percent(first + index as f64 * LINE)))
    }
}

/// Moves labels apart: downwards from the highest, and up again where the room ends.
fn spread(mut labels: Vec<&mut Label>) {
    labels.sort_by(|one, other| one.at.0.total_cmp(&other.at.0));
    let mut free = f64::NEG_INFINITY;
    for label in &mut labels {
        let half = label.height() / 2.0;
        label.at.0 = label.at.0.max(free + half);
        free = label.at.0 + half;
    }
    let mut free = 100.0 + LINE / 2.0;
    for label in labels.iter_mut().rev() {
        let half = label.height() / 2.0;
        label.at.0 = label.at.0.min(free - half);
        free = label.at.0 - half;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_of(ends: &[(&str, f64)]) -> Vec<f64> {
        let mut labels: Vec<Label> =
            ends.iter().map(|(text, at)| Label::new(text, Percent(*at))).collect();
        spread(labels.iter_mut().collect());
        labels.iter().map(|label| label.at.0).collect()
    }

    #[test]
    fn labels_with_room_stay_where_they_are() {
        assert_eq!(spread_of(&[("a", 80.0), ("b", 10.0)]), [80.0, 10.0]);
    }

    #[test]
    fn labels_that_would_overlap_are_moved_apart_in_their_order() {
        let places = spread_of(&[("b", 50.0), ("a", 49.0), ("a label that has two lines", 51.0)]);
        assert!(places[1] + LINE <= places[0] + 1e-9);
        assert!(places[0] + 1.5 * LINE <= places[2] + 1e-9);
    }

    #[test]
    fn labels_at_the_lower_end_are_moved_up() {
        let places = spread_of(&[("a", 100.0), ("b", 100.0), ("c", 100.0)]);
        assert!(places.iter().all(|place| *place <= 100.0));
        assert!((places[1] - places[0] - LINE).abs() < 1e-9);
    }
}
