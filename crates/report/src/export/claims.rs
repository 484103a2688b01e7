//! One row a claim.

use lab::analysis::ExperimentAnalysis;
use lab::claims::{Judged, Verdict};
use tuning::Analysis;

use super::cells::{number, text};
use super::{Columns, Form, table};
use crate::Result;

const FORM: Form = Form {
    name: "claims",
    header: "experiment,source,claim,says,verdict,would_be,measure,unit,figure,low,high,alpha,bound_low,\
             bound_high,bound_because,published,expected,origin,rounds,preliminary,why",
    narrow: &[
        "experiment",
        "claim",
        "says",
        "verdict",
        "would_be",
        "figure",
        "low",
        "high",
        "bound_low",
        "bound_high",
        "published",
        "expected",
        "origin",
        "preliminary",
        "why",
    ],
};

/// The claims of a run as CSV: verdict, measured figure with its interval at error rate `alpha`
/// (0 to 1), the bounds that confirm, and the published figure or the expected one with its origin. Where a
/// claim does not apply, `would_be` says what its figure would have been judged. Where `unit` names a metric,
/// figures are in its base unit; elsewhere they are ratios, that of a spread a ratio less one.
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
    let expected = judged.claim.expected;
    vec![
        text(&experiment.key),
        text(experiment.source.as_deref().unwrap_or_default()),
        text(&judged.claim.id),
        text(&judged.claim.says),
        word(judged.verdict),
        judged.would_be.map(word).unwrap_or_default(),
        text(&judged.measure),
        text(judged.unit.as_deref().unwrap_or_default()),
        number(judged.figure),
        number(judged.interval.map(|interval| interval.low)),
        number(judged.interval.map(|interval| interval.high)),
        number(judged.interval.map(|_| judged.alpha)),
        number(judged.bounds.low),
        number(judged.bounds.high),
        text(judged.claim.bound_because.as_deref().unwrap_or_default()),
        number(judged.claim.published),
        number(expected.map(|expected| expected.figure)),
        expected.map(|expected| expected.origin.to_string()).unwrap_or_default(),
        judged.rounds.to_string(),
        judged.preliminary.to_string(),
        text(judged.why.as_deref().unwrap_or_default()),
    ]
}

fn word(verdict: Verdict) -> String {
    verdict.to_string().replace(' ', "_")
}
