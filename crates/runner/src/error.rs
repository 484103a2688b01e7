//! Errors around trials. A failure within a trial is an outcome, not an error.

use std::io;
use std::path::{Path, PathBuf};

/// The result of work on a run.
pub type Result<T, E = RunError> = std::result::Result<T, E>;

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // Variants describe their fields.
pub enum RunError {
    /// A file or directory could not be used for an action, such as `write`.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// A file of a run's folder does not hold what it should.
    #[error("{} is damaged: {}", .0.display(), .1)]
    Damaged(PathBuf, String),
    /// The folder holds no run.
    #[error("{} is not the folder of a run: it has no run.json", .0.display())]
    NoRun(PathBuf),
    /// A file of the record is a link, a pipe or something else.
    #[error("{} is not a regular file; links are not followed", .0.display())]
    NotAFile(PathBuf),
    /// The folder already holds something.
    #[error("{} exists already and is not empty", .0.display())]
    Exists(PathBuf),
    /// The record has an older format than this version knows, or one that only newer versions know.
    #[error("{} has format {found}; this version reads format {known}", path.display())]
    OtherFormat { path: PathBuf, found: u32, known: u32 },
    /// Another process is working on the run.
    #[error("{} is in use by another pragmark", .0.display())]
    InUse(PathBuf),
    /// An executor on other machines cannot continue.
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
    /// The record could not hold the trials of a search.
    #[error(transparent)]
    Ambiguous(#[from] tuning::Ambiguous),
    /// The program that runs trials could not be started.
    #[error(transparent)]
    Driver(#[from] ::process::ProcessError),
}

impl RunError {
    /// Returns the error of an executor on other machines.
    pub fn elsewhere(error: impl std::error::Error + Send + Sync + 'static) -> RunError {
        RunError::Elsewhere(Box::new(error))
    }

    /// Returns a file that does not hold what it should.
    pub(crate) fn damaged(path: &Path, what: impl std::fmt::Display) -> RunError {
        RunError::Damaged(path.to_owned(), what.to_string())
    }
}

/// Adds the operation and the path to the system's error.
pub(crate) trait Context<T> {
    fn context(self, doing: &'static str, path: &Path) -> Result<T>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, doing: &'static str, path: &Path) -> Result<T> {
        self.map_err(|error| RunError::Io { doing, path: path.to_owned(), source: error.into() })
    }
}
