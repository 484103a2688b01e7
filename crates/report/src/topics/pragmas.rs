//! Settings, and the PRAGMAs as SQLite answered them, arranged so that differences come first.
//!
//! Most values are the same on every connection of a run. They are shown once for the whole run;
//! an experiment shows what differs between its variants, and what all of its connections share but
//! other experiments do not.

use std::collections::BTreeMap;

use lab::analysis::ExperimentAnalysis;
use lab::trial::ReadBack;
use tuning::Analysis;

use super::subject::Subject;
use crate::document::{Block, Cell, Column, Fold, Piece, Row, Sentence, Table};
use crate::words::by_rank;

/// The anchor of the values of the whole run.
const ANCHOR: &str = "pragmas";

/// Values by PRAGMA; none if connections differ or one did not answer.
type Shared<'a> = BTreeMap<&'a str, Option<&'a str>>;

/// The values that every connection of the run shares, by name.
fn run_wide(analysis: &Analysis) -> BTreeMap<&str, &str> {
    let same = shared(analysis.experiments.iter().flat_map(connections)).into_iter();
    same.filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The same as a part of what is known of the run.
pub(super) fn of_run(analysis: &Analysis) -> Block {
    let same = run_wide(analysis);
    let entries = same.iter().map(|(name, value)| entry(name, value));
    let (title, blocks) = if same.is_empty() {
        ("No PRAGMA has the same value on every connection of the run", Vec::new())
    } else {
        (
            "PRAGMAs with the same value on every connection of the run",
            vec![Block::Entries(entries.collect())],
        )
    };
    Block::Fold(Fold { anchor: Some(ANCHOR.to_owned()), ..Fold::new(title, blocks) })
}

fn entry(name: &str, value: &str) -> Sentence {
    Sentence::code(format!("{name} = {value}"))
}

/// The settings of an experiment, folded away.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let held = held(subject.experiment);
    if !held.is_empty() {
        blocks.push(Block::small("Held in every variant unless a note says otherwise:"));
        blocks.push(Block::Entries(held));
    }
    let has_connections = connections(subject.experiment).next().is_some();
    if has_connections {
        blocks.extend(read_back(subject))
    } else {
        blocks.push(Block::small("No PRAGMA was read back."))
    }
    let title = if has_connections { "Settings and PRAGMAs read back" } else { "Settings" };
    vec![Block::full(vec![Block::unprinted(title, blocks)])]
}

/// Settings of the baseline that no factor varies.
fn held(experiment: &ExperimentAnalysis) -> Vec<Sentence> {
    let baseline = experiment.variants.first();
    let settings = baseline.into_iter().flat_map(|baseline| {
        baseline.settings.iter().filter(|(name, _)| !baseline.levels.contains_key(*name))
    });
    settings.map(|(name, level)| entry(name, &level.to_string())).collect()
}

fn read_back(subject: &Subject<'_>) -> Vec<Block> {
    let shared = shared(connections(subject.experiment));
    let (differing, same): (Vec<_>, Vec<_>) =
        shared.into_iter().partition(|(_, value)| value.is_none());
    let differing: Vec<&str> = differing.into_iter().map(|(name, _)| name).collect();
    let run_wide = run_wide(subject.analysis);
    let same_here = same.into_iter().filter(|(name, _)| !run_wide.contains_key(name));
    let same_here = same_here.filter_map(|(name, value)| Some(entry(name, value?)));
    let same_here: Vec<Sentence> = same_here.collect();
    let mut blocks = if differing.is_empty() {
        vec![Block::small("Every PRAGMA read back is the same in all variants.")]
    } else {
        vec![
            Block::small("PRAGMAs that differ, as SQLite answered them after the work:"),
            Block::table(table(subject, &differing)),
        ]
    };
    if !same_here.is_empty() {
        blocks.push(Block::small("The same in all variants here, but not in every experiment:"));
        blocks.push(Block::Entries(same_here));
    }
    let link = Piece::Link { text: "the complete table".to_owned(), to: ANCHOR.to_owned() };
    let others = Sentence::from("All others are the same on every connection of the run: ");
    blocks.push(Block::small(others.and(Sentence(vec![link])).words(".")));
    blocks
}

fn table(subject: &Subject<'_>, differing: &[&str]) -> Table {
    let columns = ["variant", "connection"].map(Column::left);
    let pragmas = differing.iter().map(|name| Column::left(Sentence::code(*name)));
    let variants = by_rank(subject.experiment).into_iter();
    let rows = variants.flat_map(|variant| rows(subject, variant, differing));
    Table::new("PRAGMAs that differ", columns.into_iter().chain(pragmas), rows)
}

/// One row for all connections of a variant that agree in what differs.
fn rows(subject: &Subject<'_>, variant: usize, differing: &[&str]) -> Vec<Row> {
    let mut rows: Vec<(String, Vec<Option<String>>)> = Vec::new();
    for connection in &subject.experiment.variants[variant].connections {
        let value = |name: &&str| connection.pragmas.get(*name).cloned();
        let values: Vec<Option<String>> = differing.iter().map(value).collect();
        match rows.iter_mut().find(|row| row.1 == values) {
            Some(row) => row.0.push_str(&format!(", {}", connection.connection)),
            None => rows.push((connection.connection.clone(), values)),
        }
    }
    let row = |(connections, values): (String, Vec<Option<String>>)| {
        let first = [subject.names.cell(variant), Cell::new(connections)];
        Row::new(first.into_iter().chain(values.into_iter().map(Cell::number)))
    };
    rows.into_iter().map(row).collect()
}

fn connections(experiment: &ExperimentAnalysis) -> impl Iterator<Item = &ReadBack> {
    experiment.variants.iter().flat_map(|variant| &variant.connections)
}

fn shared<'a>(connections: impl Iterator<Item = &'a ReadBack>) -> Shared<'a> {
    let mut seen: BTreeMap<&str, (usize, Option<&str>)> = BTreeMap::new();
    let mut all = 0;
    for connection in connections {
        all += 1;
        for (name, value) in &connection.pragmas {
            let entry = seen.entry(name).or_insert((0, Some(value)));
            entry.0 += 1;
            entry.1 = entry.1.filter(|known| known == value);
        }
    }
    // A PRAGMA that some connection does not know differs there.
    seen.into_iter().map(|(name, (count, value))| (name, value.filter(|_| count == all))).collect()
}
