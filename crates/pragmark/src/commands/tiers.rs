//! The safety tiers that a run need not measure, from the program and from the user's cache.

use ::engine::build::Cache;
use lab::record::{EngineRecord, RunPlan};
use runner::RunFolder;
use runner::tiers::{self, TierCache};

/// The user's cache; none where the system names no directory for caches, so that every tier that does not
/// come with the program is measured.
fn cache() -> Option<TierCache> {
    let of_user = Cache::of_user().ok()?;
    Some(TierCache::at(of_user.root()))
}

/// Adds to a plan what is known of its tiers.
pub fn add_known(plan: &mut RunPlan, engines: &[EngineRecord]) {
    tiers::add_known(plan, engines, cache().as_ref());
}

/// Keeps the tiers that a run has measured for later ones. A run is none the worse where that fails.
pub fn keep_measured(folder: &RunFolder) {
    let Some(cache) = cache() else {
        return;
    };
    if let Err(error) = tiers::keep_measured(folder, &cache) {
        tell!("warning: the safety tiers will be measured again in the next run: {error}");
    }
}
