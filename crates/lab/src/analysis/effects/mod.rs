//! Effects of each factor by itself and of pairs of factors, where the variants of an experiment cross
//! several factors: main effects, interactions of pairs, and shares of the variance.
//!
//! Everything is a contrast: a mean over settings of the other factors of differences of logarithms,
//! formed within each round from figures that are set against the baseline of their own block. A
//! round gives one value of it, and the interval is Student's over rounds, so that whatever trials
//! of one round share (a slow disk that evening) counts once and not as often as there are variants.
//! Student's interval rather than the signed-rank one, because a mean over many pairs is close to
//! normal, and because seven rounds cannot attain the error rate that a family of twenty leaves to
//! each member (see [`crate::stats::wilcoxon_smallest_alpha`]).
//!
//! Intervals hold together: with a chance of 95 % every interval of a family holds its true value
//! (Bonferroni). The families are all main effects of an experiment, all its interactions, and all
//! effects of one factor at one level of another. What is found is what such an interval excludes.

mod crossing;
mod shares;
mod table;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::level::{Level, Settings};
use crate::samples::Samples;
use crate::stats::{
    ALPHA, Interval, MIN_BLOCKS_FOR_ESTIMATE, MIN_BLOCKS_FOR_WILCOXON, mean, student_interval,
};

pub use shares::{FactorShare, PairShare, Shares};

use crossing::{Crossing, Term, pairs};
use table::Table;

/// Ends of an interval that are further apart say nothing but that there were too few rounds.
const WIDEST: f64 = 100.0;

/// The effects of the factors of a crossed design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effects {
    /// Rounds from which the intervals come.
    pub rounds: usize,
    /// Whether there were too few rounds for more than a preliminary answer.
    pub preliminary: bool,
    /// The chance with which all intervals of a family hold together.
    pub level: f64,
    /// The labels of variants that are in no comparison, because they were not measured in enough
    /// rounds.
    pub left_out: Vec<String>,
    /// Each level of each factor against the baseline's, the greatest effect first.
    pub main: Vec<MainEffect>,
    /// Pairs of factors with at least four variants that make a cross; the pair with the strongest
    /// interaction first.
    pub pairs: Vec<PairEffect>,
    /// How much of the differences between variants each factor and each pair accounts for; `None` if
    /// variants do not differ.
    pub shares: Option<Shares>,
}

/// A ratio with the interval that holds it together with its family's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// The estimated ratio, above zero.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
    /// Settings of the other factors over which it is a geometric mean.
    pub settings: usize,
    /// The smallest and the largest ratio among these settings, as estimated.
    pub range: Interval,
}

impl Contrast {
    /// Returns whether it differs from no effect.
    pub fn is_found(&self) -> bool {
        self.is_supported() && !self.interval.contains(1.0)
    }

    /// Returns whether there are rounds enough for the number of intervals that hold together: an interval that is
    /// wider than a factor of a hundred says nothing.
    pub fn is_supported(&self) -> bool {
        self.interval.high <= WIDEST * self.interval.low
    }

    /// Returns how far the ratio is from 1, whichever way: at least 1.
    pub fn size(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }

    /// Returns whether it goes the same way in every setting, as estimated.
    pub fn has_one_direction(&self) -> bool {
        !self.range.contains(1.0)
    }
}

/// One level of one factor against the baseline's level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MainEffect {
    /// The factor.
    pub factor: String,
    /// The level.
    pub level: Level,
    /// The level of the baseline.
    pub instead_of: Level,
    /// The ratio in the experiment's metric, a mean over the settings of the other factors.
    pub contrast: Contrast,
}

/// Two factors together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairEffect {
    /// The factors.
    pub factors: [String; 2],
    /// Their levels, the baseline's first.
    pub levels: [Vec<Level>; 2],
    /// For each two levels that are not the baseline's: the ratio of both together, divided by the
    /// product of the ratios of each alone. 1 means that the two do not care for each other.
    pub cells: Vec<Interaction>,
    /// The effect of each level of one factor at each level of the other.
    pub simple: Vec<SimpleEffect>,
}

impl PairEffect {
    /// Returns whether any two levels are found to work differently together than apart.
    pub fn is_found(&self) -> bool {
        self.cells.iter().any(|cell| cell.contrast.is_found())
    }

    /// Returns the interaction of two levels; `None` if they were not measured together.
    pub fn cell(&self, levels: [&Level; 2]) -> Option<&Interaction> {
        let wanted = |cell: &&Interaction| cell.levels.iter().eq(levels);
        self.cells.iter().find(wanted)
    }
}

/// The joint effect of two levels beyond the effects of each alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interaction {
    /// The levels, in the order of the pair's factors.
    pub levels: [Level; 2],
    /// The ratio of ratios.
    pub contrast: Contrast,
}

/// One level of a factor against the baseline's level, where another factor has one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimpleEffect {
    /// The factor.
    pub factor: String,
    /// The level.
    pub level: Level,
    /// The level of the baseline.
    pub instead_of: Level,
    /// The other factor.
    pub other: String,
    /// The level of the other factor.
    pub at: Level,
    /// The ratio.
    pub contrast: Contrast,
}

impl Effects {
    /// Returns the effects of an experiment whose variants hold these levels and have these labels, the
    /// baseline first; `order` is the order of levels, `rounds` the number of rounds begun. None
    /// where no two factors are crossed, or where there are too few whole rounds.
    pub fn of(
        levels: &[&Settings],
        labels: &[&str],
        order: &BTreeMap<String, Vec<Level>>,
        samples: &Samples,
        rounds: u32,
    ) -> Option<Effects> {
        // Most experiments cross nothing, which the plan tells without looking at figures.
        let planned = Crossing::of(levels, order);
        planned.pairs_of_factors().next()?;

        let table = Table::of(samples, levels.len(), rounds);
        if table.rounds() < MIN_BLOCKS_FOR_ESTIMATE {
            return None;
        }
        let measured: Vec<&Settings> =
            table.variants.iter().map(|variant| levels[*variant]).collect();
        let crossing = Crossing::of(&measured, order);
        crossing.pairs_of_factors().next()?;
        let is_left_out = |variant: &usize| !table.variants.contains(variant);
        Some(Effects {
            rounds: table.rounds(),
            preliminary: table.rounds() < MIN_BLOCKS_FOR_WILCOXON,
            level: 1.0 - ALPHA,
            left_out: (0..levels.len())
                .filter(is_left_out)
                .map(|variant| labels[variant].to_owned())
                .collect(),
            main: crossing.main_effects(&table),
            pairs: crossing.pair_effects(&table),
            shares: Shares::of(&crossing, &table),
        })
    }
}

/// Values by pair of factors.
type ByPair<T> = BTreeMap<(usize, usize), Vec<T>>;

impl Crossing {
    /// Returns the pairs of factors with at least four variants that make a cross.
    fn pairs_of_factors(&self) -> impl Iterator<Item = (usize, usize)> {
        pairs(self.factors.len()).filter(|(one, two)| {
            self.cells(*one, *two).any(|(a, b)| !self.quads((*one, a), (*two, b)).is_empty())
        })
    }

    /// Returns the pairs of levels of two factors that are not the baseline's.
    fn cells(&self, one: usize, two: usize) -> impl Iterator<Item = (usize, usize)> {
        let (ones, twos) = (&self.factors[one], &self.factors[two]);
        ones.others().flat_map(|a| twos.others().map(move |b| (a, b)))
    }

    fn main_effects(&self, table: &Table) -> Vec<MainEffect> {
        let all = (0..self.factors.len())
            .flat_map(|factor| self.factors[factor].others().map(move |level| (factor, level)));
        let terms = all.map(|(factor, level)| ((factor, level), self.pairs(factor, level)));
        let mut effects: Vec<MainEffect> = family(table, terms.collect())
            .into_iter()
            .map(|((factor, level), contrast)| {
                let factor = &self.factors[factor];
                MainEffect {
                    factor: factor.name.clone(),
                    level: factor.levels[level].clone(),
                    instead_of: factor.levels[factor.baseline].clone(),
                    contrast,
                }
            })
            .collect();
        effects.sort_by(|a, b| b.contrast.size().total_cmp(&a.contrast.size()));
        effects
    }

    fn pair_effects(&self, table: &Table) -> Vec<PairEffect> {
        let pairs: Vec<(usize, usize)> = self.pairs_of_factors().collect();
        let mut interactions = self.interactions(table, &pairs);
        let mut simple = self.simple_effects(table, &pairs);
        let mut effects: Vec<PairEffect> = pairs
            .into_iter()
            .map(|(one, two)| PairEffect {
                factors: [one, two].map(|factor| self.factors[factor].name.clone()),
                levels: [one, two].map(|factor| self.baseline_first(factor)),
                cells: interactions.remove(&(one, two)).unwrap_or_default(),
                simple: simple.remove(&(one, two)).unwrap_or_default(),
            })
            .collect();
        let strength = |pair: &PairEffect| {
            let sizes = pair.cells.iter().map(|cell| cell.contrast);
            let found = sizes.clone().filter(Contrast::is_found);
            let largest = |size: f64, contrast: Contrast| size.max(contrast.size());
            (found.fold(0.0, largest), sizes.fold(0.0, largest))
        };
        effects.sort_by(|a, b| {
            let (a, b) = (strength(a), strength(b));
            b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        effects
    }

    fn baseline_first(&self, factor: usize) -> Vec<Level> {
        let factor = &self.factors[factor];
        let places = [factor.baseline].into_iter().chain(factor.others());
        places.map(|level| factor.levels[level].clone()).collect()
    }

    /// Returns all interactions of the experiment: one family.
    fn interactions(&self, table: &Table, pairs: &[(usize, usize)]) -> ByPair<Interaction> {
        let mut terms = Vec::new();
        for &(one, two) in pairs {
            for (a, b) in self.cells(one, two) {
                terms.push((((one, a), (two, b)), self.quads((one, a), (two, b))));
            }
        }
        let mut by_pair = ByPair::new();
        for (((one, a), (two, b)), contrast) in family(table, terms) {
            by_pair.entry((one, two)).or_default().push(Interaction {
                levels: [self.factors[one].levels[a].clone(), self.factors[two].levels[b].clone()],
                contrast,
            });
        }
        by_pair
    }

    /// Returns all effects of one factor at one level of another: one family, so that whichever of them a
    /// sentence picks, its interval holds.
    fn simple_effects(&self, table: &Table, pairs: &[(usize, usize)]) -> ByPair<SimpleEffect> {
        let mut terms = Vec::new();
        for &(one, two) in pairs {
            for (factor, other) in [(one, two), (two, one)] {
                for level in self.factors[factor].others() {
                    for at in 0..self.factors[other].levels.len() {
                        let pairs_at = self.pairs_at(factor, level, (other, at));
                        terms.push((((one, two), (factor, level), (other, at)), pairs_at));
                    }
                }
            }
        }
        let mut by_pair = ByPair::new();
        for ((pair, (factor, level), (other, at)), contrast) in family(table, terms) {
            let (factor, other) = (&self.factors[factor], &self.factors[other]);
            by_pair.entry(pair).or_default().push(SimpleEffect {
                factor: factor.name.clone(),
                level: factor.levels[level].clone(),
                instead_of: factor.levels[factor.baseline].clone(),
                other: other.name.clone(),
                at: other.levels[at].clone(),
                contrast,
            });
        }
        by_pair
    }
}

/// Returns the contrasts of one family, without those whose settings were not measured.
fn family<K>(table: &Table, terms: Vec<(K, Vec<Term>)>) -> Vec<(K, Contrast)> {
    let terms: Vec<_> = terms.into_iter().filter(|(_, terms)| !terms.is_empty()).collect();
    let alpha = ALPHA / terms.len().max(1) as f64;
    terms.into_iter().map(|(key, terms)| (key, contrast(table, &terms, alpha))).collect()
}

/// Sizes and counts are the same in every round, so that rounding would be the only spread, and the
/// narrowest interval would exclude 1.
fn without_rounding(difference: f64) -> f64 {
    const ROUNDING: f64 = 1e-12;
    if difference.abs() < ROUNDING { 0.0 } else { difference }
}

/// Returns the mean over settings, with its interval over rounds at error rate `alpha`.
fn contrast(table: &Table, terms: &[Term], alpha: f64) -> Contrast {
    let difference = |term: &Term, round: usize| -> f64 {
        let parts = term.iter().map(|(row, sign)| sign * table.values[*row][round]);
        without_rounding(parts.sum())
    };
    let count = terms.len() as f64;
    let by_round: Vec<f64> = (0..table.rounds())
        .map(|round| terms.iter().map(|term| difference(term, round)).sum::<f64>() / count)
        .collect();
    let rounds = table.rounds() as f64;
    let by_setting = terms
        .iter()
        .map(|term| (0..table.rounds()).map(|round| difference(term, round)).sum::<f64>() / rounds);
    let (low, high) = by_setting.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    Contrast {
        ratio: mean(&by_round).expect("finite logarithms of at least one round").exp(),
        interval: student_interval(&by_round, alpha).exp(),
        settings: terms.len(),
        range: Interval { low, high }.exp(),
    }
}
