//! The plan of a search, as decided before the first trial of its run.
//!
//! Constraints: bounds of metrics besides the one that is tuned.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::space::{Configuration, Space};
use crate::design::Variant;
use crate::guard::{Budget, BudgetError, Limit};
use crate::level::{Level, Settings, label, overlaid, picked};
use crate::metric::{Unit, find, higher_is_better};
use crate::tier::MayLose;

/// Trials of an earlier search at most: more take long at each choice.
const EARLIER_TRIALS: usize = 150;

/// The search of an experiment that is tuned. The experiment's baseline holds the current settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningPlan {
    /// The space of the search: settings that may lose more than is accepted are excluded.
    pub space: Space,
    /// The current settings.
    pub current: Configuration,
    /// SQLite's defaults.
    pub defaults: Configuration,
    /// Configurations known to be good elsewhere.
    pub good: Vec<Configuration>,
    /// The accepted loss.
    pub may_lose: MayLose,
    /// The recommendation of an earlier search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Configuration>,
    /// The trials of that search, as far as they are of this space.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_trials: Vec<SearchTrial>,
    /// Constraints on other metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Constraint>,
    /// Settings that are not varied, because no statement of the workload uses what they are about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle: Vec<String>,
    /// Changes of the application that are measured apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
}

impl TuningPlan {
    /// With the recommendation of an earlier search, which is among the first configurations tried, and with its trials, in
    /// the space of that search. `fixed` are settings that all trials have now.
    pub fn after(
        mut self,
        earlier: Configuration,
        (space, trials): (&Space, &[SearchTrial]),
        fixed: &Settings,
    ) -> TuningPlan {
        let every = trials.len().div_ceil(EARLIER_TRIALS).max(1) as u32;
        let trials = trials.iter().filter(|trial| trial.block.is_multiple_of(every));
        let of_this = trials.filter_map(|trial| {
            Some(SearchTrial {
                configuration: self.moved_here(space, &trial.configuration, fixed)?,
                constrained: Vec::new(),
                ..trial.clone()
            })
        });
        self.earlier_trials = of_this.collect();
        self.good.insert(0, earlier.clone());
        self.earlier = Some(earlier);
        self
    }

    /// Returns a configuration of another space in this one; `None` if a setting that is not varied here has not the level that all
    /// trials have here.
    fn moved_here(
        &self,
        space: &Space,
        configuration: &[usize],
        fixed: &Settings,
    ) -> Option<Configuration> {
        let is_varied =
            |name: &String| self.space.factors.iter().any(|factor| factor.name == *name);
        let factors = space.factors.iter().zip(configuration);
        let mut others = factors.filter(|(factor, _)| !is_varied(&factor.name));
        let is_as_here = others.all(|(factor, index)| {
            let default = factor.levels.first();
            let here = fixed.get(&factor.name).or(default);
            *index >= factor.levels.len()
                || factor.levels.get(*index) == here
                || self.idle.contains(&factor.name)
        });
        let settings = picked(&space.settings(configuration), is_varied);
        is_as_here.then(|| self.space.configuration(&settings))?
    }

    /// Returns the variant with these levels of an experiment whose baseline has the settings `base`.
    pub fn variant(&self, base: &Settings, configuration: &[usize]) -> Variant {
        let levels = self.space.settings(configuration);
        let mut settings = base.clone();
        settings.retain(|name, _| !self.space.factors.iter().any(|factor| factor.name == *name));
        Variant {
            label: self.space.label(configuration),
            settings: overlaid(&settings, &levels),
            levels,
            ..Variant::default()
        }
    }

    /// Returns the configuration of a variant as a record names it; `None` if it is not of the space.
    pub fn configuration(&self, label: &str) -> Option<Configuration> {
        let mut configuration = vec![usize::MAX; self.space.factors.len()];
        let mut rest = label;
        while !rest.is_empty() {
            let (factor, level, length) = self.space.named_first(rest)?;
            configuration[factor] = level;
            rest = rest[length..].trim_start();
        }
        let whole = self.with_idle_factors(configuration);
        (!whole.is_empty() && self.space.label(&whole) == label).then_some(whole)
    }

    /// Factors that the label did not name have what connections have anyway, or mean nothing; nothing is left where
    /// another one is missing.
    fn with_idle_factors(&self, mut configuration: Configuration) -> Configuration {
        for (level, factor) in configuration.iter_mut().zip(&self.space.factors) {
            if *level == usize::MAX && factor.unset {
                *level = 0;
            } else if *level == usize::MAX && factor.gate.is_some() {
                *level = factor.levels.len();
            }
        }
        if configuration.contains(&usize::MAX) {
            return Vec::new();
        }
        self.space.canonical(configuration)
    }
}

/// A setting that may be varied.
#[derive(Clone, Debug, PartialEq)]
pub struct TunableSetting {
    /// Its name.
    pub name: String,
    /// Its levels, the default first.
    pub levels: Vec<Level>,
    /// Whether it is named even where it has the default.
    pub always_named: bool,
    /// The setting and the levels of it with which this one means anything; none for always.
    pub only_with: Option<(String, Vec<Level>)>,
}

/// A change of the application that a workload can carry out by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The change, in words.
    pub change: String,
    /// SQL that makes the change, if SQL does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// Its effect by counts that need no timing, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<String>,
    /// Settings that are added to the recommended ones to measure it.
    pub settings: Settings,
}

impl Advice {
    /// Returns the recommended variant with the change.
    pub fn variant(&self, recommended: &Variant) -> Variant {
        Variant {
            label: label(&self.settings),
            name: Some(self.change.clone()),
            settings: overlaid(&recommended.settings, &self.settings),
            levels: overlaid(&recommended.levels, &self.settings),
            ..Variant::default()
        }
    }
}

/// How a trial ended, as the search sees it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchOutcome {
    /// Its cost: a time, a size, or 1 ÷ a rate; above zero.
    Cost(f64),
    /// It was stopped when it had cost so much.
    Hopeless(f64),
    /// It failed, or answered differently: the configuration is never recommended.
    Unusable,
}

/// A trial of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchTrial {
    /// Its block, from 0.
    pub block: u32,
    /// The configuration.
    pub configuration: Configuration,
    /// How it ended.
    #[serde(rename = "seen")]
    pub outcome: SearchOutcome,
    /// The logarithm of the figure of each constraint, such that less is better; `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constrained: Vec<Option<f64>>,
}

impl SearchTrial {
    /// Returns its cost; `None` if it was not measured.
    pub fn cost(&self) -> Option<f64> {
        match self.outcome {
            SearchOutcome::Cost(cost) => Some(cost),
            SearchOutcome::Hopeless(_) | SearchOutcome::Unusable => None,
        }
    }
}

/// A bound on a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    /// The metric.
    pub metric: String,
    /// Its bound.
    pub bound: Bound,
}

/// The bound of a constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A bound on the figure divided by the current settings' figure.
    Ratio(Budget),
    /// Of the figure itself.
    Figure(Limit),
}

/// Short names of metrics that constraints are written with.
const NAMES: [(&str, &str); 4] = [
    ("p99", "p99_us"),
    ("size", "db_bytes"),
    ("memory", "peak_memory_bytes"),
    ("cpu", "cpu_user_s"),
];

impl Constraint {
    /// From a text such as `p99 <= 1.05`, a ratio to the current settings, or `memory <= 256 MiB`, a figure.
    ///
    /// # Errors
    /// It has another form, the metric is unknown, has another unit, or is better in the direction that is not allowed.
    pub fn parsed(text: &str) -> Result<Constraint, BudgetError> {
        let at = text.find(['<', '>']).ok_or_else(|| BudgetError::Form(text.to_owned()))?;
        let (name, bound) = (text[..at].trim(), &text[at..]);
        let known = NAMES.iter().find(|(short, _)| *short == name);
        let metric = known.map_or(name, |(_, metric)| metric).to_owned();
        find(&metric).ok_or_else(|| BudgetError::Metric(name.to_owned()))?;
        let is_figure = bound.trim().ends_with(|letter: char| letter.is_alphabetic());
        let bound = if is_figure {
            let limit: Limit = bound.parse()?;
            limit.of_metric(&metric)?;
            Bound::Figure(limit)
        } else {
            let budget: Budget = bound.parse()?;
            budget.check(&metric)?;
            Bound::Ratio(budget)
        };
        Ok(Constraint { metric, bound })
    }

    /// Returns a figure on the scale of constraints, on which less is better: its logarithm, with what counts as next to nothing added, so
    /// that a figure of 0 has one, too. None of what is below that.
    pub fn scaled(&self, figure: f64) -> Option<f64> {
        let log = (figure + self.next_to_nothing()).ln();
        log.is_finite().then(|| self.sign() * log)
    }

    /// By how much figures may exceed the current settings' figure, which is given on the scale of constraints.
    pub fn room(&self, current: f64) -> Option<f64> {
        let figure = (self.sign() * current).exp() - self.next_to_nothing();
        let most = match &self.bound {
            Bound::Ratio(budget) => budget.bound * figure,
            Bound::Figure(limit) => limit.of_metric(&self.metric).ok()?.bound,
        };
        Some(self.scaled(most)? - current)
    }

    /// 1 where less of the metric is better, otherwise -1.
    fn sign(&self) -> f64 {
        if higher_is_better(&self.metric) { -1.0 } else { 1.0 }
    }

    /// Returns the figure that counts as next to nothing for metrics that may be 0.
    fn next_to_nothing(&self) -> f64 {
        match find(&self.metric).map(|metric| metric.unit) {
            Some(Unit::Count | Unit::Bytes | Unit::Percent) => 1.0,
            Some(Unit::Share) => 0.01,
            Some(Unit::Seconds) => 0.001,
            _ => 0.0,
        }
    }

    /// Returns whether the figures of a round, what is judged and the current settings, are within the bound.
    pub fn holds(&self, (own, current): (f64, f64)) -> Option<bool> {
        let (budget, least) = match &self.bound {
            Bound::Ratio(budget) => (*budget, current),
            Bound::Figure(limit) => (limit.of_metric(&self.metric).ok()?, 1.0),
        };
        let bound = budget.bound * least;
        Some(Budget { bound, ..budget }.allows(own))
    }
}

impl fmt::Display for Constraint {
    /// As it is written: `p99_us <= 1.05`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = &self.metric;
        match &self.bound {
            Bound::Ratio(budget) => write!(f, "{metric} {budget}"),
            Bound::Figure(limit) => write!(f, "{metric} {limit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constraint_is_a_ratio_to_the_current_settings_or_has_a_unit() {
        let p99 = Constraint::parsed("p99 <= 1.05").unwrap();
        assert_eq!(p99.metric, "p99_us");
        assert!((p99.room(9.0).unwrap() - 1.05_f64.ln()).abs() < 1e-12);
        let memory = Constraint::parsed("memory <= 256MiB").unwrap();
        let now = memory.scaled(128.0 * 1_048_576.0).unwrap();
        assert!((memory.room(now).unwrap() - 2.0_f64.ln()).abs() < 1e-6);
        let rate = Constraint::parsed("txns_per_s >= 0.9").unwrap();
        assert!((rate.room(0.0).unwrap() + 0.9_f64.ln()).abs() < 1e-12);
        let cpu = Constraint::parsed("cpu <= 1.1").unwrap();
        let now = cpu.scaled(2.0).unwrap();
        assert!((now + cpu.room(now).unwrap() - cpu.scaled(2.2).unwrap()).abs() < 1e-12);
        for wrong in ["p99", "p99 >= 1.05", "speed <= 1", "size <= 3 ms", "p99 <= x"] {
            assert!(Constraint::parsed(wrong).is_err(), "{wrong}");
        }
    }
}
