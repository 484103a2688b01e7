//! What the work of each variant did to files and to the page cache, arranged as a table.
//!
//! It stands apart from the tables of measured metrics because these figures come from a separate
//! pass that is not timed: there is one of each variant, so there is neither a range nor a comparison.

use std::collections::BTreeSet;

use lab::analysis::ExperimentAnalysis;
use lab::metric::METRICS;

use crate::words::{by_rank, file_kind, metric_heading};

/// What a reader must know of every such table.
pub(crate) const HOW: &str = "Counted in one further pass of each variant, which is not timed, so that counting never slows what is measured.";

/// Kinds of files in the order of columns; a metric without a kind comes first.
const KINDS: [&str; 6] = [
    "",
    "database",
    "wal",
    "journal",
    "super_journal",
    "temporary",
];

/// The counts of an experiment.
pub(crate) struct Work {
    /// The metrics that are not zero everywhere.
    pub(crate) columns: Vec<Column>,
    /// The variants that were counted, from best to worst: their index and a figure for each column.
    pub(crate) rows: Vec<(usize, Vec<Option<f64>>)>,
}

/// One counted metric.
pub(crate) struct Column {
    /// Its name, with the kind of file where it is of one.
    pub(crate) metric: String,
    /// The heading.
    pub(crate) heading: String,
}

impl Column {
    /// Whether it is of all kinds of files together.
    fn is_total(&self) -> bool {
        !self.metric.contains('.')
    }
}

impl Work {
    /// The table with a column for each kind of file; none where nothing was counted.
    pub(crate) fn of(experiment: &ExperimentAnalysis) -> Option<Work> {
        Work::with_columns(experiment, columns(experiment))
    }

    /// The table without kinds of files.
    pub(crate) fn totals(experiment: &ExperimentAnalysis) -> Option<Work> {
        let totals = columns(experiment).into_iter().filter(Column::is_total);
        Work::with_columns(experiment, totals.collect())
    }

    fn with_columns(experiment: &ExperimentAnalysis, columns: Vec<Column>) -> Option<Work> {
        let counted = by_rank(experiment)
            .into_iter()
            .filter(|variant| !experiment.variants[*variant].counts.is_empty());
        let rows: Vec<_> = counted
            .map(|variant| {
                let counts = &experiment.variants[variant].counts;
                // A kind of file of which there was none is not reported.
                let figures = columns.iter().map(|column| {
                    let none = (!column.is_total()).then_some(0.0);
                    counts.get(&column.metric).copied().or(none)
                });
                (variant, figures.collect())
            })
            .collect();
        (!rows.is_empty() && !columns.is_empty()).then_some(Work { columns, rows })
    }
}

/// The columns that say something: not zero everywhere, and not the same as the total.
fn columns(experiment: &ExperimentAnalysis) -> Vec<Column> {
    let names: BTreeSet<&String> = experiment
        .variants
        .iter()
        .flat_map(|variant| &variant.counts)
        .filter(|(_, value)| **value != 0.0)
        .map(|(name, _)| name)
        .collect();
    let mut names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    names.sort_by_key(|name| place(name));
    let told = names
        .iter()
        .filter(|name| total(name).is_none_or(|total| !same(experiment, name, total)));
    told.map(|name| Column {
        metric: (*name).to_owned(),
        heading: match only_kind(experiment, name, &names) {
            Some(kind) => format!("{}, {} only", metric_heading(name), file_kind(kind)),
            None => metric_heading(name),
        },
    })
    .collect()
}

/// The metric of all kinds of files to which one of a single kind belongs.
fn total(name: &str) -> Option<&str> {
    name.split_once('.').map(|(total, _)| total)
}

/// The kind of file that makes up the whole of a total.
fn only_kind<'a>(experiment: &ExperimentAnalysis, name: &str, all: &[&'a str]) -> Option<&'a str> {
    let of_name = |other: &&&str| total(other) == Some(name) && same(experiment, other, name);
    all.iter()
        .find(of_name)
        .and_then(|of_kind| Some(of_kind.split_once('.')?.1))
}

/// Whether two metrics are equal in every variant; one that is missing counts nothing.
fn same(experiment: &ExperimentAnalysis, one: &str, other: &str) -> bool {
    let figure = |variant: &lab::analysis::VariantAnalysis, name: &str| {
        variant.counts.get(name).copied().unwrap_or_default()
    };
    experiment
        .variants
        .iter()
        .all(|variant| figure(variant, one) == figure(variant, other))
}

/// The order of columns: that of the catalogue, then that of the kinds.
fn place(name: &str) -> (usize, usize) {
    let (metric, kind) = name.split_once('.').unwrap_or((name, ""));
    let place = METRICS.iter().position(|known| known.name == metric);
    let kind = KINDS.iter().position(|known| *known == kind);
    (place.unwrap_or(METRICS.len()), kind.unwrap_or(KINDS.len()))
}
