//! What keeps an accident from being staged at all. What an accident does to a database is no error but
//! a finding.

use engine::EngineError;
use std::path::PathBuf;
use thiserror::Error;

/// Any error of this crate.
#[derive(Debug, Error)]
pub enum AccidentError {
    /// A file or folder could not be used.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The process that writes could not be started.
    #[error(transparent)]
    Start(#[from] process::ProcessError),
    /// The process that writes ended by itself, or said what it should not.
    #[error("the writing process failed with {setting}: {why}")]
    Writer {
        /// Its settings.
        setting: String,
        /// What it said.
        why: String,
    },
    /// SQLite refused what has to work: an engine, a setting, the preparation of a database.
    #[error("{during}: {source}")]
    Engine {
        /// What was being done.
        during: String,
        /// SQLite's error.
        source: EngineError,
    },
    /// A schedule that cannot be read.
    #[error("{text} is not a schedule; one looks like {example}")]
    Schedule {
        /// What was given.
        text: String,
        /// One that is right.
        example: &'static str,
    },
    /// No scenario has that name or that journal mode.
    #[error("there is no scenario {0}; `pragmark crash --schedules` lists them")]
    Scenario(String),
}

impl AccidentError {
    /// With what was being done when the engine refused.
    pub(crate) fn engine(during: impl Into<String>) -> impl FnOnce(EngineError) -> AccidentError {
        let during = during.into();
        move |source| AccidentError::Engine { during, source }
    }

    /// With what was tried on a file.
    pub(crate) fn file(
        what: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(std::io::Error) -> AccidentError {
        let path = path.to_owned();
        move |source| AccidentError::File { what, path, source }
    }
}
