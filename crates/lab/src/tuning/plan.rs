//! What a run that tunes searches, as decided before its first trial.

use serde::{Deserialize, Serialize};

use super::advice::Advice;
use super::limits::Constraint;
use super::search::Tried;
use super::space::{Configuration, Space};
use crate::analysis::MayLose;
use crate::design::Variant;
use crate::level::{Settings, overlaid, picked};
use crate::record::PlannedExperiment;

/// Trials of an earlier search at most: more take long at each choice.
const EARLIER_TRIALS: usize = 150;

/// The search of an experiment that is tuned. The experiment's baseline holds the current settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningPlan {
    /// What may be tried: what may lose more than is accepted is excluded from it.
    pub space: Space,
    /// The current settings.
    pub current: Configuration,
    /// SQLite's defaults.
    pub defaults: Configuration,
    /// Configurations known to be good elsewhere.
    pub good: Vec<Configuration>,
    /// What may be lost.
    pub may_lose: MayLose,
    /// What an earlier search has recommended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Configuration>,
    /// The trials of that search, as far as they are of this space.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_trials: Vec<Tried>,
    /// What other metrics may be.
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
        (space, trials): (&Space, &[Tried]),
        fixed: &Settings,
    ) -> TuningPlan {
        let every = trials.len().div_ceil(EARLIER_TRIALS).max(1) as u32;
        let trials = trials.iter().filter(|it| it.block.is_multiple_of(every));
        let of_this = trials.filter_map(|it| {
            Some(Tried {
                configuration: self.moved_here(space, &it.configuration, fixed)?,
                constrained: Vec::new(),
                ..it.clone()
            })
        });
        self.earlier_trials = of_this.collect();
        self.good.insert(0, earlier.clone());
        self.earlier = Some(earlier);
        self
    }

    /// A configuration of another space in this one; none where a setting that is not varied here has not the level that all
    /// trials have here.
    fn moved_here(
        &self,
        space: &Space,
        configuration: &[usize],
        fixed: &Settings,
    ) -> Option<Configuration> {
        let is_varied = |name: &String| self.space.factors.iter().any(|it| it.name == *name);
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

    /// The variant of an experiment with these levels.
    pub fn variant(&self, planned: &PlannedExperiment, configuration: &[usize]) -> Variant {
        let levels = self.space.settings(configuration);
        let base = planned.variants.first().map(|it| it.settings.clone());
        let mut settings = base.unwrap_or_default();
        settings.retain(|name, _| !self.space.factors.iter().any(|factor| factor.name == *name));
        Variant {
            label: self.space.label(configuration),
            settings: overlaid(&settings, &levels),
            levels,
            ..Variant::default()
        }
    }

    /// The configuration of a variant as a record names it; none where it is not of the space.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::{Level, Settings};
    use crate::seed::Seed;
    use crate::tuning::{Exclusion, Lever, tuning_of};

    /// Levers as those of SQLite: one means something with another only, and defaults are not named.
    pub(in crate::tuning) fn tuning() -> TuningPlan {
        let lever = |name: &str, levels: &[&str], always_named: bool| Lever {
            name: name.to_owned(),
            levels: levels.iter().map(|level| Level::from(*level)).collect(),
            always_named,
            only_with: None,
        };
        let levers = vec![
            lever("journal_mode", &["delete", "wal"], true),
            lever("synchronous", &["full", "normal", "off"], true),
            lever("cache", &["small", "large"], false),
            Lever {
                only_with: Some(("journal_mode".to_owned(), vec!["wal".into()])),
                ..lever("checkpoint", &["often", "seldom"], false)
            },
        ];
        let good: Settings = [("journal_mode".to_owned(), "wal".into())].into();
        let mut tuning = tuning_of(levers, &Settings::new(), &[good], MayLose::Recent);
        tuning.space.excluded = vec![
            Exclusion { levels: vec![(1, 2)], why: "can corrupt".to_owned() },
            Exclusion { levels: vec![(0, 0), (1, 1)], why: "can corrupt".to_owned() },
        ];
        tuning
    }

    #[test]
    fn a_level_may_contain_spaces() {
        let lever = |name: &str, levels: &[&str]| Lever {
            name: name.to_owned(),
            levels: levels.iter().map(|level| Level::from(*level)).collect(),
            always_named: true,
            only_with: None,
        };
        let engines = ["default", "/my libs/a.so", "/my libs/a.so b"];
        let levers = vec![lever("engine", &engines), lever("threads", &["1", "2"])];
        let tuning = tuning_of(levers, &Settings::new(), &[], MayLose::Recent);
        for engine in 0..engines.len() {
            for threads in 0..2 {
                let configuration = vec![engine, threads];
                let label = tuning.space.label(&configuration);
                assert_eq!(tuning.configuration(&label), Some(configuration), "{label}");
            }
        }
        assert_eq!(tuning.configuration("engine=/my libs/b.so threads=1"), None);
    }

    #[test]
    fn the_record_names_every_configuration_so_that_it_can_be_read_again() {
        let tuning = tuning();
        let mut generator = Seed(1).generator();
        for _ in 0..100 {
            let drawn = tuning.space.random(&mut generator, &tuning.current);
            let label = tuning.space.label(&drawn);
            assert_eq!(tuning.configuration(&label), Some(drawn), "{label}");
        }
        assert_eq!(tuning.space.label(&tuning.defaults), "journal_mode=delete synchronous=full");
        for unknown in
            ["journal_mode=wal", "journal_mode=delete synchronous=full checkpoint=seldom", "x"]
        {
            assert_eq!(tuning.configuration(unknown), None, "{unknown}");
        }
    }
}
