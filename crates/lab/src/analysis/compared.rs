//! How a variant stands to the baseline: the one judgement that all views repeat.

use super::effects::{Contrast, Effects, Interaction, MainEffect, PairEffect};
use super::{SteadinessCounts, VariantAnalysis};
use crate::metric::higher_is_better;
use crate::stats::Interval;

/// How a variant compares with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonResult {
    /// It is the baseline.
    Baseline,
    /// Better, in the metric's good direction.
    Better,
    /// Worse.
    Worse,
    /// No detectable difference.
    Same,
    /// Measured, but in too few rounds for their noise to be compared.
    Uncompared,
    /// Measured, but without a ratio, because a figure is 0.
    NoRatio,
    /// It was not measured.
    Unmeasured,
}

impl ComparisonResult {
    fn of_ratio(ratio: f64, metric: &str) -> ComparisonResult {
        if (ratio > 1.0) == higher_is_better(metric) {
            ComparisonResult::Better
        } else {
            ComparisonResult::Worse
        }
    }
}

impl VariantAnalysis {
    /// Returns how it compares with the baseline of its experiment.
    pub fn compared(&self, metric: &str) -> ComparisonResult {
        if self.unmeasured() {
            return ComparisonResult::Unmeasured;
        }
        match &self.effect {
            _ if self.baseline => ComparisonResult::Baseline,
            None if self.has_zero => ComparisonResult::NoRatio,
            None => ComparisonResult::Uncompared,
            Some(effect) if !effect.is_found() => ComparisonResult::Same,
            Some(effect) => ComparisonResult::of_ratio(effect.estimate.centre, metric),
        }
    }
}

impl Contrast {
    /// Returns how the level compares with the baseline's.
    pub fn compared(&self, metric: &str) -> ComparisonResult {
        match (self.is_supported(), self.is_found()) {
            (false, _) => ComparisonResult::Uncompared,
            (true, false) => ComparisonResult::Same,
            (true, true) => ComparisonResult::of_ratio(self.ratio, metric),
        }
    }

    /// Returns the ratio as a gain: above 1 in the metric's good direction.
    pub fn gain(&self, metric: &str) -> (f64, Interval) {
        if higher_is_better(metric) {
            (self.ratio, self.interval)
        } else {
            (1.0 / self.ratio, self.interval.inverse())
        }
    }
}

impl Effects {
    /// Returns the pair with the strongest interaction that was found for this level; `None` if the effect was
    /// not found to depend on another factor.
    pub fn interacting(&self, effect: &MainEffect) -> Option<&PairEffect> {
        let strength = |pair: &PairEffect| {
            let index = pair.factors.iter().position(|name| *name == effect.factor)?;
            let of_level = pair.cells.iter().filter(|cell| cell.levels[index] == effect.level);
            let found = of_level.filter(|cell| cell.contrast.is_found());
            found.map(|cell| cell.contrast.size()).reduce(f64::max)
        };
        let found = self.pairs.iter().filter_map(|pair| Some((strength(pair)?, pair)));
        let strongest = found.max_by(|(one, _), (other, _)| one.total_cmp(other));
        strongest.map(|(_, pair)| pair)
    }

    /// Returns the interactions that were found, the strongest first, each with its pair.
    pub fn interactions(&self) -> Vec<(&PairEffect, &Interaction)> {
        let pairs = self.pairs.iter();
        let all = pairs.flat_map(|pair| pair.cells.iter().map(move |cell| (pair, cell)));
        let mut found: Vec<_> = all.filter(|(_, cell)| cell.contrast.is_found()).collect();
        found.sort_by(|(_, a), (_, b)| b.contrast.size().total_cmp(&a.contrast.size()));
        found
    }
}

/// How most trials of a variant were unsteady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsteady {
    /// Throughput changed to the end.
    Drifting,
    /// Throughput grew and then held.
    Warming,
    /// One or the other.
    Both,
}

impl SteadinessCounts {
    /// Returns how most trials were unsteady; `None` if at least half of them were steady.
    pub fn mostly(&self) -> Option<Unsteady> {
        let all = self.warming + self.steady + self.drifting;
        let most = |count: usize| 2 * count > all;
        match (most(self.drifting), most(self.warming)) {
            (true, _) => Some(Unsteady::Drifting),
            (_, true) => Some(Unsteady::Warming),
            _ => most(self.drifting + self.warming).then_some(Unsteady::Both),
        }
    }
}
