//! Charts as data: what is to be drawn, in its own unit, without any axis.

use lab::stats::Interval;

use super::{Sentence, Table, Tone};

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its caption.
    pub caption: Sentence,
    /// How to read it.
    pub remark: Option<String>,
    /// The plot.
    pub plot: Plot,
    /// The figures, shown instead of the plot by forms that cannot draw; none if the plot is a
    /// table itself, or where text has said it all.
    pub figures: Option<Table>,
    /// Notes on single marks.
    pub notes: Vec<Sentence>,
}

impl Chart {
    /// A chart that its caption explains.
    pub fn new(caption: impl Into<Sentence>, plot: Plot) -> Chart {
        Chart { caption: caption.into(), remark: None, plot, figures: None, notes: Vec::new() }
    }

    /// The chart with a remark on how to read it.
    #[must_use]
    pub fn with_remark(self, remark: &str) -> Chart {
        Chart { remark: Some(remark.to_owned()), ..self }
    }
}

/// A plot.
#[derive(Clone, Debug)]
pub enum Plot {
    /// Dots with intervals, a row each.
    Forest(Forest),
    /// Lines.
    Curve(Curve),
    /// A figure over many runs.
    Course(Course),
    /// A table whose cells have a colour.
    Map(Map),
    /// Bars.
    Bars(Bars),
    /// Dots in bands.
    Bands(Bands),
}

/// The measure of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Figures of a metric, by its name.
    Metric(String),
    /// Ratios, for which 1 means equal.
    Ratio,
}

/// Dots with intervals.
#[derive(Clone, Debug)]
pub struct Forest {
    /// The measure of the axis.
    pub scale: Scale,
    /// The value that the others are compared with.
    pub baseline: Option<f64>,
    /// Headings of the columns of text at the side of the plot.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<ForestRow>,
    /// Rows that bound the others and stand apart below them.
    pub bounds: Vec<ForestRow>,
}

/// A row of dots with intervals.
#[derive(Clone, Debug, Default)]
pub struct ForestRow {
    /// Its whole label.
    pub id: String,
    /// Its name.
    pub name: Sentence,
    /// A smaller line below the name.
    pub detail: Sentence,
    /// One sign before the name.
    pub sign: &'static str,
    /// The meaning of the sign.
    pub tone: Tone,
    /// The marks; none without a measurement.
    pub marks: Option<Marks>,
    /// The texts at the side of the plot.
    pub cells: Vec<String>,
    /// The reason for missing marks.
    pub reason: Option<String>,
    /// The whole row in words.
    pub words: String,
}

/// The marks of a row.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// The figure.
    pub dot: f64,
    /// Smallest to largest: a thin line.
    pub range: Interval,
    /// The interval of what is compared: a thick line.
    pub interval: Option<Interval>,
    /// The form of the dot.
    pub mark: Mark,
}

/// Forms of dots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// The compared figure.
    #[default]
    Circle,
    /// The baseline.
    Diamond,
    /// An upper bound.
    Square,
}

/// Lines along a size.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The metric of the vertical axis.
    pub metric: String,
    /// The factor along the horizontal axis.
    pub factor: String,
    /// The lines, at most four.
    pub lines: Vec<Line>,
}

/// A line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name; empty for a single line.
    pub label: String,
    /// Its points from left to right.
    pub points: Vec<Point>,
    /// A model drawn over it.
    pub bend: Option<Bend>,
}

/// A point of a line.
#[derive(Clone, Debug)]
pub struct Point {
    /// Along the horizontal axis.
    pub x: f64,
    /// The median.
    pub y: f64,
    /// From the smallest to the largest.
    pub range: Interval,
    /// The point in words.
    pub words: String,
}

/// A model and where it bends.
#[derive(Clone, Debug)]
pub struct Bend {
    /// Its course.
    pub course: Vec<(f64, f64)>,
    /// Where it bends.
    pub at: (f64, f64),
    /// The label at the bend.
    pub label: String,
}

/// A figure over many runs, which stand at equal distances.
#[derive(Clone, Debug)]
pub struct Course {
    /// The measure of the vertical axis.
    pub scale: Scale,
    /// How many runs there are.
    pub runs: usize,
    /// The figures.
    pub points: Vec<CoursePoint>,
    /// The levels between changes.
    pub levels: Vec<CourseLevel>,
    /// Between which runs the level changed: 4.5 is between those with the numbers 4 and 5, from 0.
    pub changes: Vec<f64>,
    /// Where something else changed.
    pub marks: Vec<CourseMark>,
    /// The days of some runs, by the number of the run.
    pub days: Vec<(usize, String)>,
    /// The chart in words.
    pub words: String,
}

/// The figure of a run.
#[derive(Clone, Copy, Debug)]
pub struct CoursePoint {
    /// The number of the run, from 0.
    pub run: usize,
    /// The figure.
    pub y: f64,
    /// The interval drawn around it.
    pub interval: Interval,
}

/// A level.
#[derive(Clone, Copy, Debug)]
pub struct CourseLevel {
    /// The number of its first run.
    pub from: usize,
    /// The number of its last run.
    pub to: usize,
    /// Its figure.
    pub y: f64,
}

/// A change of something else.
#[derive(Clone, Debug)]
pub struct CourseMark {
    /// Between which runs it was.
    pub at: f64,
    /// The change in words.
    pub words: String,
}

/// A table whose cells have a colour.
#[derive(Clone, Debug, Default)]
pub struct Map {
    /// The factor of the rows.
    pub row_factor: Option<String>,
    /// The factor of the columns.
    pub column_factor: Option<String>,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<MapRow>,
    /// Why cells have no figure, by their numbers.
    pub reasons: Vec<String>,
}

/// A row of a map.
#[derive(Clone, Debug)]
pub struct MapRow {
    /// Its heading.
    pub name: String,
    /// Its cells.
    pub cells: Vec<MapCell>,
}

/// A cell of a map.
#[derive(Clone, Debug, Default)]
pub struct MapCell {
    /// The meaning of its colour.
    pub tone: Tone,
    /// How much better or worse: at least 1, which gives the colour its depth.
    pub times: f64,
    /// The ratio with its sign, or a word where there is none.
    pub text: String,
    /// A smaller line.
    pub below: String,
    /// The number of the reason for a missing figure.
    pub reason: Option<usize>,
}

/// Bars of one whole.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// The bars.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The part of the whole.
    pub name: Sentence,
    /// From 0 to 1.
    pub share: f64,
    /// The same in words.
    pub text: String,
    /// Whether it is filled; what is left over is not.
    pub filled: bool,
}

/// Dots in bands.
#[derive(Clone, Debug)]
pub struct Bands {
    /// The metric along the axis.
    pub metric: String,
    /// The bands, the first above.
    pub bands: Vec<Band>,
}

/// One band.
#[derive(Clone, Debug)]
pub struct Band {
    /// The meaning of its colour.
    pub tone: Tone,
    /// The signs before the name.
    pub sign: String,
    /// Its contents.
    pub name: String,
    /// A smaller line.
    pub detail: Sentence,
    /// The dots, in any order.
    pub dots: Vec<BandDot>,
}

/// One dot in a band.
#[derive(Clone, Debug)]
pub struct BandDot {
    /// Along the axis.
    pub value: f64,
    /// Whether it is filled and joined to the others that are.
    pub joined: bool,
    /// Its form.
    pub mark: Mark,
    /// The dot in words.
    pub words: String,
}
