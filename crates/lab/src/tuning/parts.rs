//! What comes after the search: what each setting of the winner contributes, and rounds of their own for what is
//! recommended.

use serde::Serialize;

use super::advice::{Advice, Advised};
use super::compared::compared;
use super::contribution::Contribution;
use super::course::{CONFIRMATION, SearchCourse};
use super::model::Model;
use super::space::Configuration;
use crate::analysis::observation;
use crate::design::{History, Stopping, Variant, trials_per_round};
use crate::experiment::{Design, DesignKind, Experiment, VariantName};
use crate::level::{Level, distinct};
use crate::metric::higher_is_better;
use crate::record::{PlannedExperiment, Purpose, RunPlan, TrialRecord};
use crate::stats::Interval;

/// The quantile of the normal distribution for a range of 95 %.
const NORMAL: f64 = 1.96;

/// A setting that is expected to contribute less than this, as a logarithm, stays as it is.
pub(super) const NOTHING: f64 = 0.01;

/// What all settings that stay as they are may cost together, as a logarithm.
const NOTHING_TOGETHER: f64 = 0.02;

/// Settings whose contribution is measured, at most: those of one block.
const MEASURED: usize = 6;

/// Rounds without which an ablation says too little to be begun.
const FEWEST_ROUNDS: f64 = 4.0;

/// Rounds of the ablation, and fewest rounds of the recommendation.
const ROUNDS: u32 = 7;

/// The trials of a run that tunes, as far as they decide what comes after.
#[derive(Clone, Debug)]
pub struct Tuning {
    course: SearchCourse,
    settled: Option<Settled>,
    ablation: History,
    advised: History,
}

/// What the search has come to.
#[derive(Clone, Debug, PartialEq)]
struct Settled {
    /// The best configuration, with every setting as it is now that is expected to contribute next to nothing.
    winner: Configuration,
    /// The settings of the winner whose contribution is measured, those expected to contribute most first, each with
    /// the configuration that lacks it.
    measured: Vec<(String, Configuration)>,
    /// The settings that stay as they are.
    unchanged: Vec<Unchanged>,
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

impl Tuning {
    /// Before its first trial; none where a run tunes nothing.
    pub fn of(plan: &RunPlan) -> Option<Tuning> {
        Some(Tuning {
            course: SearchCourse::of(plan)?,
            settled: None,
            ablation: History::default(),
            advised: History::default(),
        })
    }

    /// Takes the record of a trial; those of the search come first.
    pub fn add(&mut self, record: &TrialRecord) {
        match record.purpose {
            Purpose::Search => {
                self.settled = None;
                self.course.add(record);
            }
            Purpose::Ablation => {
                let part = self.ablation_experiment();
                let observed = part.and_then(|planned| observation(&planned, record));
                observed.map(|observation| self.ablation.add(observation));
            }
            Purpose::Advice => {
                let part = self.advice_experiment();
                let observed = part.and_then(|planned| observation(&planned, record));
                observed.map(|observation| self.advised.add(observation));
            }
            Purpose::Rounds | Purpose::Tier | Purpose::Confirmation => {}
        }
    }

    /// The search.
    pub fn course(&mut self) -> &mut SearchCourse {
        &mut self.course
    }

    /// What the search has come to; none before its screen is done.
    fn settled(&mut self) -> Option<&Settled> {
        if self.settled.is_none() {
            let choice = self.course.choice()?;
            let model = self.course.expectation()?;
            let winner = self.simplified(choice, &model);
            self.settled = Some(Settled {
                measured: self.measured(&winner, &model),
                unchanged: self.unchanged(&winner, &model),
                winner,
            });
        }
        self.settled.as_ref()
    }

    fn simplified(&self, choice: Configuration, model: &Model) -> Configuration {
        let cost = |of: &[usize], to: &[usize]| model.mean.at(of) - model.mean.at(to);
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

    fn measured(&self, winner: &[usize], model: &Model) -> Vec<(String, Configuration)> {
        let mut reverted = self.reverted(winner);
        reverted.sort_by(|a, b| model.mean.at(&b.1).total_cmp(&model.mean.at(&a.1)));
        reverted.truncate(MEASURED);
        reverted
    }

    fn unchanged(&self, winner: &[usize], model: &Model) -> Vec<Unchanged> {
        let tuning = self.course.tuning();
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
                let (mean, sd) = model.difference(winner, &other);
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
        let tuning = self.course.tuning();
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
        let factors = self.course.tuning().space.factors.iter();
        let pairs = factors.zip(one.iter().zip(other));
        let differing = pairs.filter(|(factor, (one, other))| {
            one != other && **one.max(other) < factor.levels.len()
        });
        let names = differing.map(|(factor, _)| factor.name.as_str());
        names.collect::<Vec<_>>().join(" and ")
    }

    /// The settings that were varied and stay as they are.
    pub fn left_as_they_are(&mut self) -> Vec<Unchanged> {
        let settled = self.settled();
        settled.map_or_else(Vec::new, |settled| settled.unchanged.clone())
    }

    /// The experiment that measures what each setting of the winner contributes: the winner is its baseline. None where
    /// there is no winner, or it is what is set now.
    fn ablation_experiment(&mut self) -> Option<PlannedExperiment> {
        let settled = self.settled()?;
        let without = settled.measured.iter().map(|(_, it)| it);
        let configurations = [&settled.winner].into_iter().chain(without);
        let configurations: Vec<Configuration> = configurations.cloned().collect();
        (configurations.len() > 1).then(|| self.experiment_of(&configurations, ROUNDS))
    }

    /// The part of the run that measures what each setting of the winner contributes: of as many settings as there is time
    /// for, those first that are expected to contribute most. None where there is no winner, or no time for one.
    pub fn ablation_plan(&mut self, plan: &RunPlan) -> Option<RunPlan> {
        let planned = self.ablation_experiment()?;
        let left_s = self.left_besides_rounds_s();
        let share = match self.course.tuning().advice.is_empty() {
            true => 1.0,
            false => 0.5,
        };
        self.part(plan, planned, "ablation", left_s.map(|it| share * it))
    }

    /// The experiment that measures what changes of the application bring: what is recommended is its baseline. None where
    /// the run measures no such changes.
    fn advice_experiment(&mut self) -> Option<PlannedExperiment> {
        let recommended = self.recommended();
        let recommended = self.variant(&recommended);
        let advice = &self.course.tuning().advice;
        let changed = advice.iter().map(|it| it.variant(&recommended));
        let variants: Vec<Variant> = [recommended.clone()].into_iter().chain(changed).collect();
        (variants.len() > 1).then(|| self.experiment_with(variants, ROUNDS))
    }

    /// The part of the run that measures what changes of the application bring, as many as there is time for; none
    /// without such changes, or where there is no time for one.
    pub fn advice_plan(&mut self, plan: &RunPlan) -> Option<RunPlan> {
        let planned = self.advice_experiment()?;
        let left_s = self.left_besides_rounds_s();
        let left_s = left_s.map(|left_s| left_s - self.ablation.elapsed_s());
        self.part(plan, planned, "advice", left_s)
    }

    /// The time after the search for everything but the rounds of the recommendation, in seconds.
    fn left_besides_rounds_s(&self) -> Option<f64> {
        let trial_s = self.course.trial_s().unwrap_or(0.0);
        Some(self.course.left_s()? - CONFIRMATION * trial_s)
    }

    /// A part of the run besides the search, with its first variants as far as there is time.
    fn part(
        &self,
        plan: &RunPlan,
        mut planned: PlannedExperiment,
        name: &str,
        left_s: Option<f64>,
    ) -> Option<RunPlan> {
        let trial_s = self.course.trial_s().unwrap_or(0.0);
        let is_enough = |variants: usize| {
            let round_s = trials_per_round(variants) as f64 * trial_s;
            left_s.is_none_or(|left_s| left_s >= FEWEST_ROUNDS * round_s)
        };
        let all = planned.variants.len();
        let variants = (2..=all).rev().find(|variants| is_enough(*variants))?;
        planned.variants.truncate(variants);
        Some(RunPlan {
            seed: plan.seed.child(name),
            budget_s: left_s,
            tiers: None,
            experiments: vec![planned],
            ..plan.clone()
        })
    }

    /// What the settings contribute, as far as they were measured.
    pub fn contributions(&mut self) -> Vec<Contribution> {
        let measured = self
            .settled()
            .map_or_else(Vec::new, |it| it.measured.clone());
        let all = compared(&self.ablation, measured.len(), -self.sign());
        let all = measured.into_iter().zip(all);
        let contributions = all.filter_map(|((settings, without), compared)| {
            let compared = compared?;
            Some(Contribution {
                settings,
                without: self.variant(&without),
                ratio: compared.ratio,
                interval: compared.interval,
                detectable: compared.detectable,
                rounds: compared.rounds,
            })
        });
        contributions.collect()
    }

    /// The settings of the winner that were too many to be measured in the time, or could not be.
    pub fn not_measured(&mut self) -> Vec<String> {
        let contributions = self.contributions();
        let is_measured = |name: &str| contributions.iter().any(|it| it.settings == name);
        let settled = self.settled();
        let all = settled.map_or_else(Vec::new, |it| it.measured.clone());
        let names = all.into_iter().map(|(name, _)| name);
        names.filter(|name| !is_measured(name)).collect()
    }

    /// What changes of the application bring.
    pub fn advised(&mut self) -> Vec<Advised> {
        let advice: Vec<Advice> = self.course.tuning().advice.clone();
        let all = compared(&self.advised, advice.len(), self.sign());
        let all = advice.into_iter().zip(all);
        let advised = all.map(|(advice, compared)| Advised {
            advice,
            gain: compared.map(Into::into),
        });
        advised.collect()
    }

    /// 1 where more of the metric is better, otherwise -1.
    fn sign(&self) -> f64 {
        match higher_is_better(&self.course.planned().experiment.metric) {
            true => 1.0,
            false => -1.0,
        }
    }

    fn variant(&self, configuration: &[usize]) -> Variant {
        let tuning = self.course.tuning();
        tuning.variant(self.course.planned(), configuration)
    }

    /// What is recommended: the winner without the settings whose own rounds show no gain. The current settings where there
    /// is no winner.
    pub fn recommended(&mut self) -> Configuration {
        let Some(settled) = self.settled().cloned() else {
            return self.course.tuning().current.clone();
        };
        let contributions = self.contributions().into_iter();
        let left_out = contributions.filter(Contribution::is_left_out);
        let left_out: Vec<String> = left_out.map(|it| it.settings).collect();
        let space = &self.course.tuning().space;
        let mut recommended = settled.winner.clone();
        let measured = settled.measured.iter();
        for (_, without) in measured.filter(|(name, _)| left_out.contains(name)) {
            let mut simpler = recommended.clone();
            for (factor, level) in simpler.iter_mut().enumerate() {
                if settled.winner[factor] != without[factor] {
                    *level = without[factor];
                }
            }
            let simpler = space.canonical(simpler);
            if space.admits(&simpler) {
                recommended = simpler;
            }
        }
        recommended
    }

    /// The run with the variants of the rounds that are reported: the current settings, what is recommended, and
    /// SQLite's defaults.
    pub fn final_plan(&mut self, plan: &RunPlan) -> RunPlan {
        let recommended = self.recommended();
        let tuning = self.course.tuning();
        let all = [&tuning.current, &recommended, &tuning.defaults];
        let configurations = distinct(all.into_iter().cloned());
        let planned = self.experiment_of(&configurations, Stopping::default().max_rounds);
        let left_s = self.course.left_s();
        let spent_s = self.ablation.elapsed_s() + self.advised.elapsed_s();
        RunPlan {
            budget_s: left_s.map(|left_s| (left_s - spent_s).max(0.0)),
            experiments: vec![planned],
            ..plan.clone()
        }
    }

    /// An experiment on these configurations, the first of them the baseline.
    fn experiment_of(
        &self,
        configurations: &[Configuration],
        max_rounds: u32,
    ) -> PlannedExperiment {
        let variants = configurations.iter().map(|it| self.named(self.variant(it)));
        self.experiment_with(variants.collect(), max_rounds)
    }

    fn experiment_with(&self, variants: Vec<Variant>, max_rounds: u32) -> PlannedExperiment {
        let planned = self.course.planned();
        let stopping = Stopping {
            rounds: ROUNDS,
            max_rounds,
            ..Stopping::default()
        };
        let mut levels = variants.iter().map(|variant| variant.levels.clone());
        let design = Design {
            kind: DesignKind::List,
            baseline: levels.next().unwrap_or_default(),
            variants: levels.collect(),
            stopping,
        };
        PlannedExperiment {
            experiment: Experiment {
                variants: variants.iter().filter_map(name_of).collect(),
                design,
                ..planned.experiment.clone()
            },
            variants,
            stopping,
            ..planned.clone()
        }
    }

    /// The variant with its name for people, where it is one of those that have one.
    fn named(&self, variant: Variant) -> Variant {
        let tuning = self.course.tuning();
        let is = |configuration: &[usize]| tuning.space.label(configuration) == variant.label;
        let name = match (is(&tuning.current), is(&tuning.defaults)) {
            (true, true) => Some("the current settings, which are SQLite's defaults"),
            (true, false) => Some("the current settings"),
            (false, true) => Some("SQLite's defaults"),
            (false, false) => None,
        };
        Variant {
            name: name.map(str::to_owned),
            ..variant
        }
    }
}

/// The range of a ratio whose logarithm has this mean and standard deviation.
fn range(mean: f64, sd: f64) -> Interval {
    let (low, high) = (mean - NORMAL * sd, mean + NORMAL * sd);
    Interval { low, high }.exp()
}

/// The name of a variant as an experiment file holds it.
fn name_of(variant: &Variant) -> Option<VariantName> {
    Some(VariantName {
        levels: variant.levels.clone(),
        label: Some(variant.name.clone()?),
        answer: None,
    })
}
