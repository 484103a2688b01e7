//! The result of a search: its choice, with every setting as it is now that is expected to contribute next to nothing.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use super::search::Expectation;
use lab::level::{Level, distinct};
use lab::stats::{ALPHA, Interval};
use lab::tuning_plan::{Configuration, TuningPlan};

/// A setting that is expected to contribute less than this, as a logarithm, stays as it is.
pub(super) const NOTHING: f64 = 0.01;

/// The cost that all settings that stay as they are may have together, as a logarithm.
const NOTHING_TOGETHER: f64 = 0.02;

/// The quantile of the normal distribution for a range of 95 %.
const NORMAL: f64 = 1.96;

/// Settings whose contribution is measured, at most: as many as in one block.
pub(super) const MEASURED: usize = 6;

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SearchResult {
    /// The best configuration, with every setting as it is now that is expected to contribute next to nothing.
    pub(super) winner: Configuration,
    /// The changed settings of the winner, those expected to contribute most first, each with the configuration that lacks it. The
    /// first [`MEASURED`] of them are measured by themselves.
    pub(super) changed: Vec<(String, Configuration)>,
    /// The settings that stay as they are.
    pub(super) unchanged: Vec<Unchanged>,
}

/// Two recommended settings whose gains depend on each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interaction {
    /// Their names.
    pub settings: [String; 2],
    /// The gain of both together divided by the product of their gains alone, by the model of the search: above 1 where one
    /// brings more with the other.
    pub ratio: f64,
    /// The range of the ratio that agrees with the model, at 95 % for all pairs together.
    pub range: Interval,
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

impl SearchResult {
    /// From the configuration with the best expectation.
    pub(super) fn of(
        choice: Configuration,
        tuning: &TuningPlan,
        model: &Expectation,
    ) -> SearchResult {
        let judge = Judge { tuning, model };
        let winner = judge.simplified(choice);
        SearchResult {
            changed: judge.changed(&winner),
            unchanged: judge.unchanged(&winner),
            winner,
        }
    }
}

/// Returns the changed settings of a configuration that bring more or less together than by themselves.
pub(super) fn interactions(
    configuration: &[usize],
    tuning: &TuningPlan,
    model: &Expectation,
) -> Vec<Interaction> {
    Judge { tuning, model }.interactions(configuration)
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
            match small.into_iter().min_by(|a, b| by_cost(&a.1).total_cmp(&by_cost(&b.1))) {
                Some((_, other)) => simple = other,
                None => return simple,
            }
        }
    }

    fn changed(&self, winner: &[usize]) -> Vec<(String, Configuration)> {
        let mut reverted = self.reverted(winner);
        let mean = self.model.mean();
        reverted.sort_by(|a, b| mean.at(&b.1).total_cmp(&mean.at(&a.1)));
        reverted
    }

    fn unchanged(&self, winner: &[usize]) -> Vec<Unchanged> {
        let tuning = self.tuning;
        let unchanged = tuning.space.factors.iter().enumerate().filter_map(|(index, factor)| {
            let own = winner[index];
            if own != self.with_current(winner, index).map_or(own, |other| other[index])
                || own >= factor.levels.len()
            {
                return None;
            }
            let others =
                (0..factor.levels.len()).filter(|level| *level != own).filter_map(|level| {
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

    /// Returns the pairs of changed settings whose gains the model knows to depend on each other, the strongest first.
    fn interactions(&self, winner: &[usize]) -> Vec<Interaction> {
        let changed = (0..winner.len()).filter(|factor| self.alone(winner, &[*factor]).is_some());
        let changed: Vec<usize> = changed.collect();
        let firsts = changed.iter().enumerate();
        let pairs =
            firsts.flat_map(|(at, first)| changed[..at].iter().map(|second| [*second, *first]));
        let judged: Vec<(Interaction, bool)> =
            pairs.filter_map(|pair| self.interaction(winner, pair, changed.len())).collect();
        let mut known: Vec<Interaction> =
            judged.into_iter().filter_map(|(it, is_known)| is_known.then_some(it)).collect();
        known.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
        known
    }

    /// Returns the joint effect of two of `changed` settings that neither has alone, and whether the model is sure of it.
    fn interaction(
        &self,
        winner: &[usize],
        pair: [usize; 2],
        changed: usize,
    ) -> Option<(Interaction, bool)> {
        let [one, other] = pair.map(|factor| self.alone(winner, &[factor]));
        let (one, other, none) = (one?, other?, self.alone(winner, &pair)?);
        let terms = [(1.0, &one[..]), (1.0, &other), (-1.0, winner), (-1.0, &none)];
        let (mean, sd) = self.model.cost.contrast(&terms);
        let pairs = changed * (changed - 1) / 2;
        let normal = Normal::standard().inverse_cdf(1.0 - ALPHA / (2 * pairs) as f64);
        let (low, high) = (mean - normal * sd, mean + normal * sd);
        let names = pair.map(|factor| self.tuning.space.factors[factor].name.clone());
        let interaction =
            Interaction { settings: names, ratio: mean.exp(), range: Interval { low, high }.exp() };
        Some((interaction, low > 0.0 || high < 0.0))
    }

    /// Returns the winner with these settings as they are now; `None` if they do not differ, or another setting would have to change,
    /// too.
    fn alone(&self, winner: &[usize], factors: &[usize]) -> Option<Configuration> {
        let mut other = winner.to_vec();
        for factor in factors {
            other[*factor] = self.tuning.current[*factor];
        }
        let space = &self.tuning.space;
        let is_whole = space.canonical(other.clone()) == other;
        let differs = factors.iter().all(|factor| other[*factor] != winner[*factor]);
        (is_whole && differs).then_some(other)
    }

    /// Returns the configurations with one setting as it is now, as far as they may be tried, each with the names of what differs.
    fn reverted(&self, configuration: &[usize]) -> Vec<(String, Configuration)> {
        let factors = 0..configuration.len();
        let reverted = factors.filter_map(|factor| self.with_current(configuration, factor));
        let mut once: Vec<Configuration> = distinct(reverted);
        once.drain(..).map(|other| (self.differing(configuration, &other), other)).collect()
    }

    /// Returns the configuration with this factor as it is now, and with it those without which it may not be tried. A factor
    /// that means nothing now has its first level. `None` if nothing changes, or it may not be tried.
    fn with_current(&self, configuration: &[usize], factor: usize) -> Option<Configuration> {
        let tuning = self.tuning;
        let space = &tuning.space;
        let mut other = configuration.to_vec();
        let revert = |other: &mut Configuration, factor: usize| {
            let levels = space.factors[factor].levels.len();
            if other[factor] < levels {
                other[factor] =
                    Some(tuning.current[factor]).filter(|level| *level < levels).unwrap_or(0);
            }
        };
        revert(&mut other, factor);
        let mut whole = space.canonical(other.clone());
        for _ in 0..space.factors.len() {
            let Some(exclusion) = space.exclusion(&whole) else {
                return (whole != configuration).then_some(whole);
            };
            exclusion.levels.iter().for_each(|(factor, _)| revert(&mut other, *factor));
            whole = space.canonical(other.clone());
        }
        None
    }

    /// Returns the names of the settings in which two configurations differ, but for those that mean nothing in one of them.
    fn differing(&self, one: &[usize], other: &[usize]) -> String {
        let pairs = self.tuning.space.factors.iter().zip(one.iter().zip(other));
        let differing = pairs.filter(|(factor, (one, other))| {
            one != other && **one.max(other) < factor.levels.len()
        });
        differing.map(|(factor, _)| factor.name.as_str()).collect::<Vec<_>>().join(" and ")
    }
}

/// Returns the range of a ratio whose logarithm has this mean and standard deviation.
fn range(mean: f64, sd: f64) -> Interval {
    let (low, high) = (mean - NORMAL * sd, mean + NORMAL * sd);
    Interval { low, high }.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Search, tuning_of};
    use lab::level::Settings;
    use lab::seed::Seed;
    use lab::tier::MayLose;
    use lab::tuning_plan::{SearchOutcome, SearchTrial, TunableSetting};

    /// Trials of all configurations of three settings in several blocks: the first two bring a third each, and half as much
    /// again if they are together.
    fn tried(together: f64) -> Vec<SearchTrial> {
        let mut noise = Seed(3).generator();
        let blocks = (0..12_u32).flat_map(|block| (0..8_usize).map(move |it| (block, it)));
        let tried = blocks.map(|(block, bits)| {
            let configuration: Vec<usize> = (0..3).map(|factor| bits >> factor & 1).collect();
            let [one, other] = [0, 1].map(|factor| configuration[factor] == 1);
            let log = -0.3 * f64::from(u8::from(one))
                - 0.3 * f64::from(u8::from(other))
                - together * f64::from(u8::from(one && other));
            SearchTrial {
                block,
                configuration,
                outcome: SearchOutcome::Cost((log + 0.02 * noise.normal()).exp()),
                constrained: Vec::new(),
            }
        });
        tried.collect()
    }

    fn expected_of(of: [usize; 3], together: f64) -> Vec<Interaction> {
        let lever = |name: &str| TunableSetting {
            name: name.to_owned(),
            levels: vec![0.into(), 1.into()],
            always_named: true,
            only_with: None,
        };
        let levers = ["a", "b", "c"].map(lever).into();
        let tuning = tuning_of(levers, &Settings::new(), &[], MayLose::Anything);
        let (space, current) = (tuning.space.clone(), tuning.current.clone());
        let mut search = Search::new(space, current, tuning.good.clone(), Seed(1)).unwrap();
        let model = search.expectation(&tried(together)).unwrap();
        interactions(&of, &tuning, &model)
    }

    #[test]
    fn an_interaction_is_named_where_the_trials_show_it() {
        let known = expected_of([1, 1, 1], 0.4);
        assert_eq!(known.len(), 1, "{known:?}");
        assert_eq!(known[0].settings, ["a", "b"]);
        assert!(known[0].range.contains(0.4_f64.exp()), "{known:?}");
        assert_eq!(expected_of([1, 1, 1], 0.0), []);
        // A setting that stays as it is brings nothing with another one.
        assert_eq!(expected_of([1, 0, 1], 0.4), []);
    }
}
