//! The variants by what survives of an acknowledged change, so that they can be compared within a class.

use serde::Serialize;

use super::ExperimentAnalysis;
use super::classes::{Ranked, rank_by_class, shares_a_group};
use crate::durability::Durability;

/// The variants of one durability class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtDurability {
    /// The class.
    pub class: Durability,
    /// Its variants under the conditions of the baseline, the best first.
    pub variants: Vec<usize>,
    /// The median of each of them in the experiment's metric, divided by the best one's; `None` if that is
    /// no number, because the best's is 0.
    pub to_best: Vec<Option<f64>>,
    /// How many of them are not distinguishable from the best, itself included.
    pub tied: usize,
    /// How the best compares with the best of the stronger classes: whether giving up durability brings
    /// anything. None for the strongest class.
    pub against_stronger: Option<AgainstStronger>,
}

/// How the best variant of a class compares with the best of the stronger classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgainstStronger {
    /// Better than each of them.
    Better,
    /// Not distinguishable from this variant.
    Same(usize),
    /// Worse than this variant.
    Worse(usize),
}

/// Returns the alternatives to the baseline, the baseline included, by class, the strongest first; empty
/// where no target said what survives.
pub(super) fn by_durability(experiment: &ExperimentAnalysis) -> Vec<AtDurability> {
    let median = |variant: &usize| {
        let summary = experiment.variants[*variant].summaries.get(&experiment.metric);
        summary.map_or(f64::NAN, |summary| summary.median)
    };
    let is_as_strong = |one: Durability, other: Durability| one >= other;
    let ranked =
        rank_by_class(experiment, &Durability::ALL, is_as_strong, |variant| variant.durability);
    let bests: Vec<usize> = ranked.iter().map(|ranked| ranked.best).collect();
    let class = |(index, ranked): (usize, Ranked<Durability>)| {
        let variants = [vec![ranked.best], ranked.tied.clone(), ranked.worse].concat();
        let to_best = |variant: &usize| {
            let ratio = median(variant) / median(&ranked.best);
            ratio.is_finite().then_some(ratio)
        };
        AtDurability {
            class: ranked.class,
            to_best: variants.iter().map(to_best).collect(),
            tied: 1 + ranked.tied.len(),
            against_stronger: against(experiment, ranked.best, &bests[..index]),
            variants,
        }
    };
    ranked.into_iter().enumerate().map(class).collect()
}

/// Returns how a variant compares with the `stronger` ones; `None` if there are none.
fn against(
    experiment: &ExperimentAnalysis,
    own: usize,
    stronger: &[usize],
) -> Option<AgainstStronger> {
    let variants = &experiment.variants;
    let rank = |variant: usize| experiment.ranking.iter().position(|index| *index == variant);
    let is_tied = |other: usize| shares_a_group(&variants[own], &variants[other]);
    let best = stronger.iter().copied().min_by_key(|variant| rank(*variant))?;
    let tied = stronger.iter().copied().find(|variant| is_tied(*variant));
    Some(match tied {
        _ if rank(best) < rank(own) && !is_tied(best) => AgainstStronger::Worse(best),
        Some(tied) => AgainstStronger::Same(tied),
        None => AgainstStronger::Better,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::{Summary, VariantAnalysis};
    use crate::level::Settings;

    #[test]
    fn a_best_figure_of_zero_gives_the_others_no_ratio() {
        let variant = |number: i64, median: f64| {
            let summary = Summary::of(&[median; 7]);
            VariantAnalysis {
                summaries: BTreeMap::from([("busy_errors".to_owned(), summary.unwrap())]),
                durability: Some(Durability::Every),
                groups: ["a", "b"][number as usize].to_owned(),
                ..VariantAnalysis::made_up(Settings::from([("columns".to_owned(), number.into())]))
            }
        };
        let experiment = ExperimentAnalysis {
            metric: "busy_errors".to_owned(),
            variants: vec![variant(0, 0.0), variant(1, 3.0)],
            ranking: vec![0, 1],
            ..ExperimentAnalysis::default()
        };
        assert_eq!(by_durability(&experiment)[0].to_best, [None, None]);
    }
}
