//! The sides of a comparison under one executor. Each side may have drivers of its own.

use std::sync::atomic::AtomicBool;

use lab::guard::role_of;
use lab::record::{EngineRecord, PlannedExperiment, Purpose, RunPlan, TrialRecord};

use crate::error::Result;
use crate::executor::{End, Execution, Executor};
use crate::local::{Draws, Local};
use crate::pilot::{count, task_of};
use crate::process::Driver;
use crate::run::{Slot, record};

/// The sides of a comparison. Side N carries out variant N of an experiment.
pub struct Sides<'a> {
    plan: &'a RunPlan,
    executors: [Local<'a>; 2],
}

impl<'a> Sides<'a> {
    /// Makes the sides of a plan with the driver of each.
    pub fn new(
        plan: &'a RunPlan,
        drivers: &[Driver; 2],
        engines: &[EngineRecord],
        cancelled: &'a AtomicBool,
    ) -> Sides<'a> {
        let draws = Draws::default();
        let executors = [0, 1].map(|side: usize| {
            let name = format!("{}-{side}", plan.id);
            Local::new(&drivers[side], &name, engines, cancelled).sharing(&draws)
        });
        Sides { plan, executors }
    }

    /// Counts what each side does, with the same seed each time. Returns the executions of each side, or `None` if it was
    /// cancelled.
    ///
    /// # Errors
    /// When the measured directory cannot be used or a driver cannot be started.
    pub fn count(
        &mut self,
        planned: &PlannedExperiment,
        repetitions: usize,
    ) -> Result<Option<Vec<Vec<Execution>>>> {
        let mut all = Vec::new();
        for (variant, executor) in planned.variants.iter().zip(&mut self.executors) {
            let own = PlannedExperiment { variants: vec![variant.clone()], ..planned.clone() };
            match count(self.plan, &own, repetitions, executor, &mut |_| {})? {
                Some(executions) => all.push(executions.into_iter().flatten().collect()),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// Carries out one block: a trial of each side, in random order. It ends early with a trial that has a problem. Returns the
    /// trials in their order, or `None` if it was cancelled.
    ///
    /// # Errors
    /// When the measured directory cannot be used or a driver cannot be started.
    pub fn block(
        &mut self,
        planned: &PlannedExperiment,
        round: u32,
    ) -> Result<Option<Vec<TrialRecord>>> {
        let seed = self.plan.seed.child("order").nth(u64::from(round));
        let order = if seed.generator().below(2) == 0 { [0, 1] } else { [1, 0] };
        let mut records: Vec<TrialRecord> = Vec::new();
        for (position, side) in (0..).zip(order) {
            let task = task_of(self.plan, planned, (round, 0, position), side, role_of(side));
            let mut executions: Vec<Execution> = Vec::new();
            let end = self.executors[side].execute(&[task], &mut executions)?;
            let Some(execution) = executions.pop().filter(|_| end == End::Finished) else {
                return Ok(None);
            };
            records.push(side_record(planned, (round, position), side, execution));
            if records.last().is_some_and(|record| record.outcome.problem().is_some()) {
                break;
            }
        }
        Ok(Some(records))
    }
}

/// Returns the record of a trial of a side, at a round and a position.
pub fn side_record(
    planned: &PlannedExperiment,
    (round, position): (u32, u32),
    side: usize,
    execution: Execution,
) -> TrialRecord {
    let slot = Slot { place: (round, 0, position), variant: side, role: role_of(side) };
    record(Purpose::Rounds, planned, slot, execution)
}
