//! The user's own script: refused before anything is written if it cannot be crashed, and what a verdict on it will be
//! about is said at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::crash::{
    CrashError, CrashSettings, Harness, InitialDatabases, JournalMode, Recording, Script,
    Synchronous,
};
use engine::{Connection, EngineError, Library, OpenFlags, Source};
use lab::record::{EngineRecord, RunPlan, engine_to_load};

use super::plan;
use crate::cli::CrashArgs;
use crate::commands::work_folder::work_folder;
use crate::failure::Failure;
use crate::text_file::text_of;

/// A longer script would give recordings that no crash laboratory can look through.
const MOST_SCRIPT_BYTES: u64 = 16 << 20;

/// What to do about a script that fails.
fn hint(args: &CrashArgs) -> &'static str {
    let attaches = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.to_ascii_lowercase().contains("attach")
    };
    match args.db {
        Some(_) if !args.script.as_ref().is_some_and(attaches) => {
            "the script is executed on a copy of the database; nothing was written"
        }
        Some(_) => {
            "a database that the script attaches is a new one, as only that of --db is copied; nothing was written"
        }
        None => "name your database with --db if the script needs its tables; nothing was written",
    }
}

/// Settings that neither an attached database nor a script is likely to have by itself, and the default ones for engines
/// that lack them.
const CHECKED: [(JournalMode, Synchronous); 2] =
    [(JournalMode::Truncate, Synchronous::Extra), (JournalMode::Delete, Synchronous::Full)];

/// Refuses a script that cannot be crashed: it is parsed and recorded once. Settings that it changes, and a transaction
/// that it leaves open, are named.
pub(super) fn check(
    path: &Path,
    args: &CrashArgs,
    plan: &RunPlan,
    engines: &[EngineRecord],
) -> Result<(), Failure> {
    let to_load = engine_to_load(engines, &plan.engine).map_err(Failure::unusable)?;
    let source: Source = to_load.parse().map_err(Failure::usage)?;
    let library = Arc::new(Library::load(&source).map_err(Failure::unusable)?);
    let folder = work_folder(&plan::directory(args))?;
    let script = script(&library, path, args, folder.path())?;
    let copy = |database: &PathBuf| copied(&library, database, folder.path(), args);
    let initial = args.db.as_ref().map(copy).transpose()?;
    let failure = |error| failure(error, args);
    let mut harness = Harness::new(&source).map_err(failure)?;
    for (journal_mode, synchronous) in CHECKED {
        let settings = CrashSettings::new(journal_mode, synchronous);
        let initial = initial.as_ref();
        let recorded = Recording::make(&mut harness, &settings, &script, initial, plan.seed);
        if let Ok(recording) = recorded.map_err(failure)? {
            note(path, &recording, &settings);
            break;
        }
    }
    Ok(())
}

/// Reads the script, as the trials will.
fn script(
    library: &Arc<Library>,
    path: &Path,
    args: &CrashArgs,
    folder: &Path,
) -> Result<Script, Failure> {
    let files = plan::script_files(path)?;
    if path.exists() || !files.contains([',', '@']) {
        std::fs::metadata(path).map_err(|error| {
            Failure::unusable(format!("cannot read the script {}: {error}", path.display()))
        })?;
        text_of("the script", path, MOST_SCRIPT_BYTES)?;
    }
    let count = plan::transactions(args) as usize;
    bench::crash_script(library, &files, args.db.as_deref(), folder, count)
        .map_err(|error| Failure::usage(error).hint(hint(args)))
}

/// Says what a verdict on the script will be about besides the settings of a variant.
fn note(path: &Path, recording: &Recording, settings: &CrashSettings) {
    for in_force in recording.in_force.iter().filter(|it| it.settings != *settings) {
        tell!(
            "note: {}: from {} on, {} has settings of its own, whatever the variant sets: what is lost is compared with what SQLite documents of those in force",
            path.display(),
            in_force.since,
            in_force.database
        );
    }
    if let Some(place) = &recording.left_open {
        tell!(
            "note: {}: the transaction that begins at {place} is never committed, so nothing of it can be lost",
            path.display()
        );
    }
}

/// A copy of the user's database, to be recorded on. A log next to it is written back.
fn copied(
    library: &Arc<Library>,
    database: &Path,
    folder: &Path,
    args: &CrashArgs,
) -> Result<InitialDatabases, Failure> {
    let unusable = |error: EngineError| {
        Failure::unusable(format!("cannot use a copy of {}: {error}", database.display()))
    };
    let copy = folder.join("own.db");
    bench::copy_database(library, database, &copy).map_err(Failure::unusable)?;
    let connection =
        Connection::open(library, &copy, OpenFlags::default(), None).map_err(unusable)?;
    let read = connection.query_i64("SELECT count(*) FROM sqlite_master");
    read.map_err(unusable)?;
    connection.close().map_err(unusable)?;
    InitialDatabases::of(&[&copy], plan::transactions(args) as usize)
        .map_err(|error| failure(error, args))
}

fn failure(error: CrashError, args: &CrashArgs) -> Failure {
    match &error {
        CrashError::Script { .. } | CrashError::Unfinished { .. } => {
            Failure::usage(&error).hint(hint(args))
        }
        CrashError::NothingCommitted { .. }
        | CrashError::TooMuchWritten { .. }
        | CrashError::Unsynced { .. } => Failure::usage(&error),
        CrashError::Unsound { .. } => Failure::unusable(&error).hint(
            "images are judged by integrity_check, so a script may end with nothing that it reports",
        ),
        CrashError::DamagedDatabase { .. } => Failure::unusable(&error)
            .hint("`pragmark doctor --db FILE --quick-check` looks for damage of a database"),
        _ => Failure::unusable(&error),
    }
}
