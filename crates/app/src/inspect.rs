//! Examinations of a database without a workload.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::engine::{EngineError, Source};
use bench::TrialError;
use bench::examination::{
    Examination, LibraryReport, WalReset, examine, of_connection, or_why, with_library,
};
use drivers::{Description, Library, Manifest};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::files::{DatabaseKind, work_folder};
use crate::interface::Interface;
use crate::words::shell_path;
use crate::{driver, engine};

/// An examination of a database.
#[derive(Clone, Debug)]
pub struct InspectRequest {
    /// The database.
    pub database: PathBuf,
    /// The directory for a copy.
    pub directory: PathBuf,
    /// Whether quick_check and foreign_key_check are run.
    pub quick_check: bool,
    /// The driver whose binding the application uses.
    pub through: Option<String>,
    /// The engine that the application loads.
    pub engine: Option<String>,
}

/// A database that was examined, and the SQLite of its application.
pub struct Inspection {
    /// The database.
    pub examination: Examination,
    /// The SQLite of the application.
    pub application: Application,
}

/// The SQLite of the application, with the user's database.
#[derive(Debug, Serialize)]
pub struct Application {
    /// A description in words.
    pub name: String,
    /// The engine, as options name it; none if the library is inside a binding.
    pub engine: Option<String>,
    /// Its version.
    pub version: String,
    /// PRAGMAs of a connection that sets nothing, or why they are not known.
    #[serde(serialize_with = "or_why")]
    pub settings: Result<BTreeMap<String, String>, String>,
    /// Whether it has the bug of SQLite before 3.51.3.
    pub wal_reset: WalReset,
}

/// Examines a copy of the database.
///
/// # Errors
/// The database, the engine or the driver cannot be used.
pub fn inspect(request: &InspectRequest, ui: &dyn Interface) -> Result<Inspection> {
    let InspectRequest { database, directory, .. } = request;
    if DatabaseKind::of(database) == Some(DatabaseKind::Trace) {
        let words = format!("{} is a trace, not a database of an application", database.display());
        let trace = shell_path(database);
        return Err(Error::mistake(words)
            .hint(format!("`pragmark trace {trace}` shows what the application did")));
    }
    let folder = work_folder(directory)?;
    let mut examination =
        examine(database, &folder.path, request.quick_check).map_err(Error::unusable)?;
    drop(folder);
    let application = application(database, directory, &examination, request, ui)?;
    if let Ok(settings) = &application.settings {
        // They concern every statement, so they come first.
        let of_connection = of_connection(&examination, settings);
        examination.findings.splice(..0, of_connection);
    }
    Ok(Inspection { examination, application })
}

/// Returns the SQLite of the application: the requested one, or the system's, or the built-in one if the system has none.
fn application(
    database: &Path,
    parent: &Path,
    examination: &Examination,
    request: &InspectRequest,
    ui: &dyn Interface,
) -> Result<Application> {
    let folder = work_folder(parent)?;
    let with = |source: &Source| with_library(source, database, &folder.path);
    if let Some(name) = &request.engine {
        let report = with(&engine::source(name, ui)?).map_err(Error::unusable)?;
        return Ok(loaded(format!("the engine {name}"), name, report));
    }
    if let Some(name) = &request.through {
        return through(name, examination, || with(&Source::System).map_err(Error::unusable));
    }
    match with(&Source::System) {
        Ok(report) => Ok(loaded("this system's library".to_owned(), "system", report)),
        Err(TrialError::Engine(EngineError::NoSystemLibrary(..))) => {
            let report = with(&Source::Embedded).map_err(Error::unusable)?;
            Ok(loaded("pragmark's own library".to_owned(), "default", report))
        }
        Err(error) => Err(Error::unusable(error)),
    }
}

fn loaded(name: String, engine: &str, report: LibraryReport) -> Application {
    Application {
        name,
        engine: Some(engine.to_owned()),
        version: report.version,
        settings: report.settings,
        wal_reset: report.wal_reset,
    }
}

/// Returns the SQLite of a driver. One that loads the system's library has the bugs of that library; schedules cannot be
/// played with one that includes its own.
fn through(
    name: &str,
    examination: &Examination,
    system: impl FnOnce() -> Result<LibraryReport>,
) -> Result<Application> {
    let registry = driver::registry(None)?;
    let manifest = registry.find(name)?;
    let description = registry.describe(manifest)?;
    let system = match manifest.library {
        Library::Loaded => Some(system()?),
        Library::Carried => None,
    };
    let is_loaded = |report: &LibraryReport| report.source_id == description.source_id;
    let (engine, wal_reset) = match system.filter(is_loaded) {
        Some(report) => (Some("system".to_owned()), report.wal_reset),
        None => (None, not_played(manifest)),
    };
    Ok(Application {
        name: format!("{}, through the driver {name}", description.name),
        engine,
        settings: Ok(settings_of(&description, examination)),
        version: description.version,
        wal_reset,
    })
}

fn not_played(manifest: &Manifest) -> WalReset {
    WalReset::NotPlayed { why: format!("the library is inside the binding of {}", manifest.name) }
}

/// Returns what a new connection of a binding says, with the journal mode of the file and what follows from it.
fn settings_of(description: &Description, examination: &Examination) -> BTreeMap<String, String> {
    let mut settings = description.defaults.clone();
    settings.remove("journal_mode");
    bench::normalise_pragmas(&mut settings);
    let mut options = description.compile_options.iter();
    let in_wal = options.find_map(|option| option.strip_prefix("DEFAULT_WAL_SYNCHRONOUS="));
    if examination.journal_mode == "wal"
        && let Some(level) = in_wal
    {
        settings.insert("synchronous".to_owned(), level.to_owned());
        bench::normalise_pragmas(&mut settings);
    }
    settings
}
