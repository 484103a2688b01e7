//! One experiment on the page.

use lab::analysis::{Analysis, ExperimentAnalysis};
use lab::level::Settings;
use lab::record::PlannedExperiment;

use super::bindings::BindingsView;
use super::claims::{ClaimView, claims};
use super::pragmas::{Pragmas, RunWide};
use super::tables::{ClassTable, MetricTable, VariantTable, WorkTable};
use crate::advice::{Advice, advice};
use crate::answer::{self, Sentence};
use crate::charts::curve::{Chart, chart};
use crate::charts::effects::{EffectsChart, effects};
use crate::charts::forest::{Forest, forest, is_large};
use crate::charts::heat::{Heat, heat};
use crate::charts::tiers::TierChart;
use crate::durability;
use crate::facts;
use crate::found::{Found, found};
use crate::tiers::{self, Models};

/// What the template of an experiment fills in.
pub(super) struct ExperimentView<'a> {
    pub(super) anchor: String,
    pub(super) number: usize,
    pub(super) key: String,
    pub(super) question: Sentence,
    pub(super) source: Option<String>,
    pub(super) workload: String,
    pub(super) directory: String,
    pub(super) note: Option<Sentence>,
    pub(super) answer: Sentence,
    pub(super) doubts: Vec<(&'static str, String)>,
    pub(super) chart: Option<Chart>,
    pub(super) heat: Option<Heat>,
    pub(super) forest: Forest,
    pub(super) tiers: Option<TierChart>,
    /// Whether its trials try crashes, so that what they find stands in the place of speeds.
    pub(super) tries_crashes: bool,
    pub(super) models: Option<ModelsView>,
    pub(super) accidents: Vec<String>,
    pub(super) durability: Vec<durability::Row>,
    pub(super) effects: Option<EffectsChart>,
    /// Whether there are so many variants that what each knob does tells more than the variants.
    pub(super) effects_first: bool,
    pub(super) advice: Vec<Advice>,
    pub(super) bindings: Option<BindingsView>,
    pub(super) variants: VariantTable,
    pub(super) beside: Option<MetricTable>,
    pub(super) metrics: Option<MetricTable>,
    pub(super) classes: Vec<ClassTable>,
    pub(super) work: Option<WorkTable>,
    pub(super) found: Vec<Found<'a>>,
    pub(super) claims: Vec<ClaimView>,
    pub(super) footnotes: Vec<String>,
    pub(super) held: Vec<(String, String)>,
    pub(super) pragmas: Option<Pragmas>,
}

/// What was found under each storage model.
pub(super) struct ModelsView {
    pub(super) legend: String,
    pub(super) table: Models,
}

/// Every experiment of the run, in the order of the plan.
pub(super) fn views<'a>(analysis: &'a Analysis, anchors: &[String]) -> Vec<ExperimentView<'a>> {
    let run_wide = RunWide::of(analysis);
    analysis
        .experiments
        .iter()
        .zip(&analysis.plan.experiments)
        .zip(anchors)
        .enumerate()
        .map(|(index, ((experiment, planned), anchor))| {
            let found = analysis
                .findings
                .iter()
                .find(|finding| finding.experiment == experiment.key);
            ExperimentView {
                anchor: anchor.clone(),
                number: index + 1,
                answer: answer::answer(experiment, found),
                advice: advice(analysis, experiment),
                ..view(experiment, planned, &run_wide)
            }
        })
        .collect()
}

fn view<'a>(
    experiment: &'a ExperimentAnalysis,
    planned: &PlannedExperiment,
    run_wide: &RunWide<'_>,
) -> ExperimentView<'a> {
    let effects = effects(experiment);
    let effects_first = effects.is_some() && is_large(experiment);
    // Of hundreds of lines the few that can be drawn tell nothing.
    let chart = chart(experiment).filter(|_| !effects_first);
    ExperimentView {
        anchor: String::new(),
        number: 0,
        key: experiment.key.clone(),
        question: answer::of_text(&experiment.question),
        source: experiment.source.clone(),
        workload: experiment.workload.clone(),
        directory: experiment.directory.display().to_string(),
        note: experiment.note.as_deref().map(answer::of_text),
        answer: Sentence::new(),
        doubts: facts::doubts(experiment),
        // A chart that holds every variant says what the map would.
        heat: heat(experiment, &planned.experiment)
            .filter(|_| chart.as_ref().is_none_or(|chart| chart.left_out.is_some())),
        chart,
        forest: forest(experiment),
        tiers: crate::charts::tiers::chart(experiment),
        tries_crashes: tiers::tries_crashes(experiment),
        models: tiers::models(experiment).map(|table| ModelsView {
            legend: tiers::legend(),
            table,
        }),
        accidents: crate::accidents::remarks(experiment),
        durability: durability::rows(experiment),
        effects,
        effects_first,
        advice: Vec::new(),
        bindings: BindingsView::of(experiment),
        variants: VariantTable::of(experiment),
        beside: MetricTable::beside(experiment, &planned.experiment.secondary_metrics),
        metrics: MetricTable::of(experiment),
        classes: ClassTable::all(experiment),
        work: WorkTable::of(experiment),
        found: found(experiment),
        claims: claims(experiment),
        footnotes: facts::footnotes(experiment),
        held: held(experiment),
        pragmas: Pragmas::of(experiment, run_wide),
    }
}

/// Settings of the baseline that no factor varies.
fn held(experiment: &ExperimentAnalysis) -> Vec<(String, String)> {
    let Some(baseline) = experiment.variants.first() else {
        return Vec::new();
    };
    let varied: &Settings = &baseline.levels;
    let settings = baseline
        .settings
        .iter()
        .filter(|(name, _)| !varied.contains_key(*name));
    settings
        .map(|(name, level)| (name.clone(), level.to_string()))
        .collect()
}
