//! Figures over many runs: changes of level first, then the course of each variant, then the runs.

use lab::history::{History, LevelChange, Run, Series};
use lab::runs::Difference;

use crate::document::{
    Abridge, Block, Cell, Column, Document, Item, Kind, Row, Section, Sentence, Table, Tone,
};
use crate::figures::{count, figure, range, ratio_without_interval};
use crate::words::metric_heading;

/// The history; `unreadable` are folders that could not be read, with the reason.
pub fn history(history: &History, unreadable: &[(String, String)]) -> Document {
    let chapter = |anchor: &str, title: &str, blocks: Vec<Block>| {
        (!blocks.is_empty()).then(|| Section::new(anchor, Kind::Chapter, title, blocks))
    };
    let highlights = Section::new(
        "changes",
        Kind::Highlights,
        "What changed",
        changes(history),
    );
    let chapters = [
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

fn changes(history: &History) -> Vec<Block> {
    let items = history.series.iter().flat_map(|series| {
        let changes = series.changes.iter();
        changes.map(move |change| change_item(history, series, change))
    });
    let list = Block::list(items);
    let none = || Block::paragraph("No level changed detectably.");
    vec![
        list.unwrap_or_else(none),
        Block::small(
            "Changes of level are found by PELT in the logarithms of the medians. A series without a change shows one in \
             at most 5 % of all cases, as simulated. Runs are measured at different times, so a change may be one of the \
             machine: compare both sides in one run to know.",
        ),
    ]
}

fn change_item(history: &History, series: &Series, change: &LevelChange) -> Item {
    let is_better = (change.to > change.from) == lab::metric::higher_is_better(&series.metric);
    let (sign, tone) = match is_better {
        true => ("▲", Tone::Better),
        false => ("▼", Tone::Worse),
    };
    let (before, after) = (&history.runs[change.before], &history.runs[change.after]);
    let values = [change.from, change.to].map(|value| figure(value, &series.metric));
    let text = Sentence::from(format!("{}: ", series.experiment))
        .and_code(&series.variant)
        .words(format!(
            ", {}: {} → {}, ",
            metric_heading(&series.metric),
            values[0],
            values[1]
        ))
        .figure(ratio_without_interval(change.to / change.from))
        .words(", between ")
        .and_code(&before.id)
        .words(" and ")
        .and_code(&after.id)
        .words(match change.circumstances_changed {
            true => ", together with a change of machine, engine or plan (see the runs).",
            false => ".",
        });
    Item {
        sign: Some(sign),
        tone,
        ..Item::new(text)
    }
}

fn series(history: &History) -> Vec<Block> {
    let row = |it: &Series| {
        let last = it.points.last();
        let newest = last.map(|point| point.summary.median);
        let spread = last.map(|point| range(point.summary.range, &it.metric));
        let first = it.points.first().map(|point| point.summary.median);
        let ratio = first.zip(newest).map(|(first, newest)| newest / first);
        Row::new([
            Cell::new(it.experiment.as_str()),
            Cell::code(&it.variant),
            Cell::new(metric_heading(&it.metric)),
            Cell::figure(Some(it.points.len() as f64), |value| count(value as usize)),
            Cell::figure(first, |value| figure(value, &it.metric)),
            Cell::figure(newest, |value| figure(value, &it.metric)),
            Cell::number(spread),
            Cell::figure(ratio, ratio_without_interval),
            Cell::figure(Some(it.changes.len() as f64), |value| count(value as usize)),
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
    let row = |it: &Run| {
        Row::new([
            Cell::code(&it.id),
            Cell::new(it.created.as_str()),
            Cell::new(it.version.as_str()),
            Cell::new(differences(&it.differences)),
        ])
    };
    let columns = [
        Column::left("run"),
        Column::left("planned"),
        Column::left("SQLite"),
        Column::left("what changed since the run before").prose(),
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

fn not_read(unreadable: &[(String, String)]) -> Vec<Block> {
    let items = unreadable
        .iter()
        .map(|(folder, why)| Item::doubt(None, Sentence::code(folder).words(format!(": {why}"))));
    Block::list(items).into_iter().collect()
}
