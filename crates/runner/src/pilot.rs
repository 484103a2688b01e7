//! Pilots: each variant of an experiment once, ahead of a run whose size has to be judged.

use lab::design::Role;
use lab::pilot::Pilot;
use lab::record::{PlannedExperiment, Purpose, RunPlan};

use crate::error::Result;
use crate::executor::{End, Execution, Executor, Task, Watch};
use crate::run::{Slot, task};

/// Runs every variant and upper bound of the experiment once; `None` if it was cancelled.
///
/// # Errors
/// When the measured directory cannot be used or the driver cannot be started.
pub fn run_pilots(
    plan: &RunPlan,
    planned: &PlannedExperiment,
    executor: &mut dyn Executor,
) -> Result<Option<Vec<Pilot>>> {
    let all = 0..planned.variants.len() + planned.upper_bounds.len();
    let tasks = all.map(|variant| task_of(plan, planned, (0, 0, 0), variant, Role::Variant));
    let tasks: Vec<Task> = tasks.collect();
    let mut executions: Vec<Execution> = Vec::new();
    let end = executor.execute(&tasks, &mut executions)?;
    let pilots = executions.into_iter().enumerate().map(|(index, execution)| Pilot {
        index,
        wall_s: execution.wall_s,
        outcome: execution.outcome,
    });
    Ok((end == End::Finished).then(|| pilots.collect()))
}

/// Returns the task of one trial at a place (round, block, position) that the caller decides.
pub fn task_of(
    plan: &RunPlan,
    planned: &PlannedExperiment,
    place: (u32, u32, u32),
    variant: usize,
    role: Role,
) -> Task {
    let slot = Slot { place, variant, role };
    Task { probe_fsync: false, ..task(plan, planned, Purpose::Rounds, slot) }
}

/// Counts the work of every variant of the experiment, with the same seed each time; `begins` gets the number of each trial,
/// from 0. Returns the executions by variant; `None` if it was cancelled.
///
/// # Errors
/// When the measured directory cannot be used or the driver cannot be started.
pub fn count(
    plan: &RunPlan,
    planned: &PlannedExperiment,
    repetitions: usize,
    executor: &mut dyn Executor,
    begins: &mut dyn FnMut(usize),
) -> Result<Option<Vec<Vec<Execution>>>> {
    let variants = planned.variants.len();
    let once =
        (0..variants).map(|variant| task_of(plan, planned, (0, 0, 0), variant, Role::Counting));
    let once: Vec<Task> = once.collect();
    let tasks = vec![once; repetitions].concat();
    let mut counting = Counting { executions: vec![Vec::new(); variants], begins };
    let end = executor.execute(&tasks, &mut counting)?;
    Ok((end == End::Finished).then_some(counting.executions))
}

/// Keeps executions by variant.
struct Counting<'b> {
    executions: Vec<Vec<Execution>>,
    begins: &'b mut dyn FnMut(usize),
}

impl Watch for Counting<'_> {
    fn begins(&mut self, task: usize) {
        (self.begins)(task);
    }

    fn ended(&mut self, task: usize, execution: Execution) -> Result<()> {
        let variants = self.executions.len();
        self.executions[task % variants].push(execution);
        Ok(())
    }
}
