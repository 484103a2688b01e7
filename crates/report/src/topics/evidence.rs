//! Evidence behind the figures: other metrics, the effects of the work on files and the page cache, and
//! data without a figure (bytecode, query plans, a kill's findings).
//!
//! The secondary metrics that an experiment names.
//!
//! They stand apart from the evidence because they belong to the answer: a tokenizer that is fast and finds
//! less, or a queue that is fast and late, is chosen by several figures, not by one.

use std::collections::{BTreeMap, BTreeSet};

use lab::analysis::{ExperimentAnalysis, VariantAnalysis};
use lab::measures::Measures;
use lab::metric::{self, METRICS};
use lab::trial::DataTable;

use super::bindings::compared;
use super::statements;
use super::subject::Subject;
use crate::document::{Abridge, Block, Cell, Column, Row, Sentence, Table, blocks, joined, led};
use crate::figures;
use crate::names::listed;
use crate::words::{by_rank, file_kind, grouped, metric_cell, metric_column, metric_heading};

/// Parts of a metric from which on they have a table of their own: more columns cannot be read.
const CLASSES_FROM: usize = 6;

/// Explanation of counts.
const HOW: &str = "Counted in one more pass of each variant, which is not timed: counting never slows a measurement.";

/// Kinds of files in the order of columns; a metric without a kind comes first.
const KINDS: [&str; 6] = ["", "database", "wal", "journal", "super_journal", "temporary"];

/// Tables, folded away; where they are the answer, as they are.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let classes = classes(subject.experiment);
    let measures = subject.experiment.measures();
    // The counts of two connections and the tables are the answer.
    if measures == Measures::Kills {
        return data(subject);
    }
    if measures == Measures::Schedules {
        let metrics: Vec<String> = every_metric(subject.experiment).into_iter().cloned().collect();
        let table = Block::table(medians(subject, &metrics, "What happened"));
        return blocks![Block::heading("What happened"), table, data(subject)];
    }
    let by_class = classes.iter().map(|(base, parts)| class_table(subject, base, parts));
    let metrics = other_metrics(subject, &classes);
    vec![Block::full(blocks![metrics, by_class, work(subject), data(subject)])]
}

fn every_metric(experiment: &ExperimentAnalysis) -> BTreeSet<&String> {
    experiment.variants.iter().flat_map(|variant| variant.summaries.keys()).collect()
}

/// The name of a metric without its part.
fn base(name: &str) -> &str {
    name.split_once('.').map_or(name, |(base, _)| base)
}

/// The metrics of many parts, such as classes of queries, with their parts.
fn classes(experiment: &ExperimentAnalysis) -> BTreeMap<&str, Vec<&String>> {
    let mut classes: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for name in every_metric(experiment) {
        if name.contains('.') {
            classes.entry(base(name)).or_default().push(name);
        }
    }
    classes.retain(|_, parts| parts.len() >= CLASSES_FROM);
    classes
}

/// Returns every metric except the experiment's own and metrics of many parts.
fn other_metrics(subject: &Subject<'_>, classes: &BTreeMap<&str, Vec<&String>>) -> Option<Block> {
    let others = every_metric(subject.experiment).into_iter().filter(|name| {
        **name != subject.experiment.metric
            && !(name.contains('.') && classes.contains_key(base(name)))
    });
    let others: Vec<String> = others.cloned().collect();
    (!others.is_empty()).then(|| {
        let table = medians(subject, &others, "Other metrics");
        Block::fold("Other metrics, medians", vec![Block::table(table)])
    })
}

/// The medians of a metric of many parts: a line for each part, a column for each variant.
fn class_table(subject: &Subject<'_>, base: &str, parts: &[&String]) -> Block {
    let variants = &subject.experiment.variants;
    let measured = subject.measured();
    let columns = measured.iter().map(|variant| Column::right(subject.names.sentence(*variant)));
    let row = |metric: &&String| {
        let part = metric.split_once('.').map_or("", |(_, part)| part);
        let cells = measured.iter();
        let cells = cells.map(|variant| metric_cell(variants[*variant].median(metric), metric));
        Row::led(Cell::new(part), cells)
    };
    let title = format!("{} by class, medians", metric_heading(base));
    let table =
        Table::new(title.clone(), led(Column::left("class"), columns), parts.iter().map(row))
            .sortable()
            .dense();
    Block::unprinted(title, vec![Block::table(table)])
}

/// Returns the counts of the work of each variant; none if nothing was counted.
fn work(subject: &Subject<'_>) -> Option<Block> {
    let experiment = subject.experiment;
    let columns = counted(experiment);
    let is_counted = |index: &usize| !experiment.variants[*index].counts.is_empty();
    let variants: Vec<usize> = by_rank(experiment).into_iter().filter(is_counted).collect();
    if columns.is_empty() || variants.is_empty() {
        return None;
    }
    let rows = variants.into_iter().map(|variant| {
        let counts = &experiment.variants[variant].counts;
        let cells = columns.iter().map(|metric| {
            // A kind of file that did not exist is not reported.
            let none = metric.contains('.').then_some(0.0);
            let count = counts.get(*metric).copied().or(none);
            Cell::figure(count, |value| figures::compact(value, metric))
        });
        Row::led(subject.names.cell(variant), cells)
    });
    let headings = columns.iter().map(|name| match only_kind(experiment, name) {
        Some(kind) => Column {
            heading: format!("{}, {} only", metric_heading(name), file_kind(kind)).into(),
            ..metric_column(name)
        },
        None => metric_column(name),
    });
    let table = Table::new("What the work did", led(Column::left("variant"), headings), rows)
        .sortable()
        .dense();
    let blocks = vec![Block::small(HOW), Block::table(table)];
    Some(Block::unprinted("Why: what the work did".to_owned(), blocks))
}

/// The counts that say something: not zero everywhere, and not the same as the total.
fn counted(experiment: &ExperimentAnalysis) -> Vec<&str> {
    let mut names: Vec<&str> = counts_above_zero(experiment).into_iter().collect();
    names.sort_by_key(|name| order(name));
    let says_more = |name: &&str| {
        let total = name.split_once('.').map(|(total, _)| total);
        total.is_none_or(|total| !are_equal(experiment, name, total))
    };
    names.into_iter().filter(says_more).collect()
}

fn counts_above_zero(experiment: &ExperimentAnalysis) -> BTreeSet<&str> {
    let counts = experiment.variants.iter().flat_map(|variant| &variant.counts);
    counts.filter(|(_, value)| **value != 0.0).map(|(name, _)| name.as_str()).collect()
}

/// The kind of file that makes up the whole of a total.
fn only_kind<'a>(experiment: &'a ExperimentAnalysis, name: &str) -> Option<&'a str> {
    let all = counts_above_zero(experiment).into_iter();
    let mut kinds = all.filter_map(|other| Some((other, other.split_once('.')?)));
    let is_whole = |(other, (total, _)): &(&str, (&str, &str))| {
        *total == name && are_equal(experiment, other, name)
    };
    kinds.find(is_whole).map(|(_, (_, kind))| kind)
}

/// Whether two metrics are equal in every variant; one that is missing counts nothing.
fn are_equal(experiment: &ExperimentAnalysis, one: &str, other: &str) -> bool {
    let count = |variant: &VariantAnalysis, name: &str| {
        variant.counts.get(name).copied().unwrap_or_default()
    };
    experiment.variants.iter().all(|variant| count(variant, one) == count(variant, other))
}

/// Returns the place of a column: by the catalogue, then by the kind.
fn order(name: &str) -> (usize, usize) {
    let (metric, kind) = name.split_once('.').unwrap_or((name, ""));
    let metric = METRICS.iter().position(|known| known.name == metric);
    let kind = KINDS.iter().position(|known| *known == kind);
    (metric.unwrap_or(METRICS.len()), kind.unwrap_or(KINDS.len()))
}

/// Tables with the variants in which they were equal, by their titles: most variants of an experiment
/// run the same statements, so a difference stands out by itself.
fn data(subject: &Subject<'_>) -> Vec<Block> {
    let tables = subject.tables().map(|own| (own.0.title.as_str(), own));
    let fold = |(title, tables): (&str, Vec<(&DataTable, usize)>)| {
        let blocks = grouped(tables).into_iter().flat_map(|(table, variants)| {
            let names = variants.iter().map(|variant| subject.names.sentence(*variant));
            let lead = listed(names.collect(), usize::MAX - 1);
            [Block::small(lead), Block::table(data_table(title, table))]
        });
        Block::unprinted(format!("Why: {title}"), blocks.collect())
    };
    grouped(tables).into_iter().map(fold).collect()
}

fn data_table(title: &str, table: &DataTable) -> Table {
    let cell = |cell: &String| Cell::new(Sentence::from(cell.as_str()));
    let columns = table.columns.iter();
    Table::new(
        title,
        columns.map(|column| Column::left(column.as_str())),
        table.rows.iter().map(|row| Row::new(row.iter().map(cell))),
    )
    .data()
    .abridged(Abridge::End)
}

/// The table, and which of the metrics no variant has.
pub(super) fn secondary(subject: &Subject<'_>) -> Vec<Block> {
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
    let heading = (table.is_some() || missing.is_some())
        .then(|| Block::heading("Secondary metrics, medians"));
    blocks![heading, table, missing]
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
        // Counted in one trial of the variant.
        let counted = || variant.counts.get(metric).copied();
        metric_cell(variant.median(metric).or_else(counted), metric)
    };
    let measured = by_rank(subject.experiment).into_iter();
    let rows = measured.filter(|variant| !variants[*variant].unmeasured()).map(|variant| {
        let cells = metrics.iter().map(|metric| cell(variant, metric));
        Row::led(subject.names.cell(variant), cells)
    });
    let columns = metrics.iter().map(|metric| metric_column(metric));
    Table::new(label, led(Column::left("variant"), columns), rows).sortable().dense()
}
