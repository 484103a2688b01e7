//! The variants by what survives of an acknowledged change, so that they can be compared within a class.

use serde::Serialize;

use super::ExperimentAnalysis;
use super::classes::{Ranked, rank_by_class};
use crate::durability::Durability;

/// The variants of one durability class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtDurability {
    /// The class.
    pub class: Durability,
    /// Its variants under the conditions of the baseline, the best first.
    pub variants: Vec<usize>,
    /// The median of each of them in the experiment's metric, divided by that of the best.
    pub to_best: Vec<f64>,
    /// How many of them are not distinguishable from the best, itself included.
    pub tied: usize,
    /// Whether no variant of a stronger class is as good: whether giving up safety buys anything.
    pub buys: bool,
}

/// The alternatives to the baseline, the baseline included, by class, the strongest first; empty
/// where no target said what survives.
pub(super) fn by_durability(experiment: &ExperimentAnalysis) -> Vec<AtDurability> {
    let median = |variant: &usize| {
        let summaries = &experiment.variants[*variant].summaries;
        let summary = summaries.get(&experiment.metric);
        summary.map_or(f64::NAN, |summary| summary.median)
    };
    let is_as_strong = |one: Durability, other: Durability| one >= other;
    let ranked = rank_by_class(experiment, &Durability::ALL, is_as_strong, |variant| {
        variant.durability
    });
    let class = |ranked: Ranked<Durability>| {
        let variants = [vec![ranked.best], ranked.tied.clone(), ranked.worse].concat();
        let ratios = variants
            .iter()
            .map(|variant| median(variant) / median(&ranked.best));
        AtDurability {
            class: ranked.class,
            to_best: ratios.collect(),
            tied: 1 + ranked.tied.len(),
            buys: ranked.is_better,
            variants,
        }
    };
    ranked.into_iter().map(class).collect()
}
