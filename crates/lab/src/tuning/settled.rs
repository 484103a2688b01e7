//! What a search has come to: its choice, with every setting as it is now that is expected to contribute next to nothing.

use serde::Serialize;

use super::plan::TuningPlan;
use super::search::Expectation;
use super::space::Configuration;
use crate::level::{Level, distinct};
use crate::stats::Interval;

/// A setting that is expected to contribute less than this, as a logarithm, stays as it is.
pub(super) const NOTHING: f64 = 0.01;

/// What all settings that stay as they are may cost together, as a logarithm.
const NOTHING_TOGETHER: f64 = 0.02;

/// The quantile of the normal distribution for a range of 95 %.
const NORMAL: f64 = 1.96;

/// Settings whose contribution is measured, at most: those of one block.
const MEASURED: usize = 6;

/// What the search has come to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settled {
    /// The best configuration, with every setting as it is now that is expected to contribute next to nothing.
    pub(super) winner: Configuration,
    /// The settings of the winner whose contribution is measured, those expected to contribute most first, each with
    /// the configuration that lacks it.
    pub(super) measured: Vec<(String, Configuration)>,
    /// The settings that stay as they are.
    pub(super) unchanged: Vec<Unchanged>,
}

/// A setting that was varied and stays as it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unchanged {
    /// Name of the setting.
    pub setting: String,
    /// The level with the best expectation among the others that may be tried.
    pub other: Level,
    /// By how many times that level is better, by the model of the search: above 1 for better.
    pub ratio: f64,
    /// The range of the ratio that agrees with the model, at 95 %.
    pub range: Interval,
}

impl Settled {
    /// From the configuration with the best expectation.
    pub(super) fn of(choice: Configuration, tuning: &TuningPlan, model: &Expectation) -> Settled {
        let judge = Judge { tuning, model };
        let winner = judge.simplified(choice);
        Settled {
            measured: judge.measured(&winner),
            unchanged: judge.unchanged(&winner),
            winner,
        }
    }
}

/// The plan of a search, and what its trials say.
struct Judge<'a> {
    tuning: &'a TuningPlan,
    model: &'a Expectation,
}

impl Judge<'_> {
    fn simplified(&self, choice: Configuration) -> Configuration {
        let mean = self.model.mean();
        let cost = |of: &[usize], to: &[usize]| mean.at(of) - mean.at(to);
        let mut simple = choice.clone();
        loop {
            let mut small = self.reverted(&simple);
            small.retain(|(_, other)| {
                cost(other, &simple) < NOTHING && cost(other, &choice) < NOTHING_TOGETHER
            });
            let by_cost = |other: &Configuration| cost(other, &simple);
            match small
                .into_iter()
                .min_by(|a, b| by_cost(&a.1).total_cmp(&by_cost(&b.1)))
            {
                Some((_, other)) => simple = other,
                None => return simple,
            }
        }
    }

    fn measured(&self, winner: &[usize]) -> Vec<(String, Configuration)> {
        let mut reverted = self.reverted(winner);
        let mean = self.model.mean();
        reverted.sort_by(|a, b| mean.at(&b.1).total_cmp(&mean.at(&a.1)));
        reverted.truncate(MEASURED);
        reverted
    }

    fn unchanged(&self, winner: &[usize]) -> Vec<Unchanged> {
        let tuning = self.tuning;
        let factors = tuning.space.factors.iter().enumerate();
        let unchanged = factors.filter_map(|(index, factor)| {
            let own = winner[index];
            if own != self.with_current(winner, index).map_or(own, |it| it[index])
                || own >= factor.levels.len()
            {
                return None;
            }
            let others = (0..factor.levels.len()).filter(|level| *level != own);
            let others = others.filter_map(|level| {
                let mut other = winner.to_vec();
                other[index] = level;
                let other = tuning.space.canonical(other);
                let (mean, sd) = self.model.cost.difference(winner, &other);
                tuning.space.admits(&other).then_some((level, mean, sd))
            });
            let (level, mean, sd) = others.max_by(|a, b| a.1.total_cmp(&b.1))?;
            Some(Unchanged {
                setting: factor.name.clone(),
                other: factor.levels[level].clone(),
                ratio: mean.exp(),
                range: range(mean, sd),
            })
        });
        unchanged.collect()
    }

    /// The configurations with one setting as it is now, as far as they may be tried, each with the names of what differs.
    fn reverted(&self, configuration: &[usize]) -> Vec<(String, Configuration)> {
        let factors = 0..configuration.len();
        let reverted = factors.filter_map(|factor| self.with_current(configuration, factor));
        let mut once: Vec<Configuration> = distinct(reverted);
        once.drain(..)
            .map(|other| (self.differing(configuration, &other), other))
            .collect()
    }

    /// The configuration with this factor as it is now, and with it those without which it may not be tried. A factor
    /// that means nothing now has its first level. None where nothing changes, or it may not be tried.
    fn with_current(&self, configuration: &[usize], factor: usize) -> Option<Configuration> {
        let tuning = self.tuning;
        let space = &tuning.space;
        let mut other = configuration.to_vec();
        let revert = |other: &mut Configuration, factor: usize| {
            let levels = space.factors[factor].levels.len();
            if other[factor] < levels {
                other[factor] = Some(tuning.current[factor])
                    .filter(|it| *it < levels)
                    .unwrap_or(0);
            }
        };
        revert(&mut other, factor);
        let mut whole = space.canonical(other.clone());
        for _ in 0..space.factors.len() {
            let Some(exclusion) = space.exclusion(&whole) else {
                return (whole != configuration).then_some(whole);
            };
            exclusion
                .levels
                .iter()
                .for_each(|(factor, _)| revert(&mut other, *factor));
            whole = space.canonical(other.clone());
        }
        None
    }

    /// The names of the settings in which two configurations differ, but for those that mean nothing in one of them.
    fn differing(&self, one: &[usize], other: &[usize]) -> String {
        let factors = self.tuning.space.factors.iter();
        let pairs = factors.zip(one.iter().zip(other));
        let differing = pairs.filter(|(factor, (one, other))| {
            one != other && **one.max(other) < factor.levels.len()
        });
        let names = differing.map(|(factor, _)| factor.name.as_str());
        names.collect::<Vec<_>>().join(" and ")
    }
}

/// The range of a ratio whose logarithm has this mean and standard deviation.
fn range(mean: f64, sd: f64) -> Interval {
    let (low, high) = (mean - NORMAL * sd, mean + NORMAL * sd);
    Interval { low, high }.exp()
}
