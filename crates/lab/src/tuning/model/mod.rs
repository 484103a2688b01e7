//! What the trials so far say of every configuration: a Gaussian process over categorical levels.
//!
//! The logarithm of a trial's cost is the sum of a constant, an effect of each level, of each pair and each triple
//! of levels, an effect of the block, and noise. Each factor has a weight: the effects of a pair vary by the
//! product of two weights, those of a triple by three, so a factor without effect has no interactions either.

mod fit;
mod tables;
mod weights;

use super::matrix::Cholesky;
use super::space::Space;
use crate::seed::SplitMix64;

pub(super) use tables::Tables;
pub(super) use weights::Weights;

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
    /// None where rounding leaves no positive definite covariance.
    pub(super) fn new(space: &Space, data: Data, weights: Weights) -> Option<Model> {
        let factored = Cholesky::new(weights.covariance(&data))?;
        let mut model = Model {
            mean: Tables::zero(space),
            data,
            weights,
            factored,
        };
        model.mean = model.conditioned(Tables::zero(space), &model.data.costs);
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
        let differences = (0..self.data.costs.len()).map(|trial| {
            let drawn = tables.at(&self.data.configurations[trial])
                + constant
                + blocks[self.data.blocks[trial] as usize]
                + noise_sd * generator.normal();
            self.data.costs[trial] - drawn
        });
        let differences: Vec<f64> = differences.collect();
        self.conditioned(tables, &differences)
    }

    fn conditioned(&self, mut tables: Tables, differences: &[f64]) -> Tables {
        let solved = self.factored.solve(differences);
        for (configuration, amount) in self.data.configurations.iter().zip(solved) {
            tables.add(configuration, &self.weights, amount);
        }
        tables
    }

    /// The noise of a trial: the standard deviation of the logarithm of its cost.
    pub(super) fn noise(&self) -> f64 {
        self.weights.noise().sqrt()
    }

    /// By how much the costs of two configurations differ: the logarithm of their ratio, and its standard deviation.
    pub(super) fn difference(&self, of: &[usize], to: &[usize]) -> (f64, f64) {
        let mean = self.mean.at(of) - self.mean.at(to);
        let between = |a: &[usize], b: &[usize]| self.weights.effects(a, b);
        let ahead = between(of, of) + between(to, to) - 2.0 * between(of, to);
        let trials = self.data.configurations.iter();
        let shared: Vec<f64> = trials.map(|it| between(of, it) - between(to, it)).collect();
        let known: f64 = self
            .factored
            .solve(&shared)
            .iter()
            .zip(&shared)
            .map(|(a, b)| a * b)
            .sum();
        (mean, (ahead - known).max(0.0).sqrt())
    }
}
