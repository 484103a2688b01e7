//! Groups of variants that are not distinguishable, as a compact letter display.
//!
//! The display is Piepho's ("An algorithm for a letter-based representation of all-pairwise
//! comparisons", Journal of Computational and Graphical Statistics 13, 2004): two variants share a
//! letter exactly when they are not distinguished. In other words the letters are cliques that
//! together cover every edge of the graph of undistinguished pairs, and no other pair. Piepho's
//! insert-and-absorb builds all maximal cliques on its way, whose number can grow exponentially
//! with hundreds of noisy variants; a greedy cover with removal of redundant groups needs polynomial
//! time and gives nearly as few letters (Gramm et al., "Algorithms for compact letter displays:
//! comparison and evaluation", Computational Statistics & Data Analysis 52, 2007).

/// A symmetric relation between variants: which pairs are not distinguished.
#[derive(Clone, Debug)]
pub(super) struct Undistinguished {
    size: usize,
    related: Vec<bool>,
}

impl Undistinguished {
    /// No pair of `size` variants is related yet.
    pub(super) fn new(size: usize) -> Undistinguished {
        Undistinguished { size, related: vec![false; size * size] }
    }

    /// Marks two variants as not distinguished.
    pub(super) fn relate(&mut self, a: usize, b: usize) {
        self.related[a * self.size + b] = true;
        self.related[b * self.size + a] = true;
    }

    fn holds(&self, a: usize, b: usize) -> bool {
        self.related[a * self.size + b]
    }
}

/// How many of the groups built so far hold each pair.
struct Coverage {
    size: usize,
    groups: Vec<u32>,
}

impl Coverage {
    fn of(&self, a: usize, b: usize) -> u32 {
        self.groups[a.min(b) * self.size + a.max(b)]
    }

    fn add(&mut self, group: &[usize]) {
        for (a, b) in pairs(group) {
            self.groups[a * self.size + b] += 1;
        }
    }

    /// Takes the group out if all its pairs are held by other groups too, and says whether it did.
    fn remove_if_redundant(&mut self, group: &[usize]) -> bool {
        let redundant = group.len() > 1 && pairs(group).all(|(a, b)| self.of(a, b) > 1);
        if redundant {
            for (a, b) in pairs(group) {
                self.groups[a * self.size + b] -= 1;
            }
        }
        redundant
    }
}

/// The groups, each in ascending order of variants and all in order of their first variants. Variants are
/// numbered in order of rank. Every variant is in at least one group.
pub(super) fn groups(relation: &Undistinguished) -> Vec<Vec<usize>> {
    let mut coverage =
        Coverage { size: relation.size, groups: vec![0; relation.size * relation.size] };
    let mut groups = Vec::new();
    for variant in 0..relation.size {
        while let Some(group) = next_group(variant, relation, &coverage) {
            coverage.add(&group);
            groups.push(group);
        }
        if !(0..relation.size).any(|other| other != variant && relation.holds(variant, other)) {
            groups.push(vec![variant]);
        }
    }
    groups.retain(|group| !coverage.remove_if_redundant(group));
    groups
}

/// A group for the pair of `variant` and the farthest later variant that shares none with it yet. On a
/// relation without gaps in rank this is a longest run, so that the cover is the smallest there
/// is; elsewhere variants that bring uncovered pairs with `variant` come first.
fn next_group(
    variant: usize,
    relation: &Undistinguished,
    coverage: &Coverage,
) -> Option<Vec<usize>> {
    let later = variant + 1..relation.size;
    let related: Vec<usize> = later.filter(|&other| relation.holds(variant, other)).collect();
    let (uncovered, covered): (Vec<usize>, Vec<usize>) =
        related.into_iter().partition(|&other| coverage.of(variant, other) == 0);
    let farthest = *uncovered.last()?;
    let mut group = vec![variant, farthest];
    for other in uncovered.into_iter().chain(covered) {
        if other != farthest && group.iter().all(|&member| relation.holds(member, other)) {
            group.push(other);
        }
    }
    group.sort_unstable();
    Some(group)
}

/// The pairs of a group, the lower variant first.
fn pairs(group: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    group.iter().enumerate().flat_map(|(index, &a)| group[index + 1..].iter().map(move |&b| (a, b)))
}

/// The label of a group, counted from zero: a to z, A to Z, then the number in brackets, so that
/// labels can be written one after another without a separator.
pub(super) fn label(group: usize) -> String {
    let letters = ('a'..='z').chain('A'..='Z');
    letters.into_iter().nth(group).map_or_else(|| format!("({})", group + 1), String::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::properties::fixed_seed;
    use super::*;

    fn relation(size: usize, pairs: &[(usize, usize)]) -> Undistinguished {
        let mut relation = Undistinguished::new(size);
        for &(a, b) in pairs {
            relation.relate(a, b);
        }
        relation
    }

    #[test]
    fn overlapping_neighbours_share_letters_in_runs() {
        let chain = relation(5, &[(0, 1), (0, 2), (1, 2), (2, 3), (1, 3)]);
        assert_eq!(groups(&chain), [vec![0, 1, 2], vec![1, 2, 3], vec![4]]);
    }

    #[test]
    fn variants_without_differences_are_one_group_and_distinct_variants_one_each() {
        let all = relation(3, &[(0, 1), (0, 2), (1, 2)]);
        assert_eq!(groups(&all), [vec![0, 1, 2]]);
        assert_eq!(groups(&relation(2, &[])), [vec![0], vec![1]]);
        assert!(groups(&relation(0, &[])).is_empty());
    }

    #[test]
    fn labels_never_run_into_each_other() {
        let labels: Vec<String> = [0, 25, 26, 51, 52, 99].into_iter().map(label).collect();
        assert_eq!(labels, ["a", "z", "A", "Z", "(53)", "(100)"]);
    }

    proptest! {
        #![proptest_config(fixed_seed())]

        #[test]
        fn variants_share_a_group_exactly_when_related(
            related in prop::collection::vec(any::<bool>(), 12 * 11 / 2),
        ) {
            let variants: Vec<usize> = (0..12).collect();
            let chosen = pairs(&variants).zip(&related).filter(|(_, keep)| **keep);
            let relation = relation(12, &chosen.map(|(pair, _)| pair).collect::<Vec<_>>());
            let groups = groups(&relation);
            for (a, b) in pairs(&variants) {
                let shared = groups.iter().any(|group| group.contains(&a) && group.contains(&b));
                prop_assert_eq!(shared, relation.holds(a, b));
            }
            prop_assert!(variants.iter().all(|variant| groups.iter().any(|group| group.contains(variant))));
        }
    }
}
