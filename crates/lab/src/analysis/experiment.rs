//! One experiment: samples, effects, ranks and verdicts.

use std::collections::{BTreeMap, BTreeSet};

use super::bindings;
use super::collect::{Figure, Gathered, GatheredVariant};
use super::{
    Bindings, Curve, Effect, Effects, ExperimentAnalysis, Summary, UpperBoundAnalysis,
    VariantAnalysis,
};
use crate::claims::{DeviceKind, DeviceLevels, Evidence, Judged, judge};
use crate::design::{Course, Next, Role, next};
use crate::durability::Durability;
use crate::metric::{self, Better};
use crate::record::{EnvironmentFile, PlannedExperiment};
use crate::samples::Samples;
use crate::stats::{self, ALPHA, Estimate, RankedVariant, benjamini_hochberg};
use crate::tier::{self, ModelSafety, Safety, Schedules};

type Dropped = [(u32, u32)];

/// Analyses the trials of one experiment.
pub(super) fn analyse(
    planned: &PlannedExperiment,
    course: &Course,
    gathered: Gathered,
    environment: &EnvironmentFile,
    devices: &[DeviceLevels],
) -> ExperimentAnalysis {
    let dropped = gathered.history.dropped_blocks();
    let without_upper_bounds = &gathered.variants[..planned.variants.len()];
    let samples = samples_of_needed_metrics(planned, without_upper_bounds, &dropped);
    let metric = &planned.experiment.metric;
    let own = &samples[metric];
    let effects = effects(own, planned.variants.len());
    let ranking = rank(
        own,
        planned.variants.len(),
        metric,
        gathered.history.rounds(),
    );
    let crossed = crossed(planned, own, gathered.history.rounds());
    let claims = claims(
        planned,
        without_upper_bounds,
        &samples,
        environment,
        devices,
    );
    let stop = match next(course, &gathered.history) {
        Next::Stop(reason) => Some(reason),
        Next::Trial { .. } => None,
    };
    let (upper_bounds, gathered_variants) =
        split_upper_bounds(planned, gathered.variants, &dropped);
    let figures_of_rows: BTreeMap<String, Samples> = figures_by_row(&gathered_variants, &dropped);
    let mut variants = variants(
        planned,
        gathered_variants,
        effects.clone(),
        &ranking,
        &dropped,
    );
    cap_durability(&mut variants, planned, environment);
    ExperimentAnalysis {
        key: planned.key.clone(),
        id: planned.experiment.id.clone(),
        question: planned.experiment.question.clone(),
        source: planned.experiment.source.clone(),
        note: planned.experiment.note.clone(),
        workload: planned.experiment.workload.clone(),
        directory: planned.directory.clone(),
        metric: metric.clone(),
        factors: planned.experiment.factors.clone(),
        labels: planned.experiment.labels.clone(),
        conditions: planned.experiment.conditions.clone(),
        crash_relevant: planned.crash_relevant.clone(),
        preliminary: effects
            .iter()
            .flatten()
            .any(|effect| effect.estimate.preliminary),
        detectable: effects
            .iter()
            .flatten()
            .map(|effect| effect.estimate.detectable)
            .reduce(f64::max),
        aa_check: Estimate::from_log_ratios(&own.aa_check_log_ratios(), ALPHA).ok(),
        claims,
        rounds: gathered.history.rounds(),
        blocks: gathered.history.blocks(),
        dropped_blocks: dropped.len(),
        stop,
        wall_s: gathered.history.elapsed_s(),
        ranking: ranking.iter().map(|ranked| ranked.variant).collect(),
        effects: crossed,
        bindings: Bindings::of(&variants, &figures_of_rows, ALPHA),
        curve: Curve::of(
            metric,
            &planned.experiment.factors,
            &planned.experiment.labels,
            &variants,
        ),
        variants,
        upper_bounds,
        best_at_tiers: Vec::new(),
        by_durability: Vec::new(),
    }
}

/// The verdicts of the experiment's claims.
fn claims(
    planned: &PlannedExperiment,
    variants: &[GatheredVariant],
    samples: &BTreeMap<String, Samples>,
    environment: &EnvironmentFile,
    devices: &[DeviceLevels],
) -> Vec<Judged> {
    let problems: Vec<Option<String>> = variants.iter().map(problem_of_unmeasured).collect();
    let failures: Vec<Option<String>> = variants.iter().map(failures_of).collect();
    judge(&Evidence {
        experiment: &planned.experiment,
        variants: &planned.variants,
        samples,
        problems: &problems,
        failures: &failures,
        fsync_median_ns: fsync_median(planned, environment),
        file_system: file_system(planned, environment),
        devices,
    })
}

/// The experiment as a whole on its device, for claims that compare devices.
pub(super) fn device_levels(
    planned: &PlannedExperiment,
    gathered: &Gathered,
    environment: &EnvironmentFile,
) -> DeviceLevels {
    let dropped = gathered.history.dropped_blocks();
    let variants = &gathered.variants[..planned.variants.len()];
    let volume = environment.machine.volume(&planned.directory);
    let kind = volume.and_then(|volume| volume.rotational).map(|rotates| {
        if rotates {
            DeviceKind::Rotating
        } else {
            DeviceKind::Solid
        }
    });
    DeviceLevels {
        kind,
        levels: samples_of_needed_metrics(planned, variants, &dropped)
            .into_iter()
            .map(|(metric, samples)| (metric, samples.mean_logs()))
            .collect(),
    }
}

/// The limits, and the variants by themselves.
fn split_upper_bounds(
    planned: &PlannedExperiment,
    mut gathered: Vec<GatheredVariant>,
    dropped: &Dropped,
) -> (Vec<UpperBoundAnalysis>, Vec<GatheredVariant>) {
    let upper_bounds = gathered.split_off(planned.variants.len());
    let metric = &planned.experiment.metric;
    let analysed = planned
        .upper_bounds
        .iter()
        .zip(upper_bounds)
        .map(|(limit, gathered)| UpperBoundAnalysis {
            name: limit.label.clone(),
            says: limit.says.clone(),
            problem: problem_of_unmeasured(&gathered),
            summary: summaries(gathered.figures, dropped).remove(metric),
        });
    (analysed.collect(), gathered)
}

fn fsync_median(planned: &PlannedExperiment, environment: &EnvironmentFile) -> Option<u64> {
    environment
        .machine
        .volume(&planned.directory)?
        .fsync_median_ns()
}

fn file_system<'e>(
    planned: &PlannedExperiment,
    environment: &'e EnvironmentFile,
) -> Option<&'e str> {
    let volume = environment.machine.volume(&planned.directory)?;
    volume.file_system.as_deref()
}

/// No target can undertake more than what lies below it: memory keeps nothing without power, and
/// without flushes of the disk's cache a sync is a word.
fn cap_durability(
    variants: &mut [VariantAnalysis],
    planned: &PlannedExperiment,
    environment: &EnvironmentFile,
) {
    let volume = environment.machine.volume(&planned.directory);
    let keeps = volume.is_none_or(|volume| {
        volume.supports_durability_comparison() && volume.barrier_disabled().is_none()
    });
    if keeps {
        return;
    }
    for variant in variants {
        variant.durability = variant
            .durability
            .map(|class| class.min(Durability::Process));
    }
}

fn problem_of_unmeasured(variant: &GatheredVariant) -> Option<String> {
    (variant.trials.measured == 0).then(|| {
        variant
            .problem
            .clone()
            .unwrap_or_else(|| "not measured in this run".to_owned())
    })
}

/// How many trials of a variant failed or timed out and why, where some did.
fn failures_of(variant: &GatheredVariant) -> Option<String> {
    let failed = variant.trials.failed + variant.trials.timed_out;
    let why = variant.problem.as_deref().unwrap_or("it is not known why");
    (failed > 0).then(|| {
        format!(
            "{failed} of its {} trials failed: {why}",
            variant.trials.total()
        )
    })
}

/// Samples of the experiment's own metric and of every metric that a claim names.
fn samples_of_needed_metrics(
    planned: &PlannedExperiment,
    variants: &[GatheredVariant],
    dropped: &Dropped,
) -> BTreeMap<String, Samples> {
    let named = planned.experiment.claims.iter().flat_map(|claim| {
        claim
            .forms()
            .into_iter()
            .flat_map(|form| [form.metric(), form.to_metric()].map(|name| name.map(str::to_owned)))
            .flatten()
            .collect::<Vec<_>>()
    });
    named
        .chain([planned.experiment.metric.clone()])
        .map(|metric| {
            let samples = samples_of(&metric, variants, dropped);
            (metric, samples)
        })
        .collect()
}

fn samples_of(metric: &str, variants: &[GatheredVariant], dropped: &Dropped) -> Samples {
    let mut samples = Samples::new(variants.len());
    for (index, variant) in variants.iter().enumerate() {
        for figure in variant
            .figures
            .get(metric)
            .into_iter()
            .flatten()
            .filter(|figure| kept(figure, dropped))
        {
            samples.add(figure.round, figure.block, index, figure.role, figure.value);
        }
    }
    samples
}

/// The time for a row in each part of the work, where there are such parts.
fn figures_by_row(variants: &[GatheredVariant], dropped: &Dropped) -> BTreeMap<String, Samples> {
    let names = variants.iter().flat_map(|variant| variant.figures.keys());
    let parts: BTreeSet<&String> = names.filter(|name| bindings::is_part(name)).collect();
    parts
        .into_iter()
        .map(|name| (name.clone(), samples_of(name, variants, dropped)))
        .collect()
}

fn kept(figure: &Figure, dropped: &Dropped) -> bool {
    dropped
        .binary_search(&(figure.round, figure.block))
        .is_err()
}

fn effects(samples: &Samples, variants: usize) -> Vec<Option<Effect>> {
    let diffs: Vec<Vec<f64>> = (0..variants)
        .map(|variant| samples.log_ratios(variant, 0))
        .collect();
    let p_values: Vec<Option<f64>> = diffs
        .iter()
        .map(|diffs| stats::p_value(diffs, 0.0).ok())
        .collect();
    let tested: Vec<f64> = p_values.iter().flatten().copied().collect();
    let mut adjusted = benjamini_hochberg(&tested).into_iter();
    diffs
        .iter()
        .zip(p_values)
        .map(|(diffs, p_value)| {
            p_value?;
            let q_value = adjusted.next()?;
            let estimate = Estimate::from_log_ratios(diffs, ALPHA).ok()?;
            Some(Effect { estimate, q_value })
        })
        .collect()
}

fn crossed(planned: &PlannedExperiment, samples: &Samples, rounds: u32) -> Option<Effects> {
    if planned.experiment.workload == tier::WORKLOAD {
        // How quickly crashes are tried says nothing for or against a knob.
        return None;
    }
    let levels: Vec<_> = planned
        .variants
        .iter()
        .map(|variant| &variant.levels)
        .collect();
    let labels: Vec<_> = planned
        .variants
        .iter()
        .map(|variant| &variant.label[..])
        .collect();
    Effects::of(
        &levels,
        &labels,
        &planned.experiment.factors,
        samples,
        rounds,
    )
}

fn rank(samples: &Samples, variants: usize, metric: &str, rounds: u32) -> Vec<RankedVariant> {
    let table: Vec<Vec<Option<f64>>> = (0..variants)
        .map(|variant| {
            (0..rounds)
                .map(|round| samples.log_over_baseline(round, variant))
                .collect()
        })
        .collect();
    let better = match metric::find(metric).map(|metric| metric.better) {
        Some(Better::Lower) => stats::Better::Lower,
        _ => stats::Better::Higher,
    };
    // The table is made here: rectangular, with finite logarithms only.
    stats::rank_variants(&table, better, ALPHA)
        .expect("a well-formed table of logarithms")
        .variants
}

fn variants(
    planned: &PlannedExperiment,
    gathered: Vec<GatheredVariant>,
    effects: Vec<Option<Effect>>,
    ranking: &[RankedVariant],
    dropped: &Dropped,
) -> Vec<VariantAnalysis> {
    planned
        .variants
        .iter()
        .zip(gathered)
        .zip(effects)
        .enumerate()
        .map(|(index, ((variant, gathered), effect))| VariantAnalysis {
            label: variant.label.clone(),
            name: variant.name.clone(),
            answer: variant.answer.clone(),
            levels: variant.levels.clone(),
            settings: variant.settings.clone(),
            baseline: index == 0,
            trials: gathered.trials,
            problem: gathered.problem,
            summaries: summaries(gathered.figures, dropped),
            effect,
            groups: ranking
                .iter()
                .find(|ranked| ranked.variant == index)
                .map(RankedVariant::letters)
                .unwrap_or_default(),
            steadiness: gathered.steadiness,
            connections: gathered.connections,
            engine: gathered.engine,
            binding: gathered.binding,
            counts: gathered.counts,
            tables: gathered.tables,
            safety: safety_of_trials(planned, gathered.safety, gathered.schedules),
            durability: gathered.durability,
            confirmation: None,
        })
        .collect()
}

/// What the trials of an experiment that tries crashes say of a variant.
fn safety_of_trials(
    planned: &PlannedExperiment,
    found: Option<Vec<ModelSafety>>,
    schedules: Option<Schedules>,
) -> Option<Safety> {
    if planned.experiment.workload != tier::WORKLOAD {
        return None;
    }
    Some(match found {
        Some(models) => Safety::of(models).with_schedules(schedules),
        None => Safety::not_measured("no trial of it was measured"),
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
            let values: Vec<f64> = figures
                .iter()
                .filter(|figure| figure.role != Role::AaCheck && kept(figure, dropped))
                .map(|figure| figure.value)
                .collect();
            let summary = Summary {
                median: stats::median(&values)?,
                range: stats::range(&values)?,
                n: values.len(),
            };
            Some((metric, summary))
        })
        .collect()
}
