//! The record of a run: the types of the files in a run's folder.
//!
//! `run.json` holds the [`RunPlan`] as it stood before the data, `environment.json` the machine,
//! `outcomes.jsonl` a [`Header`] and then one [`TrialRecord`] a line, whatever the trial is for. Reading
//! and writing are the runner's; the types stand here because statistics and reports start from them.

mod engine;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::design::{
    DesignParams, History, Role, Stopping, UpperBound, Variant, budget_of, fewest_trials,
};
use crate::environment::{Covariates, Environment, NoiseProbe};
use crate::experiment::{Experiment, Scale};
use crate::level::Settings;
use crate::measures::Measures;
use crate::metric::{self, DeclaredMetric};
use crate::seed::Seed;
use crate::target;
use crate::tier::{SEED, TierPlan};
use crate::trial::Outcome;
use crate::tuning_plan::TuningPlan;

pub use engine::{EngineRecord, ProvenanceRecord, SyncCheck, engine_to_load};

/// Version of the files of a run.
pub const FORMAT: u32 = 3;

/// The largest part of a time limit that is kept for measuring safety tiers.
const TIERS_SHARE: f64 = 0.25;

/// First line of `outcomes.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the file.
    pub format: u32,
    /// The run it belongs to.
    pub run: String,
}

/// Everything decided before the first trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// Version of the file.
    pub format: u32,
    /// Name of the run: unique, and part of the names of its temporary directories.
    pub id: String,
    /// When the run was planned: RFC 3339, UTC.
    pub created: String,
    /// Version of pragmark that planned it.
    pub pragmark: String,
    /// The directory in which it began: the paths of its settings may be relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_in: Option<PathBuf>,
    /// From which every random choice derives.
    pub seed: Seed,
    /// How large the data is.
    pub scale: Scale,
    /// The engine of variants that name none.
    pub engine: String,
    /// Whether a quick, preliminary answer was asked for.
    pub quick: bool,
    /// Longest time for one trial, in seconds.
    pub trial_limit_s: f64,
    /// Time for the whole run in seconds; none for no limit. Every experiment gets its first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// The safety tiers, known or measured after the last round; `None` if they were left out, or no
    /// variant names a setting that decides what a crash can destroy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiers: Option<TierPlan>,
    /// Whether the user gave a PostgreSQL server. Its address is not kept: it may hold a password.
    #[serde(default)]
    pub postgres_given: bool,
    /// The experiments, each on one directory.
    pub experiments: Vec<PlannedExperiment>,
}

/// One experiment on one directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedExperiment {
    /// Name within the run: the experiment's id, and the directory's number where there are
    /// several.
    pub key: String,
    /// The file's content with its claims and thresholds.
    pub experiment: Experiment,
    /// Where its databases are made.
    pub directory: PathBuf,
    /// The variants, the baseline first.
    pub variants: Vec<Variant>,
    /// Upper bounds of the variants.
    #[serde(default)]
    pub upper_bounds: Vec<UpperBound>,
    /// Whether each variant is run once more in the end, counting what it does to files.
    #[serde(default)]
    pub counting: bool,
    /// The factors that decide what a crash can destroy.
    #[serde(default)]
    pub crash_relevant: Vec<String>,
    /// The metrics that drivers declare for its workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<DeclaredMetric>,
    /// When it ends.
    pub stopping: Stopping,
    /// Whether its variants are measured for themselves and compared with none (see [`DesignParams::alone`]).
    /// Their trials take the seed of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// The search, if the experiment is tuned: the search chooses its variants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Box<TuningPlan>>,
}

impl RunPlan {
    /// Returns whether the plan can be carried out and its names can be parts of paths: a plan that is read may
    /// come from anywhere.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let keys = self.experiments.iter().map(|planned| planned.key.as_str());
        if let Some(name) = [self.id.as_str()].into_iter().chain(keys).find(|name| !is_name(name)) {
            return Err(format!("`{name}` is not a name"));
        }
        let is_time = |seconds: f64| seconds > 0.0 && seconds <= LONGEST_S;
        if !is_time(self.trial_limit_s) {
            let limit = self.trial_limit_s;
            return Err(format!("the time limit of a trial cannot be {limit} s"));
        }
        let empty = |planned: &&PlannedExperiment| planned.variants.is_empty();
        match self.experiments.iter().find(empty) {
            Some(planned) => Err(format!("the experiment {} has no variants", planned.key)),
            None => Ok(()),
        }
    }

    /// Makes the metrics known that drivers declare for the workloads of the run.
    ///
    /// # Errors
    /// As for [`metric::declare`].
    pub fn declare_metrics(&self) -> Result<(), String> {
        let mut planned = self.experiments.iter();
        planned.try_for_each(|planned| metric::declare(&planned.metrics))
    }

    /// Returns the design parameters of each experiment after the trials so far, in the plan's order.
    pub fn design_params(&self, histories: &[&History]) -> Vec<DesignParams> {
        let unlimited: Vec<DesignParams> =
            self.experiments.iter().map(|planned| planned.design_params(self.seed)).collect();
        let Some(limit_s) = self.rounds_budget_s() else { return unlimited };
        (0..unlimited.len())
            .map(|index| DesignParams {
                budget_s: Some(budget_of(limit_s, index, &unlimited, histories)),
                ..unlimited[index]
            })
            .collect()
    }

    /// Trials that the run makes at least, unless a time limit cuts it short or variants cannot be measured.
    pub fn fewest_trials(&self) -> usize {
        let params = self.experiments.iter().map(|one| one.design_params(self.seed));
        params.map(|params| fewest_trials(&params)).sum()
    }

    /// Those among [`RunPlan::fewest_trials`] that only count.
    pub fn counting_trials(&self) -> usize {
        let counting = self.experiments.iter().filter(|planned| planned.counting);
        counting.map(|planned| planned.variants.len()).sum()
    }

    /// Returns the seed of the data in a round of an experiment: all variants of a round work on the same data,
    /// and rounds differ. Variants that are compared with none have the seed of the run in the first round,
    /// so that its user can ask for the same again. Crash images are the same in every run, like the images of
    /// safety tiers.
    pub fn data_seed(&self, planned: &PlannedExperiment, round: u32) -> Seed {
        let is_crashed = planned.experiment.measures() == Measures::CrashImages;
        match (planned.alone, round) {
            (true, 0) => self.seed,
            (true, later) => self.seed.child("rounds").nth(later.into()),
            (false, 0) if is_crashed => SEED,
            (false, later) if is_crashed => SEED.nth(later.into()),
            (false, round) => {
                let seed = self.seed.child(&planned.key).child("data");
                seed.nth(round.into())
            }
        }
    }

    /// Returns whether some variant or limit drives a PostgreSQL server.
    pub fn drives_postgres(&self) -> bool {
        let mut settings = self.settings();
        settings.any(target::is_postgres)
    }

    /// Returns the settings of every variant and upper bound.
    pub fn settings(&self) -> impl Iterator<Item = &Settings> {
        self.work().map(|(_, settings)| settings)
    }

    /// Returns the workload and the settings of every variant and upper bound.
    pub fn work(&self) -> impl Iterator<Item = (&str, &Settings)> {
        self.experiments.iter().flat_map(|planned| {
            let workload = planned.experiment.workload.as_str();
            let variants = planned.variants.iter();
            let variants = variants.map(move |variant| (workload, &variant.settings));
            let bounds = planned.upper_bounds.iter();
            variants.chain(bounds.map(|bound| (bound.workload.as_str(), &bound.settings)))
        })
    }

    /// Time for the rounds of all experiments in seconds: the time limit less what the tiers will
    /// probably take, which is a quarter at most; none for no limit.
    pub fn rounds_budget_s(&self) -> Option<f64> {
        let budget_s = self.budget_s?;
        let tiers_s = self.tiers.as_ref().map_or(0.0, TierPlan::expected_s);
        Some(budget_s - tiers_s.min(TIERS_SHARE * budget_s))
    }
}

/// The longest time limit: a hundred years, in seconds.
pub const LONGEST_S: f64 = 100.0 * 366.0 * 86_400.0;

/// Returns whether it can be the name of a run or an experiment, and of a directory.
pub fn is_name(text: &str) -> bool {
    let of_name = |c: char| c.is_ascii_alphanumeric() || "-_@.".contains(c);
    !text.is_empty() && text.chars().all(of_name) && !text.starts_with('.')
}

impl PlannedExperiment {
    /// Returns the design parameters of the experiment in a run with this seed and no time limit.
    pub fn design_params(&self, run: Seed) -> DesignParams {
        DesignParams {
            seed: run.child(&self.key),
            variants: self.variants.len(),
            upper_bounds: self.upper_bounds.len(),
            counting: self.counting,
            stopping: self.stopping,
            budget_s: None,
            alone: self.alone,
        }
    }

    /// Returns the settings of the baseline.
    pub fn baseline_settings(&self) -> Settings {
        self.variants.first().map_or_else(Settings::new, |baseline| baseline.settings.clone())
    }

    /// Returns the label of the variant or limit with this index.
    pub fn label(&self, index: usize) -> &str {
        match index.checked_sub(self.variants.len()) {
            None => &self.variants[index].label,
            Some(limit) => &self.upper_bounds[limit].label,
        }
    }

    /// Returns its name in people's words, or its label.
    pub fn name(&self, index: usize) -> &str {
        self.variants.get(index).map_or_else(|| self.label(index), Variant::name_or_label)
    }

    /// Returns the index of the variant or limit of this label.
    pub fn index_of(&self, label: &str, role: Role) -> Option<usize> {
        if role == Role::UpperBound {
            let limit = self.upper_bounds.iter().position(|bound| bound.label == label)?;
            return Some(self.variants.len() + limit);
        }
        self.variants.iter().position(|variant| variant.label == label)
    }
}

/// `environment.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentFile {
    /// Version of the file.
    pub format: u32,
    /// The machine.
    pub machine: Environment,
    /// The engines that the run uses.
    pub engines: Vec<EngineRecord>,
    /// How noisy the machine was ahead of the run; `None` if it was not probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseProbe>,
}

/// The purpose of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::VariantArray)]
pub enum Purpose {
    /// It belongs to the search of an experiment that is tuned (the crate `tuning`).
    Search,
    /// It measures what one setting of the search's winner contributes.
    Ablation,
    /// It measures what a change of the application brings ([`crate::tuning_plan::Advice`]).
    Advice,
    /// It belongs to the rounds of an experiment.
    #[default]
    Rounds,
    /// It measures the safety tier of a set of settings ([`crate::plan::tier_plan`]).
    Tier,
    /// It measures again what was chosen from many variants ([`crate::plan::confirmation_plan`]).
    Confirmation,
}

impl Purpose {
    /// All of them, in the order in which a run comes to them.
    pub const ALL: &[Purpose] = <Purpose as strum::VariantArray>::VARIANTS;
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Its purpose.
    #[serde(default)]
    pub purpose: Purpose,
    /// Key of the experiment in the plan.
    pub experiment: String,
    /// Round, from 0.
    pub round: u32,
    /// Block within the round, from 0.
    pub block: u32,
    /// Place within the block, from 0.
    pub position: u32,
    /// Label of the variant.
    pub variant: String,
    /// The trial's role in its block.
    pub role: Role,
    /// The agent that carried it out, in a run over a fleet; `None` if it ran on the machine of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// Time from the start of its process to the end of the clean-up, in seconds.
    pub wall_s: f64,
    /// The state of the machine during the trial.
    pub covariates: Covariates,
    /// How it ended.
    pub outcome: Outcome,
}

impl TrialRecord {
    /// Returns the trial in a line of `outcomes.jsonl`. It stands here, next to the types, and not with the reading of the file,
    /// because the program is compiled for size there, and reading a large record that way takes much longer.
    ///
    /// # Errors
    /// The line is not the JSON of a trial.
    pub fn of_line(line: &[u8]) -> serde_json::Result<TrialRecord> {
        serde_json::from_slice(line)
    }
}
