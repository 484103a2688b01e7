//! One row a trial, written as the trials come.

use std::io::Write;

use lab::design::Role;
use lab::metric::METRICS;
use lab::record::TrialRecord;
use lab::trial::Outcome;

use super::number;
use crate::{Error, Result};

/// Columns before those of the metrics.
const HEAD: &str = "experiment,round,block,position,variant,role,started,wall_s,outcome,problem";

/// Writes trials as CSV: a fixed header, one column for each metric of [`METRICS`], and a last
/// column `more` with every other figure as `name=value;name=value` (metrics of one phase, such as
/// `seconds.index`).
pub struct TrialsCsv<W: Write> {
    writer: csv::Writer<W>,
    headed: bool,
}

impl<W: Write> TrialsCsv<W> {
    /// An export to this writer. The header is written with the first trial, or at the end.
    pub fn new(writer: W) -> TrialsCsv<W> {
        TrialsCsv {
            writer: csv::Writer::from_writer(writer),
            headed: false,
        }
    }

    /// Writes one trial.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write(&mut self, record: &TrialRecord) -> Result<()> {
        self.head()?;
        let (outcome, problem) = ended(&record.outcome);
        let places = [record.round, record.block, record.position].map(|place| place.to_string());
        let [round, block, position] = &places;
        let wall = record.wall_s.to_string();
        let head: [&str; 10] = [
            &record.experiment,
            round,
            block,
            position,
            &record.variant,
            role(record.role),
            &record.started,
            &wall,
            outcome,
            &problem,
        ];
        head.iter().try_for_each(|cell| self.cell(cell))?;
        self.figures(&record.outcome)?;
        self.writer
            .write_record(None::<&[u8]>)
            .map_err(Error::csv("trials"))
    }

    /// Writes what is still held back and gives the writer back. An export without trials has its
    /// header all the same.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn finish(mut self) -> Result<W> {
        self.head()?;
        let failed = Error::csv("trials");
        self.writer
            .into_inner()
            .map_err(|error| failed(error.into_error().into()))
    }

    fn head(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.headed, true) {
            return Ok(());
        }
        let metrics = METRICS.iter().map(|metric| metric.name);
        let names = HEAD.split(',').chain(metrics).chain(["more"]);
        self.writer
            .write_record(names)
            .map_err(Error::csv("trials"))
    }

    fn figures(&mut self, outcome: &Outcome) -> Result<()> {
        let figures = match outcome {
            Outcome::Measured(measured) => Some(&measured.metrics),
            _ => None,
        };
        for metric in METRICS {
            let value = figures.and_then(|figures| figures.get(metric.name));
            self.cell(&number(value.copied()))?;
        }
        let known = |name: &str| METRICS.iter().any(|metric| metric.name == name);
        let more: Vec<String> = figures
            .into_iter()
            .flatten()
            .filter(|(name, _)| !known(name))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        self.cell(&more.join(";"))
    }

    fn cell(&mut self, text: &str) -> Result<()> {
        self.writer.write_field(text).map_err(Error::csv("trials"))
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Baseline => "baseline",
        Role::AaCheck => "aa_check",
        Role::Variant => "variant",
        Role::UpperBound => "upper_bound",
        Role::Counting => "counting",
    }
}

/// The outcome as the record names it, and why there is no measurement.
fn ended(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Measured(_) => ("measured", String::new()),
        Outcome::Skipped { why } => ("skipped", why.clone()),
        Outcome::Failed { why } => ("failed", why.clone()),
        Outcome::TimedOut { limit_s } => ("timed_out", format!("time limit of {limit_s} s")),
    }
}
