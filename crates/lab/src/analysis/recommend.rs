//! The settings of SQLite to use, as far as an experiment can tell.
//!
//! Speed alone recommends nothing that decides what a crash can destroy: the recommendation is the
//! fastest arm that is known to be as safe as the reference, by their safety tiers or because it leaves
//! such settings as the reference has them. The fastest arm of all is named beside it where it is
//! another.

use std::collections::BTreeSet;

use serde::Serialize;

use super::find::{TierChange, best_where, candidates, is_preliminary, told_gain_of};
use super::{ArmAnalysis, ExperimentAnalysis};
use crate::design::MANY;
use crate::level::Settings;
use crate::stats::Interval;
use crate::target;
use crate::tier::WORKLOAD;

/// The settings of one arm that can be used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    /// Key of the experiment.
    pub experiment: String,
    /// The arm's place in the experiment.
    pub arm: usize,
    /// Its settings of SQLite: PRAGMAs that were read back, how connections were opened and how
    /// transactions began. What is not named was left as SQLite has it.
    pub settings: Settings,
    /// How many times better than the reference it is; none for the reference itself.
    pub gain: Option<f64>,
    /// The interval of the gain at 95 %.
    pub interval: Option<Interval>,
    /// Settings by which it differs from the reference and which decide what a crash can destroy. Empty
    /// where it is known to be as safe as the reference.
    pub crash_relevant: Vec<String>,
    /// Its safety tier and the reference's; none where nothing was to be measured.
    pub tiers: Option<TierChange>,
    /// Whether there were too few rounds for more than a preliminary answer.
    pub preliminary: bool,
}

/// The settings to use by an experiment that varies settings of SQLite: the fastest that are as safe
/// as the reference's, and the fastest of all where these are others. Nothing for an experiment that
/// varies none, or whose reference was not measured.
pub fn recommendations(experiment: &ExperimentAnalysis) -> Vec<Recommendation> {
    let Some(reference) = experiment.arms.first().filter(|arm| !arm.unmeasured()) else {
        return Vec::new();
    };
    if experiment.workload == WORKLOAD {
        // How quickly crashes are tried is no reason to use anything.
        return Vec::new();
    }
    let varies = |name: &str| {
        let level = reference.levels.get(name);
        let arms = experiment.arms.iter();
        let mut others = arms.filter(|arm| experiment.is_alternative(arm));
        others.any(|arm| arm.levels.get(name) != level)
    };
    if !names_of_settings(reference).iter().any(|name| varies(name)) {
        return Vec::new();
    }
    let arms = [
        best_as_safe(experiment, of_sqlite),
        best_where(experiment, of_sqlite),
    ];
    let arms: BTreeSet<usize> = arms.map(|best| best.unwrap_or(0)).into();
    let mut recommended: Vec<Recommendation> = arms
        .into_iter()
        .map(|arm| recommendation(experiment, arm))
        .collect();
    recommended.sort_by_key(|one| !one.crash_relevant.is_empty());
    recommended
}

/// The arms that findings and recommendations name, where they were chosen from many.
pub(super) fn chosen_from_many(experiment: &ExperimentAnalysis) -> BTreeSet<usize> {
    if experiment.workload == WORKLOAD || candidates(experiment) < MANY {
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
    may: impl Fn(&ArmAnalysis) -> bool,
) -> Option<usize> {
    best_where(experiment, |arm| may(arm) && experiment.is_as_safe(arm))
}

/// Other targets have no settings of SQLite.
fn of_sqlite(arm: &ArmAnalysis) -> bool {
    target::is_sqlite(&arm.settings)
}

fn recommendation(experiment: &ExperimentAnalysis, index: usize) -> Recommendation {
    let arm = &experiment.arms[index];
    let names = names_of_settings(arm);
    let gain = told_gain_of(experiment, arm);
    Recommendation {
        experiment: experiment.key.clone(),
        arm: index,
        settings: arm
            .settings
            .iter()
            .filter(|(name, _)| names.contains(*name))
            .map(|(name, level)| (name.clone(), level.clone()))
            .collect(),
        gain: gain.map(|(gain, _)| gain),
        interval: gain.map(|(_, interval)| interval),
        crash_relevant: match experiment.is_as_safe(arm) {
            true => Vec::new(),
            false => changed_safety(experiment, arm),
        },
        tiers: TierChange::of(experiment, arm),
        preliminary: is_preliminary(arm),
    }
}

/// How connections are opened and transactions begin: settings that no PRAGMA tells.
const OF_CONNECTIONS: [&str; 2] = ["open_mutex", "transaction"];

/// The settings of SQLite among an arm's: PRAGMAs that were set and read back, and those of
/// connections where the experiment makes them a choice.
fn names_of_settings(arm: &ArmAnalysis) -> BTreeSet<String> {
    let read_back = arm.connections.iter().flat_map(|one| one.pragmas.keys());
    let set = read_back.filter(|name| arm.settings.contains_key(*name));
    let of_connections = OF_CONNECTIONS.into_iter().map(str::to_owned);
    let chosen = of_connections.filter(|name| arm.levels.contains_key(name));
    set.cloned().chain(chosen).collect()
}

/// The settings that decide what a crash can destroy by which an arm differs from the reference.
fn changed_safety(experiment: &ExperimentAnalysis, arm: &ArmAnalysis) -> Vec<String> {
    let reference = &experiment.arms[0].levels;
    experiment
        .crash_relevant
        .iter()
        .filter(|name| arm.levels.get(*name) != reference.get(*name))
        .cloned()
        .collect()
}
