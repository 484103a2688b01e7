//! One experiment: samples, effects, ranks and verdicts.
//!
//! Recall losses against the baseline: an index that is faster because it finds less has
//! answered another question. Judged by the paired interval of the difference, as all comparisons are.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::gathered::{Figure, Gathered, GatheredVariant, memory_growth};
use super::{
    Bindings, Curve, Effect, Effects, ExperimentAnalysis, Summary, UNTESTED, UpperBoundAnalysis,
    VariantAnalysis, bindings,
};
use crate::claims::{Claim, DeviceKind, DeviceLevels, Evidence, Judged, judge};
use crate::design::{DesignParams, Role, UpperBound, Variant, next};
use crate::durability::Durability;
use crate::environment::{FsyncLatency, Volume};
use crate::experiment::Scale;
use crate::metric::{self, Better, METRICS};
use crate::record::{EnvironmentFile, PlannedExperiment};
use crate::samples::{Comparison, Samples};
use crate::stats::{
    self, ALPHA, Estimate, Interval, MIN_BLOCKS_FOR_ESTIMATE, MIN_BLOCKS_FOR_WILCOXON,
    RankedVariant, benjamini_hochberg,
};
use crate::tier::{ModelSafety, Safety, Schedules};

pub(super) type Dropped = [(u32, u32)];

/// The error rate at which one variant must be distinguished from another to be chosen before it: lower than
/// usual, because a choice that differs from run to run is worth nothing.
const FIRMLY: f64 = 0.01;

/// Analyses the trials of one experiment.
pub(super) fn analyse(
    planned: &PlannedExperiment,
    scale: Scale,
    params: &DesignParams,
    gathered: Gathered,
    environment: &EnvironmentFile,
    devices: &[DeviceLevels],
) -> ExperimentAnalysis {
    let dropped = gathered.history.dropped_blocks();
    let (rounds, count) = (gathered.history.rounds(), planned.variants.len());
    let measured = &gathered.variants[..count];
    let samples = samples_of_needed_metrics(planned, measured, &dropped);
    let experiment = &planned.experiment;
    let metric = &experiment.metric;
    let own = &samples[metric];
    let fsync = fsync(planned, &gathered, environment);
    let evidence = Evidence { scale, fsync, devices, ..evidence(planned, &samples, environment) };
    let claims = claims(measured, evidence);
    let ranks = rank(own, count, metric, rounds);
    let (blocks, wall_s) = (gathered.history.blocks(), gathered.history.elapsed_s);
    let stop = next(params, &gathered.history).stop();
    let mut gathered = gathered.variants;
    let upper_bounds = gathered.split_off(count);
    let figures_by_row = figures_by_row(&gathered, &dropped);
    let keeps = keeps_through_power_cuts(planned, environment);
    let variants = variants(planned, gathered, own, &ranks, &dropped, keeps);
    let upper_bounds = upper_bounds_of(planned, upper_bounds, &variants, &dropped);
    let estimates = || variants.iter().filter_map(VariantAnalysis::estimate);
    let plan = ExperimentAnalysis::of_plan(planned);
    // One round gives no estimate.
    let has_few_rounds = count > 1
        && !plan.tries_crashes()
        && (1..MIN_BLOCKS_FOR_WILCOXON).contains(&(rounds as usize));
    ExperimentAnalysis {
        preliminary: estimates().any(|estimate| estimate.preliminary) || has_few_rounds,
        detectable: estimates().map(|estimate| estimate.detectable).reduce(f64::max),
        aa_check: Estimate::supported(&own.aa_check_log_ratios()),
        claims,
        fsync,
        rounds,
        blocks,
        dropped_blocks: dropped.len(),
        stop,
        wall_s,
        ranking: ranks.ranking.iter().map(|ranked| ranked.variant).collect(),
        effects: crossed(planned, own, rounds),
        bindings: Bindings::of(&variants, &figures_by_row, ALPHA),
        curve: Curve::of(metric, &experiment.factors, &experiment.labels, &variants),
        variants,
        upper_bounds,
        ..plan
    }
}

impl ExperimentAnalysis {
    /// Returns an experiment without any measurement yet.
    fn of_plan(planned: &PlannedExperiment) -> ExperimentAnalysis {
        let experiment = planned.experiment.clone();
        ExperimentAnalysis {
            key: planned.key.clone(),
            id: experiment.id,
            question: experiment.question,
            source: experiment.source,
            note: experiment.note,
            workload: experiment.workload,
            directory: planned.directory.clone(),
            metric: experiment.metric,
            factors: experiment.factors,
            labels: experiment.labels,
            conditions: experiment.conditions,
            checks: experiment.checks,
            crash_relevant: planned.crash_relevant.clone(),
            ..ExperimentAnalysis::default()
        }
    }
}

/// Returns the evidence for claims: the plan, the machine and the figures.
fn evidence<'a>(
    planned: &'a PlannedExperiment,
    samples: &'a BTreeMap<String, Samples>,
    environment: &'a EnvironmentFile,
) -> Evidence<'a> {
    let volume = environment.machine.volume(&planned.directory);
    Evidence {
        experiment: &planned.experiment,
        variants: &planned.variants,
        samples,
        problems: &[],
        failures: &[],
        scale: Scale::Default,
        fsync: None,
        file_system: volume.and_then(|volume| volume.file_system.as_deref()),
        devices: &[],
    }
}

/// Returns the verdicts of the experiment's claims, with what went wrong added to the rest of the evidence.
fn claims(variants: &[GatheredVariant], evidence: Evidence<'_>) -> Vec<Judged> {
    let problems: Vec<Option<String>> = variants.iter().map(problem_of_unmeasured).collect();
    let failures: Vec<Option<String>> = variants.iter().map(failures_of).collect();
    judge(&Evidence { problems: &problems, failures: &failures, ..evidence })
}

/// Returns the price of an fsync while the experiment ran; of a run that was recorded without such probes, that ahead
/// of it.
fn fsync(
    planned: &PlannedExperiment,
    gathered: &Gathered,
    environment: &EnvironmentFile,
) -> Option<FsyncLatency> {
    let volume = environment.machine.volume(&planned.directory);
    let ahead = || volume.and_then(Volume::fsync_median_ns);
    FsyncLatency::of(gathered.fsync_medians.clone())
        .or_else(|| FsyncLatency::of(ahead().into_iter().collect()))
}

/// Returns the experiment as a whole on its device, for claims that compare devices.
pub(super) fn device_levels(
    planned: &PlannedExperiment,
    gathered: &Gathered,
    environment: &EnvironmentFile,
) -> DeviceLevels {
    let dropped = gathered.history.dropped_blocks();
    let variants = &gathered.variants[..planned.variants.len()];
    let volume = environment.machine.volume(&planned.directory);
    let rotates = volume.and_then(|volume| volume.rotational);
    let kind =
        rotates.map(|rotates| if rotates { DeviceKind::Rotating } else { DeviceKind::Solid });
    let samples = samples_of_needed_metrics(planned, variants, &dropped);
    let levels = samples.iter().map(|(metric, samples)| (metric.clone(), samples.mean_logs()));
    DeviceLevels { kind, levels: levels.collect(), samples }
}

/// Returns the upper bounds with their figures, and the variants whose medians are better.
fn upper_bounds_of(
    planned: &PlannedExperiment,
    gathered: Vec<GatheredVariant>,
    variants: &[VariantAnalysis],
    dropped: &Dropped,
) -> Vec<UpperBoundAnalysis> {
    let metric = &planned.experiment.metric;
    let is_better = |own: f64, bound: f64| {
        if metric::higher_is_better(metric) { own > bound } else { own < bound }
    };
    let analysed = |(bound, gathered): (&UpperBound, GatheredVariant)| {
        let problem = problem_of_unmeasured(&gathered);
        let summary = summaries(gathered.figures, dropped).remove(metric);
        let exceeds = |variant: &usize| {
            let both = variants[*variant].median(metric).zip(summary);
            both.is_some_and(|(own, bound)| is_better(own, bound.median))
        };
        UpperBoundAnalysis {
            name: bound.label.clone(),
            says: bound.says.clone(),
            exceeded_by: (0..variants.len()).filter(exceeds).collect(),
            problem,
            summary,
        }
    };
    planned.upper_bounds.iter().zip(gathered).map(analysed).collect()
}

/// Marks the variants that a figure of 0 leaves without a ratio in some round.
fn mark_zeros(variants: &mut [VariantAnalysis], metric: &str) {
    let has_zero = |variant: &VariantAnalysis| {
        let summary = variant.summaries.get(metric);
        summary.is_some_and(|summary| summary.range.contains(0.0))
    };
    let baseline = variants.first().is_some_and(has_zero);
    for variant in variants.iter_mut().skip(1) {
        variant.has_zero = baseline || has_zero(variant);
    }
}

/// Returns whether the storage lets a target be as durable as it says: memory keeps nothing without power, and without cache
/// flushes a sync has no effect.
fn keeps_through_power_cuts(planned: &PlannedExperiment, environment: &EnvironmentFile) -> bool {
    environment.machine.volume(&planned.directory).is_none_or(|volume| {
        volume.supports_durability_comparison() && volume.barrier_disabled().is_none()
    })
}

fn problem_of_unmeasured(variant: &GatheredVariant) -> Option<String> {
    (variant.analysis.trials.measured == 0).then(|| {
        variant.analysis.problem.clone().unwrap_or_else(|| "not measured in this run".to_owned())
    })
}

/// Returns how many trials of a variant failed or timed out and why, where some did.
fn failures_of(variant: &GatheredVariant) -> Option<String> {
    let failed = variant.analysis.trials.failed + variant.analysis.trials.timed_out;
    let why = variant.analysis.problem.as_deref().unwrap_or("for an unknown reason");
    (failed > 0).then(|| {
        format!("{failed} of its {} trials failed: {why}", variant.analysis.trials.total())
    })
}

/// Samples of the experiment's own metric and of every metric that a claim names.
fn samples_of_needed_metrics(
    planned: &PlannedExperiment,
    variants: &[GatheredVariant],
    dropped: &Dropped,
) -> BTreeMap<String, Samples> {
    let forms = planned.experiment.claims.iter().flat_map(Claim::forms);
    let named = forms.flat_map(|form| [form.metric(), form.to_metric()]).flatten();
    named
        .chain([planned.experiment.metric.as_str()])
        .map(|metric| (metric.to_owned(), samples_of(metric, variants, dropped)))
        .collect()
}

pub(super) fn samples_of(metric: &str, variants: &[GatheredVariant], dropped: &Dropped) -> Samples {
    let mut samples = Samples::new(variants.len());
    for (index, variant) in variants.iter().enumerate() {
        let figures = variant.figures.get(metric).into_iter().flatten();
        for figure in figures.filter(|figure| kept(figure, dropped)) {
            samples.add(figure.round, figure.block, index, figure.role, figure.value);
        }
    }
    samples
}

/// Returns the time for a row in each part of the work, where there are such parts.
fn figures_by_row(variants: &[GatheredVariant], dropped: &Dropped) -> BTreeMap<String, Samples> {
    let names = variants.iter().flat_map(|variant| variant.figures.keys());
    let parts: BTreeSet<&String> = names.filter(|name| bindings::is_part(name)).collect();
    parts.into_iter().map(|name| (name.clone(), samples_of(name, variants, dropped))).collect()
}

/// Returns by how much each variant finds less than the baseline.
fn recall_losses(variants: &[GatheredVariant], dropped: &Dropped) -> Vec<Vec<RecallLoss>> {
    let is_measured =
        |metric: &&str| variants.iter().any(|variant| variant.figures.contains_key(*metric));
    let samples: Vec<(&str, Samples)> = metrics()
        .filter(is_measured)
        .map(|metric| (metric, samples_of(metric, variants, dropped)))
        .collect();
    let losses_of = |variant| {
        let kinds = samples.iter();
        kinds.filter_map(|(metric, samples)| loss(metric, samples, variant)).collect()
    };
    (0..variants.len()).map(losses_of).collect()
}

fn kept(figure: &Figure, dropped: &Dropped) -> bool {
    let block = (figure.round, figure.block);
    dropped.binary_search(&block).is_err()
}

/// Returns the ratio of each variant to the baseline; `None` if the rounds are too few for their noise.
fn effects(samples: &Samples, variants: usize) -> Vec<Option<Effect>> {
    let compared = (0..variants).map(|variant| {
        let diffs = samples.log_ratios(variant, 0);
        let estimate = Estimate::supported(&diffs)?;
        Some((estimate, stats::p_value(&diffs, 0.0).ok()?))
    });
    corrected(compared.collect())
}

/// Effects whose q-values are adjusted over all of them together, each from an estimate and its p-value.
pub(super) fn corrected(compared: Vec<Option<(Estimate, f64)>>) -> Vec<Option<Effect>> {
    let tested: Vec<f64> = compared.iter().flatten().map(|(_, p)| *p).collect();
    let mut adjusted = benjamini_hochberg(&tested).into_iter();
    let effect = |compared: Option<(Estimate, f64)>| {
        let (estimate, _) = compared?;
        let q_value = adjusted.next()?;
        Some(Effect { estimate, q_value })
    };
    compared.into_iter().map(effect).collect()
}

fn crossed(planned: &PlannedExperiment, samples: &Samples, rounds: u32) -> Option<Effects> {
    if planned.experiment.measures().is_safety() {
        // The speed of crash tests says nothing about a setting.
        return None;
    }
    let variants = planned.variants.iter();
    let (levels, labels): (Vec<_>, Vec<_>) =
        variants.map(|variant| (&variant.levels, &variant.label[..])).unzip();
    Effects::of(&levels, &labels, &planned.experiment.factors, samples, rounds)
}

/// The variants of an experiment in order of merit.
struct Ranks {
    ranking: Vec<RankedVariant>,
    /// The same with groups at the error rate at which one is chosen.
    firmly: Vec<RankedVariant>,
}

fn rank(samples: &Samples, variants: usize, metric: &str, rounds: u32) -> Ranks {
    let table: Vec<Vec<Option<f64>>> = (0..variants)
        .map(|variant| (0..rounds).map(|round| samples.log_over_baseline(round, variant)).collect())
        .collect();
    let better = metric::find(metric).map_or(Better::Higher, |metric| metric.better);
    Ranks {
        ranking: stats::rank_variants(&table, better, ALPHA).variants,
        firmly: stats::rank_variants_by_means(&table, better, FIRMLY).variants,
    }
}

fn variants(
    planned: &PlannedExperiment,
    gathered: Vec<GatheredVariant>,
    own: &Samples,
    ranks: &Ranks,
    dropped: &Dropped,
    keeps_through_power_cuts: bool,
) -> Vec<VariantAnalysis> {
    let letters = |ranked: &[RankedVariant], index: usize| {
        let ranked = ranked.iter().find(|ranked| ranked.variant == index);
        ranked.map(|ranked| stats::letters(&ranked.groups)).unwrap_or_default()
    };
    let tested = |index: usize| {
        let ranked = ranks.ranking.iter().find(|ranked| ranked.variant == index)?;
        Some(ranked.tested.as_deref().map_or(UNTESTED.to_owned(), stats::letters))
    };
    let mut effects = effects(own, gathered.len()).into_iter();
    let mut statement_effects = statement_effects(&gathered, dropped).into_iter();
    let mut recall_losses = recall_losses(&gathered, dropped).into_iter();
    let analysed = |(index, (variant, gathered)): (usize, (&Variant, GatheredVariant))| {
        let durability = gathered.analysis.durability;
        let most = |class: Durability| class.min(Durability::Process);
        VariantAnalysis {
            label: variant.label.clone(),
            name: variant.name.clone(),
            answer: variant.answer.clone(),
            levels: variant.levels.clone(),
            settings: variant.settings.clone(),
            baseline: index == 0,
            memory_growth: memory_growth(&gathered.figures),
            summaries: summaries(gathered.figures, dropped),
            log_ratios: own.log_ratios(index, 0),
            effect: effects.next().flatten(),
            statement_effects: statement_effects.next().unwrap_or_default(),
            recall_losses: recall_losses.next().unwrap_or_default(),
            groups: tested(index).unwrap_or_default(),
            loose_groups: letters(&ranks.ranking, index),
            firm_groups: letters(&ranks.firmly, index),
            durability: if keeps_through_power_cuts { durability } else { durability.map(most) },
            safety: safety_of_trials(planned, gathered.safety, gathered.schedules),
            ..gathered.analysis
        }
    };
    let all = planned.variants.iter().zip(gathered).enumerate();
    let mut variants: Vec<VariantAnalysis> = all.map(analysed).collect();
    mark_zeros(&mut variants, &planned.experiment.metric);
    variants
}

/// Returns the safety of a variant that the trials of a crash experiment measured.
fn safety_of_trials(
    planned: &PlannedExperiment,
    found: Option<Vec<ModelSafety>>,
    schedules: Option<Schedules>,
) -> Option<Safety> {
    if !planned.experiment.measures().is_safety() {
        return None;
    }
    Some(match (found, schedules) {
        (None, None) => Safety::not_measured("no trial was measured"),
        (found, schedules) => Safety::of(found.unwrap_or_default()).with_schedules(schedules),
    })
}

fn summaries(
    figures: BTreeMap<String, Vec<Figure>>,
    dropped: &Dropped,
) -> BTreeMap<String, Summary> {
    figures
        .into_iter()
        .filter_map(|(metric, figures)| {
            // The A/A check stands for itself: pooled with the baseline it would blur both.
            let counts = |figure: &&Figure| figure.role != Role::AaCheck && kept(figure, dropped);
            let values = figures.iter().filter(counts).map(|figure| figure.value);
            let values: Vec<f64> = values.collect();
            Some((metric, Summary::of(&values)?))
        })
        .collect()
}

/// Prefix of the metric with a statement's median time; the statement's name follows.
const MEDIAN: &str = "p50_us.";

/// By variant and statement: the median time of the statement divided by the baseline's. Q-values are adjusted over all of
/// them together.
fn statement_effects(
    variants: &[GatheredVariant],
    dropped: &Dropped,
) -> Vec<BTreeMap<String, Effect>> {
    let baseline = variants.first();
    let statements = baseline.map_or(&[][..], |baseline| &baseline.analysis.statements);
    let (mut places, mut compared) = (Vec::new(), Vec::new());
    for statement in statements {
        let samples = samples_of(&format!("{MEDIAN}{}", statement.name), variants, dropped);
        for variant in 1..variants.len() {
            let ratios = samples.log_ratios(variant, 0);
            let estimate = Estimate::supported(&ratios).zip(stats::p_value(&ratios, 0.0).ok());
            places.push((variant, &statement.name));
            compared.push(estimate);
        }
    }
    let mut effects = vec![BTreeMap::new(); variants.len()];
    for ((variant, name), effect) in places.into_iter().zip(corrected(compared)) {
        effects[variant].extend(effect.map(|effect| (name.clone(), effect)));
    }
    effects
}

impl VariantAnalysis {
    /// Returns the statements whose time is found to differ from the baseline's, the largest difference first.
    pub fn differing_statements(&self) -> Vec<(&str, &Effect)> {
        let found = self.statement_effects.iter().filter(|(_, it)| it.is_found());
        let mut found: Vec<(&str, &Effect)> = found.map(|(name, it)| (name.as_str(), it)).collect();
        let size = |effect: &Effect| effect.estimate.centre.ln().abs();
        found.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
        found
    }

    /// Returns the statement that takes most of the time of its trials, with its share from 0 to 1: executions times the median, of the
    /// same of all statements, or of the time of a trial where that is longer. None without statements that are timed.
    pub fn longest_statement(&self) -> Option<(&str, f64)> {
        let time = |name: &str| {
            let median = |metric: &str| self.median(&format!("{metric}.{name}"));
            Some(median("executions")? * median("p50_us")?)
        };
        let names = self.statements.iter().map(|statement| statement.name.as_str());
        let times: Vec<(&str, f64)> = names.filter_map(|name| Some((name, time(name)?))).collect();
        let timed: f64 = times.iter().map(|(_, time)| time).sum();
        // Between statements, and in those that take much longer than their median, time passes, too.
        let of_trial = self.median("seconds").map(|seconds| seconds * 1e6);
        let all = of_trial.map_or(timed, |of_trial| timed.max(of_trial));
        let longest = times.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        (all > 0.0).then_some((longest.0, longest.1 / all))
    }
}

/// Recall that may be lost without a word: half a hundredth of what should be found.
const SLIGHT: f64 = 0.005;

/// A kind of recall that is lower than the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecallLoss {
    /// The metric.
    pub metric: String,
    /// How much lower than the baseline's it is, paired within blocks.
    pub loss: f64,
    /// The interval of the loss at 95 %.
    pub interval: Interval,
}

/// Returns the metrics that say how much of what should be found is found. Single classes of queries have a recall
/// of their own, after a dot; the others share one.
pub(super) fn metrics() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|metric| metric.name).filter(|name| name.starts_with("recall_"))
}

/// Returns the loss of a variant in this metric; `None` if no loss was found, or it is slight.
pub(super) fn loss(metric: &str, samples: &Samples, variant: usize) -> Option<RecallLoss> {
    let compared = Comparison::new(samples.differences(0, variant))
        .filter(|compared| compared.rounds() >= MIN_BLOCKS_FOR_ESTIMATE)?;
    let (loss, interval) = (compared.centre(), compared.plain_interval(ALPHA));
    (loss > SLIGHT && interval.low > 0.0).then(|| RecallLoss {
        metric: metric.to_owned(),
        loss,
        interval,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Role;
    use crate::trial::StatementRecord;

    /// A variant whose statements take so long, over rounds with a little noise.
    fn variant(role: Role, medians: &[(&str, f64)]) -> GatheredVariant {
        let mut variant = GatheredVariant::default();
        for (name, median) in medians {
            let figures = (0..12).map(|round| Figure {
                round,
                block: 0,
                role,
                value: median * (1.0 + 0.001 * f64::from(round % 5)),
            });
            let metric = format!("{MEDIAN}{name}");
            variant.figures.insert(metric, figures.collect());
            variant
                .analysis
                .statements
                .push(StatementRecord { name: (*name).to_owned(), ..StatementRecord::default() });
        }
        variant
    }

    #[test]
    fn a_faster_statement_is_seen_next_to_one_that_takes_most_of_the_time() {
        let baseline = variant(Role::Baseline, &[("pay", 800.0), ("sales", 15_000.0)]);
        let wal = variant(Role::Variant, &[("pay", 200.0), ("sales", 15_000.0)]);
        let effects = statement_effects(&[baseline, wal], &Vec::new());
        assert!(effects[0].is_empty());
        let pay = &effects[1]["pay"];
        assert!(pay.is_found() && (pay.estimate.centre - 0.25).abs() < 0.01);
        let sales = effects[1].get("sales");
        assert!(sales.is_none_or(|it| !it.is_found()));
    }

    #[test]
    fn the_longest_statement_is_that_with_most_time_in_all_its_executions() {
        let summary = |value| crate::analysis::Summary::of(&[value]).unwrap();
        let mut variant = variant(Role::Baseline, &[("pay", 800.0), ("sales", 15_000.0)]).analysis;
        assert_eq!(variant.longest_statement(), None);
        for (name, value) in [
            ("p50_us.pay", 800.0),
            ("p50_us.sales", 15_000.0),
            ("executions.pay", 75.0),
            ("executions.sales", 1.0),
        ] {
            variant.summaries.insert(name.to_owned(), summary(value));
        }
        assert_eq!(variant.longest_statement(), Some(("pay", 0.8)));
        variant.summaries.insert("seconds".to_owned(), summary(0.1));
        assert_eq!(variant.longest_statement(), Some(("pay", 0.6)));
    }

    /// Eight rounds of a baseline and of a variant.
    fn samples(of: impl Fn(u32) -> (f64, f64)) -> Samples {
        let mut samples = Samples::new(2);
        for round in 0..8 {
            let (baseline, variant) = of(round);
            samples.add(round, 0, 0, Role::Baseline, baseline);
            samples.add(round, 0, 1, Role::Variant, variant);
        }
        samples
    }

    #[test]
    fn a_loss_is_found_and_a_slight_one_or_a_gain_is_not() {
        let lost = samples(|_| (0.934, 0.901));
        let found = loss("recall_word", &lost, 1).unwrap();
        assert!((found.loss - 0.033).abs() < 1e-9);
        assert_eq!(loss("recall_word", &samples(|_| (0.7, 0.696)), 1), None);
        assert_eq!(loss("recall_word", &samples(|_| (0.81, 0.95)), 1), None);
    }

    #[test]
    fn a_loss_within_the_noise_is_none() {
        let noisy = samples(|round| (0.9, if round % 2 == 0 { 0.7 } else { 1.0 }));
        assert_eq!(loss("recall_word", &noisy, 1), None);
    }

    #[test]
    fn a_recall_that_falls_to_nothing_is_a_loss() {
        assert!(loss("recall_cjk", &samples(|_| (1.0, 0.0)), 1).is_some());
    }

    #[test]
    fn every_kind_of_recall_is_compared() {
        let kinds: Vec<&str> = metrics().collect();
        assert!(kinds.contains(&"recall_word") && kinds.contains(&"recall_stem"));
    }
}
