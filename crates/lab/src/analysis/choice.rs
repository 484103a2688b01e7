//! Which of several variants is chosen: on the same evidence always the same one.
//!
//! The best by its median changes from run to run where several are equally good. So of those that are
//! not firmly distinguishable from the best one is chosen by rules: the safest, else the baseline, else the usual one
//! (`synchronous` FULL before EXTRA), else the one that changes the fewest settings, else the first in the experiment. Where what the rules
//! choose looks much worse than the best, the rounds were too noisy to choose at all.
//!
//! The best variants of each class of safety, and whether a weaker class buys speed.

use super::{ExperimentAnalysis, UNTESTED, VariantAnalysis};
use crate::level::Level;
use crate::metric::{self, Better};
use crate::stats::{Estimate, Interval};

/// How many times better the best may look than what is chosen in its place.
pub(super) const NEAR: f64 = 1.25;

/// A variant that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// This one.
    Variant(usize),
    /// Nothing: this many are not distinguishable, and they look too different to take any of them.
    Unresolved(usize),
}

impl Choice {
    /// Returns the variant; `None` if nothing could be chosen.
    pub(super) fn variant(self) -> Option<usize> {
        match self {
            Choice::Variant(variant) => Some(variant),
            Choice::Unresolved(_) => None,
        }
    }
}

impl ExperimentAnalysis {
    /// Chooses among the baseline and its measured alternatives those that `may` be taken; `None` if there
    /// is none.
    pub(super) fn choose(&self, may: impl Fn(&VariantAnalysis) -> bool) -> Option<Choice> {
        let variants = &self.variants;
        let may_be_chosen = |index: &usize| {
            let variant = &variants[*index];
            let is_compared = variant.baseline || variant.effect.is_some();
            let is_measured = variant.summaries.contains_key(&self.metric);
            let is_within = variant.breaks.is_empty();
            is_compared
                && is_measured
                && (variant.baseline || variant.is_whole())
                && is_within
                && self.is_alternative(variant)
                && may(variant)
        };
        let candidates: Vec<usize> = self.ranking.iter().copied().filter(may_be_chosen).collect();
        let best = *candidates.first()?;
        let firm = |index: usize| &variants[index].firm_groups;
        let is_tied = |index: &usize| *index == best || shares_a_label(firm(best), firm(*index));
        let mut tied: Vec<usize> = candidates.into_iter().filter(is_tied).collect();
        let count = tied.len();
        // What was found to be better than the baseline comes before the baseline itself.
        let is_better = |index: &usize| self.is_found_better(&variants[*index]);
        if tied.contains(&0) && tied.iter().any(is_better) {
            tied.retain(is_better);
        }
        let first = tied.into_iter().min_by_key(|index| self.rule(*index))?;
        let is_near = self.size(best) <= NEAR * self.size(first);
        Some(if is_near { Choice::Variant(first) } else { Choice::Unresolved(count) })
    }

    /// Returns whether too few rounds compare two variants to say that they are not distinguishable.
    pub fn has_too_few_rounds(&self, one: usize, other: usize) -> bool {
        self.preliminary
            || [one, other].iter().any(|index| self.variants[*index].groups == UNTESTED)
    }

    /// Returns whether a variant is distinguishable from the baseline, and better.
    pub(super) fn is_found_better(&self, variant: &VariantAnalysis) -> bool {
        self.gain_of(variant).is_some_and(|(gain, _)| gain > 1.0)
    }

    /// Returns the sort key by which equally good variants are chosen.
    fn rule(&self, index: usize) -> impl Ord + use<> {
        let variant = &self.variants[index];
        let baseline = &self.variants[0].levels;
        let changes =
            variant.levels.iter().filter(|(name, level)| baseline.get(*name) != Some(level));
        let durability = std::cmp::Reverse(variant.durability);
        let synchronous = variant.settings.get("synchronous").and_then(Level::as_text);
        let is_unusual = synchronous.is_some_and(|level| level.eq_ignore_ascii_case("extra"));
        (durability, variant.class().order(), index != 0, is_unusual, changes.count(), index)
    }

    /// Returns how many times better than the baseline a variant looks; 1 for the baseline.
    fn size(&self, index: usize) -> f64 {
        let ratio = self.variants[index].estimate();
        let gain = ratio.and_then(|ratio| self.better_by(ratio));
        gain.filter(|_| index != 0).map_or(1.0, |(gain, _)| gain)
    }

    /// Returns how many times better than the baseline a variant of this ratio is, with its interval.
    pub(super) fn better_by(&self, ratio: &Estimate) -> Option<(f64, Interval)> {
        let (centre, interval) = (ratio.centre, ratio.interval);
        Some(match metric::find(&self.metric)?.better {
            Better::Higher => (centre, interval),
            Better::Lower => (1.0 / centre, interval.inverse()),
        })
    }

    /// Returns how many times better than the baseline a variant is, with its interval at 95 %; `None` if it
    /// cannot be distinguished.
    pub(super) fn gain_of(&self, variant: &VariantAnalysis) -> Option<(f64, Interval)> {
        let effect = variant.effect.as_ref().filter(|effect| effect.is_found())?;
        self.better_by(&effect.estimate)
    }

    /// Returns the variants that were compared with the baseline and might have been taken in its place.
    pub(super) fn candidates(&self) -> usize {
        let is_candidate =
            |variant: &&VariantAnalysis| variant.effect.is_some() && self.is_alternative(variant);
        self.variants.iter().filter(is_candidate).count()
    }
}

/// Returns whether there were too few rounds for more than a preliminary answer about a variant.
pub(super) fn is_preliminary(variant: &VariantAnalysis) -> bool {
    let estimate = variant.confirmation.as_ref().or(variant.estimate());
    estimate.is_some_and(|estimate| estimate.preliminary)
}

/// The alternatives to the baseline in one class, the baseline included.
pub(super) struct Ranked<C> {
    pub(super) class: C,
    /// The best variant of the class.
    pub(super) best: usize,
    /// Others that are not distinguishable from it, the best first.
    pub(super) tied: Vec<usize>,
    /// The rest, from the best on.
    pub(super) worse: Vec<usize>,
}

/// Returns the measured alternatives of each class that occurs, in the order of `classes`.
pub(super) fn rank_by_class<C: Copy + PartialEq>(
    experiment: &ExperimentAnalysis,
    classes: &[C],
    class_of: impl Fn(&VariantAnalysis) -> Option<C>,
) -> Vec<Ranked<C>> {
    let variants = &experiment.variants;
    let is_ranked = |variant: &VariantAnalysis| {
        experiment.is_alternative(variant) && variant.summaries.contains_key(&experiment.metric)
    };
    let is_tied = |one: usize, other: usize| shares_a_group(&variants[one], &variants[other]);
    let mut ranked: Vec<Ranked<C>> = Vec::new();
    for class in classes.iter().copied() {
        let mut of_class = experiment.ranking.iter().copied().filter(|index| {
            let variant = &variants[*index];
            is_ranked(variant) && class_of(variant) == Some(class)
        });
        let Some(best) = of_class.next() else { continue };
        let (tied, worse) = of_class.partition(|other| is_tied(best, *other));
        ranked.push(Ranked { class, best, tied, worse });
    }
    ranked
}

/// Returns whether two variants are not distinguishable, or too few rounds compare them.
pub(super) fn shares_a_group(one: &VariantAnalysis, other: &VariantAnalysis) -> bool {
    shares_a_label(&one.loose_groups, &other.loose_groups)
}

/// Returns whether two lists of groups have one in common.
pub(super) fn shares_a_label(one: &str, other: &str) -> bool {
    let groups = group_labels(other);
    group_labels(one).into_iter().any(|label| groups.contains(&label))
}

/// Returns the labels of groups one by one: letters, and from the 53rd on numbers in brackets.
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
