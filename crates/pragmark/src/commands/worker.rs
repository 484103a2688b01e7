//! Hidden commands: processes of trials and drivers, which pragmark starts itself.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{BufReader, stdin, stdout};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use app::{Error, Result};

use crate::exit::Exit;
use crate::output;

/// Runs the trial that standard input specifies.
pub fn trial() -> Result<Exit> {
    ended(bench::drive(stdin().lock(), stdout().lock()))
}

/// Does the part of one worker of a trial, as standard input orders.
pub fn contention_worker() -> Result<Exit> {
    ended(bench::contention_worker(stdin().lock(), stdout().lock()))
}

/// Executes the part of a replay that is given to one process.
pub fn replay_worker() -> Result<Exit> {
    ended(bench::replay_worker(BufReader::new(stdin()), stdout()))
}

/// Notes the signals of the process group of a recording.
pub fn signal_listener() -> Result<Exit> {
    ended(app::record::listen(stdin().lock(), stdout().lock()).map_err(|error| error.words()))
}

/// Writes until it is killed.
pub fn write_until_killed() -> Result<Exit> {
    ended(crash::kill::write_until_killed(stdin().lock(), stdout().lock()))
}

/// Commits with an engine while the parent counts the system calls.
pub fn make_synced_commits(engine: &str) -> Result<Exit> {
    ended(crash::syncs::make_synced_commits(engine, stdin().lock(), stdout().lock()))
}

/// Describes an engine in a process of its own, because loading a library runs its code.
pub fn describe_engine(engine: &str) -> Result<Exit> {
    let record = bench::describe_engine(engine).map_err(Error::unusable)?;
    let text = serde_json::to_string(&record).map_err(Error::unusable)?;
    output::write_text(None, &text)
}

/// Asks to end with the parent, so that a killed pragmark leaves no driver behind, and becomes a program.
pub fn become_program(program: &Path, arguments: &[OsString]) -> Result<Exit> {
    bench::die_with_the_parent();
    // Returns only if it fails.
    let error = Command::new(program).args(arguments).exec();
    Err(Error::unusable(format!("cannot start {}: {error}", program.display())))
}

fn ended(done: Result<(), impl Display>) -> Result<Exit> {
    done.map(|()| Exit::Success).map_err(Error::unusable)
}
