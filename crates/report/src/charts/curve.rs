//! The line chart of an experiment along a numeric factor.
//!
//! The lines are drawn in a box of 100 by 100 that is stretched to the room there is, with strokes
//! that are not stretched with it; dots, marks and text stand at percentages beside it. So the
//! chart fills a wide screen and a narrow one, and its text keeps its size on both.

use lab::analysis::ExperimentAnalysis;
use lab::analysis::curve::{Bend as Model, Curve, Point, Series};
use lab::stats::Interval;

use super::labels::{self, Label};
use super::{Axis, Percent, Tick};
use crate::answer::Sentence;
use crate::figures;
use crate::knees;
use crate::words::{direction, metric_heading, named};

/// Lines that are drawn; more cannot be told apart.
const LINES: usize = 4;
/// Points at which the curve of a model is drawn.
const STEPS: usize = 48;
/// Marks of the axis nearer than this to the one before are left out on narrow screens, and at
/// half this everywhere, in parts of a hundred.
const NEAR: f64 = 20.0;

/// The same for the labels of knees.
const NEAR_LABEL: f64 = 24.0;

/// A chart ready to be drawn.
pub(crate) struct Chart {
    /// What the vertical axis shows: `Rows a second, higher is better`.
    pub(crate) heading: String,
    /// What a reader must know of the axes.
    pub(crate) remark: String,
    /// The factor along the horizontal axis.
    pub(crate) factor: String,
    /// The factors that tell the lines apart.
    pub(crate) by: Vec<String>,
    /// The marks of the horizontal axis.
    pub(crate) across: Vec<Tick>,
    /// The marks of the vertical axis, from above.
    pub(crate) up: Vec<Tick>,
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// Lines that are not drawn.
    pub(crate) left_out: Option<String>,
    /// Where lines bend, in words.
    pub(crate) knees: Vec<Sentence>,
}

/// One line.
pub(crate) struct Line {
    /// The class that gives it its colour and its dashes.
    pub(crate) class: &'static str,
    /// Its label and where that stands, from above.
    pub(crate) label: Label,
    /// Its course: pairs of numbers from 0 to 100.
    pub(crate) course: String,
    /// The variants.
    pub(crate) dots: Vec<Dot>,
    /// The model and where it bends.
    pub(crate) bend: Option<Bend>,
}

/// One variant.
pub(crate) struct Dot {
    /// Where it stands along the horizontal axis.
    pub(crate) x: Percent,
    /// Its median, from above.
    pub(crate) y: Percent,
    /// Its largest figure, from above.
    pub(crate) top: Percent,
    /// Its smallest figure, from above.
    pub(crate) bottom: Percent,
    /// The dot in words.
    pub(crate) words: String,
}

/// A model drawn over its line.
pub(crate) struct Bend {
    /// Its course.
    pub(crate) course: String,
    /// Where the knee stands along the horizontal axis.
    pub(crate) x: Percent,
    /// Where it stands, from above.
    pub(crate) y: Percent,
    /// The level at the knee; none where the label of another knee is too near.
    pub(crate) label: Option<String>,
    /// Whether the label is left out where the screen is narrow.
    pub(crate) minor: bool,
}

/// The chart of an experiment; none where its variants make no curve.
pub(crate) fn chart(experiment: &ExperimentAnalysis) -> Option<Chart> {
    let curve = experiment.curve.as_ref()?;
    let drawable = |series: &&Series| !series.points.is_empty();
    let (drawn, left_out): (Vec<&Series>, Vec<&Series>) = {
        let mut all: Vec<&Series> = curve.series.iter().filter(drawable).collect();
        let rest = all.split_off(all.len().min(LINES));
        (all, rest)
    };
    let axes = Axes::over(&drawn)?;
    let mut lines: Vec<Line> = drawn
        .iter()
        .enumerate()
        .map(|(index, series)| axes.line(index, series, &experiment.metric))
        .collect();
    labels::spread(lines.iter_mut().map(|line| &mut line.label).collect());
    thin_out(&mut lines);
    Some(Chart {
        heading: format!(
            "{}, {}",
            metric_heading(&experiment.metric),
            direction(&experiment.metric)
        ),
        remark: axes.remark(),
        factor: curve.factor.clone(),
        by: curve.by.clone(),
        across: axes.across(curve),
        up: axes.up(&experiment.metric),
        lines,
        left_out: (!left_out.is_empty()).then(|| not_drawn(&left_out)),
        knees: knees::knees(experiment),
    })
}

fn not_drawn(series: &[&Series]) -> String {
    let labels: Vec<String> = series.iter().map(|series| series.label.clone()).collect();
    format!(
        "Not drawn: {}; every variant stands in the plot below.",
        named(&labels, LINES)
    )
}

/// Labels of knees that would overlap are left out, on narrow screens or everywhere: the sentences
/// below name every knee.
fn thin_out(lines: &mut [Line]) {
    let mut placed: Vec<f64> = Vec::new();
    for bend in lines.iter_mut().filter_map(|line| line.bend.as_mut()) {
        let nearest = placed.iter().map(|x| (x - bend.x.0).abs());
        match nearest.fold(f64::INFINITY, f64::min) {
            near if near < NEAR_LABEL / 2.0 => bend.label = None,
            near => {
                bend.minor = near < NEAR_LABEL;
                placed.push(bend.x.0);
            }
        }
    }
}

/// Both axes.
struct Axes {
    x: Axis,
    y: Axis,
}

impl Axes {
    fn over(drawn: &[&Series]) -> Option<Axes> {
        let points = || drawn.iter().flat_map(|series| &series.points);
        Some(Axes {
            x: Axis::logarithmic_over(points().map(|point| point.x))?,
            y: Axis::over(points().flat_map(|point| [point.low, point.high]))?,
        })
    }

    fn remark(&self) -> String {
        let upright = match (self.y.is_log(), self.y.is_cut()) {
            (true, _) => return "both scales are logarithmic".to_owned(),
            (_, true) => ", the vertical one does not begin at zero",
            _ => "",
        };
        format!("the horizontal scale is logarithmic{upright}")
    }

    /// Marks at the levels that were measured, as far as there is room.
    fn across(&self, curve: &Curve) -> Vec<Tick> {
        let mut levels: Vec<f64> = curve
            .series
            .iter()
            .flat_map(|series| series.points.iter().map(|point| point.x))
            .collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let (mut last, mut last_major) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let mut ticks = Vec::new();
        for level in levels {
            let at = self.x.place(level);
            if at.0 - last < NEAR / 2.0 {
                continue;
            }
            last = at.0;
            let minor = at.0 - last_major < NEAR;
            if !minor {
                last_major = at.0;
            }
            ticks.push(Tick {
                at,
                label: figures::level(level),
                minor,
            });
        }
        ticks
    }

    fn up(&self, metric: &str) -> Vec<Tick> {
        let ticks = self.y.ticks(metric).into_iter();
        ticks
            .map(|tick| Tick {
                at: from_above(tick.at),
                ..tick
            })
            .collect()
    }

    fn place(&self, x: f64, y: f64) -> (Percent, Percent) {
        (self.x.place(x), from_above(self.y.place(y)))
    }

    fn line(&self, index: usize, series: &Series, metric: &str) -> Line {
        const CLASSES: [&str; LINES] = ["s1", "s2", "s3", "s4"];
        let places: Vec<(Percent, Percent)> = series
            .points
            .iter()
            .map(|point| self.place(point.x, point.median))
            .collect();
        let end = places.last().map_or(Percent(0.0), |(_, y)| *y);
        Line {
            class: CLASSES[index % LINES],
            label: Label::new(&series.label, end),
            course: course(&places),
            dots: series
                .points
                .iter()
                .map(|point| self.dot(point, series, metric))
                .collect(),
            bend: series.bend.as_ref().map(|bend| self.bend(bend, series)),
        }
    }

    fn dot(&self, point: &Point, series: &Series, metric: &str) -> Dot {
        let (x, y) = self.place(point.x, point.median);
        let range = Interval {
            low: point.low,
            high: point.high,
        };
        let name = match series.label.as_str() {
            "" => String::new(),
            label => format!("{label}, "),
        };
        Dot {
            x,
            y,
            top: from_above(self.y.place(point.high)),
            bottom: from_above(self.y.place(point.low)),
            words: format!(
                "{name}{}: median {}, trials {}",
                figures::level(point.x),
                figures::figure(point.median, metric),
                figures::range(range, metric)
            ),
        }
    }

    /// The model speaks of time per row, the chart shows rows a second.
    fn bend(&self, model: &Model, series: &Series) -> Bend {
        let rate = |rows: f64| 1.0 / model.seconds_per_row(rows);
        let (first, last) = match (series.points.first(), series.points.last()) {
            (Some(first), Some(last)) => (first.x, last.x),
            _ => (model.at(), model.at()),
        };
        let step = |step: usize| first * (last / first).powf(step as f64 / STEPS as f64);
        let places: Vec<(Percent, Percent)> = (0..=STEPS)
            .map(step)
            .map(|rows| self.place(rows, rate(rows)))
            .collect();
        let (x, y) = self.place(model.at(), rate(model.at()));
        Bend {
            course: course(&places),
            x,
            y,
            label: Some(figures::about(model.at())),
            minor: false,
        }
    }
}

fn from_above(at: Percent) -> Percent {
    Percent(100.0 - at.0)
}

fn course(places: &[(Percent, Percent)]) -> String {
    let pairs: Vec<String> = places
        .iter()
        .map(|(x, y)| format!("{:.2},{:.2}", x.0, y.0))
        .collect();
    pairs.join(" ")
}
