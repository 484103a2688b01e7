//! The figures of one metric, arranged so that variants can be compared.
//!
//! Comparisons are paired: within a round, a variant is set against another variant of its own block, or,
//! where the two ran in different blocks, through the baseline trials of both blocks. So the
//! drift of the machine between blocks cancels out.

use std::collections::{BTreeMap, HashMap};

use crate::design::Role;
use crate::stats::{Interval, Method, PairedSample, student_interval};

type BlockId = (u32, u32);

/// One metric over the trials of one experiment.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    variants: Vec<HashMap<u32, (BlockId, f64)>>,
    baselines: HashMap<BlockId, f64>,
    aa_checks: HashMap<BlockId, f64>,
}

impl Samples {
    /// No figures yet, for this many variants.
    pub fn new(variants: usize) -> Samples {
        Samples {
            variants: vec![HashMap::new(); variants],
            ..Samples::default()
        }
    }

    /// Adds the figure of one trial.
    pub fn add(&mut self, round: u32, block: u32, variant: usize, role: Role, value: f64) {
        let place = (round, block);
        match role {
            Role::Baseline => {
                self.baselines.insert(place, value);
            }
            Role::AaCheck => {
                self.aa_checks.insert(place, value);
            }
            Role::Variant => {
                self.variants[variant].insert(round, (place, value));
            }
            // Neither is compared with a variant.
            Role::UpperBound | Role::Counting => {}
        }
    }

    /// Every figure of a variant, in the order of rounds and blocks; the baseline has one per
    /// block.
    pub fn values(&self, variant: usize) -> Vec<f64> {
        let mut placed = self.placed(variant);
        placed.sort_unstable_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, value)| value).collect()
    }

    /// Every figure of a variant by round, those of the baseline's A/A checks among them, which are trials of
    /// the baseline as well.
    pub fn all_by_round(&self, variant: usize) -> BTreeMap<u32, Vec<f64>> {
        let mut placed = self.placed(variant);
        if variant == 0 {
            placed.extend(self.aa_checks.iter().map(|(place, value)| (*place, *value)));
        }
        by_round(placed)
    }

    /// The mean logarithm of a variant's figures in each round: the baseline may be measured in several
    /// blocks of one, which are no rounds of their own.
    pub fn mean_log_by_round(&self, variant: usize) -> Vec<f64> {
        let rounds = by_round(self.placed(variant)).into_values();
        let mean = |values: Vec<f64>| {
            values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64
        };
        rounds.map(mean).collect()
    }

    /// The logarithms of `of` divided by `to`, one for each round in which both were measured.
    ///
    /// Rounds whose ratio is no finite number (a size of zero, for example) are left out.
    pub fn log_ratios(&self, of: usize, to: usize) -> Vec<f64> {
        if of == to {
            return Vec::new();
        }
        let rounds = if of == 0 {
            &self.variants[to]
        } else {
            &self.variants[of]
        };
        let mut numbers: Vec<u32> = rounds.keys().copied().collect();
        numbers.sort_unstable();
        numbers
            .into_iter()
            .filter_map(|round| self.log_ratio(round, of, to))
            .filter(|ratio| ratio.is_finite())
            .collect()
    }

    /// The logarithms of `of` divided by `to`, divided by those of `over_of` by `over_to`, one for
    /// each round in which all four were measured.
    pub fn log_ratios_of_ratios(&self, [of, to, over_of, over_to]: [usize; 4]) -> Vec<f64> {
        let both = |round: &u32| {
            Some(self.log_ratio(*round, of, to)? - self.log_ratio(*round, over_of, over_to)?)
        };
        self.rounds()
            .iter()
            .filter_map(both)
            .filter(|ratio| ratio.is_finite())
            .collect()
    }

    /// The logarithms of this metric of a variant divided by another metric of the same trials, one for
    /// each round in which both were measured. Of the baseline, which a round may measure in
    /// several blocks, their mean.
    pub fn log_ratios_to_metric(&self, other: &Samples, variant: usize) -> Vec<f64> {
        self.to_metric(other, variant).into_values().collect()
    }

    /// As [`Samples::log_ratios_to_metric`] for one variant, less those of another in the same round.
    pub fn log_ratios_to_metric_compared(
        &self,
        other: &Samples,
        variant: usize,
        over: usize,
    ) -> Vec<f64> {
        let over = self.to_metric(other, over);
        self.to_metric(other, variant)
            .into_iter()
            .filter_map(|(round, ratio)| Some(ratio - over.get(&round)?))
            .collect()
    }

    fn to_metric(&self, other: &Samples, variant: usize) -> BTreeMap<u32, f64> {
        let mut by_round: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let theirs: HashMap<BlockId, f64> = other.placed(variant).into_iter().collect();
        for (place, value) in self.placed(variant) {
            let ratio = theirs.get(&place).map(|other| (value / other).ln());
            if let Some(ratio) = ratio.filter(|ratio| ratio.is_finite()) {
                by_round.entry(place.0).or_default().push(ratio);
            }
        }
        let mean = |ratios: Vec<f64>| ratios.iter().sum::<f64>() / ratios.len() as f64;
        by_round
            .into_iter()
            .map(|(round, ratios)| (round, mean(ratios)))
            .collect()
    }

    /// What a variant has more than the baseline of its block, one figure for each round in which it
    /// was measured, in the order of rounds.
    pub fn over_baseline(&self, variant: usize) -> Vec<f64> {
        let mut placed = if variant == 0 {
            Vec::new()
        } else {
            self.placed(variant)
        };
        placed.sort_unstable_by_key(|(place, _)| *place);
        placed
            .into_iter()
            .filter_map(|(place, value)| Some(value - self.baselines.get(&place)?))
            .collect()
    }

    /// What a variant has more than another one, one figure for each round in which both were measured, in
    /// the order of rounds. Variants of different blocks are compared through their baselines.
    pub fn differences(&self, of: usize, to: usize) -> Vec<f64> {
        if of == to {
            return Vec::new();
        }
        self.rounds()
            .into_iter()
            .filter_map(|round| self.difference(round, of, to))
            .collect()
    }

    fn difference(&self, round: u32, of: usize, to: usize) -> Option<f64> {
        let own_blocks = self.variants[of]
            .get(&round)
            .zip(self.variants[to].get(&round));
        match own_blocks {
            Some(((place_of, value_of), (place_to, value_to))) if place_of == place_to => {
                Some(value_of - value_to)
            }
            _ => Some(self.more_than_baseline(round, of)? - self.more_than_baseline(round, to)?),
        }
    }

    /// What the variant has more than its block's baseline in one round; zero for the baseline itself.
    fn more_than_baseline(&self, round: u32, variant: usize) -> Option<f64> {
        if variant == 0 {
            return Some(0.0);
        }
        let (place, value) = self.variants[variant].get(&round)?;
        Some(value - self.baselines.get(place)?)
    }

    /// Every figure of a variant with its block.
    fn placed(&self, variant: usize) -> Vec<(BlockId, f64)> {
        if variant == 0 {
            let baselines = self.baselines.iter();
            baselines.map(|(place, value)| (*place, *value)).collect()
        } else {
            self.variants[variant].values().copied().collect()
        }
    }

    /// The effect that these pairs of variants share, one figure for each round: the mean over the pairs
    /// of the logarithm of the first divided by the second. A round in which some pairs were not
    /// measured gives the mean of the others, freed of their own levels; one that lacks more than
    /// half of them gives none.
    pub fn mean_log_ratios(&self, pairs: &[(usize, usize)]) -> Vec<f64> {
        let rounds = self.rounds();
        let of_pair = |(of, to): &(usize, usize)| -> Vec<Option<f64>> {
            let ratio = |round: &u32| self.log_ratio(*round, *of, *to);
            let ratios = rounds.iter().map(ratio);
            ratios
                .map(|ratio| ratio.filter(|ratio| ratio.is_finite()))
                .collect()
        };
        let table: Vec<_> = pairs.iter().map(of_pair).collect();
        common_course(&table)
    }

    /// For each of these variants the logarithms of its figures over its blocks' baselines, one for each
    /// round of the experiment, none where it was not measured.
    pub fn log_rows(&self, variants: &[usize]) -> Vec<Vec<Option<f64>>> {
        let rounds = self.rounds();
        let row = |variant: &usize| {
            let figure = |round: &u32| self.log_over_baseline(*round, *variant);
            rounds.iter().map(figure).collect()
        };
        variants.iter().map(row).collect()
    }

    /// The level of all variants together, one figure for each round: the mean over the variants of the
    /// logarithm of their figures, with the same care for variants that a round lacks.
    pub fn mean_logs(&self) -> Vec<f64> {
        let rounds = self.rounds();
        let of_variant = |variant: &HashMap<u32, (BlockId, f64)>| -> Vec<Option<f64>> {
            let log = |round: &u32| Some(variant.get(round)?.1.ln());
            let logs = rounds.iter().map(log);
            logs.map(|log| log.filter(|log| log.is_finite())).collect()
        };
        // Without the baseline, which every block has measured.
        let table: Vec<_> = self.variants.iter().skip(1).map(of_variant).collect();
        common_course(&table)
    }

    /// The rounds in which any variant but the baseline was measured, in order.
    fn rounds(&self) -> Vec<u32> {
        let mut rounds: Vec<u32> = self
            .variants
            .iter()
            .flat_map(|variant| variant.keys().copied())
            .collect();
        rounds.sort_unstable();
        rounds.dedup();
        rounds
    }

    /// The logarithms of A/A check divided by baseline, one for each block.
    pub fn aa_check_log_ratios(&self) -> Vec<f64> {
        let mut placed: Vec<(BlockId, f64)> = self
            .aa_checks
            .iter()
            .filter_map(|(place, aa_check)| {
                Some((*place, (aa_check / self.baselines.get(place)?).ln()))
            })
            .filter(|(_, ratio)| ratio.is_finite())
            .collect();
        placed.sort_unstable_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, ratio)| ratio).collect()
    }

    /// The logarithm of the variant's figure over its block's baseline in one round; zero for the
    /// baseline itself, none where either is missing.
    pub fn log_over_baseline(&self, round: u32, variant: usize) -> Option<f64> {
        if variant == 0 {
            return Some(0.0);
        }
        let (place, value) = self.variants[variant].get(&round)?;
        let ratio = log_quotient(*value, *self.baselines.get(place)?);
        ratio.is_finite().then_some(ratio)
    }

    /// The logarithm of the variant's figure over both measurements of the baseline in its block (their
    /// geometric mean; the baseline alone where its A/A check is missing). Two have less noise than
    /// one, which counts where many variants are averaged. Zero for the baseline itself.
    pub fn log_over_baselines(&self, round: u32, variant: usize) -> Option<f64> {
        if variant == 0 {
            let measured = |place: &BlockId| place.0 == round;
            return self.baselines.keys().any(measured).then_some(0.0);
        }
        let (place, value) = self.variants[variant].get(&round)?;
        let baseline = self.baselines.get(place)?.ln();
        let level = match self.aa_checks.get(place) {
            Some(aa_check) => (baseline + aa_check.ln()) / 2.0,
            None => baseline,
        };
        let ratio = value.ln() - level;
        ratio.is_finite().then_some(ratio)
    }

    fn log_ratio(&self, round: u32, of: usize, to: usize) -> Option<f64> {
        let own_blocks = self.variants[of]
            .get(&round)
            .zip(self.variants[to].get(&round));
        match own_blocks {
            Some(((place_of, value_of), (place_to, value_to))) if place_of == place_to => {
                Some(log_quotient(*value_of, *value_to))
            }
            _ => Some(self.log_over_baseline(round, of)? - self.log_over_baseline(round, to)?),
        }
    }
}

/// The logarithm of one figure divided by another; two that are 0 are the same.
fn log_quotient(of: f64, to: f64) -> f64 {
    if of == to { 0.0 } else { (of / to).ln() }
}

/// Figures by round, in the order of blocks.
fn by_round(mut placed: Vec<(BlockId, f64)>) -> BTreeMap<u32, Vec<f64>> {
    placed.sort_unstable_by_key(|(place, _)| *place);
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((round, _), value) in placed {
        rounds.entry(round).or_default().push(value);
    }
    rounds
}

/// What the rows of a table (one column a round) have in common in each round: the mean of each
/// row is taken out, what is left is averaged over the rows measured in that round, and the mean of
/// all rows is put back. Rows never measured are left out, as are rounds that lack more than half of
/// the rest.
fn common_course(table: &[Vec<Option<f64>>]) -> Vec<f64> {
    let mean = |values: &mut dyn Iterator<Item = f64>| -> Option<f64> {
        let (sum, count) = values.fold((0.0, 0_u32), |(sum, n), value| (sum + value, n + 1));
        (count > 0).then(|| sum / f64::from(count))
    };
    let rows: Vec<(&Vec<Option<f64>>, f64)> = table
        .iter()
        .filter_map(|row| Some((row, mean(&mut row.iter().flatten().copied())?)))
        .collect();
    let Some(level) = mean(&mut rows.iter().map(|(_, level)| *level)) else {
        return Vec::new();
    };
    let rounds = rows.first().map_or(0, |(row, _)| row.len());
    (0..rounds)
        .filter_map(|round| {
            let left: Vec<f64> = rows
                .iter()
                .filter_map(|(row, level)| Some(row[round]? - level))
                .collect();
            let enough = 2 * left.len() >= rows.len();
            Some(level + mean(&mut left.into_iter()).filter(|_| enough)?)
        })
        .collect()
}

/// Log-ratios, or plain differences, of one comparison, ready to give an interval at any level.
#[derive(Clone, Debug)]
pub struct Comparison {
    diffs: Vec<f64>,
    ranks: PairedSample,
}

impl Comparison {
    /// From log-ratios; none where there are fewer than two or one is not finite.
    pub fn new(diffs: Vec<f64>) -> Option<Comparison> {
        let ranks = PairedSample::new(&diffs)
            .ok()
            .filter(|_| diffs.len() >= 2)?;
        Some(Comparison { diffs, ranks })
    }

    /// The number of rounds compared.
    pub fn rounds(&self) -> usize {
        self.diffs.len()
    }

    /// Whether there are too few rounds for the exact method, so that the answer is preliminary.
    pub fn preliminary(&self) -> bool {
        Method::for_blocks(self.diffs.len()) != Some(Method::Wilcoxon)
    }

    /// The log-ratios.
    pub fn diffs(&self) -> &[f64] {
        &self.diffs
    }

    /// The ratio: exp of the Hodges–Lehmann estimate, or of the mean where preliminary.
    pub fn ratio(&self) -> f64 {
        self.centre().exp()
    }

    /// The centre of the differences as they are: the Hodges–Lehmann estimate, or the mean where
    /// preliminary.
    pub fn centre(&self) -> f64 {
        if self.preliminary() {
            self.diffs.iter().sum::<f64>() / self.diffs.len() as f64
        } else {
            self.ranks.centre()
        }
    }

    /// The interval of the ratio with error rate `alpha`, both sides together. It reaches from
    /// nothing to infinity where so few rounds cannot attain the rate.
    pub fn interval(&self, alpha: f64) -> Interval {
        self.plain_interval(alpha).exp()
    }

    /// The interval of [`Comparison::centre`], in the unit of the differences.
    pub fn plain_interval(&self, alpha: f64) -> Interval {
        if self.preliminary() {
            student_interval(&self.diffs, alpha)
        } else {
            self.ranks.interval(alpha)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_of_one_block_are_compared_directly_and_others_through_their_baselines() {
        let mut samples = Samples::new(3);
        // The machine is twice as fast in block 1: the baselines say so.
        samples.add(0, 0, 0, Role::Baseline, 10.0);
        samples.add(0, 0, 1, Role::Variant, 20.0);
        samples.add(0, 1, 0, Role::Baseline, 20.0);
        samples.add(0, 1, 2, Role::Variant, 40.0);
        assert!((samples.log_ratios(2, 1)[0]).abs() < 1e-12);
        assert!((samples.log_ratios(1, 0)[0] - 2f64.ln()).abs() < 1e-12);
        assert!((samples.log_ratios(0, 2)[0] + 2f64.ln()).abs() < 1e-12);

        samples.add(1, 0, 0, Role::Baseline, 1000.0);
        samples.add(1, 0, 1, Role::Variant, 10.0);
        samples.add(1, 0, 2, Role::Variant, 30.0);
        assert!((samples.log_ratios(2, 1)[1] - 3f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_round_without_one_of_the_two_gives_no_ratio() {
        let mut samples = Samples::new(2);
        samples.add(0, 0, 1, Role::Variant, 5.0);
        samples.add(1, 0, 0, Role::Baseline, 5.0);
        assert!(samples.log_ratios(1, 0).is_empty());
        assert!(samples.log_ratios(0, 1).is_empty());
    }

    #[test]
    fn two_metrics_of_the_same_trials_are_divided_within_each_round() {
        let (mut upper, mut lower) = (Samples::new(2), Samples::new(2));
        for (round, baseline, variant) in [(0, 4.0, 9.0), (1, 8.0, 27.0)] {
            upper.add(round, 0, 0, Role::Baseline, baseline);
            lower.add(round, 0, 0, Role::Baseline, 2.0);
            upper.add(round, 0, 1, Role::Variant, variant);
            lower.add(round, 0, 1, Role::Variant, 3.0);
        }
        // Another block of the same round counts to the round's mean.
        upper.add(1, 1, 0, Role::Baseline, 16.0);
        lower.add(1, 1, 0, Role::Baseline, 2.0);
        // A round that lacks one of the two has no ratio.
        upper.add(2, 0, 1, Role::Variant, 5.0);
        let near = |found: Vec<f64>, wanted: &[f64]| {
            assert_eq!(found.len(), wanted.len());
            for (found, wanted) in found.iter().zip(wanted) {
                assert!((found.exp() / wanted - 1.0).abs() < 1e-9, "{found}");
            }
        };
        near(upper.log_ratios_to_metric(&lower, 0), &[2.0, 32f64.sqrt()]);
        near(upper.log_ratios_to_metric(&lower, 1), &[3.0, 9.0]);
        near(
            upper.log_ratios_to_metric_compared(&lower, 1, 0),
            &[1.5, 9.0 / 32f64.sqrt()],
        );
        assert_eq!(upper.over_baseline(1), [5.0, 19.0]);
        assert!(upper.over_baseline(0).is_empty());
    }

    #[test]
    fn variants_of_one_block_differ_by_themselves_and_others_by_what_they_are_over_their_baselines()
    {
        let mut samples = Samples::new(3);
        samples.add(0, 0, 0, Role::Baseline, 10.0);
        samples.add(0, 0, 1, Role::Variant, 15.0);
        samples.add(0, 0, 2, Role::Variant, 40.0);
        // The machine is slower in the second block of this round.
        samples.add(1, 0, 0, Role::Baseline, 10.0);
        samples.add(1, 0, 1, Role::Variant, 16.0);
        samples.add(1, 1, 0, Role::Baseline, 110.0);
        samples.add(1, 1, 2, Role::Variant, 143.0);
        // A round without one of the two has no difference of them.
        samples.add(2, 0, 0, Role::Baseline, 10.0);
        samples.add(2, 0, 2, Role::Variant, 50.0);
        assert_eq!(samples.differences(2, 1), [25.0, 27.0]);
        assert_eq!(samples.differences(1, 2), [-25.0, -27.0]);
        assert_eq!(samples.differences(2, 0), samples.over_baseline(2));
        assert_eq!(samples.differences(2, 0), [30.0, 33.0, 40.0]);
        assert!(samples.differences(1, 1).is_empty());
    }

    #[test]
    fn a_variant_is_set_against_both_baselines_of_its_block() {
        let mut samples = Samples::new(2);
        samples.add(0, 0, 0, Role::Baseline, 8.0);
        samples.add(0, 0, 0, Role::AaCheck, 2.0);
        samples.add(0, 0, 1, Role::Variant, 12.0);
        samples.add(1, 0, 0, Role::Baseline, 8.0);
        samples.add(1, 0, 1, Role::Variant, 16.0);
        assert!((samples.log_over_baselines(0, 1).unwrap() - 3f64.ln()).abs() < 1e-12);
        assert!((samples.log_over_baselines(1, 1).unwrap() - 2f64.ln()).abs() < 1e-12);
        assert_eq!(samples.log_over_baselines(1, 0), Some(0.0));
        assert_eq!(samples.log_over_baselines(2, 0), None);
        assert_eq!(samples.log_over_baselines(2, 1), None);
    }

    #[test]
    fn the_mean_over_pairs_is_that_of_the_pairs_measured_freed_of_their_own_levels() {
        let mut samples = Samples::new(6);
        // One pair differs by two, one by four, one by eight; round 1 has 10 % more of all three.
        let figures = [1.0, 2.0, 4.0, 16.0, 1.0, 8.0];
        for round in 0..3 {
            for (variant, figure) in figures.iter().enumerate() {
                let role = if variant == 0 {
                    Role::Baseline
                } else {
                    Role::Variant
                };
                let more = if round == 1 && variant % 2 == 1 {
                    1.1
                } else {
                    1.0
                };
                // Round 2 lacks the third pair.
                if (round, variant) != (2, 5) {
                    samples.add(round, 0, variant, role, figure * more);
                }
            }
        }
        let pairs = [(1, 0), (3, 2), (5, 4)];
        let means = samples.mean_log_ratios(&pairs);
        // The geometric mean of two, four and eight.
        let near = |found: f64, wanted: f64| {
            assert!((found.exp() / wanted - 1.0).abs() < 0.02, "{}", found.exp())
        };
        assert_eq!(means.len(), 3);
        near(means[0], 4.0);
        near(means[1], 4.4);
        near(means[2], 4.0);
        // A round with one of the three pairs is not enough.
        samples.add(3, 0, 0, Role::Baseline, 1.0);
        samples.add(3, 0, 1, Role::Variant, 2.0);
        assert_eq!(samples.mean_log_ratios(&pairs).len(), 3);
        assert!(samples.mean_log_ratios(&[]).is_empty());
        assert_eq!(samples.mean_logs().len(), 3);
    }

    #[test]
    fn few_rounds_are_preliminary() {
        let few = Comparison::new(vec![0.1, 0.2, 0.15]).unwrap();
        assert!(few.preliminary());
        assert!(few.interval(0.05).is_bounded());
        let enough = Comparison::new(vec![0.1; 7]).unwrap();
        assert!(!enough.preliminary());
        assert!((enough.ratio() - 0.1f64.exp()).abs() < 1e-12);
        assert!(Comparison::new(vec![0.1]).is_none());
    }
}
