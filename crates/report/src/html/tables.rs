//! The tables of an experiment: its variants in its own metric, every other metric, and what the work
//! did.

use std::collections::{BTreeMap, BTreeSet};

use lab::analysis::{ExperimentAnalysis, UpperBoundAnalysis, VariantAnalysis};

use crate::beside::{Medians, metrics_beside};
use crate::facts::variant_notes;
use crate::figures;
use crate::names::Names;
use crate::tiers;
use crate::words::{Standing, by_rank, metric_heading, upper_bound_problem};
use crate::work::{self, Work};

/// Variants up to this number have their table open from the start.
const OPEN_UP_TO: usize = 8;

/// A cell with the number by which its column is sorted.
pub(super) struct Figure {
    /// The number; none sorts last.
    pub(super) value: Option<f64>,
    /// What is shown.
    pub(super) text: String,
}

impl Figure {
    fn new(value: Option<f64>, show: impl Fn(f64) -> String) -> Figure {
        Figure {
            value,
            text: value.map_or_else(|| "–".to_owned(), show),
        }
    }
}

/// The variants in the experiment's own metric.
pub(super) struct VariantTable {
    pub(super) open: bool,
    /// Whether variants have a tier each.
    pub(super) tiers: bool,
    pub(super) rows: Vec<VariantRow>,
    pub(super) upper_bounds: Vec<UpperBoundRow>,
}

/// One limit.
pub(super) struct UpperBoundRow {
    pub(super) name: String,
    pub(super) says: String,
    /// Median, range and trials; a dash where it was not measured.
    pub(super) figures: [String; 3],
    pub(super) problem: Option<String>,
}

impl UpperBoundRow {
    fn of(limit: &UpperBoundAnalysis, metric: &str) -> UpperBoundRow {
        let dash = || "–".to_owned();
        let figures = limit.summary.map(|summary| {
            [
                figures::figure(summary.median, metric),
                figures::range(summary.range, metric),
                figures::count(summary.n),
            ]
        });
        UpperBoundRow {
            name: limit.name.clone(),
            says: limit.says.clone(),
            figures: figures.unwrap_or_else(|| [dash(), dash(), dash()]),
            problem: upper_bound_problem(limit),
        }
    }
}

/// One variant.
pub(super) struct VariantRow {
    pub(super) name: String,
    pub(super) standing: Standing,
    /// Median, range, trials, ratio, interval and detectable difference.
    pub(super) figures: [Figure; 6],
    pub(super) groups: String,
    /// Its safety tier.
    pub(super) tier: TierCell,
    pub(super) notes: String,
}

/// The safety tier of a variant: a sign and a word or two, the counts, or why there is none.
pub(super) struct TierCell {
    pub(super) sign: &'static str,
    pub(super) short: &'static str,
    pub(super) counts: String,
    pub(super) only: Option<String>,
    pub(super) why: Option<String>,
}

impl TierCell {
    fn of(variant: &VariantAnalysis) -> TierCell {
        let tier = variant.safety.as_ref().map(|safety| &safety.tier);
        let narrowed = variant.safety.as_ref().and_then(|it| it.narrowed.as_ref());
        TierCell {
            sign: tiers::sign(variant.class()),
            short: tiers::short(variant.class()),
            counts: tier.map(tiers::counts).unwrap_or_default(),
            only: narrowed.map(tiers::narrowed_words),
            why: tier.filter(|tier| tier.class().is_none()).map(tiers::words),
        }
    }
}

impl VariantTable {
    /// The variants from best to worst.
    pub(super) fn of(experiment: &ExperimentAnalysis) -> VariantTable {
        let names = Names::of(experiment);
        VariantTable {
            open: experiment.variants.len() <= OPEN_UP_TO,
            tiers: tiers::has_column(experiment),
            rows: by_rank(experiment)
                .into_iter()
                .map(|variant| row(experiment, variant, names.get(variant)))
                .collect(),
            upper_bounds: experiment
                .upper_bounds
                .iter()
                .map(|limit| UpperBoundRow::of(limit, &experiment.metric))
                .collect(),
        }
    }
}

fn row(experiment: &ExperimentAnalysis, variant: usize, name: &str) -> VariantRow {
    let variant = &experiment.variants[variant];
    let metric = &experiment.metric;
    let summary = variant.summaries.get(metric);
    let estimate = variant.effect.as_ref().map(|effect| &effect.estimate);
    let interval =
        estimate.map(|estimate| figures::interval_of_ratio(estimate.centre, estimate.interval));
    let ratio = estimate.map(|estimate| figures::ratio_alone(estimate.centre, estimate.interval));
    let range = summary.map(|summary| figures::range(summary.range, metric));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    VariantRow {
        name: name.to_owned(),
        standing: Standing::of(variant, metric),
        figures: [
            Figure::new(summary.map(|summary| summary.median), |value| {
                figures::figure(value, metric)
            }),
            Figure {
                value: summary.map(|summary| summary.range.low),
                text: or_dash(range),
            },
            Figure::new(Some(variant.trials.measured as f64), |_| {
                figures::count(variant.trials.measured)
            }),
            Figure {
                value: estimate.map(|estimate| estimate.centre),
                text: or_dash(ratio),
            },
            Figure {
                value: estimate.map(|estimate| estimate.interval.low),
                text: or_dash(interval),
            },
            Figure::new(
                estimate.map(|estimate| estimate.detectable),
                figures::percent,
            ),
        ],
        groups: variant.groups.clone(),
        tier: TierCell::of(variant),
        notes: variant_notes(experiment, variant).join("; "),
    }
}

/// The medians of metrics: a line for each variant, a column for each metric.
pub(super) struct MetricTable {
    /// Name in records and heading of each metric.
    pub(super) metrics: Vec<(String, String)>,
    pub(super) rows: Vec<(String, Vec<Figure>)>,
}

impl MetricTable {
    /// Every metric but the experiment's own and those of many parts; none where there is no other.
    pub(super) fn of(experiment: &ExperimentAnalysis) -> Option<MetricTable> {
        let classes = classes(experiment);
        let others = every_metric(experiment).into_iter().filter(|name| {
            **name != experiment.metric && !(name.contains('.') && classes.contains_key(base(name)))
        });
        MetricTable::of_these(experiment, others.cloned().collect())
    }

    /// The experiment's own metric and those to be shown beside it; none where there are none.
    pub(super) fn beside(
        experiment: &ExperimentAnalysis,
        asked_for: &[String],
    ) -> Option<MetricTable> {
        let mut metrics = metrics_beside(experiment, asked_for);
        if !metrics.is_empty() {
            metrics.insert(0, experiment.metric.clone());
        }
        MetricTable::of_these(experiment, metrics)
    }

    fn of_these(experiment: &ExperimentAnalysis, metrics: Vec<String>) -> Option<MetricTable> {
        let Medians { metrics, rows } = Medians::of(experiment, metrics)?;
        let names = Names::of(experiment);
        let rows = rows.into_iter().map(|(variant, medians)| {
            let figures = metrics.iter().zip(medians).map(|(metric, median)| {
                Figure::new(median, |value| figures::figure(value, metric))
            });
            (names.get(variant).to_owned(), figures.collect())
        });
        Some(MetricTable {
            rows: rows.collect(),
            metrics: metrics
                .iter()
                .map(|name| (name.clone(), metric_heading(name)))
                .collect(),
        })
    }
}

/// Parts of a metric from which on they have a table of their own: more columns cannot be read.
const CLASSES_FROM: usize = 6;

fn every_metric(experiment: &ExperimentAnalysis) -> BTreeSet<&String> {
    let variants = experiment.variants.iter();
    variants
        .flat_map(|variant| variant.summaries.keys())
        .collect()
}

/// The name of a metric without its part.
fn base(name: &str) -> &str {
    name.split_once('.').map_or(name, |(base, _)| base)
}

/// The metrics of many parts, such as classes of queries, with their parts.
fn classes(experiment: &ExperimentAnalysis) -> BTreeMap<&str, Vec<&String>> {
    let mut classes: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for name in every_metric(experiment) {
        if name.contains('.') {
            classes.entry(base(name)).or_default().push(name);
        }
    }
    classes.retain(|_, parts| parts.len() >= CLASSES_FROM);
    classes
}

/// The medians of a metric of many parts: a line for each part, a column for each variant.
pub(super) struct ClassTable {
    /// What is shown.
    pub(super) heading: String,
    pub(super) variants: Vec<String>,
    pub(super) rows: Vec<(String, Vec<Figure>)>,
}

impl ClassTable {
    /// A table for each metric that has many parts.
    pub(super) fn all(experiment: &ExperimentAnalysis) -> Vec<ClassTable> {
        let names = Names::of(experiment);
        let variants: Vec<usize> = (0..experiment.variants.len())
            .filter(|variant| !experiment.variants[*variant].unmeasured())
            .collect();
        let row = |metric: &String| {
            let part = metric.split_once('.').map_or("", |(_, part)| part);
            let figures = variants.iter().map(|variant| {
                let summary = experiment.variants[*variant].summaries.get(metric);
                let median = summary.map(|summary| summary.median);
                Figure::new(median, |value| figures::figure(value, metric))
            });
            (part.to_owned(), figures.collect())
        };
        classes(experiment)
            .into_iter()
            .map(|(base, parts)| ClassTable {
                heading: metric_heading(base),
                variants: variants
                    .iter()
                    .map(|variant| names.get(*variant).to_owned())
                    .collect(),
                rows: parts.into_iter().map(row).collect(),
            })
            .collect()
    }
}

/// What the work of each variant did.
pub(super) struct WorkTable {
    /// How it was counted.
    pub(super) how: &'static str,
    /// Name in records and heading of each count.
    pub(super) columns: Vec<(String, String)>,
    pub(super) rows: Vec<(String, Vec<Figure>)>,
}

impl WorkTable {
    /// The table; none where nothing was counted.
    pub(super) fn of(experiment: &ExperimentAnalysis) -> Option<WorkTable> {
        let Work { columns, rows } = Work::of(experiment)?;
        let names = Names::of(experiment);
        let rows = rows.into_iter().map(|(variant, figures)| {
            let shown = columns.iter().zip(figures).map(|(column, value)| {
                Figure::new(value, |value| figures::compact(value, &column.metric))
            });
            (names.get(variant).to_owned(), shown.collect())
        });
        Some(WorkTable {
            how: work::HOW,
            rows: rows.collect(),
            columns: columns
                .iter()
                .map(|column| (column.metric.clone(), column.heading.clone()))
                .collect(),
        })
    }
}
