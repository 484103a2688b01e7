//! Runs over a fleet, and `pragmark fleet`: what it does, whom it consists of.

mod analysis;
mod begin;
mod carry_out;
mod choice;
mod folder;
mod objects;
mod status;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::fleet::{Access, Address, ConnectionEvent, FleetError, Server, has_coordinator};

use crate::cli::{AccessArgs, FleetCommand, RunArgs};
use crate::failure::{Exit, Failure};
use crate::interrupt;

pub use analysis::{is_fleet, report};
pub(in crate::commands) use folder::FILE;
pub use objects::target;

/// The environment variable with the password of `--nats-user`.
const PASSWORD: &str = "PRAGMARK_NATS_PASSWORD";

/// A number with its noun.
fn plural(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

/// Executes `pragmark fleet`.
pub fn execute(command: &FleetCommand) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    match command {
        FleetCommand::Status { server, access } => {
            status::show(&connect(server, access, "status", &interrupted)?)
        }
        FleetCommand::Drain { server, agents, access } => {
            status::drain(&connect(server, access, "drain", &interrupted)?, agents)
        }
        FleetCommand::Purge { server, run, force, access } => {
            let server = connect(server, access, "purge", &interrupted)?;
            server.make_streams()?;
            if !force && has_coordinator(&server, run)? {
                return Err(recorded(run).hint("stop it first, or add --force"));
            }
            purge(&server, run)
        }
    }
}

fn purge(server: &Server, run: &str) -> Result<Exit, Failure> {
    if let Some(other) = ::fleet::purge(server, run)? {
        tell!(
            "warning: the files of {run} stay on the server, because the run {other} cannot be read and may need them"
        );
    }
    tell!("{run} is removed from the server; its folder is as it was");
    Ok(Exit::Success)
}

/// Somebody else records a run.
fn recorded(run: &str) -> Failure {
    Failure::unusable(format!("another `pragmark run` records what agents measure for {run}"))
}

/// Whether a run is to be done over a fleet.
pub fn is_meant(args: &RunArgs) -> bool {
    args.fleet.fleet.is_some() || args.resume.as_deref().is_some_and(is_fleet)
}

/// Begins, resumes or adopts a run over a fleet, and reports it.
pub fn run(args: &RunArgs, interrupted: &Arc<AtomicBool>) -> Result<Exit, Failure> {
    let (server, mut folder) = if let Some(path) = &args.resume {
        begin::resume(args, path, interrupted)?
    } else if let Some(run) = &args.fleet.adopt {
        begin::adopt(args, run, interrupted)?
    } else {
        begin::begin(args, interrupted)?
    };
    let end = carry_out::carry_out(&server, &mut folder, args.plain, interrupted)?;
    analysis::conclude(&folder, end)
}

/// Connects to a server, and says when it does not answer.
pub fn connect(
    server: &str,
    access: &AccessArgs,
    name: &str,
    interrupted: &Arc<AtomicBool>,
) -> Result<Server, Failure> {
    let address: Address = server.parse()?;
    let waiting = |link| match link {
        ConnectionEvent::Back => tell!("the NATS server answers again"),
        ConnectionEvent::Lost => tell!("the NATS server does not answer; waiting for it"),
        ConnectionEvent::Refused(words) => tell!("warning: the NATS server says: {words}"),
    };
    let connection = Server::connect(
        &address,
        &access_of(access)?,
        name,
        Arc::new(waiting),
        Arc::clone(interrupted),
    );
    Ok(connection?)
}

fn access_of(args: &AccessArgs) -> Result<Access, Failure> {
    let password = match &args.nats_user {
        None => None,
        Some(user) => {
            let password = std::env::var(PASSWORD).map_err(|_| {
                Failure::usage(format!("the password of {user} is missing"))
                    .hint(format!("set the environment variable {PASSWORD}"))
            })?;
            Some((user.clone(), password))
        }
    };
    Ok(Access {
        credentials: args.creds.clone(),
        nkey: args.nkey.clone(),
        password,
        authority: args.ca.clone(),
    })
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Failure {
        let hint = match &error {
            FleetError::PasswordInAddress => Some(
                "use --creds, --nkey, or --nats-user with the environment variable PRAGMARK_NATS_PASSWORD",
            ),
            FleetError::NoServer { why, .. } if why.contains("certificate") => {
                Some("--ca FILE names the certificate of your own authority")
            }
            FleetError::NoServer { .. } => Some(
                "start it with `nats-server -c server.conf`; docs/fleet.md has a configuration",
            ),
            FleetError::Rejected { .. } => Some("see --creds, --nkey, --nats-user and --ca"),
            FleetError::NoJetStream(_) => {
                Some("add `jetstream { }` to its configuration; docs/fleet.md has one")
            }
            FleetError::Refused { why, .. } if why.contains("insufficient") => Some(
                "its storage is full: raise max_file_store in its configuration, or remove runs with `pragmark fleet purge`",
            ),
            FleetError::CacheTooSmall { .. } => Some("start the agent with a larger --cache-limit"),
            FleetError::NameTaken(_) => Some("give each agent a name of its own with --name"),
            FleetError::NoRun(_) => Some("`pragmark fleet status` lists the runs"),
            _ => None,
        };
        let failure = match &error {
            FleetError::Address(_) | FleetError::PasswordInAddress | FleetError::NoKey(_) => {
                Failure::usage(error)
            }
            FleetError::Cancelled => Failure::interrupted(error),
            _ => Failure::unusable(error),
        };
        failure.hint_if(hint)
    }
}
