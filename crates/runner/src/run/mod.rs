//! Carrying out a plan: trial after trial until the design says stop.
//!
//! A run has up to six parts. Five of them are plans of their own that are carried out in the same way: what each
//! setting contributes that a search has chosen; what changes of the application bring on top; the rounds of the experiments; the trials that measure safety tiers
//! that are not known, which keep every CPU busy and would disturb what is timed; and the confirmation of what was
//! chosen from many variants, which depends on the two before. Where an experiment is tuned, a search comes first, and
//! the rounds measure its recommendation.

mod conduct;
mod event;
mod search;
#[cfg(test)]
mod search_tests;
mod task;
#[cfg(test)]
mod tests;

use std::path::Path;

use lab::analysis::observation;
use lab::design::History;
use lab::plan::{confirmation_plan, tier_plan};
use lab::record::{Purpose, RunPlan, TrialRecord};
use tuning::Collector;

use self::conduct::Conductor;
pub use self::event::{Event, Observer};
pub(crate) use self::task::{Slot, task};
use crate::error::RunError;
use crate::executor::{End, Executor};
use crate::record::RunFolder;

/// Carries out what remains of the run in `folder`.
///
/// A trial that goes wrong is recorded as such and the run goes on.
///
/// # Errors
/// When the record cannot be read or written, a measured directory cannot be used at all, or the
/// driver cannot be started.
pub fn run(
    folder: &RunFolder,
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
) -> Result<End, RunError> {
    let plan = folder.plan()?;
    // Held to the end, so that no other process works on the run meanwhile.
    let mut appender = folder.appender()?;
    let mut used_s = 0.0;
    for purpose in Purpose::ALL {
        let left_s = plan.budget_s.map(|limit_s| limit_s - used_s);
        if purpose == Purpose::Search {
            let (end, search_s) =
                search::search(&plan, folder, &mut *executor, &mut *observer, &mut appender)?;
            used_s += search_s;
            match end {
                End::Finished => continue,
                End::Cancelled => return Ok(End::Cancelled),
            }
        }
        let Some(part) = part_of(&plan, purpose, folder, left_s)? else {
            continue;
        };
        let mut conductor = Conductor {
            whole: &plan,
            part: &part,
            purpose,
            left_s,
            histories: histories(&part, purpose, folder)?,
            observer: &mut *observer,
            appender: &mut appender,
            stages: vec![conduct::Stage::Nothing; part.experiments.len()],
            longest_tier_s: None,
        };
        let end = conductor.run(&mut *executor);
        used_s += conductor.elapsed_s();
        // Trials of the next part may keep every CPU busy, and no server needs to wait for them.
        executor.rest();
        if end? == End::Cancelled {
            return Ok(End::Cancelled);
        }
    }
    Ok(End::Finished)
}

/// Returns the plan of a part of the run; `None` if it has no such part, or a time limit leaves nothing for it.
fn part_of(
    plan: &RunPlan,
    purpose: Purpose,
    folder: &RunFolder,
    left_s: Option<f64>,
) -> Result<Option<RunPlan>, RunError> {
    Ok(match purpose {
        Purpose::Search => None,
        Purpose::Ablation => match search::so_far(plan, folder)? {
            Some(mut tuning) => tuning.ablation_plan(plan),
            None => None,
        },
        Purpose::Advice => match search::so_far(plan, folder)? {
            Some(mut tuning) => tuning.advice_plan(plan),
            None => None,
        },
        Purpose::Rounds => match search::so_far(plan, folder)? {
            Some(mut tuning) => Some(tuning.final_plan(plan)),
            None => Some(plan.clone()),
        },
        Purpose::Tier => tier_plan(plan),
        Purpose::Confirmation if left_s.is_some_and(|left_s| left_s <= 0.0) => None,
        Purpose::Confirmation => {
            let mut collector = Collector::new(plan.clone(), folder.environment()?);
            folder.each_trial(|record| {
                if record.purpose != Purpose::Confirmation {
                    collector.add(record);
                }
            })?;
            let chosen = collector.finish().chosen_from_many();
            Some(confirmation_plan(plan, &chosen, left_s))
        }
    })
}

/// Returns the recorded trials of each experiment of a part.
fn histories(
    part: &RunPlan,
    purpose: Purpose,
    folder: &RunFolder,
) -> Result<Vec<History>, RunError> {
    let experiments = part.experiments.iter();
    let mut histories: Vec<History> = experiments.map(|_| History::default()).collect();
    folder.each_trial(|record| {
        if record.purpose == purpose {
            add(&record, part, &mut histories);
        }
    })?;
    Ok(histories)
}

/// Adds a trial to the history of its experiment.
fn add(record: &TrialRecord, part: &RunPlan, histories: &mut [History]) {
    let mut experiments = part.experiments.iter().zip(histories);
    if let Some((planned, history)) = experiments.find(|(one, _)| one.key == record.experiment)
        && let Some(observation) = observation(planned, record)
    {
        history.add(observation);
    }
}

/// Returns the folder of a trial's artifacts, relative to the folder of the run.
fn artifacts_of(key: &str, slot: Slot) -> std::path::PathBuf {
    let (round, block, position) = slot.place;
    Path::new(crate::record::ARTIFACTS).join(key).join(format!("{round}-{block}-{position}"))
}
