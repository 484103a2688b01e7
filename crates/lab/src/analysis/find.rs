//! What matters most: the sentences a reader should take away from a run.

use serde::Serialize;

use super::{ArmAnalysis, ExperimentAnalysis};
use crate::level::{Settings, label};
use crate::metric::{self, Better};
use crate::stats::Interval;

/// The best of an experiment's arms against its reference, under the reference's conditions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Key of the experiment.
    pub experiment: String,
    /// The question it answers.
    pub question: String,
    /// The levels of the best arm that differ from the reference; empty when no arm is better.
    pub levels: Settings,
    /// The levels of the reference for the same factors.
    pub instead_of: Settings,
    /// The levels of the experiment's conditions that are no choice, under which it was found.
    pub conditions: Settings,
    /// How many times better the best arm is: above 1 in the metric's good direction.
    pub gain: f64,
    /// The interval of the gain at 95 %.
    pub interval: Interval,
    /// Other arms that cannot be told apart from the best.
    pub tied: Vec<String>,
    /// Whether there were too few rounds for more than a preliminary answer.
    pub preliminary: bool,
    /// Settings among `levels` that decide what a crash can destroy. What it can destroy with the
    /// best arm's levels of them is not known from this experiment.
    pub crash_relevant: Vec<String>,
}

impl Finding {
    /// The levels of the best arm as a label.
    pub fn what(&self) -> String {
        label(&self.levels)
    }
}

/// One finding an experiment, the greatest gain first, those that may cost safety last. Experiments
/// in which no arm is better than the reference give none. Arms that ran under other conditions than
/// the reference (with fewer rows, say) are no alternative to it and are passed over.
pub fn findings(experiments: &[ExperimentAnalysis]) -> Vec<Finding> {
    let mut found: Vec<Finding> = experiments.iter().filter_map(finding).collect();
    let may_cost_safety = |finding: &Finding| !finding.crash_relevant.is_empty();
    found.sort_by(|a, b| {
        may_cost_safety(a)
            .cmp(&may_cost_safety(b))
            .then(b.gain.total_cmp(&a.gain))
    });
    found
}

/// The best of the alternatives to the reference among those that `may` be taken, where it is found
/// to be better than the reference; its place in the experiment.
pub(super) fn best_where(
    experiment: &ExperimentAnalysis,
    may: impl Fn(&ArmAnalysis) -> bool,
) -> Option<usize> {
    let best = experiment.ranking.iter().copied().find(|index| {
        let arm = &experiment.arms[*index];
        experiment.is_alternative(arm) && may(arm)
    })?;
    let (gain, _) = gain_of(experiment, &experiment.arms[best])?;
    (gain > 1.0).then_some(best)
}

/// How many times better than the reference an arm is, with its interval at 95 %; none where it
/// cannot be told apart.
pub(super) fn gain_of(
    experiment: &ExperimentAnalysis,
    arm: &ArmAnalysis,
) -> Option<(f64, Interval)> {
    let effect = arm.effect.as_ref().filter(|effect| effect.is_found())?;
    let (centre, interval) = (effect.estimate.centre, effect.estimate.interval);
    Some(match metric::find(&experiment.metric)?.better {
        Better::Higher => (centre, interval),
        Better::Lower => (1.0 / centre, inverse(interval)),
    })
}

fn finding(experiment: &ExperimentAnalysis) -> Option<Finding> {
    let best = &experiment.arms[best_where(experiment, |_| true)?];
    let reference = &experiment.arms[0];
    let (gain, interval) = gain_of(experiment, best)?;
    let levels: Settings = best
        .levels
        .iter()
        .filter(|(name, level)| reference.levels.get(*name) != Some(level))
        .map(|(name, level)| (name.clone(), level.clone()))
        .collect();
    Some(Finding {
        experiment: experiment.key.clone(),
        question: experiment.question.clone(),
        instead_of: reference
            .levels
            .iter()
            .filter(|(name, _)| levels.contains_key(*name))
            .map(|(name, level)| (name.clone(), level.clone()))
            .collect(),
        conditions: reference
            .levels
            .iter()
            .filter(|(name, _)| experiment.conditions.contains(name))
            .map(|(name, level)| (name.clone(), level.clone()))
            .collect(),
        crash_relevant: experiment
            .crash_relevant
            .iter()
            .filter(|name| levels.contains_key(*name))
            .cloned()
            .collect(),
        levels,
        gain,
        interval,
        tied: tied_with(best, experiment),
        preliminary: best
            .effect
            .as_ref()
            .is_some_and(|effect| effect.estimate.preliminary),
    })
}

fn inverse(interval: Interval) -> Interval {
    Interval {
        low: 1.0 / interval.high,
        high: 1.0 / interval.low,
    }
}

fn tied_with(best: &ArmAnalysis, experiment: &ExperimentAnalysis) -> Vec<String> {
    let shares_a_group = |arm: &&ArmAnalysis| {
        arm.label != best.label
            && experiment.is_alternative(arm)
            && arm
                .groups
                .chars()
                .any(|letter| best.groups.contains(letter))
    };
    experiment
        .arms
        .iter()
        .filter(shares_a_group)
        .map(|arm| arm.label.clone())
        .collect()
}
