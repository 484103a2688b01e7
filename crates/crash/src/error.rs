//! Errors that keep a test from being done. Damage that a test finds is a finding instead.

use std::fmt::Display;

use engine::{EngineError, ffi};
use std::path::Path;
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
    /// A statement of a script fails, or is incomplete.
    #[error("{0}")]
    Script(String),
    /// A statement of a script meets a damaged database.
    #[error("{0}")]
    DamagedDatabase(String),
    /// A file or folder could not be used.
    #[error("{0}")]
    File(String),
    /// The process that writes until it is killed could not be started.
    #[error(transparent)]
    Start(#[from] process::ProcessError),
    /// That process ended by itself, or wrote something unexpected.
    #[error("{0}")]
    Writer(String),
    /// The engine refuses the settings, so that they cannot be measured.
    #[error("{0}")]
    NotMeasured(String),
    /// Something that a test needs cannot be had, a test does not do what it should, or there is no such schedule.
    #[error("{0}")]
    Failed(String),
    /// A script whose crashes would tell nothing, or cannot be tested.
    #[error("{0}")]
    Untestable(String),
    /// A script leaves a database that is not in order, without any crash.
    #[error("{0}")]
    Unsound(String),
    /// The engine damages a database that never crashes.
    #[error("damage without a crash: {0}")]
    Damaged(String),
    /// The engine does not execute the built-in workload; the settings are not to blame.
    #[error("{0}")]
    Workload(String),
}

impl CrashError {
    /// Returns a defect of pragmark: the harness did something it should not have.
    pub(crate) fn defect(what: impl Display) -> CrashError {
        CrashError::Failed(format!("internal error in the crash laboratory: {what}"))
    }

    /// Adds the operation and the path to an error of the system.
    pub(crate) fn io(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> CrashError {
        let doing = format!("cannot {what} {}", path.display());
        move |source| CrashError::File(format!("{doing}: {source}"))
    }

    /// Adds the step during which the engine failed.
    pub(crate) fn engine(during: impl Into<String>) -> impl FnOnce(EngineError) -> CrashError {
        let during = during.into();
        move |source| CrashError::Failed(format!("{during}: {source}"))
    }

    /// Returns the error of an engine that fails without any interference, so that a later failure would prove nothing.
    pub(crate) fn control(why: impl Display) -> CrashError {
        CrashError::Failed(format!(
            "the engine cannot be tested, because without any accident {why}"
        ))
    }

    /// Returns the error of a scenario or journal mode that does not exist.
    pub(crate) fn scenario(name: impl Display) -> CrashError {
        CrashError::Failed(format!(
            "there is no scenario {name}; `pragmark crash --schedules` lists them"
        ))
    }
}

/// Returns whether an error of SQLite is unrelated to the database: memory or disk are short, the disk fails,
/// or SQLite was called wrongly (<https://sqlite.org/rescode.html>). A file that is too short or missing does
/// not count as a failing disk.
pub(crate) fn is_of_harness(error: &EngineError) -> bool {
    const NO_LARGE_FILES: i32 = 22;
    const NO_FAILURES: [i32; 2] = [ffi::SQLITE_IOERR_SHORT_READ, ffi::SQLITE_IOERR_DELETE_NOENT];
    let Some(error) = error.as_sqlite() else { return true };
    match error.primary() {
        ffi::SQLITE_IOERR => !NO_FAILURES.contains(&error.extended()),
        ffi::SQLITE_NOMEM | ffi::SQLITE_FULL | ffi::SQLITE_MISUSE | NO_LARGE_FILES => true,
        _ => false,
    }
}
