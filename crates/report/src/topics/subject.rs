//! One experiment as all of its topics see it, and the words that they share.

use lab::analysis::{ExperimentAnalysis, Finding};
use lab::experiment::Labels;
use lab::level::Level;
use lab::record::PlannedExperiment;
use lab::stats::Interval;
use lab::tier::CURRENT;
use lab::trial::DataTable;
use tuning::{Analysis, TuningAnalysis};

use crate::document::Sentence;
use crate::figures;
use crate::names::Names;

/// Up to this number every variant is drawn.
pub(super) const ALL_UP_TO: usize = 40;

/// One experiment with data that its topics share.
pub(crate) struct Subject<'a> {
    /// The run.
    pub(crate) analysis: &'a Analysis,
    /// The experiment.
    pub(crate) experiment: &'a ExperimentAnalysis,
    /// Its plan.
    pub(crate) planned: &'a PlannedExperiment,
    /// Its finding, where it has one.
    pub(crate) finding: Option<&'a Finding>,
    /// Names of its variants.
    pub(crate) names: Names,
}

impl<'a> Subject<'a> {
    /// Returns the experiment of this number.
    pub(super) fn of(analysis: &'a Analysis, index: usize) -> Subject<'a> {
        let experiment = &analysis.experiments[index];
        let mut findings = analysis.findings.iter();
        Subject {
            analysis,
            experiment,
            planned: &analysis.plan.experiments[index],
            finding: findings.find(|finding| finding.experiment == experiment.key),
            names: Names::of(experiment),
        }
    }

    /// Returns the metric by which variants are compared.
    pub(super) fn metric(&self) -> &str {
        &self.experiment.metric
    }

    /// Returns the median of a variant in that metric.
    pub(super) fn median(&self, variant: usize) -> Option<String> {
        let median = self.experiment.variants[variant].median(self.metric())?;
        Some(figures::figure(median, self.metric()))
    }

    /// Returns the search for its settings; `None` if it was not tuned.
    pub(super) fn tuning(&self) -> Option<&'a TuningAnalysis> {
        let tuning = self.analysis.tuning.as_ref();
        tuning.filter(|tuning| tuning.experiment == self.experiment.key)
    }

    /// Returns the variants that were measured.
    pub(super) fn measured(&self) -> Vec<usize> {
        let variants = &self.experiment.variants;
        (0..variants.len()).filter(|index| !variants[*index].unmeasured()).collect()
    }

    /// Returns the tables of all variants, each with its variant.
    pub(super) fn tables(&self) -> impl Iterator<Item = (&'a DataTable, usize)> + use<'a> {
        let variants = self.experiment.variants.iter().enumerate();
        variants.flat_map(|(index, variant)| variant.tables.iter().map(move |table| (table, index)))
    }

    /// Returns whether effects say more than the variants, because there are too many of them.
    pub(super) fn has_effects_first(&self) -> bool {
        self.experiment.effects.is_some() && self.experiment.variants.len() > ALL_UP_TO
    }

    /// Returns the number of the variant with the user's current settings, if they were crashed.
    pub(super) fn current(&self) -> Option<usize> {
        let name = Some(CURRENT);
        self.experiment.variants.iter().position(|variant| variant.name.as_deref() == name)
    }

    /// Returns what effects are in, and the words for levels.
    pub(super) fn wording(&self) -> Wording<'_> {
        Wording { metric: self.metric(), labels: &self.experiment.labels }
    }
}

/// The metric of effects, and the words for levels.
#[derive(Clone, Copy)]
pub(super) struct Wording<'a> {
    pub(super) metric: &'a str,
    pub(super) labels: &'a Labels,
}

impl Wording<'_> {
    /// Returns a level of a factor in people's words, or as `factor=level`.
    pub(super) fn setting(self, factor: &str, level: &Level) -> Sentence {
        match self.labels.of(factor, level) {
            Some(words) => words.into(),
            None => Sentence::code(format!("{factor}={level}")),
        }
    }

    /// Returns a level whose factor is known in people's words, or as it is.
    pub(super) fn level(self, factor: &str, level: &Level) -> Sentence {
        match self.labels.of(factor, level) {
            Some(words) => words.into(),
            None => Sentence::code(level.to_string()),
        }
    }
}

/// A ratio, and its interval as a word of its own.
pub(super) fn ratio_cell(centre: f64, interval: Interval) -> Sentence {
    Sentence::number(figures::ratio_alone(centre, interval))
        .words(" ")
        .and(Sentence::number(figures::interval_of_ratio(centre, interval)))
}

/// Returns the analysis of a run with one experiment.
#[cfg(test)]
pub(super) fn of_one(experiment: ExperimentAnalysis) -> Analysis {
    let mut analysis = lab::analysis::Analysis::default().with_tuning(None);
    analysis.plan.experiments = vec![PlannedExperiment::default()];
    analysis.experiments = vec![experiment];
    analysis
}
