//! What can go wrong before anything is measured.

use std::path::PathBuf;
use thiserror::Error;

/// Any error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrashError {
    /// The engine could not be loaded or used.
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
    /// The engine answers with a value of a setting that does not exist.
    #[error("of the engine's own settings, {0}")]
    Setting(#[from] crate::settings::UnknownValue),
    /// A statement of a script failed.
    #[error("{}:{line}: {reason}", .path.display())]
    Script {
        /// The script.
        path: PathBuf,
        /// The line on which the statement begins.
        line: usize,
        /// What SQLite said.
        reason: String,
    },
    /// A database with a path: all of them lie in memory side by side.
    #[error("{}: a database is called {name}; give databases plain names, such as 'other.db', since they lie in memory side by side", .path.display())]
    Name {
        /// The script.
        path: PathBuf,
        /// The name of the file.
        name: String,
    },
    /// A script that ends within a statement.
    #[error("{}:{line}: the statement that begins here has no end", .path.display())]
    Unfinished {
        /// The script.
        path: PathBuf,
        /// The line on which the statement begins.
        line: usize,
    },
    /// A script that changes nothing has nothing to lose.
    #[error("{} commits no change of a database, so that a crash could lose nothing", .path.display())]
    NothingCommitted {
        /// The script.
        path: PathBuf,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The harness did something it should not have: a defect of pragmark.
    #[error("the crash laboratory is at fault: {0}")]
    Defect(String),
}
