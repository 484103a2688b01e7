//! Labels at the side of a chart that stand as near as they can to what they name without overlapping.

use super::Percent;

/// Height of one line of text, as a part of a hundred of the chart's height (see `.plot` in the
/// style sheet).
const LINE: f64 = 7.5;
/// Characters that fit into one line of a label; a longer word is not broken.
const CHARACTERS: usize = 18;

/// A label and its place from above.
pub(super) struct Label {
    lines: Vec<String>,
    /// Where its middle stands.
    at: Percent,
}

impl Label {
    /// A label for something that ends here.
    pub(super) fn new(text: &str, at: Percent) -> Label {
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
    pub(super) fn lines(&self) -> impl Iterator<Item = (&str, Percent)> {
        let first = self.at.0 - (self.lines.len() as f64 - 1.0) * LINE / 2.0;
        let lines = self.lines.iter().enumerate();
        lines.map(move |(index, line)| (line.as_str(), Percent(first + index as f64 * LINE)))
    }
}

/// Moves labels apart: downwards from the highest, and up again where the room ends.
pub(super) fn spread(mut labels: Vec<&mut Label>) {
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
