//! The secondary metrics that an experiment names.
//!
//! They stand apart from the evidence because they belong to the answer: a tokenizer that is fast and finds
//! less, or a queue that is fast and late, is chosen by several figures, not by one.

use lab::analysis::ExperimentAnalysis;
use lab::measures::Measures;
use lab::metric;

use super::bindings::compared;
use super::statements;
use super::subject::Subject;
use crate::document::{Block, Cell, Column, Row, Sentence, Table, joined, led};
use crate::figures;
use crate::words::{by_rank, metric_heading};

/// The table, and which of the metrics no variant has.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let experiment = subject.experiment;
    let named = &subject.planned.experiment.secondary_metrics;
    // The statements have these times; a transaction of a replay may have several of them.
    let is_of_statements = |metric: &str| {
        let is_time = ["p50_us", "p99_us"].contains(&metric);
        let is_each = experiment.measures() != Measures::Replay;
        is_time
            && is_each
            && experiment.is_measured_by_command()
            && statements::are_transactions(subject)
    };
    let named = named.iter().filter(|metric| !is_in_bindings(experiment, metric));
    let named = named.filter(|metric| !is_of_statements(metric));
    let (measured, missing): (Vec<String>, Vec<String>) =
        named.cloned().partition(|metric| is_measured(experiment, metric));
    let has_table = !measured.is_empty();
    let metrics: Vec<String> = led(experiment.metric.clone(), measured).collect();
    let table = has_table.then(|| Block::table(medians(subject, &metrics, "Secondary metrics")));
    let missing = missing.into_iter().map(explained);
    // Without any trial there is nothing to be missed.
    let missing = joined(missing.filter(|_| is_measured(experiment, &experiment.metric)), ", ");
    let missing = (!missing.is_empty()).then(|| {
        Block::small(missing.words(": no trial has this metric").and(longer(subject)).words("."))
    });
    let heading = Block::Heading("Secondary metrics, medians".to_owned());
    let blocks: Vec<Block> = table.into_iter().chain(missing).collect();
    if blocks.is_empty() { blocks } else { led(heading, blocks).collect() }
}

/// How trials have more operations, where an option does it.
fn longer(subject: &Subject<'_>) -> Sentence {
    if !subject.experiment.is_measured_by_command() {
        return Sentence::default();
    }
    if subject.experiment.measures() == Measures::Replay {
        // Each trial executes what was recorded, once.
        Sentence::from("; the replay of a longer recording may")
    } else {
        Sentence::from("; longer trials may: ").and_code("--seconds 5s")
    }
}

/// The name of a metric with its meaning, which says from how much work on it exists.
fn explained(name: String) -> Sentence {
    let about = metric::find(&name).map(|metric| format!(" ({})", metric.about));
    Sentence::code(name).words(about.unwrap_or_default())
}

fn is_measured(experiment: &ExperimentAnalysis, metric: &str) -> bool {
    experiment.variants.iter().any(|variant| {
        variant.summaries.contains_key(metric) || variant.counts.contains_key(metric)
    })
}

/// Whether the costs of bindings say the same.
fn is_in_bindings(experiment: &ExperimentAnalysis, metric: &str) -> bool {
    let parts = compared(experiment).map(|bindings| &bindings.parts);
    let part = metric.strip_prefix("ns_per_row.");
    parts.zip(part).is_some_and(|(parts, part)| parts.iter().any(|known| known == part))
}

/// Medians: a line for each measured variant, a column for each metric.
pub(super) fn medians(subject: &Subject<'_>, metrics: &[String], label: &str) -> Table {
    let variants = &subject.experiment.variants;
    let cell = |variant: usize, metric: &String| {
        let variant = &variants[variant];
        let median = variant.summaries.get(metric).map(|summary| summary.median);
        // Counted in one trial of the variant.
        let figure = median.or_else(|| variant.counts.get(metric).copied());
        Cell::figure(figure, |value| figures::figure(value, metric))
    };
    let measured = by_rank(subject.experiment).into_iter();
    let rows = measured.filter(|variant| !variants[*variant].unmeasured()).map(|variant| {
        let cells = metrics.iter().map(|metric| cell(variant, metric));
        Row::led(subject.names.cell(variant), cells)
    });
    Table::new(label, headed("variant", metrics), rows).sortable().dense()
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
