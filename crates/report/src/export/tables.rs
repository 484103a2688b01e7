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

/// A column of a table with rows `R`: its name, its kind, and the cell of a row.
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
    TableForm { name, columns: columns.iter().map(|(name, kind, _)| (*name, *kind)).collect() }
}

fn row<R>(table: usize, columns: &[Column<R>], row: &R) -> TableRow {
    (table, columns.iter().map(|(_, _, cell)| cell(row)).collect())
}

fn run_columns() -> [Column<Analysis>; 7] {
    [
        ("run", Text, |run| run.plan.id.as_str().into()),
        ("created", Text, |run| run.plan.created.as_str().into()),
        ("pragmark", Text, |run| run.plan.pragmark.as_str().into()),
        ("scale", Text, |run| run.plan.scale.to_string().as_str().into()),
        ("seed", Text, |run| run.plan.seed.0.to_string().as_str().into()),
        ("engine", Text, |run| run.plan.engine.as_str().into()),
        ("complete", Boolean, |run| run.is_complete().into()),
    ]
}

/// The run, and a fact with its name.
type Fact<'a> = (&'a str, (String, String));

fn environment_columns<'a>() -> [Column<Fact<'a>>; 3] {
    [
        ("run", Text, |(run, _)| (*run).into()),
        ("name", Text, |(_, (name, _))| name.as_str().into()),
        ("value", Text, |(_, (_, value))| value.as_str().into()),
    ]
}

/// The run, and one of its experiments.
type Experiment<'a> = (&'a str, &'a ExperimentAnalysis);

fn experiment_columns<'a>() -> [Column<Experiment<'a>>; 9] {
    [
        ("run", Text, |(run, _)| (*run).into()),
        ("experiment", Text, |(_, of)| of.key.as_str().into()),
        ("question", Text, |(_, of)| of.question.as_str().into()),
        ("workload", Text, |(_, of)| of.workload.as_str().into()),
        ("directory", Text, |(_, of)| of.directory.to_string_lossy().as_ref().into()),
        ("metric", Text, |(_, of)| of.metric.as_str().into()),
        ("rounds", Integer, |(_, of)| integer(of.rounds)),
        ("dropped_blocks", Integer, |(_, of)| integer(of.dropped_blocks)),
        ("preliminary", Boolean, |(_, of)| of.preliminary.into()),
    ]
}

/// The run, the number of one of its trials, and the trial.
type Trial<'a> = (&'a str, u64, &'a TrialRecord);

fn trial_columns<'a>() -> [Column<Trial<'a>>; 14] {
    [
        ("run", Text, |(run, ..)| (*run).into()),
        ("trial", Integer, |(_, number, _)| integer(*number)),
        ("experiment", Text, |(.., trial)| trial.experiment.as_str().into()),
        ("purpose", Text, |(.., trial)| word(trial.purpose).as_str().into()),
        ("round", Integer, |(.., trial)| integer(trial.round)),
        ("block", Integer, |(.., trial)| integer(trial.block)),
        ("position", Integer, |(.., trial)| integer(trial.position)),
        ("variant", Text, |(.., trial)| trial.variant.as_str().into()),
        ("role", Text, |(.., trial)| word(trial.role).as_str().into()),
        ("started", Text, |(.., trial)| trial.started.as_str().into()),
        ("wall_s", Real, |(.., trial)| trial.wall_s.into()),
        ("disturbed", Boolean, |(.., trial)| trial.covariates.disturbance().is_some().into()),
        ("outcome", Text, |(.., trial)| ended(&trial.outcome).0.into()),
        ("problem", Text, |(.., trial)| optional(&ended(&trial.outcome).1)),
    ]
}

/// The run, the number of a trial, a metric, and its figure.
type Figure<'a> = (&'a str, u64, &'a str, f64);

fn figure_columns<'a>() -> [Column<Figure<'a>>; 4] {
    [
        ("run", Text, |(run, ..)| (*run).into()),
        ("trial", Integer, |(_, number, ..)| integer(*number)),
        ("metric", Text, |(_, _, metric, _)| (*metric).into()),
        ("value", Real, |(.., value)| (*value).into()),
    ]
}

/// The figures of a variant in one metric. Only the experiment's own metric has a ratio to the baseline.
struct OfVariant<'a> {
    run: &'a str,
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
        let effect = self.variant.effect.as_ref().filter(|_| self.is_own());
        effect.map(|effect| &effect.estimate)
    }
}

fn estimate_columns<'a>() -> [Column<OfVariant<'a>>; 17] {
    [
        ("run", Text, |of| of.run.into()),
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

/// The run, one of its experiments, and a claim of it.
type Claim<'a> = (&'a str, &'a ExperimentAnalysis, &'a Judged);

fn claim_columns<'a>() -> [Column<Claim<'a>>; 12] {
    [
        ("run", Text, |(run, ..)| (*run).into()),
        ("experiment", Text, |(_, experiment, _)| experiment.key.as_str().into()),
        ("claim", Text, |(.., judged)| judged.claim.id.as_str().into()),
        ("says", Text, |(.., judged)| judged.claim.says.as_str().into()),
        ("verdict", Text, |(.., judged)| judged.verdict.to_string().as_str().into()),
        ("figure", Real, |(.., judged)| judged.figure.into()),
        ("low", Real, |(.., judged)| finite(judged.interval.map(|interval| interval.low))),
        ("high", Real, |(.., judged)| finite(judged.interval.map(|interval| interval.high))),
        ("bound_low", Real, |(.., judged)| judged.bounds.low.into()),
        ("bound_high", Real, |(.., judged)| judged.bounds.high.into()),
        ("published", Real, |(.., judged)| judged.claim.published.into()),
        ("why", Text, |(.., judged)| optional(judged.why.as_deref().unwrap_or_default())),
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
    let mut rows = vec![row(TRIAL, &trial_columns(), &(run, number, record))];
    if let Outcome::Measured(measured) = &record.outcome {
        let figures = measured.metrics.iter();
        rows.extend(figures.map(|(metric, value)| {
            row(FIGURE, &figure_columns(), &(run, number, metric.as_str(), *value))
        }));
    }
    rows
}

/// Returns the rows of a run without its trials.
pub fn run_rows(analysis: &Analysis) -> Vec<TableRow> {
    let run = analysis.plan.id.as_str();
    let mut rows = vec![row(RUN, &run_columns(), analysis)];
    let facts = RunDigest::from(analysis.clone()).facts().into_iter();
    rows.extend(facts.map(|fact| row(ENVIRONMENT, &environment_columns(), &(run, fact))));
    for experiment in &analysis.experiments {
        rows.push(row(EXPERIMENT, &experiment_columns(), &(run, experiment)));
        for variant in &experiment.variants {
            rows.extend(variant.summaries.iter().map(|(metric, summary)| {
                let of_variant = OfVariant { run, experiment, variant, metric, summary };
                row(ESTIMATE, &estimate_columns(), &of_variant)
            }));
        }
        let claims = experiment.claims.iter();
        rows.extend(claims.map(|judged| row(CLAIM, &claim_columns(), &(run, experiment, judged))));
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
