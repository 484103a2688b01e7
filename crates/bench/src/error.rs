//! Why a trial has no measurement.

use std::fmt::Display;
use std::path::Path;

use engine::EngineError;
use lab::level::Level;
use lab::trial::Outcome;
use load::LoadError;
use trace::TraceError;

/// Why a trial has no measurement.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The variant cannot be run here: the engine or the machine lacks something.
    #[error("{0}")]
    CannotRun(String),
    /// A setting of the specification is missing or of the wrong kind.
    #[error("the setting `{name}` is {found}, but must be {wanted}")]
    Setting {
        /// Its name.
        name: String,
        /// The level.
        found: String,
        /// The levels that are accepted.
        wanted: String,
    },
    /// A file of the user's is not what it should be.
    #[error(transparent)]
    Import(#[from] crate::import::error::ImportError),
    /// SQLite or the loading of it reported an error.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The bulk loader reported an error.
    #[error(transparent)]
    Load(LoadError),
    /// A file of the trial could not be used.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// On which path.
        path: std::path::PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A PostgreSQL server could not be used.
    #[error("cannot {doing}: {why}")]
    Server {
        /// The operation.
        doing: &'static str,
        /// The message of the server or its driver.
        why: String,
    },
    /// The work was done but its result is wrong.
    #[error("wrong result: {what} is {found} instead of {wanted}")]
    WrongResult {
        /// The part that was checked.
        what: String,
        /// Its value.
        found: String,
        /// The right value.
        wanted: String,
    },
    /// One of several threads or processes that share the work could not do its part.
    #[error("{who}: {why}")]
    Worker {
        /// Which.
        who: String,
        /// The reason.
        why: String,
    },
    /// A setting of the variant was not in force on a connection when the work was done.
    #[error(
        "{setting} is {found} on the connection `{connection}` after the work, not {wanted} as the variant sets: the figures would belong to another setting"
    )]
    NotInForce {
        /// The PRAGMA or connection setting.
        setting: String,
        /// The connection.
        connection: String,
        /// The value that was read back.
        found: String,
        /// The value that the variant requires.
        wanted: String,
    },
    /// Settings cannot be proved, because no connection was read back.
    #[error("no connection was read back, so {0} is not proved to have been in force")]
    NotProved(String),
    /// There is a mistake in a statement or a meta command of the user's own.
    #[error("{file}:{line}: {why}")]
    Script {
        /// The file, as the user named it.
        file: String,
        /// The line, counted from one.
        line: usize,
        /// The message of SQLite or of the evaluation.
        why: String,
    },
    /// A statement of the user's own was right, but could not be executed: a lock, the disk or what the tables hold prevented it. The
    /// line comes last, so that nobody takes it for a mistake in the statement.
    #[error("{why} ({file}:{line})")]
    Prevented {
        /// The file, as the user named it.
        file: String,
        /// The line, counted from one.
        line: usize,
        /// The message of SQLite.
        why: String,
    },
    /// The measuring itself failed.
    #[error("cannot measure: {0}")]
    Measuring(String),
}

impl TrialError {
    /// Returns the error of a variant that cannot run here.
    pub(crate) fn cannot_run(why: impl Into<String>) -> TrialError {
        TrialError::CannotRun(why.into())
    }

    /// Returns the error of a variant that cannot run here for the reason of another error.
    pub(crate) fn because(error: impl Display) -> TrialError {
        TrialError::CannotRun(error.to_string())
    }

    /// Returns a function that adds the operation and the path to an error of the system.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl Fn(std::io::Error) -> TrialError {
        move |source| TrialError::Io { doing, path: path.to_owned(), source }
    }

    /// Returns the error of a wrong part of the result.
    pub(crate) fn wrong(
        what: impl Into<String>,
        found: impl Into<String>,
        wanted: impl Into<String>,
    ) -> TrialError {
        TrialError::WrongResult { what: what.into(), found: found.into(), wanted: wanted.into() }
    }

    pub(crate) fn setting(name: &str, found: Option<&Level>, wanted: &str) -> TrialError {
        TrialError::Setting {
            name: name.to_owned(),
            found: found.map_or_else(|| "missing".to_owned(), |level| format!("`{level}`")),
            wanted: wanted.to_owned(),
        }
    }

    /// Returns the outcome of a trial that ended so.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            TrialError::CannotRun(why) => Outcome::Skipped { why: why.clone() },
            // A feature that the engine was compiled without does not make the trial fail.
            TrialError::Engine(
                error @ (EngineError::SingleThreaded | EngineError::Unsupported { .. }),
            ) => Outcome::Skipped { why: error.to_string() },
            other => Outcome::Failed { why: other.to_string() },
        }
    }
}

impl From<TraceError> for TrialError {
    fn from(error: TraceError) -> TrialError {
        TrialError::because(error)
    }
}

impl From<LoadError> for TrialError {
    fn from(error: LoadError) -> TrialError {
        match error {
            // The loader says of itself what it would do by SQL.
            LoadError::Strategy { .. } => TrialError::CannotRun(error.to_string()),
            LoadError::Engine(source) | LoadError::Database { source, .. } => {
                TrialError::Engine(source)
            }
            other => TrialError::Load(other),
        }
    }
}
