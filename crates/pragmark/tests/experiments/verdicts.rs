//! Every claim can be confirmed and can be refuted, by the outcomes of trials.

use crate::experiments;
use crate::outcomes::Stage;
use lab::catalogue::Catalogue;
use lab::claims::{Claim, DeviceKind, Form, Verdict};
use lab::design::select;
use lab::experiment::Experiment;
use lab::level::{Settings, contains, overlaid};

/// Factors by which made-up figures differ, the most telling first.
const FACTORS: [f64; 17] = [
    1_000.0, 0.001, 1.0, 1.5, 0.6, 2.0, 0.3, 1.05, 0.95, 1.15, 0.85, 3.0, 6.0, 12.0, 30.0, 100.0,
    250.0,
];

/// Verdicts of the claim over worlds that differ by one factor, until it was confirmed and refuted.
fn verdicts(experiment: &Experiment, claim: &Claim, catalogue: &Catalogue) -> Vec<Verdict> {
    let stage = Stage::of(experiment, claim, catalogue);
    let exponents = exponents(experiment, claim, &stage);
    let form = claim.forms()[0];
    let mut seen = Vec::new();
    for figure in figures(claim) {
        let judged = stage.judged(&|device, variant, metric| match form {
            Form::Value(_) => figure,
            Form::Devices(_) if device == DeviceKind::Rotating => 100.0 * figure,
            Form::SameOrder(_) if device == DeviceKind::Rotating => {
                100.0 * figure.powf(variant as f64)
            }
            Form::SameOrder(_) => 100.0 * 0.9f64.powf(variant as f64),
            // What is divided by another metric of the same trials is given that one's figure.
            _ if form.to_metric() == Some(metric) => 100.0,
            _ => 100.0 * figure.powf(exponents[variant]),
        });
        assert_ne!(judged.verdict, Verdict::NotApplicable, "{judged:?}");
        seen.push(judged.verdict);
        if [Verdict::Confirmed, Verdict::Refuted].iter().all(|it| seen.contains(it)) {
            break;
        }
    }
    seen
}

/// The figures to try: for a value those near its bounds, for what compares variants factors.
fn figures(claim: &Claim) -> Vec<f64> {
    let form = claim.forms()[0];
    if !matches!(form, Form::Value(_)) {
        return FACTORS.to_vec();
    }
    let bounds = claim.bounds(form);
    let near = [bounds.low, bounds.high].into_iter().flatten();
    near.flat_map(|bound| [bound, bound + 1.0, (bound - 1.0).max(0.0), 2.0 * bound]).collect()
}

/// To which power each variant has the factor.
fn exponents(experiment: &Experiment, claim: &Claim, stage: &Stage) -> Vec<f64> {
    let groups = groups(experiment, claim);
    let across = match claim.forms()[0] {
        Form::Ratio(pair) | Form::Equal(pair) => pair.across,
        Form::Ordering(listed) | Form::Spread(listed) => listed.across,
        Form::Best(_) => true,
        _ => false,
    };
    let variants = &stage.planned().variants;
    let mut exponents = vec![0.0; variants.len()];
    for (levels, exponent) in groups {
        if across {
            let holding = variants.iter().zip(&mut exponents);
            for (_, it) in holding.filter(|(variant, _)| contains(&variant.levels, &levels)) {
                *it = exponent;
            }
        } else {
            exponents[select(variants, &levels).unwrap()] = exponent;
        }
    }
    exponents
}

/// The levels that a claim names, with the power to which their variants have the factor.
fn groups(experiment: &Experiment, claim: &Claim) -> Vec<(Settings, f64)> {
    let ranked = |all: Vec<Settings>| all.into_iter().zip((0..).map(f64::from)).collect();
    match claim.forms()[0] {
        Form::Ratio(pair) | Form::Equal(pair) => vec![(pair.of.clone(), 1.0)],
        Form::RatioOfRatios(pairs) => vec![(pairs.of.clone(), 1.0)],
        Form::Ordering(listed) | Form::Spread(listed) => ranked(listed.levels(&experiment.factors)),
        Form::Argmax(extreme) | Form::Argmin(extreme) => {
            let candidates = extreme.levels().into_iter();
            candidates.map(|levels| (overlaid(&extreme.at, &levels), 1.0)).collect()
        }
        Form::Best(best) => vec![(best.hold.clone(), 1.0)],
        Form::Value(_) | Form::Devices(_) | Form::SameOrder(_) => Vec::new(),
    }
}

fn can_be(verdict: Verdict, experiment: &Experiment, claim: &Claim) -> bool {
    let catalogue = drivers::catalogue(None).unwrap();
    verdicts(experiment, claim, &catalogue).contains(&verdict)
}

#[test]
fn outcomes_of_trials_confirm_and_refute_every_claim() {
    let catalogue = drivers::catalogue(None).unwrap();
    let mut wrong = Vec::new();
    for (name, experiment) in experiments() {
        for claim in &experiment.claims {
            let seen = verdicts(&experiment, claim, &catalogue);
            for verdict in [Verdict::Confirmed, Verdict::Refuted] {
                if !seen.contains(&verdict) {
                    wrong
                        .push(format!("{name}: no outcome makes {} {verdict}: {seen:?}", claim.id));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_claim_that_nothing_refutes_is_noticed() {
    let all = experiments();
    let (_, experiment) = all.iter().find(|(name, _)| name == "index-timing").unwrap();
    let mut claim = experiment.claims[0].clone();
    assert!(can_be(Verdict::Refuted, experiment, &claim));
    claim.at_least = Some(0.0);
    assert!(!can_be(Verdict::Refuted, experiment, &claim));
    claim.at_least = Some(2_000.0);
    assert!(!can_be(Verdict::Confirmed, experiment, &claim));
}
