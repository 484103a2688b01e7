//! The SQLite library that an application uses: what a connection gets that sets nothing, and the WAL-reset bug.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crash::schedule::{Extent, ScheduleRunner, explore, scenario};
use engine::{Connection, EngineError, Library, OpenFlags, Source, pragma};
use serde::Serialize;

use super::{Examination, Finding, copied, or_why};
use crate::error::Result;

/// The settings of a connection that applications meet first.
const SETTINGS: [&str; 7] = [
    "busy_timeout", "cache_size", "foreign_keys", "journal_mode", "mmap_size", "synchronous",
    "wal_autocheckpoint",
];

/// In this scenario a checkpoint meets a WAL that has been restarted.
const WAL_RESET: &str = "checkpoint-and-restart";

/// A library with the user's database.
#[derive(Clone, Debug, Serialize)]
pub struct LibraryReport {
    /// Its version.
    pub version: String,
    /// Its source.
    pub source_id: String,
    /// The PRAGMAs of a connection to the database that sets nothing; why the library cannot read the database
    /// otherwise, as an old one cannot read a schema with newer SQL.
    #[serde(serialize_with = "or_why")]
    pub settings: Result<BTreeMap<String, String>, String>,
    /// Result of the schedules that lead to the WAL-reset bug.
    pub wal_reset: WalReset,
}

/// Whether a library has the WAL-reset bug (<https://sqlite.org/wal.html#walresetbug>).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // Variants describe their fields.
pub enum WalReset {
    /// A schedule of two connections, as `pragmark crash --schedule` takes it, damaged a database.
    Shown { schedule: String, what: String },
    /// All schedules of the scenario were played, and none did damage.
    NotShown { schedules: u64 },
    /// The schedules could not be played, and why not.
    NotPlayed { why: String },
}

/// Returns findings about the settings of a connection to a database.
pub fn of_connection(
    examination: &Examination,
    settings: &BTreeMap<String, String>,
) -> Vec<Finding> {
    let has = |name: &str, value: &str| settings.get(name).is_some_and(|level| level == value);
    let timeout = has("busy_timeout", "0").then(|| Finding {
        subject: "busy_timeout".to_owned(),
        what: "a connection that sets nothing does not wait for a lock: `database is locked` comes at once".to_owned(),
        remedy: "PRAGMA busy_timeout = 5000; on every connection".to_owned(),
        experiment: Some("contention-busy-timeout"),
        ..Finding::default()
    });
    let unchecked = examination.has_foreign_keys && has("foreign_keys", "off");
    let foreign_keys = unchecked.then(|| Finding {
        subject: "foreign_keys".to_owned(),
        what: "the schema has foreign keys, and a connection that sets nothing does not check them"
            .to_owned(),
        remedy: "PRAGMA foreign_keys = on; on every connection".to_owned(),
        ..Finding::default()
    });
    timeout.into_iter().chain(foreign_keys).collect()
}

/// Loads a library and opens a copy of a database with it, in an empty directory.
///
/// # Errors
/// The library cannot be loaded, or the database not be copied.
pub fn with_library(source: &Source, database: &Path, directory: &Path) -> Result<LibraryReport> {
    let library = Arc::new(Library::load(source)?);
    let copy = copied(&library, database, directory)?;
    Ok(LibraryReport {
        version: library.identity().version.clone(),
        source_id: library.identity().source_id.clone(),
        settings: settings(&library, &copy).map_err(|error| error.message()),
        wal_reset: wal_reset(&library, directory),
    })
}

fn settings(library: &Arc<Library>, copy: &Path) -> Result<BTreeMap<String, String>, EngineError> {
    let connection = Connection::open(library, copy, OpenFlags::default(), None)?;
    let read = |name: &&str| Ok(((*name).to_owned(), pragma::read(&connection, name)?));
    let settings = SETTINGS.iter().map(read).collect::<Result<_, EngineError>>()?;
    connection.close()?;
    Ok(settings)
}

/// Plays every schedule of the scenario, in a folder.
fn wal_reset(library: &Arc<Library>, folder: &Path) -> WalReset {
    let extent = Extent { all_up_to: u64::MAX, sample: u64::MAX, seed: 0, threads: 1 };
    let played = ScheduleRunner::new(library, folder).map(|mut runner| {
        Some(explore(&mut runner, scenario(WAL_RESET)?, "wal", extent, &AtomicBool::new(false)))
    });
    let explored = match played {
        Ok(Some(Ok(explored))) => explored,
        Ok(None) => return not_played(&format!("there is no scenario {WAL_RESET}")),
        Ok(Some(Err(error))) | Err(error) => return not_played(&error.to_string()),
    };
    match explored.findings.into_iter().next() {
        Some(finding) => WalReset::Shown {
            schedule: finding.schedule,
            // The first thing that went wrong says enough.
            what: finding.what.into_iter().next().unwrap_or_default(),
        },
        None => WalReset::NotShown { schedules: explored.played },
    }
}

fn not_played(why: &str) -> WalReset {
    WalReset::NotPlayed { why: why.to_owned() }
}
