//! Options of `agent`, `fleet`, and of `run` over a fleet.

use std::path::PathBuf;

use ::fleet::{Access, Trusted};
use app::Error;
use app::agent::AgentRequest;
use app::fleet::server::ServerRequest;
use clap::{Args, Subcommand, ValueEnum};
use lab::fleet::{Expression, Per};

use super::values::{bytes, label, seconds};
use crate::action::{Action, FleetAction};

/// The environment variable with the password of `--nats-user`.
const PASSWORD: &str = "PRAGMARK_NATS_PASSWORD";

/// How to get in at the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Access to the NATS server")]
pub struct AccessArgs {
    /// Credentials file of a user, as `nsc` makes it. Use it where the server has accounts with JWT.
    #[arg(long, value_name = "FILE")]
    pub creds: Option<PathBuf>,
    /// File with the seed of an nkey. Use it where the server's configuration lists nkeys.
    #[arg(long, value_name = "FILE", conflicts_with = "creds")]
    pub nkey: Option<PathBuf>,
    /// User name; the password is read from the environment variable PRAGMARK_NATS_PASSWORD.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["creds", "nkey"])]
    pub nats_user: Option<String>,
    /// Certificate of the authority that signed the server's certificate. Use it with your own authority;
    /// the address begins with tls:// then.
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

impl AccessArgs {
    fn resolve(&self) -> Result<Access, Error> {
        let password = match &self.nats_user {
            None => None,
            Some(user) => {
                let password = std::env::var(PASSWORD).map_err(|_| {
                    Error::mistake(format!("the password of {user} is missing"))
                        .hint(format!("set the environment variable {PASSWORD}"))
                })?;
                Some((user.clone(), password))
            }
        };
        Ok(Access {
            credentials: self.creds.clone(),
            nkey: self.nkey.clone(),
            password,
            authority: self.ca.clone(),
        })
    }

    fn server(&self, address: String) -> Result<ServerRequest, Error> {
        Ok(ServerRequest { address: Some(address), access: self.resolve()? })
    }
}

/// Options of `agent`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark agent nats://lab:4222 --dir /data
  pragmark agent tls://lab:4222 --creds agent.creds --label site=rack-7
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
    /// Directory of your own drivers for other languages.
    #[arg(long, value_name = "DIR")]
    pub drivers: Option<PathBuf>,
    /// Load libraries and execute drivers that runs send, whoever signed them. Use it only if you trust everybody who
    /// can publish runs on the server.
    #[arg(long)]
    pub accept_code: bool,
    /// Public nkey whose owner may send libraries and drivers, signed by `run --sign-with`; may be repeated.
    #[arg(long = "trust", value_name = "KEY")]
    pub trust: Vec<Trusted>,
    /// Keep so many bytes of the files that runs send. What was not used for longest gives way.
    #[arg(long, value_name = "SIZE", default_value = "10G", value_parser = bytes)]
    pub cache_limit: u64,
    /// How to get in.
    #[command(flatten)]
    pub access: AccessArgs,
}

impl AgentArgs {
    /// Resolves the options.
    pub fn resolve(self) -> Result<Action, Error> {
        Ok(Action::Agent(AgentRequest {
            server: self.access.server(self.server)?,
            name: self.name,
            directory: self.dir,
            labels: self.labels,
            drivers: self.drivers,
            accept_code: self.accept_code,
            trusted: self.trust,
            cache_limit: self.cache_limit,
        }))
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
    /// What gets a full answer of its own.
    #[arg(long, value_enum, default_value_t, requires = "fleet")]
    pub per: PerArg,
    /// Wait for at least so many agents before the run is planned.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "fleet")]
    pub agents: usize,
    /// Wait for agents so long.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = seconds, requires = "fleet")]
    pub wait: f64,
    /// Give a block to another agent if its own was silent for so long.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = seconds, requires = "fleet")]
    pub patience: f64,
    /// Sign the files of the run with the nkey whose seed is in this file, so that agents with --trust accept its
    /// libraries and drivers.
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub sign_with: Option<PathBuf>,
    /// Continue this run with nothing but the server: its folder is made again from what the server has.
    #[arg(long, value_name = "RUN", requires = "fleet", conflicts_with_all = ["experiments", "source", "resume"])]
    pub adopt: Option<String>,
    /// How to get in.
    #[command(flatten)]
    pub access: AccessArgs,
}

impl FleetRunArgs {
    /// Returns the server and the access to it. The password is needed only if the run uses a server.
    pub(super) fn server(&self) -> Result<ServerRequest, Error> {
        Ok(ServerRequest { address: self.fleet.clone(), access: self.access.resolve()? })
    }
}

/// For what each full answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PerArg {
    /// Each class of machines: the same processor, kind of disk and file system, or the same label `class`.
    #[default]
    Class,
    /// Each machine.
    Host,
    /// All machines together: they are alike and share the work.
    Any,
}

impl From<PerArg> for Per {
    fn from(per: PerArg) -> Per {
        match per {
            PerArg::Class => Per::Class,
            PerArg::Host => Per::Host,
            PerArg::Any => Per::Any,
        }
    }
}

/// The subcommands of `fleet`.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Show the agents, the runs and what waits.
    Status {
        /// Address of the server.
        server: String,
        /// How to get in.
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Ask agents to end after the block that they carry out.
    Drain {
        /// Address of the server.
        server: String,
        /// The agents [default: all that are present].
        agents: Vec<String>,
        /// How to get in.
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Remove a run with its outcomes from the server. Its folder stays.
    Purge {
        /// Address of the server.
        server: String,
        /// The run, as `fleet status` names it.
        run: String,
        /// Remove it although `pragmark run` still records what agents measure for it, and ends with an error then.
        #[arg(long)]
        force: bool,
        /// How to get in.
        #[command(flatten)]
        access: AccessArgs,
    },
}

impl FleetCommand {
    /// Resolves the options.
    pub fn resolve(self) -> Result<Action, Error> {
        Ok(Action::Fleet(match self {
            FleetCommand::Status { server, access } => FleetAction::Status(access.server(server)?),
            FleetCommand::Drain { server, agents, access } => {
                FleetAction::Drain { server: access.server(server)?, agents }
            }
            FleetCommand::Purge { server, run, force, access } => {
                FleetAction::Purge { server: access.server(server)?, run, force }
            }
        }))
    }
}
