//! What keeps an accident from being staged at all. What an accident does to a database is no error but
//! a finding.

use engine::{EngineError, ErrorKind};
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
    /// What has to work without any accident does not, so nothing that goes wrong later would say anything.
    #[error("the engine cannot be tested, because without any accident {0}")]
    Control(String),
    /// SQLite refused something for a reason that says nothing of the database.
    #[error("SQLite refused what has nothing to do with damage: {0}")]
    Unable(String),
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

/// Whether an error of SQLite says nothing of the database: memory or disk are short, the disk fails, or SQLite is
/// called as it does not allow (<https://sqlite.org/rescode.html>). A file that is shorter than it should be, or is no longer
/// there, is no failing disk.
pub(crate) fn is_of_harness(error: &EngineError) -> bool {
    const NO_LARGE_FILES: i32 = 22;
    const SHORT_READ: i32 = 10 | 2 << 8;
    const NOTHING_TO_DELETE: i32 = 10 | 23 << 8;
    let Some(error) = error.as_sqlite() else {
        return true;
    };
    match error.kind() {
        ErrorKind::Io => ![SHORT_READ, NOTHING_TO_DELETE].contains(&error.extended()),
        ErrorKind::OutOfMemory | ErrorKind::Full | ErrorKind::Misuse => true,
        _ => error.primary() == NO_LARGE_FILES,
    }
}

/// Whether SQLite does not understand what it is given, such as the name of a table that it does not have.
pub(crate) fn is_not_understood(error: &EngineError) -> bool {
    const ERROR: i32 = 1;
    error.as_sqlite().is_some_and(|it| it.primary() == ERROR)
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
