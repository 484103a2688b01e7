//! Many variants in order of merit, with the groups of ranks that are not distinguishable.
//!
//! Best of many is a dangerous phrase: the best of 54 identical variants looks several per cent
//! faster. So each pair of variants is tested on the rounds that both were measured in, and variants that
//! were not distinguished share a letter. Pairs with the baseline are corrected together (Benjamini–Hochberg),
//! as they are where effects are reported: a variant that is better than the baseline shares no letter with
//! it. All other pairs are corrected together as well. A pair that too few rounds compare shares no letter: one of the two has
//! none, so that a letter says only what was tested.
//!
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
//!
//! Median polish: the level of each variant in a table of variants and rounds, freed of the effects of the
//! rounds (Tukey, "Exploratory Data Analysis", 1977, chapter 11).

use super::descriptive::median;
use super::estimate::{are_enough, p_value};
use super::interval::SampleError;
use super::multiple::benjamini_hochberg;
use super::student::student_p_value;
use crate::metric::Better;

/// One variant in a ranking.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RankedVariant {
    /// The variant: its position in the table given, from zero.
    pub variant: usize,
    /// Its typical log value, freed of the effects of the rounds in which it was measured; `None`
    /// for a variant never measured, which comes last and is in no group.
    pub level: Option<f64>,
    /// The number of rounds in which it was measured.
    pub rounds: usize,
    /// Its groups, counted from zero in order of merit, ascending; pairs that too few rounds compare share one, because either
    /// may be as good.
    pub groups: Vec<usize>,
    /// The same of pairs that were tested alone; `None` where too few rounds compare it with others.
    pub tested: Option<Vec<usize>>,
}

/// Returns the labels of groups, one after another: a to z, A to Z, then `(53)` and so on.
pub fn letters(groups: &[usize]) -> String {
    groups.iter().map(|&group| letters_of(group)).collect()
}

/// Natural logarithms by variant and round; `None` if the variant was not measured in that round.
type Logarithms = [Vec<Option<f64>>];

/// A test of differences against a value, which returns its p-value.
type Test = fn(&[f64], f64) -> Result<f64, SampleError>;

/// Variants from the best to the worst.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Ranking {
    /// The variants in order of merit; equal ones keep the order of the table.
    pub variants: Vec<RankedVariant>,
    /// The number of groups.
    pub groups: usize,
}

/// Ranks variants from a table of natural logarithms: `table[variant][round]`, `None` where a variant was not
/// measured in a round. The first row is the baseline.
///
/// Two measured variants share a group exactly when they are not distinguished at rate `alpha` by the
/// paired test that their common rounds allow (see [`p_value`]), after correction over all pairs with the
/// baseline, or over all others; a pair whose common rounds are too few for their noise is never
/// distinguished ([`Estimate::supported`](super::Estimate::supported)). The order comes from a median polish of the table (Tukey, "Exploratory Data Analysis", 1977,
/// chapter 11), so that a variant is not judged by the luck of the rounds it missed.
///
/// # Panics
/// Where variants have different numbers of rounds, or a value is not the logarithm of a measured one.
pub fn rank_variants(table: &[Vec<Option<f64>>], better: Better, alpha: f64) -> Ranking {
    rank_by(table, better, alpha, p_value)
}

/// As [`rank_variants`], by the paired t test however many rounds there are: rank tests cannot attain rates far
/// below 5 % with seven rounds.
///
/// # Panics
/// As [`rank_variants`].
pub fn rank_variants_by_means(table: &[Vec<Option<f64>>], better: Better, alpha: f64) -> Ranking {
    rank_by(table, better, alpha, student_p_value)
}

fn rank_by(table: &Logarithms, better: Better, alpha: f64, test: Test) -> Ranking {
    assert!(is_well_formed(table), "a table of logarithms, one column a round");
    let levels = median_polish(table);
    // Positions of the variants from best to worst, variants without a level last.
    let sign = match better {
        Better::Lower => 1.0,
        Better::Higher => -1.0,
    };
    let key = |variant: usize| levels[variant].map_or(f64::INFINITY, |level| sign * level);
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
    let measured: Vec<usize> =
        order.iter().copied().filter(|&variant| levels[variant].is_some()).collect();
    let (same, untested) = undistinguished(table, &measured, alpha, test);
    let too_few = too_few(measured.len(), &untested);
    let of_told = same.iter().copied().filter(|(a, b)| !too_few[*a] && !too_few[*b]);
    let mut tested = cover(&Undistinguished::of(measured.len(), of_told));
    tested.retain(|group| !too_few[group[0]]);
    let groups = cover(&Undistinguished::of(measured.len(), same.into_iter().chain(untested)));
    let of_rank = |groups: &[Vec<usize>], rank: usize| -> Vec<usize> {
        (0..groups.len()).filter(|group| groups[*group].contains(&rank)).collect()
    };

    let variants: Vec<RankedVariant> = order
        .iter()
        .enumerate()
        .map(|(rank, &variant)| RankedVariant {
            variant,
            level: levels[variant],
            rounds: table[variant].iter().flatten().count(),
            groups: of_rank(&groups, rank),
            tested: (too_few.get(rank) != Some(&true)).then(|| of_rank(&tested, rank)),
        })
        .collect();
    Ranking { variants, groups: groups.len() }
}

/// Returns whether the rows have one length and hold logarithms of measured values only.
fn is_well_formed(table: &Logarithms) -> bool {
    let rounds = table.first().map_or(0, Vec::len);
    let is_log_value = |value: &f64| value.abs() < 1e6;
    table.iter().all(|row| row.len() == rounds && row.iter().flatten().all(is_log_value))
}

/// Variants that look further apart are not called alike where their rounds exclude it and only the correction for the number
/// of pairs does not let that count.
const ALIKE: f64 = 1.25;

/// The table row of the baseline.
const BASELINE: usize = 0;

/// Pairs of variants, numbered by rank.
type Pairs = Vec<(usize, usize)>;

/// Which of the measured variants are not distinguished by a test, and which too few rounds compare.
fn undistinguished(
    table: &Logarithms,
    measured: &[usize],
    alpha: f64,
    test: Test,
) -> (Pairs, Pairs) {
    let ranks = 0..measured.len();
    let pairs = ranks.flat_map(|a| (a + 1..measured.len()).map(move |b| (a, b)));
    let has_baseline = |&(a, b): &(usize, usize)| [measured[a], measured[b]].contains(&BASELINE);
    let (with_baseline, others): (Pairs, Pairs) = pairs.partition(has_baseline);
    let of_family = |family: &Pairs| undistinguished_pairs(table, measured, family, alpha, test);
    let ((mut same, mut untested), other) = (of_family(&with_baseline), of_family(&others));
    same.extend(other.0);
    untested.extend(other.1);
    (same, untested)
}

/// Returns which of `size` variants too few rounds compare with others: those compared with none, and of each other untested
/// pair the variant with more of them.
fn too_few(size: usize, untested: &Pairs) -> Vec<bool> {
    let counts = |pairs: &Pairs| {
        let mut counts = vec![0; size];
        pairs.iter().flat_map(|(a, b)| [*a, *b]).for_each(|rank| counts[rank] += 1);
        counts
    };
    let mut marked: Vec<bool> =
        counts(untested).iter().map(|count| size > 1 && count + 1 == size).collect();
    let mut left = untested.clone();
    loop {
        left.retain(|(a, b)| !marked[*a] && !marked[*b]);
        let counts = counts(&left);
        match (0..size).max_by_key(|rank| counts[*rank]) {
            Some(most) if !left.is_empty() => marked[most] = true,
            _ => return marked,
        }
    }
}

/// Returns the pairs of a family, by rank, that are not distinguished after correction over the family, and those that too few rounds compare.
fn undistinguished_pairs(
    table: &Logarithms,
    measured: &[usize],
    family: &Pairs,
    alpha: f64,
    test: Test,
) -> (Pairs, Pairs) {
    let of_pair = |&(a, b): &(usize, usize)| {
        let (to, of) = (measured[a].min(measured[b]), measured[a].max(measured[b]));
        ((a, b), pair_test(&table[of], &table[to], test))
    };
    let (tested, untested): (Vec<_>, Vec<_>) =
        (family.iter().map(of_pair)).partition(|(_, found)| found.is_some());
    let p_values: Vec<f64> = tested.iter().filter_map(|(_, found)| Some((*found)?.0)).collect();
    let adjusted = tested.into_iter().zip(benjamini_hochberg(&p_values));
    let same = adjusted.filter(|(_, q)| *q > alpha).map(|(pair, _)| pair);
    let is_open = |(_, found): &(_, Option<(f64, f64)>)| {
        found.is_none_or(|(p, size)| p <= alpha && size > ALIKE.ln())
    };
    let (open, same): (Vec<_>, Vec<_>) = same.chain(untested).partition(is_open);
    let pairs = |of: Vec<(_, _)>| of.into_iter().map(|(pair, _)| pair).collect();
    (pairs(same), pairs(open))
}

/// Returns the p-value of no difference between two variants on their common rounds, and how far apart they look; `None` if
/// these rounds are too few for their noise.
fn pair_test(of: &[Option<f64>], to: &[Option<f64>], test: Test) -> Option<(f64, f64)> {
    let diffs: Vec<f64> = of.iter().zip(to).filter_map(|(of, to)| Some((*of)? - (*to)?)).collect();
    are_enough(&diffs).then(|| Some((test(&diffs, 0.0).ok()?, median(&diffs)?.abs())))?
}

/// A symmetric relation between variants: which pairs are not distinguished.
#[derive(Clone, Debug)]
struct Undistinguished {
    size: usize,
    related: Vec<bool>,
}

impl Undistinguished {
    /// These pairs of `size` variants are not distinguished.
    fn of(size: usize, pairs: impl IntoIterator<Item = (usize, usize)>) -> Undistinguished {
        let mut related = vec![false; size * size];
        for (a, b) in pairs {
            related[a * size + b] = true;
            related[b * size + a] = true;
        }
        Undistinguished { size, related }
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

/// Returns the groups, each in ascending order of variants and all in order of their first variants. Variants are
/// numbered in order of rank. Every variant is in at least one group.
fn cover(relation: &Undistinguished) -> Vec<Vec<usize>> {
    let mut coverage =
        Coverage { size: relation.size, groups: vec![0; relation.size * relation.size] };
    let mut groups = Vec::new();
    for variant in 0..relation.size {
        while let Some(group) = next_group(variant, relation, &coverage) {
            for (a, b) in pairs(&group) {
                coverage.groups[a * coverage.size + b] += 1;
            }
            groups.push(group);
        }
        if !(0..relation.size).any(|other| other != variant && relation.holds(variant, other)) {
            groups.push(vec![variant]);
        }
    }
    groups.retain(|group| !coverage.remove_if_redundant(group));
    groups
}

/// Returns a group for the pair of `variant` and the farthest later variant that shares none with it yet. On a
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

/// Returns the pairs of a group, the lower variant first.
fn pairs(group: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    group.iter().enumerate().flat_map(|(index, &a)| group[index + 1..].iter().map(move |&b| (a, b)))
}

/// Returns the label of a group, counted from zero: a to z, A to Z, then the number in brackets, so that
/// labels can be written one after another without a separator.
fn letters_of(group: usize) -> String {
    let letters = ('a'..='z').chain('A'..='Z');
    letters.into_iter().nth(group).map_or_else(|| format!("({})", group + 1), String::from)
}

/// Returns the typical value of each variant when the effect of each round is taken out: medians over variants and
/// over rounds are removed in turn until they settle.
pub(super) fn median_polish(table: &Logarithms) -> Vec<Option<f64>> {
    const SWEEPS: usize = 20;
    const SETTLED: f64 = 1e-9;
    let rounds = table.first().map_or(0, Vec::len);
    let mut levels: Vec<Option<f64>> =
        table.iter().map(|row| row.iter().any(Option::is_some).then_some(0.0)).collect();
    let mut effects = Vec::new();
    for _ in 0..SWEEPS {
        effects = (0..rounds).map(|round| round_effect(table, &levels, round)).collect();
        let polished: Vec<Option<f64>> =
            table.iter().map(|row| typical_without(row, &effects)).collect();
        let moved = levels.iter().flatten().zip(polished.iter().flatten());
        let furthest = moved.map(|(old, new)| (old - new).abs()).fold(0.0, f64::max);
        levels = polished;
        if furthest < SETTLED {
            break;
        }
    }
    let common = median(&effects.into_iter().flatten().collect::<Vec<_>>()).unwrap_or(0.0);
    levels.into_iter().map(|level| level.map(|level| level + common)).collect()
}

/// Returns how far a round lies above the levels of the variants measured in it; `None` for an empty round.
fn round_effect(table: &Logarithms, levels: &[Option<f64>], round: usize) -> Option<f64> {
    let residuals =
        table.iter().zip(levels).filter_map(|(row, level)| Some(row[round]? - (*level)?));
    median(&residuals.collect::<Vec<_>>())
}

/// Returns the median of a variant's values with the effects of their rounds taken out.
fn typical_without(row: &[Option<f64>], effects: &[Option<f64>]) -> Option<f64> {
    let values = row.iter().zip(effects).filter_map(|(value, effect)| Some((*value)? - (*effect)?));
    median(&values.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::properties::fixed_seed;
    use super::*;

    /// Variants at the given levels, with a common round effect and a small scatter of their own.
    fn table(levels: &[f64], rounds: usize) -> Vec<Vec<Option<f64>>> {
        let scatter = |variant: usize, round: usize| {
            0.001 * ((variant * 31 + round * 17 + variant * round * 7) % 13) as f64
        };
        levels
            .iter()
            .enumerate()
            .map(|(variant, level)| {
                (0..rounds)
                    .map(|round| Some(level + 0.3 * (round as f64).sin() + scatter(variant, round)))
                    .collect()
            })
            .collect()
    }

    /// The number of variants that share a group with the best one, itself included.
    fn tied_with_best(ranking: &Ranking) -> usize {
        let best = &ranking.variants[0].groups;
        let shares =
            |variant: &&RankedVariant| variant.groups.iter().any(|group| best.contains(group));
        ranking.variants.iter().filter(shares).count()
    }

    fn order(ranking: &Ranking) -> Vec<usize> {
        ranking.variants.iter().map(|variant| variant.variant).collect()
    }

    fn letters(ranking: &Ranking) -> Vec<String> {
        let of =
            |variant: &RankedVariant| variant.tested.as_deref().map_or("?".into(), super::letters);
        ranking.variants.iter().map(of).collect()
    }

    #[test]
    fn distant_variants_get_their_own_letters_and_close_ones_share() {
        let table = table(&[2.0, 1.0, 1.0, 0.0], 8);
        let times = rank_variants(&table, Better::Lower, 0.05);
        assert_eq!(letters(&times), ["a", "b", "b", "c"]);
        assert_eq!(tied_with_best(&times), 1);
        assert_eq!((times.variants[0].variant, times.variants[3].variant, times.groups), (3, 0, 3));
        let rates = rank_variants(&table, Better::Higher, 0.05);
        assert_eq!((rates.variants[0].variant, rates.variants[3].variant), (0, 3));
        let tied = rank_variants(&table[1..3], Better::Lower, 0.05);
        assert_eq!(tied_with_best(&tied), 2);
    }

    #[test]
    fn a_variant_that_is_better_than_the_baseline_shares_no_letter_with_it() {
        // Beside two that are noisy, among six pairs, seven rounds are too few for its difference; among the
        // three comparisons with the baseline they are enough.
        let noisy = |shift: f64| -> Vec<Option<f64>> {
            let round = |round: usize| Some(((round * 5 % 7) as f64 + shift - 3.0) / 2.0);
            (0..7).map(round).collect()
        };
        let better = (0..7).map(|round| Some(1.0 + 0.01 * round as f64)).collect();
        let table = [vec![Some(0.0); 7], better, noisy(0.0), noisy(0.1)];
        let ranking = rank_variants(&table, Better::Higher, 0.05);
        let groups = |variant: usize| {
            let found = ranking.variants.iter().find(|it| it.variant == variant).unwrap();
            found.groups.clone()
        };
        assert!(groups(1).iter().all(|group| !groups(0).contains(group)));
        assert!(groups(2).iter().any(|group| groups(1).contains(group)));
    }

    #[test]
    fn a_variant_is_not_judged_by_the_rounds_it_missed() {
        let mut table = table(&[0.0, 0.1, 0.2], 9);
        // The rounds kept for the best variant are those in which every variant was slow.
        for round in [0, 3, 4, 5, 6] {
            table[0][round] = None;
        }
        let ranking = rank_variants(&table, Better::Lower, 0.05);
        assert_eq!(order(&ranking), [0, 1, 2]);
        assert_eq!(ranking.variants[0].rounds, 4);
    }

    #[test]
    fn variants_without_values_come_last_and_pairs_without_rounds_share() {
        let mut table = table(&[0.0, 1.0, 2.0], 8);
        table[0] = vec![None; 8];
        table[1][..4].fill(None);
        table[2][4..].fill(None);
        let ranking = rank_variants(&table, Better::Lower, 0.05);
        assert_eq!(order(&ranking), [1, 2, 0]);
        assert_eq!(letters(&ranking), ["?", "?", ""]);
        assert_eq!([0, 1].map(|rank| &ranking.variants[rank].groups), [&[0], &[0]]);
        assert_eq!(ranking.variants[2].level, None);
    }

    #[test]
    fn a_letter_says_only_what_was_tested() {
        // One variant of four is too noisy to be compared with any: 43 and 3,310 operations a second.
        let mut table = table(&[0.0, 1.0, 1.0, 5.0], 8);
        for (round, value) in table[3].iter_mut().enumerate() {
            *value = Some(if round % 2 == 0 { 9.0 } else { -7.0 });
        }
        let ranking = rank_variants(&table, Better::Higher, 0.05);
        let noisy = |it: &&RankedVariant| it.variant == 3;
        assert_eq!(ranking.variants.iter().find(noisy).unwrap().tested, None);
        let told = ranking.variants.iter().filter_map(|it| Some((it.variant, it.tested.clone()?)));
        assert_eq!(told.collect::<Vec<_>>(), [(1, vec![0]), (2, vec![0]), (0, vec![1])]);
        // With two rounds nothing is compared.
        let two: Vec<Vec<Option<f64>>> = table.iter().map(|row| row[..2].to_vec()).collect();
        assert_eq!(letters(&rank_variants(&two, Better::Higher, 0.05)), ["?"; 4]);
        assert_eq!(letters(&rank_variants(&table[..1], Better::Higher, 0.05)), ["a"]);
    }

    #[test]
    fn variants_that_only_the_correction_does_not_tell_apart_share_no_letter() {
        let table = table(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5], 7);
        let ranking = rank_variants(&table, Better::Higher, 0.05);
        assert_eq!((ranking.variants[0].variant, &ranking.variants[0].tested), (7, &None));
        assert!(ranking.variants[1..].iter().all(|it| it.tested == Some(vec![0])), "{ranking:?}");
    }

    #[test]
    fn nothing_to_rank_is_no_variant() {
        assert!(rank_variants(&[], Better::Lower, 0.05).variants.is_empty());
    }

    /// What a choice goes by: rank tests cannot tell anything apart at 1 % with seven rounds.
    #[test]
    fn means_distinguish_at_low_rates_where_ranks_cannot() {
        let table = table(&[0.0, 0.5, 1.0], 7);
        let groups = |ranking: Ranking| ranking.groups;
        assert_eq!(groups(rank_variants(&table, Better::Lower, 0.01)), 1);
        assert_eq!(groups(rank_variants_by_means(&table, Better::Lower, 0.01)), 3);
        let too_few: Vec<Vec<Option<f64>>> = table.iter().map(|row| row[..1].to_vec()).collect();
        assert_eq!(groups(rank_variants_by_means(&too_few, Better::Lower, 0.01)), 1);
    }

    #[test]
    #[should_panic(expected = "a table of logarithms")]
    fn rows_of_different_lengths_are_refused() {
        rank_variants(&[vec![Some(0.0)], vec![]], Better::Lower, 0.05);
    }

    #[test]
    #[should_panic(expected = "a table of logarithms")]
    fn what_is_no_logarithm_is_refused() {
        let infinite = [vec![Some(0.0), Some(f64::INFINITY)]];
        rank_variants(&infinite, Better::Lower, 0.05);
    }

    fn relation(size: usize, pairs: &[(usize, usize)]) -> Undistinguished {
        Undistinguished::of(size, pairs.iter().copied())
    }

    #[test]
    fn overlapping_neighbours_share_letters_in_runs() {
        let chain = relation(5, &[(0, 1), (0, 2), (1, 2), (2, 3), (1, 3)]);
        assert_eq!(cover(&chain), [vec![0, 1, 2], vec![1, 2, 3], vec![4]]);
    }

    #[test]
    fn variants_without_differences_are_one_group_and_distinct_variants_one_each() {
        let all = relation(3, &[(0, 1), (0, 2), (1, 2)]);
        assert_eq!(cover(&all), [vec![0, 1, 2]]);
        assert_eq!(cover(&relation(2, &[])), [vec![0], vec![1]]);
        assert!(cover(&relation(0, &[])).is_empty());
    }

    #[test]
    fn labels_never_run_into_each_other() {
        let labels: Vec<String> = [0, 25, 26, 51, 52, 99].into_iter().map(letters_of).collect();
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
            let groups = cover(&relation);
            for (a, b) in pairs(&variants) {
                let shared = groups.iter().any(|group| group.contains(&a) && group.contains(&b));
                prop_assert_eq!(shared, relation.holds(a, b));
            }
            prop_assert!(variants.iter().all(|variant| groups.iter().any(|group| group.contains(variant))));
        }
    }

    #[test]
    fn levels_of_an_additive_table_are_found_despite_gaps_and_one_wild_value() {
        let rounds = [0.0, 3.0, -1.0, 0.5, 2.0];
        let mut table: Vec<Vec<Option<f64>>> = [10.0, 11.0, 14.0, 15.0]
            .iter()
            .map(|level| rounds.iter().map(|round| Some(level + round)).collect())
            .collect();
        table[0][1] = None;
        table[2][0] = None;
        table[3][3] = Some(1000.0);
        let levels: Vec<f64> = median_polish(&table).into_iter().flatten().collect();
        let gaps: Vec<f64> = levels.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (gap, expected) in gaps.iter().zip([1.0, 3.0, 1.0]) {
            assert!((gap - expected).abs() < 1e-6, "{levels:?}");
        }
    }

    #[test]
    fn a_variant_without_values_has_no_level() {
        let table = [vec![Some(1.0), None], vec![None, None]];
        assert_eq!(median_polish(&table), [Some(1.0), None]);
        assert!(median_polish(&[]).is_empty());
    }
}
