//! Carrying out a plan: trial after trial until the design says stop.
//!
//! A run has up to six parts. Five of them are plans of their own that are carried out in the same way: what each
//! setting contributes that a search has chosen; what changes of the application bring on top; the rounds of the experiments; the trials that measure safety tiers
//! that are not known, which keep every CPU busy and would disturb what is timed; and the confirmation of what was
//! chosen from many variants, which depends on the two before. Where an experiment is tuned, a search comes first, and
//! the rounds measure its recommendation.

mod part;

use std::path::Path;

use lab::analysis::observation;
use lab::comparison::keep_few_rows;
use lab::design::{History, Next, Role, StopReason};
use lab::engine_name::{engine_of, without_engine};
use lab::level::Level;
use lab::plan::{confirmation_plan, tier_plan};
use lab::record::{PlannedExperiment, Purpose, RunPlan, TrialRecord};
use lab::text::word;
use lab::trial::{BindingSpec, DRIVER, NATIVE, PROTOCOL, TrialSpec};
use tuning::{Collector, Forecast};

use self::part::PartRunner;
use crate::error::Result;
use crate::executor::{End, Executor, Task};
use crate::record::RunFolder;
use crate::survey::is_on_disk;

pub(crate) use self::part::record;

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
) -> Result<End> {
    let plan = folder.plan()?;
    // Held to the end, so that no other process works on the run meanwhile.
    let mut appender = folder.appender()?;
    let mut used_s = 0.0;
    for &purpose in Purpose::ALL {
        let left_s = plan.budget_s.map(|limit_s| limit_s - used_s);
        if purpose == Purpose::Search {
            let (end, search_s) =
                part::search(&plan, folder, &mut *executor, &mut *observer, &mut appender)?;
            used_s += search_s;
            if end == End::Cancelled {
                return Ok(end);
            }
            continue;
        }
        let Some(part) = part_of(&plan, purpose, folder, left_s)? else { continue };
        let mut runner = PartRunner {
            whole: &plan,
            part: &part,
            purpose,
            left_s,
            histories: histories(&part, purpose, folder)?,
            observer: &mut *observer,
            appender: &mut appender,
            states: vec![part::State::Nothing; part.experiments.len()],
            longest_tier_s: None,
        };
        let end = runner.run(&mut *executor);
        used_s += runner.elapsed_s();
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
) -> Result<Option<RunPlan>> {
    let so_far = || part::so_far(plan, folder);
    Ok(match purpose {
        Purpose::Search => None,
        Purpose::Ablation => so_far()?.and_then(|mut tuning| tuning.ablation_plan(plan)),
        Purpose::Advice => so_far()?.and_then(|mut tuning| tuning.advice_plan(plan)),
        Purpose::Rounds => match so_far()? {
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
fn histories(part: &RunPlan, purpose: Purpose, folder: &RunFolder) -> Result<Vec<History>> {
    let mut histories: Vec<History> = part.experiments.iter().map(|_| History::default()).collect();
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

/// Something that happens during a run.
#[allow(missing_docs)] // Variants describe their fields.
pub enum Event<'a> {
    /// An experiment has its first turn, or its first after the run was taken up again: its number, from 1, and the purpose of its
    /// trials.
    ExperimentBegins { planned: &'a PlannedExperiment, number: usize, of: usize, purpose: Purpose },
    /// A trial begins.
    TrialBegins {
        /// Its experiment.
        planned: &'a PlannedExperiment,
        /// Its round, from 0.
        round: u32,
        /// Name of its variant.
        variant: &'a str,
        /// Seconds that the whole run will probably still take; none before a trial has ended, from
        /// which it could be estimated.
        left_s: Option<f64>,
    },
    /// The trial's driver has entered a phase.
    Phase(&'a str),
    /// A trial has ended and is recorded.
    TrialEnded(&'a TrialRecord),
    /// The screen of a search has shown the noise of trials.
    Forecast(Forecast),
    /// An experiment has come to its end for this reason.
    ExperimentEnds { planned: &'a PlannedExperiment, reason: StopReason },
}

/// Takes events as they happen.
pub trait Observer {
    /// Takes one.
    fn event(&mut self, event: Event<'_>);
}

/// A trial and its place in the block.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) place: (u32, u32, u32),
    pub(crate) variant: usize,
    pub(crate) role: Role,
}

impl Slot {
    /// Returns the place of a trial that comes next.
    pub(super) fn of(next: Next) -> Option<Slot> {
        match next {
            Next::Trial { place, variant, role } => Some(Slot { place, variant, role }),
            Next::Stop(_) => None,
        }
    }
}

/// Returns the task of a trial.
pub(crate) fn task(
    plan: &RunPlan,
    planned: &PlannedExperiment,
    purpose: Purpose,
    slot: Slot,
) -> Task {
    let (workload, settings) = match slot.variant.checked_sub(planned.variants.len()) {
        None => (&planned.experiment.workload, &planned.variants[slot.variant].settings),
        Some(bound) => {
            (&planned.upper_bounds[bound].workload, &planned.upper_bounds[bound].settings)
        }
    };
    let mut rest = without_engine(settings);
    let binding = match rest.remove(DRIVER) {
        Some(Level::Text(driver)) if driver != NATIVE => {
            Some(BindingSpec { driver, ..BindingSpec::default() })
        }
        _ => None,
    };
    // One round shows how answers differ.
    if purpose == Purpose::Rounds && slot.place.0 == 0 && slot.role != Role::Counting {
        keep_few_rows(workload, &mut rest);
    }
    Task {
        block: block_name(planned, purpose, slot),
        position: slot.place.2,
        spec: TrialSpec {
            protocol: PROTOCOL,
            workload: workload.clone(),
            settings: rest,
            engine: engine_of(settings, &plan.engine),
            directory: planned.directory.clone(),
            seed: plan.data_seed(planned, slot.place.0).0,
            counting: slot.role == Role::Counting,
            artifacts: planned.alone.then(|| artifacts_of(&planned.key, slot)),
            binding,
            postgres: None,
            confined: false,
            tests_open: purpose == Purpose::Rounds,
        },
        limit_s: plan.trial_limit_s,
        probe_fsync: slot.place.2 == 0 && slot.role != Role::Counting && is_on_disk(planned),
    }
}

/// Returns the name of a trial's block in the run. A trial that counts, or is compared with none, is a block of its
/// own.
fn block_name(planned: &PlannedExperiment, purpose: Purpose, slot: Slot) -> String {
    let (round, block, position) = slot.place;
    let own = match (slot.role, planned.alone) {
        (Role::Counting, _) => format!("-counting{position}"),
        (_, true) => format!("-alone{position}"),
        _ => String::new(),
    };
    name_of_block(purpose, &planned.key, (round, block)) + &own
}

/// Returns the name of the block of a trial that was compared with others.
pub fn block_of(record: &TrialRecord) -> String {
    name_of_block(record.purpose, &record.experiment, (record.round, record.block))
}

fn name_of_block(purpose: Purpose, experiment: &str, (round, block): (u32, u32)) -> String {
    format!("{}-{experiment}-{round}-{block}", word(purpose))
}

#[cfg(test)]
mod tests;
