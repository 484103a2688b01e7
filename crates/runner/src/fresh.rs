//! Measuring again what was chosen from many arms, in rounds of their own.
//!
//! It comes last, because what is chosen depends on safety tiers too. The trials go to a file of their
//! own: they say nothing of the arms that were not chosen.

use lab::analysis::{Analysis, Collector};
use lab::design::History;
use lab::plan::fresh_plan;
use lab::record::RunPlan;

use crate::error::RunError;
use crate::record::RunFolder;
use crate::run::{End, Equipment, add, histories, run_rounds};

/// Measures again what the record of a run chooses from many arms, as far as it was not yet.
///
/// `used_s` is the time that the rounds took, in seconds. Where a time limit leaves nothing, it is left
/// out, and the answers say so.
pub(crate) fn run(
    folder: &RunFolder,
    plan: &RunPlan,
    used_s: f64,
    equipment: &mut Equipment<'_>,
) -> Result<End, RunError> {
    let (analysis, tiers_s) = analyse(folder, plan)?;
    let left_s = plan.budget_s.map(|limit_s| limit_s - used_s - tiers_s);
    let fresh = fresh_plan(plan, &analysis.chosen_from_many(), left_s);
    if fresh.experiments.is_empty() || left_s.is_some_and(|left_s| left_s <= 0.0) {
        return Ok(End::Finished);
    }
    let mut histories: Vec<History> = histories(&fresh);
    folder.each_fresh(|record| add(&record, &fresh, &mut histories))?;
    let mut appender = folder.fresh_appender(&plan.id)?;
    run_rounds(&fresh, &mut histories, &mut appender, equipment, true)
}

/// What the record says without fresh rounds, and the seconds that crash trials took.
fn analyse(folder: &RunFolder, plan: &RunPlan) -> Result<(Analysis, f64), RunError> {
    let mut collector = Collector::new(plan.clone(), folder.environment()?);
    let mut tiers_s = 0.0;
    folder.each_trial(|record| collector.add(record))?;
    folder.each_tier(|record| {
        tiers_s += record.wall_s;
        collector.add_tier(record);
    })?;
    Ok((collector.finish(), tiers_s))
}
