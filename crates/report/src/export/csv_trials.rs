//! One row a trial, written as the trials come.

use std::collections::HashMap;
use std::io::Write;

use lab::design::Role;
use lab::metric::METRICS;
use lab::record::{Purpose, RunPlan, TrialRecord};
use lab::trial::{Measured, Outcome};

use super::csv_tables::{Column, Columns, narrow, number, text, wide};
use crate::{Error, Result};

/// A trial, and the metric of its experiment.
struct TrialRow<'a> {
    record: &'a TrialRecord,
    metric: &'a str,
}

impl TrialRow<'_> {
    fn figure(&self, metric: &str) -> String {
        let measured = measured(&self.record.outcome);
        number(measured.and_then(|measured| measured.metrics.get(metric).copied()))
    }
}

/// Returns the columns before the metrics.
fn columns<'a>() -> [Column<TrialRow<'a>>; 14] {
    [
        narrow("experiment", |row| text(&row.record.experiment)),
        narrow("purpose", |row| purpose(row.record.purpose).to_owned()),
        narrow("round", |row| row.record.round.to_string()),
        wide("block", |row| row.record.block.to_string()),
        wide("position", |row| row.record.position.to_string()),
        narrow("variant", |row| text(&row.record.variant)),
        narrow("role", |row| role(row.record.role).to_owned()),
        wide("started", |row| text(&row.record.started)),
        wide("wall_s", |row| number(Some(row.record.wall_s))),
        wide("fsync_p50_ns", |row| {
            number(row.record.covariates.fsync_p50_ns.map(|median| median as f64))
        }),
        narrow("outcome", |row| ended(&row.record.outcome).0.to_owned()),
        narrow("problem", |row| text(&ended(&row.record.outcome).1)),
        narrow("metric", |row| text(row.metric)),
        narrow("figure", |row| row.figure(row.metric)),
    ]
}

/// Writes trials as CSV: the trial, its outcome, and its figure in the metric of its experiment.
/// The wide table also has one column for each metric of [`METRICS`], and a last column `more` with every
/// other figure as `name=value;name=value` (metrics of one phase, such as `seconds.index`).
pub struct TrialsCsv<W: Write> {
    writer: csv::Writer<W>,
    /// The metric of each experiment.
    metrics: HashMap<String, String>,
    columns: Columns,
    headed: bool,
}

impl<W: Write> TrialsCsv<W> {
    /// Makes an export of the trials of a run to this writer. The header is written with the first trial, or at the end.
    pub fn new(writer: W, plan: &RunPlan, columns: Columns) -> TrialsCsv<W> {
        let metrics = plan.experiments.iter();
        let metrics =
            metrics.map(|planned| (planned.key.clone(), planned.experiment.metric.clone()));
        let writer = csv::Writer::from_writer(writer);
        TrialsCsv { writer, metrics: metrics.collect(), columns, headed: false }
    }

    /// Writes one trial.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write(&mut self, record: &TrialRecord) -> Result<()> {
        self.head()?;
        let metric = self.metrics.get(&record.experiment).map_or("", String::as_str);
        let row = TrialRow { record, metric };
        let head = columns().into_iter().filter(|column| column.is_among(self.columns));
        let mut cells: Vec<String> = head.map(|column| column.cell(&row)).collect();
        if self.columns == Columns::Wide {
            cells.extend(METRICS.iter().map(|metric| row.figure(metric.name)));
            cells.push(more(record));
        }
        self.writer.write_record(&cells).map_err(Error::csv("trials"))
    }

    /// Writes what is still held back and returns the writer. An export without trials has its header, too.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn finish(mut self) -> Result<W> {
        self.head()?;
        let failed = Error::csv("trials");
        self.writer.into_inner().map_err(|error| failed(error.into_error().into()))
    }

    fn head(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.headed, true) {
            return Ok(());
        }
        let head = columns().into_iter().filter(|column| column.is_among(self.columns));
        let mut names: Vec<&str> = head.map(|column| column.name).collect();
        if self.columns == Columns::Wide {
            names.extend(METRICS.iter().map(|metric| metric.name));
            names.push("more");
        }
        self.writer.write_record(names).map_err(Error::csv("trials"))
    }
}

/// Returns the figures of a trial that have no column of their own.
fn more(record: &TrialRecord) -> String {
    let known = |name: &str| METRICS.iter().any(|metric| metric.name == name);
    let figures = measured(&record.outcome).into_iter().flat_map(|measured| &measured.metrics);
    let more = figures.filter(|(name, _)| !known(name));
    let more: Vec<String> = more.map(|(name, value)| format!("{name}={value}")).collect();
    text(&more.join(";"))
}

fn measured(outcome: &Outcome) -> Option<&Measured> {
    match outcome {
        Outcome::Measured(measured) => Some(measured),
        _ => None,
    }
}

pub(super) fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Search => "search",
        Purpose::Ablation => "ablation",
        Purpose::Advice => "advice",
        Purpose::Rounds => "rounds",
        Purpose::Tier => "tier",
        Purpose::Confirmation => "confirmation",
    }
}

pub(super) fn role(role: Role) -> &'static str {
    match role {
        Role::Baseline => "baseline",
        Role::AaCheck => "aa_check",
        Role::Variant => "variant",
        Role::UpperBound => "upper_bound",
        Role::Counting => "counting",
    }
}

/// Returns the outcome as the record names it, and the reason for a missing measurement.
pub(super) fn ended(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Measured(_) => ("measured", String::new()),
        Outcome::Skipped { why } => ("skipped", why.clone()),
        Outcome::Failed { why, .. } => ("failed", why.clone()),
        Outcome::TimedOut { limit_s } => ("timed_out", format!("{TIME_LIMIT}{limit_s} s")),
    }
}

/// Beginning of the problem of a trial that was stopped at its time limit.
const TIME_LIMIT: &str = "time limit of ";

/// Returns the limit in seconds in the problem of such a trial.
pub(super) fn time_limit(problem: &str) -> Option<f64> {
    problem.strip_prefix(TIME_LIMIT)?.strip_suffix(" s")?.parse().ok()
}
