//! Where the lines of a curve bend, in sentences.

use lab::analysis::ExperimentAnalysis;
use lab::analysis::curve::{Bend, Curve, Series};
use lab::metric::Unit;
use lab::stats::curve::CacheKnee;
use lab::stats::volume::VolumeCost;

use crate::answer::{Piece, Sentence};
use crate::figures;

/// Where the lines of a curve bend, one sentence for each that does.
pub(crate) fn knees(experiment: &ExperimentAnalysis) -> Vec<Sentence> {
    let Some(curve) = &experiment.curve else {
        return Vec::new();
    };
    let bent = curve
        .series
        .iter()
        .filter_map(|series| Some((series, series.bend?)));
    bent.map(|(series, bend)| match bend {
        Bend::Cache(knee) => knee_in_words(curve, series, &knee),
        Bend::Volume(cost) => crossover_in_words(curve, series, &cost),
    })
    .collect()
}

/// The beginning of a sentence on one line of a curve.
fn from_about(curve: &Curve, series: &Series) -> Sentence {
    match (&curve.by[..], series.label.as_str()) {
        (_, "") => vec![Piece::Words("From about ".to_owned())],
        ([only], label) => vec![
            Piece::Code(format!("{only}={label}")),
            Piece::Words(": from about ".to_owned()),
        ],
        (_, label) => vec![
            Piece::Code(label.to_owned()),
            Piece::Words(": from about ".to_owned()),
        ],
    }
}

fn time(seconds: f64) -> String {
    together(&figures::about_with_unit(seconds, Unit::Seconds))
}

fn crossover_in_words(curve: &Curve, series: &Series, cost: &VolumeCost) -> Sentence {
    /// Bytes of a MiB: the factor counts characters of one byte.
    const MIB: f64 = 1_048_576.0;
    let mut sentence = from_about(curve, series);
    let crossover = format!("{} {}", figures::about(cost.crossover()), curve.factor);
    let most = figures::about_with_unit(1.0 / cost.unit / MIB, Unit::MebibytesPerSecond);
    sentence.extend([
        Piece::Figure(together(&crossover)),
        Piece::Words(" on, taking in the bytes costs more than handling the row: ".to_owned()),
        Piece::Figure(time(cost.row)),
        Piece::Words(format!(
            " a row and {} for every hundred characters, so at most {} however long the rows are (fitted model, {}).",
            time(100.0 * cost.unit),
            together(&most),
            explained(cost.r_squared)
        )),
    ]);
    sentence
}

fn knee_in_words(curve: &Curve, series: &Series, knee: &CacheKnee) -> Sentence {
    let mut sentence = from_about(curve, series);
    let capacity = format!("{} {}", figures::about(knee.capacity), curve.factor);
    sentence.extend([
        Piece::Figure(together(&capacity)),
        Piece::Words(" on, a page is often no longer in the cache; each miss costs ".to_owned()),
        Piece::Figure(time(knee.miss)),
        Piece::Words(format!(
            " on top of {} a row (fitted model, {}).",
            time(knee.base),
            explained(knee.r_squared)
        )),
    ]);
    sentence
}

/// How well a model explains the data, never as if it did so wholly.
fn explained(r_squared: f64) -> String {
    const NEARLY_ALL: f64 = 0.9995;
    if r_squared >= NEARLY_ALL {
        return "R² above 0.999".to_owned();
    }
    format!("R² {r_squared:.3}")
}

/// A number that stays on one line with its unit.
fn together(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::plain;

    #[test]
    fn the_length_at_which_bytes_cost_most_is_told_with_both_costs_and_the_highest_rate() {
        let series = Series {
            label: String::new(),
            points: Vec::new(),
            bend: None,
        };
        let curve = Curve {
            factor: "characters".to_owned(),
            by: Vec::new(),
            series: Vec::new(),
        };
        let cost = VolumeCost {
            row: 2.1e-7,
            unit: 1e-9,
            r_squared: 0.997,
        };
        let sentence = plain(&crossover_in_words(&curve, &series, &cost)).replace('\u{a0}', " ");
        assert_eq!(
            sentence,
            "From about 210 characters on, taking in the bytes costs more than handling the row: 210 ns a row and 100 ns for every hundred characters, so at most 950 MiB/s however long the rows are (fitted model, R² 0.997)."
        );
    }
}
