//! Figures to be read beside an experiment's own, as its file asks for them.
//!
//! They stand apart from the evidence because they belong to the answer: a tokenizer that is fast and finds
//! less, or a queue that is fast and late, is chosen by several figures, not by one.

use lab::analysis::{Analysis, ExperimentAnalysis};

use crate::bindings;
use crate::words::by_rank;

/// Medians of several metrics.
pub(crate) struct Beside {
    /// The metrics as records name them, in the order of the experiment's file.
    pub(crate) metrics: Vec<String>,
    /// The arms that have figures, the best by the experiment's own first, each with a median of every
    /// metric it has.
    pub(crate) rows: Vec<(usize, Vec<Option<f64>>)>,
}

impl Beside {
    /// What an experiment's file asks for, as far as it was measured; none where that is nothing, or where
    /// the costs of bindings say the same.
    pub(crate) fn of(analysis: &Analysis, experiment: &ExperimentAnalysis) -> Option<Beside> {
        if bindings::shown(experiment).is_some() {
            return None;
        }
        let mut planned = analysis.plan.experiments.iter();
        let planned = planned.find(|planned| planned.key == experiment.key)?;
        Beside::of_these(experiment, &planned.experiment.beside)
    }

    /// These metrics, as far as they were measured; none where none was.
    pub(crate) fn of_these(experiment: &ExperimentAnalysis, wanted: &[String]) -> Option<Beside> {
        let is_measured = |metric: &&String| {
            let mut arms = experiment.arms.iter();
            arms.any(|arm| arm.summaries.contains_key(*metric))
        };
        let metrics: Vec<String> = wanted.iter().filter(is_measured).cloned().collect();
        if metrics.is_empty() {
            return None;
        }
        let measured = by_rank(experiment)
            .into_iter()
            .filter(|arm| !experiment.arms[*arm].unmeasured());
        let rows = measured.map(|arm| {
            let summaries = &experiment.arms[arm].summaries;
            let median = |metric| summaries.get(metric).map(|summary| summary.median);
            (arm, metrics.iter().map(median).collect())
        });
        Some(Beside {
            rows: rows.collect(),
            metrics,
        })
    }
}
