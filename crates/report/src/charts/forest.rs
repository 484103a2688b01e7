//! The dot-and-interval ("forest") plot of the arms of one experiment.
//!
//! The dot is the median over trials in the metric's own unit. The thick line is the interval of
//! the arm's ratio to the reference, laid on the reference's median, so that its distance from
//! the reference's line shows what the comparison shows. The thin line reaches from the smallest
//! to the largest trial. Arms without a measurement stand in their place with the reason. Limits
//! stand below the arms on the same axis, with a hollow mark. (The form is that of Lewis and
//! Clarke, "Forest plots: trying to see the wood and the trees", BMJ 322, 2001.)

use lab::analysis::{ArmAnalysis, ExperimentAnalysis, LimitAnalysis};
use lab::stats::Interval;

use super::{Axis, Percent, Span, Tick};
use crate::facts::arm_notes;
use crate::figures;
use crate::names::Names;
use crate::words::{LIMIT, Standing, by_rank, direction, limit_problem, metric_heading};

/// Up to this number every arm is drawn.
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
    /// Where the reference's median stands.
    pub(crate) reference: Option<Percent>,
    /// The arms from best to worst; of many the best, the reference and the worst.
    pub(crate) rows: Vec<Row>,
    /// Which arms are drawn, where not all are.
    pub(crate) drawn: Option<String>,
    /// What bounds the arms, set apart from them: neither ranked nor compared.
    pub(crate) limits: Vec<LimitRow>,
}

/// One limit.
pub(crate) struct LimitRow {
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

/// One arm.
pub(crate) struct Row {
    /// Its short name.
    pub(crate) name: String,
    /// Its full label.
    pub(crate) label: String,
    /// How it stands to the reference.
    pub(crate) standing: Standing,
    /// Its groups of ranks.
    pub(crate) groups: String,
    /// The median with its unit; none without a measurement.
    pub(crate) median: Option<String>,
    /// The ratio to the reference with its interval.
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

/// The marks of one arm.
pub(crate) struct Marks {
    /// The median.
    pub(crate) dot: Percent,
    /// Smallest to largest.
    pub(crate) range: Span,
    /// The interval of the effect; none for the reference.
    pub(crate) interval: Option<Span>,
}

/// The plot of an experiment.
pub(crate) fn forest(experiment: &ExperimentAnalysis) -> Forest {
    let reference = experiment
        .arms
        .first()
        .and_then(|arm| median(experiment, arm));
    let axis = axis(experiment, reference);
    let names = Names::of(experiment);
    let chosen = chosen(&by_rank(experiment), |arm| experiment.arms[arm].reference);
    let drawn = (chosen.len() < experiment.arms.len()).then(|| {
        let all = figures::count(experiment.arms.len());
        format!("Of {all} arms the {BEST} best, the reference and the {WORST} worst are drawn; the table below has every arm.")
    });
    let rows = chosen
        .into_iter()
        .map(|arm| row(experiment, arm, names.get(arm), axis, reference))
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
        reference: axis.zip(reference).map(|(axis, value)| axis.place(value)),
        rows,
        drawn,
        limits: experiment
            .limits
            .iter()
            .map(|limit| limit_row(limit, &experiment.metric, axis))
            .collect(),
    }
}

/// Whether an experiment has more arms than are drawn one by one.
pub(crate) fn is_large(experiment: &ExperimentAnalysis) -> bool {
    experiment.arms.len() > ALL_UP_TO
}

/// The arms that are drawn, of those ranked from best to worst.
fn chosen(ranked: &[usize], is_reference: impl Fn(usize) -> bool) -> Vec<usize> {
    let all = ranked.len();
    let is_drawn = |place: usize| {
        all <= ALL_UP_TO || place < BEST || place + WORST >= all || is_reference(ranked[place])
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

fn axis(experiment: &ExperimentAnalysis, reference: Option<f64>) -> Option<Axis> {
    let of_arms = experiment.arms.iter().flat_map(|arm| {
        let summary = arm.summaries.get(&experiment.metric);
        let range = summary.map(|summary| [summary.range.low, summary.range.high]);
        let interval = laid(arm, reference).filter(Interval::is_bounded);
        let ends = interval.map(|interval| [interval.low, interval.high]);
        range.into_iter().chain(ends).flatten()
    });
    let of_limits = experiment.limits.iter().filter_map(|limit| limit.summary);
    let of_limits = of_limits.flat_map(|summary| [summary.range.low, summary.range.high]);
    Axis::over_with(
        &of_arms.collect::<Vec<f64>>(),
        &of_limits.collect::<Vec<f64>>(),
    )
}

fn median(experiment: &ExperimentAnalysis, arm: &ArmAnalysis) -> Option<f64> {
    arm.summaries
        .get(&experiment.metric)
        .map(|summary| summary.median)
}

/// The interval of the arm's ratio laid on the reference's median.
fn laid(arm: &ArmAnalysis, reference: Option<f64>) -> Option<Interval> {
    let (effect, reference) = (arm.effect.as_ref()?, reference?);
    Some(
        effect
            .estimate
            .interval
            .map_increasing(|ratio| ratio * reference),
    )
}

fn row(
    experiment: &ExperimentAnalysis,
    arm: usize,
    name: &str,
    axis: Option<Axis>,
    reference: Option<f64>,
) -> Row {
    let arm = &experiment.arms[arm];
    let summary = arm.summaries.get(&experiment.metric);
    let marks = axis.zip(summary).map(|(axis, summary)| Marks {
        dot: axis.place(summary.median),
        range: axis.span(summary.range),
        interval: laid(arm, reference).map(|interval| axis.span(interval)),
    });
    let estimate = arm.effect.as_ref().map(|effect| &effect.estimate);
    let standing = Standing::of(arm, &experiment.metric);
    let mut row = Row {
        name: name.to_owned(),
        label: arm.label.clone(),
        standing,
        groups: arm.groups.clone(),
        median: summary.map(|summary| figures::figure(summary.median, &experiment.metric)),
        ratio: estimate.map(|estimate| figures::ratio(estimate.centre, estimate.interval)),
        unseen: estimate.and_then(|estimate| unseen(standing, estimate.mde)),
        marks,
        notes: arm_notes(experiment, arm),
        words: String::new(),
    };
    let range = summary.map(|summary| figures::range(summary.range, &experiment.metric));
    row.words = in_words(&row, range);
    row
}

fn limit_row(limit: &LimitAnalysis, metric: &str, axis: Option<Axis>) -> LimitRow {
    let median = limit
        .summary
        .map(|summary| figures::figure(summary.median, metric));
    let problem = limit_problem(limit);
    let range = limit
        .summary
        .map(|summary| figures::range(summary.range, metric));
    let words = match (&median, range, &problem) {
        (Some(median), Some(range), _) => format!("median {median}, trials {range}"),
        (.., problem) => problem.clone().unwrap_or_default(),
    };
    LimitRow {
        name: limit.name.clone(),
        says: limit.says.clone(),
        median,
        marks: axis.zip(limit.summary).map(|(axis, summary)| Marks {
            dot: axis.place(summary.median),
            range: axis.span(summary.range),
            interval: None,
        }),
        problem,
        words: format!("{LIMIT} {}: {words}", limit.name),
    }
}

fn unseen(standing: Standing, mde: f64) -> Option<String> {
    let seen = standing != Standing::Same;
    (!seen).then(|| format!("{} (MDE {})", standing.words(), figures::percent(mde)))
}

fn in_words(row: &Row, range: Option<String>) -> String {
    let (Some(median), Some(range)) = (&row.median, range) else {
        return format!("{}: {}", row.label, row.notes.join("; "));
    };
    let compared = match (&row.ratio, row.standing) {
        (_, Standing::Reference) => "the reference".to_owned(),
        (Some(ratio), standing) => format!("{ratio} of the reference, {}", standing.words()),
        (None, _) => "not compared with the reference".to_owned(),
    };
    format!("{}: median {median}, trials {range}; {compared}", row.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_arms_the_best_the_reference_and_the_worst_are_drawn() {
        let ranked: Vec<usize> = (0..432).rev().collect();
        let drawn = chosen(&ranked, |arm| arm == 100);
        assert_eq!(drawn.len(), BEST + 1 + WORST);
        assert_eq!(&drawn[..2], [431, 430]);
        assert_eq!(&drawn[BEST..], [100, 3, 2, 1, 0]);
        assert_eq!(chosen(&ranked[..ALL_UP_TO], |_| false).len(), ALL_UP_TO);
    }
}
