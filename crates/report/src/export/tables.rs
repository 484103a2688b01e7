//! A run as tables for databases and notebooks: one row for each thing, with every digit and the texts as they are.
//!
//! Figures are in the base unit of their metric. A column has its name next to its cell. `docs/lists/tables.md` describes the
//! columns; a test compares both.

use std::sync::LazyLock;

use lab::analysis::ExperimentAnalysis;
use lab::comparison::RunDigest;
use lab::record::TrialRecord;
use lab::trial::Outcome;
use tuning::Analysis;

use super::columns::Kind::{Boolean, Integer, Real, Text};
use super::columns::{
    Column, Datum, Kind, TrialRow, VariantRow, claim_columns, integer, stored, trial_columns,
    variant_columns,
};

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

/// All tables.
pub static TABLES: LazyLock<[TableForm; 7]> = LazyLock::new(|| {
    [
        form("run", &run_columns()),
        form("environment", &environment_columns()),
        form("experiment", &experiment_columns()),
        form("trial", &trial_columns()),
        form("figure", &figure_columns()),
        form("estimate", &variant_columns()),
        form("claim", &claim_columns()),
    ]
});

fn form<R>(name: &'static str, columns: &[Column<R>]) -> TableForm {
    let columns = columns.iter().filter_map(|column| Some((column.name, column.kind?)));
    TableForm { name, columns: [("run", Text)].into_iter().chain(columns).collect() }
}

fn row<R>(table: usize, run: &str, columns: &[Column<R>], row: &R) -> TableRow {
    let stored = columns.iter().filter(|column| column.kind.is_some());
    let cells = stored.map(|column| (column.datum)(row));
    (table, [run.into()].into_iter().chain(cells).collect())
}

fn run_columns() -> [Column<Analysis>; 6] {
    [
        stored("created", Text, |run| run.plan.created.as_str().into()),
        stored("pragmark", Text, |run| run.plan.pragmark.as_str().into()),
        stored("scale", Text, |run| run.plan.scale.to_string().as_str().into()),
        stored("seed", Text, |run| run.plan.seed.0.to_string().as_str().into()),
        stored("engine", Text, |run| run.plan.engine.as_str().into()),
        stored("complete", Boolean, |run| run.is_complete().into()),
    ]
}

/// The columns of facts with their names.
fn environment_columns() -> [Column<(String, String)>; 2] {
    [
        stored("name", Text, |(name, _)| name.as_str().into()),
        stored("value", Text, |(_, value)| value.as_str().into()),
    ]
}

fn experiment_columns() -> [Column<ExperimentAnalysis>; 8] {
    [
        stored("experiment", Text, |of| of.key.as_str().into()),
        stored("question", Text, |of| of.question.as_str().into()),
        stored("workload", Text, |of| of.workload.as_str().into()),
        stored("directory", Text, |of| of.directory.to_string_lossy().as_ref().into()),
        stored("metric", Text, |of| of.metric.as_str().into()),
        stored("rounds", Integer, |of| integer(of.rounds)),
        stored("dropped_blocks", Integer, |of| integer(of.dropped_blocks)),
        stored("preliminary", Boolean, |of| of.preliminary.into()),
    ]
}

/// The number of a trial, a metric, and its figure.
type Figure<'a> = (u64, &'a str, f64);

fn figure_columns<'a>() -> [Column<Figure<'a>>; 3] {
    [
        stored("trial", Integer, |(number, ..)| integer(*number)),
        stored("metric", Text, |(_, metric, _)| (*metric).into()),
        stored("value", Real, |(.., value)| (*value).into()),
    ]
}

/// Returns the rows of a trial, the `number`th of its run, from 0.
pub fn trial_rows(run: &str, number: u64, record: &TrialRecord) -> Vec<TableRow> {
    let mut rows =
        vec![row(TRIAL, run, &trial_columns(), &TrialRow { record, number, metric: "" })];
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
            rows.extend(variant.summaries.keys().map(|metric| {
                let of_variant = VariantRow::of_variant(experiment, variant, metric);
                row(ESTIMATE, run, &variant_columns(), &of_variant)
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
