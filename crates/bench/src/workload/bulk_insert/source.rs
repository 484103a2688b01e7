//! The database that the methods `attach-value` and `attach-star` copy from.
//!
//! It is made in the trial's own directory by a connection of its own, closed and synced before
//! the clock starts, so that neither a journal nor pages still to be written are left to the
//! measured work.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use engine::{Connection, OpenFlags, pragma};

use super::method::Method;
use super::parameters::{Parameters, Statement};
use super::rows::Rows;
use crate::error::TrialError;
use crate::trial::Trial;

/// The name under which the source is attached.
pub(super) const NAME: &str = "source";

/// PRAGMAs that source and copy must have in common: the encoding by SQLite's own rule for
/// attached databases, the page size so that no copy is made between pages of different sizes.
const SHARED: &[&str] = &["page_size", "encoding"];

/// Rows in one INSERT of the making.
const ROWS_PER_STATEMENT: usize = 100;

/// A closed database with the table and its rows.
pub(super) struct Source {
    path: PathBuf,
}

impl Source {
    /// Makes the source of a method that needs one.
    pub(super) fn of(
        trial: &Trial<'_>,
        parameters: &Parameters,
        data: &[i64],
    ) -> Result<Option<Source>, TrialError> {
        if !parameters.method.copies() {
            return Ok(None);
        }
        let path = trial.directory.join("source.db");
        let connection = Connection::open(&trial.library, &path, OpenFlags::default(), None)?;
        for name in SHARED {
            if let Some(level) = trial.settings.get(*name) {
                pragma::apply(&connection, name, &level.to_string())?;
            }
        }
        fill(&connection, parameters, data)?;
        connection.close()?;
        sync(&path)?;
        Ok(Some(Source { path }))
    }

    /// Attaches it to the connection that copies.
    pub(super) fn attach(&self, connection: &Connection) -> Result<(), TrialError> {
        let mut attach = connection.prepare(&format!("ATTACH ?1 AS {NAME}"))?;
        attach.bind_text(1, &self.path.to_string_lossy())?;
        Ok(attach.run()?)
    }

    /// Detaches it, so that nothing read afterwards can come from it.
    pub(super) fn detach(&self, connection: &Connection) -> Result<(), TrialError> {
        Ok(connection.execute(&format!("DETACH {NAME}"))?)
    }
}

fn fill(connection: &Connection, parameters: &Parameters, data: &[i64]) -> Result<(), TrialError> {
    connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    connection.execute(parameters.table.create())?;
    let making = Parameters {
        method: Method::Values,
        statement: Statement::Reused,
        per_statement: NonZeroUsize::new(ROWS_PER_STATEMENT),
        ..*parameters
    };
    connection.execute("BEGIN")?;
    Rows::prepare(connection, &making)?.insert(data)?;
    Ok(connection.execute("COMMIT")?)
}

fn sync(path: &Path) -> Result<(), TrialError> {
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.map_err(TrialError::io("sync", path))
}
