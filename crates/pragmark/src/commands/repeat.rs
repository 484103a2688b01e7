//! `pragmark run --repeat`: the plan of an earlier run, carried out afresh in a run of its own.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use lab::record::RunPlan;
use lab::seed::Seed;
use runner::{Driver, RunFolder};

use super::run::{
    THIS_VERSION, announce, check_drivers, check_server, exclude_unsafe, folder_of, survey,
};
use super::{engine, needs, tiers, trust};
use crate::cli::RunArgs;
use crate::failure::Failure;
use crate::progress::is_bar_wanted;

/// Makes the folder of a run with the plan of the run in `path`; none where it was interrupted.
pub(super) fn begin(
    args: &RunArgs,
    path: &Path,
    driver: &Driver,
    interrupted: &AtomicBool,
) -> Result<Option<RunFolder>, Failure> {
    let earlier = RunFolder::open(path)?;
    let stored = earlier.plan()?;
    check_drivers(&stored, args.drivers.as_deref())?;
    check_server(&stored, args.postgres.is_some())?;
    trust::check(&earlier, &stored, args.trust, interrupted)?;
    let mut plan = afresh(stored, args);
    let path = folder_of(args.out.as_deref(), &plan);
    RunFolder::check_free(&path)?;
    needs::check(&plan)?;
    let engines = engine::of_plan(&plan, driver, interrupted, is_bar_wanted(args.plain))?;
    tiers::add_known(&mut plan, &engines);
    exclude_unsafe(&mut plan)?;
    let Some(environment) = survey(&plan, engines, args.probe, interrupted)? else {
        return Ok(None);
    };
    trust::note(&plan, &environment);
    let folder = RunFolder::create(&path, &plan, &environment)?;
    announce(&plan, &environment, &path);
    Ok(Some(folder))
}

/// The plan with a name of its own. The seed stays, so that data and order are the same, unless another is given.
fn afresh(stored: RunPlan, args: &RunArgs) -> RunPlan {
    RunPlan {
        id: runner::run_id(),
        created: runner::now(),
        pragmark: THIS_VERSION.to_owned(),
        seed: args.seed.map_or(stored.seed, Seed),
        budget_s: args.time_limit.or(stored.budget_s),
        tiers: stored.tiers.clone().filter(|_| !args.no_tiers),
        ..stored
    }
}
