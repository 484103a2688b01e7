//! The course of each variant over the runs.

use lab::history::{History, LevelChange, Run, Series};

use super::{differences, subject};
use crate::document::{
    Block, Chart, Course, CourseLevel, CourseMark, CoursePoint, Plot, Scale, Sentence,
};
use crate::figures::count;

/// Dots in all charts together, so that the page of a thousand runs stays below two megabytes.
const MOST_DOTS: usize = 30_000;

/// A chart for each series, those with changes first, as many as the page can hold.
pub(super) fn charts(history: &History) -> Vec<Block> {
    let mut all: Vec<(&Series, Course)> = Vec::new();
    for series in &history.series {
        let courses = [ratio_course(history, series), median_course(history, series)];
        let drawn = courses.into_iter().filter(|course| course.points.len() > 1);
        all.extend(drawn.map(|drawn| (series, drawn)));
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
             dotted line: machine, engine, plan or settings of the experiment changed. A dashed line: the level changed.",
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
    let points = series.points.iter().map(|point| CoursePoint {
        run: point.run,
        y: point.figure.summary.median,
        interval: point.figure.summary.range,
    });
    let scale = Scale::Metric(series.metric.clone());
    let points = points.collect();
    course(history, scale, &series.experiment, points, &series.changes)
}

fn ratio_course(history: &History, series: &Series) -> Course {
    let points = series.points.iter().filter_map(|point| {
        let ratio = point.figure.ratio?;
        Some(CoursePoint { run: point.run, y: ratio.centre, interval: ratio.interval })
    });
    let points = points.collect();
    let changes = &series.ratio_changes;
    course(history, Scale::Ratio, &series.experiment, points, changes)
}

fn course(
    history: &History,
    scale: Scale,
    experiment: &str,
    points: Vec<CoursePoint>,
    changes: &[LevelChange],
) -> Course {
    let runs = history.runs.len();
    let marks = points.windows(2).filter_map(|pair| {
        let all = history.differences(experiment, pair[0].run, pair[1].run);
        (!all.is_empty())
            .then(|| CourseMark { at: pair[1].run as f64 - 0.5, words: differences(&all) })
    });
    let marks: Vec<CourseMark> = marks.collect();
    let days = history.runs.iter().enumerate();
    let days = days.map(|(number, run)| (number, day(run).to_owned()));
    let mut days: Vec<(usize, String)> = days.collect();
    days.dedup_by(|later, earlier| later.1 == earlier.1);
    Course {
        levels: levels(&points, changes),
        changes: changes.iter().map(|change| (change.before + change.after) as f64 / 2.0).collect(),
        words: format!("{} runs, {} changes of level", count(points.len()), count(changes.len())),
        marks,
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
    let starts = std::iter::once(first.run).chain(changes.iter().map(|change| change.after));
    let ends = changes.iter().map(|change| change.before);
    let ends = ends.chain(std::iter::once(last.run));
    let figures = changes.first().map(|change| change.from).into_iter();
    let figures = figures.chain(changes.iter().map(|change| change.to));
    let level = |((from, to), y)| CourseLevel { from, to, y };
    starts.zip(ends).zip(figures).map(level).collect()
}
