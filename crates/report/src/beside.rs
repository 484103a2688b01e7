//! Figures to be read beside an experiment's own, as its file asks for them.
//!
//! They stand apart from the evidence because they belong to the answer: a tokenizer that is fast and finds
//! less, or a queue that is fast and late, is chosen by several figures, not by one.

use lab::analysis::{Analysis, ExperimentAnalysis};

use crate::bindings;
use crate::words::by_rank;

/// Medians of several metrics.
pub(crate) struct Medians {
    /// The metrics as records name them.
    pub(crate) metrics: Vec<String>,
    /// The variants that have figures, the best by the experiment's own first, each with a median of every
    /// metric it has.
    pub(crate) rows: Vec<(usize, Vec<Option<f64>>)>,
}

impl Medians {
    /// Those of these metrics; none where there are no metrics.
    pub(crate) fn of(experiment: &ExperimentAnalysis, metrics: Vec<String>) -> Option<Medians> {
        if metrics.is_empty() {
            return None;
        }
        let measured = by_rank(experiment)
            .into_iter()
            .filter(|variant| !experiment.variants[*variant].unmeasured());
        let rows = measured.map(|variant| {
            let summaries = &experiment.variants[variant].summaries;
            let median = |metric| summaries.get(metric).map(|summary| summary.median);
            (variant, metrics.iter().map(median).collect())
        });
        Some(Medians {
            rows: rows.collect(),
            metrics,
        })
    }

    /// Those of the metrics that the experiment's file asks for beside its own.
    pub(crate) fn beside(analysis: &Analysis, experiment: &ExperimentAnalysis) -> Option<Medians> {
        let mut planned = analysis.plan.experiments.iter();
        let planned = planned.find(|planned| planned.key == experiment.key)?;
        let asked_for = &planned.experiment.secondary_metrics;
        Medians::of(experiment, metrics_beside(experiment, asked_for))
    }
}

/// The metrics of those asked for that were measured; none where the costs of bindings, which have a table
/// of their own, say the same.
pub(crate) fn metrics_beside(experiment: &ExperimentAnalysis, asked_for: &[String]) -> Vec<String> {
    if bindings::shown(experiment).is_some() {
        return Vec::new();
    }
    let is_measured = |metric: &&String| {
        let mut variants = experiment.variants.iter();
        variants.any(|variant| variant.summaries.contains_key(*metric))
    };
    asked_for.iter().filter(is_measured).cloned().collect()
}
