//! The machine of an agent, which executes what arrives as a local run would.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fleet::{Machine, RunCard};
use lab::catalogue::Catalogue;
use lab::fleet::{has_sql, has_sql_for_another_driver};
use lab::level::Settings;
use lab::needs::Bound;
use lab::record::{EngineRecord, EnvironmentFile, RunPlan};
use runner::{Driver, End, Execution, Executor, Local, Task};

use super::objects::{Acceptance, Fetched, Objects, not_accepted};
use crate::driver::Running;
use crate::error::{Error, Result};
use crate::run::preflight::check_needs;
use crate::{driver, engine};

/// Bytes that must be free before a block is begun. A trial that needs more and does not get it is a failed trial.
const LEAST_FREE: u64 = 16 << 20;

/// This machine.
pub(super) struct Host<'a> {
    running: &'a Running<'a>,
    name: String,
    directory: PathBuf,
    objects: Objects<'a>,
    acceptance: Acceptance,
    runs: HashMap<String, Prepared<'a>>,
}

/// A run for which this machine is prepared.
struct Prepared<'a> {
    executor: Local<'a>,
    engines: Vec<EngineRecord>,
    fetched: Fetched,
    /// The settings that its trials may name.
    catalogue: Catalogue,
}

impl<'a> Host<'a> {
    /// Makes a host with a name and a directory to measure in.
    pub(super) fn new(
        running: &'a Running<'a>,
        (name, directory): (&str, PathBuf),
        (objects, acceptance): (Objects<'a>, Acceptance),
    ) -> Host<'a> {
        Host {
            running,
            name: name.to_owned(),
            directory,
            objects,
            acceptance,
            runs: HashMap::new(),
        }
    }

    fn prepared(&mut self, card: &RunCard) -> Result<EnvironmentFile> {
        let fetched = self.objects.fetch(card, &self.acceptance)?;
        let catalogue = self.catalogue(&card.plan, &fetched)?;
        let plan = self.plan_here(&card.plan, &fetched, &catalogue)?;
        plan.check().map_err(Error::unusable)?;
        let driver = self.driver_for(&plan, &fetched)?;
        for (workload, settings) in plan.work() {
            catalogue.check(workload, settings).map_err(Error::unusable)?;
        }
        check_needs(&plan)?;
        self.refuse_unconfined(&plan, &catalogue)?;
        let engines = self.engines(&plan, &fetched)?;
        let probe_s = card.probe_s;
        let environment =
            runner::survey(&plan, engines.clone(), probe_s, &self.running.interrupted, || {})?;
        let own = format!("{}-{}", card.run, self.name);
        let prepared = Prepared {
            executor: Local::new(&driver, &own, &engines, &self.running.interrupted),
            engines,
            fetched,
            catalogue,
        };
        self.runs.insert(card.run.clone(), prepared);
        Ok(environment)
    }

    /// The plan as it is carried out here.
    fn plan_here(
        &self,
        plan: &RunPlan,
        fetched: &Fetched,
        catalogue: &Catalogue,
    ) -> Result<RunPlan> {
        let mut plan = plan.clone();
        for planned in &mut plan.experiments {
            planned.directory.clone_from(&self.directory);
            let workload = &planned.experiment.workload;
            for variant in &mut planned.variants {
                variant.settings = fetched.settings_here(catalogue, workload, &variant.settings)?;
            }
            for bound in &mut planned.upper_bounds {
                bound.settings =
                    fetched.settings_here(catalogue, &bound.workload, &bound.settings)?;
            }
        }
        Ok(plan)
    }

    /// Starts the drivers of a run: the installed ones, or those that were sent where one is missing.
    fn driver_for(&self, plan: &RunPlan, fetched: &Fetched) -> Result<Driver> {
        let Err(missing) = driver::check_present(plan, None) else {
            return Ok(self.running.driver.clone());
        };
        let Some(sent) = &fetched.drivers else {
            let sends = |name: &&String| missing.words().contains(&format!("`{name}`"));
            return Err(match fetched.refused.iter().find(sends) {
                Some(name) => not_accepted(name),
                None => missing,
            });
        };
        driver::check_present(plan, Some(sent))?;
        driver::with_bindings(Some(sent))
    }

    /// Returns the settings that the trials of a run may name: with the drivers that [`Host::driver_for`] starts.
    fn catalogue(&self, plan: &RunPlan, fetched: &Fetched) -> Result<Catalogue> {
        let used = match driver::check_present(plan, None) {
            Ok(()) => None,
            Err(_) => fetched.drivers.as_deref(),
        };
        Ok(drivers::catalogue(used)?)
    }

    /// Refuses SQL that a driver would execute which confines none.
    fn refuse_unconfined(&self, plan: &RunPlan, catalogue: &Catalogue) -> Result<()> {
        let is_unconfined = |(workload, settings): (&str, &Settings)| {
            has_sql_for_another_driver(catalogue, workload, settings)
        };
        if !self.acceptance.all && plan.work().any(is_unconfined) {
            return Err(unconfined());
        }
        Ok(())
    }

    /// The engines of a run: those that were sent, and the others from this machine, built where they have to be.
    fn engines(&self, plan: &RunPlan, fetched: &Fetched) -> Result<Vec<EngineRecord>> {
        let mut records = Vec::new();
        let mut own = Vec::new();
        for name in engine::names(plan) {
            match fetched.engines.get(&name) {
                Some(path) => {
                    let path = path.display().to_string();
                    records.push(engine::describe(&name, &path, &self.running.driver)?);
                }
                None if name.contains('/') => return Err(fetched.missing(&name)),
                None => own.push(name),
            }
        }
        records.extend(engine::prepare(&own, self.running)?);
        engine::usable(plan, records, self.running.ui)
    }

    /// The trial as it is carried out here.
    fn task_here(&self, task: &Task, prepared: &Prepared<'_>) -> Result<Task, String> {
        let engine = &task.spec.engine;
        if !prepared.engines.iter().any(|known| known.name == *engine) {
            return Err(format!("the run does not name the engine {engine}"));
        }
        let mut task = task.clone();
        let (workload, settings) = (&task.spec.workload, &task.spec.settings);
        task.spec.confined = has_sql(&prepared.catalogue, workload, settings);
        if task.spec.confined && task.spec.binding.is_some() && !self.acceptance.all {
            return Err(unconfined().words());
        }
        prepared.catalogue.check(workload, settings)?;
        let settings = prepared.fetched.settings_here(&prepared.catalogue, workload, settings);
        task.spec.settings = settings.map_err(|failure| failure.words())?;
        task.spec.directory.clone_from(&self.directory);
        task.spec.artifacts = None;
        task.spec.postgres = None;
        Ok(task)
    }
}

/// Refuses a block that would fail because the disk is full, so that another agent can carry it out.
fn check_free(directory: &Path) -> Result<(), String> {
    let limits = runner::machine::bounds(directory).map_err(|error| error.to_string())?;
    let mut disk = limits.iter().filter(|limit| limit.bound == Bound::DiskBytes);
    match disk.find(|limit| limit.at < LEAST_FREE) {
        None => Ok(()),
        Some(free) => Err(format!(
            "the disk is full: {} has {} bytes free, and a block needs {LEAST_FREE} or more",
            directory.display(),
            free.at
        )),
    }
}

fn unconfined() -> Error {
    Error::unusable(
        "the run has a driver in another language execute SQL of somebody else, which would not be confined",
    )
    .hint("an agent that was started with --accept-code executes it")
}

impl Machine for Host<'_> {
    fn prepare(&mut self, card: &RunCard) -> Result<EnvironmentFile, String> {
        self.prepared(card).map_err(|failure| failure.words())
    }

    fn execute(&mut self, run: &str, tasks: &[Task]) -> Result<Option<Vec<Execution>>, String> {
        let unprepared = || format!("this agent is not prepared for the run {run}");
        let prepared = self.runs.get(run).ok_or_else(unprepared)?;
        check_free(&self.directory)?;
        let here = tasks.iter().map(|task| self.task_here(task, prepared));
        let here = here.collect::<Result<Vec<Task>, String>>()?;
        let prepared = self.runs.get_mut(run).ok_or_else(unprepared)?;
        let mut executions = Vec::new();
        let end = prepared.executor.execute(&here, &mut executions);
        let end = end.map_err(|error| error.to_string())?;
        Ok((end == End::Finished).then_some(executions))
    }

    fn forget(&mut self, run: &str) {
        self.runs.remove(run);
        self.objects.forget(run);
    }
}
