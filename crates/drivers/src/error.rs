//! Why a driver cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// The result of work with a driver.
pub type Result<T, E = DriverError> = std::result::Result<T, E>;

/// Why a driver cannot be installed or used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // Variants describe their fields.
pub enum DriverError {
    /// No driver has this name.
    #[error("there is no driver `{}`; the drivers are {}", .0, .1.join(", "))]
    Unknown(String, Vec<String>),
    /// A program that the driver needs is not on the path; `needs` says how to install it.
    #[error("the driver {driver} needs {program}, which is not on the path; {needs}")]
    NoProgram { driver: String, program: String, needs: String },
    /// The driver has to be installed first.
    #[error("the driver {} is not installed; install it with `{}pragmark driver install {}`, which may download packages", .0, .1.as_deref().map_or(String::new(), |directory| format!("PRAGMARK_DRIVERS={} ", directory.display())), .0)]
    NotInstalled(String, Option<PathBuf>),
    /// It cannot be installed, does not answer in time, its manifest is malformed, or a file or directory that it needs
    /// cannot be had.
    #[error("{0}")]
    Failed(String),
    /// The driver does not describe itself.
    #[error("the driver {0} {1}")]
    Mute(String, String),
    /// The driver cannot do what a trial asks.
    #[error("{0}")]
    Impossible(String),
    /// A command of the driver could not be run.
    #[error(transparent)]
    Process(#[from] process::ProcessError),
}

/// Adds what was being done, and on which path, to the system's reason.
pub(crate) trait Context<T> {
    fn context(self, doing: &'static str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, doing: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| {
            DriverError::Failed(format!("cannot {doing} {}: {source}", path.display()))
        })
    }
}

/// Returns the paths of what is in a folder.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}
