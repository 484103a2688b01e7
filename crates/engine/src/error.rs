//! Errors of libraries, connections and statements.
//!
//! Each names what failed and on which path, SQL or setting. The command line adds what to do about it.

use crate::ffi;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The result of a call of SQLite.
pub type Result<T, E = EngineError> = std::result::Result<T, E>;

/// Any error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A library cannot be loaded: it is missing, no SQLite, too old, incomplete, damaged or refused by the system.
    #[error("{0}")]
    Library(String),
    /// The system has no SQLite library in the places its dynamic loader searches.
    #[error("this system has no SQLite library (searched for {}): {}", .0.join(", "), .1)]
    NoSystemLibrary(Vec<&'static str>, String),
    /// A second connection to a library compiled with `THREADSAFE=0`.
    #[error(
        "this engine was compiled with THREADSAFE=0: only one connection can be open at a time"
    )]
    SingleThreaded,
    /// The loaded engine lacks an optional function.
    #[error("this engine has no {0} ({1} is missing)")]
    Unsupported(&'static str, &'static str),
    /// A call that is wrong whatever the database holds: SQL that is not one statement, a text with a NUL byte, an array that
    /// is too long, a VFS that does not exist, a column of another type.
    #[error("{0}")]
    Usage(String),
    /// A query that must return a row returned none (the query).
    #[error("the query returned no row: {0}")]
    NoRow(String),
    /// A text column is not valid UTF-8 (the column, from 0).
    #[error("the text of column {0} is not valid UTF-8")]
    NotUtf8(i32),
    /// SQLite refused or failed.
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    /// A setting was refused or did not take effect.
    #[error(transparent)]
    Pragma(#[from] PragmaError),
}

impl EngineError {
    /// Returns the error of a library that cannot be loaded.
    pub(crate) fn library(path: &Path, why: impl fmt::Display) -> EngineError {
        EngineError::Library(format!("{} {why}", path.display()))
    }

    /// SQLite's own error, where this is one.
    pub fn as_sqlite(&self) -> Option<&SqliteError> {
        match self {
            EngineError::Sqlite(error) => Some(error),
            EngineError::Pragma(error) => error.as_sqlite(),
            _ => None,
        }
    }

    /// Returns SQLite's message without the statement, or the whole message of another error.
    pub fn message(&self) -> String {
        self.as_sqlite().map_or_else(|| self.to_string(), |error| error.message().to_owned())
    }

    /// Returns whether SQLite does not understand the SQL, or does not know something in it (`SQLITE_ERROR`).
    pub fn is_not_understood(&self) -> bool {
        self.as_sqlite().is_some_and(|error| error.primary() == ffi::SQLITE_ERROR)
    }

    /// Returns whether a constraint is not met (`SQLITE_CONSTRAINT`, in any extended form).
    pub fn is_constraint(&self) -> bool {
        self.as_sqlite().is_some_and(|error| error.primary() == ffi::SQLITE_CONSTRAINT)
    }

    /// Returns whether another connection held a lock (`SQLITE_BUSY`, in any extended form).
    pub fn is_busy(&self) -> bool {
        self.as_sqlite().is_some_and(|error| error.primary() == ffi::SQLITE_BUSY)
    }

    /// Returns whether the statement was stopped, such as by a limit of its steps (`SQLITE_INTERRUPT`).
    pub fn is_interrupted(&self) -> bool {
        self.as_sqlite().is_some_and(|error| error.primary() == ffi::SQLITE_INTERRUPT)
    }

    /// Returns whether a transaction that has read cannot write any more, because another connection has
    /// committed since (`SQLITE_BUSY_SNAPSHOT`, in WAL mode only): waiting does not help, only rolling back
    /// and beginning anew (<https://sqlite.org/rescode.html#busy_snapshot>).
    pub fn is_busy_snapshot(&self) -> bool {
        self.as_sqlite().is_some_and(|error| error.extended() == ffi::SQLITE_BUSY_SNAPSHOT)
    }
}

/// Returns the engine lacks an ability because it lacks the function.
pub(crate) const fn unsupported(what: &'static str, function: &'static str) -> EngineError {
    EngineError::Unsupported(what, function)
}

/// An error reported by SQLite, with its message and the operation that failed.
#[derive(Debug)]
pub struct SqliteError(Box<Details>);

#[derive(Debug)]
struct Details {
    code: i32,
    message: String,
    during: During,
}

/// The operation during which SQLite failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum During {
    /// Opening this database.
    Opening(PathBuf),
    /// Preparing or running this SQL.
    Sql(String),
    /// A call without SQL of its own, by its purpose.
    Call(&'static str),
}

impl SqliteError {
    pub(crate) fn new(code: i32, message: String, during: During) -> SqliteError {
        SqliteError(Box::new(Details { code, message, during }))
    }

    /// Returns the primary result code (<https://sqlite.org/rescode.html>).
    pub fn primary(&self) -> i32 {
        self.0.code & 0xff
    }

    /// Returns the extended result code; equal to the primary one where SQLite gives no detail.
    pub fn extended(&self) -> i32 {
        self.0.code
    }

    /// SQLite's message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the operation that failed.
    pub fn during(&self) -> &During {
        &self.0.during
    }
}

impl std::error::Error for SqliteError {}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { code, message, during } = &*self.0;
        match during {
            During::Opening(path) => write!(f, "cannot open {}: ", path.display())?,
            During::Call(purpose) => write!(f, "{purpose}: ")?,
            During::Sql(_) => {}
        }
        write!(f, "{message} (SQLite result code {code})")?;
        match during {
            During::Sql(sql) => write!(f, " in: {}", shortened(sql)),
            _ => Ok(()),
        }
    }
}

/// The longest piece of SQL, in characters, that a message quotes.
const QUOTED_SQL: usize = 300;

/// Returns the beginning of `sql`, so that a statement of megabytes cannot flood a terminal.
pub(crate) fn shortened(sql: &str) -> String {
    match sql.char_indices().nth(QUOTED_SQL) {
        None => sql.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &sql[..end], sql.len()),
    }
}

/// A setting that is unknown, refused, or without effect.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // Variants describe their fields.
pub enum PragmaError {
    /// There is no such PRAGMA, it cannot be set or does not take the value, or setting it had no effect.
    #[error("{0}")]
    Setting(String),
    /// The PRAGMA can be set but not read (the PRAGMA).
    #[error("PRAGMA {0} cannot be read back")]
    NotReadable(&'static str),
    /// The loaded engine, or this kind of database, does not have the PRAGMA.
    #[error("SQLite {1} returns no value for PRAGMA {0} on this database")]
    NotInEngine(&'static str, String),
    /// SQLite reported an error while a PRAGMA was set to this value or read.
    #[error("PRAGMA {pragma} = {value} was refused: {source}")]
    Refused { pragma: &'static str, value: String, source: SqliteError },
}

impl PragmaError {
    /// SQLite's own error, where it reported one.
    pub fn as_sqlite(&self) -> Option<&SqliteError> {
        match self {
            PragmaError::Refused { source, .. } => Some(source),
            _ => None,
        }
    }
}
