//! The arms by what survives of an acknowledged change, so that they can be compared within a class.

use serde::Serialize;

use super::ExperimentAnalysis;
use super::tiers::shares_a_group;
use crate::durability::Durability;

/// The arms of one durability class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtDurability {
    /// The class.
    pub class: Durability,
    /// Its arms under the conditions of the reference, the best first.
    pub arms: Vec<usize>,
    /// The median of each of them in the experiment's metric, divided by that of the best.
    pub to_best: Vec<f64>,
    /// How many of them cannot be told apart from the best, itself included.
    pub tied: usize,
    /// Whether no arm of a stronger class is as good: whether giving up safety buys anything.
    pub buys: bool,
}

/// The alternatives to the reference, the reference included, by class, the strongest first; empty
/// where no target said what survives.
pub(super) fn by_durability(experiment: &ExperimentAnalysis) -> Vec<AtDurability> {
    let ranked: Vec<usize> = experiment
        .ranking
        .iter()
        .copied()
        .filter(|index| {
            let arm = &experiment.arms[*index];
            experiment.is_alternative(arm) && arm.summaries.contains_key(&experiment.metric)
        })
        .collect();
    let place = |arm: usize| ranked.iter().position(|index| *index == arm);
    let tied = |one: usize, other: usize| {
        one == other || shares_a_group(&experiment.arms[one], &experiment.arms[other])
    };
    let median = |arm: usize| {
        let summary = experiment.arms[arm].summaries.get(&experiment.metric);
        summary.map_or(f64::NAN, |summary| summary.median)
    };
    let mut classes: Vec<AtDurability> = Vec::new();
    for class in Durability::ALL {
        let of_class = |index: &usize| experiment.arms[*index].durability == Some(class);
        let mut arms: Vec<usize> = ranked.iter().copied().filter(of_class).collect();
        let Some(best) = arms.first().copied() else {
            continue;
        };
        // An arm with more noise may be tied with the best though one that is not stands above it.
        arms.sort_by_key(|arm| !tied(best, *arm));
        let beats = |stronger: &AtDurability| {
            let rival = stronger.arms[0];
            place(best) < place(rival) && !tied(best, rival)
        };
        classes.push(AtDurability {
            class,
            tied: arms.iter().filter(|arm| tied(best, **arm)).count(),
            to_best: arms.iter().map(|arm| median(*arm) / median(best)).collect(),
            buys: classes.iter().all(beats),
            arms,
        });
    }
    classes
}
