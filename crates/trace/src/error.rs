//! Why a trace cannot be made or read.

use std::path::PathBuf;

use engine::EngineError;
use recorder::read::ReadError;

/// The result of work on a trace.
pub type Result<T, E = TraceError> = std::result::Result<T, E>;

/// Why a trace could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] ReadError),
    /// SQLite could not write or read the trace.
    #[error("{}: {source}", path.display())]
    Database {
        /// The trace.
        path: PathBuf,
        /// SQLite's reason.
        source: EngineError,
    },
    /// A file could not be read or written.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file exists.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// The file is not a trace.
    #[error("{} is not a trace", .0.display())]
    NotATrace(PathBuf),
    /// The trace has another format.
    #[error("{} has trace format {found}; this version of pragmark reads format {}", path.display(), crate::FORMAT)]
    Format {
        /// The trace.
        path: PathBuf,
        /// Its format.
        found: i64,
    },
    /// Sealing was interrupted, so the trace has a part only.
    #[error("{} is incomplete: its recording was not sealed to the end", .0.display())]
    Incomplete(PathBuf),
    /// The order of commits is not known.
    #[error("{} and {} committed to {database} at the same time, and the order of these commits is not known",
        traces[0].display(), traces[1].display())]
    AtOnce {
        /// The traces.
        traces: [PathBuf; 2],
        /// The database.
        database: String,
    },
    /// SQLite attaches files whose names are UTF-8 only.
    #[error("the name of {} is not UTF-8, so SQLite cannot attach it", .0.display())]
    Name(PathBuf),
    /// The hashes in a redacted trace have a key and classes of their own.
    #[error("{} is redacted already, so its hashes cannot be compared with others", .0.display())]
    Redacted(PathBuf),
    /// The trace has no statements for this database, or none at all.
    #[error("{}", no_database(.0))]
    NoDatabase(String),
    /// A script can have none of the transactions.
    #[error(
        "a script can have none of the {left_out} transactions on {}: each is longer than {} statements, has one that failed, or needs more than this database, such as a temporary table",
        named(database),
        longest
    )]
    NoTransactions {
        /// The database.
        database: String,
        /// The number of its transactions.
        left_out: u64,
        /// The most statements of a transaction in a script.
        longest: usize,
    },
    /// A part of the file is missing or something else.
    #[error("{} is damaged: a part of the trace is missing or was overwritten", .0.display())]
    Damaged(PathBuf),
    /// A snapshot in the trace is not a whole database.
    #[error("{} is damaged: its snapshot of a database is not whole", .0.display())]
    TornSnapshot(PathBuf),
    /// The trace has no snapshot of this database.
    #[error("the trace has no snapshot of {}", named(.0))]
    NoSnapshot(String),
}

/// Returns the name of a database in words.
pub fn named(database: &str) -> &str {
    if database.is_empty() { "a database in memory" } else { database }
}

fn no_database(name: &str) -> String {
    if name.is_empty() {
        "the trace has no statements".to_owned()
    } else {
        format!("the trace has no statements for a database {name}")
    }
}
