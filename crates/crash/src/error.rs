//! Errors that keep a test from being done. Damage that a test finds is a finding instead.

use engine::{EngineError, ErrorKind};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The result of a crash test.
pub type Result<T, E = CrashError> = std::result::Result<T, E>;

/// Errors of recording, crashing and judging.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrashError {
    /// The engine could not be loaded or used.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A statement of a script failed.
    #[error("{}:{line}: {reason}", .path.display())]
    Script {
        /// The script.
        path: PathBuf,
        /// The line on which the statement begins.
        line: usize,
        /// SQLite's message.
        reason: String,
    },
    /// A statement of a script meets a damaged database.
    #[error("{}:{line}: {reason}", .path.display())]
    DamagedDatabase {
        /// The script.
        path: PathBuf,
        /// The line on which the statement begins.
        line: usize,
        /// SQLite's message.
        reason: String,
    },
    /// A database name with a path: all databases are kept in memory.
    #[error("{}: the database name {name} contains a path; use a plain name such as 'other.db', because all databases are kept in memory", .path.display())]
    Name {
        /// The script.
        path: PathBuf,
        /// The name of the file.
        name: String,
    },
    /// A script that ends in the middle of a statement.
    #[error("{}:{line}: the statement that begins here is incomplete", .path.display())]
    Unfinished {
        /// The script.
        path: PathBuf,
        /// The line on which the statement begins.
        line: usize,
    },
    /// A script that changes nothing has nothing to lose.
    #[error("{} commits no change to a database, so a crash could lose nothing", .path.display())]
    NothingCommitted {
        /// The script.
        path: PathBuf,
    },
    /// A statement fails that did not fail when it was recorded, or in a script that was carried out before.
    #[error("{}: {location}: {reason}, which it did not before", .path.display())]
    Execution {
        /// The trace.
        path: PathBuf,
        /// The event, or the line of the script.
        location: String,
        /// SQLite's message.
        reason: String,
    },
    /// The first transactions write more than is kept in memory.
    #[error("the first transaction of {} writes more than {} MB, all of which crash tests would keep in memory", .path.display(), .limit >> 20)]
    TooMuchWritten {
        /// The script or trace.
        path: PathBuf,
        /// Number of bytes that may be written.
        limit: u64,
    },
    /// The databases are too large to be read in each crash image.
    #[error("what {} makes is too large to be read again in each crash image; make most of it beforehand and name that database with --db", .path.display())]
    TooLarge {
        /// The script.
        path: PathBuf,
    },
    /// A script leaves a database that is not in order, without any crash.
    #[error("{}: when the script has ended, without any crash, {database} is not in order: {reason}", .path.display())]
    Unsound {
        /// The script.
        path: PathBuf,
        /// Which.
        database: String,
        /// SQLite's message.
        reason: String,
    },
    /// A script attaches what VACUUM INTO has made.
    #[error("{}: {location}: {database} was made by VACUUM INTO, which does not wait until it is on the disk (https://sqlite.org/lang_vacuum.html): nothing that a crash takes of it would break a promise. Leave out this statement and those that use {database}", .path.display())]
    Unsynced {
        /// The script.
        path: PathBuf,
        /// Where it is attached.
        location: String,
        /// Which.
        database: String,
    },
    /// The engine damages a database that never crashes.
    #[error("damage without a crash: {reason}, {place}")]
    Damaged {
        /// SQLite's message.
        reason: String,
        /// At which statement or line.
        place: String,
    },
    /// The engine does not execute the built-in workload; the settings are not to blame.
    #[error("the engine does not carry out the workload: {reason} in: {sql}")]
    Workload {
        /// SQLite's message.
        reason: String,
        /// The statement.
        sql: String,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The harness did something it should not have: a defect of pragmark.
    #[error("internal error in the crash laboratory: {0}")]
    Defect(String),
}

/// Errors of [`kill`](crate::kill), [`schedule`](crate::schedule) and [`syncs`](crate::syncs).
#[derive(Debug, Error)]
pub enum AccidentError {
    /// A file or folder could not be used.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// The operation.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The process that writes could not be started.
    #[error(transparent)]
    Start(#[from] process::ProcessError),
    /// The writing process ended by itself, or wrote something unexpected.
    #[error("the writing process failed with {setting}: {why}")]
    Writer {
        /// Its settings.
        setting: String,
        /// Its message.
        why: String,
    },
    /// SQLite refused a step that must succeed: loading an engine, applying a setting, preparing a database.
    #[error("{during}: {source}")]
    Engine {
        /// The step.
        during: String,
        /// SQLite's error.
        source: EngineError,
    },
    /// The test fails without any interference, so a later failure would prove nothing.
    #[error("the engine cannot be tested, because without any accident {0}")]
    Control(String),
    /// SQLite refused an operation for a reason unrelated to the database.
    #[error("SQLite refused what has nothing to do with damage: {0}")]
    Unable(String),
    /// A schedule that cannot be read.
    #[error("{text} is not a schedule; one looks like {example}")]
    Schedule {
        /// The text given.
        text: String,
        /// One that is right.
        example: &'static str,
    },
    /// No scenario has that name or that journal mode.
    #[error("there is no scenario {0}; `pragmark crash --schedules` lists them")]
    Scenario(String),
}

/// Returns whether an error of SQLite is unrelated to the database: memory or disk are short, the disk fails,
/// or SQLite was called wrongly (<https://sqlite.org/rescode.html>). A file that is too short or missing does
/// not count as a failing disk.
pub(crate) fn is_of_harness(error: &EngineError) -> bool {
    const NO_LARGE_FILES: i32 = 22;
    const SHORT_READ: i32 = 10 | 2 << 8;
    const NOTHING_TO_DELETE: i32 = 10 | 23 << 8;
    let Some(error) = error.as_sqlite() else { return true };
    match error.kind() {
        ErrorKind::Io => ![SHORT_READ, NOTHING_TO_DELETE].contains(&error.extended()),
        ErrorKind::OutOfMemory | ErrorKind::Full | ErrorKind::Misuse => true,
        _ => error.primary() == NO_LARGE_FILES,
    }
}

/// Returns whether SQLite does not understand a statement, such as one with the name of a table that does not
/// exist.
pub(crate) fn is_not_understood(error: &EngineError) -> bool {
    const ERROR: i32 = 1;
    error.as_sqlite().is_some_and(|error| error.primary() == ERROR)
}

impl AccidentError {
    /// Adds the step during which the engine failed.
    pub(crate) fn engine(during: impl Into<String>) -> impl FnOnce(EngineError) -> AccidentError {
        let during = during.into();
        move |source| AccidentError::Engine { during, source }
    }

    /// Adds the operation and the path of a file.
    pub(crate) fn file(
        what: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> AccidentError {
        let path = path.to_owned();
        move |source| AccidentError::File { what, path, source }
    }
}
