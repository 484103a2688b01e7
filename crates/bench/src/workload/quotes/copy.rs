//! Copying a database into fresh ones through ATTACH.
//!
//! Each copy is a connection of its own, opened with the settings of the variant, to which the source is
//! attached. The other way round (attaching the copy) would leave the settings without effect,
//! because a PRAGMA without a schema name reaches the main database, and `synchronous` and
//! `journal_mode` of a database attached later are SQLite's defaults.
//!
//! BEGIN IMMEDIATE and BEGIN EXCLUSIVE take the write lock on the attached source too, so that with
//! a rollback journal the commit goes through a super-journal: that is part of what they cost.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags};
use lab::trial::ReadBack;

use super::verify::{self, Sums};
use crate::error::TrialError;
use crate::target::sqlite;
use crate::trial::Trial;
use crate::workload::common::{Elapsed, Stopwatch};

/// The table without its index, as far as the article says.
const TABLE: &str = "\
    CREATE TABLE quotes(security_id INTEGER NOT NULL, ts INTEGER NOT NULL, bid REAL, ask REAL, \
    last REAL, volume INTEGER, venue TEXT)";

/// The copies made.
pub(super) struct Copies {
    paths: Vec<PathBuf>,
    /// The settings of the connections that made them.
    pub(super) connections: Vec<ReadBack>,
    /// What they took together.
    pub(super) elapsed: Elapsed,
}

/// Makes `copies` copies of the database at `source`, which no connection may have open.
pub(super) fn all(
    trial: &Trial<'_>,
    source: &Path,
    copies: usize,
    mut counts: Option<&mut sqlite::Counts>,
) -> Result<Copies, TrialError> {
    let mut made =
        Copies { paths: Vec::new(), connections: Vec::new(), elapsed: Elapsed::default() };
    if let Some(counts) = &mut counts {
        counts.resume();
    }
    for number in 1..=copies {
        let path = trial.directory.join(format!("copy-{number}.db"));
        let watch = Stopwatch::start()?;
        let connection = sqlite::open(trial, &path)?;
        copy(&connection, source, sqlite::begin_statement(trial.settings))?;
        made.elapsed.add(watch.stop()?);

        if let Some(counts) = &mut counts {
            counts.note(&connection)?;
        }
        let name = format!("copy {number}");
        made.connections.push(sqlite::read_back(&name, &connection)?);

        let watch = Stopwatch::start()?;
        connection.close()?;
        made.elapsed.add(watch.stop()?);
        made.paths.push(path);
    }
    if let Some(counts) = &mut counts {
        counts.pause(&[])?;
    }
    Ok(made)
}

fn copy(connection: &Connection, source: &Path, begin: &str) -> Result<(), TrialError> {
    let mut attach = connection.prepare("ATTACH ? AS source")?;
    attach.bind_text(1, &source.to_string_lossy())?;
    attach.run()?;
    drop(attach);
    connection.execute(begin)?;
    connection.execute(TABLE)?;
    connection.execute("INSERT INTO main.quotes SELECT * FROM source.quotes")?;
    connection.execute("COMMIT")?;
    connection.execute("DETACH source")?;
    Ok(())
}

impl Copies {
    /// Checks every copy through a fresh connection.
    pub(super) fn verify(&self, library: &Arc<Library>, wanted: &Sums) -> Result<(), TrialError> {
        for path in &self.paths {
            let connection = Connection::open(library, path, OpenFlags::READ_WRITE, None)?;
            verify::table(&connection, wanted)?;
            connection.close()?;
        }
        Ok(())
    }
}
