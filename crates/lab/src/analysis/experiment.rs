//! One experiment: samples, effects, ranks and verdicts.

use std::collections::{BTreeMap, BTreeSet};

use super::bindings;
use super::collect::{Figure, Gathered, GatheredArm};
use super::{
    ArmAnalysis, Bindings, Curve, Effect, Effects, ExperimentAnalysis, LimitAnalysis, Summary,
};
use crate::claims::{DeviceKind, DeviceLevels, Evidence, Judged, judge};
use crate::design::{Course, Next, Role, next};
use crate::durability::Durability;
use crate::metric::{self, Better};
use crate::record::{EnvironmentFile, PlannedExperiment};
use crate::samples::Samples;
use crate::stats::{self, ALPHA, Estimate, RankedArm, benjamini_hochberg};
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
    let without_limits = &gathered.arms[..planned.arms.len()];
    let samples = samples_of_needed_metrics(planned, without_limits, &dropped);
    let metric = &planned.experiment.metric;
    let own = &samples[metric];
    let effects = effects(own, planned.arms.len());
    let ranking = rank(own, planned.arms.len(), metric, gathered.history.rounds());
    let crossed = crossed(planned, own, gathered.history.rounds());
    let claims = claims(planned, without_limits, &samples, environment, devices);
    let stop = match next(course, &gathered.history) {
        Next::Stop(reason) => Some(reason),
        Next::Trial { .. } => None,
    };
    let (limits, gathered_arms) = split_limits(planned, gathered.arms, &dropped);
    let figures_of_rows: BTreeMap<String, Samples> = figures_by_row(&gathered_arms, &dropped);
    let mut arms = arms(planned, gathered_arms, effects.clone(), &ranking, &dropped);
    cap_durability(&mut arms, planned, environment);
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
        conditions: planned.experiment.conditions.clone(),
        crash_relevant: planned.crash_relevant.clone(),
        preliminary: effects
            .iter()
            .flatten()
            .any(|effect| effect.estimate.preliminary),
        mde: effects
            .iter()
            .flatten()
            .map(|effect| effect.estimate.mde)
            .reduce(f64::max),
        canary: Estimate::from_log_ratios(&own.canary_log_ratios(), ALPHA).ok(),
        claims,
        rounds: gathered.history.rounds(),
        blocks: gathered.history.blocks(),
        dropped_blocks: dropped.len(),
        stop,
        wall_s: gathered.history.elapsed_s(),
        ranking: ranking.iter().map(|ranked| ranked.arm).collect(),
        effects: crossed,
        bindings: Bindings::of(&arms, &figures_of_rows, ALPHA),
        curve: Curve::of(metric, &planned.experiment.factors, &arms),
        arms,
        limits,
        best_at_tiers: Vec::new(),
        by_durability: Vec::new(),
    }
}

/// The verdicts of the experiment's claims.
fn claims(
    planned: &PlannedExperiment,
    arms: &[GatheredArm],
    samples: &BTreeMap<String, Samples>,
    environment: &EnvironmentFile,
    devices: &[DeviceLevels],
) -> Vec<Judged> {
    let problems: Vec<Option<String>> = arms.iter().map(problem_of_unmeasured).collect();
    let failures: Vec<Option<String>> = arms.iter().map(failures_of).collect();
    judge(&Evidence {
        experiment: &planned.experiment,
        arms: &planned.arms,
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
    let arms = &gathered.arms[..planned.arms.len()];
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
        levels: samples_of_needed_metrics(planned, arms, &dropped)
            .into_iter()
            .map(|(metric, samples)| (metric, samples.mean_logs()))
            .collect(),
    }
}

/// The limits, and the arms by themselves.
fn split_limits(
    planned: &PlannedExperiment,
    mut gathered: Vec<GatheredArm>,
    dropped: &Dropped,
) -> (Vec<LimitAnalysis>, Vec<GatheredArm>) {
    let limits = gathered.split_off(planned.arms.len());
    let metric = &planned.experiment.metric;
    let analysed = planned
        .limits
        .iter()
        .zip(limits)
        .map(|(limit, gathered)| LimitAnalysis {
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
    arms: &mut [ArmAnalysis],
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
    for arm in arms {
        arm.durability = arm.durability.map(|class| class.min(Durability::Process));
    }
}

fn problem_of_unmeasured(arm: &GatheredArm) -> Option<String> {
    (arm.trials.measured == 0).then(|| {
        arm.problem
            .clone()
            .unwrap_or_else(|| "not measured in this run".to_owned())
    })
}

/// How many trials of an arm failed or timed out and why, where some did.
fn failures_of(arm: &GatheredArm) -> Option<String> {
    let failed = arm.trials.failed + arm.trials.timed_out;
    let why = arm.problem.as_deref().unwrap_or("it is not known why");
    (failed > 0).then(|| {
        format!(
            "{failed} of its {} trials failed: {why}",
            arm.trials.total()
        )
    })
}

/// Samples of the experiment's own metric and of every metric that a claim names.
fn samples_of_needed_metrics(
    planned: &PlannedExperiment,
    arms: &[GatheredArm],
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
            let samples = samples_of(&metric, arms, dropped);
            (metric, samples)
        })
        .collect()
}

fn samples_of(metric: &str, arms: &[GatheredArm], dropped: &Dropped) -> Samples {
    let mut samples = Samples::new(arms.len());
    for (index, arm) in arms.iter().enumerate() {
        for figure in arm
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
fn figures_by_row(arms: &[GatheredArm], dropped: &Dropped) -> BTreeMap<String, Samples> {
    let names = arms.iter().flat_map(|arm| arm.figures.keys());
    let parts: BTreeSet<&String> = names.filter(|name| bindings::is_part(name)).collect();
    parts
        .into_iter()
        .map(|name| (name.clone(), samples_of(name, arms, dropped)))
        .collect()
}

fn kept(figure: &Figure, dropped: &Dropped) -> bool {
    dropped
        .binary_search(&(figure.round, figure.block))
        .is_err()
}

fn effects(samples: &Samples, arms: usize) -> Vec<Option<Effect>> {
    let diffs: Vec<Vec<f64>> = (0..arms).map(|arm| samples.log_ratios(arm, 0)).collect();
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
    let levels: Vec<_> = planned.arms.iter().map(|arm| &arm.levels).collect();
    let labels: Vec<_> = planned.arms.iter().map(|arm| &arm.label[..]).collect();
    Effects::of(
        &levels,
        &labels,
        &planned.experiment.factors,
        samples,
        rounds,
    )
}

fn rank(samples: &Samples, arms: usize, metric: &str, rounds: u32) -> Vec<RankedArm> {
    let table: Vec<Vec<Option<f64>>> = (0..arms)
        .map(|arm| {
            (0..rounds)
                .map(|round| samples.log_over_reference(round, arm))
                .collect()
        })
        .collect();
    let better = match metric::find(metric).map(|metric| metric.better) {
        Some(Better::Lower) => stats::Better::Lower,
        _ => stats::Better::Higher,
    };
    // The table is made here: rectangular, with finite logarithms only.
    stats::rank_arms(&table, better, ALPHA)
        .expect("a well-formed table of logarithms")
        .arms
}

fn arms(
    planned: &PlannedExperiment,
    gathered: Vec<GatheredArm>,
    effects: Vec<Option<Effect>>,
    ranking: &[RankedArm],
    dropped: &Dropped,
) -> Vec<ArmAnalysis> {
    planned
        .arms
        .iter()
        .zip(gathered)
        .zip(effects)
        .enumerate()
        .map(|(index, ((arm, gathered), effect))| ArmAnalysis {
            label: arm.label.clone(),
            levels: arm.levels.clone(),
            settings: arm.settings.clone(),
            reference: index == 0,
            trials: gathered.trials,
            problem: gathered.problem,
            summaries: summaries(gathered.figures, dropped),
            effect,
            groups: ranking
                .iter()
                .find(|ranked| ranked.arm == index)
                .map(RankedArm::letters)
                .unwrap_or_default(),
            steadiness: gathered.steadiness,
            connections: gathered.connections,
            engine: gathered.engine,
            binding: gathered.binding,
            counts: gathered.counts,
            tables: gathered.tables,
            safety: safety_of_trials(planned, gathered.safety, gathered.schedules),
            durability: gathered.durability,
            fresh: None,
        })
        .collect()
}

/// What the trials of an experiment that tries crashes say of an arm.
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
            // The canary stands for itself: pooled with the reference it would blur both.
            let values: Vec<f64> = figures
                .iter()
                .filter(|figure| figure.role != Role::Canary && kept(figure, dropped))
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
