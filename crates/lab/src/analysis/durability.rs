//! The variants by what survives of an acknowledged change, so that they can be compared within a class.

use serde::Serialize;

use super::ExperimentAnalysis;
use super::tiers::shares_a_group;
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
    /// How many of them cannot be told apart from the best, itself included.
    pub tied: usize,
    /// Whether no variant of a stronger class is as good: whether giving up safety buys anything.
    pub buys: bool,
}

/// The alternatives to the baseline, the baseline included, by class, the strongest first; empty
/// where no target said what survives.
pub(super) fn by_durability(experiment: &ExperimentAnalysis) -> Vec<AtDurability> {
    let ranked: Vec<usize> = experiment
        .ranking
        .iter()
        .copied()
        .filter(|index| {
            let variant = &experiment.variants[*index];
            experiment.is_alternative(variant) && variant.summaries.contains_key(&experiment.metric)
        })
        .collect();
    let place = |variant: usize| ranked.iter().position(|index| *index == variant);
    let tied = |one: usize, other: usize| {
        one == other || shares_a_group(&experiment.variants[one], &experiment.variants[other])
    };
    let median = |variant: usize| {
        let summary = experiment.variants[variant]
            .summaries
            .get(&experiment.metric);
        summary.map_or(f64::NAN, |summary| summary.median)
    };
    let mut classes: Vec<AtDurability> = Vec::new();
    for class in Durability::ALL {
        let of_class = |index: &usize| experiment.variants[*index].durability == Some(class);
        let mut variants: Vec<usize> = ranked.iter().copied().filter(of_class).collect();
        let Some(best) = variants.first().copied() else {
            continue;
        };
        // A variant with more noise may be tied with the best though one that is not stands above it.
        variants.sort_by_key(|variant| !tied(best, *variant));
        let beats = |stronger: &AtDurability| {
            let rival = stronger.variants[0];
            place(best) < place(rival) && !tied(best, rival)
        };
        classes.push(AtDurability {
            class,
            tied: variants
                .iter()
                .filter(|variant| tied(best, **variant))
                .count(),
            to_best: variants
                .iter()
                .map(|variant| median(*variant) / median(best))
                .collect(),
            buys: classes.iter().all(beats),
            variants,
        });
    }
    classes
}
