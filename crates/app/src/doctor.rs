//! Examinations of the machine.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use drivers::Registry;
use lab::environment::{Environment, NoiseProbe};
use lab::record::EngineRecord;
use runner::machine::{self, Tool};

use crate::error::Result;
use crate::{driver, engine};

/// The tools that building an engine requires, by their names in the list of tools.
pub const NEEDED_TO_BUILD: [&str; 2] = ["C compiler", "Cargo"];

/// The check of a machine: engines, tools, disks and noise.
pub struct MachineCheck {
    /// The machine.
    pub environment: Environment,
    /// Its noise.
    pub noise: NoiseProbe,
    /// The engines.
    pub engines: Vec<EngineRecord>,
    /// The drivers.
    pub registry: Registry,
    /// The tools that something needs.
    pub tools: Vec<Tool>,
}

/// Examines the machine, the disks of directories, and the noise for some seconds.
///
/// # Errors
/// A directory or pragmark itself cannot be used.
pub fn machine(directories: &[PathBuf], noise_s: f64) -> Result<MachineCheck> {
    let paths: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
    // A signal ends this use case at once.
    let never = AtomicBool::new(false);
    let environment = machine::capture(&paths, &never)?;
    let noise = machine::noise_probe(paths[0], Duration::from_secs_f64(noise_s), &never)?;
    let registry = driver::registry(None)?;
    Ok(MachineCheck {
        environment,
        noise,
        engines: engine::available()?,
        tools: machine::find_tools(&registry.tools()),
        registry,
    })
}
