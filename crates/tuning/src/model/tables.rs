//! A surface over the configurations: an effect for each level, each pair and each triple of levels.

use super::Weights;
use lab::seed::SplitMix64;
use lab::tuning_plan::Space;

/// The effects of the levels of one to three factors together.
struct Table {
    factors: Vec<usize>,
    /// By the last factor's level, then the one before.
    steps: Vec<usize>,
    /// The variance of each effect ahead of all trials.
    variance: f64,
    effects: Vec<f64>,
}

impl Table {
    fn new(factors: Vec<usize>, space: &Space, variance: f64) -> Table {
        let mut size = 1;
        let steps = factors.iter().map(|factor| {
            let step = size;
            size *= space.values(*factor);
            step
        });
        Table { steps: steps.collect(), variance, effects: vec![0.0; size], factors }
    }

    fn at(&self, configuration: &[usize]) -> f64 {
        self.effects[self.index(configuration)]
    }

    fn index(&self, configuration: &[usize]) -> usize {
        let factors = self.factors.iter().zip(&self.steps);
        factors.map(|(factor, step)| configuration[*factor] * step).sum()
    }
}

/// A surface.
pub(crate) struct Tables {
    tables: Vec<Table>,
}

impl Tables {
    /// Without any effect.
    pub(super) fn zero(space: &Space, weights: &Weights) -> Tables {
        let subsets = subsets(space.factors.len()).into_iter();
        let relative = weights.relative();
        let tables = subsets.map(|factors| {
            let variance = weights.order(factors.len()) * relative.of(&factors);
            Table::new(factors, space, variance)
        });
        Tables { tables: tables.collect() }
    }

    /// With effects as the weights expect them.
    pub(super) fn draw(space: &Space, weights: &Weights, generator: &mut SplitMix64) -> Tables {
        let mut drawn = Tables::zero(space, weights);
        for table in &mut drawn.tables {
            let sd = table.variance.sqrt();
            for effect in &mut table.effects {
                *effect = sd * generator.normal();
            }
        }
        drawn
    }

    /// Moves the effects of this configuration by an amount, each in proportion to its variance.
    pub(super) fn add(&mut self, configuration: &[usize], amount: f64) {
        for table in &mut self.tables {
            let index = table.index(configuration);
            table.effects[index] += amount * table.variance;
        }
    }

    /// Returns the sum of all effects of a configuration.
    pub(crate) fn at(&self, configuration: &[usize]) -> f64 {
        self.tables.iter().map(|table| table.at(configuration)).sum()
    }

    /// Returns the part of the surface that the levels of these factors decide.
    pub(crate) fn part(&self, factors: &[usize]) -> Part<'_> {
        let tables = self.tables.iter();
        let decided =
            tables.filter(|table| table.factors.iter().any(|factor| factors.contains(factor)));
        Part(decided.collect())
    }
}

/// The effects of a surface that some factors decide.
pub(crate) struct Part<'a>(Vec<&'a Table>);

impl Part<'_> {
    /// Returns the sum of these effects.
    pub(crate) fn at(&self, configuration: &[usize]) -> f64 {
        self.0.iter().map(|table| table.at(configuration)).sum()
    }
}

/// Returns all subsets of one to three of `factors` factors.
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
