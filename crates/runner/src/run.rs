//! Carrying out a plan: trial after trial until the design says stop.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::analysis::observation;
use lab::design::{History, Next, Role, StopReason, expected_seconds, outlook, turn};
use lab::engine_name::{engine_of, without_engine};
use lab::level::Level;
use lab::record::{
    EngineRecord, PlannedExperiment, RunPlan, TierRecord, TrialRecord, engine_to_load,
};
use lab::tier::{TierPlan, TierSet};
use lab::trial::{BindingSpec, DRIVER, NATIVE, Outcome, PROTOCOL, TrialSpec};

use crate::confirmation;
use crate::error::RunError;
use crate::machine::Sampler;
use crate::postgres::Servers;
use crate::process::{Driver, run_trial};
use crate::record::{Appender, RunFolder};
use crate::stamp::now;
use crate::tiers;
use crate::workdir::WorkDir;

/// What happens during a run, for displays.
pub enum Event<'a> {
    /// An experiment has its first turn, or its first after the run was taken up again.
    ExperimentBegins {
        /// The experiment.
        planned: &'a PlannedExperiment,
        /// Its number, from 1.
        number: usize,
        /// Of how many.
        of: usize,
        /// Whether it measures again what was chosen from many variants.
        again: bool,
    },
    /// A trial begins.
    TrialBegins {
        /// Its experiment.
        planned: &'a PlannedExperiment,
        /// Its round, from 0.
        round: u32,
        /// Label of its variant.
        variant: &'a str,
        /// Seconds that the whole run will probably still take; none before a trial has ended, from
        /// which it could be told.
        left_s: Option<f64>,
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
    /// A crash trial begins; these come after the last round.
    TierBegins {
        /// The settings that are tried.
        set: &'a TierSet,
        /// Its number, from 1.
        number: usize,
        /// Of how many.
        of: usize,
        /// Seconds that the whole run will probably still take.
        left_s: f64,
    },
    /// A crash trial has ended and is recorded.
    TierEnded(&'a TierRecord),
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
    servers: &mut Servers,
    cancelled: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<End, RunError> {
    let plan = folder.plan()?;
    let engines = folder.environment()?.engines;
    // Held to the end, so that no other process works on the run meanwhile.
    let mut appender = folder.appender()?;
    let mut histories = histories(&plan);
    folder.each_trial(|record| add(&record, &plan, &mut histories))?;
    let mut equipment = Equipment {
        engines: &engines,
        driver,
        servers,
        cancelled,
        observer,
    };
    let end = run_rounds(&plan, &mut histories, &mut appender, &mut equipment, false);
    // Trials that try crashes keep every CPU busy, and no server needs to wait for them.
    equipment.servers.stop();
    if end? == End::Cancelled {
        return Ok(End::Cancelled);
    }
    let used_s: f64 = histories.iter().map(History::elapsed_s).sum();
    let observer = &mut *equipment.observer;
    let end = tiers::run(folder, &plan, &engines, used_s, driver, cancelled, observer)?;
    if end == End::Cancelled {
        return Ok(End::Cancelled);
    }
    let end = confirmation::run(folder, &plan, used_s, &mut equipment);
    equipment.servers.stop();
    end
}

/// What trials are carried out with.
pub(crate) struct Equipment<'a> {
    /// The engines as they were looked at ahead of the run.
    pub(crate) engines: &'a [EngineRecord],
    pub(crate) driver: &'a Driver,
    pub(crate) servers: &'a mut Servers,
    pub(crate) cancelled: &'a AtomicBool,
    pub(crate) observer: &'a mut dyn Observer,
}

/// Carries out what remains of the rounds of a plan; `again` where they measure again what was chosen
/// from many.
pub(crate) fn run_rounds(
    plan: &RunPlan,
    histories: &mut [History],
    appender: &mut Appender<TrialRecord>,
    equipment: &mut Equipment<'_>,
    again: bool,
) -> Result<End, RunError> {
    let mut conductor = Conductor {
        plan,
        again,
        engines: equipment.engines,
        driver: equipment.driver,
        servers: equipment.servers,
        cancelled: equipment.cancelled,
        observer: equipment.observer,
        appender,
        work: HashMap::new(),
        told: vec![Told::Nothing; plan.experiments.len()],
    };
    while let Some((index, slot)) = conductor.look_ahead(histories) {
        if conductor.cancelled.load(Ordering::Relaxed)
            || conductor.carry_out(index, slot, histories)? == End::Cancelled
        {
            return Ok(End::Cancelled);
        }
    }
    Ok(End::Finished)
}

/// Seconds that what remains will probably take, once a trial has ended.
fn left_s(plan: &RunPlan, histories: &[History]) -> Option<f64> {
    let so_far: Vec<&History> = histories.iter().collect();
    let courses = plan.courses(&so_far);
    let trials: usize = histories.iter().map(History::len).sum();
    let elapsed: f64 = histories.iter().map(History::elapsed_s).sum();
    if trials == 0 {
        return None;
    }
    let trial_s = elapsed / trials as f64;
    let left: f64 = outlook(&courses, &so_far)
        .iter()
        .zip(courses.iter().zip(histories))
        .filter(|(next, _)| matches!(next, Next::Trial { .. }))
        .map(|(_, (course, history))| expected_seconds(course, history, trial_s))
        .sum();
    let rounds = plan
        .rounds_budget_s()
        .map_or(left, |limit| left.min((limit - elapsed).max(0.0)));
    Some(rounds + plan.tiers.as_ref().map_or(0.0, TierPlan::expected_s))
}

/// The histories of the plan's experiments before the first trial.
pub(crate) fn histories(plan: &RunPlan) -> Vec<History> {
    let experiments = plan.experiments.iter();
    experiments.map(|_| History::default()).collect()
}

/// Adds a trial of the record to the history of its experiment.
pub(crate) fn add(record: &TrialRecord, plan: &RunPlan, histories: &mut [History]) {
    let mut experiments = plan.experiments.iter().zip(histories);
    if let Some((planned, history)) = experiments.find(|(one, _)| one.key == record.experiment)
        && let Some(seen) = observation(planned, record)
    {
        history.add(seen);
    }
}

/// Which trial, and where it stands in its block.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) place: (u32, u32, u32),
    pub(crate) variant: usize,
    pub(crate) role: Role,
}

/// What the observer has been told of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Begun,
    Ended,
}

struct Conductor<'a> {
    plan: &'a RunPlan,
    again: bool,
    engines: &'a [EngineRecord],
    driver: &'a Driver,
    servers: &'a mut Servers,
    cancelled: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    appender: &'a mut Appender<TrialRecord>,
    /// The run's directory in each measured one.
    work: HashMap<&'a Path, WorkDir>,
    told: Vec<Told>,
}

impl<'a> Conductor<'a> {
    /// The next trial and its experiment, after telling which experiments have ended; none at the
    /// end of the run.
    fn look_ahead(&mut self, histories: &[History]) -> Option<(usize, Slot)> {
        let so_far: Vec<&History> = histories.iter().collect();
        let outlook = outlook(&self.plan.courses(&so_far), &so_far);
        for (index, next) in outlook.iter().enumerate() {
            if let Next::Stop(reason) = next {
                self.tell_end(index, *reason);
            }
        }
        let index = turn(&outlook)?;
        match outlook[index] {
            Next::Trial {
                place,
                variant,
                role,
            } => Some((
                index,
                Slot {
                    place,
                    variant,
                    role,
                },
            )),
            Next::Stop(_) => None,
        }
    }

    fn tell_begin(&mut self, index: usize) {
        if self.told[index] == Told::Nothing {
            self.told[index] = Told::Begun;
            self.observer.event(Event::ExperimentBegins {
                planned: &self.plan.experiments[index],
                number: index + 1,
                of: self.plan.experiments.len(),
                again: self.again,
            });
        }
    }

    fn tell_end(&mut self, index: usize, reason: StopReason) {
        if self.told[index] == Told::Begun {
            let planned = &self.plan.experiments[index];
            self.observer
                .event(Event::ExperimentEnds { planned, reason });
        }
        self.told[index] = Told::Ended;
    }

    fn carry_out(
        &mut self,
        index: usize,
        slot: Slot,
        histories: &mut [History],
    ) -> Result<End, RunError> {
        let planned = &self.plan.experiments[index];
        self.tell_begin(index);
        self.observer.event(Event::TrialBegins {
            planned,
            round: slot.place.0,
            variant: planned.label(slot.variant),
            left_s: left_s(self.plan, histories),
        });
        let Some(record) = self.trial(planned, slot)? else {
            return Ok(End::Cancelled);
        };
        self.appender.append(&record)?;
        self.observer.event(Event::TrialEnded(&record));
        if let Some(seen) = observation(planned, &record) {
            histories[index].add(seen);
        }
        Ok(End::Finished)
    }

    fn work_in(&mut self, directory: &'a Path) -> Result<&WorkDir, RunError> {
        Ok(match self.work.entry(directory) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(missing) => missing.insert(WorkDir::create(directory, &self.plan.id)?),
        })
    }

    /// Runs one trial; none when it was cancelled.
    fn trial(
        &mut self,
        planned: &'a PlannedExperiment,
        slot: Slot,
    ) -> Result<Option<TrialRecord>, RunError> {
        let (started, clock, sampler) = (now(), Instant::now(), Sampler::start());
        let Some(outcome) = self.outcome(planned, slot)? else {
            return Ok(None);
        };
        Ok(Some(TrialRecord {
            experiment: planned.key.clone(),
            round: slot.place.0,
            block: slot.place.1,
            position: slot.place.2,
            variant: planned.label(slot.variant).to_owned(),
            role: slot.role,
            started,
            wall_s: clock.elapsed().as_secs_f64(),
            covariates: sampler.finish(),
            outcome,
        }))
    }

    fn outcome(
        &mut self,
        planned: &'a PlannedExperiment,
        slot: Slot,
    ) -> Result<Option<Outcome>, RunError> {
        // A directory that cannot be made now (a full disk) may be made for the next trial.
        let directory = match self.work_in(&planned.directory)?.trial() {
            Ok(directory) => directory,
            Err(error) => {
                let why = error.to_string();
                return Ok(Some(Outcome::Failed { why }));
            }
        };
        let spec = specification(self.plan, self.engines, planned, directory.path(), slot);
        let mut spec = match spec {
            Ok(spec) => spec,
            Err(why) => return Ok(Some(Outcome::Skipped { why })),
        };
        let (measured, cancelled) = (&planned.directory, self.cancelled);
        if let Err(instead) = self
            .servers
            .provide(&mut spec, measured, &self.plan.id, cancelled)
        {
            return Ok(instead);
        }
        let limit = Duration::from_secs_f64(self.plan.trial_limit_s);
        let observer = &mut self.observer;
        let outcome = run_trial(self.driver, &spec, limit, cancelled, &mut |phase| {
            observer.event(Event::Phase(phase))
        })?;
        Ok(outcome.map(|outcome| self.servers.explained(measured, outcome)))
    }
}

/// What the driver of this trial is asked; the error is why the variant's engine cannot be used.
pub(crate) fn specification(
    plan: &RunPlan,
    engines: &[EngineRecord],
    planned: &PlannedExperiment,
    directory: &Path,
    slot: Slot,
) -> Result<TrialSpec, String> {
    let (workload, settings) = match slot.variant.checked_sub(planned.variants.len()) {
        None => (
            &planned.experiment.workload,
            &planned.variants[slot.variant].settings,
        ),
        Some(limit) => (
            &planned.upper_bounds[limit].workload,
            &planned.upper_bounds[limit].settings,
        ),
    };
    let mut asked = without_engine(settings);
    let binding = match asked.remove(DRIVER) {
        Some(Level::Text(driver)) if driver != NATIVE => Some(BindingSpec {
            driver,
            ..BindingSpec::default()
        }),
        _ => None,
    };
    // All variants of a round work on the same data; rounds differ.
    let data = plan
        .seed
        .child(&planned.key)
        .child("data")
        .nth(u64::from(slot.place.0));
    Ok(TrialSpec {
        protocol: PROTOCOL,
        workload: workload.clone(),
        settings: asked,
        engine: engine_to_load(engines, &engine_of(settings, &plan.engine))?,
        directory: directory.to_owned(),
        seed: data.0,
        counting: slot.role == Role::Counting,
        binding,
        postgres: None,
    })
}
