//! A surface over the configurations: an effect for each level, each pair and each triple of levels.

use super::Weights;
use crate::seed::SplitMix64;
use crate::tuning::space::Space;

/// The effects of the levels of one to three factors together.
struct Table {
    factors: Vec<usize>,
    /// By the last factor's level, then the one before.
    steps: Vec<usize>,
    effects: Vec<f64>,
}

impl Table {
    fn new(factors: Vec<usize>, space: &Space) -> Table {
        let mut size = 1;
        let steps = factors.iter().map(|factor| {
            let step = size;
            size *= space.values(*factor);
            step
        });
        Table {
            steps: steps.collect(),
            effects: vec![0.0; size],
            factors,
        }
    }

    fn index(&self, configuration: &[usize]) -> usize {
        let factors = self.factors.iter().zip(&self.steps);
        factors
            .map(|(factor, step)| configuration[*factor] * step)
            .sum()
    }

    fn variance(&self, weights: &Weights) -> f64 {
        let factors = self.factors.iter().map(|factor| weights.factor(*factor));
        weights.order(self.factors.len()) * factors.product::<f64>()
    }
}

/// A surface.
pub(in crate::tuning) struct Tables {
    tables: Vec<Table>,
}

impl Tables {
    /// Without any effect.
    pub(super) fn zero(space: &Space) -> Tables {
        let subsets = subsets(space.factors.len()).into_iter();
        Tables {
            tables: subsets.map(|factors| Table::new(factors, space)).collect(),
        }
    }

    /// With effects as the weights expect them.
    pub(super) fn draw(space: &Space, weights: &Weights, generator: &mut SplitMix64) -> Tables {
        let mut drawn = Tables::zero(space);
        for table in &mut drawn.tables {
            let sd = table.variance(weights).sqrt();
            for effect in &mut table.effects {
                *effect = sd * generator.normal();
            }
        }
        drawn
    }

    /// Moves the effects of this configuration by an amount, each in proportion to its variance.
    pub(super) fn add(&mut self, configuration: &[usize], weights: &Weights, amount: f64) {
        for table in &mut self.tables {
            let index = table.index(configuration);
            table.effects[index] += amount * table.variance(weights);
        }
    }

    /// The sum of all effects of a configuration.
    pub(in crate::tuning) fn at(&self, configuration: &[usize]) -> f64 {
        let tables = self.tables.iter();
        tables
            .map(|table| table.effects[table.index(configuration)])
            .sum()
    }
}

/// All subsets of one to three of so many factors.
fn subsets(factors: usize) -> Vec<Vec<usize>> {
    let mut subsets = Vec::new();
    for first in 0..factors {
        subsets.push(vec![first]);
        for second in 0..first {
            subsets.push(vec![first, second]);
            subsets.extend((0..second).map(|third| vec![first, second, third]));
        }
    }
    subsets
}
