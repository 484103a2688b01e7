//! The secondary metrics that an experiment names.
//!
//! They stand apart from the evidence because they belong to the answer: a tokenizer that is fast and finds
//! less, or a queue that is fast and late, is chosen by several figures, not by one.

use super::Subject;
use super::bindings::compared;
use crate::document::{Block, Cell, Column, Row, Table, led};
use crate::figures;
use crate::words::{by_rank, metric_heading};

/// The table; none where the costs of bindings say the same.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let experiment = subject.experiment;
    let named = &subject.planned.experiment.secondary_metrics;
    let is_measured = |metric: &&String| {
        let mut variants = experiment.variants.iter();
        variants.any(|variant| variant.summaries.contains_key(*metric))
    };
    let metrics: Vec<String> = named.iter().filter(is_measured).cloned().collect();
    if metrics.is_empty() || compared(experiment).is_some() {
        return Vec::new();
    }
    let metrics: Vec<String> = [experiment.metric.clone()]
        .into_iter()
        .chain(metrics)
        .collect();
    vec![
        Block::Heading("Secondary metrics, medians".to_owned()),
        Block::table(medians(subject, &metrics, "Secondary metrics")),
    ]
}

/// Medians: a line for each measured variant, a column for each metric.
pub(super) fn medians(subject: &Subject<'_>, metrics: &[String], label: &str) -> Table {
    let variants = &subject.experiment.variants;
    let cell = |variant: usize, metric: &String| {
        let median = variants[variant].summaries.get(metric).map(|it| it.median);
        Cell::figure(median, |value| figures::figure(value, metric))
    };
    let measured = by_rank(subject.experiment).into_iter();
    let measured = measured.filter(|variant| !variants[*variant].unmeasured());
    let rows = measured.map(|variant| {
        let cells = metrics.iter().map(|metric| cell(variant, metric));
        Row::led(subject.names.cell(variant), cells)
    });
    Table {
        sortable: true,
        dense: true,
        ..Table::new(label, headed("variant", metrics), rows)
    }
}

/// A first column, and one for each metric.
pub(super) fn headed(first: &str, metrics: &[String]) -> Vec<Column> {
    let column = |metric: &String| Column {
        about: Some(metric.clone()),
        ..Column::right(metric_heading(metric))
    };
    let metrics = metrics.iter().map(column);
    led(Column::left(first), metrics).collect()
}
