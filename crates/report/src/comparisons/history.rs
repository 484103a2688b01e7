//! Figures over many runs: changes of level first, then the course of each variant, then the runs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lab::analysis::Summary;
use lab::comparison::{Change, Difference, History, LevelChange, Run, Series};

use super::{cells, not_read, sections};
use crate::document::{
    Abridge, Block, Cell, Chart, Column, Course, CourseLevel, CourseMark, CoursePoint, Document,
    Item, Piece, Plot, Scale, Sentence, Table, blocks, joined,
};
use crate::figures::{count, figure, range, ratio_without_interval};
use crate::words::{metric_cell, metric_heading};

/// Most variants that an item names.
const NAMED: usize = 3;

/// Dots in all charts together, so that the page of a thousand runs stays below two megabytes.
const MOST_DOTS: usize = 30_000;

/// Returns the history. `unreadable` are folders that could not be read, with the reason.
pub fn history(history: &History, unreadable: &[(String, String)]) -> Document {
    let moves = moves(history);
    let chapters = [
        ("levels", "Changes of level", every_move(history, &moves)),
        ("charts", "Charts", charts(history)),
        ("series", "Variants", series(history)),
        ("runs", "Runs", runs(history)),
    ];
    let ends = history.runs.first().zip(history.runs.last());
    let from = ends.map(|(first, last)| format!("from {} to {}", first.created, last.created));
    let sections = sections(changes(history, &moves), chapters).into_iter();
    Document {
        title: format!("History of {} runs", count(history.runs.len())),
        about: from.into_iter().map(Sentence::from).collect(),
        sections: sections.chain(not_read(unreadable)).collect(),
        ..Document::default()
    }
}

/// Returns what a chart or a change of level is about.
fn subject(series: &Series, scale: &Scale) -> String {
    let heading = metric_heading(&series.metric);
    match scale {
        Scale::Metric(_) => heading,
        Scale::Ratio => format!("{heading}, ratio to the baseline"),
    }
}

/// A change of the level of one series.
struct Move<'a> {
    series: &'a Series,
    level: &'a LevelChange,
    /// Medians, or ratios to the baseline.
    scale: Scale,
    key: MoveKey<'a>,
}

/// Properties that the changes of one item share, in the order of items.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MoveKey<'a> {
    /// The index of the last run before it.
    before: usize,
    /// The index of the first run after it.
    after: usize,
    experiment: &'a str,
    metric: &'a str,
    is_of_medians: bool,
    is_worse: bool,
}

impl<'a> Move<'a> {
    fn new(series: &'a Series, level: &'a LevelChange, scale: Scale) -> Move<'a> {
        let key = MoveKey {
            before: level.before,
            after: level.after,
            experiment: &series.experiment,
            metric: &series.metric,
            is_of_medians: scale != Scale::Ratio,
            is_worse: level.change(&series.metric) == Change::Worse,
        };
        Move { series, level, scale, key }
    }

    /// Returns the levels before and after.
    fn values(&self) -> [String; 2] {
        [self.level.from, self.level.to].map(|value| match &self.scale {
            Scale::Metric(metric) => figure(value, metric),
            Scale::Ratio => ratio_without_interval(value),
        })
    }

    fn subject(&self) -> String {
        subject(self.series, &self.scale)
    }
}

/// Returns every change of level, ratios to the baseline before medians.
fn moves(history: &History) -> Vec<Move<'_>> {
    let mut all = Vec::new();
    for series in &history.series {
        all.extend(series.ratio_changes.iter().map(|level| Move::new(series, level, Scale::Ratio)));
        let scale = || Scale::Metric(series.metric.clone());
        all.extend(series.changes.iter().map(|level| Move::new(series, level, scale())));
    }
    all
}

/// Returns one item for all changes of an experiment between the same two runs.
fn changes(history: &History, moves: &[Move<'_>]) -> Vec<Block> {
    let mut groups: BTreeMap<MoveKey<'_>, Vec<&Move<'_>>> = BTreeMap::new();
    for one in moves {
        groups.entry(one.key).or_default().push(one);
    }
    let list = Block::list(groups.values().map(|group| item(history, group)));
    vec![
        list.unwrap_or_else(|| Block::paragraph("No level changed detectably.")),
        Block::small(
            "Changes of level are found by PELT in the logarithms of the medians and of the ratios to the baseline. A series \
             without a change shows one in at most 5 % of all cases, as simulated. Runs are measured at different times, so the machine may have changed the medians: compare both sides in one run. A ratio compares variants of \
             the same run, so the machine moves it less.",
        ),
    ]
}

fn item(history: &History, group: &[&Move<'_>]) -> Item {
    let (first, level) = (group[0], group[0].level);
    let start = Sentence::from(format!("{}: ", first.series.experiment));
    let text = match group {
        [only] => of_one(start, only),
        several => of_several(start, several),
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
    Item::signed(cells::mark(level.change(&first.series.metric)), text)
}

/// Adds a variant with the levels before and after.
fn of_one(start: Sentence, one: &Move<'_>) -> Sentence {
    let [from, to] = one.values();
    start
        .and_code(&one.series.variant)
        .words(format!(", {}: {from} → {to}, ", one.subject()))
        .figure(ratio_without_interval(one.level.ratio()))
}

/// Adds how many variants changed, from the smallest ratio of both levels to the largest, and the first of their names.
fn of_several(start: Sentence, moves: &[&Move<'_>]) -> Sentence {
    let ratios = moves.iter().map(|one| one.level.ratio());
    let low = ratios.clone().fold(f64::INFINITY, f64::min);
    let high = ratios.fold(f64::NEG_INFINITY, f64::max);
    let [low, high] = [low, high].map(ratio_without_interval);
    let names = moves.iter().take(NAMED).map(|one| Sentence::code(&one.series.variant));
    let text = start
        .words(format!("{} of {} variants, ", moves[0].subject(), count(moves.len())))
        .figure(if low == high { low } else { format!("{low} to {high}") })
        .words(" (")
        .and(joined(names, ", "));
    match moves.len().saturating_sub(NAMED) {
        0 => text.words(")"),
        more => text.words(format!(" and {} more)", count(more))),
    }
}

/// Returns a row for each change.
fn every_move(history: &History, moves: &[Move<'_>]) -> Vec<Block> {
    if moves.is_empty() {
        return Vec::new();
    }
    let mut sorted: Vec<&Move<'_>> = moves.iter().collect();
    sorted.sort_by_key(|one| one.key);
    let run = |number: usize| Cell::new(link(&history.runs[number]));
    let value = |one: &Move<'_>, side: usize| Cell::number(Some(one.values()[side].clone()));
    let table = Table::of(
        "changes of level",
        sorted,
        &[
            (Column::left("experiment"), &|one| Cell::new(one.series.experiment.as_str())),
            (Column::left("variant"), &|one| Cell::code(&one.series.variant)),
            (Column::left("of"), &|one| Cell::new(one.subject())),
            (Column::left("last run before").full_only(), &|one| run(one.level.before)),
            (Column::left("first run after"), &|one| run(one.level.after)),
            (Column::right("before"), &|one| value(one, 0)),
            (Column::right("after"), &|one| value(one, 1)),
            (Column::left("after / before"), &|one| {
                let ratio = one.level.ratio();
                let cell = Cell::new(ratio_without_interval(ratio));
                let cell = cell.signed(cells::mark(one.level.change(&one.series.metric)));
                Cell { value: Some(ratio), ..cell }
            }),
        ],
    );
    vec![Block::table(table.sortable().dense().abridged(Abridge::End))]
}

/// Returns the name of a run, which leads to its row.
fn link(run: &Run) -> Sentence {
    Sentence(vec![Piece::Link { text: run.id.clone(), to: anchor(run) }])
}

fn anchor(run: &Run) -> String {
    format!("run-{}", run.id)
}

/// Returns a chart for each series, those with changes first, as many as the page can hold.
fn charts(history: &History) -> Vec<Block> {
    let mut all: Vec<(&Series, Course)> = Vec::new();
    for series in &history.series {
        let courses = [ratio_course(history, series), median_course(history, series)];
        let drawn = courses.into_iter().filter(|course| course.points.len() > 1);
        all.extend(drawn.map(|course| (series, course)));
    }
    all.sort_by_key(|(_, course)| Reverse(course.changes.len()));
    let mut dots = 0;
    let fits = |(_, course): &&(&Series, Course)| {
        dots += course.points.len();
        dots <= MOST_DOTS
    };
    let drawn: Vec<Block> = all.iter().take_while(fits).map(chart).collect();
    let left_out = all.len() - drawn.len();
    let rest = (left_out > 0).then(|| {
        let left_out = count(left_out);
        Block::small(format!(
            "{left_out} more charts without a change of level are left out to keep the page small; the tables have their figures. \
             Name fewer folders to see them."
        ))
    });
    let legend = (!drawn.is_empty()).then(|| {
        Block::small(
            "A dot is a run. A ratio has its interval at 95 %, a median its smallest and largest trial. A \
             dotted line: machine, engine, plan or settings of the experiment changed. A dashed line: the level changed.",
        )
    });
    blocks![legend, drawn, rest]
}

fn chart((series, course): &(&Series, Course)) -> Block {
    let caption = Sentence::from(format!("{}: ", series.experiment))
        .and_code(&series.variant)
        .words(format!(", {}", subject(series, &course.scale)));
    Block::chart(Chart::new(caption, Plot::Course(course.clone())))
}

fn median_course(history: &History, series: &Series) -> Course {
    let points = series.points.iter().map(|point| CoursePoint {
        run: point.run,
        y: point.figure.summary.median,
        interval: point.figure.summary.range,
    });
    let course = course(history, &series.experiment, points.collect(), &series.changes);
    Course { scale: Scale::Metric(series.metric.clone()), ..course }
}

fn ratio_course(history: &History, series: &Series) -> Course {
    let points = series.points.iter().filter_map(|point| {
        let ratio = point.figure.ratio?;
        Some(CoursePoint { run: point.run, y: ratio.ratio, interval: ratio.interval })
    });
    course(history, &series.experiment, points.collect(), &series.ratio_changes)
}

/// Returns the course of these ratios.
fn course(
    history: &History,
    experiment: &str,
    points: Vec<CoursePoint>,
    changes: &[LevelChange],
) -> Course {
    let marks = points.windows(2).filter_map(|pair| {
        let all = history.differences(experiment, pair[0].run, pair[1].run);
        (!all.is_empty())
            .then(|| CourseMark { at: pair[1].run as f64 - 0.5, words: difference_words(&all) })
    });
    let marks: Vec<CourseMark> = marks.collect();
    let day = |run: &Run| run.created.split('T').next().unwrap_or_default().to_owned();
    let days = history.runs.iter().enumerate();
    let mut days: Vec<(usize, String)> = days.map(|(number, run)| (number, day(run))).collect();
    days.dedup_by(|later, earlier| later.1 == earlier.1);
    Course {
        scale: Scale::Ratio,
        runs: history.runs.len(),
        levels: levels(&points, changes),
        changes: changes.iter().map(|level| (level.before + level.after) as f64 / 2.0).collect(),
        words: format!("{} runs, {} changes of level", count(points.len()), count(changes.len())),
        marks,
        points,
        days,
    }
}

/// Returns the levels before, between and after changes; none without a change.
fn levels(points: &[CoursePoint], changes: &[LevelChange]) -> Vec<CourseLevel> {
    let Some((first, last)) = points.first().zip(points.last()) else { return Vec::new() };
    let starts = std::iter::once(first.run).chain(changes.iter().map(|level| level.after));
    let ends = changes.iter().map(|level| level.before).chain([last.run]);
    let figures = changes.first().map(|level| level.from).into_iter();
    let figures = figures.chain(changes.iter().map(|level| level.to));
    let level = |((from, to), y)| CourseLevel { from, to, y };
    starts.zip(ends).zip(figures).map(level).collect()
}

fn series(history: &History) -> Vec<Block> {
    let number = |number: usize| Cell::figure(Some(number as f64), |_| count(number));
    let first = |series: &Series| Some(series.points.first()?.figure.summary);
    let last = |series: &Series| Some(series.points.last()?.figure.summary);
    let median = |series: &Series, summary: Option<Summary>| {
        metric_cell(summary.map(|summary| summary.median), &series.metric)
    };
    let ratio = |series| Some(last(series)?.median / first(series)?.median);
    let table = Table::of(
        "variants",
        &history.series,
        &[
            (Column::left("experiment"), &|one| Cell::new(one.experiment.as_str())),
            (Column::left("variant"), &|one| Cell::code(&one.variant)),
            (Column::left("metric"), &|one| Cell::new(metric_heading(&one.metric))),
            (Column::right("runs"), &|one| number(one.points.len())),
            (Column::right("first"), &|one| median(one, first(one))),
            (Column::right("newest"), &|one| median(one, last(one))),
            (Column::right("newest, trials").full_only(), &|one| {
                Cell::number(last(one).map(|summary| range(summary.range, &one.metric)))
            }),
            (Column::right("newest / first"), &|one| {
                Cell::figure(ratio(one), ratio_without_interval)
            }),
            (Column::right("changes"), &|one| number(one.changes.len() + one.ratio_changes.len())),
        ],
    );
    Block::rows(table.sortable().dense())
}

fn runs(history: &History) -> Vec<Block> {
    let mut table = Table::of(
        "runs",
        &history.runs,
        &[
            (Column::left("run"), &|run| Cell::code(&run.id)),
            (Column::left("planned"), &|run| Cell::new(run.created.as_str())),
            (Column::left("SQLite"), &|run| Cell::new(run.version.as_str())),
            (Column::left("what changed since the runs before").prose(), &|run| {
                Cell::new(difference_words(&run.differences))
            }),
        ],
    );
    for (row, run) in table.rows.iter_mut().zip(&history.runs) {
        row.anchor = Some(anchor(run));
    }
    Block::rows(table.abridged(Abridge::Middle))
}

fn difference_words(all: &[Difference]) -> String {
    /// Longer values are named and not quoted.
    const QUOTED: usize = 40;
    let words = all.iter().map(|Difference { what, base, new }| {
        let is_short = base.len().max(new.len()) <= QUOTED;
        if is_short { format!("{what}: {base} → {new}") } else { what.clone() }
    });
    words.collect::<Vec<_>>().join("; ")
}
