//! Trials on this machine: each in a fresh process on a fresh directory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lab::environment::Covariates;
use lab::record::{EngineRecord, engine_to_load};
use lab::trial::{DRAWN, Measured, Outcome, TrialSpec};

use crate::error::{Context, Result};
use crate::executor::{End, Execution, Executor, Task, Watch};
use crate::isolation;
use crate::machine::{Sampler, fsync_median};
use crate::postgres::Servers;
use crate::process::{Driver, TrialRun};
use crate::record::check_no_link;
use crate::stamp::now;
use crate::workdir::WorkDir;

/// The seed of the last trial and the values that it drew, for the other side of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Draws(Arc<Mutex<(u64, Vec<u8>)>>);

/// Carries out trials on this machine.
#[derive(Debug)]
pub struct Local<'a> {
    driver: Driver,
    run: String,
    engines: Vec<EngineRecord>,
    servers: Servers,
    folder: Option<PathBuf>,
    draws: Option<Draws>,
    cancelled: &'a AtomicBool,
    /// The run's directory in each measured one.
    work: HashMap<PathBuf, WorkDir>,
}

impl<'a> Local<'a> {
    /// Returns an executor for trials of the run with this id, with the engines as examined before the run.
    /// PostgreSQL servers are private ones; no artifacts are kept.
    pub fn new(
        driver: &Driver,
        run: &str,
        engines: &[EngineRecord],
        cancelled: &'a AtomicBool,
    ) -> Local<'a> {
        Local {
            driver: driver.clone(),
            run: run.to_owned(),
            engines: engines.to_vec(),
            servers: Servers::default(),
            folder: None,
            draws: None,
            cancelled,
            work: HashMap::new(),
        }
    }

    /// Returns the same with a PostgreSQL server at this connection URI in place of private ones, where there is one.
    pub fn with_postgres(mut self, uri: Option<&str>) -> Local<'a> {
        self.servers.given = uri.map(str::to_owned);
        self
    }

    /// Returns the same for sides of a comparison, whose trials have the values that the first one with their seed has drawn.
    pub fn sharing(self, draws: &Draws) -> Local<'a> {
        Local { draws: Some(draws.clone()), ..self }
    }

    /// Returns the same with artifacts kept in the folder of a run.
    pub fn keeping_artifacts_in(self, folder: &Path) -> Local<'a> {
        Local { folder: Some(folder.to_owned()), ..self }
    }

    /// Runs one trial; `None` if it was cancelled.
    fn outcome(&mut self, task: &Task, on_phase: &mut dyn FnMut(&str)) -> Result<Option<Outcome>> {
        let measured = &task.spec.directory;
        let work = self.work_in(measured)?;
        // A directory that cannot be made now (a full disk) may be made for the next trial.
        let directory = match work.trial() {
            Ok(directory) => directory,
            Err(error) => {
                return Ok(Some(Outcome::failed(error.to_string())));
            }
        };
        let engine = match engine_to_load(&self.engines, &task.spec.engine) {
            Ok(engine) => engine,
            Err(why) => return Ok(Some(Outcome::Skipped { why })),
        };
        let mut spec = TrialSpec {
            engine,
            directory: directory.path.to_owned(),
            artifacts: self.place_of_artifacts(&task.spec)?,
            ..task.spec.clone()
        };
        if let Err(instead) = self.servers.provide(&mut spec, measured, &self.run, self.cancelled) {
            return Ok(instead);
        }
        // A task may come from another machine.
        let Ok(limit) = Duration::try_from_secs_f64(task.limit_s) else {
            return Ok(Some(Outcome::failed(format!("{} s is no time limit", task.limit_s))));
        };
        if let Some(draws) = &self.draws {
            draws.give(&spec)?;
        }
        let (driver, cancelled) = (&self.driver, self.cancelled);
        let mut running = TrialRun { driver, limit, cancelled, on_phase };
        let outcome = running.run(&spec)?;
        if let Some(draws) = &self.draws {
            draws.take(&spec)?;
        }
        let outcome = match (outcome, isolation::left_in(&spec.directory)) {
            (Some(Outcome::Failed { why, .. }), Some(trail)) => {
                running.run_by_models(&spec, &trail, &why)?
            }
            (outcome, _) => outcome,
        };
        Ok(outcome.map(|outcome| {
            let outcome = self.servers.explained(measured, outcome);
            in_folder_of_run(outcome, task.spec.artifacts.as_deref())
        }))
    }

    /// Returns the run's directory in a measured one.
    fn work_in(&mut self, measured: &Path) -> Result<&mut WorkDir> {
        Ok(match self.work.entry(measured.to_owned()) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(missing) => missing.insert(WorkDir::create(measured, &self.run)?),
        })
    }

    /// Returns the median fsync just now in nanoseconds, where the task wants it. A disk that cannot be written gives
    /// none: it fails the trial itself, with the reason.
    fn fsync_median(&mut self, task: &Task) -> Result<Option<u64>> {
        if !task.probe_fsync {
            return Ok(None);
        }
        let work = self.work_in(&task.spec.directory)?;
        Ok(fsync_median(&work.path).ok())
    }

    /// Returns where the trial keeps its artifacts; what a killed one has left there is removed.
    fn place_of_artifacts(&self, spec: &TrialSpec) -> Result<Option<PathBuf>> {
        let Some((folder, place)) = self.folder.as_ref().zip(spec.artifacts.as_ref()) else {
            return Ok(None);
        };
        check_no_link(folder, place)?;
        let place = std::path::absolute(folder).context("find", folder)?.join(place);
        if place.exists() {
            std::fs::remove_dir_all(&place).context("remove", &place)?;
        }
        Ok(Some(place))
    }
}

impl Draws {
    /// Gives a trial the values of another one with its seed.
    fn give(&self, spec: &TrialSpec) -> Result<()> {
        let drawn = spec.directory.join(DRAWN);
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            (seed, values) if *seed == spec.seed && !values.is_empty() => {
                std::fs::write(&drawn, values).context("write", &drawn)
            }
            _ => Ok(()),
        }
    }

    /// Keeps the values that a trial has drawn.
    fn take(&self, spec: &TrialSpec) -> Result<()> {
        let drawn = spec.directory.join(DRAWN);
        match std::fs::read(&drawn) {
            Ok(values) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (spec.seed, values);
                Ok(())
            }
            // It draws none.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).context("read", &drawn),
        }
    }
}

/// Artifacts as the record names them.
fn in_folder_of_run(outcome: Outcome, place: Option<&Path>) -> Outcome {
    match (outcome, place) {
        (Outcome::Measured(mut measured), Some(place)) => {
            let Measured { artifacts, .. } = &mut *measured;
            for artifact in artifacts {
                artifact.path = place.join(&artifact.path);
            }
            Outcome::Measured(measured)
        }
        (outcome, _) => outcome,
    }
}

impl Executor for Local<'_> {
    fn execute(&mut self, block: &[Task], watch: &mut dyn Watch) -> Result<End> {
        for (index, task) in block.iter().enumerate() {
            if self.cancelled.load(Ordering::Relaxed) {
                return Ok(End::Cancelled);
            }
            watch.begins(index);
            let fsync_p50_ns = self.fsync_median(task)?;
            let (started, clock, sampler) = (now(), Instant::now(), Sampler::start(Path::new("/")));
            let Some(outcome) = self.outcome(task, &mut |phase| watch.phase(phase))? else {
                return Ok(End::Cancelled);
            };
            let execution = Execution {
                agent: None,
                started,
                wall_s: clock.elapsed().as_secs_f64(),
                covariates: Covariates { fsync_p50_ns, ..sampler.finish(Path::new("/")) },
                outcome,
            };
            watch.ended(index, execution)?;
        }
        Ok(End::Finished)
    }

    fn rest(&mut self) {
        self.servers.stop();
    }
}
