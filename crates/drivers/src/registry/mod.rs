//! All drivers: installed, removed, and asked to describe themselves.

mod trial;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lab::catalogue::WorkloadInfo;
use lab::record::EngineRecord;
use process::End;
use runner::machine::ToolQuery;
use serde::{Deserialize, Serialize};

use crate::command;
use crate::error::{DriverError, Result};
use crate::home::{Home, filled};
use crate::manifest::{self, Manifest};

/// The argument by which a driver is asked to describe itself.
const DESCRIBE: &str = "describe";

/// How long a driver may take to describe itself; interpreters start slowly on a busy machine.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(30);

/// For commands that take a moment and are not worth cancelling.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The drivers in other languages.
#[derive(Debug)]
pub struct Registry {
    /// Every driver, by name.
    pub manifests: Vec<Manifest>,
    /// The workloads that their manifests declare.
    workloads: Vec<WorkloadInfo>,
    /// The directory that was given for this command.
    given: Option<PathBuf>,
    /// Where they are installed.
    pub home: Home,
    /// pragmark itself: it starts drivers, so that they end with it, and describes engines.
    program: PathBuf,
    /// How long a driver may take to describe itself.
    describe_limit: Duration,
    /// The descriptions of engines, by name, asked for once each.
    engines: Mutex<HashMap<String, Result<EngineRecord, String>>>,
}

/// How a driver describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Language and binding with their versions.
    pub name: String,
    /// `sqlite3_libversion()` of the SQLite that it uses by itself.
    pub version: String,
    /// Its `sqlite3_sourceid()`.
    pub source_id: String,
    /// Its compile options, sorted.
    pub compile_options: Vec<String>,
    /// PRAGMAs of a fresh connection.
    pub defaults: BTreeMap<String, String>,
}

impl Registry {
    /// Returns the drivers that come with pragmark, those in the user's own directory, and those in the directory
    /// given; `program` is pragmark itself.
    ///
    /// # Errors
    /// When a manifest cannot be read.
    pub fn new(directory: Option<&Path>, home: Home, program: PathBuf) -> Result<Registry> {
        let found = manifest::discover(directory, &bench::catalogue())?;
        Ok(Registry {
            manifests: found.manifests,
            workloads: found.workloads,
            given: directory.map(Path::to_owned),
            home,
            program,
            describe_limit: DESCRIBE_LIMIT,
            engines: Mutex::default(),
        })
    }

    /// Returns the programs that drivers need, each once.
    pub fn tools(&self) -> Vec<ToolQuery<'_>> {
        let tools = self.manifests.iter().flat_map(|manifest| {
            manifest.tools.iter().map(|tool| ToolQuery {
                name: &tool.name,
                commands: &tool.command,
                version: &tool.version,
                hint: &manifest.needs,
                ..ToolQuery::default()
            })
        });
        let by_name: BTreeMap<&str, ToolQuery<'_>> = tools.map(|tool| (tool.name, tool)).collect();
        by_name.into_values().collect()
    }

    /// Returns the driver of this name.
    ///
    /// # Errors
    /// [`DriverError::Unknown`] with the names that there are.
    pub fn find(&self, name: &str) -> Result<&Manifest> {
        self.manifests.iter().find(|known| known.name == name).ok_or_else(|| {
            DriverError::Unknown(
                name.to_owned(),
                self.manifests.iter().map(|manifest| manifest.name.clone()).collect(),
            )
        })
    }

    /// Returns the driver of this name, or all drivers of the folder of this name.
    ///
    /// # Errors
    /// There is neither.
    pub fn named(&self, name: &str) -> Result<Vec<&Manifest>> {
        let of_folder: Vec<_> =
            self.manifests.iter().filter(|manifest| manifest.is_in_folder(name)).collect();
        match self.find(name) {
            Err(_) if !of_folder.is_empty() => Ok(of_folder),
            found => Ok(vec![found?]),
        }
    }

    /// Installs a driver, unless it is there and works, and asks it to describe itself.
    ///
    /// # Errors
    /// When a command of the installation fails or is cancelled, or the driver does not work
    /// afterwards; nothing is left of it then. One that is only slow to describe itself is kept.
    pub fn install(&self, manifest: &Manifest, cancelled: &AtomicBool) -> Result<Description> {
        if manifest.runs_in().is_some() {
            return self.describe(manifest);
        }
        let was_there = self.home.of(manifest)?.is_dir();
        match self.install_and_describe(manifest, cancelled) {
            // What was made for one version of a language may not work with the next one.
            Err(error)
                if was_there && is_of_the_home(&error) && !cancelled.load(Ordering::Relaxed) =>
            {
                self.install_and_describe(manifest, cancelled)
            }
            described => described,
        }
    }

    /// Installs a driver unless it is there; one that does not describe itself is not kept, unless it is
    /// only slow to do so.
    fn install_and_describe(
        &self,
        manifest: &Manifest,
        cancelled: &AtomicBool,
    ) -> Result<Description> {
        self.home.install(manifest, cancelled)?;
        let described = self.describe(manifest);
        if let Err(error) = &described
            && is_of_the_home(error)
        {
            self.home.discard(manifest)?;
        }
        described
    }

    /// Returns how a driver describes itself.
    ///
    /// # Errors
    /// Why it cannot be used, and what to do.
    pub fn describe(&self, manifest: &Manifest) -> Result<Description> {
        let (home, mut command) = self.command(manifest)?;
        command.arg(DESCRIBE);
        let finished = command::run(&mut command, &home, self.describe_limit, &NEVER)?;
        let messages = finished.messages();
        let driver = manifest.name.clone();
        let what = match finished.end {
            End::TimedOut(limit) => {
                return Err(DriverError::Failed(format!(
                    "the driver {driver} did not describe itself within {} s; try again when this machine is less busy, or reinstall it with `pragmark driver remove {driver}` and `pragmark driver install {driver}`",
                    limit.as_secs_f64()
                )));
            }
            end if end.is_success() => match serde_json::from_slice(&finished.output) {
                Ok(description) => return Ok(description),
                Err(error) => format!("printed no valid description ({error}): {messages}"),
            },
            end => format!("{end}: {messages}; it needs {}", manifest.needs),
        };
        Err(DriverError::Mute(driver, what))
    }

    /// Returns the home of a driver and the command that starts it there.
    fn command(&self, manifest: &Manifest) -> Result<(PathBuf, Command)> {
        let home = self.home_of(manifest)?;
        let command = filled(manifest, &manifest.run, &home)?;
        Ok((home, command))
    }

    fn home_of(&self, manifest: &Manifest) -> Result<PathBuf> {
        if let Some(folder) = manifest.runs_in() {
            return Ok(folder.to_owned());
        }
        let home = self.home.of(manifest)?;
        // What needs no more than unpacking is unpacked when it is first used.
        if !home.is_dir() && manifest.install.is_empty() {
            self.home.install(manifest, &NEVER)?;
        }
        if home.is_dir() {
            Ok(home)
        } else {
            Err(DriverError::NotInstalled(
                manifest.name.clone(),
                self.given.clone().filter(|directory| is_in(manifest, directory)),
            ))
        }
    }
}

/// Returns whether a driver was found in this directory.
fn is_in(manifest: &Manifest, directory: &Path) -> bool {
    let directory = std::path::absolute(directory);
    let folder = manifest.folder();
    directory.is_ok_and(|directory| folder.is_some_and(|folder| folder.starts_with(directory)))
}

/// Returns whether a driver fails because of its installation, so that installing it again may help. A missing program,
/// a full disk or a busy machine does not justify discarding an installation, which cannot be repeated without a
/// network.
fn is_of_the_home(error: &DriverError) -> bool {
    match error {
        DriverError::Mute(..) => true,
        DriverError::NoProgram { program, .. } => program.contains('/'),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
