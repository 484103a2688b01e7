//! Why a trial has no measurement.

use std::fmt::Display;
use std::path::Path;

use engine::EngineError;
use lab::level::Level;
use lab::trial::Outcome;
use load::LoadError;
use script::ScriptError;
use trace::TraceError;

/// The result of work in a trial.
pub type Result<T, E = TrialError> = std::result::Result<T, E>;

/// Why a trial has no measurement.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // Variants describe their fields.
pub enum TrialError {
    /// The variant cannot be run here: the engine or the machine lacks something.
    #[error("{0}")]
    CannotRun(String),
    /// Something that the trial needs or does has failed: a file, a server, a thread or process that shares the work, a setting that is
    /// wrong or was not in force, a result that is not right.
    #[error("{0}")]
    Failed(String),
    /// A file of the user cannot be used.
    #[error(transparent)]
    Import(#[from] crate::import::ImportError),
    /// SQLite or the loading of it reported an error.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The bulk loader reported an error.
    #[error(transparent)]
    Load(LoadError),
    /// There is a mistake in the user's SQL, such as the one that a worker met.
    #[error("{0}")]
    Mistake(String),
    /// There is a mistake in the user's statement or meta command: the file as the user named it, the line counted from one, and
    /// the message of SQLite or of the evaluation.
    #[error("{file}:{line}: {why}")]
    Script { file: String, line: usize, why: String },
    /// The user's statement was right, but could not be executed: a lock, the disk or the contents of the tables prevented it. The
    /// line comes last, so that it does not look like a mistake in the statement; a broken constraint is a mistake too.
    #[error("{why} ({file}:{line})")]
    Prevented { file: String, line: usize, why: String, breaks_constraint: bool },
    /// The measurement itself failed.
    #[error("cannot measure: {0}")]
    Measuring(String),
}

impl TrialError {
    /// Returns whether the user's SQL is the problem, and not the machine, the engine or a file.
    pub fn is_mistake(&self) -> bool {
        match self {
            TrialError::Mistake(_) | TrialError::Script { .. } => true,
            TrialError::Prevented { breaks_constraint, .. } => *breaks_constraint,
            _ => false,
        }
    }

    /// Returns that the variant cannot be run here.
    pub(crate) fn cannot_run(why: impl Into<String>) -> TrialError {
        TrialError::CannotRun(why.into())
    }

    /// Returns that the variant cannot be run here because of an error.
    pub(crate) fn because(error: impl Display) -> TrialError {
        TrialError::CannotRun(error.to_string())
    }

    pub(crate) fn measuring(error: impl Display) -> TrialError {
        TrialError::Measuring(error.to_string())
    }

    /// Returns a function that adds the attempted operation and the path to an error of the system.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl Fn(std::io::Error) -> TrialError {
        move |source| TrialError::Failed(format!("cannot {doing} {}: {source}", path.display()))
    }

    /// Returns that a part of the result is wrong.
    pub(crate) fn wrong(
        what: impl Display,
        found: impl Display,
        wanted: impl Display,
    ) -> TrialError {
        TrialError::Failed(format!("wrong result: {what} is {found} instead of {wanted}"))
    }

    /// Returns that a thread or process that shares the work could not do its part.
    pub(crate) fn worker(who: impl Display, why: impl Display) -> TrialError {
        TrialError::Failed(format!("{who}: {why}"))
    }

    /// Returns that a setting of the variant was not in force on a connection when the work was done.
    pub(crate) fn not_in_force(setting: &str, on: &str, found: &str, wanted: &str) -> TrialError {
        TrialError::Failed(format!(
            "{setting} is {found} on the connection `{on}` after the work, not {wanted} as the variant sets: the figures would belong to another setting"
        ))
    }

    /// Returns that a setting cannot be proved, because no connection was read back.
    pub(crate) fn not_proved(setting: impl Display) -> TrialError {
        TrialError::Failed(format!(
            "no connection was read back, so {setting} is not proved to have been in force"
        ))
    }

    pub(crate) fn setting(name: &str, found: Option<&Level>, wanted: &str) -> TrialError {
        let found = found.map_or_else(|| "missing".to_owned(), |level| format!("`{level}`"));
        TrialError::Failed(format!("the setting `{name}` is {found}, but must be {wanted}"))
    }

    /// Returns the outcome of a trial with this error.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            TrialError::CannotRun(why) => Outcome::Skipped { why: why.clone() },
            // A feature that the engine was compiled without does not fail the trial.
            TrialError::Engine(
                error @ (EngineError::SingleThreaded | EngineError::Unsupported(..)),
            ) => Outcome::Skipped { why: error.to_string() },
            other => Outcome::Failed { why: other.to_string(), mistake: other.is_mistake() },
        }
    }
}

/// Returns whether a statement is wrong by itself: by SQLite's result code (<https://sqlite.org/rescode.html>), or because it did
/// not reach SQLite.
pub(crate) fn is_invalid(error: &EngineError) -> bool {
    const ERROR: i32 = 1;
    const RANGE: i32 = 25;
    let code = error.as_sqlite().map(engine::SqliteError::primary);
    code.is_none_or(|code| [ERROR, RANGE].contains(&code))
}

/// Returns whether a statement gives its tables a value that they do not take.
pub(crate) fn breaks_constraint(error: &EngineError) -> bool {
    const TOO_BIG: i32 = 18;
    const CONSTRAINT: i32 = 19;
    const MISMATCH: i32 = 20;
    let code = error.as_sqlite().map(engine::SqliteError::primary);
    code.is_some_and(|code| [TOO_BIG, CONSTRAINT, MISMATCH].contains(&code))
}

impl From<ScriptError> for TrialError {
    fn from(error: ScriptError) -> TrialError {
        TrialError::Mistake(error.to_string())
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
            // The strategy cannot load this input.
            LoadError::Strategy(..) => TrialError::CannotRun(error.to_string()),
            LoadError::Engine(source) | LoadError::Database(_, source) => {
                TrialError::Engine(source)
            }
            other => TrialError::Load(other),
        }
    }
}
