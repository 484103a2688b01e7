//! Options of `agent`, `fleet`, and of `run` over a fleet.

use std::path::PathBuf;

use ::fleet::{Access, Trusted};
use app::agent::AgentRequest;
use app::fleet::server::ServerRequest;
use app::{Error, Result};
use clap::{Args, Subcommand};
use lab::fleet::{Expression, Per};

use super::values::{bytes, label, seconds, values_of};
use crate::commands::fleet;
use crate::exit::Exit;

/// Returns the access to a server by the variables that the `nats` tool has, too.
///
/// # Errors
/// A user has no password.
fn access() -> Result<Access> {
    let file = |name| std::env::var_os(name).map(PathBuf::from);
    let password = match std::env::var("NATS_USER") {
        Err(_) => None,
        Ok(user) => {
            let password = std::env::var("NATS_PASSWORD").map_err(|_| {
                Error::mistake(format!("the password of {user} is missing"))
                    .hint("set the environment variable NATS_PASSWORD, or unset NATS_USER")
            })?;
            Some((user, password))
        }
    };
    Ok(Access {
        credentials: file("NATS_CREDS"),
        nkey: file("NATS_NKEY"),
        password,
        authority: file("NATS_CA"),
    })
}

/// Returns a server by its address.
fn server(address: String) -> Result<ServerRequest> {
    Ok(ServerRequest { address: Some(address), access: access()? })
}

/// How access is configured, for the help of commands.
pub const ACCESS: &str = "\
Access to the server is configured by the environment variables of the `nats` tool: NATS_CREDS (credentials file), \
NATS_NKEY (file with the seed of an nkey), NATS_USER and NATS_PASSWORD, NATS_CA (certificate of the authority that signed \
the server's certificate; the address then begins with tls://).";

/// Options of `fleet agent`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark fleet agent nats://lab:4222 --dir /data
  NATS_CREDS=agent.creds pragmark fleet agent tls://lab:4222 --label site=rack-7

docs/fleet.md shows how to start a server and a first run.")]
pub struct AgentArgs {
    /// Address of the server, such as nats://host:4222 or tls://host:4222.
    pub server: String,
    /// Name of this agent: letters, digits and hyphens, unique in the fleet [default: the name of the machine].
    #[arg(long)]
    pub name: Option<String>,
    /// Directory to measure in, on the disk to be measured.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Label of this machine, for `run --on` and classes; may be repeated. `class=…` assigns the machine to a
    /// class.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
    /// Load libraries and execute drivers that runs send, whoever signed them. Use it only if you trust everybody who
    /// can publish runs on the server.
    #[arg(long)]
    pub accept_code: bool,
    /// Public nkey whose owner may send libraries and drivers, signed by `run --sign-with`; may be repeated.
    #[arg(long = "trust", value_name = "KEY")]
    pub trust: Vec<Trusted>,
    /// Size limit for the files that runs send. The least recently used are removed first.
    #[arg(long, value_name = "SIZE", default_value = "10G", value_parser = bytes)]
    pub cache_limit: u64,
}

impl AgentArgs {
    fn execute(self) -> Result<Exit> {
        fleet::agent(&AgentRequest {
            server: server(self.server)?,
            name: self.name,
            directory: self.dir,
            labels: self.labels,
            accept_code: self.accept_code,
            trusted: self.trust,
            cache_limit: self.cache_limit,
        })
    }
}

/// Options of `run` over a fleet.
#[derive(Debug, Args)]
#[command(next_help_heading = "Runs over a fleet")]
pub struct FleetRunArgs {
    /// Have the agents of this NATS server carry out the run. `pragmark fleet status` lists them.
    #[arg(long, value_name = "SERVER", conflicts_with_all = ["dirs", "postgres", "repeat"])]
    pub fleet: Option<String>,
    /// Agents to choose, by their labels, such as `disk=solid-state and not site=lab` [default: all].
    #[arg(long, value_name = "EXPRESSION", requires = "fleet")]
    pub on: Option<Expression>,
    /// Give each class of machines, or each agent, a full answer of its own.
    #[arg(long, value_enum, default_value_t, requires = "fleet")]
    pub per: PerArg,
    /// Wait for at least this many agents before the run is planned.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "fleet")]
    pub agents: usize,
    /// Wait this long for agents.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = seconds, requires = "fleet")]
    pub wait: f64,
    /// Give a block to another agent if its agent was silent for this long.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = seconds, requires = "fleet")]
    pub patience: f64,
    /// Have a second agent re-run this share of the blocks, in percent, to compare their figures. Tests re-run more of them.
    #[arg(long, value_name = "PERCENT", hide = true, default_value_t = 5, value_parser = clap::value_parser!(u8).range(..=100), requires = "fleet")]
    pub recheck: u8,
    /// Sign the files of the run with the nkey whose seed is in this file. Agents with --trust then
    /// accept its libraries and drivers.
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub sign_with: Option<PathBuf>,
    /// Continue this run from the server alone: pragmark restores its folder from the records there.
    #[arg(long, value_name = "RUN", requires = "fleet", conflicts_with_all = ["experiments", "resume"])]
    pub adopt: Option<String>,
}

impl FleetRunArgs {
    /// Returns the server, and the access to it if the run may use one: a stored run may be one over a fleet.
    pub(super) fn server(&self, is_stored: bool) -> Result<ServerRequest> {
        let may_use = is_stored || self.fleet.is_some();
        let access = if may_use { access()? } else { Access::default() };
        Ok(ServerRequest { address: self.fleet.clone(), access })
    }
}

values_of! {
    /// For what each full answer is.
    #[derive(Default)]
    enum PerArg of Per {
        /// Each class of machines: the same processor, kind of disk and file system, or the same label `class`.
        #[default]
        Class,
        /// Each machine.
        Host,
        /// All machines together: they are alike and share the work.
        Any,
    }
}

/// The subcommands of `fleet`.
#[derive(Debug, Subcommand)]
#[command(after_help = ACCESS)]
pub enum FleetCommand {
    /// Carry out blocks of runs on this machine, until stopped.
    Agent(Box<AgentArgs>),
    /// Show the agents, the runs and the waiting blocks.
    Status {
        /// Address of the server.
        server: String,
    },
    /// Ask agents to end after their current block.
    Drain {
        /// Address of the server.
        server: String,
        /// The agents [default: all that are present].
        agents: Vec<String>,
    },
    /// Remove a run with its outcomes from the server. Its folder stays.
    Purge {
        /// Address of the server.
        server: String,
        /// The run, as `fleet status` names it.
        run: String,
        /// Remove it even if `pragmark run` still records it; that command then ends with an error.
        #[arg(long)]
        force: bool,
    },
}

impl FleetCommand {
    /// Carries out blocks as an agent, or asks something of a server.
    pub fn execute(self) -> Result<Exit> {
        match self {
            FleetCommand::Agent(args) => args.execute(),
            FleetCommand::Status { server: address } => fleet::status(&server(address)?),
            FleetCommand::Drain { server: address, agents } => {
                fleet::drain(&server(address)?, &agents)
            }
            FleetCommand::Purge { server: address, run, force } => {
                fleet::purge(&server(address)?, &run, force)
            }
        }
    }
}
