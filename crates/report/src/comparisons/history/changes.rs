//! Changes of level: those between the same two runs are one item, and a table has every one.

use std::collections::BTreeMap;

use lab::history::{History, LevelChange, Run, Series};

use super::{anchor, subject};
use crate::document::{
    Abridge, Block, Cell, Column, Item, Piece, Row, Scale, Sentence, Table, Tone,
};
use crate::figures::{count, figure, ratio_without_interval};

/// How many variants an item names.
const NAMED: usize = 3;

/// A change of the level of one series.
struct Change<'a> {
    series: &'a Series,
    level: &'a LevelChange,
    /// Of what: medians, or ratios to the baseline.
    scale: Scale,
}

/// What the changes of one item have in common: the runs around them, experiment and metric, whether they are of ratios,
/// which come first, and whether they are worse.
type Group<'a> = (usize, usize, &'a str, &'a str, bool, bool);

impl<'a> Change<'a> {
    fn group(&self) -> Group<'a> {
        let Change { series, level, .. } = self;
        let (experiment, metric) = (series.experiment.as_str(), series.metric.as_str());
        let of_medians = matches!(self.scale, Scale::Metric(_));
        let worse = !self.is_better();
        (level.before, level.after, experiment, metric, of_medians, worse)
    }

    fn is_better(&self) -> bool {
        let higher_is_better = lab::metric::higher_is_better(&self.series.metric);
        (self.level.to > self.level.from) == higher_is_better
    }

    fn mark(&self) -> (&'static str, Tone) {
        if self.is_better() { ("▲", Tone::Better) } else { ("▼", Tone::Worse) }
    }

    fn ratio(&self) -> f64 {
        self.level.to / self.level.from
    }

    /// The levels before and after.
    fn values(&self) -> [String; 2] {
        [self.level.from, self.level.to].map(|value| match &self.scale {
            Scale::Metric(metric) => figure(value, metric),
            Scale::Ratio => ratio_without_interval(value),
        })
    }
}

/// Every change of a history, those of ratios to the baseline before those of medians.
fn all(history: &History) -> Vec<Change<'_>> {
    let of = |series| {
        let change =
            move |scale: Scale| move |level| Change { series, level, scale: scale.clone() };
        let Series { ratio_changes, changes, metric, .. } = series;
        let ratios = ratio_changes.iter().map(change(Scale::Ratio));
        ratios.chain(changes.iter().map(change(Scale::Metric(metric.clone()))))
    };
    history.series.iter().flat_map(of).collect()
}

/// One item for all changes of an experiment between the same two runs.
pub(super) fn changes(history: &History) -> Vec<Block> {
    let all = all(history);
    let mut groups: BTreeMap<Group<'_>, Vec<&Change<'_>>> = BTreeMap::new();
    for change in &all {
        groups.entry(change.group()).or_default().push(change);
    }
    let list = Block::list(groups.values().map(|group| item(history, group)));
    let none = || Block::paragraph("No level changed detectably.");
    vec![
        list.unwrap_or_else(none),
        Block::small(
            "Changes of level are found by PELT in the logarithms of the medians and of the ratios to the baseline. A series \
             without a change shows one in at most 5 % of all cases, as simulated. Runs are measured at different times, so a \
             change of medians may be one of the machine: compare both sides in one run to know. A ratio compares variants of \
             the same run, so the machine moves it less.",
        ),
    ]
}

fn item(history: &History, group: &[&Change<'_>]) -> Item {
    let (first, level) = (group[0], group[0].level);
    let (sign, tone) = first.mark();
    let text = Sentence::from(format!("{}: ", first.series.experiment));
    let text = match group {
        [only] => of_one(text, only),
        several => of_several(text, several),
    };
    let text = text
        .words(", between ")
        .and(link(&history.runs[level.before]))
        .words(" and ")
        .and(link(&history.runs[level.after]))
        .words(if level.circumstances_changed {
            ", together with a change of machine, engine, plan or settings (see the runs)."
        } else {
            "."
        });
    Item { sign: Some(sign), tone, ..Item::new(text) }
}

/// A variant with the levels before and after.
fn of_one(start: Sentence, change: &Change<'_>) -> Sentence {
    let [from, to] = change.values();
    let what = subject(change.series, &change.scale);
    start
        .and_code(&change.series.variant)
        .words(format!(", {what}: {from} → {to}, "))
        .figure(ratio_without_interval(change.ratio()))
}

/// How many variants changed, from the smallest ratio of both levels to the largest, and the first of their names.
fn of_several(start: Sentence, changes: &[&Change<'_>]) -> Sentence {
    let what = subject(changes[0].series, &changes[0].scale);
    let ratios = changes.iter().map(|change| change.ratio());
    let low = ratios.clone().fold(f64::INFINITY, f64::min);
    let high = ratios.fold(f64::NEG_INFINITY, f64::max);
    let [low, high] = [low, high].map(ratio_without_interval);
    let number = count(changes.len());
    let mut text = start.words(format!("{what} of {number} variants, ")).figure(if low == high {
        low
    } else {
        format!("{low} to {high}")
    });
    for (index, change) in changes.iter().take(NAMED).enumerate() {
        text = text.words([" (", ", "][index.min(1)]).and_code(&change.series.variant);
    }
    match changes.len().saturating_sub(NAMED) {
        0 => text.words(")"),
        more => text.words(format!(" and {} more)", count(more))),
    }
}

/// A row for each change.
pub(super) fn every_change(history: &History) -> Vec<Block> {
    let mut all = all(history);
    all.sort_by_key(Change::group);
    let row = |change: &Change<'_>| {
        let [from, to] = change.values();
        let (sign, tone) = change.mark();
        Row::new([
            Cell::new(change.series.experiment.as_str()),
            Cell::code(&change.series.variant),
            Cell::new(subject(change.series, &change.scale)),
            Cell::new(link(&history.runs[change.level.before])),
            Cell::new(link(&history.runs[change.level.after])),
            Cell::number(Some(from)),
            Cell::number(Some(to)),
            Cell {
                value: Some(change.ratio()),
                ..Cell::new(ratio_without_interval(change.ratio())).signed(sign, tone)
            },
        ])
    };
    if all.is_empty() {
        return Vec::new();
    }
    let columns = [
        Column::left("experiment"),
        Column::left("variant"),
        Column::left("of"),
        Column::left("last run before").full_only(),
        Column::left("first run after"),
        Column::right("before"),
        Column::right("after"),
        Column::left("after / before"),
    ];
    let mut table = Table::new("changes of level", columns, all.iter().map(row));
    table.sortable = true;
    table.dense = true;
    table.abridge = Abridge::End;
    vec![Block::table(table)]
}

/// The name of a run, which leads to its row.
fn link(run: &Run) -> Sentence {
    Sentence(vec![Piece::Link { text: run.id.clone(), to: anchor(run) }])
}
