//! The settings of SQLite to use, as far as an experiment can tell.
//!
//! Speed alone recommends nothing that decides what a crash can destroy: the recommendation is the
//! fastest variant that is known to be as safe as the baseline, by their safety tiers or because it leaves
//! such settings as the baseline has them. The fastest variant of all is named too where it is another.

use std::collections::BTreeSet;

use serde::Serialize;

use super::findings::{TierChange, best_where, candidates, is_preliminary, reported_gain};
use super::{ExperimentAnalysis, VariantAnalysis};
use crate::design::MANY;
use crate::level::{Settings, picked};
use crate::stats::Interval;
use crate::target;
use crate::tier::tries_accidents;

/// The settings of one variant that can be used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    /// Key of the experiment.
    pub experiment: String,
    /// The variant's place in the experiment.
    pub variant: usize,
    /// Its settings of SQLite: PRAGMAs that were read back, how connections were opened and how
    /// transactions began. What is not named was left as SQLite has it.
    pub settings: Settings,
    /// How many times better than the baseline it is; none for the baseline itself.
    pub gain: Option<f64>,
    /// The interval of the gain at 95 %.
    pub interval: Option<Interval>,
    /// Settings by which it differs from the baseline and which decide what a crash can destroy. Empty
    /// where it is known to be as safe as the baseline.
    pub crash_relevant: Vec<String>,
    /// Its safety tier and the baseline's; none where nothing was to be measured.
    pub tiers: Option<TierChange>,
    /// Whether there were too few rounds for more than a preliminary answer.
    pub preliminary: bool,
}

/// The settings to use by an experiment that varies settings of SQLite: the fastest that are as safe
/// as the baseline's, and the fastest of all where these are others. Nothing for an experiment that
/// varies none, or whose baseline was not measured.
pub fn recommendations(experiment: &ExperimentAnalysis) -> Vec<Recommendation> {
    let Some(baseline) = experiment
        .variants
        .first()
        .filter(|variant| !variant.unmeasured())
    else {
        return Vec::new();
    };
    if tries_accidents(&experiment.workload) {
        // The speed of crash tests is no reason to use anything.
        return Vec::new();
    }
    let varies = |name: &str| {
        let level = baseline.levels.get(name);
        let variants = experiment.variants.iter();
        let mut others = variants.filter(|variant| experiment.is_alternative(variant));
        others.any(|variant| variant.levels.get(name) != level)
    };
    if !names_of_settings(baseline).iter().any(|name| varies(name)) {
        return Vec::new();
    }
    let variants = [
        best_as_safe(experiment, of_sqlite),
        best_where(experiment, of_sqlite),
    ];
    let variants: BTreeSet<usize> = variants.map(|best| best.unwrap_or(0)).into();
    let mut recommended: Vec<Recommendation> = variants
        .into_iter()
        .map(|variant| recommendation(experiment, variant))
        .collect();
    recommended.sort_by_key(|one| !one.crash_relevant.is_empty());
    recommended
}

/// The variants that findings and recommendations name, where they were chosen from many.
pub(super) fn chosen_from_many(experiment: &ExperimentAnalysis) -> BTreeSet<usize> {
    if tries_accidents(&experiment.workload) || candidates(experiment) < MANY {
        return BTreeSet::new();
    }
    [
        best_as_safe(experiment, |_| true),
        best_where(experiment, |_| true),
        best_as_safe(experiment, of_sqlite),
        best_where(experiment, of_sqlite),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn best_as_safe(
    experiment: &ExperimentAnalysis,
    may: impl Fn(&VariantAnalysis) -> bool,
) -> Option<usize> {
    best_where(experiment, |variant| {
        may(variant) && experiment.is_as_safe(variant)
    })
}

/// Other targets have no settings of SQLite.
fn of_sqlite(variant: &VariantAnalysis) -> bool {
    target::is_sqlite(&variant.settings)
}

fn recommendation(experiment: &ExperimentAnalysis, index: usize) -> Recommendation {
    let variant = &experiment.variants[index];
    let names = names_of_settings(variant);
    let gain = reported_gain(experiment, variant);
    Recommendation {
        experiment: experiment.key.clone(),
        variant: index,
        settings: picked(&variant.settings, |name| names.contains(name)),
        gain: gain.map(|(gain, _)| gain),
        interval: gain.map(|(_, interval)| interval),
        crash_relevant: match experiment.is_as_safe(variant) {
            true => Vec::new(),
            false => changed_safety(experiment, variant),
        },
        tiers: TierChange::of(experiment, variant),
        preliminary: is_preliminary(variant),
    }
}

/// How connections are opened and transactions begin: settings that no PRAGMA reports.
const OF_CONNECTIONS: [&str; 2] = ["open_mutex", "transaction"];

/// The settings of SQLite among a variant's: PRAGMAs that were set and read back, and those of
/// connections where the experiment makes them a choice.
fn names_of_settings(variant: &VariantAnalysis) -> BTreeSet<String> {
    let read_back = variant
        .connections
        .iter()
        .flat_map(|one| one.pragmas.keys());
    let set = read_back.filter(|name| variant.settings.contains_key(*name));
    let of_connections = OF_CONNECTIONS.into_iter().map(str::to_owned);
    let chosen = of_connections.filter(|name| variant.levels.contains_key(name));
    set.cloned().chain(chosen).collect()
}

/// The settings that decide what a crash can destroy by which a variant differs from the baseline.
fn changed_safety(experiment: &ExperimentAnalysis, variant: &VariantAnalysis) -> Vec<String> {
    let baseline = &experiment.variants[0].levels;
    experiment
        .crash_relevant
        .iter()
        .filter(|name| variant.levels.get(*name) != baseline.get(*name))
        .cloned()
        .collect()
}
