//! The record of a run: the types of the files in a run's folder.
//!
//! `run.json` holds the [`RunPlan`] as it stood before the data, `environment.json` the machine,
//! `outcomes.jsonl` a [`Header`] and then one [`TrialRecord`] a line, `tiers.jsonl` a [`Header`] and
//! then one [`TierRecord`] a line; runs that measured no tiers have none. Reading and writing are the
//! runner's; the types stand here because statistics and reports start from them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::design::{Arm, Course, History, Limit, Role, Stopping, budget_of};
use crate::environment::{Covariates, Environment, NoiseProbe};
use crate::experiment::{Experiment, Scale};
use crate::seed::Seed;
use crate::tier::{TierPlan, TierSet};
use crate::trial::Outcome;

/// Version of the files of a run.
pub const FORMAT: u32 = 1;

/// First line of `outcomes.jsonl` and of `tiers.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the file.
    pub format: u32,
    /// The run it belongs to.
    pub run: String,
}

/// Everything decided before the first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// Version of the file.
    pub format: u32,
    /// Name of the run: unique, and part of the names of its temporary directories.
    pub id: String,
    /// When the run was planned: RFC 3339, UTC.
    pub created: String,
    /// Version of pragmark that planned it.
    pub pragmark: String,
    /// From which every random choice derives.
    pub seed: Seed,
    /// How large the data is.
    pub scale: Scale,
    /// The engine of arms that name none.
    pub engine: String,
    /// Whether a quick, preliminary answer was asked for.
    pub quick: bool,
    /// Longest time for one trial, in seconds.
    pub trial_limit_s: f64,
    /// Time for the whole run in seconds; none for no limit. Every experiment gets its first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// The safety tiers that are measured after the last round; none where they were left out, or no
    /// arm names a setting that decides what a crash can destroy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiers: Option<TierPlan>,
    /// The experiments, each on one directory.
    pub experiments: Vec<PlannedExperiment>,
}

/// One experiment on one directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedExperiment {
    /// Name within the run: the experiment's id, and the directory's number where there are
    /// several.
    pub key: String,
    /// The file's content with its claims and thresholds.
    pub experiment: Experiment,
    /// Where its databases are made.
    pub directory: PathBuf,
    /// The arms, the reference first.
    pub arms: Vec<Arm>,
    /// What bounds the arms.
    #[serde(default)]
    pub limits: Vec<Limit>,
    /// Whether each arm is run once more in the end, counting what it does to files.
    #[serde(default)]
    pub counting: bool,
    /// The factors that decide what a crash can destroy.
    #[serde(default)]
    pub crash_relevant: Vec<String>,
    /// When it ends.
    pub stopping: Stopping,
}

impl RunPlan {
    /// What decides the course of each experiment after the trials so far, in the plan's order.
    pub fn courses(&self, histories: &[&History]) -> Vec<Course> {
        let unlimited: Vec<Course> = self
            .experiments
            .iter()
            .map(|planned| planned.course(self.seed))
            .collect();
        let Some(limit_s) = self.rounds_budget_s() else {
            return unlimited;
        };
        (0..unlimited.len())
            .map(|index| Course {
                budget_s: Some(budget_of(limit_s, index, &unlimited, histories)),
                ..unlimited[index]
            })
            .collect()
    }

    /// Time for the rounds of all experiments in seconds: the time limit less what the tiers will
    /// take; none for no limit.
    pub fn rounds_budget_s(&self) -> Option<f64> {
        let tiers_s = self.tiers.as_ref().map_or(0.0, TierPlan::expected_s);
        Some((self.budget_s? - tiers_s).max(0.0))
    }
}

impl PlannedExperiment {
    /// What decides the course of the experiment in a run with this seed and no time limit.
    pub fn course(&self, run: Seed) -> Course {
        Course {
            seed: run.child(&self.key),
            arms: self.arms.len(),
            limits: self.limits.len(),
            counting: self.counting,
            stopping: self.stopping,
            budget_s: None,
        }
    }

    /// The label of the arm or limit with this index.
    pub fn label(&self, index: usize) -> &str {
        match index.checked_sub(self.arms.len()) {
            None => &self.arms[index].label,
            Some(limit) => &self.limits[limit].label,
        }
    }

    /// The index of the arm or limit of this label.
    pub fn index_of(&self, label: &str, role: Role) -> Option<usize> {
        if role == Role::Limit {
            let limit = self.limits.iter().position(|limit| limit.label == label)?;
            return Some(self.arms.len() + limit);
        }
        self.arms.iter().position(|arm| arm.label == label)
    }
}

/// `environment.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentFile {
    /// Version of the file.
    pub format: u32,
    /// The machine.
    pub machine: Environment,
    /// The engines that the run uses.
    pub engines: Vec<EngineRecord>,
    /// How noisy the machine was ahead of the run; none where it was not probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseProbe>,
}

/// An engine as it described itself before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRecord {
    /// How the run names it: `default`, `system` or a path.
    pub name: String,
    /// Where it was found, for libraries that are files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// `sqlite3_libversion()`.
    pub version: String,
    /// `sqlite3_sourceid()`.
    pub source_id: String,
    /// Its compile-time options.
    pub compile_options: Vec<String>,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Key of the experiment in the plan.
    pub experiment: String,
    /// Round, from 0.
    pub round: u32,
    /// Block within the round, from 0.
    pub block: u32,
    /// Place within the block, from 0.
    pub position: u32,
    /// Label of the arm.
    pub arm: String,
    /// What the trial was in its block.
    pub role: Role,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// Time from the start of its process to the end of the clean-up, in seconds.
    pub wall_s: f64,
    /// What the machine did meanwhile.
    pub covariates: Covariates,
    /// How it ended.
    pub outcome: Outcome,
}

/// The crash trial of one set of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierRecord {
    /// What was tried.
    pub set: TierSet,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// Time from the start of its process to the end of the clean-up, in seconds.
    pub wall_s: f64,
    /// How it ended.
    pub outcome: Outcome,
}
