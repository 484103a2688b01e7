//! The variances of the model. They follow from the trials: in which factors two trials agree is all
//! that the covariance of their costs needs to know of their configurations. Trials close to an optimum agree in the same
//! few sets of factors again and again, so each set's covariance is computed once, not once for each pair of trials.
//!
//! The most probable weights are found by steps of L-BFGS (Nocedal, "Updating quasi-Newton matrices with limited storage",
//! Mathematics of Computation 35, 1980) in the logarithms of the variances.

use std::collections::HashMap;

use super::matrix::Cholesky;
use super::{CONSTANT, Data};

/// Variances that hold for all factors: effects of levels, of pairs and of triples, of blocks, and noise.
const SHARED: usize = 5;

/// The logarithms of the variances: the shared ones, then the weights of the factors, then the weights of the pairs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weights {
    pub(super) logs: Vec<f64>,
    factors: usize,
}

/// How probable weights are, and what follows from their covariance.
pub(super) struct Posterior {
    /// The logarithm of the density, but for a constant.
    pub(super) value: f64,
    factored: Cholesky,
    solved: Vec<f64>,
}

/// Where the logarithm of a variance is expected ahead of all trials, and by how much it may differ.
const EXPECTED: [(f64, f64); SHARED] =
    [(-3.0, 1.0), (-4.5, 1.0), (-6.0, 1.0), (-5.0, 1.5), (-4.6, 1.0)];

/// The same for the weight of a factor or of a pair.
const EXPECTED_OF_FACTORS: (f64, f64) = (0.0, 1.5);

impl Weights {
    /// Returns the weights that are expected ahead of all trials.
    pub(crate) fn expected(factors: usize) -> Weights {
        let own = factors + factors * factors.saturating_sub(1) / 2;
        let shared = EXPECTED.iter().map(|(mean, _)| *mean);
        let own = std::iter::repeat_n(EXPECTED_OF_FACTORS.0, own);
        Weights { logs: shared.chain(own).collect(), factors }
    }

    /// These weights with each logarithm moved.
    pub(super) fn moved(&self, direction: &[f64], length: f64) -> Weights {
        let logs = self.logs.iter().zip(direction);
        Weights { logs: logs.map(|(at, by)| at + length * by).collect(), factors: self.factors }
    }

    /// Returns the variance of effects of this many levels together, from one to three.
    pub(super) fn order(&self, levels: usize) -> f64 {
        self.logs[levels - 1].exp()
    }

    pub(super) fn block(&self) -> f64 {
        self.logs[3].exp()
    }

    pub(super) fn noise(&self) -> f64 {
        self.logs[4].exp()
    }

    pub(super) fn relative(&self) -> Relative {
        let own: Vec<f64> = self.logs[SHARED..].iter().map(|log| log.exp()).collect();
        let (factors, pairs) = own.split_at(self.factors);
        let mut relative = Relative { factors: factors.to_vec(), pairs: pairs.to_vec() };
        for first in 0..self.factors {
            for second in 0..first {
                relative.pairs[pair(first, second)] *= factors[first] * factors[second];
            }
        }
        relative
    }

    /// Returns the lower triangle of the covariance of all trials, by rows.
    pub(super) fn covariance(&self, data: &Data, agreements: &Agreements) -> Vec<Vec<f64>> {
        let relative = self.relative();
        let sets = agreements.sets.iter();
        let of_set: Vec<f64> = sets.map(|set| self.effects(&relative, *set)).collect();
        let (block, noise) = (self.block(), self.noise());
        let row = |(i, sets): (usize, &Vec<u32>)| {
            let same_block = |j: usize| f64::from(u8::from(data.blocks[i] == data.blocks[j]));
            let entry = |(j, set): (usize, &u32)| {
                let constant = CONSTANT * f64::from(u8::from(data.are_of_one_search(i, j)));
                let effects = data.relation(i, j) * of_set[*set as usize];
                constant + effects + block * same_block(j)
            };
            let mut row: Vec<f64> = sets.iter().enumerate().map(entry).collect();
            row[i] += noise;
            row
        };
        agreements.rows.iter().enumerate().map(row).collect()
    }

    /// Returns the covariance of the effects of two configurations that agree in these factors.
    pub(super) fn effects(&self, relative: &Relative, set: Set) -> f64 {
        relative.orders(set).into_iter().zip(1..).map(|(sum, order)| self.order(order) * sum).sum()
    }

    /// Returns the logarithm of the posterior density of these weights but for a constant, with what its gradient follows from; none
    /// where the covariance is not positive definite.
    pub(super) fn posterior(&self, data: &Data, agreements: &Agreements) -> Option<Posterior> {
        let factored = Cholesky::new(self.covariance(data, agreements))?;
        let solved = factored.solve(&data.costs);
        let fit: f64 = data.costs.iter().zip(&solved).map(|(a, b)| a * b).sum();
        let ahead: f64 = self.distances().map(|(distance, _)| distance * distance).sum();
        Some(Posterior {
            value: -0.5 * (fit + factored.log_determinant() + ahead),
            factored,
            solved,
        })
    }

    /// Returns the gradient of the logarithm of the posterior density.
    pub(super) fn gradient(
        &self,
        data: &Data,
        agreements: &Agreements,
        posterior: &Posterior,
    ) -> Vec<f64> {
        let mut gradient = self.likelihood_gradient(data, agreements, posterior);
        for (slope, (distance, sd)) in gradient.iter_mut().zip(self.distances()) {
            *slope -= distance / sd;
        }
        gradient
    }

    /// Returns how far each weight is from what is expected ahead of all trials, in standard deviations, with one of these.
    fn distances(&self) -> impl Iterator<Item = (f64, f64)> {
        let expected = EXPECTED.into_iter().chain(std::iter::repeat(EXPECTED_OF_FACTORS));
        self.logs.iter().zip(expected).map(|(weight, (mean, sd))| ((weight - mean) / sd, sd))
    }

    /// Half the trace of (s·sᵀ − K⁻¹)·∂K for each variance.
    fn likelihood_gradient(
        &self,
        data: &Data,
        agreements: &Agreements,
        Posterior { factored, solved, .. }: &Posterior,
    ) -> Vec<f64> {
        let inverse = factored.inverse();
        let mut gradient = vec![0.0; self.logs.len()];
        let mut shares = vec![0.0; agreements.sets.len()];
        for (i, (sets, inverse)) in agreements.rows.iter().zip(&inverse).enumerate() {
            for (j, (set, inverse)) in sets.iter().zip(inverse).enumerate() {
                let twice = if i == j { 0.5 } else { 1.0 };
                let share = twice * (solved[i] * solved[j] - inverse);
                shares[*set as usize] += share * data.relation(i, j);
                if data.blocks[i] == data.blocks[j] {
                    gradient[3] += share * self.block();
                }
                if i == j {
                    gradient[4] += share * self.noise();
                }
            }
        }
        let relative = self.relative();
        for (set, share) in agreements.sets.iter().zip(shares) {
            self.add_set(&mut gradient, &relative, *set, share);
        }
        gradient
    }

    /// Adds to the gradient the part of the covariances between trials that agree in these factors.
    fn add_set(&self, gradient: &mut [f64], relative: &Relative, set: Set, share: f64) {
        let orders = relative.orders(set);
        let variances = [self.order(1), self.order(2), self.order(3)];
        for order in 0..3 {
            gradient[order] += share * variances[order] * orders[order];
        }
        let sums = Sums::of(&relative.factors, set);
        for first in (0..self.factors).filter(|factor| holds(set, *factor)) {
            let weight = relative.factors[first];
            let slope = variances[0] + variances[2] * sums.pairs_without(weight);
            gradient[SHARED + first] += share * weight * slope;
            for second in (0..first).filter(|factor| holds(set, *factor)) {
                let pair = pair(first, second);
                let slope = share * variances[1] * relative.pairs[pair];
                gradient[SHARED + self.factors + pair] += slope;
                gradient[SHARED + first] += slope;
                gradient[SHARED + second] += slope;
            }
        }
    }
}

/// Returns the place of a pair of factors, the higher first.
fn pair(first: usize, second: usize) -> usize {
    first * (first - 1) / 2 + second
}

/// The variances of the effects of single factors, pairs and triples, relative to those that hold for all.
pub(super) struct Relative {
    factors: Vec<f64>,
    pairs: Vec<f64>,
}

impl Relative {
    /// Returns the variance of the effects of one to three factors together, the highest first.
    pub(super) fn of(&self, factors: &[usize]) -> f64 {
        match factors {
            [first, second] => self.pairs[pair(*first, *second)],
            all => all.iter().map(|factor| self.factors[*factor]).product(),
        }
    }

    /// Returns the sums of the variances of the single levels, the pairs and the triples of these factors.
    fn orders(&self, set: Set) -> [f64; 3] {
        let sums = Sums::of(&self.factors, set);
        let is_same = |factor: &usize| holds(set, *factor);
        let mut pairs = 0.0;
        for first in (0..self.factors.len()).filter(is_same) {
            let of_first = &self.pairs[first * first.saturating_sub(1) / 2..];
            let seconds = (0..first).filter(is_same);
            pairs += seconds.map(|second| of_first[second]).sum::<f64>();
        }
        [sums.ones, pairs, sums.triples()]
    }
}

/// Power sums of the weights of a set of factors.
struct Sums {
    ones: f64,
    squares: f64,
    cubes: f64,
}

impl Sums {
    fn of(factors: &[f64], set: Set) -> Sums {
        let mut sums = Sums { ones: 0.0, squares: 0.0, cubes: 0.0 };
        for (factor, weight) in factors.iter().enumerate() {
            if holds(set, factor) {
                sums.ones += weight;
                sums.squares += weight * weight;
                sums.cubes += weight * weight * weight;
            }
        }
        sums
    }

    /// Returns the sum of the products of two different weights, neither of them this one (Newton's identities).
    fn pairs_without(&self, weight: f64) -> f64 {
        let pairs = (self.ones * self.ones - self.squares) / 2.0;
        pairs - weight * (self.ones - weight)
    }

    /// Returns the sum of the products of three different weights (Newton's identities).
    fn triples(&self) -> f64 {
        (self.ones.powi(3) - 3.0 * self.ones * self.squares + 2.0 * self.cubes) / 6.0
    }
}

/// A set of factors, one bit for each: 64 at most.
pub(super) type Set = u64;

/// Returns the factors in which two configurations have the same level.
pub(super) fn agreement([one, other]: [&[usize]; 2]) -> Set {
    let same = one.iter().zip(other).enumerate();
    same.fold(0, |set, (factor, (one, other))| set | Set::from(one == other) << factor)
}

/// Returns whether a set holds a factor.
pub(super) fn holds(set: Set, factor: usize) -> bool {
    set >> factor & 1 == 1
}

/// The factors in which each two of some trials agree.
pub(super) struct Agreements {
    /// The different sets.
    pub(super) sets: Vec<Set>,
    /// The index of the set of each two trials: the lower triangle by rows.
    pub(super) rows: Vec<Vec<u32>>,
}

impl Agreements {
    pub(super) fn of(configurations: &[Vec<usize>]) -> Agreements {
        let mut known: HashMap<Set, u32> = HashMap::new();
        let mut sets = Vec::new();
        let mut index = |set: Set| {
            *known.entry(set).or_insert_with(|| {
                sets.push(set);
                sets.len() as u32 - 1
            })
        };
        let rows = configurations.iter().enumerate().map(|(i, one)| {
            configurations[..=i].iter().map(|other| index(agreement([one, other]))).collect()
        });
        Agreements { rows: rows.collect(), sets }
    }
}

/// Steps at most. More change the weights, but not what is recommended.
const STEPS: usize = 12;

/// How often a step is halved before none is taken.
const HALVINGS: usize = 8;

/// The longest step in the logarithm of a variance.
const LONGEST: f64 = 1.5;

/// A step and the change of the gradient along it.
type Pair = (Vec<f64>, Vec<f64>);

impl Weights {
    /// Returns the weights that the trials make most probable. They depend on the trials alone, not on earlier fits.
    pub(crate) fn fitted(factors: usize, data: &Data) -> Weights {
        let mut at = Weights::expected(factors);
        let agreements = Agreements::of(&data.configurations);
        let Some(first) = at.posterior(data, &agreements) else { return at };
        let (mut value, mut gradient) = (first.value, at.gradient(data, &agreements, &first));
        let mut pairs: Vec<Pair> = Vec::new();
        for _ in 0..STEPS {
            let direction = direction(&gradient, &pairs);
            let rise = dot(&gradient, &direction);
            let posterior = |next: &Weights| next.posterior(data, &agreements);
            let Some((next, reached)) = step(&at, value, rise, &direction, posterior) else {
                break;
            };
            let next_gradient = next.gradient(data, &agreements, &reached);
            let moved = minus(&next.logs, &at.logs);
            let bent = minus(&gradient, &next_gradient);
            if dot(&moved, &bent) > 1e-12 {
                pairs.push((moved, bent));
            }
            (at, value, gradient) = (next, reached.value, next_gradient);
        }
        at
    }
}

/// Returns the first point along a direction, in which the value rises so steeply, that is enough better.
fn step(
    at: &Weights,
    value: f64,
    rise: f64,
    direction: &[f64],
    posterior: impl Fn(&Weights) -> Option<Posterior>,
) -> Option<(Weights, Posterior)> {
    (0..HALVINGS).find_map(|halving| {
        let length = 0.5_f64.powi(halving as i32);
        let next = at.moved(direction, length);
        let reached = posterior(&next)?;
        (reached.value > value + 1e-4 * length * rise).then_some((next, reached))
    })
}

/// Uphill, by the two loops of L-BFGS.
fn direction(gradient: &[f64], pairs: &[Pair]) -> Vec<f64> {
    let mut direction = gradient.to_vec();
    let mut shares = Vec::new();
    for (moved, bent) in pairs.iter().rev() {
        let share = dot(moved, &direction) / dot(moved, bent);
        add(&mut direction, bent, -share);
        shares.push(share);
    }
    if let Some((moved, bent)) = pairs.last() {
        let scale = dot(moved, bent) / dot(bent, bent);
        direction.iter_mut().for_each(|entry| *entry *= scale);
    }
    for ((moved, bent), share) in pairs.iter().zip(shares.iter().rev()) {
        let back = dot(bent, &direction) / dot(moved, bent);
        add(&mut direction, moved, share - back);
    }
    let longest = direction.iter().fold(0.0_f64, |most, it| most.max(it.abs()));
    if longest > LONGEST {
        direction.iter_mut().for_each(|entry| *entry *= LONGEST / longest);
    }
    direction
}

fn add(to: &mut [f64], what: &[f64], times: f64) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += times * what;
    }
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use lab::seed::Seed;

    use super::*;

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
            is_least: vec![false; 30],
            earlier: 10,
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_posterior() {
        let (data, step) = (data(), 1e-5);
        let mut weights = Weights::expected(3);
        weights.logs[6] = -1.0;
        weights.logs[9] = 0.7;
        let agreements = Agreements::of(&data.configurations);
        let posterior = weights.posterior(&data, &agreements).unwrap();
        let gradient = weights.gradient(&data, &agreements, &posterior);
        for (index, slope) in gradient.iter().enumerate() {
            let value = |by: f64| {
                let mut moved = weights.clone();
                moved.logs[index] += by;
                moved.posterior(&data, &agreements).unwrap().value
            };
            let difference = (value(step) - value(-step)) / (2.0 * step);
            assert!((difference - slope).abs() < 1e-5, "{index}: {difference} {slope}");
        }
    }
}
