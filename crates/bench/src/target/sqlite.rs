//! SQLite as a target: opening a connection as the settings ask, and reading back what it became.

use std::path::Path;

use engine::pragma::{self, Pragma, PragmaError, Timing, Values};
use engine::{Connection, EngineError, OpenFlags};
use lab::catalogue::{Accepts, Parameter, Scope};
use lab::level::{Level, Settings};
use lab::trial::ReadBack;

use crate::error::TrialError;
use crate::workload::Trial;

/// Settings of a connection that are no PRAGMAs.
pub(crate) fn connection_settings() -> Vec<Parameter> {
    let choice = |name: &str, names: &[&str], default: &str, about: &str| Parameter {
        name: name.to_owned(),
        accepts: Accepts::choice(names),
        default: Some(default.into()),
        about: about.to_owned(),
        scope: Scope::Connection,
        crash_relevant: false,
    };
    vec![
        choice(
            "open_mutex",
            &["default", "no", "full"],
            "default",
            "mutexes of a connection: as compiled, none (SQLITE_OPEN_NOMUTEX) or serialised (SQLITE_OPEN_FULLMUTEX)",
        ),
        choice(
            "transaction",
            &["deferred", "immediate", "exclusive"],
            "deferred",
            "how transactions begin",
        ),
    ]
}

/// The PRAGMAs that decide what a crash can destroy (<https://sqlite.org/howtocorrupt.html>,
/// sections 3 and 5, and the documentation of each).
const CRASH_RELEVANT: &[&str] = &[
    "journal_mode",
    "synchronous",
    "fullfsync",
    "checkpoint_fullfsync",
];

/// Every PRAGMA that can be set, as a setting. None has a default here: what no experiment names
/// is left as SQLite has it.
pub(crate) fn pragma_settings() -> Vec<Parameter> {
    pragma::CATALOGUE
        .iter()
        .filter_map(|entry| {
            let accepts = accepted(&entry.values)?;
            let about = match entry.default {
                Some(default) => format!("{} (SQLite's default: {default})", entry.meaning),
                None => entry.meaning.to_owned(),
            };
            let name = entry.name.to_owned();
            let crash_relevant = CRASH_RELEVANT.contains(&entry.name);
            Some(Parameter {
                name,
                accepts,
                default: None,
                about,
                scope: Scope::Pragma,
                crash_relevant,
            })
        })
        .collect()
}

fn accepted(values: &Values) -> Option<Accepts> {
    match values {
        Values::Boolean => Some(Accepts::Bool),
        Values::Integer { min, max, .. } => Some(Accepts::Int {
            min: *min,
            max: *max,
        }),
        Values::PowerOfTwo { min, max, .. } => Some(Accepts::PowerOfTwo {
            min: *min,
            max: *max,
        }),
        Values::BooleanOrInteger { max, .. } => Some(Accepts::Int { min: 0, max: *max }),
        Values::Numbered(names) => Some(Accepts::Choice(
            names.iter().map(|(name, _)| (*name).to_owned()).collect(),
        )),
        Values::Names(names) => Some(Accepts::choice(names)),
        Values::None => None,
    }
}

/// Opens a connection with the settings' flags, applies their PRAGMAs and checks each.
pub(crate) fn open(trial: &Trial<'_>, path: &Path) -> Result<Connection, TrialError> {
    let connection = Connection::open(&trial.library, path, open_flags(trial.settings), None)?;
    let mut pragmas: Vec<(&Pragma, &Level)> = trial
        .settings
        .iter()
        .filter_map(|(name, level)| Some((pragma::find(name)?, level)))
        .collect();
    pragmas.sort_by_key(|(entry, _)| order(entry));
    for (entry, level) in pragmas {
        pragma::apply(&connection, entry.name, &level.to_string()).map_err(cannot_or_failed)?;
    }
    Ok(connection)
}

/// What shapes the file comes before anything that writes to it; the locking mode before the
/// journal mode, since WAL with exclusive locking does without shared memory only in this order.
fn order(entry: &Pragma) -> u8 {
    match (entry.timing, entry.name) {
        (Timing::BeforeCreation | Timing::BeforeFirstWrite, _) => 0,
        (_, "locking_mode") => 1,
        (_, "journal_mode") => 2,
        _ => 3,
    }
}

/// An engine without a PRAGMA cannot run the arm; a PRAGMA without effect is a failure.
fn cannot_or_failed(error: EngineError) -> TrialError {
    match &error {
        EngineError::Pragma(PragmaError::NotInEngine { .. }) => {
            TrialError::CannotRun(error.to_string())
        }
        _ => error.into(),
    }
}

/// How a transaction begins.
pub(crate) fn begin_statement(settings: &Settings) -> &'static str {
    match settings.get("transaction").and_then(Level::as_text) {
        Some("immediate") => "BEGIN IMMEDIATE",
        Some("exclusive") => "BEGIN EXCLUSIVE",
        _ => "BEGIN DEFERRED",
    }
}

/// The size of a file; 0 where there is none.
pub(crate) fn size(path: &Path) -> Result<f64, TrialError> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len() as f64),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0.0),
        Err(source) => Err(TrialError::Io {
            doing: "look at",
            path: path.to_owned(),
            source,
        }),
    }
}

fn open_flags(settings: &Settings) -> OpenFlags {
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE;
    match settings.get("open_mutex").and_then(Level::as_text) {
        Some("no") => flags | OpenFlags::NO_MUTEX,
        Some("full") => flags | OpenFlags::FULL_MUTEX,
        _ => flags,
    }
}

/// Every configuration PRAGMA as the connection answers it.
pub(crate) fn read_back(connection: &str, database: &Connection) -> Result<ReadBack, TrialError> {
    Ok(ReadBack {
        connection: connection.to_owned(),
        pragmas: pragma::read_back(database)?,
    })
}
