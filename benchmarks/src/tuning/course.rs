//! The trials of a method that `pragmark tune` is compared with, and what all these methods share.

use super::simulation::{Surface, Trials};
use lab::seed::{Seed, SplitMix64};
use lab::tuning_plan::{Configuration, SearchTrial, Space};
use tuning::PER_BLOCK;

/// How many times the current settings' cost a trial that was stopped has for a method that needs a number.
const STOPPED: f64 = 2.5;

/// Trials on a surface until a budget is spent. They are measured in blocks like those of `pragmark tune`, but without
/// the current settings.
pub(super) struct Course<'a> {
    pub(super) surface: &'a Surface,
    pub(super) generator: SplitMix64,
    trials: Trials<'a>,
    budget: f64,
    number: usize,
    /// The configurations of all trials, and the logarithms of what they cost.
    pub(super) tried: Vec<(Configuration, f64)>,
}

impl<'a> Course<'a> {
    pub(super) fn new(surface: &'a Surface, seed: Seed, budget: f64) -> Course<'a> {
        Course {
            surface,
            generator: seed.child("method").generator(),
            trials: Trials::new(surface, seed),
            budget,
            number: 0,
            tried: Vec::new(),
        }
    }

    pub(super) fn space(&self) -> &'a Space {
        self.surface.space()
    }

    /// The part of the budget that was spent.
    pub(super) fn spent(&self) -> f64 {
        self.trials.spent() / self.budget
    }

    /// The logarithm of what a trial cost.
    pub(super) fn cost(&mut self, configuration: &[usize]) -> f64 {
        let block = self.number / (PER_BLOCK + 1);
        self.number += 1;
        let tried = SearchTrial {
            block: block as u32,
            outcome: self.trials.stopped(configuration, block as u32),
            configuration: configuration.to_vec(),
            constrained: Vec::new(),
        };
        let cost = tried.cost().unwrap_or(STOPPED).ln();
        self.tried.push((tried.configuration, cost));
        cost
    }

    /// The configurations known to be good, and then random ones: so many trials.
    pub(super) fn begin(&mut self, trials: usize) {
        let mut known = self.surface.good();
        for _ in 0..trials {
            let next = known.pop().unwrap_or_else(|| self.random());
            self.cost(&next);
        }
    }

    pub(super) fn random(&mut self) -> Configuration {
        let current = self.surface.current();
        self.space().random(&mut self.generator, &current)
    }

    /// The configuration with these levels, as far as it may be tried.
    pub(super) fn admissible(&self, levels: Configuration) -> Option<Configuration> {
        let levels = self.space().canonical(levels);
        self.space().admits(&levels).then_some(levels)
    }

    /// A level of a factor drawn by weights.
    pub(super) fn drawn(&mut self, weights: &[f64]) -> usize {
        let mut at = self.generator.uniform() * weights.iter().sum::<f64>();
        let passes = |weight: &f64| {
            at -= weight;
            at < 0.0
        };
        weights.iter().position(passes).unwrap_or(0)
    }

    /// The configuration with the lowest mean; the current settings where none was tried.
    pub(super) fn lowest_mean(&self) -> Configuration {
        let mean = |of: &Configuration| {
            let costs = self.tried.iter().filter(|(tried, _)| tried == of);
            let costs: Vec<f64> = costs.map(|(_, cost)| *cost).collect();
            mean(&costs)
        };
        let all = self.tried.iter().map(|(tried, _)| (mean(tried), tried));
        let lowest = all.min_by(|a, b| a.0.total_cmp(&b.0));
        lowest.map_or_else(|| self.surface.current(), |(_, tried)| tried.clone())
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
