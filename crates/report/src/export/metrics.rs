//! One row for each metric of each variant: what the published tables state of a figure.

use lab::analysis::{ExperimentAnalysis, Summary, VariantAnalysis};
use tuning::Analysis;

use super::cells::{number, text};
use super::{Columns, Form, table};
use crate::Result;

/// The names of [`figures`].
pub(super) const FIGURES: [&str; 7] = ["median", "min", "max", "sd", "p95", "p99", "n"];

const FORM: Form = Form {
    name: "metrics",
    header: "experiment,variant,role,metric,median,min,max,sd,p95,p99,n",
    narrow: &["experiment", "variant", "role", "metric", "median", "sd", "p95", "p99", "n"],
};

/// Every metric of every variant of a run as CSV, in its base unit: median, smallest and largest figure,
/// standard deviation, 95th and 99th percentile over trials, and their number.
///
/// # Errors
/// When the table cannot be built.
pub fn metrics_csv(analysis: &Analysis, columns: Columns) -> Result<String> {
    let experiments = analysis.experiments.iter();
    let rows = experiments.flat_map(|experiment| {
        let variants = experiment.variants.iter();
        variants.flat_map(|variant| metrics_of(experiment, variant))
    });
    table(&FORM, columns, rows)
}

fn metrics_of<'a>(
    experiment: &'a ExperimentAnalysis,
    variant: &'a VariantAnalysis,
) -> impl Iterator<Item = Vec<String>> {
    variant.summaries.iter().map(|(metric, summary)| {
        let head =
            [text(&experiment.key), text(&variant.label), role(variant).to_owned(), text(metric)];
        head.into_iter().chain(figures(Some(summary))).collect()
    })
}

/// What a variant is in its experiment.
pub(super) fn role(variant: &VariantAnalysis) -> &'static str {
    if variant.baseline { "baseline" } else { "variant" }
}

/// The figures of a summary in the order of [`FIGURES`].
pub(super) fn figures(summary: Option<&Summary>) -> [String; 7] {
    let of = |figure: fn(&Summary) -> f64| number(summary.map(figure));
    [
        of(|it| it.median),
        of(|it| it.range.low),
        of(|it| it.range.high),
        number(summary.and_then(|summary| summary.sd)),
        of(|it| it.p95),
        of(|it| it.p99),
        summary.map_or(String::new(), |it| it.n.to_string()),
    ]
}
