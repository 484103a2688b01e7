//! The database that the methods `attach-value` and `attach-star` copy from.
//!
//! A connection of its own makes it in the directory of the trial. It is closed and synced before the clock starts, so
//! that the measured work inherits neither a journal nor pages that are still to be written.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use engine::{Connection, OpenFlags, pragma};

use super::insert::{Rows, SOURCE};
use super::parameters::{Method, Parameters, Statement};
use crate::error::{Result, TrialError};
use crate::trial::Trial;

/// PRAGMAs that source and copy must have in common: the encoding by SQLite's own rule for
/// attached databases, the page size so that no copy is made between pages of different sizes.
const SHARED: &[&str] = &["page_size", "encoding"];

/// Rows in one INSERT that fills the source.
const ROWS_PER_STATEMENT: usize = 100;

/// A closed database with the table and its rows.
pub(super) struct Source {
    path: PathBuf,
}

impl Source {
    /// Creates the source of a method that needs one.
    pub(super) fn of(
        trial: &Trial<'_>,
        parameters: &Parameters,
        data: &[i64],
    ) -> Result<Option<Source>> {
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
        let synced = File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(TrialError::io("sync", &path))?;
        Ok(Some(Source { path }))
    }

    /// Attaches it to the connection that copies.
    pub(super) fn attach(&self, connection: &Connection) -> Result<()> {
        let mut attach = connection.prepare(&format!("ATTACH ?1 AS {SOURCE}"))?;
        attach.bind_text(1, &self.path.to_string_lossy())?;
        Ok(attach.run()?)
    }

    /// Detaches it, so that later queries cannot read from it.
    pub(super) fn detach(&self, connection: &Connection) -> Result<()> {
        Ok(connection.execute(&format!("DETACH {SOURCE}"))?)
    }
}

fn fill(connection: &Connection, parameters: &Parameters, data: &[i64]) -> Result<()> {
    connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    connection.execute(parameters.table.create())?;
    let filling = Parameters {
        method: Method::Values,
        statement: Statement::Reused,
        per_statement: NonZeroUsize::new(ROWS_PER_STATEMENT),
        ..*parameters
    };
    connection.execute("BEGIN")?;
    Rows::prepare(connection, &filling)?.insert(data)?;
    Ok(connection.execute("COMMIT")?)
}
