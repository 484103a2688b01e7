//! The user's own script: refused before anything is written if it cannot be crashed, and what a verdict on it will be
//! about is said at once.

use std::path::Path;
use std::sync::Arc;

use crash::{
    CrashError, CrashSettings, Harness, InitialDatabases, JournalMode, Recording, Script,
    Synchronous,
};
use engine::{Connection, EngineError, Library, OpenFlags};
use lab::record::{EngineRecord, RunPlan};

use super::plan::script_files;
use crate::engine::source_in;
use crate::error::{Error, Result};
use crate::files::{read_text, work_folder};
use crate::interface::Interface;

/// A longer script would give recordings that no crash laboratory can look through.
const MOST_SCRIPT_BYTES: u64 = 16 << 20;

/// The user's own script, on a copy of their database or an empty one.
pub(super) struct OwnScript<'a> {
    /// The files of the script.
    pub(super) files: &'a Path,
    /// The database.
    pub(super) database: Option<&'a Path>,
    /// The transactions that are crashed.
    pub(super) transactions: usize,
    /// The directory for copies.
    pub(super) directory: &'a Path,
}

/// Settings that neither an attached database nor a script is likely to have by itself, and the default ones for engines
/// that lack them.
const CHECKED: [(JournalMode, Synchronous); 2] =
    [(JournalMode::Truncate, Synchronous::Extra), (JournalMode::Delete, Synchronous::Full)];

impl OwnScript<'_> {
    /// Refuses a script that cannot be crashed: it is parsed and recorded once. Settings that it changes, and a transaction
    /// that it leaves open, are named.
    pub(super) fn check(
        &self,
        plan: &RunPlan,
        engines: &[EngineRecord],
        ui: &dyn Interface,
    ) -> Result<()> {
        let source = source_in(engines, &plan.engine)?;
        let library = Arc::new(Library::load(&source).map_err(Error::unusable)?);
        let folder = work_folder(self.directory)?;
        let script = self.script(&library, &folder.path)?;
        let copy = |database: &Path| self.copied(&library, database, &folder.path);
        let initial = self.database.map(copy).transpose()?;
        let failed = |error| self.failed(error);
        let mut harness = Harness::new(&source).map_err(failed)?;
        for (journal_mode, synchronous) in CHECKED {
            let settings = CrashSettings::new(journal_mode, synchronous);
            let initial = initial.as_ref();
            let recorded = Recording::make(&mut harness, &settings, &script, initial, plan.seed);
            match recorded {
                Err(CrashError::NotMeasured(_)) => {}
                recorded => {
                    note(self.files, &recorded.map_err(failed)?, &settings, ui);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads the script, as the trials will.
    fn script(&self, library: &Arc<Library>, folder: &Path) -> Result<Script> {
        let files = script_files(self.files)?;
        if self.files.exists() || !files.contains([',', '@']) {
            std::fs::metadata(self.files).map_err(|error| {
                let file = self.files.display();
                Error::unusable(format!("cannot read the script {file}: {error}"))
            })?;
            read_text("the script", self.files, MOST_SCRIPT_BYTES)?;
        }
        bench::crash_script(library, &files, self.database, folder, self.transactions)
            .map_err(|error| Error::mistake(error).hint(self.hint()))
    }

    /// Copies the user's database, to be recorded on. A log next to it is written back.
    fn copied(
        &self,
        library: &Arc<Library>,
        database: &Path,
        folder: &Path,
    ) -> Result<InitialDatabases> {
        let unusable = |error: EngineError| {
            Error::unusable(format!("cannot use a copy of {}: {error}", database.display()))
        };
        let copy = folder.join("own.db");
        bench::copy_database(library, database, &copy)?;
        let connection =
            Connection::open(library, &copy, OpenFlags::default(), None).map_err(unusable)?;
        connection.query_i64("SELECT count(*) FROM sqlite_master").map_err(unusable)?;
        connection.close().map_err(unusable)?;
        InitialDatabases::of(&[&copy], self.transactions).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: CrashError) -> Error {
        match &error {
            CrashError::Script(_) => Error::mistake(&error).hint(self.hint()),
            CrashError::Untestable(_) => Error::mistake(&error),
            CrashError::Unsound(_) => Error::unusable(&error).hint(
                "images are judged by integrity_check, so it must report nothing at the end of the script",
            ),
            CrashError::DamagedDatabase(_) => Error::unusable(&error)
                .hint("`pragmark inspect FILE --quick-check` looks for damage of a database"),
            _ => Error::unusable(&error),
        }
    }

    /// Returns what to do about a script that fails.
    fn hint(&self) -> &'static str {
        let attaches = || {
            let text = std::fs::read_to_string(self.files).unwrap_or_default();
            text.to_ascii_lowercase().contains("attach")
        };
        match self.database {
            Some(_) if attaches() => {
                "an attached database begins empty, because only that of --db is copied; nothing was written"
            }
            Some(_) => "the script is executed on a copy of the database; nothing was written",
            None => {
                "name your database with --db if the script needs its tables; nothing was written"
            }
        }
    }
}

/// Says what a verdict on the script will be about besides the settings of a variant.
fn note(path: &Path, recording: &Recording, settings: &CrashSettings, ui: &dyn Interface) {
    for in_force in recording.in_force.iter().filter(|part| part.settings != *settings) {
        tell!(
            ui,
            "note: {}: from {} on, {} has settings of its own instead of the variant's: losses are compared with SQLite's documentation of the settings in force",
            path.display(),
            in_force.since,
            in_force.database
        );
    }
    if let Some(place) = &recording.left_open {
        tell!(
            ui,
            "note: {}: the transaction that begins at {place} is never committed, so nothing of it can be lost",
            path.display()
        );
    }
}
