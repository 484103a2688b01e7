//! What can go wrong before anything is measured.

use crate::beginning::MOST_WRITTEN;
use std::path::PathBuf;
use thiserror::Error;

/// Any error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrashError {
    /// The engine could not be loaded or used.
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
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
    /// A statement of a script meets a damaged database.
    #[error("{}:{line}: {reason}", .path.display())]
    DamagedBeginning {
        /// The script.
        path: PathBuf,
        /// The line on which the statement begins.
        line: usize,
        /// What SQLite said.
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
        /// What SQLite said.
        reason: String,
    },
    /// The first transactions write more than is kept in memory.
    #[error("the first transaction of {} writes more than {} MB, all of which crash tests would keep in memory", .path.display(), MOST_WRITTEN >> 20)]
    TooMuchWritten {
        /// The script or trace.
        path: PathBuf,
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
        /// What SQLite said.
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
        /// What SQLite said.
        reason: String,
        /// At which statement or line.
        place: String,
    },
    /// The engine does not carry out the built-in workload; that says nothing of the settings.
    #[error("the engine does not carry out the workload: {reason} in: {sql}")]
    Workload {
        /// What SQLite said.
        reason: String,
        /// The statement.
        sql: String,
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
    #[error("internal error in the crash laboratory: {0}")]
    Defect(String),
}
