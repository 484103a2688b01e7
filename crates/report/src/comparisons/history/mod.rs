//! Figures over many runs: changes of level first, then the course of each variant, then the runs.

mod changes;
mod charts;

use lab::history::{History, Run, Series};
use lab::runs::Difference;

use self::changes::{changes, every_change};
use self::charts::charts;
use super::not_read;
use crate::document::{
    Abridge, Block, Cell, Column, Document, Kind, Row, Scale, Section, Sentence, Table,
};
use crate::figures::{count, figure, range, ratio_without_interval};
use crate::words::metric_heading;

/// The history; `unreadable` are folders that could not be read, with the reason.
pub fn history(history: &History, unreadable: &[(String, String)]) -> Document {
    let chapter = Section::chapter;
    let highlights = Section::new("changes", Kind::Highlights, "What changed", changes(history));
    let chapters = [
        chapter("levels", "Changes of level", every_change(history)),
        chapter("charts", "Charts", charts(history)),
        chapter("series", "Variants", series(history)),
        chapter("runs", "Runs", runs(history)),
        chapter("unreadable", "What could not be read", not_read(unreadable)),
    ];
    let sections = std::iter::once(highlights).chain(chapters.into_iter().flatten());
    Document {
        title: format!("History of {} runs", count(history.runs.len())),
        about: about(history),
        sections: sections.collect(),
        ..Document::default()
    }
}

fn about(history: &History) -> Vec<Sentence> {
    let ends = history.runs.first().zip(history.runs.last());
    let from = ends.map(|(first, last)| format!("from {} to {}", first.created, last.created));
    from.into_iter().map(Sentence::from).collect()
}

/// What a chart or a change is about.
fn subject(series: &Series, scale: &Scale) -> String {
    let heading = metric_heading(&series.metric);
    match scale {
        Scale::Metric(_) => heading,
        Scale::Ratio => format!("{heading}, ratio to the baseline"),
    }
}

fn anchor(run: &Run) -> String {
    format!("run-{}", run.id)
}

fn series(history: &History) -> Vec<Block> {
    let row = |series: &Series| {
        let last = series.points.last();
        let newest = last.map(|point| point.figure.summary.median);
        let spread = last.map(|point| range(point.figure.summary.range, &series.metric));
        let first = series.points.first().map(|point| point.figure.summary.median);
        let ratio = first.zip(newest).map(|(first, newest)| newest / first);
        Row::new([
            Cell::new(series.experiment.as_str()),
            Cell::code(&series.variant),
            Cell::new(metric_heading(&series.metric)),
            Cell::figure(Some(series.points.len() as f64), |value| count(value as usize)),
            Cell::figure(first, |value| figure(value, &series.metric)),
            Cell::figure(newest, |value| figure(value, &series.metric)),
            Cell::number(spread),
            Cell::figure(ratio, ratio_without_interval),
            Cell::figure(
                Some((series.changes.len() + series.ratio_changes.len()) as f64),
                |value| count(value as usize),
            ),
        ])
    };
    let columns = [
        Column::left("experiment"),
        Column::left("variant"),
        Column::left("metric"),
        Column::right("runs"),
        Column::right("first"),
        Column::right("newest"),
        Column::right("newest, trials").full_only(),
        Column::right("newest / first"),
        Column::right("changes"),
    ];
    if history.series.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new("variants", columns, history.series.iter().map(row));
    table.sortable = true;
    table.dense = true;
    vec![Block::table(table)]
}

fn runs(history: &History) -> Vec<Block> {
    let row = |run: &Run| {
        let cells = [
            Cell::code(&run.id),
            Cell::new(run.created.as_str()),
            Cell::new(run.version.as_str()),
            Cell::new(differences(&run.differences)),
        ];
        Row { anchor: Some(anchor(run)), ..Row::new(cells) }
    };
    let columns = [
        Column::left("run"),
        Column::left("planned"),
        Column::left("SQLite"),
        Column::left("what changed since the runs before").prose(),
    ];
    if history.runs.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new("runs", columns, history.runs.iter().map(row));
    table.abridge = Abridge::Middle;
    vec![Block::table(table)]
}

fn differences(all: &[Difference]) -> String {
    /// Longer values are named and not quoted.
    const QUOTED: usize = 40;
    let words = all.iter().map(|it| match it.base.len().max(it.new.len()) {
        ..=QUOTED => format!("{}: {} → {}", it.what, it.base, it.new),
        _ => it.what.clone(),
    });
    words.collect::<Vec<_>>().join("; ")
}
