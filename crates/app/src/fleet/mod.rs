//! Runs over a fleet of machines.

mod analysis;
mod begin;
mod carry_out;
mod choice;
mod folder;
pub(crate) mod objects;
pub mod server;

use std::path::{Path, PathBuf};

use fleet::Server;
use lab::fleet::{Expression, Per};
use runner::End;

pub use self::analysis::Whole;
pub(crate) use self::folder::FLEET_FILE;
use self::folder::FleetFolder;
pub use self::folder::is_fleet;
use self::server::ServerRequest;
use crate::error::Result;
use crate::files::write_in_run;
use crate::interface::Interface;
use crate::report::{PAGE, html};
use crate::run::RunRequest;

/// A new run over a fleet.
#[derive(Clone)]
pub struct FleetRequest {
    /// The run.
    pub run: RunRequest,
    /// The server.
    pub server: ServerRequest,
    /// The agents to choose, by their labels; all by default.
    pub on: Option<Expression>,
    /// The unit that gets an answer of its own.
    pub per: Per,
    /// The fewest agents.
    pub agents: usize,
    /// How long to wait for agents, in seconds.
    pub wait_s: f64,
    /// How long an agent may be silent before its block is given to another, in seconds.
    pub patience_s: f64,
    /// The share of blocks that a second agent carries out as well, from 0 to 1.
    pub recheck: f64,
    /// The file with the seed of the nkey that signs the files of the run.
    pub sign_with: Option<PathBuf>,
}

/// A run over a fleet that was carried out, or stopped.
pub struct FleetConcluded {
    /// The folder of the run.
    pub folder: PathBuf,
    /// The result.
    pub whole: Whole,
    /// Whether it was carried out to its end.
    pub end: End,
}

/// Plans a run, chooses its agents, and carries it out.
///
/// # Errors
/// The request is invalid, the server or the agents cannot be used, or the record cannot be written.
pub fn start(request: &FleetRequest, ui: &dyn Interface) -> Result<FleetConcluded> {
    // From here on a signal ends it in order, also while it is planned.
    ui.interrupted()?;
    finish(begin::begin(request, ui)?, ui)
}

/// Goes on with the run in a folder.
///
/// # Errors
/// As [`start`].
pub fn resume(folder: &Path, server: &ServerRequest, ui: &dyn Interface) -> Result<FleetConcluded> {
    ui.interrupted()?;
    finish(begin::resume(folder, server, ui)?, ui)
}

/// Goes on with a run that only the server knows.
///
/// # Errors
/// As [`start`]; and another process records the run, or it has a folder here.
pub fn adopt(
    run: &str,
    server: &ServerRequest,
    out: Option<&Path>,
    ui: &dyn Interface,
) -> Result<FleetConcluded> {
    finish(begin::adopt(run, server, out, ui)?, ui)
}

fn finish(
    (server, mut folder): (Server, FleetFolder),
    ui: &dyn Interface,
) -> Result<FleetConcluded> {
    let end = carry_out::carry_out(&server, &mut folder, ui)?;
    let whole = analysis::analyse(&folder)?;
    write_in_run(&folder.path.join(PAGE), &html(&whole.document)?)?;
    Ok(FleetConcluded { folder: folder.path, whole, end })
}

/// Analyses the run in a folder.
///
/// # Errors
/// The record cannot be read.
pub fn analyse(folder: &Path) -> Result<Whole> {
    analysis::analyse(&FleetFolder::open(folder)?)
}
