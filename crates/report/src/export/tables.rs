//! A run as tables for databases and notebooks: one row for each thing, with every digit and the texts as they are.
//!
//! Figures are in the base unit of their metric. A column has its name next to its cell. `docs/lists/tables.md` describes the
//! columns; a test compares both.

use std::sync::LazyLock;

use lab::analysis::{ExperimentAnalysis, Summary, VariantAnalysis};
use lab::claims::Judged;
use lab::comparison::RunDigest;
use lab::record::TrialRecord;
use lab::stats::Estimate;
use lab::text::word;
use lab::trial::Outcome;
use tuning::Analysis;

use super::csv_tables::ended;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Integer,
    /// A number.
    Real,
    /// A text.
    Text,
    /// Yes or no.
    Boolean,
}

/// A value in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// There is none.
    None,
    /// A whole number; of yes or no, 1 or 0.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableForm {
    /// Its name.
    pub name: &'static str,
    /// The names and kinds of its columns.
    pub columns: Vec<(&'static str, Kind)>,
}

/// A row of the table with this index among [`TABLES`].
pub type TableRow = (usize, Vec<Datum>);

pub(super) const RUN: usize = 0;
pub(super) const ENVIRONMENT: usize = 1;
pub(super) const EXPERIMENT: usize = 2;
pub(super) const TRIAL: usize = 3;
pub(super) const FIGURE: usize = 4;
const ESTIMATE: usize = 5;
const CLAIM: usize = 6;

use Kind::{Boolean, Integer, Real, Text};

/// A column of a table with rows `R`, besides the run: its name, its kind, and the cell of a row.
type Column<R> = (&'static str, Kind, fn(&R) -> Datum);

/// All tables.
pub static TABLES: LazyLock<[TableForm; 7]> = LazyLock::new(|| {
    [
        form("run", &run_columns()),
        form("environment", &environment_columns()),
        form("experiment", &experiment_columns()),
        form("trial", &trial_columns()),
        form("figure", &figure_columns()),
        form("estimate", &estimate_columns()),
        form("claim", &claim_columns()),
    ]
});

fn form<R>(name: &'static str, columns: &[Column<R>]) -> TableForm {
    let columns = columns.iter().map(|(name, kind, _)| (*name, *kind));
    TableForm { name, columns: [("run", Text)].into_iter().chain(columns).collect() }
}

fn row<R>(table: usize, run: &str, columns: &[Column<R>], row: &R) -> TableRow {
    let cells = columns.iter().map(|(_, _, cell)| cell(row));
    (table, [run.into()].into_iter().chain(cells).collect())
}

fn run_columns() -> [Column<Analysis>; 6] {
    [
        ("created", Text, |run| run.plan.created.as_str().into()),
        ("pragmark", Text, |run| run.plan.pragmark.as_str().into()),
        ("scale", Text, |run| run.plan.scale.to_string().as_str().into()),
        ("seed", Text, |run| run.plan.seed.0.to_string().as_str().into()),
        ("engine", Text, |run| run.plan.engine.as_str().into()),
        ("complete", Boolean, |run| run.is_complete().into()),
    ]
}

/// The columns of facts with their names.
fn environment_columns() -> [Column<(String, String)>; 2] {
    [
        ("name", Text, |(name, _)| name.as_str().into()),
        ("value", Text, |(_, value)| value.as_str().into()),
    ]
}

fn experiment_columns() -> [Column<ExperimentAnalysis>; 8] {
    [
        ("experiment", Text, |of| of.key.as_str().into()),
        ("question", Text, |of| of.question.as_str().into()),
        ("workload", Text, |of| of.workload.as_str().into()),
        ("directory", Text, |of| of.directory.to_string_lossy().as_ref().into()),
        ("metric", Text, |of| of.metric.as_str().into()),
        ("rounds", Integer, |of| integer(of.rounds)),
        ("dropped_blocks", Integer, |of| integer(of.dropped_blocks)),
        ("preliminary", Boolean, |of| of.preliminary.into()),
    ]
}

/// A trial with its number.
type Trial<'a> = (u64, &'a TrialRecord);

fn trial_columns<'a>() -> [Column<Trial<'a>>; 13] {
    [
        ("trial", Integer, |(number, _)| integer(*number)),
        ("experiment", Text, |(_, trial)| trial.experiment.as_str().into()),
        ("purpose", Text, |(_, trial)| word(trial.purpose).as_str().into()),
        ("round", Integer, |(_, trial)| integer(trial.round)),
        ("block", Integer, |(_, trial)| integer(trial.block)),
        ("position", Integer, |(_, trial)| integer(trial.position)),
        ("variant", Text, |(_, trial)| trial.variant.as_str().into()),
        ("role", Text, |(_, trial)| word(trial.role).as_str().into()),
        ("started", Text, |(_, trial)| trial.started.as_str().into()),
        ("wall_s", Real, |(_, trial)| trial.wall_s.into()),
        ("disturbed", Boolean, |(_, trial)| trial.covariates.disturbance().is_some().into()),
        ("outcome", Text, |(_, trial)| ended(&trial.outcome).0.into()),
        ("problem", Text, |(_, trial)| optional(&ended(&trial.outcome).1)),
    ]
}

/// The number of a trial, a metric, and its figure.
type Figure<'a> = (u64, &'a str, f64);

fn figure_columns<'a>() -> [Column<Figure<'a>>; 3] {
    [
        ("trial", Integer, |(number, ..)| integer(*number)),
        ("metric", Text, |(_, metric, _)| (*metric).into()),
        ("value", Real, |(.., value)| (*value).into()),
    ]
}

/// The figures of a variant in one metric. Only the experiment's own metric has a ratio to the baseline.
struct OfVariant<'a> {
    experiment: &'a ExperimentAnalysis,
    variant: &'a VariantAnalysis,
    metric: &'a str,
    summary: &'a Summary,
}

impl OfVariant<'_> {
    fn is_own(&self) -> bool {
        self.metric == self.experiment.metric
    }

    fn estimate(&self) -> Option<&Estimate> {
        self.variant.estimate().filter(|_| self.is_own())
    }
}

fn estimate_columns<'a>() -> [Column<OfVariant<'a>>; 16] {
    [
        ("experiment", Text, |of| of.experiment.key.as_str().into()),
        ("variant", Text, |of| of.variant.label.as_str().into()),
        ("metric", Text, |of| of.metric.into()),
        ("baseline", Boolean, |of| of.variant.baseline.into()),
        ("median", Real, |of| of.summary.median.into()),
        ("min", Real, |of| of.summary.range.low.into()),
        ("max", Real, |of| of.summary.range.high.into()),
        ("sd", Real, |of| of.summary.sd.into()),
        ("trials", Integer, |of| integer(of.summary.n)),
        ("ratio", Real, |of| of.estimate().map(|estimate| estimate.centre).into()),
        ("low", Real, |of| finite(of.estimate().map(|estimate| estimate.interval.low))),
        ("high", Real, |of| finite(of.estimate().map(|estimate| estimate.interval.high))),
        ("level", Real, |of| of.estimate().map(|estimate| estimate.level).into()),
        ("detectable", Real, |of| of.estimate().map(|estimate| estimate.detectable).into()),
        ("preliminary", Boolean, |of| of.estimate().map(|estimate| estimate.preliminary).into()),
        ("groups", Text, |of| optional(if of.is_own() { &of.variant.groups } else { "" })),
    ]
}

/// An experiment, and a claim of it.
type Claim<'a> = (&'a ExperimentAnalysis, &'a Judged);

fn claim_columns<'a>() -> [Column<Claim<'a>>; 11] {
    [
        ("experiment", Text, |(experiment, _)| experiment.key.as_str().into()),
        ("claim", Text, |(_, judged)| judged.claim.id.as_str().into()),
        ("says", Text, |(_, judged)| judged.claim.says.as_str().into()),
        ("verdict", Text, |(_, judged)| judged.verdict.to_string().as_str().into()),
        ("figure", Real, |(_, judged)| judged.figure.into()),
        ("low", Real, |(_, judged)| finite(judged.interval.map(|interval| interval.low))),
        ("high", Real, |(_, judged)| finite(judged.interval.map(|interval| interval.high))),
        ("bound_low", Real, |(_, judged)| judged.bounds.low.into()),
        ("bound_high", Real, |(_, judged)| judged.bounds.high.into()),
        ("published", Real, |(_, judged)| judged.claim.published.into()),
        ("why", Text, |(_, judged)| optional(judged.why.as_deref().unwrap_or_default())),
    ]
}

impl From<&str> for Datum {
    fn from(text: &str) -> Datum {
        Datum::Text(text.to_owned())
    }
}

impl From<bool> for Datum {
    fn from(value: bool) -> Datum {
        Datum::Integer(value.into())
    }
}

impl From<f64> for Datum {
    fn from(value: f64) -> Datum {
        Datum::Real(value)
    }
}

impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(value: Option<T>) -> Datum {
        value.map_or(Datum::None, Into::into)
    }
}

fn integer(value: impl TryInto<i64>) -> Datum {
    value.try_into().map_or(Datum::None, Datum::Integer)
}

fn optional(text: &str) -> Datum {
    Some(text).filter(|text| !text.is_empty()).into()
}

/// Returns the end of an interval; none if it is not bounded.
fn finite(end: Option<f64>) -> Datum {
    end.filter(|end| end.is_finite()).into()
}

/// Returns the rows of a trial, the `number`th of its run, from 0.
pub fn trial_rows(run: &str, number: u64, record: &TrialRecord) -> Vec<TableRow> {
    let mut rows = vec![row(TRIAL, run, &trial_columns(), &(number, record))];
    if let Outcome::Measured(measured) = &record.outcome {
        let figures = measured.metrics.iter();
        rows.extend(figures.map(|(metric, value)| {
            row(FIGURE, run, &figure_columns(), &(number, metric.as_str(), *value))
        }));
    }
    rows
}

/// Returns the rows of a run without its trials.
pub fn run_rows(analysis: &Analysis) -> Vec<TableRow> {
    let run = analysis.plan.id.as_str();
    let mut rows = vec![row(RUN, run, &run_columns(), analysis)];
    let facts = RunDigest::from(analysis.clone()).facts().into_iter();
    rows.extend(facts.map(|fact| row(ENVIRONMENT, run, &environment_columns(), &fact)));
    for experiment in &analysis.experiments {
        rows.push(row(EXPERIMENT, run, &experiment_columns(), experiment));
        for variant in &experiment.variants {
            rows.extend(variant.summaries.iter().map(|(metric, summary)| {
                let of_variant = OfVariant { experiment, variant, metric, summary };
                row(ESTIMATE, run, &estimate_columns(), &of_variant)
            }));
        }
        let claims = experiment.claims.iter();
        rows.extend(claims.map(|judged| row(CLAIM, run, &claim_columns(), &(experiment, judged))));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_every_column_of_every_table() {
        let text = include_str!("../../../../docs/lists/tables.md");
        for table in &*TABLES {
            let heading = format!("| **{}** |", table.name);
            let start = text.find(&heading).unwrap_or_else(|| panic!("{heading}"));
            let rest = &text[start + heading.len()..];
            let ends = [rest.find("| **"), rest.find("\n\n")];
            let end = ends.into_iter().flatten().min().unwrap_or(rest.len());
            let documented = rest[..end].lines().filter_map(|line| {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                cells.get(2).map(|cell| cell.trim_matches('`').to_owned())
            });
            let documented: Vec<String> =
                documented.filter(|documented| !documented.is_empty()).collect();
            let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
            assert_eq!(documented[documented.len() - names.len()..], names);
        }
    }
}
