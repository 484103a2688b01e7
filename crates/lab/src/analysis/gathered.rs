//! The trials of an experiment, gathered by variant.
//!
//! How trials ended.
//!
//! Disturbances of the machine while an experiment ran: how many blocks were disturbed, and how much CPU pressure and steal
//! there was. Where most blocks were disturbed none is dropped, and the answer has to say so.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::VariantAnalysis;
use crate::design::{Done, History, Observation, Role};
use crate::environment::Covariates;
use crate::metric;
use crate::record::{PlannedExperiment, TrialRecord};
use crate::stats::{SteadinessLabel, median, steadiness};
use crate::tier::{ModelSafety, Schedules, merged};
use crate::trial::{Answer, Measured, Outcome, StatementRecord};

/// Returns the part of a record from which the design decides the next trial.
///
/// `None` if the record's variant is not one of the plan's.
pub fn observation(planned: &PlannedExperiment, record: &TrialRecord) -> Option<Observation> {
    let variant = planned.index_of(&record.variant, record.role)?;
    Some(observe(variant, &planned.experiment.metric, record))
}

fn observe(variant: usize, metric: &str, record: &TrialRecord) -> Observation {
    let done = match &record.outcome {
        // A trial that lacks the metric it is compared by is of no use, however it ended.
        Outcome::Measured(measured) => match measured.metrics.get(metric) {
            Some(value) => Done::Measured(*value),
            None => Done::Failed,
        },
        Outcome::Skipped { .. } => Done::Skipped,
        Outcome::Failed { .. } | Outcome::TimedOut { .. } => Done::Failed,
    };
    Observation {
        place: (record.round, record.block, record.position),
        variant,
        role: record.role,
        done,
        wall_s: record.wall_s,
        disturbed: record.covariates.disturbance().is_some(),
    }
}

/// The beginning of the names of written tables among the answers.
pub(super) const WRITTEN: &str = "the table ";

/// The answers of one trial.
pub(super) struct Answered {
    /// The statements and the data, as a checksum.
    pub(super) asked: String,
    /// The statements with their answers, and the tables that they wrote; the result of the whole work has no name.
    pub(super) statements: Vec<StatementRecord>,
}

impl Answered {
    fn of(measured: &Measured) -> Option<Answered> {
        let asked = measured.asked.clone()?;
        let whole = measured.checksum.as_ref().map(|checksum| StatementRecord {
            answer: Some(Answer { checksum: Some(checksum.clone()), ..Answer::default() }),
            ..StatementRecord::default()
        });
        let written = measured.written.iter().map(|table| StatementRecord {
            name: format!("{WRITTEN}{}", table.name),
            ..table.clone()
        });
        let statements = measured.statements.iter().cloned().chain(written).chain(whole);
        Some(Answered { asked, statements: statements.collect() })
    }
}

/// One figure of one trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) round: u32,
    pub(super) block: u32,
    pub(super) role: Role,
    pub(super) value: f64,
}

/// The trials of one variant.
#[derive(Default)]
pub(super) struct GatheredVariant {
    /// Everything but the figures.
    pub(super) analysis: VariantAnalysis,
    pub(super) figures: BTreeMap<String, Vec<Figure>>,
    pub(super) safety: Option<Vec<ModelSafety>>,
    pub(super) schedules: Option<Schedules>,
    /// Answers of its trials to the user's own statements.
    pub(super) answers: Vec<Answered>,
}

/// The trials of one experiment.
pub(super) struct Gathered {
    pub(super) variants: Vec<GatheredVariant>,
    pub(super) history: History,
    pub(super) counting: TrialCounts,
    /// The medians of the fsync probes between the trials, in nanoseconds.
    pub(super) fsync_medians: Vec<u64>,
    pub(super) disturbing: Disturbing,
}

impl Gathered {
    pub(super) fn new(planned: &PlannedExperiment) -> Gathered {
        let all = planned.variants.len() + planned.upper_bounds.len();
        Gathered {
            variants: (0..all).map(|_| GatheredVariant::default()).collect(),
            history: History::default(),
            counting: TrialCounts::default(),
            fsync_medians: Vec::new(),
            disturbing: Disturbing::default(),
        }
    }

    pub(super) fn add(&mut self, planned: &PlannedExperiment, record: TrialRecord) {
        let Some(variant) = planned.index_of(&record.variant, record.role) else { return };
        let observation = observe(variant, &planned.experiment.metric, &record);
        if self.history.add(observation) {
            if record.role == Role::Counting {
                self.counting.add(&record.outcome);
            }
            self.fsync_medians.extend(record.covariates.fsync_p50_ns);
            if record.role != Role::Counting {
                let block = (record.round, record.block);
                self.disturbing.add(block, &record.covariates);
            }
            self.variants[variant].add(record);
        }
    }
}

impl GatheredVariant {
    fn add(&mut self, record: TrialRecord) {
        let counting = record.role == Role::Counting;
        match record.outcome {
            Outcome::Measured(measured) if counting => return self.add_counts(*measured),
            // A driver that cannot count says nothing against the variant.
            Outcome::Skipped { .. } if counting => return,
            _ => {}
        }
        if let Some(problem) = record.outcome.problem() {
            self.analysis.problem.get_or_insert(problem);
        }
        if counting {
            return;
        }
        self.analysis.trials.add(&record.outcome);
        if let Outcome::Measured(measured) = record.outcome {
            self.add_measured(record.round, record.block, record.role, *measured);
        }
    }

    fn add_counts(&mut self, measured: Measured) {
        let counted = |name: &str| metric::find(name).is_some_and(|metric| metric.counted);
        self.analysis.counts.extend(measured.metrics.into_iter().filter(|(name, _)| counted(name)));
    }

    fn add_measured(&mut self, round: u32, block: u32, role: Role, measured: Measured) {
        self.answers.extend(Answered::of(&measured));
        if measured.safety.iter().any(|model| model.adds_up) {
            for (name, count) in &measured.metrics {
                *self.analysis.counts.entry(name.clone()).or_default() += count;
            }
        }
        self.analysis.artifacts.extend(measured.artifacts);
        if !measured.safety.is_empty() {
            let so_far = self.safety.take().unwrap_or_default();
            self.safety = Some(merged(so_far, measured.safety));
        }
        // The weakest that any trial said, should they differ.
        self.analysis.durability = match (self.analysis.durability, measured.durability) {
            (Some(so_far), Some(said)) => Some(so_far.min(said)),
            (so_far, said) => so_far.or(said),
        };
        if let Some(schedules) = measured.schedules {
            self.schedules = Some(match self.schedules.take() {
                Some(so_far) => so_far.merged(schedules),
                None => schedules,
            });
        }
        for (name, value) in measured.metrics {
            self.figures.entry(name).or_default().push(Figure { round, block, role, value });
        }
        if let Some(found) = steadiness(&measured.windows) {
            let counts = self.analysis.steadiness.get_or_insert_default();
            match found.label {
                SteadinessLabel::Warming => counts.warming += 1,
                SteadinessLabel::Steady => counts.steady += 1,
                SteadinessLabel::Drifting => counts.drifting += 1,
            }
        }
        if self.analysis.engine.is_none() {
            self.analysis.engine = Some(measured.engine);
            self.analysis.binding = measured.binding;
            self.analysis.connections = measured.connections;
            self.analysis.tables = measured.tables;
            self.analysis.sets_itself = measured.sets_itself;
            self.analysis.statements = measured.statements;
            self.analysis.statements.iter_mut().for_each(|statement| statement.rows.clear());
        }
    }
}

/// The fewest rounds in which growth of memory is not chance, and the least factor that matters.
const ROUNDS: usize = 5;
const FACTOR: f64 = 1.2;

/// Returns the first and the last peak memory, in bytes, of trials in the order of their rounds, where it has grown in each of
/// them: each trial is a fresh process that does the same work, so something outside of it grows.
fn growth(in_order: &[f64]) -> Option<(f64, f64)> {
    let (first, last) = (*in_order.first()?, *in_order.last()?);
    let grows = in_order.windows(2).all(|pair| pair[0] < pair[1]);
    (in_order.len() >= ROUNDS && grows && last >= FACTOR * first).then_some((first, last))
}

/// Returns the growth of the memory of a variant's own trials; see [`growth`].
pub(super) fn memory_growth(figures: &BTreeMap<String, Vec<Figure>>) -> Option<(f64, f64)> {
    let peaks = figures.get("peak_memory_bytes")?.iter();
    let mut peaks: Vec<&Figure> = peaks.filter(|peak| peak.role != Role::AaCheck).collect();
    peaks.sort_by_key(|figure| (figure.round, figure.block));
    growth(&peaks.iter().map(|figure| figure.value).collect::<Vec<_>>())
}

/// How many trials ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialCounts {
    /// Measured and verified.
    pub measured: usize,
    /// Could not be run here.
    pub skipped: usize,
    /// Something was wrong.
    pub failed: usize,
    /// Stopped at the time limit.
    pub timed_out: usize,
}

impl TrialCounts {
    /// Counts one more.
    pub(super) fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Measured(_) => self.measured += 1,
            Outcome::Skipped { .. } => self.skipped += 1,
            Outcome::Failed { .. } => self.failed += 1,
            Outcome::TimedOut { .. } => self.timed_out += 1,
        }
    }

    /// Both together.
    pub(super) fn plus(self, other: TrialCounts) -> TrialCounts {
        TrialCounts {
            measured: self.measured + other.measured,
            skipped: self.skipped + other.skipped,
            failed: self.failed + other.failed,
            timed_out: self.timed_out + other.timed_out,
        }
    }

    /// Returns all of them.
    pub fn total(&self) -> usize {
        self.measured + self.skipped + self.failed + self.timed_out
    }
}

/// The blocks of an experiment and what disturbed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Disturbances {
    /// Blocks that were disturbed, whether they were dropped or not.
    pub disturbed: usize,
    /// All blocks.
    pub blocks: usize,
    /// CPU pressure in per cent of time, 0 to 100; `None` if the system does not say.
    pub cpu_pressure: Option<TrialFigures>,
    /// The share of CPU time, 0 to 1, that the hypervisor gave to others; `None` if the system does not say.
    pub steal: Option<TrialFigures>,
}

/// A figure over the trials of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrialFigures {
    /// The middle one.
    pub median: f64,
    /// The highest.
    pub highest: f64,
}

impl TrialFigures {
    fn of(values: &[f64]) -> Option<TrialFigures> {
        Some(TrialFigures {
            median: median(values)?,
            highest: values.iter().copied().reduce(f64::max)?,
        })
    }
}

/// Gathers what disturbed the trials of an experiment.
#[derive(Clone, Debug, Default)]
pub(super) struct Disturbing {
    blocks: BTreeSet<(u32, u32)>,
    disturbed: BTreeSet<(u32, u32)>,
    cpu_pressure: Vec<f64>,
    steal: Vec<f64>,
}

impl Disturbing {
    /// Adds a trial of this round and block.
    pub(super) fn add(&mut self, block: (u32, u32), covariates: &Covariates) {
        self.blocks.insert(block);
        if covariates.disturbance().is_some() {
            self.disturbed.insert(block);
        }
        self.cpu_pressure.extend(covariates.cpu_pressure_avg10);
        self.steal.extend(covariates.steal_fraction);
    }

    pub(super) fn finish(&self) -> Disturbances {
        Disturbances {
            disturbed: self.disturbed.len(),
            blocks: self.blocks.len(),
            cpu_pressure: TrialFigures::of(&self.cpu_pressure),
            steal: TrialFigures::of(&self.steal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_where_each_trial_takes_more_than_the_one_before() {
        assert_eq!(growth(&[4.0, 5.0, 6.0, 9.0, 400.0]), Some((4.0, 400.0)));
        assert_eq!(growth(&[4.0, 5.0, 4.9, 9.0, 400.0]), None);
        assert_eq!(growth(&[4.0, 5.0, 6.0, 9.0]), None);
        assert_eq!(growth(&[4.0, 4.01, 4.02, 4.03, 4.04]), None);
    }

    #[test]
    fn blocks_are_disturbed_by_any_of_their_trials_and_pressure_is_kept_of_all() {
        let mut disturbing = Disturbing::default();
        for (block, pressure) in [(0, 1.0), (0, 40.0), (1, 2.0), (2, 90.0)] {
            let covariates =
                Covariates { cpu_pressure_avg10: Some(pressure), ..Covariates::default() };
            disturbing.add((0, block), &covariates);
        }
        let found = disturbing.finish();
        assert_eq!((found.disturbed, found.blocks), (2, 3));
        assert!(2 * found.disturbed > found.blocks);
        let pressure = found.cpu_pressure.unwrap();
        assert_eq!((pressure.median, pressure.highest), (21.0, 90.0));
        assert_eq!(found.steal, None);
    }
}
