//! The model of all configurations after the trials so far: a Gaussian process over categorical levels.
//!
//! The logarithm of a trial's cost is the sum of a constant, an effect of each level, of each pair and each triple
//! of levels, an effect of the block, and noise. Each factor has a weight: the effects of a pair vary by the
//! product of two weights, the effects of a triple by three, so a factor without effect hardly has interactions. Each pair has a
//! weight of its own in addition, since few of them interact.

mod matrix;
mod tables;
mod weights;

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

use lab::seed::SplitMix64;
use lab::tuning_plan::Space;

use matrix::Cholesky;
pub(super) use tables::{Part, Tables};
pub(super) use weights::Weights;
use weights::{Agreements, agreement};

/// The variance of the constant.
const CONSTANT: f64 = 1.0;

/// The trials that a model is fitted to.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    /// The configuration of each.
    pub(super) configurations: Vec<Vec<usize>>,
    /// The block of each.
    pub(super) blocks: Vec<u32>,
    /// The logarithm of the cost of each, less the mean of all.
    pub(super) costs: Vec<f64>,
    /// How many of them, the first ones, are trials of an earlier search.
    pub(super) earlier: usize,
    /// Whether the trial was stopped, so that its cost is the least that it can have been.
    pub(super) is_least: Vec<bool>,
}

/// How similar the surface of an earlier search is expected to be to this one's: the correlation of their effects.
const LIKENESS: f64 = 0.9;

/// Rounds in which the costs of stopped trials are estimated from one another.
const COMPLETIONS: usize = 2;

impl Data {
    /// Returns how far the search of one trial tells about the search of another.
    fn relation(&self, one: usize, other: usize) -> f64 {
        if self.are_of_one_search(one, other) { 1.0 } else { LIKENESS }
    }

    fn are_of_one_search(&self, one: usize, other: usize) -> bool {
        (one < self.earlier) == (other < self.earlier)
    }

    /// With the cost that is expected of each stopped trial by all others, whose covariance is factored, given that it is at
    /// least the one at which the trial was stopped.
    fn completed(mut self, factored: &Cholesky) -> Data {
        let stopped = (0..self.costs.len()).filter(|trial| self.is_least[*trial]);
        let of_trial =
            |trial: usize| (trial, self.costs[trial], factored.diagonal_of_inverse(trial));
        let stopped: Vec<(usize, f64, f64)> = stopped.map(of_trial).collect();
        let completions = if stopped.is_empty() { 0 } else { COMPLETIONS };
        for _ in 0..completions {
            let solved = factored.solve(&self.costs);
            for (trial, least, precision) in &stopped {
                let expected = self.costs[*trial] - solved[*trial] / precision;
                self.costs[*trial] = expected_above(*least, expected, 1.0 / precision.sqrt());
            }
        }
        self
    }
}

/// Returns the mean of what is normal with this mean and standard deviation and not below the least.
fn expected_above(least: f64, mean: f64, sd: f64) -> f64 {
    let at = (least - mean) / sd;
    let normal = Normal::standard();
    let hazard = normal.pdf(at) / normal.sf(at);
    // Far out, where both are next to zero, what is above the least is next to it.
    let expected = mean + sd * hazard;
    if expected.is_finite() { expected.max(least) } else { least }
}

/// A model that knows the trials.
pub(super) struct Model {
    data: Data,
    weights: Weights,
    factored: Cholesky,
    /// The mean of what the trials leave possible.
    pub(super) mean: Tables,
}

impl Model {
    /// `None` if rounding leaves no positive definite covariance.
    pub(super) fn new(space: &Space, data: Data, weights: Weights) -> Option<Model> {
        let agreements = Agreements::of(&data.configurations);
        let factored = Cholesky::new(weights.covariance(&data, &agreements))?;
        let data = data.completed(&factored);
        let mut model = Model { mean: Tables::zero(space, &weights), data, weights, factored };
        model.mean = model.conditioned(Tables::zero(space, &model.weights), &model.data.costs);
        Some(model)
    }

    /// One of the surfaces that the trials leave possible (Matheron's rule: a surface drawn ahead of all
    /// trials, moved by what the trials say of the difference).
    pub(super) fn draw(&self, space: &Space, generator: &mut SplitMix64) -> Tables {
        let tables = Tables::draw(space, &self.weights, generator);
        let constant = CONSTANT.sqrt() * generator.normal();
        let blocks = self.data.blocks.iter().max().map_or(0, |last| last + 1);
        let block_sd = self.weights.block().sqrt();
        let blocks: Vec<f64> = (0..blocks).map(|_| block_sd * generator.normal()).collect();
        let noise_sd = self.weights.noise().sqrt();
        let surface = |trial: usize| tables.at(&self.data.configurations[trial]) + constant;
        let earlier = self.draw_earlier(space, &tables, generator);
        let differences = (0..self.data.costs.len()).map(|trial| {
            let drawn = earlier.get(trial).copied().unwrap_or_else(|| surface(trial))
                + blocks[self.data.blocks[trial] as usize]
                + noise_sd * generator.normal();
            self.data.costs[trial] - drawn
        });
        let differences: Vec<f64> = differences.collect();
        self.conditioned(tables, &differences)
    }

    /// Draws the costs of an earlier search's trials, on a surface of its own that goes with a drawn one.
    fn draw_earlier(&self, space: &Space, drawn: &Tables, generator: &mut SplitMix64) -> Vec<f64> {
        if self.data.earlier == 0 {
            return Vec::new();
        }
        let constant = CONSTANT.sqrt() * generator.normal();
        let own = Tables::draw(space, &self.weights, generator);
        let own_share = (1.0 - LIKENESS * LIKENESS).sqrt();
        let trials = self.data.configurations[..self.data.earlier].iter();
        let cost = |configuration: &Vec<usize>| {
            constant + LIKENESS * drawn.at(configuration) + own_share * own.at(configuration)
        };
        trials.map(cost).collect()
    }

    /// Returns how far what a trial says is true of this search.
    fn to_this_search(&self, trial: usize) -> f64 {
        self.data.relation(trial, self.data.earlier)
    }

    fn conditioned(&self, mut tables: Tables, differences: &[f64]) -> Tables {
        let solved = self.factored.solve(differences);
        let trials = self.data.configurations.iter().zip(solved);
        for (trial, (configuration, amount)) in trials.enumerate() {
            tables.add(configuration, amount * self.to_this_search(trial));
        }
        tables
    }

    /// Returns the noise of a trial: the standard deviation of the logarithm of its cost.
    pub(super) fn noise(&self) -> f64 {
        self.weights.noise().sqrt()
    }

    /// By how much the costs of two configurations differ: the logarithm of their ratio, and its standard deviation.
    pub(super) fn difference(&self, of: &[usize], to: &[usize]) -> (f64, f64) {
        self.contrast(&[(1.0, of), (-1.0, to)])
    }

    /// Returns a sum of costs of configurations, each with a factor, and its standard deviation. The factors add up to zero.
    pub(super) fn contrast(&self, terms: &[(f64, &[usize])]) -> (f64, f64) {
        let mean = terms.iter().map(|(by, it)| by * self.mean.at(it)).sum();
        let relative = self.weights.relative();
        let between = |a: &[usize], b: &[usize]| self.weights.effects(&relative, agreement([a, b]));
        let with =
            |other: &[usize]| -> f64 { terms.iter().map(|(by, it)| by * between(it, other)).sum() };
        let ahead: f64 = terms.iter().map(|(by, it)| by * with(it)).sum();
        let trials = self.data.configurations.iter().enumerate();
        let shared = trials.map(|(trial, it)| self.to_this_search(trial) * with(it));
        let shared: Vec<f64> = shared.collect();
        let known: f64 = self.factored.solve(&shared).iter().zip(&shared).map(|(a, b)| a * b).sum();
        (mean, (ahead - known).max(0.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_trial_costs_at_least_what_it_was_stopped_at_and_as_much_as_others_let_expect() {
        let usual = expected_above(0.0, 0.0, 1.0);
        assert!((usual - 0.7979).abs() < 1e-3, "{usual}");
        let dear = expected_above(0.0, 5.0, 1.0);
        assert!((dear - 5.0).abs() < 1e-3, "{dear}");
        assert_eq!(expected_above(60.0, 0.0, 1.0), 60.0);
    }

    #[test]
    fn only_stopped_trials_are_completed() {
        let data = Data {
            configurations: vec![vec![0, 0], vec![0, 1], vec![0, 0], vec![1, 1]],
            blocks: vec![0; 4],
            costs: vec![0.5, 0.4, 0.1, -0.5],
            is_least: vec![false, false, true, false],
            earlier: 0,
        };
        let agreements = Agreements::of(&data.configurations);
        let covariance = Weights::expected(2).covariance(&data, &agreements);
        let factored = Cholesky::new(covariance).unwrap();
        let completed = data.clone().completed(&factored);
        assert!(completed.costs[2] > 0.2, "{:?}", completed.costs);
        for trial in [0, 1, 3] {
            assert_eq!(completed.costs[trial], data.costs[trial]);
        }
    }
}
