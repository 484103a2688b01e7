//! The safety tiers of variants, and the best variant at each of them.

use serde::Serialize;

use super::{ExperimentAnalysis, TrialCounts, VariantAnalysis};
use crate::design::Variant;
use crate::record::{PlannedExperiment, RunPlan, TierRecord};
use crate::target;
use crate::tier::{Class, Safety, TierPlan, TierSet, WORKLOAD};

/// The tiers that a run has measured.
pub(super) struct Tiers {
    engine: String,
    plan: Option<TierPlan>,
    records: Vec<TierRecord>,
}

impl Tiers {
    /// None so far.
    pub(super) fn new(plan: &RunPlan) -> Tiers {
        Tiers {
            engine: plan.engine.clone(),
            plan: plan.tiers.clone(),
            records: Vec::new(),
        }
    }

    /// Adds one.
    pub(super) fn add(&mut self, record: TierRecord) {
        self.records.push(record);
    }

    /// How the crash trials ended.
    pub(super) fn counts(&self) -> TrialCounts {
        let mut counts = TrialCounts::default();
        for record in &self.records {
            counts.add(&record.outcome);
        }
        counts
    }

    /// How safe a variant is; none where its experiment names no setting that decides it. An
    /// experiment that tries crashes has its tiers from its own trials.
    pub(super) fn safety_of(
        &self,
        planned: &PlannedExperiment,
        variant: &Variant,
    ) -> Option<Safety> {
        if planned.experiment.workload == WORKLOAD || !target::is_sqlite(&variant.settings) {
            return None;
        }
        let Some(plan) = &self.plan else {
            let varies_safety = !planned.crash_relevant.is_empty();
            return varies_safety.then(|| Safety::not_measured("this run measured no tiers"));
        };
        let set_of = |variant: &Variant| TierSet::of(&variant.settings, &plan.names, &self.engine);
        let mut of_sqlite = planned
            .variants
            .iter()
            .filter(|variant| target::is_sqlite(&variant.settings));
        if !of_sqlite.any(|variant| set_of(variant).decides()) {
            return None;
        }
        let set = set_of(variant);
        let record = self.records.iter().find(|record| record.set == set);
        Some(match record {
            Some(record) => Safety::of_outcome(&record.outcome),
            None => Safety::not_measured("the run did not come to it"),
        })
    }
}

/// The best variant at a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BestAtTier {
    /// The tier, without its counts.
    pub class: Class,
    /// The variant's place in the experiment.
    pub variant: usize,
    /// Other variants of the tier that cannot be told apart from it.
    pub tied: Vec<usize>,
    /// Whether no safer variant is as good: whether it belongs to the Pareto set of speed and safety.
    pub pareto: bool,
}

/// The best alternative to the baseline, the baseline included, at each tier that occurs, the
/// safest first. Empty where no tier was measured, and where the trials tried crashes, because there
/// is no speed to weigh against safety then.
pub(super) fn best_at_tiers(experiment: &ExperimentAnalysis) -> Vec<BestAtTier> {
    if experiment.workload == WORKLOAD {
        return Vec::new();
    }
    let ranked: Vec<usize> = experiment
        .ranking
        .iter()
        .copied()
        .filter(|index| {
            let variant = &experiment.variants[*index];
            experiment.is_alternative(variant) && variant.summaries.contains_key(&experiment.metric)
        })
        .collect();
    let mut best: Vec<BestAtTier> = Vec::new();
    for class in Class::ALL {
        let mut of_class = ranked
            .iter()
            .enumerate()
            .filter(|(_, index)| experiment.variants[**index].class() == Some(class));
        let Some((place, variant)) = of_class.next() else {
            continue;
        };
        let tied = |index: usize, other: usize| {
            shares_a_group(&experiment.variants[index], &experiment.variants[other])
        };
        let beats = |safer: &BestAtTier| {
            let safer_place = ranked.iter().position(|index| *index == safer.variant);
            safer_place.is_some_and(|safer_place| place < safer_place)
                && !tied(*variant, safer.variant)
        };
        let pareto = best.iter().all(beats);
        best.push(BestAtTier {
            class,
            variant: *variant,
            tied: of_class
                .map(|(_, other)| *other)
                .filter(|other| tied(*variant, *other))
                .collect(),
            pareto,
        });
    }
    best
}

/// Whether two variants cannot be told apart.
pub(super) fn shares_a_group(one: &VariantAnalysis, other: &VariantAnalysis) -> bool {
    let groups = group_labels(&other.groups);
    let mut own = group_labels(&one.groups).into_iter();
    own.any(|label| groups.contains(&label))
}

/// The labels of groups one by one: letters, and from the 53rd on numbers in brackets.
fn group_labels(groups: &str) -> Vec<&str> {
    let mut labels = Vec::new();
    let mut rest = groups;
    while let Some(first) = rest.chars().next() {
        let end = match (first, rest.find(')')) {
            ('(', Some(bracket)) => bracket + 1,
            _ => first.len_utf8(),
        };
        let (label, behind) = rest.split_at(end);
        labels.push(label);
        rest = behind;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_beyond_the_letters_are_told_apart_by_their_numbers() {
        assert_eq!(group_labels("aZ(53)(154)"), ["a", "Z", "(53)", "(154)"]);
        assert_eq!(group_labels(""), [""; 0]);
    }
}
