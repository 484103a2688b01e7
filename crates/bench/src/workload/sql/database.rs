//! The database of a trial: a copy of the user's database, pgbench's tables, or the result of the set-up.

use std::fs::{self, File};
use std::io::{Read, sink};
use std::path::{Path, PathBuf};

use lab::trial::COPIES;

use super::parameters::{Caching, Parameters};
use super::suite::{read_text, refuse_other_files};
use super::{pgbench, snapshot};
use crate::drive::worker::DATABASE;
use crate::error::{breaks_constraint, is_invalid};
use crate::platform::forget;
use crate::workload::prelude::*;
use crate::workload::preparation::apply_file_settings;

/// A database that is ready for the work.
pub(super) struct TrialDatabase {
    pub(super) path: PathBuf,
    /// The text that it was made from, for checksums.
    pub(super) origin: String,
}

/// Creates the database, or makes it again after the work.
///
/// # Errors
/// The user's database cannot be copied, the set-up fails, or a setting has no effect on this database.
pub(super) fn create(trial: &Trial<'_>, parameters: &Parameters) -> Result<TrialDatabase> {
    let path = trial.directory.join(DATABASE);
    let mut origin = String::new();
    if let Some(database) = &parameters.database {
        if !path.exists() {
            // Where an earlier trial left no copy, one is made.
            let _ = fs::rename(kept_copy(trial.directory, database), &path);
        }
        let take = || snapshot::take(&trial.library, Path::new(database), &path);
        let copies = trial.directory.join(COPIES);
        let state = take().or_else(|error| {
            // Copies of other databases may have taken the room for this one.
            let is_freed = fs::remove_dir(&copies).is_err() && fs::remove_dir_all(&copies).is_ok();
            if is_freed { take() } else { Err(error) }
        })?;
        origin = format!("{database} {}", state.text());
        apply_file_settings(&trial.library, trial.settings, &path)
            .map_err(|error| in_database(error, parameters))?;
    } else {
        snapshot::remove(&path);
    }
    let connection = open(trial, &path).map_err(|error| in_database(error, parameters))?;
    if parameters.pgbench().is_some() {
        pgbench::fill(&connection, parameters.scale_factor)?;
    }
    if let Some(setup) = &parameters.setup {
        let text = read_text(Path::new(setup))?;
        refuse_other_files(setup, 1, &text)?;
        let failed = |error: EngineError| {
            let why = format!("{setup}: {error}");
            let is_mistake = is_invalid(&error) || breaks_constraint(&error);
            if is_mistake { TrialError::Mistake(why) } else { TrialError::cannot_run(why) }
        };
        connection.execute(&text).map_err(failed)?;
        origin.push_str(&text);
    }
    // The last connection to close writes the log back, so that every trial begins without one.
    connection.close()?;
    parameters.preparation.apply(&trial.library, &path)?;
    Ok(TrialDatabase { path, origin })
}

impl TrialDatabase {
    /// Leaves the copy of the user's database to the next trial, which writes only what this one changed.
    pub(super) fn leave(self, trial: &Trial<'_>, parameters: &Parameters) {
        /// Copies of several databases that are kept: of the two sides of a comparison.
        const MOST: usize = 2;
        let Some(database) = &parameters.database else { return };
        let copies = trial.directory.join(COPIES);
        let _ = fs::create_dir(&copies);
        let others = fs::read_dir(&copies).into_iter().flatten().flatten().skip(MOST - 1);
        for other in others {
            let _ = fs::remove_file(other.path());
        }
        // A copy that cannot be kept is made again.
        let _ = fs::rename(&self.path, kept_copy(trial.directory, database));
    }
}

/// Returns where an earlier trial may have left its copy of a database.
fn kept_copy(directory: &Path, database: &str) -> PathBuf {
    directory.join(COPIES).join(format!("{:016x}.db", Seed(0).child(database).0))
}

/// Opens a database and reads its schema, which fails if the file is not a database.
fn open(trial: &Trial<'_>, path: &Path) -> Result<Connection> {
    let connection = sqlite::open(trial, path)?;
    connection.query_i64("SELECT count(*) FROM sqlite_master")?;
    Ok(connection)
}

/// Turns an error of a copy into one of the user's database.
fn in_database(error: TrialError, parameters: &Parameters) -> TrialError {
    match (&parameters.database, &error) {
        (Some(database), TrialError::Engine(engine)) => {
            TrialError::cannot_run(format!("cannot use a copy of {database}: {engine}"))
        }
        _ => error,
    }
}

/// Writes the file to the disk, so that the first commit of the work does not do it, and brings it into the page cache of the
/// system, or out of it.
///
/// # Errors
/// The file cannot be read or synced.
pub(super) fn prepare_cache(path: &Path, caching: Caching) -> Result<()> {
    let failed = TrialError::io("read", path);
    let mut file = File::open(path).map_err(&failed)?;
    file.sync_all().map_err(TrialError::io("sync", path))?;
    match caching {
        Caching::AsIs => Ok(()),
        Caching::Warm => std::io::copy(&mut file.by_ref(), &mut sink()).map(drop).map_err(failed),
        Caching::Cold => forget(&file).map_err(failed),
    }
}
