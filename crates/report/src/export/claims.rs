//! One row a claim.

use lab::analysis::{Analysis, ExperimentAnalysis};
use lab::claims::Judged;

use super::cells::{number, text};
use super::{Columns, Form, table};
use crate::Result;

const FORM: Form = Form {
    name: "claims",
    header: "experiment,source,claim,says,verdict,measure,unit,figure,low,high,alpha,bound_low,\
             bound_high,published,rounds,preliminary,why",
    narrow: &[
        "experiment",
        "claim",
        "says",
        "verdict",
        "figure",
        "low",
        "high",
        "bound_low",
        "bound_high",
        "published",
        "preliminary",
        "why",
    ],
};

/// The claims of a run as CSV: verdict, measured figure with its interval at error rate `alpha`
/// (0 to 1), the bounds that confirm, and the published figure. Where `unit` names a metric, figures
/// are in its base unit; elsewhere they are ratios, that of a spread a ratio less one.
///
/// # Errors
/// When the table cannot be built.
pub fn claims_csv(analysis: &Analysis, columns: Columns) -> Result<String> {
    let rows = analysis.experiments.iter().flat_map(|experiment| {
        let claims = experiment.claims.iter();
        claims.map(move |judged| row(experiment, judged))
    });
    table(&FORM, columns, rows)
}

fn row(experiment: &ExperimentAnalysis, judged: &Judged) -> Vec<String> {
    vec![
        text(&experiment.key),
        text(experiment.source.as_deref().unwrap_or_default()),
        text(&judged.claim.id),
        text(&judged.claim.says),
        judged.verdict.to_string().replace(' ', "_"),
        text(&judged.measure),
        text(judged.unit.as_deref().unwrap_or_default()),
        number(judged.figure),
        number(judged.interval.map(|interval| interval.low)),
        number(judged.interval.map(|interval| interval.high)),
        number(judged.interval.map(|_| judged.alpha)),
        number(judged.bounds.low),
        number(judged.bounds.high),
        number(judged.claim.published),
        judged.rounds.to_string(),
        judged.preliminary.to_string(),
        text(judged.why.as_deref().unwrap_or_default()),
    ]
}
