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
        Samples { variants: vec![HashMap::new(); variants], ..Samples::default() }
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

    /// Returns every figure of a variant, in the order of rounds and blocks; the baseline has one per
    /// block.
    pub fn values(&self, variant: usize) -> Vec<f64> {
        let mut by_block = self.by_block(variant);
        by_block.sort_unstable_by_key(|(place, _)| *place);
        by_block.into_iter().map(|(_, value)| value).collect()
    }

    /// Returns every figure of a variant by round, including the baseline's A/A checks, which are trials of
    /// the baseline as well.
    pub fn all_by_round(&self, variant: usize) -> BTreeMap<u32, Vec<f64>> {
        let mut by_block = self.by_block(variant);
        if variant == 0 {
            by_block.extend(self.aa_checks.iter().map(|(place, value)| (*place, *value)));
        }
        by_round(by_block)
    }

    /// Returns the mean logarithm of a variant's figures in each round: the baseline may be measured in several
    /// blocks of one, which are not rounds of their own.
    pub fn mean_log_by_round(&self, variant: usize) -> Vec<f64> {
        let rounds = by_round(self.by_block(variant)).into_values();
        let mean = |values: Vec<f64>| {
            values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64
        };
        rounds.map(mean).collect()
    }

    /// Returns the logarithms of `of` divided by `to`, one for each round in which both were measured.
    ///
    /// Rounds whose ratio is not a finite number (a size of zero, for example) are left out.
    pub fn log_ratios(&self, of: usize, to: usize) -> Vec<f64> {
        if of == to {
            return Vec::new();
        }
        let rounds = self.variants[if of == 0 { to } else { of }].keys();
        let mut rounds: Vec<u32> = rounds.copied().collect();
        rounds.sort_unstable();
        let ratio = |round| self.log_ratio(round, of, to);
        rounds.into_iter().filter_map(ratio).collect()
    }

    /// Returns the logarithms of `of` divided by `to`, divided by the ratios of `over_of` by `over_to`, one for
    /// each round in which all four were measured.
    pub fn log_ratios_of_ratios(&self, [of, to, over_of, over_to]: [usize; 4]) -> Vec<f64> {
        let both = |round: &u32| {
            Some(self.log_ratio(*round, of, to)? - self.log_ratio(*round, over_of, over_to)?)
        };
        self.rounds().iter().filter_map(both).collect()
    }

    /// Returns the logarithms of this metric of a variant divided by another metric of the same trials, one for
    /// each round in which both were measured. Of the baseline, which a round may measure in
    /// several blocks, their mean.
    pub fn log_ratios_to_metric(&self, other: &Samples, variant: usize) -> Vec<f64> {
        self.to_metric(other, variant).into_values().collect()
    }

    /// As [`Samples::log_ratios_to_metric`] for one variant, less the other variant's in the same round.
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
        let theirs: HashMap<BlockId, f64> = other.by_block(variant).into_iter().collect();
        for (place, value) in self.by_block(variant) {
            let ratio = theirs.get(&place).map(|other| (value / other).ln());
            if let Some(ratio) = ratio.filter(|ratio| ratio.is_finite()) {
                by_round.entry(place.0).or_default().push(ratio);
            }
        }
        let mean = |ratios: Vec<f64>| ratios.iter().sum::<f64>() / ratios.len() as f64;
        by_round.into_iter().map(|(round, ratios)| (round, mean(ratios))).collect()
    }

    /// Returns the differences between two variants, one figure for each round in which both were measured, in
    /// the order of rounds. Variants of different blocks are compared through their baselines.
    pub fn differences(&self, of: usize, to: usize) -> Vec<f64> {
        if of == to {
            return Vec::new();
        }
        let difference = |round| self.compared(round, of, to, |of, to| of - to);
        self.rounds().into_iter().filter_map(difference).collect()
    }

    /// Two variants compared in one round: by themselves where they share a block, else each with the
    /// baseline of its own block.
    fn compared(
        &self,
        round: u32,
        of: usize,
        to: usize,
        compare: impl Fn(f64, f64) -> f64,
    ) -> Option<f64> {
        let [own, other] = [of, to].map(|variant| self.variants[variant].get(&round));
        if let Some(((_, of), (_, to))) = own.zip(other).filter(|(of, to)| of.0 == to.0) {
            return Some(compare(*of, *to));
        }
        let over_baseline = |variant: usize| self.compared_with_baseline(round, variant, &compare);
        Some(over_baseline(of)? - over_baseline(to)?)
    }

    /// Returns a variant compared with the baseline of its block in one round; zero for the baseline itself, none
    /// where either is missing or what they give is not a finite number.
    fn compared_with_baseline(
        &self,
        round: u32,
        variant: usize,
        compare: impl Fn(f64, f64) -> f64,
    ) -> Option<f64> {
        if variant == 0 {
            return Some(0.0);
        }
        let (block, value) = self.variants[variant].get(&round)?;
        let compared = compare(*value, *self.baselines.get(block)?);
        compared.is_finite().then_some(compared)
    }

    /// Returns every figure of a variant with its block.
    fn by_block(&self, variant: usize) -> Vec<(BlockId, f64)> {
        if variant == 0 {
            self.baselines.iter().map(|(place, value)| (*place, *value)).collect()
        } else {
            self.variants[variant].values().copied().collect()
        }
    }

    /// Returns the effect that these pairs of variants share, one figure for each round: the mean over the pairs
    /// of the logarithm of the first divided by the second. A round in which some pairs were not
    /// measured gives the mean of the others, freed of their own levels; one that lacks more than
    /// half of them gives none.
    pub fn mean_log_ratios(&self, pairs: &[(usize, usize)]) -> Vec<f64> {
        let rounds = self.rounds();
        let of_pair = |(of, to): &(usize, usize)| -> Vec<Option<f64>> {
            let ratio = |round: &u32| self.log_ratio(*round, *of, *to);
            rounds.iter().map(ratio).collect()
        };
        let table: Vec<_> = pairs.iter().map(of_pair).collect();
        common_course(&table)
    }

    /// For each of these variants the logarithms of its figures over its blocks' baselines, one for each
    /// round of the experiment, `None` if it was not measured.
    pub fn log_rows(&self, variants: &[usize]) -> Vec<Vec<Option<f64>>> {
        let rounds = self.rounds();
        let row = |variant: &usize| {
            let figure = |round: &u32| self.log_over_baseline(*round, *variant);
            rounds.iter().map(figure).collect()
        };
        variants.iter().map(row).collect()
    }

    /// Returns the level of all variants together, one figure for each round: the mean over the variants of the
    /// logarithm of their figures, with the same care for variants that a round lacks.
    pub fn mean_logs(&self) -> Vec<f64> {
        let rounds = self.rounds();
        let of_variant = |variant: &HashMap<u32, (BlockId, f64)>| -> Vec<Option<f64>> {
            let log = |round: &u32| Some(variant.get(round)?.1.ln());
            rounds.iter().map(log).map(|log| log.filter(|log| log.is_finite())).collect()
        };
        // Without the baseline, which every block has measured.
        let table: Vec<_> = self.variants.iter().skip(1).map(of_variant).collect();
        common_course(&table)
    }

    /// Returns the rounds in which any variant but the baseline was measured, in order.
    fn rounds(&self) -> Vec<u32> {
        let mut rounds: Vec<u32> =
            self.variants.iter().flat_map(|variant| variant.keys().copied()).collect();
        rounds.sort_unstable();
        rounds.dedup();
        rounds
    }

    /// Returns the logarithms of A/A check divided by baseline, one for each block.
    pub fn aa_check_log_ratios(&self) -> Vec<f64> {
        let mut by_block: Vec<(BlockId, f64)> = self
            .aa_checks
            .iter()
            .filter_map(|(place, aa_check)| {
                Some((*place, (aa_check / self.baselines.get(place)?).ln()))
            })
            .filter(|(_, ratio)| ratio.is_finite())
            .collect();
        by_block.sort_unstable_by_key(|(place, _)| *place);
        by_block.into_iter().map(|(_, ratio)| ratio).collect()
    }

    /// Returns the logarithm of the variant's figure over its block's baseline in one round; zero for the
    /// baseline itself, `None` if either is missing.
    pub fn log_over_baseline(&self, round: u32, variant: usize) -> Option<f64> {
        self.compared_with_baseline(round, variant, log_quotient)
    }

    /// Returns the logarithm of the variant's figure over both measurements of the baseline in its block (their
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

    /// Returns the logarithm of one variant's figure divided by another's in one round.
    fn log_ratio(&self, round: u32, of: usize, to: usize) -> Option<f64> {
        self.compared(round, of, to, log_quotient).filter(|ratio| ratio.is_finite())
    }
}

/// Returns the logarithm of one figure divided by another; two that are 0 are the same.
fn log_quotient(of: f64, to: f64) -> f64 {
    if of == to { 0.0 } else { (of / to).ln() }
}

/// Figures by round, in the order of blocks.
fn by_round(mut by_block: Vec<(BlockId, f64)>) -> BTreeMap<u32, Vec<f64>> {
    by_block.sort_unstable_by_key(|(place, _)| *place);
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((round, _), value) in by_block {
        rounds.entry(round).or_default().push(value);
    }
    rounds
}

/// Returns the common level of the rows of a table (one column a round) in each round: the mean of each
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
    let Some(level) = mean(&mut rows.iter().map(|(_, level)| *level)) else { return Vec::new() };
    let rounds = rows.first().map_or(0, |(row, _)| row.len());
    (0..rounds)
        .filter_map(|round| {
            let left: Vec<f64> =
                rows.iter().filter_map(|(row, level)| Some(row[round]? - level)).collect();
            let enough = 2 * left.len() >= rows.len();
            Some(level + mean(&mut left.into_iter()).filter(|_| enough)?)
        })
        .collect()
}

/// Log-ratios, or plain differences, of one comparison, ready to give an interval at any level.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The log-ratios.
    pub diffs: Vec<f64>,
    ranks: PairedSample,
}

impl Comparison {
    /// From log-ratios; `None` if there are fewer than two or one is not finite.
    pub fn new(diffs: Vec<f64>) -> Option<Comparison> {
        let ranks = PairedSample::new(&diffs).ok().filter(|_| diffs.len() >= 2)?;
        Some(Comparison { diffs, ranks })
    }

    /// Returns the number of rounds compared.
    pub fn rounds(&self) -> usize {
        self.diffs.len()
    }

    /// Returns whether there are too few rounds for the exact method, so that the answer is preliminary.
    pub fn preliminary(&self) -> bool {
        Method::for_blocks(self.diffs.len()) != Some(Method::Wilcoxon)
    }

    /// Returns the ratio: exp of the Hodges–Lehmann estimate, or of the mean where preliminary.
    pub fn ratio(&self) -> f64 {
        self.centre().exp()
    }

    /// Returns the centre of the differences as they are: the Hodges–Lehmann estimate, or the mean where
    /// preliminary.
    pub fn centre(&self) -> f64 {
        if self.preliminary() {
            self.diffs.iter().sum::<f64>() / self.diffs.len() as f64
        } else {
            self.ranks.centre()
        }
    }

    /// Returns the interval of the ratio with error rate `alpha`, both sides together. It reaches from
    /// nothing to infinity where so few rounds cannot attain the rate.
    pub fn interval(&self, alpha: f64) -> Interval {
        self.plain_interval(alpha).exp()
    }

    /// Returns the interval of [`Comparison::centre`], in the unit of the differences.
    pub fn plain_interval(&self, alpha: f64) -> Interval {
        if self.preliminary() {
            student_interval(&self.diffs, alpha)
        } else {
            self.ranks.interval(alpha)
        }
    }
}

#[cfg(test)]
mod tests;
