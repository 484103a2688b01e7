//! The analysis of a run: everything that a report shows, computed here and presented elsewhere.
//!
//! Trials are added one by one ([`Collector::add`]), so a record of any length can be read line by
//! line; what is kept of a trial is its figures, not its histogram or windows.

mod answer;
mod answers;
mod bindings;
mod choice;
mod collect;
mod compared;
pub mod curve;
pub mod effects;
mod experiment;
mod findings;
mod gathered;
mod recommend;
mod tiers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::claims::{Judged, Verdict};
use crate::comparison::DifferingRows;
use crate::design::StopReason;
use crate::durability::Durability;
use crate::environment::FsyncLatency;
use crate::experiment::{Check, Labels};
use crate::level::{Level, Settings};
use crate::measures::Measures;
use crate::record::{EnvironmentFile, RunPlan};
use crate::stats::{self, Estimate, Interval};
use crate::tier::{Class, Safety};
use crate::trial::{Artifact, BindingMark, DataTable, EngineMark, ReadBack, StatementRecord};

pub use answer::{Answer, Compared};
pub use bindings::{BindingCosts, Bindings, Cost, Over};
pub use collect::{Collector, SideBySide};
pub use compared::{ComparisonResult, Unsteady};
pub use curve::Curve;
pub use effects::Effects;
pub use experiment::RecallLoss;
pub use findings::{Faster, Finding, SafetyChange, SurvivalChange, TierChange, findings};
pub use gathered::{Disturbances, TrialCounts, TrialFigures, observation};
pub use recommend::{Advice, Gain, Ladder, Rung, Withheld, ladder};
pub use tiers::{AgainstStronger, AtDurability, BestAtTier, EngineDifference, Tiered};

use findings::chosen_from_many;

/// A run with everything that can be said of it. `Tuning` is the analysis of a search, from the crate `tuning`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Analysis<Tuning = ()> {
    /// The plan.
    pub plan: RunPlan,
    /// The folder of the run, where it was read from one.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
    /// The machine and the engines.
    pub environment: EnvironmentFile,
    /// The experiments in the order of the plan.
    pub experiments: Vec<ExperimentAnalysis>,
    /// The timed trials of all experiments together.
    pub trials: TrialCounts,
    /// The trials of the counting pass, which are not among the others.
    pub counting_trials: TrialCounts,
    /// The crash trials that measured safety tiers, which are not among the others.
    pub tier_trials: TrialCounts,
    /// The trials that measured again what was chosen from many variants, which are not among the others.
    pub confirmation_trials: TrialCounts,
    /// The trials of a search and of its ablation, which are not among the others.
    pub search_trials: TrialCounts,
    /// Time taken by the trials of all parts, in seconds.
    pub trials_s: f64,
    /// The result of a search for the fastest settings; `None` if nothing was tuned.
    pub tuning: Option<Tuning>,
    /// Findings, the most important first.
    pub findings: Vec<Finding>,
    /// The settings of SQLite to use, by experiment.
    pub ladders: Vec<Ladder>,
    /// The experiments that were done on more than one directory.
    pub side_by_side: Vec<SideBySide>,
}

impl Analysis {
    /// Adds the analysis of the run's search.
    pub fn with_tuning<Tuning>(self, tuning: Option<Tuning>) -> Analysis<Tuning> {
        Analysis {
            plan: self.plan,
            folder: self.folder,
            environment: self.environment,
            experiments: self.experiments,
            trials: self.trials,
            counting_trials: self.counting_trials,
            tier_trials: self.tier_trials,
            confirmation_trials: self.confirmation_trials,
            search_trials: self.search_trials,
            trials_s: self.trials_s,
            tuning,
            findings: self.findings,
            ladders: self.ladders,
            side_by_side: self.side_by_side,
        }
    }
}

impl<Tuning> Analysis<Tuning> {
    /// Returns the number of claims with this verdict.
    pub fn verdicts(&self, verdict: Verdict) -> usize {
        let claims = self.experiments.iter().flat_map(|experiment| &experiment.claims);
        claims.filter(|judged| judged.verdict == verdict).count()
    }

    /// Returns the number of trials that were measured, in all parts of the run.
    pub fn measured(&self) -> usize {
        let parts = [
            self.trials, self.counting_trials, self.tier_trials, self.confirmation_trials,
            self.search_trials,
        ];
        parts.iter().map(|part| part.measured).sum()
    }

    /// Returns the variants of each experiment that are reported as its best, where they were chosen from many.
    pub fn chosen_from_many(&self) -> Vec<BTreeSet<usize>> {
        self.experiments.iter().map(chosen_from_many).collect()
    }

    /// Returns whether every experiment was measured to its end.
    pub fn is_complete(&self) -> bool {
        self.experiments.iter().all(|experiment| experiment.stop.is_some())
    }
}

/// One experiment on one directory.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ExperimentAnalysis {
    /// Name within the run.
    pub key: String,
    /// The experiment's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// Where the question comes from.
    pub source: Option<String>,
    /// A remark for the reader.
    pub note: Option<String>,
    /// The workload.
    pub workload: String,
    /// Where the databases were made.
    pub directory: PathBuf,
    /// The metric by which variants are compared.
    pub metric: String,
    /// The factors with their levels in the order of the file.
    pub factors: BTreeMap<String, Vec<Level>>,
    /// Words for levels; [`Labels::level_name`] gives the name of any.
    pub labels: Labels,
    /// The factors that are conditions rather than choices.
    pub conditions: Vec<String>,
    /// The factors that decide what a crash can destroy.
    pub crash_relevant: Vec<String>,
    /// The variants in the order of the plan, the baseline first.
    pub variants: Vec<VariantAnalysis>,
    /// Upper bounds of the variants: the same task by simpler means, measured in the same blocks.
    pub upper_bounds: Vec<UpperBoundAnalysis>,
    /// Its metric along a numeric factor, where the variants make a curve.
    pub curve: Option<Curve>,
    /// Effects of each factor and each pair of factors, if variants cross several factors.
    pub effects: Option<Effects>,
    /// Costs of a call through each binding, if variants differ in their driver.
    pub bindings: Option<Bindings>,
    /// Indices into `variants` from best to worst; variants without a measurement come last.
    pub ranking: Vec<usize>,
    /// The baseline against itself; its ratio should include 1.
    pub aa_check: Option<Estimate>,
    /// The claims with their verdicts.
    pub claims: Vec<Judged>,
    /// Statements that every trial verified: a trial in which one did not hold has failed.
    pub checks: Vec<Check>,
    /// The price of an fsync in the measured directory while the experiment ran; `None` if it was not probed.
    pub fsync: Option<FsyncLatency>,
    /// Rounds begun.
    pub rounds: u32,
    /// Blocks measured, dropped ones included.
    pub blocks: usize,
    /// Blocks dropped because the machine was disturbed.
    pub dropped_blocks: usize,
    /// Disturbances of its blocks, whether they were dropped or not.
    pub disturbances: Disturbances,
    /// Why the measuring ended; `None` if it did not come to its end.
    pub stop: Option<StopReason>,
    /// Whether the figures are preliminary for lack of rounds.
    pub preliminary: bool,
    /// The largest detectable difference among the variants, as a fraction.
    pub detectable: Option<f64>,
    /// Time taken by all trials, in seconds.
    pub wall_s: f64,
    /// The best variant at each safety tier that occurs, the safest first; empty where none was measured.
    pub best_at_tiers: Vec<BestAtTier>,
    /// The variants by what survives of an acknowledged change, the strongest class first; empty where no
    /// target said.
    pub by_durability: Vec<AtDurability>,
    /// Where engines differ in what a crash can destroy with the same settings.
    pub engine_differences: Vec<EngineDifference>,
}

impl ExperimentAnalysis {
    /// Returns whether the A/A check says that the instrument saw a difference where there is none.
    pub fn aa_check_alarm(&self) -> bool {
        self.aa_check.as_ref().is_some_and(|aa_check| !aa_check.interval.contains(1.0))
    }

    /// Returns the variant's name where it has one of its own, or else the words for `levels`, those by which
    /// it is meant here; `None` if the experiment gives no words for them.
    pub fn name_by(&self, variant: &VariantAnalysis, levels: &Settings) -> Option<String> {
        let composed = self.labels.compose(&variant.levels);
        let own = variant.name.clone().filter(|_| variant.name != composed);
        own.or_else(|| self.labels.compose(levels))
    }

    /// Returns the subject that its workload measures.
    pub fn measures(&self) -> Measures {
        Measures::of(&self.workload)
    }

    /// Returns whether its trials are crash tests: then what they found replaces speeds, which only say how long the
    /// trials took.
    pub fn tries_crashes(&self) -> bool {
        self.measures().is_safety()
    }

    /// Returns whether it was made from the command line of `pragmark measure`, whose options can change it.
    pub fn is_measured_by_command(&self) -> bool {
        self.id == "measure"
    }

    /// Returns the rounds that detect a difference of this fraction, 80 % of the time, of the variant that is known least; none
    /// where nothing was compared.
    pub fn rounds_to_detect(&self, fraction: f64) -> Option<usize> {
        let estimates = self.variants.iter().filter_map(VariantAnalysis::estimate);
        let coarsest =
            estimates.max_by(|one, other| one.detectable.total_cmp(&other.detectable))?;
        let Estimate { n, detectable, .. } = *coarsest;
        let sd = detectable.ln_1p() / stats::detectable_difference(1.0, n);
        stats::blocks_needed(sd, fraction.ln_1p())
    }

    /// Returns whether figures vary so little that any difference would have been detected.
    pub fn detects_everything(&self) -> bool {
        /// Smaller differences matter to nobody.
        const ANY: f64 = 5e-4;
        self.detectable.is_some_and(|detectable| detectable < ANY)
    }

    /// Returns whether the variant ran under the conditions of the baseline, so that it could be chosen
    /// instead of the baseline.
    pub fn is_alternative(&self, variant: &VariantAnalysis) -> bool {
        let baseline = self.variants.first().map(|baseline| &baseline.levels);
        baseline.is_some_and(|baseline| {
            self.conditions.iter().all(|name| variant.levels.get(name) == baseline.get(name))
        })
    }

    /// Returns whether the variant is known to be less safe than the baseline: by what its target guarantees, or
    /// by their tiers. What was not measured is not less safe.
    pub fn is_less_safe(&self, variant: &VariantAnalysis) -> bool {
        let Some(baseline) = self.variants.first() else { return false };
        // A target that guarantees less is less safe, whatever its settings.
        let guarantees = variant.durability.zip(baseline.durability);
        let guarantees_less = guarantees.is_some_and(|(own, baseline)| own < baseline);
        let as_safe = variant.class().is_at_least_as_safe_as(baseline.class());
        let is_unsynced =
            |variant: &VariantAnalysis| variant.safety.as_ref().is_some_and(Safety::is_unsynced);
        let only_baseline_syncs = is_unsynced(variant) && !is_unsynced(baseline);
        guarantees_less || only_baseline_syncs || as_safe == Some(false)
    }
}

/// One variant.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VariantAnalysis {
    /// Its identity: the levels of its factors.
    pub label: String,
    /// Its name in people's words, where the experiment gives one.
    pub name: Option<String>,
    /// Recommended action if it is the best, if the experiment gives one.
    pub answer: Option<String>,
    /// The level of each factor.
    pub levels: Settings,
    /// Everything that held in its trials.
    pub settings: Settings,
    /// Whether it is the baseline.
    pub baseline: bool,
    /// How its trials ended.
    pub trials: TrialCounts,
    /// Why a trial of it was not measured: the first reason there was.
    pub problem: Option<String>,
    /// Its figures by metric, dropped blocks left out.
    pub summaries: BTreeMap<String, Summary>,
    /// The logarithms of its ratios to the baseline, one for each round.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) log_ratios: Vec<f64>,
    /// Its ratio to the baseline in the experiment's metric.
    pub effect: Option<Effect>,
    /// By name of the user's own statements: the ratio of the median time to the baseline's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub statement_effects: BTreeMap<String, Effect>,
    /// Whether a figure of 0, its own or the baseline's, leaves a round without a ratio.
    pub has_zero: bool,
    /// The groups of ranks it belongs to, as letters; variants that share one are not distinguishable. [`UNTESTED`] where too few
    /// rounds compare it with others.
    pub groups: String,
    /// As `groups`, but pairs that too few rounds compare share one, too.
    #[serde(skip)]
    pub(crate) loose_groups: String,
    /// As `groups`, at the lower error rate at which variants are chosen.
    #[serde(skip)]
    pub(crate) firm_groups: String,
    /// The constraints of a search that its rounds show it not to keep, such as `p99_us <= 1.05`: it is not chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<String>,
    /// The first and the last peak memory of its trials, in bytes, where it grew from each trial to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_growth: Option<(f64, f64)>,
    /// Whether throughput was steady within its trials.
    pub steadiness: Option<SteadinessCounts>,
    /// PRAGMAs as read back in its first measured trial.
    pub connections: Vec<ReadBack>,
    /// Changes by the work itself of settings that decide what a crash can destroy, in its first measured trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sets_itself: Vec<String>,
    /// The library that did the work in its first measured trial.
    pub engine: Option<EngineMark>,
    /// The binding that did the work in its first measured trial.
    pub binding: Option<BindingMark>,
    /// Operations on files and the page cache, by metric: syncs, writes, bytes, misses.
    /// From the counting trial, whose time is not used; of workloads that try accidents, the sums over all
    /// trials. Empty where nothing was counted.
    pub counts: BTreeMap<String, f64>,
    /// Data other than figures, from its first measured trial.
    pub tables: Vec<DataTable>,
    /// The user's own statements, from its first measured trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<StatementRecord>,
    /// Trials whose answers were compared with the baseline's, to the same statements on the same data.
    #[serde(skip_serializing_if = "is_zero")]
    pub answers_compared: usize,
    /// Answers that differ from the baseline's where SQL leaves them open.
    pub open_answers: BTreeSet<String>,
    /// Whether an answer, or a table that it wrote, differs from the baseline's: it has failed.
    #[serde(skip)]
    pub answers_differ: bool,
    /// The rows that differ, by the name of the statement or table.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub differing_rows: BTreeMap<String, DifferingRows>,
    /// Files that its trials have left in the folder of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Safety of its settings in a crash; `None` if its experiment names no setting that
    /// decides it.
    pub safety: Option<Safety>,
    /// Durability of an acknowledged change as its target states it; `None` if it does not.
    pub durability: Option<Durability>,
    /// The kinds of recall that are lower than the baseline's.
    pub recall_losses: Vec<RecallLoss>,
    /// Its ratio to the baseline in rounds of its own, after it was chosen from many; `None` if it was
    /// not.
    pub confirmation: Option<Estimate>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl VariantAnalysis {
    /// Returns a variant with nothing known but its levels.
    #[cfg(test)]
    fn made_up(levels: Settings) -> VariantAnalysis {
        VariantAnalysis {
            label: crate::level::label(&levels),
            settings: levels.clone(),
            levels,
            ..VariantAnalysis::default()
        }
    }

    /// Returns its name in people's words, or its levels.
    pub fn name_or_label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.label)
    }

    /// Returns whether its interval excludes no difference, but the correction for the number of comparisons does
    /// not let it count.
    pub fn is_lost_in_correction(&self) -> bool {
        let effect = self.effect.as_ref().filter(|effect| !effect.is_found());
        effect.is_some_and(|effect| !effect.estimate.interval.contains(1.0))
    }

    /// Returns whether none of its trials failed or was stopped. One that gave a wrong result, or whose slow trials were
    /// stopped, is not known by those that are left.
    pub fn is_whole(&self) -> bool {
        self.trials.failed + self.trials.timed_out == 0
    }

    /// Returns its median over trials in this metric; `None` if no trial has it.
    pub fn median(&self, metric: &str) -> Option<f64> {
        Some(self.summaries.get(metric)?.median)
    }

    /// Returns the comparison with the baseline in the metric of its experiment; `None` if the rounds are too few for one.
    pub fn estimate(&self) -> Option<&Estimate> {
        Some(&self.effect.as_ref()?.estimate)
    }

    /// Returns whether it was not measured.
    pub fn unmeasured(&self) -> bool {
        self.trials.measured == 0
    }

    /// Returns its safety tier without counts; unknown where nothing was measured.
    pub fn class(&self) -> Class {
        let safety = self.safety.as_ref();
        safety.map_or(Class::default(), |safety| safety.tier.class())
    }
}

/// The task of an experiment done by other, simpler means, as a bound for what its variants can reach.
#[derive(Clone, Debug, Serialize)]
pub struct UpperBoundAnalysis {
    /// Its name.
    pub name: String,
    /// The task, in words.
    pub says: String,
    /// Its figure in the experiment's metric; `None` if it was not measured.
    pub summary: Option<Summary>,
    /// Why it was not measured.
    pub problem: Option<String>,
    /// The variants whose median is better: for them it is not a bound.
    pub exceeded_by: Vec<usize>,
}

/// A figure over trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The middle one.
    pub median: f64,
    /// The smallest and the largest.
    pub range: Interval,
    /// The standard deviation; none of a single trial.
    pub sd: Option<f64>,
    /// The 95th and the 99th percentile over trials, interpolated: with fewer than twenty and a hundred of
    /// them, close to the largest.
    pub p95: f64,
    /// See `p95`.
    pub p99: f64,
    /// Trials.
    pub n: usize,
}

impl Summary {
    /// Returns the summary of these figures; none of no figure.
    pub fn of(values: &[f64]) -> Option<Summary> {
        Some(Summary {
            median: stats::median(values)?,
            range: stats::range(values)?,
            sd: stats::standard_deviation(values),
            p95: stats::quantile(values, 0.95)?,
            p99: stats::quantile(values, 0.99)?,
            n: values.len(),
        })
    }
}

/// A variant's ratio to the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Ratio, interval at 95 % and detectable difference.
    pub estimate: Estimate,
    /// The p-value against "no difference", adjusted over the variants of the experiment for the
    /// false discovery rate (Benjamini–Hochberg).
    pub q_value: f64,
}

/// Stands for the groups of a variant that too few rounds compare with others.
pub const UNTESTED: &str = "?";

/// False discovery rate at which a difference to the baseline counts as found.
const FOUND: f64 = 0.05;

impl Effect {
    /// Returns whether the variant is distinguishable from the baseline.
    pub fn is_found(&self) -> bool {
        self.q_value <= FOUND
    }
}

/// How many trials of a variant were warming, steady or drifting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteadinessCounts {
    /// Grew faster and then kept their pace.
    pub warming: usize,
    /// Kept their pace.
    pub steady: usize,
    /// Changed their pace to the end.
    pub drifting: usize,
}
