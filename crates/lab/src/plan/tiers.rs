//! The part of a run that measures safety tiers.

use super::ad_hoc::{ad_hoc, planned_alone};
use crate::design::Variant;
use crate::engine_name::ENGINE;
use crate::record::RunPlan;
use crate::tier::{SEED, TierSet, WORKLOAD};

/// The run in which the unknown safety tiers of `plan` are measured: one crash trial for each set of
/// settings, in the first of the directories, with the seed of every such trial. None where no tier is to be
/// measured.
pub fn tier_plan(plan: &RunPlan) -> Option<RunPlan> {
    let tiers = plan.tiers.as_ref()?;
    let first = plan.experiments.first()?;
    let variants: Vec<Variant> = tiers.unknown().map(tier_variant).collect();
    if variants.is_empty() {
        return None;
    }
    let question = "Safety tiers: what can crashes destroy with each set of settings?";
    let experiment = ad_hoc("tiers", question, WORKLOAD, "images_per_s");
    let planned = planned_alone(experiment, first.directory.clone(), variants);
    Some(RunPlan {
        seed: SEED,
        budget_s: None,
        tiers: None,
        experiments: vec![planned],
        ..plan.clone()
    })
}

/// The crash trial that measures the tier of a set.
pub fn tier_variant(set: &TierSet) -> Variant {
    let mut settings = set.trial_settings();
    settings.insert(ENGINE.to_owned(), set.engine.as_str().into());
    Variant { label: set.to_string(), levels: set.settings.clone(), settings, ..Variant::default() }
}
