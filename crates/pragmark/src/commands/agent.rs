//! `pragmark agent`: carries out blocks of runs over a fleet on this machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::fleet::{Card, Doing, Machine, Notice, Orders, RunCard};
use lab::environment::Environment;
use lab::fleet::{Labels, foreign, name_of, own_labels};
use lab::level::Settings;
use lab::record::{EngineRecord, EnvironmentFile, RunPlan};
use runner::{Driver, End, Execution, Executor, Local, Task};

use super::fleet::connect;
use super::{engine, needs, run};
use crate::cli::AgentArgs;
use crate::failure::{Exit, Failure};
use crate::interrupt;

/// Works until it is stopped or drained.
pub fn execute(args: &AgentArgs) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    let directory = run::directories(std::slice::from_ref(&args.dir))?.remove(0);
    let driver = run::driver_of_run(args.drivers.as_deref())?;
    let card = card(args, &directory, &interrupted)?;
    let name = card.agent.clone();
    let server = connect(&args.server, &args.access, &name, &interrupted)?;
    tell!(
        "agent {name} measures in {}; stop it with Ctrl-C, or with `pragmark fleet drain`",
        directory.display()
    );
    let mut host = Host {
        driver: &driver,
        name,
        directory,
        drivers: args.drivers.clone(),
        accepts_code: args.accept_code,
        interrupted: &interrupted,
        runs: HashMap::new(),
    };
    let orders = Orders {
        cancelled: Arc::clone(&interrupted),
        ..Orders::default()
    };
    ::fleet::serve(&server, card, &mut host, &orders, &say)?;
    tell!("the agent has ended");
    Ok(Exit::Success)
}

/// What the agent says of itself.
fn card(args: &AgentArgs, directory: &Path, interrupted: &AtomicBool) -> Result<Card, Failure> {
    let machine = runner::machine::capture(&[directory], interrupted)?;
    let catalogue = drivers::catalogue(args.drivers.as_deref())?;
    let engines = engine::at_hand()?.into_iter();
    let usable = engines.filter(|engine| engine.problem.is_none());
    Ok(Card {
        agent: agent_name(args.name.as_deref())?,
        version: run::THIS_VERSION.to_owned(),
        labels: labels(args, &machine, directory),
        engines: usable.map(|engine| engine.name).collect(),
        drivers: catalogue.drivers.into_iter().map(|it| it.name).collect(),
        machine,
        doing: Doing::default(),
        clock_s: 0,
    })
}

/// The name that was given, or that of the machine.
fn agent_name(given: Option<&str>) -> Result<String, Failure> {
    let Some(given) = given else {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").map_err(|error| {
            Failure::unusable(format!("cannot read the machine's name: {error}"))
        })?;
        return Ok(name_of(&name));
    };
    match given == name_of(given) {
        true => Ok(given.to_owned()),
        false => Err(
            Failure::usage(format!("`{given}` cannot be the name of an agent")).hint(format!(
                "--name takes small letters, digits and hyphens: {}",
                name_of(given)
            )),
        ),
    }
}

fn labels(args: &AgentArgs, machine: &Environment, directory: &Path) -> Labels {
    let mut labels = own_labels(machine, machine.volume(directory));
    labels.extend(args.labels.iter().cloned());
    labels
}

fn say(notice: Notice) {
    match notice {
        Notice::Joined { run, group } => tell!("takes part in {run}, group {group}"),
        Notice::Refused { run, why } => tell!("warning: takes no part in {run}: {why}"),
        Notice::Left(run) => tell!("{run} has ended"),
        Notice::Done { block, attempt: 1 } => tell!("  {block}"),
        Notice::Done { block, attempt } => tell!("  {block} (delivered {attempt} times)"),
        Notice::Late(block) => {
            tell!("  {block}: another agent was first; this outcome does not count")
        }
        Notice::Trouble(why) => tell!("warning: {why}; the block is left to others for the moment"),
    }
}

/// This machine, which executes what arrives as a local run would.
struct Host<'a> {
    driver: &'a Driver,
    name: String,
    directory: PathBuf,
    drivers: Option<PathBuf>,
    /// Whether SQL and files of others may be used.
    accepts_code: bool,
    interrupted: &'a AtomicBool,
    runs: HashMap<String, Prepared<'a>>,
}

/// A run for which this machine is prepared.
struct Prepared<'a> {
    executor: Local<'a>,
    engines: Vec<EngineRecord>,
}

impl Host<'_> {
    /// The plan as it is carried out here.
    fn plan_here(&self, plan: &RunPlan) -> RunPlan {
        let mut plan = plan.clone();
        for planned in &mut plan.experiments {
            planned.directory.clone_from(&self.directory);
        }
        plan
    }

    fn prepared(&mut self, card: &RunCard) -> Result<EnvironmentFile, Failure> {
        let plan = self.plan_here(&card.plan);
        plan.check().map_err(Failure::unusable)?;
        run::check_drivers(&plan, self.drivers.as_deref())?;
        needs::check(&plan)?;
        if !self.accepts_code {
            refuse_libraries(&plan)?;
            plan.settings().try_for_each(refuse_foreign)?;
        }
        let engines = engine::of_plan(&plan, self.driver, self.interrupted, false)?;
        let probe_s = card.probe_s;
        let environment = runner::survey(&plan, engines.clone(), probe_s, self.interrupted, || {})?;
        let own = format!("{}-{}", card.run, self.name);
        let executor = Local::new(self.driver, &own, &engines, self.interrupted);
        self.runs
            .insert(card.run.clone(), Prepared { executor, engines });
        Ok(environment)
    }

    /// The trial as it is carried out here.
    fn task_here(&self, task: &Task, engines: &[EngineRecord]) -> Result<Task, String> {
        let engine = &task.spec.engine;
        if !engines.iter().any(|it| it.name == *engine) {
            return Err(format!(
                "the run has not said that it needs the engine {engine}"
            ));
        }
        if !self.accepts_code {
            refuse_foreign(&task.spec.settings).map_err(|failure| failure.words())?;
        }
        let mut task = task.clone();
        task.spec.directory.clone_from(&self.directory);
        task.spec.artifacts = None;
        Ok(task)
    }
}

/// Refuses SQL and files that nobody here has chosen.
fn refuse_foreign(settings: &Settings) -> Result<(), Failure> {
    match foreign(settings) {
        Some(name) => Err(Failure::unusable(format!(
            "the setting {name} of the run is SQL or a file of somebody else"
        ))
        .hint("an agent that was started with --accept-code accepts it")),
        None => Ok(()),
    }
}

/// Refuses libraries that are named by their paths: they are code that nobody here has chosen.
fn refuse_libraries(plan: &RunPlan) -> Result<(), Failure> {
    match engine::names(plan)
        .into_iter()
        .find(|name| name.contains('/'))
    {
        Some(path) => Err(Failure::unusable(format!(
            "the run names the library {path}, and an agent loads no library by its path"
        ))
        .hint("add it on the machines with `pragmark engine add`, and name it by its name")),
        None => Ok(()),
    }
}

impl Machine for Host<'_> {
    fn prepare(&mut self, card: &RunCard) -> Result<EnvironmentFile, String> {
        self.prepared(card).map_err(|failure| failure.words())
    }

    fn execute(&mut self, run: &str, tasks: &[Task]) -> Result<Option<Vec<Execution>>, String> {
        let Some(mut prepared) = self.runs.remove(run) else {
            return Err(format!("this agent is not prepared for the run {run}"));
        };
        let here: Result<Vec<Task>, String> = tasks
            .iter()
            .map(|task| self.task_here(task, &prepared.engines))
            .collect();
        let ended = here.map(|tasks| {
            let mut executions = Vec::new();
            let end = prepared.executor.execute(&tasks, &mut executions);
            (end, executions)
        });
        self.runs.insert(run.to_owned(), prepared);
        let (end, executions) = ended?;
        let end = end.map_err(|error| error.to_string())?;
        Ok((end == End::Finished).then_some(executions))
    }

    fn forget(&mut self, run: &str) {
        self.runs.remove(run);
    }
}
