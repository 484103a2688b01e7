//! `pragmark driver`: drivers in other languages; and `pragmark become`, which starts one.

use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;

use drivers::{Description, DriverError, Home, Library, Manifest, Registry, State};
use serde_json::json;

use super::output;
use crate::cli::{BecomeArgs, DriverArgs, DriverCommand};
use crate::failure::{Exit, Failure};
use crate::interrupt;

/// Executes the command.
pub fn execute(args: &DriverArgs) -> Result<Exit, Failure> {
    let registry = registry(args.drivers.as_deref())?;
    match &args.command {
        DriverCommand::List { json } => list(&registry, *json),
        DriverCommand::Install { names } => install(&registry, names),
        DriverCommand::Remove { names } => remove(&registry, names),
    }
}

/// The drivers that come with pragmark, the user's own, and those of a directory.
pub fn registry(directory: Option<&Path>) -> Result<Registry, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::unusable(format!("cannot find the pragmark executable: {error}"))
    })?;
    Registry::new(directory, Home::of_user(), program).map_err(Failure::from)
}

/// Every driver and whether it is ready; all are queried at once, because each takes a while.
pub fn states(registry: &Registry) -> Vec<(&Manifest, State)> {
    let manifests = registry.manifests();
    thread::scope(|scope| {
        let queries: Vec<_> = manifests
            .iter()
            .map(|manifest| scope.spawn(move || (manifest, registry.state(manifest))))
            .collect();
        queries.into_iter().filter_map(|query| query.join().ok()).collect()
    })
}

/// The state of each driver, one per line.
pub fn lines(states: &[(&Manifest, State)]) -> String {
    let mut text = String::new();
    for (manifest, state) in states {
        let _ = match state {
            State::Ready(description) => writeln!(
                text,
                "  {}: {}, {}",
                manifest.name,
                description.name,
                library(manifest, description)
            ),
            State::Missing(error) => writeln!(text, "  {}: not ready: {error}", manifest.name),
        };
    }
    text
}

fn library(manifest: &Manifest, description: &Description) -> String {
    match manifest.library {
        Library::Carried => format!("includes SQLite {}", description.version),
        Library::Loaded => {
            format!("loads the system's SQLite {} or the engine under test", description.version)
        }
    }
}

/// The states as JSON.
pub fn as_json(states: &[(&Manifest, State)]) -> serde_json::Value {
    let one = |(manifest, state): &(&Manifest, State)| {
        let carries = manifest.library == Library::Carried;
        let about = json!({ "name": manifest.name, "about": manifest.about, "carries_sqlite": carries, "workloads": manifest.workloads });
        let state = match state {
            State::Ready(description) => json!({ "ready": {
                "name": description.name,
                "version": description.version,
                "source_id": description.source_id,
                "compile_options": description.compile_options,
                "defaults": description.defaults,
            } }),
            State::Missing(error) => json!({ "missing": error.to_string() }),
        };
        json!({ "driver": about, "state": state })
    };
    states.iter().map(one).collect()
}

/// Prints the state of each driver.
pub fn list(registry: &Registry, as_data: bool) -> Result<Exit, Failure> {
    let states = states(registry);
    let text = if as_data { format!("{:#}\n", as_json(&states)) } else { lines(&states) };
    output::display(&text)
}

/// The drivers of these names, or all.
fn named<'r>(registry: &'r Registry, names: &[String]) -> Result<Vec<&'r Manifest>, Failure> {
    if names.is_empty() {
        return Ok(registry.manifests().iter().collect());
    }
    let found = names.iter().map(|name| registry.find(name));
    Ok(found.collect::<Result<_, _>>()?)
}

fn install(registry: &Registry, names: &[String]) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    let mut failed = Vec::new();
    for manifest in named(registry, names)? {
        tell!("installing {}: {}", manifest.name, manifest.about);
        match registry.install(manifest, &interrupted) {
            Ok(description) => {
                let library = library(manifest, &description);
                let line = format!("{}: {}, {library}\n", manifest.name, description.name);
                output::display(&line)?;
            }
            Err(_) if interrupted.load(Ordering::Relaxed) => {
                tell!("stopped; {} was not installed", manifest.name);
                return Ok(Exit::Interrupted);
            }
            Err(error) => {
                tell!("error: {error}");
                failed.push(manifest.name.clone());
            }
        }
    }
    if failed.is_empty() {
        return Ok(Exit::Success);
    }
    Err(Failure::unusable(format!("not installed: {}", failed.join(", "))))
}

fn remove(registry: &Registry, names: &[String]) -> Result<Exit, Failure> {
    for manifest in named(registry, names)? {
        let what = match registry.remove(manifest)? {
            true => "removed",
            false => "was not installed",
        };
        output::display(&format!("{}: {what}\n", manifest.name))?;
    }
    Ok(Exit::Success)
}

/// Asks to end with the parent, so that a killed pragmark leaves no driver behind, and becomes it.
pub fn become_program(args: &BecomeArgs) -> Result<Exit, Failure> {
    bench::die_with_the_parent();
    // Comes back only where it fails.
    let error = Command::new(&args.program).args(&args.arguments).exec();
    Err(Failure::unusable(format!("cannot start {}: {error}", args.program.display())))
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Failure {
        match error {
            DriverError::Unknown { .. } => {
                Failure::usage(error).hint("`pragmark driver list` shows which drivers are ready")
            }
            other => Failure::unusable(other),
        }
    }
}
