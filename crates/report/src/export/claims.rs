//! One row a claim.

use lab::analysis::{Analysis, ExperimentAnalysis};
use lab::claims::Judged;

use super::{number, table};
use crate::Result;

const HEADER: &str = "\
    experiment,source,claim,says,verdict,measure,unit,figure,low,high,alpha,bound_low,\
    bound_high,published,rounds,preliminary,why";

/// The claims of a run as CSV: verdict, measured figure with its interval at error rate `alpha`
/// (0 to 1), the bounds that confirm, and the published figure. Where `unit` names a metric, figures
/// are in its base unit; elsewhere they are ratios, that of a spread a ratio less one.
///
/// # Errors
/// When the table cannot be built.
pub fn claims_csv(analysis: &Analysis) -> Result<String> {
    let rows = analysis.experiments.iter().flat_map(|experiment| {
        let claims = experiment.claims.iter();
        claims.map(move |judged| row(experiment, judged))
    });
    table("claims", HEADER, rows)
}

fn row(experiment: &ExperimentAnalysis, judged: &Judged) -> Vec<String> {
    vec![
        experiment.key.clone(),
        experiment.source.clone().unwrap_or_default(),
        judged.claim.id.clone(),
        judged.claim.says.clone(),
        judged.verdict.to_string().replace(' ', "_"),
        judged.measure.clone(),
        judged.unit.clone().unwrap_or_default(),
        number(judged.figure),
        number(judged.interval.map(|interval| interval.low)),
        number(judged.interval.map(|interval| interval.high)),
        number(judged.interval.map(|_| judged.alpha)),
        number(judged.bounds.low),
        number(judged.bounds.high),
        number(judged.claim.published),
        judged.rounds.to_string(),
        judged.preliminary.to_string(),
        judged.why.clone().unwrap_or_default(),
    ]
}
