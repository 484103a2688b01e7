//! The variances of the model.

use super::{CONSTANT, Data};
use crate::tuning::matrix::Cholesky;

/// Variances that hold for all factors: effects of levels, of pairs and of triples, of blocks, and noise.
const SHARED: usize = 5;

/// The logarithms of the variances: the shared ones, then the weight of each factor.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::tuning) struct Weights(pub(super) Vec<f64>);

/// Where the logarithm of a variance is expected ahead of all trials, and by how much it may differ.
const EXPECTED: [(f64, f64); SHARED] = [
    (-3.0, 1.0),
    (-4.5, 1.0),
    (-6.0, 1.0),
    (-5.0, 1.5),
    (-4.6, 1.0),
];

/// The same for the weight of a factor.
const EXPECTED_OF_FACTOR: (f64, f64) = (0.0, 1.5);

impl Weights {
    /// What is expected ahead of all trials.
    pub(in crate::tuning) fn expected(factors: usize) -> Weights {
        let shared = EXPECTED.iter().map(|(mean, _)| *mean);
        let weights = std::iter::repeat_n(EXPECTED_OF_FACTOR.0, factors);
        Weights(shared.chain(weights).collect())
    }

    /// The variance of effects of so many levels together, from one to three.
    pub(super) fn order(&self, levels: usize) -> f64 {
        self.0[levels - 1].exp()
    }

    pub(super) fn block(&self) -> f64 {
        self.0[3].exp()
    }

    pub(super) fn noise(&self) -> f64 {
        self.0[4].exp()
    }

    pub(super) fn factor(&self, factor: usize) -> f64 {
        self.0[SHARED + factor].exp()
    }

    fn factors(&self) -> Vec<f64> {
        let factors = SHARED..self.0.len();
        factors.map(|index| self.0[index].exp()).collect()
    }

    /// The lower triangle of the covariance of all trials, by rows.
    pub(super) fn covariance(&self, data: &Data) -> Vec<Vec<f64>> {
        let factors = self.factors();
        let row = |i: usize| {
            let entry = |j: usize| {
                let sums = Sums::of(&factors, &data.configurations[i], &data.configurations[j]);
                let orders = sums.orders();
                let same_block = f64::from(u8::from(data.blocks[i] == data.blocks[j]));
                CONSTANT
                    + (1..=3)
                        .map(|order| self.order(order) * orders[order - 1])
                        .sum::<f64>()
                    + self.block() * same_block
                    + if i == j { self.noise() } else { 0.0 }
            };
            (0..=i).map(entry).collect()
        };
        (0..data.costs.len()).map(row).collect()
    }

    /// The covariance of the effects of two configurations.
    pub(super) fn effects(&self, one: &[usize], other: &[usize]) -> f64 {
        self.effects_by(&self.factors(), one, other)
    }

    fn effects_by(&self, factors: &[f64], one: &[usize], other: &[usize]) -> f64 {
        let orders = Sums::of(factors, one, other).orders().into_iter().zip(1..);
        orders.map(|(sum, order)| self.order(order) * sum).sum()
    }

    /// The logarithm of the posterior density of these weights but for a constant, and its gradient; none where
    /// the covariance is not positive definite.
    pub(super) fn posterior(&self, data: &Data) -> Option<(f64, Vec<f64>)> {
        let factored = Cholesky::new(self.covariance(data))?;
        let solved = factored.solve(&data.costs);
        let fit: f64 = data.costs.iter().zip(&solved).map(|(a, b)| a * b).sum();
        let mut value = -0.5 * (fit + factored.log_determinant());
        let mut gradient = self.likelihood_gradient(data, &solved, &factored.inverse());
        for (index, weight) in self.0.iter().enumerate() {
            let (mean, sd) = EXPECTED.get(index).copied().unwrap_or(EXPECTED_OF_FACTOR);
            let distance = (weight - mean) / sd;
            value -= 0.5 * distance * distance;
            gradient[index] -= distance / sd;
        }
        Some((value, gradient))
    }

    /// Half the trace of (s·sᵀ − K⁻¹)·∂K for each variance.
    fn likelihood_gradient(&self, data: &Data, solved: &[f64], inverse: &[Vec<f64>]) -> Vec<f64> {
        let factors = self.factors();
        let mut gradient = vec![0.0; self.0.len()];
        for i in 0..solved.len() {
            for j in 0..=i {
                let twice = if i == j { 0.5 } else { 1.0 };
                let share = twice * (solved[i] * solved[j] - inverse[i][j]);
                let same = [&data.configurations[i], &data.configurations[j]];
                self.add_entry(&mut gradient, &factors, same, share);
                if data.blocks[i] == data.blocks[j] {
                    gradient[3] += share * self.block();
                }
                if i == j {
                    gradient[4] += share * self.noise();
                }
            }
        }
        gradient
    }

    /// What one entry of the covariance adds to the gradient.
    fn add_entry(&self, gradient: &mut [f64], factors: &[f64], of: [&Vec<usize>; 2], share: f64) {
        let sums = Sums::of(factors, of[0], of[1]);
        let orders = sums.orders();
        let variances = [self.order(1), self.order(2), self.order(3)];
        for order in 0..3 {
            gradient[order] += share * variances[order] * orders[order];
        }
        for (factor, weight) in factors.iter().enumerate() {
            if of[0][factor] == of[1][factor] {
                let others = sums.ones - weight;
                let pairs = orders[1] - weight * others;
                let slope = variances[0] + variances[1] * others + variances[2] * pairs;
                gradient[SHARED + factor] += share * weight * slope;
            }
        }
    }
}

/// Power sums of the weights of the factors in which two configurations agree.
struct Sums {
    ones: f64,
    squares: f64,
    cubes: f64,
}

impl Sums {
    fn of(factors: &[f64], one: &[usize], other: &[usize]) -> Sums {
        let mut sums = Sums {
            ones: 0.0,
            squares: 0.0,
            cubes: 0.0,
        };
        for (weight, (one, other)) in factors.iter().zip(one.iter().zip(other)) {
            if one == other {
                sums.ones += weight;
                sums.squares += weight * weight;
                sums.cubes += weight * weight * weight;
            }
        }
        sums
    }

    /// The sums of the products of one, two and three different weights (Newton's identities).
    fn orders(&self) -> [f64; 3] {
        let pairs = (self.ones * self.ones - self.squares) / 2.0;
        let triples = (self.ones.powi(3) - 3.0 * self.ones * self.squares + 2.0 * self.cubes) / 6.0;
        [self.ones, pairs, triples]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn data() -> Data {
        let mut generator = Seed(3).generator();
        let mut draw = |levels: u64| generator.below(levels) as usize;
        let configurations: Vec<Vec<usize>> =
            (0..30).map(|_| vec![draw(2), draw(3), draw(4)]).collect();
        let costs = configurations
            .iter()
            .enumerate()
            .map(|(trial, it)| it[0] as f64 - 0.3 * it[1] as f64 + 0.1 * (trial % 5) as f64)
            .collect();
        Data {
            configurations,
            blocks: (0..30).map(|trial| trial / 7).collect(),
            costs,
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_posterior() {
        let (data, step) = (data(), 1e-5);
        let mut weights = Weights::expected(3);
        weights.0[6] = -1.0;
        let (_, gradient) = weights.posterior(&data).unwrap();
        for (index, slope) in gradient.iter().enumerate() {
            let value = |by: f64| {
                let mut moved = weights.clone();
                moved.0[index] += by;
                moved.posterior(&data).unwrap().0
            };
            let difference = (value(step) - value(-step)) / (2.0 * step);
            assert!(
                (difference - slope).abs() < 1e-5,
                "{index}: {difference} {slope}"
            );
        }
    }
}
