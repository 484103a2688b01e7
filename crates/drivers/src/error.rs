//! Why a driver cannot be used.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The result of work with a driver.
pub type Result<T, E = DriverError> = std::result::Result<T, E>;

/// Why a driver cannot be installed or used.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// No driver has this name.
    #[error("there is no driver `{}`; the drivers are {}", .0, .1.join(", "))]
    Unknown(String, Vec<String>),
    /// A program that the driver needs is not on the path.
    #[error("the driver {driver} needs {program}, which is not on the path; {needs}")]
    NoProgram {
        /// The driver.
        driver: String,
        /// The program.
        program: String,
        /// How to install it.
        needs: String,
    },
    /// The driver has to be installed first.
    #[error("the driver {} is not installed; install it with `{}pragmark driver install {}`, which may download packages", .0, .1.as_deref().map_or(String::new(), |directory| format!("PRAGMARK_DRIVERS={} ", directory.display())), .0)]
    NotInstalled(String, Option<PathBuf>),
    /// A command of the installation failed.
    #[error(
        "cannot install the driver {driver}: `{command}` {end}: {messages}; the driver needs {needs}"
    )]
    Install {
        /// The driver.
        driver: String,
        /// The command.
        command: String,
        /// How it ended.
        end: process::End,
        /// The end of its output.
        messages: String,
        /// The driver's requirements and how to get them.
        needs: String,
    },
    /// The driver does not describe itself.
    #[error("the driver {0} {1}")]
    Mute(String, String),
    /// The driver takes too long to describe itself, which says more of the machine than of the driver.
    #[error("the driver {} did not describe itself within {} s; try again when this machine is less busy, or reinstall it with `pragmark driver remove {}` and `pragmark driver install {}`", .0, .1.as_secs_f64(), .0, .0)]
    Slow(String, Duration),
    /// The driver cannot do what a trial asks.
    #[error("{0}")]
    Impossible(String),
    /// A directory of drivers cannot be used.
    #[error(transparent)]
    Manifest(#[from] crate::manifest::ManifestError),
    /// Installed drivers have no directory to be kept in.
    #[error("there is no directory for installed drivers: {0}")]
    NoCache(String),
    /// A command of the driver could not be run.
    #[error(transparent)]
    Process(#[from] process::ProcessError),
    /// A file could not be used.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The attempted action.
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Adds what was being done, and on which path, to the system's reason.
pub(crate) trait Context<T> {
    fn context(self, doing: &'static str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, doing: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| DriverError::Io { doing, path: path.to_owned(), source })
    }
}
