//! `pragmark agent`: carries out blocks of runs over a fleet on this machine.

mod home;
mod host;
mod objects;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::engine::build::Cache;
use ::fleet::{Activity, AgentEvent, Card, StopSignals, check_name};
use lab::environment::Environment;
use lab::fleet::{Labels, name_of, own_labels};
use runner::machine::find_program;

use self::home::Home;
use self::host::Host;
use self::objects::{Acceptance, Objects};
use super::doctor::NEEDED_TO_BUILD;
use super::fleet::{connect, target};
use super::{engine, run};
use crate::cli::AgentArgs;
use crate::failure::{Exit, Failure};
use crate::interrupt;

/// Works until it is stopped or drained.
pub fn execute(args: &AgentArgs) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    let directory = run::directories(std::slice::from_ref(&args.dir))?.remove(0);
    let driver = run::driver_of_run(args.drivers.as_deref())?;
    let name = agent_name(args.name.as_deref())?;
    let own = Cache::of_user()?.root().join("agents").join(&name);
    let home = Home::enter(own, &name)?;
    let card = Card {
        agent: name.clone(),
        instance: home.instance.clone(),
        ..card(args, &directory, &interrupted)?
    };
    let server = connect(&args.server, &args.access, &name, &interrupted)?;
    check_name(&server, &name, &[&home.instance, &home.before])?;
    tell!(
        "agent {name} measures in {}; stop it with Ctrl-C, or with `pragmark fleet drain`",
        directory.display()
    );
    let objects = Objects::below(&home.path, args.cache_limit, &server)?;
    let acceptance = Acceptance { all: args.accept_code, trusted: args.trust.clone() };
    let place = (name.as_str(), directory, args.drivers.clone());
    let mut host = Host::new(&driver, place, (objects, acceptance), &interrupted);
    let orders = StopSignals { cancelled: Arc::clone(&interrupted), ..StopSignals::default() };
    ::fleet::serve(&server, card, &mut host, &orders, &say)?;
    tell!("the agent has ended");
    Ok(Exit::Success)
}

/// What the agent says of its machine.
fn card(args: &AgentArgs, directory: &Path, interrupted: &AtomicBool) -> Result<Card, Failure> {
    let machine = runner::machine::capture(&[directory], interrupted)?;
    let catalogue = drivers::catalogue(args.drivers.as_deref())?;
    let engines = engine::at_hand()?.into_iter();
    let usable = engines.filter(|engine| engine.problem.is_none());
    Ok(Card {
        agent: String::new(),
        instance: String::new(),
        version: run::THIS_VERSION.to_owned(),
        labels: labels(args, &machine, directory),
        engines: usable.map(|engine| engine.name).collect(),
        can_build: NEEDED_TO_BUILD.iter().all(|it| find_program(it).is_ok()),
        target: target(),
        drivers: catalogue.drivers.into_iter().map(|it| it.name).collect(),
        machine,
        doing: Activity::default(),
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
        false => Err(Failure::usage(format!("`{given}` cannot be the name of an agent"))
            .hint(format!("--name takes small letters, digits and hyphens: {}", name_of(given)))),
    }
}

fn labels(args: &AgentArgs, machine: &Environment, directory: &Path) -> Labels {
    let mut labels = own_labels(machine, machine.volume(directory));
    labels.extend(args.labels.iter().cloned());
    labels
}

fn say(notice: AgentEvent) {
    match notice {
        AgentEvent::Joined { run, group } => tell!("takes part in {run}, group {group}"),
        AgentEvent::Refused { run, why } => tell!("warning: takes no part in {run}: {why}"),
        AgentEvent::Left(run) => tell!("{run} has ended"),
        AgentEvent::Gave { run, why } => tell!(
            "warning: takes no part in {run} any more: {why}; it can join again when the run is resumed"
        ),
        AgentEvent::Unreadable(why) => tell!("warning: {why}"),
        AgentEvent::Done { block, attempt: 1 } => tell!("  {block}"),
        AgentEvent::Done { block, attempt } => tell!("  {block} (delivered {attempt} times)"),
        AgentEvent::Late(block) => {
            tell!("  {block}: another agent was first; this outcome does not count")
        }
        AgentEvent::Trouble(why) => {
            tell!("warning: {why}; the block is left to others for the moment")
        }
    }
}
