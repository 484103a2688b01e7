//! Rows of dots with intervals on one axis, with their texts.

use super::Axis;
use crate::document::{Forest, ForestRow, Mark, Scale};

/// Returns the axis of a chart; none without a measurement.
pub(crate) fn axis(forest: &Forest) -> Option<Axis> {
    let of_rows = values(&forest.rows);
    match forest.scale {
        // Room around 1, so that nothing looks like much where nothing is.
        Scale::Ratio if of_rows.is_empty() => None,
        Scale::Ratio => {
            let above = of_rows.into_iter().filter(|value| *value > 0.0);
            Axis::logarithmic_over(above.chain([0.9, 1.1]))
        }
        Scale::Metric(_) => Axis::over_with(&of_rows, &values(&forest.bounds)),
    }
}

fn values(rows: &[ForestRow]) -> Vec<f64> {
    let marks = rows.iter().filter_map(|row| row.marks.as_ref());
    let values = marks.flat_map(|marks| {
        let interval = marks.interval.filter(|interval| interval.is_bounded());
        let interval = interval.into_iter().flat_map(|interval| [interval.low, interval.high]);
        [marks.dot, marks.range.low, marks.range.high].into_iter().chain(interval)
    });
    values.collect()
}

impl Mark {
    /// The class of a dot of this form.
    pub(crate) fn class(self) -> &'static str {
        if self == Mark::Square { "hollow" } else { "dot" }
    }
}
