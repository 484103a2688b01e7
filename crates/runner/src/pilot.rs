//! Pilots: each variant of an experiment once, ahead of a run whose size has to be judged.

use lab::design::Role;
use lab::pilot::Pilot;
use lab::record::{PlannedExperiment, Purpose, RunPlan};

use crate::error::RunError;
use crate::executor::{End, Execution, Executor, Task};
use crate::run::{Slot, task};

/// Runs every variant and upper bound of the experiment once; none when it was cancelled.
///
/// # Errors
/// When the measured directory cannot be used or the driver cannot be started.
pub fn run_pilots(
    plan: &RunPlan,
    planned: &PlannedExperiment,
    executor: &mut dyn Executor,
) -> Result<Option<Vec<Pilot>>, RunError> {
    let all = 0..planned.variants.len() + planned.upper_bounds.len();
    let tasks: Vec<_> = all
        .map(|variant| {
            let slot = Slot { place: (0, 0, 0), variant, role: Role::Variant };
            Task { probe_fsync: false, ..task(plan, planned, Purpose::Rounds, slot) }
        })
        .collect();
    let mut executions: Vec<Execution> = Vec::new();
    let end = executor.execute(&tasks, &mut executions)?;
    let pilots = executions.into_iter().enumerate();
    let pilots = pilots.map(|(index, execution)| Pilot {
        index,
        wall_s: execution.wall_s,
        outcome: execution.outcome,
    });
    Ok((end == End::Finished).then(|| pilots.collect()))
}
