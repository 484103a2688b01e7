//! Where the lines of a curve bend, in sentences.

use lab::analysis::ExperimentAnalysis;
use lab::analysis::curve::{Curve, Series};
use lab::metric::Unit;
use lab::stats::curve::CacheKnee;

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
        .filter_map(|series| Some((series, series.knee?)));
    bent.map(|(series, knee)| knee_in_words(curve, series, &knee))
        .collect()
}

fn knee_in_words(curve: &Curve, series: &Series, knee: &CacheKnee) -> Sentence {
    let mut sentence = match (&curve.by[..], series.label.as_str()) {
        (_, "") => vec![Piece::Words("From about ".to_owned())],
        ([only], label) => vec![
            Piece::Code(format!("{only}={label}")),
            Piece::Words(": from about ".to_owned()),
        ],
        (_, label) => vec![
            Piece::Code(label.to_owned()),
            Piece::Words(": from about ".to_owned()),
        ],
    };
    let time = |seconds| together(&figures::about_with_unit(seconds, Unit::Seconds));
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
