//! The figures of a claim: measured, its interval, published, and the bounds that confirm.
//!
//! All four are written in one form, so that they can be compared at a glance: as a ratio, or for
//! a spread, which is a ratio less one, in per cent.

use lab::claims::{Bounds, Form, Judged};

use super::{interval_of_ratio, percent, plain_ratio, ratio_alone};

/// The measured figure of a claim: a ratio, or for a spread the fraction in per cent.
pub fn claim_figure(judged: &Judged) -> Option<String> {
    let figure = judged.figure?;
    Some(match (is_spread(judged), judged.interval) {
        (true, _) => percent(figure),
        (false, Some(interval)) => ratio_alone(figure, interval),
        (false, None) => plain_ratio(figure),
    })
}

/// The interval of a claim's figure, in the form of [`claim_figure`].
pub fn claim_interval(judged: &Judged) -> Option<String> {
    let (figure, interval) = (judged.figure?, judged.interval?);
    Some(match is_spread(judged) {
        true if interval.high.is_finite() => {
            format!("[{}, {}]", percent(interval.low), percent(interval.high))
        }
        true => format!("[{}, ∞]", percent(interval.low.max(0.0))),
        false => interval_of_ratio(figure, interval),
    })
}

/// The published figure of a claim, in the form of [`claim_figure`].
pub fn claim_published(judged: &Judged) -> Option<String> {
    let published = judged.claim.published?;
    Some(claim_value(judged, published))
}

/// The bounds that confirm a claim: `at least ×2`.
pub fn claim_bounds(judged: &Judged) -> String {
    let show = |value| claim_value(judged, value);
    match judged.bounds {
        Bounds {
            low: Some(low),
            high: Some(high),
        } => format!("{} to {}", show(low), show(high)),
        Bounds {
            low: Some(low),
            high: None,
        } => format!("at least {}", show(low)),
        Bounds {
            low: None,
            high: Some(high),
        } => format!("at most {}", show(high)),
        Bounds {
            low: None,
            high: None,
        } => "any".to_owned(),
    }
}

fn claim_value(judged: &Judged, value: f64) -> String {
    if is_spread(judged) {
        percent(value)
    } else {
        plain_ratio(value)
    }
}

/// A spread is a ratio less one, so it is shown as a percentage.
pub(crate) fn is_spread(judged: &Judged) -> bool {
    matches!(judged.claim.forms().first(), Some(Form::Spread(_)))
}
