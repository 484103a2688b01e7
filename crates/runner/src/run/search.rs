//! The search of an experiment that is tuned: block after block as the search names them.

use lab::record::{PlannedExperiment, Purpose, RunPlan};
use tuning::{SCREEN_BLOCKS, SearchBlock, SearchSlot, Tuning};

use super::part::record;
use crate::error::Result;
use crate::executor::{End, Execution, Executor, Task, Watch};
use crate::record::{Appender, RunFolder};
use crate::run::{Event, Observer, Slot, task};

/// Returns the recorded state of a search; `None` if the run tunes nothing.
pub(super) fn so_far(plan: &RunPlan, folder: &RunFolder) -> Result<Option<Tuning>> {
    let Some(mut tuning) = Tuning::of(plan) else { return Ok(None) };
    folder.each_trial(|record| tuning.add(&record))?;
    Ok(Some(tuning))
}

/// Carries out what remains of the search of a run, if it has one. The answer is how it ended, and how many seconds its
/// trials took.
pub(super) fn search(
    plan: &RunPlan,
    folder: &RunFolder,
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
    appender: &mut Appender,
) -> Result<(End, f64)> {
    let Some(mut tuning) = so_far(plan, folder)? else { return Ok((End::Finished, 0.0)) };
    let mut shown = false;
    while let Some(SearchBlock { planned, slots }) = tuning.search().next_block()? {
        if !shown {
            shown = true;
            let (planned, purpose) = (&planned, Purpose::Search);
            observer.event(Event::ExperimentBegins { planned, number: 1, of: 1, purpose });
        }
        let tasks: Vec<Task> = slots.iter().map(|slot| task_of(plan, &planned, slot)).collect();
        let mut block = Block {
            planned: &planned,
            slots: &slots,
            budget_s: plan.rounds_budget_s(),
            tuning: &mut tuning,
            observer: &mut *observer,
            appender: &mut *appender,
        };
        if executor.execute(&tasks, &mut block)? == End::Cancelled {
            return Ok((End::Cancelled, tuning.search().elapsed_s()));
        }
        let block = slots.first().map(|slot| slot.place.0 as usize);
        if block == Some(SCREEN_BLOCKS - 1)
            && let Some(forecast) = tuning.search().forecast()
        {
            observer.event(Event::Forecast(forecast));
        }
    }
    Ok((End::Finished, tuning.search().elapsed_s()))
}

fn slot_of(slot: &SearchSlot) -> Slot {
    Slot { place: slot.place, variant: slot.variant, role: slot.role }
}

/// Returns the task of a trial, which is stopped where it is hopeless.
fn task_of(plan: &RunPlan, planned: &PlannedExperiment, slot: &SearchSlot) -> Task {
    let task = task(plan, planned, Purpose::Search, slot_of(slot));
    let hopeless_s = slot.limit_s.unwrap_or(f64::INFINITY);
    Task { limit_s: task.limit_s.min(hopeless_s), ..task }
}

/// A block that is carried out: each trial is recorded as it ends.
struct Block<'a> {
    planned: &'a PlannedExperiment,
    slots: &'a [SearchSlot],
    budget_s: Option<f64>,
    tuning: &'a mut Tuning,
    observer: &'a mut dyn Observer,
    appender: &'a mut Appender,
}

impl Watch for Block<'_> {
    fn begins(&mut self, task: usize) {
        let slot = &self.slots[task];
        let elapsed_s = self.tuning.search().elapsed_s();
        self.observer.event(Event::TrialBegins {
            planned: self.planned,
            round: slot.place.0,
            variant: self.planned.label(slot.variant),
            left_s: self.budget_s.map(|budget_s| (budget_s - elapsed_s).max(0.0)),
        });
    }

    fn phase(&mut self, phase: &str) {
        self.observer.event(Event::Phase(phase));
    }

    fn ended(&mut self, task: usize, execution: Execution) -> Result<()> {
        let slot = slot_of(&self.slots[task]);
        let record = record(Purpose::Search, self.planned, slot, execution);
        self.appender.append(&record)?;
        self.observer.event(Event::TrialEnded(&record));
        self.tuning.add(&record);
        Ok(())
    }
}
