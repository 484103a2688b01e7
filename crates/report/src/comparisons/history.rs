//! Figures over many runs: changes of level first, then the course of each variant, then the runs.

use lab::history::{History, LevelChange, Run, Series};
use lab::runs::Difference;

use super::not_read;
use crate::document::{
    Abridge, Block, Cell, Chart, Column, Course, CourseLevel, CourseMark, CoursePoint, Document,
    Item, Kind, Piece, Plot, Row, Scale, Section, Sentence, Table, Tone,
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

fn changes(history: &History) -> Vec<Block> {
    let items = history.series.iter().flat_map(|series| {
        let ratios = series.ratio_changes.iter();
        let ratios = ratios.map(move |it| change_item(history, series, it, &Scale::Ratio));
        let scale = Scale::Metric(series.metric.clone());
        let changes = series.changes.iter();
        ratios.chain(changes.map(move |it| change_item(history, series, it, &scale)))
    });
    let list = Block::list(items);
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

fn change_item(history: &History, series: &Series, change: &LevelChange, scale: &Scale) -> Item {
    let is_better = (change.to > change.from) == lab::metric::higher_is_better(&series.metric);
    let (sign, tone) = match is_better {
        true => ("▲", Tone::Better),
        false => ("▼", Tone::Worse),
    };
    let (before, after) = (&history.runs[change.before], &history.runs[change.after]);
    let values = [change.from, change.to].map(|value| match scale {
        Scale::Metric(metric) => figure(value, metric),
        Scale::Ratio => ratio_without_interval(value),
    });
    let text = Sentence::from(format!("{}: ", series.experiment))
        .and_code(&series.variant)
        .words(format!(
            ", {}: {} → {}, ",
            subject(series, scale),
            values[0],
            values[1]
        ))
        .figure(ratio_without_interval(change.to / change.from))
        .words(", between ")
        .and(link(before))
        .words(" and ")
        .and(link(after))
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

/// What a chart or a change is about.
fn subject(series: &Series, scale: &Scale) -> String {
    let heading = metric_heading(&series.metric);
    match scale {
        Scale::Metric(_) => heading,
        Scale::Ratio => format!("{heading} to the baseline"),
    }
}

/// The name of a run, which leads to its row.
fn link(run: &Run) -> Sentence {
    Sentence(vec![Piece::Link {
        text: run.id.clone(),
        to: anchor(run),
    }])
}

fn anchor(run: &Run) -> String {
    format!("run-{}", run.id)
}

/// Dots in all charts together, so that the page of a thousand runs stays below two megabytes.
const MOST_DOTS: usize = 30_000;

/// A chart for each series, those with changes first, as many as the page can hold.
fn charts(history: &History) -> Vec<Block> {
    let mut all: Vec<(&Series, Course)> = Vec::new();
    for series in &history.series {
        let courses = [
            ratio_course(history, series),
            median_course(history, series),
        ];
        let drawn = courses.into_iter().filter(|it| it.points.len() > 1);
        all.extend(drawn.map(|it| (series, it)));
    }
    all.sort_by_key(|(_, course)| std::cmp::Reverse(course.changes.len()));
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
            "A dot is a run. Around a ratio stands its interval at 95 %, around a median its smallest and largest trial. A \
             dotted line: machine, engine or plan changed. A dashed line: the level changed.",
        )
    });
    legend.into_iter().chain(drawn).chain(rest).collect()
}

fn chart((series, course): &(&Series, Course)) -> Block {
    let caption = Sentence::from(format!("{}: ", series.experiment))
        .and_code(&series.variant)
        .words(format!(", {}", subject(series, &course.scale)));
    Block::chart(Chart::new(caption, Plot::Course(course.clone())))
}

fn median_course(history: &History, series: &Series) -> Course {
    let points = series.points.iter().map(|it| CoursePoint {
        run: it.run,
        y: it.figure.summary.median,
        interval: it.figure.summary.range,
    });
    let scale = Scale::Metric(series.metric.clone());
    course(history, scale, points.collect(), &series.changes)
}

fn ratio_course(history: &History, series: &Series) -> Course {
    let points = series.points.iter().filter_map(|it| {
        let ratio = it.figure.ratio?;
        Some(CoursePoint {
            run: it.run,
            y: ratio.centre,
            interval: ratio.interval,
        })
    });
    let points = points.collect();
    course(history, Scale::Ratio, points, &series.ratio_changes)
}

fn course(
    history: &History,
    scale: Scale,
    points: Vec<CoursePoint>,
    changes: &[LevelChange],
) -> Course {
    let runs = history.runs.len();
    let marks = history.runs.iter().enumerate();
    let marks = marks.filter(|(_, run)| !run.differences.is_empty());
    let marks = marks.map(|(number, run)| CourseMark {
        at: number as f64 - 0.5,
        words: differences(&run.differences),
    });
    let days = history.runs.iter().enumerate();
    let days = days.map(|(number, run)| (number, day(run).to_owned()));
    let mut days: Vec<(usize, String)> = days.collect();
    days.dedup_by(|later, earlier| later.1 == earlier.1);
    Course {
        levels: levels(&points, changes),
        changes: changes
            .iter()
            .map(|it| (it.before + it.after) as f64 / 2.0)
            .collect(),
        words: format!(
            "{} runs, {} changes of level",
            count(points.len()),
            count(changes.len())
        ),
        marks: marks.collect(),
        scale,
        runs,
        points,
        days,
    }
}

/// The day on which a run was planned.
fn day(run: &Run) -> &str {
    run.created.split('T').next().unwrap_or_default()
}

/// The levels before, between and after changes; none without a change.
fn levels(points: &[CoursePoint], changes: &[LevelChange]) -> Vec<CourseLevel> {
    let Some((first, last)) = points.first().zip(points.last()) else {
        return Vec::new();
    };
    let starts = std::iter::once(first.run).chain(changes.iter().map(|it| it.after));
    let ends = changes.iter().map(|it| it.before);
    let ends = ends.chain(std::iter::once(last.run));
    let figures = changes.first().map(|it| it.from).into_iter();
    let figures = figures.chain(changes.iter().map(|it| it.to));
    let level = |((from, to), y)| CourseLevel { from, to, y };
    starts.zip(ends).zip(figures).map(level).collect()
}

fn series(history: &History) -> Vec<Block> {
    let row = |it: &Series| {
        let last = it.points.last();
        let newest = last.map(|point| point.figure.summary.median);
        let spread = last.map(|point| range(point.figure.summary.range, &it.metric));
        let first = it.points.first().map(|point| point.figure.summary.median);
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
            Cell::figure(
                Some((it.changes.len() + it.ratio_changes.len()) as f64),
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
    let row = |it: &Run| {
        let cells = [
            Cell::code(&it.id),
            Cell::new(it.created.as_str()),
            Cell::new(it.version.as_str()),
            Cell::new(differences(&it.differences)),
        ];
        Row {
            anchor: Some(anchor(it)),
            ..Row::new(cells)
        }
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
