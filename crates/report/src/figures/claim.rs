//! The figures of a claim: measured, its interval, published or expected, and the bounds that confirm.
//!
//! All of them are written in one form, so that they can be compared at a glance: as a ratio, for a
//! spread, which is a ratio less one, in per cent, and for an absolute figure in the unit of its
//! metric.

use lab::claims::{Form, Judged};
use lab::stats::Interval;

use super::{
    figure, interval_of_figure, interval_of_ratio, percent, plain_ratio, ratio_alone, stated,
    stated_range, within_sense,
};

/// The measured figure of a claim: a ratio, for a spread the fraction in per cent, for an absolute
/// figure with its unit.
pub fn claim_figure(judged: &Judged) -> Option<String> {
    let value = judged.figure?;
    Some(match (&judged.unit, judged.interval) {
        (Some(metric), _) => figure(value, metric),
        (None, _) if is_spread(judged) => percent(value),
        (None, Some(interval)) => ratio_alone(value, interval),
        (None, None) => plain_ratio(value),
    })
}

/// The interval of a claim's figure, in the form of [`claim_figure`].
pub fn claim_interval(judged: &Judged) -> Option<String> {
    let (value, interval) = (judged.figure?, judged.interval?);
    Some(match &judged.unit {
        Some(metric) => interval_of_figure(within_sense(value, interval), metric),
        None if is_spread(judged) => interval_of_spread(interval),
        None => interval_of_ratio(value, interval),
    })
}

fn interval_of_spread(interval: Interval) -> String {
    /// More than a hundredfold, no spread is of any use.
    const FAR: f64 = 100.0;
    if interval.high <= FAR {
        format!("[{}, {}]", percent(interval.low), percent(interval.high))
    } else {
        format!("[{}, ∞]", percent(interval.low.max(0.0)))
    }
}

/// The published figure of a claim, in the form of [`claim_figure`].
pub fn claim_published(judged: &Judged) -> Option<String> {
    let published = judged.claim.published?;
    Some(claim_value(judged, published))
}

/// The expected figure of a claim, in the form of [`claim_figure`].
pub fn claim_expected(judged: &Judged) -> Option<String> {
    let expected = judged.claim.expected?;
    Some(claim_value(judged, expected.figure))
}

/// The bounds that confirm a claim: `at least ×2`.
pub fn claim_bounds(judged: &Judged) -> String {
    let show = |value| claim_value(judged, value);
    match (judged.bounds.low, judged.bounds.high) {
        (Some(low), Some(high)) => match &judged.unit {
            Some(metric) => stated_range(low, high, metric),
            None => format!("{} to {}", show(low), show(high)),
        },
        (Some(low), None) => format!("at least {}", show(low)),
        (None, Some(high)) => format!("at most {}", show(high)),
        (None, None) => "any".to_owned(),
    }
}

fn claim_value(judged: &Judged, value: f64) -> String {
    match &judged.unit {
        Some(metric) => stated(value, metric),
        None if is_spread(judged) => percent(value),
        None => plain_ratio(value),
    }
}

/// A spread is a ratio less one, so it is shown as a percentage.
pub(crate) fn is_spread(judged: &Judged) -> bool {
    matches!(judged.claim.forms().first(), Some(Form::Spread(_)))
}
