//! What comparisons need of a run: a part of its analysis, which the JSON export holds as well.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::analysis::{Analysis, ExperimentAnalysis, Summary, TrialCounts, VariantAnalysis};
use crate::design::StopReason;
use crate::level::Settings;
use crate::record::{EnvironmentFile, RunPlan};
use crate::stats::{Estimate, MIN_BLOCKS_FOR_WILCOXON};
use crate::trial::{EngineMark, StatementRecord};

/// What comparisons need of a run. It reads the JSON export of a run, of which it leaves out the rest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunDigest {
    /// What was planned.
    pub plan: RunPlan,
    /// The machine and the engines.
    pub environment: EnvironmentFile,
    /// The experiments in the order of the plan.
    pub experiments: Vec<ExperimentDigest>,
    /// Whether it is known from a table of its trials, so that plan and environment say nothing.
    #[serde(skip)]
    pub trials_alone: bool,
    /// What further tables say of it.
    #[serde(skip)]
    pub of_tables: Option<OfTables>,
}

/// What the tables of an export say of a run in addition to its trials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfTables {
    /// What is known of machine, engines and plan, by name.
    pub facts: Vec<(String, String)>,
    /// Whether every experiment was measured to its end.
    pub is_complete: bool,
}

/// One experiment on one directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExperimentDigest {
    /// Name within the run.
    pub key: String,
    /// The workload; empty where it is not known.
    pub workload: String,
    /// The metric by which variants are compared.
    pub metric: String,
    /// Whether the figures are preliminary for lack of rounds.
    pub preliminary: bool,
    /// The baseline against itself; its ratio should include 1.
    pub aa_check: Option<Estimate>,
    /// Why the measuring ended; none when it did not come to its end.
    pub stop: Option<StopReason>,
    /// The variants, the baseline first.
    pub variants: Vec<VariantDigest>,
}

/// One variant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VariantDigest {
    /// The levels of its factors.
    pub label: String,
    /// Everything that held in its trials.
    pub settings: Settings,
    /// Whether it is the baseline.
    pub baseline: bool,
    /// How its trials ended.
    pub trials: TrialCounts,
    /// Its figures by metric.
    pub summaries: BTreeMap<String, Summary>,
    /// The logarithms of its ratios to the baseline, one for each round.
    #[serde(default)]
    pub log_ratios: Vec<f64>,
    /// What was counted, by metric.
    #[serde(default)]
    pub counts: BTreeMap<String, f64>,
    /// The user's own statements.
    #[serde(default)]
    pub statements: Vec<StatementRecord>,
    /// The library that did the work.
    pub engine: Option<EngineMark>,
}

impl<Tuning> From<Analysis<Tuning>> for RunDigest {
    fn from(run: Analysis<Tuning>) -> RunDigest {
        RunDigest {
            plan: run.plan,
            environment: run.environment,
            experiments: run.experiments.into_iter().map(Into::into).collect(),
            trials_alone: false,
            of_tables: None,
        }
    }
}

impl From<ExperimentAnalysis> for ExperimentDigest {
    fn from(experiment: ExperimentAnalysis) -> ExperimentDigest {
        ExperimentDigest {
            key: experiment.key,
            workload: experiment.workload,
            metric: experiment.metric,
            preliminary: experiment.preliminary,
            aa_check: experiment.aa_check,
            stop: experiment.stop,
            variants: experiment.variants.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<VariantAnalysis> for VariantDigest {
    fn from(variant: VariantAnalysis) -> VariantDigest {
        VariantDigest {
            label: variant.label,
            settings: variant.settings,
            baseline: variant.baseline,
            trials: variant.trials,
            summaries: variant.summaries,
            log_ratios: variant.log_ratios,
            counts: variant.counts,
            statements: variant.statements,
            engine: variant.engine,
        }
    }
}

impl RunDigest {
    /// The content of a JSON export.
    ///
    /// # Errors
    /// It is no JSON, or none of a run.
    pub fn of_export(text: &str) -> Result<RunDigest, String> {
        let digest: RunDigest = serde_json::from_str(text).map_err(|error| error.to_string())?;
        digest.plan.check()?;
        let empty = digest.experiments.iter().find(|experiment| experiment.variants.is_empty());
        if let Some(experiment) = empty {
            return Err(format!("the experiment {} has no variants", experiment.key));
        }
        digest.plan.declare_metrics()?;
        Ok(digest)
    }

    /// What is known of machine, engines and plan, by name.
    pub fn facts(&self) -> Vec<(String, String)> {
        super::facts(self)
    }

    /// Whether anything is known of machine, engines and plan.
    pub(super) fn has_facts(&self) -> bool {
        !self.trials_alone || self.of_tables.is_some()
    }

    /// Whether every experiment was measured to its end.
    pub fn is_complete(&self) -> bool {
        match &self.of_tables {
            Some(tables) => tables.is_complete,
            None => self.experiments.iter().all(|experiment| experiment.stop.is_some()),
        }
    }
}

impl ExperimentDigest {
    /// Whether a variant has fewer rounds than the exact method takes.
    pub fn is_preliminary(&self) -> bool {
        let few = |variant: &VariantDigest| {
            (1..MIN_BLOCKS_FOR_WILCOXON).contains(&variant.log_ratios.len())
        };
        self.preliminary || self.variants.iter().any(few)
    }

    /// Whether the A/A check says that the instrument saw a difference where there is none.
    pub fn aa_check_alarm(&self) -> bool {
        let check = self.aa_check.as_ref();
        check.is_some_and(|check| !check.interval.contains(1.0))
    }
}

impl VariantDigest {
    /// Whether nothing was measured.
    pub fn unmeasured(&self) -> bool {
        self.trials.measured == 0
    }
}
