//! Digest of a run for comparisons: a part of its analysis, which can also be read from exports.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::analysis::{
    Analysis, Collector, ExperimentAnalysis, Summary, TrialCounts, VariantAnalysis,
};
use crate::design::{Role, StopReason, Variant};
use crate::level::Settings;
use crate::metric;
use crate::plan::ad_hoc;
use crate::record::{EnvironmentFile, PlannedExperiment, RunPlan, TrialRecord};
use crate::stats::{Estimate, MIN_BLOCKS_FOR_WILCOXON};
use crate::trial::{EngineMark, StatementRecord};

/// Digest of a run. It can be read from the JSON export of the run, whose other fields it ignores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunDigest {
    /// The plan.
    pub plan: RunPlan,
    /// The machine and the engines.
    pub environment: EnvironmentFile,
    /// The experiments in the order of the plan.
    pub experiments: Vec<ExperimentDigest>,
    /// Whether it was read from a table of its trials, so that plan and environment are empty.
    #[serde(skip)]
    pub trials_alone: bool,
    /// Facts from further tables.
    #[serde(skip)]
    pub of_tables: Option<OfTables>,
}

/// Facts about a run from the tables of an export, in addition to its trials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfTables {
    /// Facts about machine, engines and plan, by name.
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
    /// Why the measuring ended; none if it was stopped before.
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
    /// Its counters, by metric.
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
    /// Reads a JSON export.
    ///
    /// # Errors
    /// It is not JSON, or not an export of a run.
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

    /// Makes a digest of trials alone; `metrics` are the experiments with their metrics, and `name` stands for the id.
    /// Experiments without a trial of their baseline are left out: a run that was stopped did not come to it.
    ///
    /// # Errors
    /// A metric is not in the catalogue, so that nobody knows which figures are better; or no experiment has a trial of
    /// its baseline.
    pub fn of_trials(
        name: &str,
        metrics: &[(String, String)],
        trials: Vec<TrialRecord>,
    ) -> Result<RunDigest, String> {
        let planned = metrics.iter().filter_map(|(key, metric)| planned(key, metric, &trials));
        let experiments: Vec<PlannedExperiment> = planned.collect::<Result<_, _>>()?;
        if let (true, Some((key, _))) = (experiments.is_empty(), metrics.first()) {
            return Err(format!("{key} has no trial of its baseline"));
        }
        let plan = RunPlan { id: name.to_owned(), experiments, ..RunPlan::default() };
        let mut collector = Collector::new(plan, EnvironmentFile::default());
        trials.into_iter().for_each(|trial| collector.add(trial));
        Ok(RunDigest { trials_alone: true, ..RunDigest::from(collector.finish()) })
    }

    /// Returns the facts about machine, engines and plan, by name.
    pub fn facts(&self) -> Vec<(String, String)> {
        if let Some(tables) = &self.of_tables {
            return tables.facts.clone();
        }
        let (machine, plan) = (&self.environment.machine, &self.plan);
        let mut facts = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            facts.extend(value.map(|value| (name.to_owned(), value)));
        };
        add("operating system", machine.system.operating_system.clone());
        add("kernel", machine.system.kernel.clone());
        add("architecture", machine.system.architecture.clone());
        add("CPU", machine.cpu.model.clone());
        add("logical CPUs", machine.cpu.logical_cpus.map(|cpus| cpus.to_string()));
        add("usable CPUs", machine.cpu.usable_cpus.map(|cpus| cpus.to_string()));
        add("governor", machine.cpu.governor.clone());
        add("turbo", machine.cpu.turbo.map(|turbo| turbo.to_string()));
        add(MEMORY, machine.memory.total_bytes.map(|bytes| format!("{}{MIB}", bytes >> 20)));
        add("version of pragmark", Some(plan.pragmark.clone()));
        add("scale", Some(plan.scale.to_string()));
        add("seed", Some(plan.seed.0.to_string()));
        for volume in &machine.volumes {
            let several = machine.volumes.len() > 1;
            let of = |name: &str| {
                if several {
                    format!("{name} of {}", volume.path.display())
                } else {
                    name.to_owned()
                }
            };
            add(&of("file system"), volume.file_system.clone());
            add(
                &of("mount options"),
                volume.mount_options.as_ref().map(|options| options.join(",")),
            );
            add(&of("disk"), volume.model.clone().or_else(|| volume.device.clone()));
        }
        for engine in &self.environment.engines {
            add(&format!("engine {}", engine.name), Some(engine.version.clone()));
            add(&format!("source of engine {}", engine.name), Some(engine.source_id.clone()));
            let options = engine.compile_options.join(" ");
            add(&format!("compile options of engine {}", engine.name), Some(options));
        }
        add("engine of the run", Some(plan.engine.clone()));
        facts
    }

    /// Returns whether any facts about machine, engines and plan are known.
    pub(super) fn has_facts(&self) -> bool {
        !self.trials_alone || self.of_tables.is_some()
    }

    /// Returns whether every experiment was measured to its end.
    pub fn is_complete(&self) -> bool {
        match &self.of_tables {
            Some(tables) => tables.is_complete,
            None => self.experiments.iter().all(|experiment| experiment.stop.is_some()),
        }
    }

    /// Returns the same experiment of this run: with the same key, metric and, if known, workload.
    pub(super) fn counterpart(&self, other: &ExperimentDigest) -> Option<&ExperimentDigest> {
        self.experiments.iter().find(|experiment| {
            let unknown = experiment.workload.is_empty() || other.workload.is_empty();
            (&experiment.key, &experiment.metric) == (&other.key, &other.metric)
                && (unknown || experiment.workload == other.workload)
                && !experiment.variants.is_empty()
        })
    }
}

/// Name and unit of the fact that changes a little by itself: a kernel takes some of the memory.
pub(super) const MEMORY: &str = "memory";
pub(super) const MIB: &str = " MiB";

/// Plans an experiment with the variants that its trials name, the baseline first; none without a trial of its baseline.
fn planned(
    key: &str,
    metric: &str,
    trials: &[TrialRecord],
) -> Option<Result<PlannedExperiment, String>> {
    let own = || trials.iter().filter(|trial| trial.experiment == key);
    let baseline = own().find(|trial| trial.role == Role::Baseline)?;
    if metric::find(metric).is_none() {
        return Some(Err(format!(
            "{metric}, the metric of {key}, is one of a driver, and the table does not say whether more of it is better"
        )));
    }
    let mut labels = vec![&baseline.variant];
    for trial in own().filter(|trial| trial.role == Role::Variant) {
        if !labels.contains(&&trial.variant) {
            labels.push(&trial.variant);
        }
    }
    let variant = |label: &String| Variant { label: label.clone(), ..Variant::default() };
    Some(Ok(PlannedExperiment {
        key: key.to_owned(),
        experiment: ad_hoc(key, "", "", metric),
        variants: labels.into_iter().map(variant).collect(),
        ..PlannedExperiment::default()
    }))
}

impl ExperimentDigest {
    /// Returns the variant with this label.
    pub(super) fn variant(&self, label: &str) -> Option<&VariantDigest> {
        self.variants.iter().find(|variant| variant.label == label)
    }

    /// Returns whether a variant has fewer rounds than the exact method takes.
    pub fn is_preliminary(&self) -> bool {
        let few = |variant: &VariantDigest| {
            (1..MIN_BLOCKS_FOR_WILCOXON).contains(&variant.log_ratios.len())
        };
        self.preliminary || self.variants.iter().any(few)
    }

    /// Returns whether the A/A check saw a difference where there is none.
    pub fn aa_check_alarm(&self) -> bool {
        let check = self.aa_check.as_ref();
        check.is_some_and(|check| !check.interval.contains(1.0))
    }
}

impl VariantDigest {
    /// Returns whether nothing was measured.
    pub fn unmeasured(&self) -> bool {
        self.trials.measured == 0
    }
}
