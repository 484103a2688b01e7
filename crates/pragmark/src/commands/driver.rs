//! `pragmark driver`: drivers in other languages.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use app::driver::{self, DriverState};
use app::{Error, Interface, Result};
use drivers::{Description, Library, Manifest};
use serde_json::json;

use crate::exit::Exit;
use crate::output;
use crate::terminal::Terminal;

/// Lists drivers.
pub fn list() -> Result<Exit> {
    output::display(&lines(&driver::states(&driver::registry(None)?)))
}

/// Returns the state of each driver, one per line.
pub fn lines(states: &[DriverState<'_>]) -> String {
    let mut text = String::new();
    for (manifest, state) in states {
        let _ = match state {
            Ok(description) => writeln!(
                text,
                "  {}: {}, {}",
                manifest.name,
                description.name,
                library(manifest, description)
            ),
            Err(error) => writeln!(text, "  {}: not ready: {error}", manifest.name),
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

/// Returns the states as JSON.
pub fn as_json(states: &[DriverState<'_>]) -> serde_json::Value {
    let one = |(manifest, state): &DriverState<'_>| {
        let carries = manifest.library == Library::Carried;
        let about = json!({ "name": manifest.name, "about": manifest.about, "carries_sqlite": carries, "workloads": manifest.workloads });
        let state = match state {
            Ok(description) => json!({ "ready": description }),
            Err(error) => json!({ "missing": error.to_string() }),
        };
        json!({ "driver": about, "state": state })
    };
    states.iter().map(one).collect()
}

/// Installs drivers, all by default.
pub fn install(names: &[String]) -> Result<Exit> {
    let registry = driver::registry(None)?;
    let interrupted = Terminal::lines().interrupted()?;
    let mut failed = Vec::new();
    for manifest in driver::named(&registry, names)? {
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
    Err(Error::unusable(format!("not installed: {}", failed.join(", "))))
}

/// Removes installed drivers, all by default.
pub fn remove(names: &[String]) -> Result<Exit> {
    let registry = driver::registry(None)?;
    for manifest in driver::named(&registry, names)? {
        let what = if registry.home.remove(manifest)? { "removed" } else { "was not installed" };
        output::display(&format!("{}: {what}\n", manifest.name))?;
    }
    Ok(Exit::Success)
}
