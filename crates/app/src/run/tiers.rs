//! The safety tiers that a run need not measure, from the program and from the user's cache.

use engine::build::Cache;
use lab::record::{EngineRecord, RunPlan};
use runner::RunFolder;
use runner::tiers::{self, TierCache};

use crate::interface::Interface;

/// Returns the user's cache. Without one, every tier that does not come with the program is measured.
fn cache() -> Option<TierCache> {
    let of_user = Cache::of_user().ok()?;
    Some(TierCache::at(of_user.root()))
}

/// Adds the known tiers to a plan.
pub(crate) fn add_known(plan: &mut RunPlan, engines: &[EngineRecord]) {
    tiers::add_known(plan, engines, cache().as_ref());
}

/// Keeps the tiers that a run has measured for later ones. If that fails, the run is still good.
pub(crate) fn keep_measured(folder: &RunFolder, ui: &dyn Interface) {
    let Some(cache) = cache() else { return };
    if let Err(error) = tiers::keep_measured(folder, &cache) {
        tell!(ui, "warning: the safety tiers will be measured again in the next run: {error}");
    }
}
