//! SQLite as a target: opening a connection as the settings ask, and reading back what it became.

use std::collections::BTreeMap;
use std::path::Path;

use engine::pragma::{self, Pragma, PragmaError, Timing, Values};
use engine::vfs::{CountingVfs, FileCounts, IoCounts};
use engine::{Connection, DbStatus, EngineError, OpenFlags};
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
/// sections 3 and 5, and the documentation of each). The locking mode changes how a journal is
/// ended.
const CRASH_RELEVANT: &[&str] = &[
    "journal_mode",
    "synchronous",
    "locking_mode",
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
    let connection = Connection::open(
        &trial.library,
        path,
        open_flags(trial.settings),
        trial.counter.as_ref().map(CountingVfs::name),
    )?;
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

/// What the work does to files and to the page cache, counted from its making on.
pub(crate) struct Counts<'a> {
    counter: &'a CountingVfs,
    before: IoCounts,
}

/// Counters of the page cache by metric.
const CACHE: &[(&str, DbStatus)] = &[
    ("cache_misses", DbStatus::CacheMiss),
    ("cache_spills", DbStatus::CacheSpill),
    ("pages_written", DbStatus::CacheWrite),
];

impl<'a> Counts<'a> {
    /// Begins to count in a counting trial; none in a timed one.
    pub(crate) fn begin(
        trial: &'a Trial<'_>,
        connection: &Connection,
    ) -> Result<Option<Counts<'a>>, TrialError> {
        let Some(counter) = &trial.counter else {
            return Ok(None);
        };
        for (_, status) in CACHE {
            connection.db_status(*status, true)?;
        }
        Ok(Some(Counts {
            counter,
            before: counter.counts(),
        }))
    }

    /// What was counted, as metrics: for all files together, and by kind of file where any of
    /// that kind took part.
    pub(crate) fn end(self, connection: &Connection) -> Result<BTreeMap<String, f64>, TrialError> {
        let counts = self.counter.counts().since(&self.before);
        let mut metrics = file_metrics(&counts);
        for (name, status) in CACHE {
            let value = connection.db_status(*status, false)?.current;
            metrics.insert((*name).to_owned(), value as f64);
        }
        Ok(metrics)
    }
}

fn file_metrics(counts: &IoCounts) -> BTreeMap<String, f64> {
    let kinds = [
        ("database", &counts.database),
        ("journal", &counts.journal),
        ("wal", &counts.wal),
        ("super_journal", &counts.super_journal),
        ("temporary", &counts.temporary),
    ];
    let mut metrics = BTreeMap::new();
    for (kind, files) in kinds {
        for (name, value) in figures(files) {
            *metrics.entry(name.to_owned()).or_default() += value;
            if *files != FileCounts::default() {
                metrics.insert(format!("{name}.{kind}"), value);
            }
        }
    }
    metrics
}

fn figures(files: &FileCounts) -> [(&'static str, f64); 7] {
    [
        ("syncs", files.syncs + files.directory_syncs),
        ("writes", files.writes),
        ("bytes_written", files.bytes_written),
        ("reads", files.reads + files.mapped_reads),
        ("bytes_read", files.bytes_read),
        ("truncates", files.truncates),
        ("deletes", files.deletes),
    ]
    .map(|(name, value)| (name, value as f64))
}

/// Every configuration PRAGMA as the connection answers it.
pub(crate) fn read_back(connection: &str, database: &Connection) -> Result<ReadBack, TrialError> {
    Ok(ReadBack {
        connection: connection.to_owned(),
        pragmas: pragma::read_back(database)?,
    })
}
