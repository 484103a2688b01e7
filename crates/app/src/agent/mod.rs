//! Agents: they carry out blocks of runs over a fleet on their machine.

mod home;
mod host;
mod objects;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::engine::build::Cache;
use fleet::{Activity, AgentEvent, Card, StopSignals, Trusted, check_name};
use lab::fleet::{name_of, own_labels};
use runner::machine::find_program;

use self::home::Home;
use self::host::Host;
use self::objects::{Acceptance, Objects};
use crate::doctor::NEEDED_TO_BUILD;
use crate::driver::Running;
use crate::error::{Error, Result};
use crate::fleet::objects::target;
use crate::fleet::server::{ServerRequest, connect};
use crate::interface::Interface;
use crate::run::plan::directories;
use crate::{VERSION, driver, engine};

/// An agent of a fleet.
#[derive(Clone)]
pub struct AgentRequest {
    /// The server.
    pub server: ServerRequest,
    /// The name; the machine's by default.
    pub name: Option<String>,
    /// The directory to measure in.
    pub directory: PathBuf,
    /// Labels of the machine.
    pub labels: Vec<(String, String)>,
    /// Whether code is accepted from everybody.
    pub accept_code: bool,
    /// The keys whose signed code is accepted.
    pub trusted: Vec<Trusted>,
    /// The largest size of the files that runs send, in bytes.
    pub cache_limit: u64,
}

/// Works until it is stopped or drained.
///
/// # Errors
/// The directory, the name or the server cannot be used.
pub fn agent(request: &AgentRequest, ui: &dyn Interface) -> Result<()> {
    let interrupted = ui.interrupted()?;
    let directory = directories(std::slice::from_ref(&request.directory))?.remove(0);
    let driver = driver::with_bindings(None)?;
    let running = Running { driver, postgres: None, interrupted: Arc::clone(&interrupted), ui };
    let name = agent_name(request.name.as_deref())?;
    let own = Cache::of_user()?.root().join("agents").join(&name);
    let home = Home::enter(own, &name)?;
    let card = Card { agent: name.clone(), ..card(request, &directory, &interrupted)? };
    let server = connect(&request.server, &name, ui)?;
    check_name(&server, &name, &[&home.signer.key(), &home.before])?;
    tell!(
        ui,
        "agent {name} measures in {}; stop it with Ctrl-C, or with `pragmark fleet drain`",
        directory.display()
    );
    let objects = Objects::below(&home.path, request.cache_limit, &server)?;
    let acceptance = Acceptance { all: request.accept_code, trusted: request.trusted.clone() };
    let mut host = Host::new(&running, (&name, directory), (objects, acceptance));
    let orders = StopSignals { cancelled: Arc::clone(&interrupted), ..StopSignals::default() };
    fleet::serve(&server, card, &home.signer, &mut host, &orders, &|notice| {
        ui.say(&words(notice))
    })?;
    ui.say("the agent has ended");
    Ok(())
}

/// Returns what the agent says of its machine.
fn card(request: &AgentRequest, directory: &Path, interrupted: &AtomicBool) -> Result<Card> {
    let machine = runner::machine::capture(&[directory], interrupted)?;
    let catalogue = drivers::catalogue(None)?;
    let engines = engine::available()?.into_iter();
    let usable = engines.filter(|engine| engine.problem.is_none());
    let mut labels = own_labels(&machine, machine.volume(directory));
    labels.extend(request.labels.iter().cloned());
    Ok(Card {
        agent: String::new(),
        instance: String::new(),
        version: VERSION.to_owned(),
        labels,
        engines: usable.map(|engine| engine.name).collect(),
        can_build: NEEDED_TO_BUILD.iter().all(|tool| find_program(tool).is_ok()),
        target: target(),
        drivers: catalogue.drivers.into_iter().map(|driver| driver.name).collect(),
        machine,
        doing: Activity::default(),
        clock_s: 0,
    })
}

/// Returns the given name, or the machine's.
fn agent_name(given: Option<&str>) -> Result<String> {
    let Some(given) = given else {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
            .map_err(|error| Error::unusable(format!("cannot read the machine's name: {error}")))?;
        return Ok(name_of(&name));
    };
    if given == name_of(given) {
        return Ok(given.to_owned());
    }
    Err(Error::mistake(format!("`{given}` cannot be the name of an agent"))
        .hint(format!("--name takes small letters, digits and hyphens: {}", name_of(given))))
}

fn words(notice: AgentEvent) -> String {
    match notice {
        AgentEvent::Joined { run, group } => format!("takes part in {run}, group {group}"),
        AgentEvent::Refused { run, why } => format!("warning: takes no part in {run}: {why}"),
        AgentEvent::Left(run) => format!("{run} has ended"),
        AgentEvent::Gave { run, why } => format!(
            "warning: takes no part in {run} any more: {why}; it can join again when the run is resumed"
        ),
        AgentEvent::Unreadable(why) => format!("warning: {why}"),
        AgentEvent::Done { block, attempt: 1 } => format!("  {block}"),
        AgentEvent::Done { block, attempt } => format!("  {block} (delivered {attempt} times)"),
        AgentEvent::Late(block) => {
            format!("  {block}: another agent was first; this outcome does not count")
        }
        AgentEvent::Trouble(why) => {
            format!("warning: {why}; the block is left to others for the moment")
        }
    }
}
