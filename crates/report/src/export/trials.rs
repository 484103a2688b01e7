//! One row a trial, written as the trials come.

use std::collections::HashMap;
use std::io::Write;

use lab::design::Role;
use lab::metric::METRICS;
use lab::record::{Purpose, RunPlan, TrialRecord};
use lab::trial::{Measured, Outcome};

use super::Columns;
use super::cells::{number, text};
use crate::{Error, Result};

/// Columns before those of the metrics.
const HEAD: [&str; 14] = [
    "experiment",
    "purpose",
    "round",
    "block",
    "position",
    "variant",
    "role",
    "started",
    "wall_s",
    "fsync_p50_ns",
    "outcome",
    "problem",
    "metric",
    "figure",
];

/// Those of them that the narrow table has.
const NARROW: [&str; 9] =
    ["experiment", "purpose", "round", "variant", "role", "outcome", "problem", "metric", "figure"];

/// Writes trials as CSV: what a trial was, how it ended, and its figure in the metric of its experiment.
/// The wide table also has one column for each metric of [`METRICS`], and a last column `more` with every
/// other figure as `name=value;name=value` (metrics of one phase, such as `seconds.index`).
pub struct TrialsCsv<W: Write> {
    writer: csv::Writer<W>,
    /// The metric of each experiment.
    metrics: HashMap<String, String>,
    columns: Vec<usize>,
    headed: bool,
}

impl<W: Write> TrialsCsv<W> {
    /// An export of the trials of a run to this writer. The header is written with the first trial, or at
    /// the end.
    pub fn new(writer: W, plan: &RunPlan, columns: Columns) -> TrialsCsv<W> {
        let experiments = plan.experiments.iter();
        let metrics = experiments
            .map(|experiment| (experiment.key.clone(), experiment.experiment.metric.clone()));
        TrialsCsv {
            writer: csv::Writer::from_writer(writer),
            metrics: metrics.collect(),
            columns: columns.among(names(), &NARROW),
            headed: false,
        }
    }

    /// Writes one trial.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write(&mut self, record: &TrialRecord) -> Result<()> {
        self.head()?;
        let row = self.row(record);
        self.cells(self.columns.iter().map(|place| row[*place].as_str()).collect())
    }

    /// Writes what is still held back and gives the writer back. An export without trials has its
    /// header all the same.
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
        let wanted =
            |(place, name): (usize, &'static str)| self.columns.contains(&place).then_some(name);
        self.cells(names().enumerate().filter_map(wanted).collect())
    }

    fn cells(&mut self, cells: Vec<&str>) -> Result<()> {
        self.writer.write_record(cells).map_err(Error::csv("trials"))
    }

    /// Every cell of a trial.
    fn row(&self, record: &TrialRecord) -> Vec<String> {
        let (outcome, problem) = ended(&record.outcome);
        let metric = self.metrics.get(&record.experiment);
        let metric = metric.map_or("", String::as_str);
        let figures = Figures::of(&record.outcome);
        let head: [String; HEAD.len()] = [
            text(&record.experiment),
            purpose(record.purpose).to_owned(),
            record.round.to_string(),
            record.block.to_string(),
            record.position.to_string(),
            text(&record.variant),
            role(record.role).to_owned(),
            text(&record.started),
            number(Some(record.wall_s)),
            number(record.covariates.fsync_p50_ns.map(|median| median as f64)),
            outcome.to_owned(),
            text(&problem),
            text(metric),
            number(figures.get(metric)),
        ];
        let known = METRICS.iter().map(|known| number(figures.get(known.name)));
        head.into_iter().chain(known).chain([figures.more()]).collect()
    }
}

/// The names of all columns.
fn names() -> impl Iterator<Item = &'static str> {
    let metrics = METRICS.iter().map(|metric| metric.name);
    HEAD.into_iter().chain(metrics).chain(["more"])
}

/// The figures of a trial; none where nothing was measured.
struct Figures<'a>(Option<&'a Measured>);

impl Figures<'_> {
    fn of(outcome: &Outcome) -> Figures<'_> {
        Figures(match outcome {
            Outcome::Measured(measured) => Some(measured),
            _ => None,
        })
    }

    fn get(&self, metric: &str) -> Option<f64> {
        self.0?.metrics.get(metric).copied()
    }

    /// Those that have no column of their own.
    fn more(&self) -> String {
        let known = |name: &str| METRICS.iter().any(|metric| metric.name == name);
        let figures = self.0.into_iter().flat_map(|measured| &measured.metrics);
        let more = figures.filter(|(name, _)| !known(name));
        let more: Vec<String> = more.map(|(name, value)| format!("{name}={value}")).collect();
        text(&more.join(";"))
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

/// The outcome as the record names it, and why there is no measurement.
pub(super) fn ended(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Measured(_) => ("measured", String::new()),
        Outcome::Skipped { why } => ("skipped", why.clone()),
        Outcome::Failed { why } => ("failed", why.clone()),
        Outcome::TimedOut { limit_s } => ("timed_out", format!("{TIME_LIMIT}{limit_s} s")),
    }
}

/// How the problem of a trial begins that was stopped at its time limit.
const TIME_LIMIT: &str = "time limit of ";

/// The limit in seconds in the problem of such a trial.
pub(super) fn time_limit(problem: &str) -> Option<f64> {
    let number = problem.strip_prefix(TIME_LIMIT)?.strip_suffix(" s")?;
    number.parse().ok()
}
