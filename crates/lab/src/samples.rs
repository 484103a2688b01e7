//! The figures of one metric, arranged so that arms can be compared.
//!
//! Comparisons are paired: within a round, an arm is set against another arm of its own block, or,
//! where the two ran in different blocks, through the reference trials of both blocks. So the
//! drift of the machine between blocks cancels out.

use std::collections::{BTreeMap, HashMap};

use crate::design::Role;
use crate::stats::{Interval, Method, PairedSample, student_interval};

type BlockId = (u32, u32);

/// One metric over the trials of one experiment.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    arms: Vec<HashMap<u32, (BlockId, f64)>>,
    references: HashMap<BlockId, f64>,
    canaries: HashMap<BlockId, f64>,
}

impl Samples {
    /// No figures yet, for this many arms.
    pub fn new(arms: usize) -> Samples {
        Samples {
            arms: vec![HashMap::new(); arms],
            ..Samples::default()
        }
    }

    /// Adds the figure of one trial.
    pub fn add(&mut self, round: u32, block: u32, arm: usize, role: Role, value: f64) {
        let place = (round, block);
        match role {
            Role::Reference => {
                self.references.insert(place, value);
            }
            Role::Canary => {
                self.canaries.insert(place, value);
            }
            Role::Arm => {
                self.arms[arm].insert(round, (place, value));
            }
            // Neither is compared with an arm.
            Role::Limit | Role::Counting => {}
        }
    }

    /// Every figure of an arm, in the order of rounds and blocks; the reference has one per
    /// block.
    pub fn values(&self, arm: usize) -> Vec<f64> {
        let mut placed = self.placed(arm);
        placed.sort_unstable_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, value)| value).collect()
    }

    /// Every figure of an arm by round, those of the reference's canaries among them, which are trials of
    /// the reference as well.
    pub fn all_by_round(&self, arm: usize) -> BTreeMap<u32, Vec<f64>> {
        let mut placed = self.placed(arm);
        if arm == 0 {
            placed.extend(self.canaries.iter().map(|(place, value)| (*place, *value)));
        }
        by_round(placed)
    }

    /// The mean logarithm of an arm's figures in each round: the reference may be measured in several
    /// blocks of one, which are no rounds of their own.
    pub fn mean_log_by_round(&self, arm: usize) -> Vec<f64> {
        let rounds = by_round(self.placed(arm)).into_values();
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
            &self.arms[to]
        } else {
            &self.arms[of]
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

    /// The logarithms of this metric of an arm divided by another metric of the same trials, one for
    /// each round in which both were measured. Of the reference, which a round may measure in
    /// several blocks, their mean.
    pub fn log_ratios_to_metric(&self, other: &Samples, arm: usize) -> Vec<f64> {
        self.to_metric(other, arm).into_values().collect()
    }

    /// As [`Samples::log_ratios_to_metric`] for one arm, less those of another in the same round.
    pub fn log_ratios_to_metric_compared(
        &self,
        other: &Samples,
        arm: usize,
        over: usize,
    ) -> Vec<f64> {
        let over = self.to_metric(other, over);
        self.to_metric(other, arm)
            .into_iter()
            .filter_map(|(round, ratio)| Some(ratio - over.get(&round)?))
            .collect()
    }

    fn to_metric(&self, other: &Samples, arm: usize) -> BTreeMap<u32, f64> {
        let mut by_round: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let theirs: HashMap<BlockId, f64> = other.placed(arm).into_iter().collect();
        for (place, value) in self.placed(arm) {
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

    /// What an arm has more than the reference of its block, one figure for each round in which it
    /// was measured, in the order of rounds.
    pub fn over_reference(&self, arm: usize) -> Vec<f64> {
        let mut placed = if arm == 0 {
            Vec::new()
        } else {
            self.placed(arm)
        };
        placed.sort_unstable_by_key(|(place, _)| *place);
        placed
            .into_iter()
            .filter_map(|(place, value)| Some(value - self.references.get(&place)?))
            .collect()
    }

    /// What an arm has more than another one, one figure for each round in which both were measured, in
    /// the order of rounds. Arms of different blocks are compared through their references.
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
        let own_blocks = self.arms[of].get(&round).zip(self.arms[to].get(&round));
        match own_blocks {
            Some(((place_of, value_of), (place_to, value_to))) if place_of == place_to => {
                Some(value_of - value_to)
            }
            _ => Some(self.more_than_reference(round, of)? - self.more_than_reference(round, to)?),
        }
    }

    /// What the arm has more than its block's reference in one round; zero for the reference itself.
    fn more_than_reference(&self, round: u32, arm: usize) -> Option<f64> {
        if arm == 0 {
            return Some(0.0);
        }
        let (place, value) = self.arms[arm].get(&round)?;
        Some(value - self.references.get(place)?)
    }

    /// Every figure of an arm with its block.
    fn placed(&self, arm: usize) -> Vec<(BlockId, f64)> {
        if arm == 0 {
            let references = self.references.iter();
            references.map(|(place, value)| (*place, *value)).collect()
        } else {
            self.arms[arm].values().copied().collect()
        }
    }

    /// The effect that these pairs of arms share, one figure for each round: the mean over the pairs
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

    /// For each of these arms the logarithms of its figures over its blocks' references, one for each
    /// round of the experiment, none where it was not measured.
    pub fn log_rows(&self, arms: &[usize]) -> Vec<Vec<Option<f64>>> {
        let rounds = self.rounds();
        let row = |arm: &usize| {
            let figure = |round: &u32| self.log_over_reference(*round, *arm);
            rounds.iter().map(figure).collect()
        };
        arms.iter().map(row).collect()
    }

    /// The level of all arms together, one figure for each round: the mean over the arms of the
    /// logarithm of their figures, with the same care for arms that a round lacks.
    pub fn mean_logs(&self) -> Vec<f64> {
        let rounds = self.rounds();
        let of_arm = |arm: &HashMap<u32, (BlockId, f64)>| -> Vec<Option<f64>> {
            let log = |round: &u32| Some(arm.get(round)?.1.ln());
            let logs = rounds.iter().map(log);
            logs.map(|log| log.filter(|log| log.is_finite())).collect()
        };
        // Without the reference, which every block has measured.
        let table: Vec<_> = self.arms.iter().skip(1).map(of_arm).collect();
        common_course(&table)
    }

    /// The rounds in which any arm but the reference was measured, in order.
    fn rounds(&self) -> Vec<u32> {
        let mut rounds: Vec<u32> = self
            .arms
            .iter()
            .flat_map(|arm| arm.keys().copied())
            .collect();
        rounds.sort_unstable();
        rounds.dedup();
        rounds
    }

    /// The logarithms of canary divided by reference, one for each block.
    pub fn canary_log_ratios(&self) -> Vec<f64> {
        let mut placed: Vec<(BlockId, f64)> = self
            .canaries
            .iter()
            .filter_map(|(place, canary)| {
                Some((*place, (canary / self.references.get(place)?).ln()))
            })
            .filter(|(_, ratio)| ratio.is_finite())
            .collect();
        placed.sort_unstable_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, ratio)| ratio).collect()
    }

    /// The logarithm of the arm's figure over its block's reference in one round; zero for the
    /// reference itself, none where either is missing.
    pub fn log_over_reference(&self, round: u32, arm: usize) -> Option<f64> {
        if arm == 0 {
            return Some(0.0);
        }
        let (place, value) = self.arms[arm].get(&round)?;
        let ratio = log_quotient(*value, *self.references.get(place)?);
        ratio.is_finite().then_some(ratio)
    }

    /// The logarithm of the arm's figure over both measurements of the reference in its block (their
    /// geometric mean; the reference alone where its canary is missing). Two have less noise than
    /// one, which counts where many arms are averaged. Zero for the reference itself.
    pub fn log_over_references(&self, round: u32, arm: usize) -> Option<f64> {
        if arm == 0 {
            let measured = |place: &BlockId| place.0 == round;
            return self.references.keys().any(measured).then_some(0.0);
        }
        let (place, value) = self.arms[arm].get(&round)?;
        let reference = self.references.get(place)?.ln();
        let level = match self.canaries.get(place) {
            Some(canary) => (reference + canary.ln()) / 2.0,
            None => reference,
        };
        let ratio = value.ln() - level;
        ratio.is_finite().then_some(ratio)
    }

    fn log_ratio(&self, round: u32, of: usize, to: usize) -> Option<f64> {
        let own_blocks = self.arms[of].get(&round).zip(self.arms[to].get(&round));
        match own_blocks {
            Some(((place_of, value_of), (place_to, value_to))) if place_of == place_to => {
                Some(log_quotient(*value_of, *value_to))
            }
            _ => Some(self.log_over_reference(round, of)? - self.log_over_reference(round, to)?),
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
    fn arms_of_one_block_are_compared_directly_and_others_through_their_references() {
        let mut samples = Samples::new(3);
        // The machine is twice as fast in block 1: the references say so.
        samples.add(0, 0, 0, Role::Reference, 10.0);
        samples.add(0, 0, 1, Role::Arm, 20.0);
        samples.add(0, 1, 0, Role::Reference, 20.0);
        samples.add(0, 1, 2, Role::Arm, 40.0);
        assert!((samples.log_ratios(2, 1)[0]).abs() < 1e-12);
        assert!((samples.log_ratios(1, 0)[0] - 2f64.ln()).abs() < 1e-12);
        assert!((samples.log_ratios(0, 2)[0] + 2f64.ln()).abs() < 1e-12);

        samples.add(1, 0, 0, Role::Reference, 1000.0);
        samples.add(1, 0, 1, Role::Arm, 10.0);
        samples.add(1, 0, 2, Role::Arm, 30.0);
        assert!((samples.log_ratios(2, 1)[1] - 3f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_round_without_one_of_the_two_gives_no_ratio() {
        let mut samples = Samples::new(2);
        samples.add(0, 0, 1, Role::Arm, 5.0);
        samples.add(1, 0, 0, Role::Reference, 5.0);
        assert!(samples.log_ratios(1, 0).is_empty());
        assert!(samples.log_ratios(0, 1).is_empty());
    }

    #[test]
    fn two_metrics_of_the_same_trials_are_divided_within_each_round() {
        let (mut upper, mut lower) = (Samples::new(2), Samples::new(2));
        for (round, reference, arm) in [(0, 4.0, 9.0), (1, 8.0, 27.0)] {
            upper.add(round, 0, 0, Role::Reference, reference);
            lower.add(round, 0, 0, Role::Reference, 2.0);
            upper.add(round, 0, 1, Role::Arm, arm);
            lower.add(round, 0, 1, Role::Arm, 3.0);
        }
        // Another block of the same round counts to the round's mean.
        upper.add(1, 1, 0, Role::Reference, 16.0);
        lower.add(1, 1, 0, Role::Reference, 2.0);
        // A round that lacks one of the two has no ratio.
        upper.add(2, 0, 1, Role::Arm, 5.0);
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
        assert_eq!(upper.over_reference(1), [5.0, 19.0]);
        assert!(upper.over_reference(0).is_empty());
    }

    #[test]
    fn arms_of_one_block_differ_by_themselves_and_others_by_what_they_are_over_their_references() {
        let mut samples = Samples::new(3);
        samples.add(0, 0, 0, Role::Reference, 10.0);
        samples.add(0, 0, 1, Role::Arm, 15.0);
        samples.add(0, 0, 2, Role::Arm, 40.0);
        // The machine is slower in the second block of this round.
        samples.add(1, 0, 0, Role::Reference, 10.0);
        samples.add(1, 0, 1, Role::Arm, 16.0);
        samples.add(1, 1, 0, Role::Reference, 110.0);
        samples.add(1, 1, 2, Role::Arm, 143.0);
        // A round without one of the two has no difference of them.
        samples.add(2, 0, 0, Role::Reference, 10.0);
        samples.add(2, 0, 2, Role::Arm, 50.0);
        assert_eq!(samples.differences(2, 1), [25.0, 27.0]);
        assert_eq!(samples.differences(1, 2), [-25.0, -27.0]);
        assert_eq!(samples.differences(2, 0), samples.over_reference(2));
        assert_eq!(samples.differences(2, 0), [30.0, 33.0, 40.0]);
        assert!(samples.differences(1, 1).is_empty());
    }

    #[test]
    fn an_arm_is_set_against_both_references_of_its_block() {
        let mut samples = Samples::new(2);
        samples.add(0, 0, 0, Role::Reference, 8.0);
        samples.add(0, 0, 0, Role::Canary, 2.0);
        samples.add(0, 0, 1, Role::Arm, 12.0);
        samples.add(1, 0, 0, Role::Reference, 8.0);
        samples.add(1, 0, 1, Role::Arm, 16.0);
        assert!((samples.log_over_references(0, 1).unwrap() - 3f64.ln()).abs() < 1e-12);
        assert!((samples.log_over_references(1, 1).unwrap() - 2f64.ln()).abs() < 1e-12);
        assert_eq!(samples.log_over_references(1, 0), Some(0.0));
        assert_eq!(samples.log_over_references(2, 0), None);
        assert_eq!(samples.log_over_references(2, 1), None);
    }

    #[test]
    fn the_mean_over_pairs_is_that_of_the_pairs_measured_freed_of_their_own_levels() {
        let mut samples = Samples::new(6);
        // One pair differs by two, one by four, one by eight; round 1 has 10 % more of all three.
        let figures = [1.0, 2.0, 4.0, 16.0, 1.0, 8.0];
        for round in 0..3 {
            for (arm, figure) in figures.iter().enumerate() {
                let role = if arm == 0 { Role::Reference } else { Role::Arm };
                let more = if round == 1 && arm % 2 == 1 { 1.1 } else { 1.0 };
                // Round 2 lacks the third pair.
                if (round, arm) != (2, 5) {
                    samples.add(round, 0, arm, role, figure * more);
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
        samples.add(3, 0, 0, Role::Reference, 1.0);
        samples.add(3, 0, 1, Role::Arm, 2.0);
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
