//! The strip beside a claim: where the bound lies, where the figure, where the published one.

use lab::claims::Judged;
use lab::stats::Interval;

use super::{Axis, Percent, Span};
use crate::figures;

/// A strip ready to be drawn.
pub(crate) struct Strip {
    /// The figures that confirm.
    pub(crate) zone: Span,
    /// The measured figure.
    pub(crate) dot: Percent,
    /// Its interval.
    pub(crate) interval: Option<Span>,
    /// The published figure.
    pub(crate) published: Option<Percent>,
    /// The strip in words.
    pub(crate) words: String,
}

/// The strip of a claim; none where there is no figure.
pub(crate) fn strip(judged: &Judged) -> Option<Strip> {
    let figure = judged.figure.filter(|figure| figure.is_finite())?;
    let interval = judged.interval;
    let ends = interval
        .filter(Interval::is_bounded)
        .map(|interval| [interval.low, interval.high]);
    let stated = [
        Some(figure),
        judged.bounds.low,
        judged.bounds.high,
        judged.claim.published,
    ];
    // No difference belongs into the picture: most claims are about being above or below it. An
    // absolute figure has no such value.
    let none = match (&judged.unit, figures::is_spread(judged)) {
        (Some(_), _) => None,
        (None, true) => Some(0.0),
        (None, false) => Some(1.0),
    };
    let values = stated
        .into_iter()
        .flatten()
        .chain(ends.into_iter().flatten())
        .chain(none);
    let axis = Axis::over(values)?;
    Some(Strip {
        zone: Span {
            from: judged
                .bounds
                .low
                .map_or(Percent(0.0), |low| axis.place(low)),
            to: judged
                .bounds
                .high
                .map_or(Percent(100.0), |high| axis.place(high)),
        },
        dot: axis.place(figure),
        interval: interval.map(|interval| axis.span(interval)),
        published: judged
            .claim
            .published
            .map(|published| axis.place(published)),
        words: in_words(judged),
    })
}

fn in_words(judged: &Judged) -> String {
    let measured = figures::claim_figure(judged).unwrap_or_default();
    let interval = figures::claim_interval(judged)
        .map(|it| format!(" {it}"))
        .unwrap_or_default();
    let published = figures::claim_published(judged).map(|it| format!(", published {it}"));
    let bounds = figures::claim_bounds(judged);
    format!(
        "measured {measured}{interval}{}, confirmed by {bounds}",
        published.unwrap_or_default()
    )
}
