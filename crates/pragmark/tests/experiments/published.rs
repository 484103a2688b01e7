//! Bounds lie near the figures that were published or are expected, or say why they do not.

use crate::experiments;
use lab::claims::{Bounds, Claim, Form};

/// What is added to a figure before it is compared: a spread is a ratio less one.
fn offset(form: Form<'_>) -> f64 {
    if matches!(form, Form::Spread(_)) { 1.0 } else { 0.0 }
}

/// The factor between a figure and the nearest bound.
fn distance(claim: &Claim, figure: f64) -> f64 {
    let form = claim.forms()[0];
    let Bounds { low, high } = claim.bounds(form);
    let factor = |bound: f64| {
        let ratio = (figure + offset(form)) / (bound + offset(form));
        ratio.max(1.0 / ratio)
    };
    let bounds = [low, high].into_iter().flatten();
    bounds.map(factor).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_bound_far_from_the_figure_says_why() {
    let mut far = 0;
    for (name, experiment) in experiments() {
        for claim in &experiment.claims {
            let Some(figure) = claim.published_or_expected() else {
                continue;
            };
            let is_far = distance(claim, figure) > 2.0;
            far += usize::from(is_far);
            let confirms = claim.bounds(claim.forms()[0]).hold(figure);
            assert!(
                claim.bound_because.is_some() || (confirms && !is_far),
                "{name}: the bound of {} is far from {figure}, or {figure} refutes it, and it does not say why",
                claim.id
            );
        }
    }
    assert!(far >= 20, "{far}");
}

#[test]
fn published_figures_are_those_of_articles() {
    for (name, experiment) in experiments() {
        for claim in &experiment.claims {
            let article = experiment.source.as_deref();
            assert!(
                claim.published.is_none() || article.is_some(),
                "{name}: {} has a published figure and no source",
                claim.id
            );
        }
    }
}
