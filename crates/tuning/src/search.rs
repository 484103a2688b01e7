//! The next block of a search, and what is recommended in the end.
//!
//! The first blocks are a screen: configurations known to be good elsewhere, so that there is an answer after the first
//! block, then others in which every level of every factor comes about equally often. The later ones follow the model of the
//! trials so far.

use lab::seed::{Seed, SplitMix64};
use lab::stats::{median, quantile};
use lab::tuning_plan::{Configuration, Constraint, SearchOutcome, SearchTrial, Space};

use super::climb::{Bounded, Landscape, lowest};
use super::model::{Data, Model, Tables, Weights};

/// Configurations in a block besides the current settings.
pub const PER_BLOCK: usize = 6;

/// Blocks of the screen.
pub const SCREEN_BLOCKS: usize = 3;

/// Of the blocks after the screen, every so manyeth measures the current settings as well. What they cost is known from the screen, and
/// the gain is measured in rounds of its own; where they are slow, they would take most of the time of a search.
const CURRENT_EVERY: u32 = 16;

/// Returns whether the block of this number measures the current settings.
pub(super) fn measures_current(number: u32) -> bool {
    number < SCREEN_BLOCKS as u32 || number.is_multiple_of(CURRENT_EVERY)
}

/// Returns the trials of the block of this number.
pub(super) fn trials_of(number: u32) -> usize {
    PER_BLOCK + usize::from(measures_current(number))
}

/// Blocks after which the weights of the model are fitted again, once there are [`FEW_BLOCKS`]; before, they are
/// fitted after every block, which takes little time as yet and matters most.
const REFIT: u32 = 6;

/// Blocks that are few.
const FEW_BLOCKS: u32 = 15;

/// Blocks of the climb, at most, to which weights are fitted: more change them hardly, and take long.
const FITTED_BLOCKS: u32 = 40;

/// Random configurations from which the lowest one of a surface is sought, besides the best ones known.
const STARTS: usize = 6;

/// Surfaces drawn at most for one configuration that is not in the block yet.
const DRAWS: usize = 3;

/// A search: what it does is a function of its parts and the trials so far.
#[derive(Clone, Debug)]
pub struct Search {
    space: Space,
    /// The current settings. They may be ones that the space excludes.
    current: Configuration,
    /// Admissible configurations known to be good elsewhere: one at least.
    good: Vec<Configuration>,
    /// Constraints on other metrics.
    constraints: Vec<Constraint>,
    /// The trials of an earlier search, as far as they are of this space.
    earlier: Vec<SearchTrial>,
    seed: Seed,
    /// The last weights of each surface and the number of trials that they were fitted to, so that they are not fitted
    /// twice: of the cost, then of each constraint.
    fitted: Vec<Option<(usize, Weights)>>,
}

/// The model of all configurations.
pub(super) struct Expectation {
    /// Of the cost.
    pub(super) cost: Model,
    /// Of each constraint that was measured, with the highest value that is within it.
    limited: Vec<(Model, f64)>,
}

impl Expectation {
    /// Returns the means.
    pub(super) fn mean(&self) -> Landscape<'_> {
        let limited = self.limited.iter();
        let bounded = limited.map(|(model, most)| Bounded { surface: &model.mean, most: *most });
        Landscape { cost: &self.cost.mean, bounded: bounded.collect() }
    }

    /// One of the possible surfaces of the cost and of each constraint.
    fn draw(&self, space: &Space, generator: &mut SplitMix64) -> Vec<Tables> {
        let limited = self.limited.iter().map(|(model, _)| model);
        let models = std::iter::once(&self.cost).chain(limited);
        models.map(|model| model.draw(space, generator)).collect()
    }

    /// Surfaces that were drawn, with the bounds.
    fn landscape<'a>(&self, drawn: &'a [Tables]) -> Landscape<'a> {
        let limited = drawn[1..].iter().zip(&self.limited);
        let bounded = limited.map(|(surface, (_, most))| Bounded { surface, most: *most });
        Landscape { cost: &drawn[0], bounded: bounded.collect() }
    }
}

impl Search {
    /// Returns a search; `None` if none of the known-good configurations may be tried, so that nothing could be
    /// recommended.
    pub fn new(
        space: Space,
        current: Configuration,
        good: Vec<Configuration>,
        seed: Seed,
    ) -> Option<Search> {
        let mut admissible: Vec<Configuration> = Vec::new();
        for configuration in good {
            if space.admits(&configuration) && !admissible.contains(&configuration) {
                admissible.push(configuration);
            }
        }
        (!admissible.is_empty()).then_some(Search {
            space,
            current,
            good: admissible,
            constraints: Vec::new(),
            earlier: Vec::new(),
            seed,
            fitted: vec![None],
        })
    }

    /// Returns the search within constraints.
    pub fn within(self, constraints: Vec<Constraint>) -> Search {
        Search { fitted: vec![None; constraints.len() + 1], constraints, ..self }
    }

    /// Returns the search after an earlier one, whose trials say something of this one's.
    pub fn after(self, earlier: Vec<SearchTrial>) -> Search {
        Search { earlier, ..self }
    }

    /// Returns the configurations of the block of this number in the order of their trials. The current settings are among them in
    /// the screen and in some later blocks, and first in the first block, so that later trials can be stopped by what they cost.
    pub fn block(&mut self, number: u32, tried: &[SearchTrial]) -> Vec<Configuration> {
        let tried: Vec<&SearchTrial> = tried.iter().filter(|trial| trial.block < number).collect();
        let mut generator = self.seed.child("blocks").nth(number.into()).generator();
        let mut block = if (number as usize) < SCREEN_BLOCKS {
            self.of_screen(number as usize)
        } else {
            self.climbed(number, &tried, &mut generator)
        };
        generator.shuffle(&mut block);
        // The first block may have to end early.
        block.sort_by_key(|configuration| number == 0 && !self.good.contains(configuration));
        if !measures_current(number) {
            return block;
        }
        let place = match number {
            0 => 0,
            _ => generator.below(block.len() as u64 + 1) as usize,
        };
        block.insert(place, self.current.clone());
        block
    }

    fn of_screen(&self, number: usize) -> Vec<Configuration> {
        // The current settings are in the block anyway.
        let others = self.good.iter().filter(|good| **good != self.current).cloned();
        let others = screen(&self.space, others.collect(), &self.good[0], self.seed);
        others[number * PER_BLOCK..(number + 1) * PER_BLOCK].to_vec()
    }

    /// Returns the model's optimum, and the optima of surfaces that the trials leave possible.
    fn climbed(
        &mut self,
        number: u32,
        tried: &[&SearchTrial],
        generator: &mut SplitMix64,
    ) -> Vec<Configuration> {
        let starts = self.starts(tried, generator);
        let Some(model) = self.model(number, tried) else {
            return starts.into_iter().take(PER_BLOCK).collect();
        };
        let mut block = vec![self.best(&model, tried, &starts)];
        while block.len() < PER_BLOCK {
            let mut drawn = (0..DRAWS).map(|_| {
                let drawn = model.draw(&self.space, generator);
                lowest(&self.space, &model.landscape(&drawn), &starts)
            });
            let new = drawn.find(|configuration| !block.contains(configuration));
            let next = new.unwrap_or_else(|| self.space.random(generator, &self.good[0]));
            block.push(next);
        }
        block
    }

    /// Returns the recommendation after a part of the screen: the cheapest configuration that was tried, since a model of so few
    /// trials would recommend what none of them was.
    pub fn cheapest(&self, tried: &[SearchTrial]) -> Configuration {
        let usable = tried.iter().filter(|trial| self.space.admits(&trial.configuration));
        let costs = usable.filter_map(|trial| Some((trial.cost()?, &trial.configuration)));
        let cheapest = costs.min_by(|a, b| a.0.total_cmp(&b.0));
        cheapest.map_or_else(|| self.good[0].clone(), |(_, configuration)| configuration.clone())
    }

    /// Returns the recommendation after these trials: the configuration with the lowest posterior mean. The trials of
    /// the screen at least must have ended.
    pub fn choice(&mut self, tried: &[SearchTrial]) -> Configuration {
        let tried: Vec<&SearchTrial> = tried.iter().collect();
        let mut generator = self.seed.child("choice").generator();
        let starts = self.starts(&tried, &mut generator);
        match self.model_of_all(&tried) {
            Some(model) => self.best(&model, &tried, &starts),
            None => self.good[0].clone(),
        }
    }

    /// Returns the model of all configurations after these trials; `None` if rounding does not allow it.
    pub(super) fn expectation(&mut self, tried: &[SearchTrial]) -> Option<Expectation> {
        self.model_of_all(&tried.iter().collect::<Vec<_>>())
    }

    fn model_of_all(&mut self, tried: &[&SearchTrial]) -> Option<Expectation> {
        let blocks = tried.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
        self.model(blocks, tried)
    }

    /// Returns the models of the trials before a block.
    fn model(&mut self, block: u32, tried: &[&SearchTrial]) -> Option<Expectation> {
        let weights = self.weights(block, tried, 0);
        let cost = Model::new(&self.space, data(tried, &self.current, &self.earlier), weights)?;
        let constraints = 0..self.constraints.len();
        let limited = constraints.filter_map(|index| self.limited(block, tried, index));
        Some(Expectation { limited: limited.collect(), cost })
    }

    /// Returns the model of a constraint, and the highest value that is within it; `None` if it was not measured.
    fn limited(
        &mut self,
        block: u32,
        tried: &[&SearchTrial],
        index: usize,
    ) -> Option<(Model, f64)> {
        let weights = self.weights(block, tried, index + 1);
        let data = data_of_constraint(tried, index);
        let current = tried.iter().filter(|trial| trial.configuration == self.current);
        let current: Vec<f64> = current.filter_map(|trial| trial.constrained[index]).collect();
        if current.is_empty() {
            return None;
        }
        let room = self.constraints[index].room(mean(&current))?;
        let model = Model::new(&self.space, data, weights)?;
        let most = model.mean.at(&self.current) + room;
        Some((model, most))
    }

    /// Returns the lowest posterior mean; where that configuration is one that failed, the lowest among those measured.
    fn best(
        &self,
        model: &Expectation,
        tried: &[&SearchTrial],
        starts: &[Configuration],
    ) -> Configuration {
        let mean = model.mean();
        let best = lowest(&self.space, &mean, starts);
        if !failed(tried, &best) {
            return best;
        }
        let measured = tried.iter().map(|trial| &trial.configuration);
        let usable = measured.filter(|trial| !failed(tried, trial) && self.space.admits(trial));
        let lowest = usable.min_by(|a, b| mean.at(a).total_cmp(&mean.at(b)));
        lowest.unwrap_or(&self.good[0]).clone()
    }

    /// Returns the weights of a surface as fitted after every block at first, later after every few.
    fn weights(&mut self, block: u32, tried: &[&SearchTrial], surface: usize) -> Weights {
        let screen = SCREEN_BLOCKS as u32;
        let last = match block.checked_sub(FEW_BLOCKS) {
            None => block,
            Some(later) => FEW_BLOCKS + later / REFIT * REFIT,
        };
        let every = last.saturating_sub(screen).div_ceil(FITTED_BLOCKS).max(1);
        let is_fitted =
            |block: u32| block < screen || (block < last && block.is_multiple_of(every));
        let trials = tried.iter().filter(|trial| is_fitted(trial.block));
        let trials: Vec<&SearchTrial> = trials.copied().collect();
        match &self.fitted[surface] {
            Some((count, weights)) if *count == trials.len() => weights.clone(),
            _ => {
                let factors = self.space.factors.len();
                let data = match surface.checked_sub(1) {
                    None => data(&trials, &self.current, &self.earlier),
                    Some(constraint) => data_of_constraint(&trials, constraint),
                };
                let weights = Weights::fitted(factors, &data);
                self.fitted[surface] = Some((trials.len(), weights.clone()));
                weights
            }
        }
    }

    /// Where descents start: the known-good configurations, the cheapest ones tried, and random ones.
    fn starts(&self, tried: &[&SearchTrial], generator: &mut SplitMix64) -> Vec<Configuration> {
        let cost = |trial: &&&SearchTrial| trial.cost().unwrap_or(f64::INFINITY);
        let mut cheapest: Vec<&&SearchTrial> = tried.iter().collect();
        cheapest.retain(|trial| self.space.admits(&trial.configuration));
        cheapest.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let cheapest = cheapest.into_iter().take(STARTS);
        let mut starts: Vec<Configuration> = self.good.clone();
        starts.extend(cheapest.map(|trial| trial.configuration.clone()));
        starts.extend((0..STARTS).map(|_| self.space.random(generator, &self.good[0])));
        starts
    }
}

fn failed(tried: &[&SearchTrial], configuration: &Configuration) -> bool {
    let mut of_it = tried.iter().filter(|trial| trial.configuration == *configuration);
    of_it.any(|trial| trial.outcome == SearchOutcome::Unusable)
}

/// Returns the configurations of the screen: these, which are known to be good, then drawn ones
/// that begin at one of the admissible ones.
pub(super) fn screen(
    space: &Space,
    mut configurations: Vec<Configuration>,
    start: &Configuration,
    seed: Seed,
) -> Vec<Configuration> {
    let size = SCREEN_BLOCKS * PER_BLOCK;
    let mut generator = seed.child("screen").generator();
    configurations.truncate(size);
    let drawn = size - configurations.len();
    let columns = space.factors.iter().enumerate().map(|(index, factor)| {
        let levels = factor.levels.len();
        let mut seen = vec![0; levels];
        let known = configurations.iter().map(|configuration| configuration[index]);
        known.filter(|level| *level < levels).for_each(|level| seen[level] += 1);
        let mut column = Vec::new();
        // Those that the known-good configurations have least often come first.
        for _ in 0..drawn {
            let rarest = (0..levels).min_by_key(|level| seen[*level]).unwrap_or(0);
            seen[rarest] += 1;
            column.push(rarest);
        }
        generator.shuffle(&mut column);
        column
    });
    let columns: Vec<Vec<usize>> = columns.collect();
    for row in 0..drawn {
        let levels = columns.iter().map(|column| column[row]).collect();
        configurations.push(space.repaired(levels, &mut generator, start));
    }
    configurations
}

/// Returns the logarithms of the costs, less their mean, an earlier search's first. A trial that failed counts as [`STOP_AT`]
/// times the usual cost of the current settings, or of all trials where the current settings were not among them, as may be in
/// an earlier search.
pub(super) fn data(
    tried: &[&SearchTrial],
    current: &Configuration,
    earlier: &[SearchTrial],
) -> Data {
    let earlier: Vec<&SearchTrial> = earlier.iter().collect();
    let of_earlier = costs_of(&earlier, current);
    let own = costs_of(tried, current);
    let first = earlier.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
    let blocks = tried.iter().map(|trial| first + trial.block);
    let all = || earlier.iter().chain(tried);
    Data {
        configurations: all().map(|trial| trial.configuration.clone()).collect(),
        blocks: earlier.iter().map(|trial| trial.block).chain(blocks).collect(),
        costs: of_earlier.into_iter().chain(own).collect(),
        is_least: all().map(|trial| matches!(trial.outcome, SearchOutcome::Hopeless(_))).collect(),
        earlier: earlier.len(),
    }
}

/// Returns the logarithms of the costs of a search, less their mean.
fn costs_of(tried: &[&SearchTrial], current: &Configuration) -> Vec<f64> {
    let of_current = tried.iter().filter(|trial| trial.configuration == *current);
    let of_current: Vec<f64> = of_current.filter_map(|trial| log_cost(trial)).collect();
    let of_all = tried.iter().filter_map(|trial| log_cost(trial));
    let usual =
        if of_current.is_empty() { mean(&of_all.collect::<Vec<_>>()) } else { mean(&of_current) };
    let failed = usual + STOP_AT.ln();
    let costs = tried.iter().map(|trial| match trial.outcome {
        SearchOutcome::Cost(cost) | SearchOutcome::Hopeless(cost) => cost.ln(),
        SearchOutcome::Unusable => failed,
    });
    less_their_mean(costs.collect())
}

/// Returns the figures of a constraint, less their mean, of the trials that have one.
pub(super) fn data_of_constraint(tried: &[&SearchTrial], index: usize) -> Data {
    let measured = tried.iter().filter(|trial| trial.constrained[index].is_some());
    let measured: Vec<&SearchTrial> = measured.copied().collect();
    let figures = measured.iter().filter_map(|trial| trial.constrained[index]);
    let trials = measured.iter();
    Data {
        costs: less_their_mean(figures.collect()),
        configurations: trials.clone().map(|trial| trial.configuration.clone()).collect(),
        blocks: trials.map(|trial| trial.block).collect(),
        is_least: vec![false; measured.len()],
        earlier: 0,
    }
}

fn less_their_mean(figures: Vec<f64>) -> Vec<f64> {
    let middle = mean(&figures);
    figures.into_iter().map(|figure| figure - middle).collect()
}

fn log_cost(trial: &SearchTrial) -> Option<f64> {
    trial.cost().map(f64::ln)
}

/// Returns the mean; zero of none.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// A trial is stopped once it has cost this multiple of the current settings, in the first block and later at most.
pub const STOP_AT: f64 = 2.5;

/// A trial is hopeless once it has cost this multiple of the best trials.
const OF_THE_BEST: f64 = 1.8;

/// The share of the trials that are the best ones.
const BEST: f64 = 0.15;

/// Returns how many times the current settings' cost a trial may cost before it is stopped, by the trials of the blocks so far: at most
/// `STOP_AT`. Less than 1 where the current settings are far from the best: then what is better than they are is stopped as well.
pub fn stop_at(tried: &[SearchTrial], current: &Configuration) -> f64 {
    let of_current = tried.iter().filter(|trial| trial.configuration == *current);
    let of_current: Vec<f64> = of_current.filter_map(SearchTrial::cost).collect();
    // A trial that was stopped cost more than the best ones.
    let cost = |trial: &SearchTrial| match trial.outcome {
        SearchOutcome::Cost(cost) | SearchOutcome::Hopeless(cost) => Some(cost),
        SearchOutcome::Unusable => None,
    };
    let costs: Vec<f64> = tried.iter().filter_map(cost).collect();
    let ratio = median(&of_current).zip(quantile(&costs, BEST));
    ratio.map(|(current, best)| OF_THE_BEST * best / current).unwrap_or(STOP_AT).min(STOP_AT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(level: usize, outcome: SearchOutcome) -> SearchTrial {
        SearchTrial { block: 0, configuration: vec![level], outcome, constrained: Vec::new() }
    }

    /// What the third trial, which failed, counts as, divided by what the first one counts as.
    fn failed_to_measured(earlier: &[SearchTrial], tried: &[SearchTrial]) -> f64 {
        let tried: Vec<&SearchTrial> = tried.iter().collect();
        let costs = data(&tried, &vec![0], earlier).costs;
        (costs[2] - costs[0]).exp()
    }

    #[test]
    fn a_failed_trial_counts_as_a_multiple_of_the_current_settings_or_of_what_was_measured() {
        // A millionth of a second a row, far from 1.
        let with = |first: usize| {
            [
                trial(first, SearchOutcome::Cost(1e-6)),
                trial(1, SearchOutcome::Cost(1e-6)),
                trial(2, SearchOutcome::Unusable),
            ]
        };
        assert!((failed_to_measured(&[], &with(0)) - STOP_AT).abs() < 1e-9);
        // An earlier search need not have tried what is set now.
        assert!((failed_to_measured(&with(3), &with(0)) - STOP_AT).abs() < 1e-9);
    }

    fn tried(costs: &[f64]) -> Vec<SearchTrial> {
        let tried = costs.iter().enumerate().map(|(number, cost)| SearchTrial {
            block: 0,
            configuration: vec![number],
            outcome: SearchOutcome::Cost(*cost),
            constrained: Vec::new(),
        });
        tried.collect()
    }

    #[test]
    fn the_better_the_best_trials_the_earlier_others_are_stopped() {
        let current = vec![0];
        assert_eq!(stop_at(&[], &current), STOP_AT);
        assert_eq!(stop_at(&tried(&[1.0, 2.0, 3.0]), &current), 1.8 * 1.3);
        let better = stop_at(&tried(&[1.0, 0.7, 0.7, 0.7, 3.0]), &current);
        assert!((better - 1.8 * 0.7).abs() < 1e-9, "{better}");
        let far = stop_at(&tried(&[1.0, 0.1, 0.1]), &current);
        assert!((far - 1.8 * 0.1).abs() < 1e-9, "{far}");
    }
}
