//! The dot-and-interval ("forest") plot of the variants of one experiment.
//!
//! The dot is the median over trials in the metric's own unit. The thick line is the interval of
//! the variant's ratio to the baseline, laid on the baseline's median, so that its distance from
//! the baseline's line shows what the comparison shows. The thin line reaches from the smallest
//! to the largest trial. Variants without a measurement stand in their place with the reason. Limits
//! stand below the variants on the same axis, with a hollow mark. (The form is that of Lewis and
//! Clarke, "Forest plots: trying to see the wood and the trees", BMJ 322, 2001.)

use lab::analysis::{ExperimentAnalysis, UpperBoundAnalysis, VariantAnalysis};
use lab::stats::Interval;

use super::{Axis, Percent, Span, Tick};
use crate::facts::variant_notes;
use crate::figures;
use crate::names::Names;
use crate::words::{
    Standing, UPPER_BOUND, by_rank, direction, metric_heading, upper_bound_problem,
};

/// Up to this number every variant is drawn.
const ALL_UP_TO: usize = 40;
/// Of more, so many of the best are drawn,
const BEST: usize = 16;
/// and so many of the worst.
const WORST: usize = 4;

/// A plot ready to be drawn.
pub(crate) struct Forest {
    /// What the axis shows: `Rows a second, higher is better`.
    pub(crate) heading: String,
    /// What a reader must know of the axis, such as that it is logarithmic.
    pub(crate) remark: Option<&'static str>,
    /// The marks of the axis; none when nothing was measured.
    pub(crate) ticks: Vec<Tick>,
    /// Where the baseline's median stands.
    pub(crate) baseline: Option<Percent>,
    /// The variants from best to worst; of many the best, the baseline and the worst.
    pub(crate) rows: Vec<Row>,
    /// Which variants are drawn, where not all are.
    pub(crate) drawn: Option<String>,
    /// What bounds the variants, set apart from them: neither ranked nor compared.
    pub(crate) upper_bounds: Vec<UpperBoundRow>,
}

/// One limit.
pub(crate) struct UpperBoundRow {
    /// Its name.
    pub(crate) name: String,
    /// What was done, in words.
    pub(crate) says: String,
    /// The median with its unit; none without a measurement.
    pub(crate) median: Option<String>,
    /// The marks, without an interval; none without a measurement.
    pub(crate) marks: Option<Marks>,
    /// Why there is no measurement.
    pub(crate) problem: Option<String>,
    /// The whole row in words.
    pub(crate) words: String,
}

/// One variant.
pub(crate) struct Row {
    /// Its short name.
    pub(crate) name: String,
    /// Its full label.
    pub(crate) label: String,
    /// How it stands to the baseline.
    pub(crate) standing: Standing,
    /// Its groups of ranks.
    pub(crate) groups: String,
    /// The median with its unit; none without a measurement.
    pub(crate) median: Option<String>,
    /// The ratio to the baseline with its interval.
    pub(crate) ratio: Option<String>,
    /// What can be said where no difference was seen.
    pub(crate) unseen: Option<String>,
    /// The marks; none without a measurement.
    pub(crate) marks: Option<Marks>,
    /// Why there is no measurement, or what weakens it.
    pub(crate) notes: Vec<String>,
    /// The whole row in words, for those who cannot see it.
    pub(crate) words: String,
}

/// The marks of one variant.
pub(crate) struct Marks {
    /// The median.
    pub(crate) dot: Percent,
    /// Smallest to largest.
    pub(crate) range: Span,
    /// The interval of the effect; none for the baseline.
    pub(crate) interval: Option<Span>,
}

/// The plot of an experiment.
pub(crate) fn forest(experiment: &ExperimentAnalysis) -> Forest {
    let baseline = experiment
        .variants
        .first()
        .and_then(|variant| median(experiment, variant));
    let axis = axis(experiment, baseline);
    let names = Names::of(experiment);
    let chosen = chosen(&by_rank(experiment), |variant| {
        experiment.variants[variant].baseline
    });
    let drawn = (chosen.len() < experiment.variants.len()).then(|| {
        let all = figures::count(experiment.variants.len());
        format!("Of {all} variants the {BEST} best, the baseline and the {WORST} worst are drawn; the table below has every variant.")
    });
    let rows = chosen
        .into_iter()
        .map(|variant| row(experiment, variant, names.get(variant), axis, baseline))
        .collect();
    Forest {
        heading: format!(
            "{}, {}",
            metric_heading(&experiment.metric),
            direction(&experiment.metric)
        ),
        remark: axis.and_then(remark),
        ticks: axis
            .map(|axis| axis.ticks(&experiment.metric))
            .unwrap_or_default(),
        baseline: axis.zip(baseline).map(|(axis, value)| axis.place(value)),
        rows,
        drawn,
        upper_bounds: experiment
            .upper_bounds
            .iter()
            .map(|limit| upper_bound_row(limit, &experiment.metric, axis))
            .collect(),
    }
}

/// Whether an experiment has more variants than are drawn one by one.
pub(crate) fn is_large(experiment: &ExperimentAnalysis) -> bool {
    experiment.variants.len() > ALL_UP_TO
}

/// The variants that are drawn, of those ranked from best to worst.
fn chosen(ranked: &[usize], is_baseline: impl Fn(usize) -> bool) -> Vec<usize> {
    let all = ranked.len();
    let is_drawn = |place: usize| {
        all <= ALL_UP_TO || place < BEST || place + WORST >= all || is_baseline(ranked[place])
    };
    let places = (0..all).filter(|place| is_drawn(*place));
    places.map(|place| ranked[place]).collect()
}

fn remark(axis: Axis) -> Option<&'static str> {
    match (axis.is_log(), axis.is_cut()) {
        (true, _) => Some("logarithmic scale"),
        (_, true) => Some("the scale does not begin at zero"),
        _ => None,
    }
}

fn axis(experiment: &ExperimentAnalysis, baseline: Option<f64>) -> Option<Axis> {
    let of_variants = experiment.variants.iter().flat_map(|variant| {
        let summary = variant.summaries.get(&experiment.metric);
        let range = summary.map(|summary| [summary.range.low, summary.range.high]);
        let interval = laid(variant, baseline).filter(Interval::is_bounded);
        let ends = interval.map(|interval| [interval.low, interval.high]);
        range.into_iter().chain(ends).flatten()
    });
    let of_upper_bounds = experiment
        .upper_bounds
        .iter()
        .filter_map(|limit| limit.summary);
    let of_upper_bounds =
        of_upper_bounds.flat_map(|summary| [summary.range.low, summary.range.high]);
    Axis::over_with(
        &of_variants.collect::<Vec<f64>>(),
        &of_upper_bounds.collect::<Vec<f64>>(),
    )
}

fn median(experiment: &ExperimentAnalysis, variant: &VariantAnalysis) -> Option<f64> {
    variant
        .summaries
        .get(&experiment.metric)
        .map(|summary| summary.median)
}

/// The interval of the variant's ratio laid on the baseline's median.
fn laid(variant: &VariantAnalysis, baseline: Option<f64>) -> Option<Interval> {
    let (effect, baseline) = (variant.effect.as_ref()?, baseline?);
    Some(
        effect
            .estimate
            .interval
            .map_increasing(|ratio| ratio * baseline),
    )
}

fn row(
    experiment: &ExperimentAnalysis,
    variant: usize,
    name: &str,
    axis: Option<Axis>,
    baseline: Option<f64>,
) -> Row {
    let variant = &experiment.variants[variant];
    let summary = variant.summaries.get(&experiment.metric);
    let marks = axis.zip(summary).map(|(axis, summary)| Marks {
        dot: axis.place(summary.median),
        range: axis.span(summary.range),
        interval: laid(variant, baseline).map(|interval| axis.span(interval)),
    });
    let estimate = variant.effect.as_ref().map(|effect| &effect.estimate);
    let standing = Standing::of(variant, &experiment.metric);
    let mut row = Row {
        name: name.to_owned(),
        label: variant.label.clone(),
        standing,
        groups: variant.groups.clone(),
        median: summary.map(|summary| figures::figure(summary.median, &experiment.metric)),
        ratio: estimate.map(|estimate| figures::ratio(estimate.centre, estimate.interval)),
        unseen: estimate.and_then(|estimate| unseen(standing, estimate.detectable)),
        marks,
        notes: variant_notes(experiment, variant),
        words: String::new(),
    };
    let range = summary.map(|summary| figures::range(summary.range, &experiment.metric));
    row.words = in_words(&row, range);
    row
}

fn upper_bound_row(limit: &UpperBoundAnalysis, metric: &str, axis: Option<Axis>) -> UpperBoundRow {
    let median = limit
        .summary
        .map(|summary| figures::figure(summary.median, metric));
    let problem = upper_bound_problem(limit);
    let range = limit
        .summary
        .map(|summary| figures::range(summary.range, metric));
    let words = match (&median, range, &problem) {
        (Some(median), Some(range), _) => format!("median {median}, trials {range}"),
        (.., problem) => problem.clone().unwrap_or_default(),
    };
    UpperBoundRow {
        name: limit.name.clone(),
        says: limit.says.clone(),
        median,
        marks: axis.zip(limit.summary).map(|(axis, summary)| Marks {
            dot: axis.place(summary.median),
            range: axis.span(summary.range),
            interval: None,
        }),
        problem,
        words: format!("{UPPER_BOUND} {}: {words}", limit.name),
    }
}

fn unseen(standing: Standing, detectable: f64) -> Option<String> {
    let seen = standing != Standing::Same;
    (!seen).then(|| {
        format!(
            "{} (detectable difference {})",
            standing.words(),
            figures::percent(detectable)
        )
    })
}

fn in_words(row: &Row, range: Option<String>) -> String {
    let (Some(median), Some(range)) = (&row.median, range) else {
        return format!("{}: {}", row.label, row.notes.join("; "));
    };
    let compared = match (&row.ratio, row.standing) {
        (_, Standing::Baseline) => "the baseline".to_owned(),
        (Some(ratio), standing) => format!("{ratio} of the baseline, {}", standing.words()),
        (None, _) => "not compared with the baseline".to_owned(),
    };
    format!("{}: median {median}, trials {range}; {compared}", row.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_variants_the_best_the_baseline_and_the_worst_are_drawn() {
        let ranked: Vec<usize> = (0..432).rev().collect();
        let drawn = chosen(&ranked, |variant| variant == 100);
        assert_eq!(drawn.len(), BEST + 1 + WORST);
        assert_eq!(&drawn[..2], [431, 430]);
        assert_eq!(&drawn[BEST..], [100, 3, 2, 1, 0]);
        assert_eq!(chosen(&ranked[..ALL_UP_TO], |_| false).len(), ALL_UP_TO);
    }
}
