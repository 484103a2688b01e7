//! The best variants of each class of safety, and whether a weaker class buys speed.

use super::{ExperimentAnalysis, VariantAnalysis};

/// The alternatives to the baseline in one class, the baseline included.
pub(super) struct Ranked<C> {
    pub(super) class: C,
    /// The best variant of the class.
    pub(super) best: usize,
    /// Others that are not distinguishable from it, the best first.
    pub(super) tied: Vec<usize>,
    /// The rest, from the best on.
    pub(super) worse: Vec<usize>,
    /// Whether the best is better than in every class that is at least as strong.
    pub(super) is_better: bool,
}

/// Returns the measured alternatives of each class that occurs, in the order of `classes`: of two that compare,
/// the one that `is_as_strong` as the other comes first.
pub(super) fn rank_by_class<C: Copy + PartialEq>(
    experiment: &ExperimentAnalysis,
    classes: &[C],
    is_as_strong: impl Fn(C, C) -> bool,
    class_of: impl Fn(&VariantAnalysis) -> Option<C>,
) -> Vec<Ranked<C>> {
    let variants = &experiment.variants;
    let is_ranked = |variant: &VariantAnalysis| {
        experiment.is_alternative(variant) && variant.summaries.contains_key(&experiment.metric)
    };
    let rank = |wanted: usize| experiment.ranking.iter().position(|index| *index == wanted);
    let is_tied = |one: usize, other: usize| shares_a_group(&variants[one], &variants[other]);
    let mut ranked: Vec<Ranked<C>> = Vec::new();
    for class in classes.iter().copied() {
        let mut of_class = experiment.ranking.iter().copied().filter(|index| {
            let variant = &variants[*index];
            is_ranked(variant) && class_of(variant) == Some(class)
        });
        let Some(best) = of_class.next() else { continue };
        let (tied, worse) = of_class.partition(|other| is_tied(best, *other));
        let beats = |rival: &Ranked<C>| {
            !is_as_strong(rival.class, class)
                || (rank(best) < rank(rival.best) && !is_tied(best, rival.best))
        };
        ranked.push(Ranked { class, best, tied, worse, is_better: ranked.iter().all(beats) });
    }
    ranked
}

/// Returns whether two variants are not distinguishable.
pub(super) fn shares_a_group(one: &VariantAnalysis, other: &VariantAnalysis) -> bool {
    shares_a_label(&one.groups, &other.groups)
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
