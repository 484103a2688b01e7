//! The plan of the trials that measure safety tiers.

use super::ad_hoc::{ad_hoc, planned_alone};
use crate::design::Variant;
use crate::engine_name::ENGINE;
use crate::record::RunPlan;
use crate::tier::{TierPlan, TierSet, WORKLOAD};

/// The run in which the safety tiers of `plan` are measured: one crash trial for each set of settings,
/// in the first of the directories. None where the run measures no tiers.
pub fn tier_plan(plan: &RunPlan) -> Option<RunPlan> {
    let tiers = plan.tiers.as_ref()?;
    let first = plan.experiments.first()?;
    let question = "Safety tiers: what can crashes destroy with each set of settings?";
    let experiment = ad_hoc("tiers", question, WORKLOAD, "images_per_s");
    let variants = tiers.sets.iter().map(|set| variant(set, tiers)).collect();
    let planned = planned_alone(experiment, first.directory.clone(), variants);
    Some(RunPlan {
        seed: plan.seed.child("tiers"),
        budget_s: None,
        tiers: None,
        experiments: vec![planned],
        ..plan.clone()
    })
}

fn variant(set: &TierSet, tiers: &TierPlan) -> Variant {
    let mut settings = set.trial_settings(tiers.seconds);
    settings.insert(ENGINE.to_owned(), set.engine.as_str().into());
    Variant {
        label: set.to_string(),
        levels: set.settings.clone(),
        settings,
        ..Variant::default()
    }
}
