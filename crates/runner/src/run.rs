//! Carrying out a plan: trial after trial until the design says stop.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::analysis::seen;
use lab::design::{History, Next, Role, StopReason, expected_seconds, next};
use lab::level::Level;
use lab::record::{PlannedExperiment, RunPlan, TrialRecord};
use lab::trial::{Outcome, PROTOCOL, TrialSpec};

use crate::error::RunError;
use crate::machine::Sampler;
use crate::process::{Driver, run_trial};
use crate::record::{Appender, RunFolder};
use crate::stamp::now;
use crate::workdir::WorkDir;

/// Guess at the length of a trial before any has been run, in seconds; for the first time to go.
const TRIAL_GUESS_S: f64 = 0.5;

/// What happens during a run, for displays.
pub enum Event<'a> {
    /// An experiment begins or is taken up again.
    ExperimentBegins {
        /// The experiment.
        planned: &'a PlannedExperiment,
        /// Its number, from 1.
        number: usize,
        /// Of how many.
        of: usize,
    },
    /// A trial begins.
    TrialBegins {
        /// Its experiment.
        planned: &'a PlannedExperiment,
        /// Its round, from 0.
        round: u32,
        /// Label of its arm.
        arm: &'a str,
        /// Seconds that the whole run will probably still take.
        left_s: f64,
    },
    /// The trial's driver has entered a phase.
    Phase(&'a str),
    /// A trial has ended and is recorded.
    TrialEnded(&'a TrialRecord),
    /// An experiment has come to its end.
    ExperimentEnds {
        /// The experiment.
        planned: &'a PlannedExperiment,
        /// Why.
        reason: StopReason,
    },
}

/// Takes events as they happen.
pub trait Observer {
    /// Takes one.
    fn event(&mut self, event: Event<'_>);
}

/// How a run came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every experiment was carried out.
    Finished,
    /// It was cancelled; what was measured is recorded and it can be resumed.
    Cancelled,
}

/// Carries out what remains of the run in `folder`.
///
/// A trial that goes wrong is recorded as such and the run goes on.
///
/// # Errors
/// When the record cannot be read or written, a measured directory cannot be used at all, or the
/// driver cannot be started.
pub fn run(
    folder: &RunFolder,
    driver: &Driver,
    cancelled: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<End, RunError> {
    let plan = folder.plan()?;
    let mut appender = folder.appender()?;
    let mut histories = read_histories(folder, &plan)?;
    let mut conductor = Conductor {
        plan: &plan,
        driver,
        cancelled,
        observer,
        appender: &mut appender,
    };
    for index in 0..plan.experiments.len() {
        if conductor.carry_out(index, &mut histories)? == End::Cancelled {
            return Ok(End::Cancelled);
        }
    }
    Ok(End::Finished)
}

/// Seconds that a planned run will probably take.
pub fn forecast_s(plan: &RunPlan) -> f64 {
    let histories: Vec<History> = plan
        .experiments
        .iter()
        .map(|_| History::default())
        .collect();
    left_s(plan, &histories)
}

fn left_s(plan: &RunPlan, histories: &[History]) -> f64 {
    let trials: usize = histories.iter().map(History::len).sum();
    let elapsed: f64 = histories.iter().map(History::elapsed_s).sum();
    let trial_s = if trials == 0 {
        TRIAL_GUESS_S
    } else {
        elapsed / trials as f64
    };
    plan.experiments
        .iter()
        .zip(histories)
        .map(|(planned, history)| {
            let ended = matches!(next_of(plan, planned, history), Next::Stop(_));
            if ended {
                return 0.0;
            }
            expected_seconds(&planned.course(plan.seed), history, trial_s)
        })
        .sum()
}

fn read_histories(folder: &RunFolder, plan: &RunPlan) -> Result<Vec<History>, RunError> {
    let mut histories: Vec<History> = plan
        .experiments
        .iter()
        .map(|_| History::default())
        .collect();
    let by_key: HashMap<&str, usize> = plan
        .experiments
        .iter()
        .enumerate()
        .map(|(index, planned)| (planned.key.as_str(), index))
        .collect();
    folder.each_trial(|record| {
        if let Some(index) = by_key.get(record.experiment.as_str())
            && let Some(seen) = seen(&plan.experiments[*index], &record)
        {
            histories[*index].add(seen);
        }
    })?;
    Ok(histories)
}

fn next_of(plan: &RunPlan, planned: &PlannedExperiment, history: &History) -> Next {
    next(&planned.course(plan.seed), history)
}

/// Which trial, and where it stands in its block.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) place: (u32, u32, u32),
    pub(crate) arm: usize,
    pub(crate) role: Role,
}

struct Conductor<'a> {
    plan: &'a RunPlan,
    driver: &'a Driver,
    cancelled: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    appender: &'a mut Appender,
}

impl Conductor<'_> {
    fn carry_out(&mut self, index: usize, histories: &mut [History]) -> Result<End, RunError> {
        let planned = &self.plan.experiments[index];
        let of = self.plan.experiments.len();
        self.observer.event(Event::ExperimentBegins {
            planned,
            number: index + 1,
            of,
        });
        let work = WorkDir::create(&planned.directory, &self.plan.id)?;
        loop {
            if self.cancelled.load(Ordering::Relaxed) {
                return Ok(End::Cancelled);
            }
            match next_of(self.plan, planned, &histories[index]) {
                Next::Stop(reason) => {
                    self.observer
                        .event(Event::ExperimentEnds { planned, reason });
                    return Ok(End::Finished);
                }
                Next::Trial { place, arm, role } => {
                    let slot = Slot { place, arm, role };
                    let left_s = left_s(self.plan, histories);
                    self.observer.event(Event::TrialBegins {
                        planned,
                        round: place.0,
                        arm: planned.label(arm),
                        left_s,
                    });
                    let Some(record) = self.trial(planned, &work, slot)? else {
                        return Ok(End::Cancelled);
                    };
                    self.appender.append(&record)?;
                    self.observer.event(Event::TrialEnded(&record));
                    if let Some(seen) = seen(planned, &record) {
                        histories[index].add(seen);
                    }
                }
            }
        }
    }

    /// Runs one trial; none when it was cancelled.
    fn trial(
        &mut self,
        planned: &PlannedExperiment,
        work: &WorkDir,
        slot: Slot,
    ) -> Result<Option<TrialRecord>, RunError> {
        let (started, clock, sampler) = (now(), Instant::now(), Sampler::start());
        let Some(outcome) = self.outcome(planned, work, slot)? else {
            return Ok(None);
        };
        Ok(Some(TrialRecord {
            experiment: planned.key.clone(),
            round: slot.place.0,
            block: slot.place.1,
            position: slot.place.2,
            arm: planned.label(slot.arm).to_owned(),
            role: slot.role,
            started,
            wall_s: clock.elapsed().as_secs_f64(),
            covariates: sampler.finish(),
            outcome,
        }))
    }

    fn outcome(
        &mut self,
        planned: &PlannedExperiment,
        work: &WorkDir,
        slot: Slot,
    ) -> Result<Option<Outcome>, RunError> {
        // A directory that cannot be made now (a full disk) may be made for the next trial.
        let directory = match work.trial() {
            Ok(directory) => directory,
            Err(error) => {
                let why = error.to_string();
                return Ok(Some(Outcome::Failed { why }));
            }
        };
        let spec = specification(self.plan, planned, directory.path(), slot);
        let limit = Duration::from_secs_f64(self.plan.trial_limit_s);
        let observer = &mut self.observer;
        run_trial(self.driver, &spec, limit, self.cancelled, &mut |phase| {
            observer.event(Event::Phase(phase))
        })
    }
}

/// What the driver of this trial is asked.
pub(crate) fn specification(
    plan: &RunPlan,
    planned: &PlannedExperiment,
    directory: &Path,
    slot: Slot,
) -> TrialSpec {
    let (workload, settings) = match slot.arm.checked_sub(planned.arms.len()) {
        None => (
            &planned.experiment.workload,
            &planned.arms[slot.arm].settings,
        ),
        Some(limit) => (
            &planned.limits[limit].workload,
            &planned.limits[limit].settings,
        ),
    };
    let mut settings = settings.clone();
    let engine = match settings.remove("engine") {
        Some(Level::Text(engine)) => engine,
        _ => plan.engine.clone(),
    };
    // All arms of a round work on the same data; rounds differ.
    let data = plan
        .seed
        .child(&planned.key)
        .child("data")
        .nth(u64::from(slot.place.0));
    TrialSpec {
        protocol: PROTOCOL,
        workload: workload.clone(),
        settings,
        engine,
        directory: directory.to_owned(),
        seed: data.0,
        counting: slot.role == Role::Counting,
    }
}
