//! The claims of an experiment on the page.

use lab::analysis::ExperimentAnalysis;
use lab::claims::{Judged, Verdict};

use super::verdict_class;
use crate::charts::claim::{Strip, strip};
use crate::figures;
use crate::words::verdict_sign;

/// What the template of a claim fills in.
pub(super) struct ClaimView {
    pub(super) verdict: Verdict,
    pub(super) sign: &'static str,
    pub(super) class: &'static str,
    pub(super) id: String,
    pub(super) says: String,
    pub(super) measure: String,
    pub(super) figure: Option<String>,
    pub(super) interval: Option<String>,
    pub(super) level: String,
    pub(super) bounds: String,
    pub(super) published: Option<String>,
    pub(super) preliminary: bool,
    pub(super) exact: bool,
    pub(super) why: Option<String>,
    pub(super) strip: Option<Strip>,
}

/// The claims in the order of the file.
pub(super) fn claims(experiment: &ExperimentAnalysis) -> Vec<ClaimView> {
    experiment.claims.iter().map(view).collect()
}

fn view(judged: &Judged) -> ClaimView {
    ClaimView {
        verdict: judged.verdict,
        sign: verdict_sign(judged.verdict),
        class: verdict_class(judged.verdict),
        id: judged.claim.id.clone(),
        says: judged.claim.says.clone(),
        measure: judged.measure.clone(),
        figure: figures::claim_figure(judged),
        interval: figures::claim_interval(judged),
        level: figures::percent(1.0 - judged.alpha),
        bounds: figures::claim_bounds(judged),
        published: figures::claim_published(judged),
        preliminary: judged.preliminary,
        exact: judged.claim.exact,
        why: judged.why.clone(),
        strip: strip(judged),
    }
}
