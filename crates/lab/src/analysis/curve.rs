//! The curve of an experiment whose variants differ in a size: the metric along that factor.
//!
//! It stands apart from the comparison of variants because nothing is compared here: a curve shows
//! the figures of the variants in their order along one factor, a line for each level of the others,
//! and where a line bends.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Summary, VariantAnalysis};
use crate::experiment::Labels;
use crate::level::{Level, Settings, label};
use crate::stats::curve::{CacheKnee, VolumeCost, fit_cache_knee, fit_volume_cost};

/// Fewest levels along which a curve is drawn.
const MIN_LEVELS: usize = 4;
/// Least ratio of the largest to the smallest of these levels.
const MIN_SPAN: f64 = 10.0;
/// The factor and the metric to which the model of a cache applies: the mean time per row over
/// the growth of a table from nothing to that many rows.
const GROWTH: (&str, &str) = ("rows", "rows_per_s");
/// The factor and the metric to which the model of a row's length applies.
const LENGTH: (&str, &str) = ("characters", "rows_per_s");

/// A metric along a numeric factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The factor along which it runs.
    pub factor: String,
    /// The other factors, whose levels tell the lines apart; none for a single line.
    pub by: Vec<String>,
    /// The lines in the order of the plan, the baseline's first.
    pub series: Vec<Series>,
}

/// One line of a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The levels of the other factors: the level alone where there is one such factor, nothing
    /// where there is none.
    pub label: String,
    /// The measured variants in the order of `x`.
    pub points: Vec<Point>,
    /// Where the line bends and why; `None` if the data do not show it, and for factors and
    /// metrics to which no model applies.
    pub bend: Option<Bend>,
}

/// Where a line bends, by the model that was fitted to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bend {
    /// A cache no longer suffices for a table.
    Cache(CacheKnee),
    /// The length of a row costs more than the row itself.
    Volume(VolumeCost),
}

impl Bend {
    /// Returns the level of the factor at which the line bends, within those that were measured.
    pub fn at(&self) -> f64 {
        match self {
            Bend::Cache(knee) => knee.capacity,
            Bend::Volume(cost) => cost.crossover(),
        }
    }

    /// Returns the model's time per row, in seconds, at a level of the factor.
    pub fn seconds_per_row(&self, x: f64) -> f64 {
        match self {
            Bend::Cache(knee) => knee.seconds_per_row(x),
            Bend::Volume(cost) => cost.seconds_per_row(x),
        }
    }
}

/// One variant on a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The level of the factor, above 0.
    pub x: f64,
    /// The median of its trials, in the unit of the metric.
    pub median: f64,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// Trials.
    pub n: usize,
}

impl Curve {
    /// Returns the curve of variants in a metric.
    ///
    /// None unless a factor has four positive numeric levels or more whose largest is at least ten
    /// times the smallest, every combination of the other factors has two variants along it or more,
    /// and one of these lines has two measured points. Of several such factors it is the one that
    /// spans most.
    pub(super) fn of(
        metric: &str,
        factors: &BTreeMap<String, Vec<Level>>,
        labels: &Labels,
        variants: &[VariantAnalysis],
    ) -> Option<Curve> {
        let (factor, _) = factors
            .iter()
            .filter_map(|(name, levels)| Some((name, span(levels)?)))
            .max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        let by: Vec<String> = factors
            .iter()
            .filter(|(name, levels)| *name != factor && levels.len() > 1)
            .map(|(name, _)| name.clone())
            .collect();
        let lines = lines(variants, &by);
        if lines.iter().any(|(_, variants)| variants.len() < 2) {
            return None;
        }
        let series: Vec<Series> = lines
            .into_iter()
            .map(|(levels, variants)| Series {
                label: line_label(labels, &levels),
                ..series(metric, factor, &variants)
            })
            .collect();
        let drawn = series.iter().any(|series| series.points.len() > 1);
        drawn.then(|| Curve { factor: factor.clone(), by, series })
    }
}

/// Returns the ratio of the largest to the smallest level, where there is a curve along these levels.
fn span(levels: &[Level]) -> Option<f64> {
    let mut numbers: Vec<f64> = levels.iter().map(positive).collect::<Option<Vec<f64>>>()?;
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let span = numbers.last()? / numbers.first()?;
    (numbers.len() >= MIN_LEVELS && span >= MIN_SPAN).then_some(span)
}

fn positive(level: &Level) -> Option<f64> {
    let number = match level {
        Level::Int(value) => *value as f64,
        Level::Float(value) => *value,
        Level::Bool(_) | Level::Text(_) => return None,
    };
    (number.is_finite() && number > 0.0).then_some(number)
}

/// Returns the variants of each combination of levels of the other factors, in the order of the plan.
fn lines<'a>(
    variants: &'a [VariantAnalysis],
    by: &[String],
) -> Vec<(Settings, Vec<&'a VariantAnalysis>)> {
    let mut lines: Vec<(Settings, Vec<&VariantAnalysis>)> = Vec::new();
    for variant in variants {
        let levels: Settings = by
            .iter()
            .filter_map(|name| Some((name.clone(), variant.levels.get(name)?.clone())))
            .collect();
        match lines.iter_mut().find(|line| line.0 == levels) {
            Some(line) => line.1.push(variant),
            None => lines.push((levels, vec![variant])),
        }
    }
    lines
}

fn line_label(labels: &Labels, levels: &Settings) -> String {
    let composed = labels.compose(levels);
    composed.unwrap_or_else(|| match levels.values().next() {
        Some(only) if levels.len() == 1 => only.to_string(),
        _ => label(levels),
    })
}

fn series(metric: &str, factor: &str, variants: &[&VariantAnalysis]) -> Series {
    let mut points: Vec<Point> = variants
        .iter()
        .filter_map(|variant| {
            point(positive(variant.levels.get(factor)?)?, variant.summaries.get(metric)?)
        })
        .collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    Series { label: String::new(), bend: bend((factor, metric), &points), points }
}

fn point(x: f64, summary: &Summary) -> Option<Point> {
    summary.median.is_finite().then_some(Point {
        x,
        median: summary.median,
        low: summary.range.low,
        high: summary.range.high,
        n: summary.n,
    })
}

fn bend(what: (&str, &str), points: &[Point]) -> Option<Bend> {
    let sizes: Vec<f64> = points.iter().map(|point| point.x).collect();
    let times: Vec<f64> = points.iter().map(|point| 1.0 / point.median).collect();
    match what {
        GROWTH => fit_cache_knee(&sizes, &times).map(Bend::Cache),
        LENGTH => fit_volume_cost(&sizes, &times).map(Bend::Volume),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(levels: &[(&str, Level)], figure: Option<f64>) -> VariantAnalysis {
        let levels: Settings =
            levels.iter().map(|(name, level)| ((*name).to_owned(), level.clone())).collect();
        let summary = figure.and_then(|figure| Summary::of(&[0.9 * figure, figure, 1.1 * figure]));
        VariantAnalysis {
            summaries: summary
                .map(|summary| ("rows_per_s".to_owned(), summary))
                .into_iter()
                .collect(),
            ..VariantAnalysis::made_up(levels)
        }
    }

    const SIZES: [i64; 6] = [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000];

    fn factors(sizes: &[i64], orders: &[&str]) -> BTreeMap<String, Vec<Level>> {
        BTreeMap::from([
            ("rows".to_owned(), sizes.iter().copied().map(Level::from).collect()),
            ("order".to_owned(), orders.iter().copied().map(Level::from).collect()),
        ])
    }

    /// Random order falls out of a cache of a million rows; sorted order never does.
    fn rate(rows: i64, order: &str) -> f64 {
        let knee = CacheKnee { base: 1e-6, miss: 1e-5, capacity: 1e6, r_squared: 1.0 };
        match order {
            "random" => 1.0 / knee.seconds_per_row(rows as f64),
            _ => 2e6,
        }
    }

    fn variants(sizes: &[i64], orders: &[&str]) -> Vec<VariantAnalysis> {
        let pairs = orders.iter().flat_map(|order| sizes.iter().map(move |rows| (*rows, *order)));
        pairs
            .map(|(rows, order)| {
                let levels = [("rows", Level::from(rows)), ("order", Level::from(order))];
                variant(&levels, Some(rate(rows, order)))
            })
            .collect()
    }

    #[test]
    fn a_factorial_over_sizes_has_a_line_for_each_level_of_the_other_factor() {
        let orders = ["random", "sorted"];
        let curve = Curve::of(
            "rows_per_s",
            &factors(&SIZES, &orders),
            &Labels::default(),
            &variants(&SIZES, &orders),
        );
        let curve = curve.expect("a curve");
        assert_eq!((curve.factor.as_str(), &curve.by[..]), ("rows", &["order".to_owned()][..]));
        let labels: Vec<&str> = curve.series.iter().map(|series| &series.label[..]).collect();
        assert_eq!(labels, orders);
        let xs: Vec<f64> = curve.series[0].points.iter().map(|point| point.x).collect();
        assert_eq!(xs, SIZES.map(|size| size as f64));
    }

    #[test]
    fn only_the_line_that_bends_has_a_knee() {
        let orders = ["random", "sorted"];
        let (factors, variants) = (factors(&SIZES, &orders), variants(&SIZES, &orders));
        let curve = Curve::of("rows_per_s", &factors, &Labels::default(), &variants).unwrap();
        let capacity = curve.series[0].bend.expect("a knee").at();
        assert!((capacity / 1e6).ln().abs() < 0.05, "{capacity}");
        assert!(curve.series[1].bend.is_none());
    }

    #[test]
    fn the_lengths_of_rows_bend_where_the_bytes_cost_more_than_the_row() {
        let lengths = [4, 16, 64, 128, 512];
        let rate = |length: i64| 1.0 / (2e-7 + 2e-9 * length as f64);
        let variants: Vec<VariantAnalysis> = lengths
            .iter()
            .map(|length| variant(&[("characters", (*length).into())], Some(rate(*length))))
            .collect();
        let levels = lengths.iter().copied().map(Level::from).collect();
        let factors = BTreeMap::from([("characters".to_owned(), levels)]);
        let curve = Curve::of("rows_per_s", &factors, &Labels::default(), &variants).unwrap();
        let bend = curve.series[0].bend.expect("a bend");
        assert!(matches!(bend, Bend::Volume(_)));
        assert!((bend.at() - 100.0).abs() < 0.1, "{bend:?}");
    }

    #[test]
    fn levels_too_few_or_too_close_make_no_curve() {
        for sizes in [&[1, 10, 100][..], &[100, 200, 300, 400], &[0, 10, 100, 1000]] {
            let (factors, variants) = (factors(sizes, &["random"]), variants(sizes, &["random"]));
            assert_eq!(
                Curve::of("rows_per_s", &factors, &Labels::default(), &variants),
                None,
                "{sizes:?}"
            );
        }
    }

    #[test]
    fn a_design_that_changes_one_factor_at_a_time_makes_no_curve() {
        let mut one_at_a_time = variants(&SIZES, &["random"]);
        one_at_a_time.extend(variants(&SIZES[..1], &["sorted"]));
        let factors = factors(&SIZES, &["random", "sorted"]);
        assert_eq!(Curve::of("rows_per_s", &factors, &Labels::default(), &one_at_a_time), None);
    }

    #[test]
    fn variants_without_a_figure_leave_a_gap_and_nothing_measured_is_no_curve() {
        let mut gap = variants(&SIZES, &["random"]);
        gap[2].summaries.clear();
        let factors = factors(&SIZES, &["random"]);
        let curve = Curve::of("rows_per_s", &factors, &Labels::default(), &gap).unwrap();
        assert_eq!(curve.series[0].points.len(), 5);
        assert_eq!(curve.series[0].label, "");
        gap.iter_mut().for_each(|variant| variant.summaries.clear());
        assert_eq!(Curve::of("rows_per_s", &factors, &Labels::default(), &gap), None);
    }
}
