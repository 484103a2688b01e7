//! Measuring again what was chosen from many variants, in rounds of their own.
//!
//! It comes last, because what is chosen depends on safety tiers too. The trials go to a file of their
//! own: they say nothing of the variants that were not chosen.

use lab::analysis::{Analysis, Collector};
use lab::design::History;
use lab::plan::confirmation_plan;
use lab::record::RunPlan;

use crate::error::RunError;
use crate::record::RunFolder;
use crate::run::{End, Equipment, add, histories, run_rounds};

/// Measures again what the record of a run chooses from many variants, as far as it was not yet.
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
    let confirmation = confirmation_plan(plan, &analysis.chosen_from_many(), left_s);
    if confirmation.experiments.is_empty() || left_s.is_some_and(|left_s| left_s <= 0.0) {
        return Ok(End::Finished);
    }
    let mut histories: Vec<History> = histories(&confirmation);
    folder.each_confirmation(|record| add(&record, &confirmation, &mut histories))?;
    let mut appender = folder.confirmation_appender(&plan.id)?;
    run_rounds(
        &confirmation,
        &mut histories,
        &mut appender,
        equipment,
        true,
    )
}

/// What the record says without confirmation rounds, and the seconds that crash trials took.
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
