//! Examination of the user's own database without a workload: space, statistics, indexes, keys, integrity.
//!
//! The database itself is copied as files and never opened by SQLite, so not one byte of it changes. Everything here
//! is read from the copy with the built-in engine.

mod findings;
mod indexes;
mod library;
mod schema;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Source};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::error::{Result, TrialError};
use crate::workload::sql::snapshot;

pub use findings::ANALYZE;
pub use library::{LibraryReport, WalReset, of_connection, with_library};
pub use schema::Space;

/// Description of a database.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// Which.
    pub database: PathBuf,
    /// Size of the database file in bytes, with what the WAL adds to it.
    pub bytes: i64,
    /// `wal` or `rollback journal`; the file does not say which of these.
    pub journal_mode: String,
    /// Bytes of a page.
    pub page_bytes: i64,
    /// Pages.
    pub pages: i64,
    /// Pages that hold nothing.
    pub free_pages: i64,
    /// Tables that the user made.
    pub tables: usize,
    /// Indexes on them.
    pub indexes: usize,
    /// Space by table and index, the largest first; why it is not known otherwise.
    #[serde(serialize_with = "or_why")]
    pub space: Result<Vec<Space>, String>,
    /// Whether a table has a foreign key.
    pub has_foreign_keys: bool,
    /// Results of quick_check and foreign_key_check, if they were requested.
    pub integrity: Option<Integrity>,
    /// Findings with their remedies.
    pub findings: Vec<Finding>,
}

/// The result of SQLite's checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Integrity {
    /// Output of `PRAGMA quick_check`, at most a hundred problems; empty for a sound database.
    pub problems: Vec<String>,
    /// Rows that violate a foreign key, at most a thousand; why they could not be counted otherwise.
    #[serde(serialize_with = "or_why")]
    pub foreign_key_violations: Result<i64, String>,
}

/// Something that the user may want to change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Table, index or setting.
    pub subject: String,
    /// The finding in words.
    pub what: String,
    /// The remedy, as a statement of SQL or in words.
    pub remedy: String,
    /// The experiment that measures what it costs.
    pub experiment: Option<&'static str>,
    /// The table and the columns, in any order, of a missing index.
    #[serde(skip)]
    pub missing: Option<(String, Vec<String>)>,
}

impl Finding {
    /// Returns whether an index on a table with these columns is the missing one, or begins with it.
    pub fn is_met_by(&self, table: &str, columns: &[String]) -> bool {
        let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
        self.missing.as_ref().is_some_and(|(of, missing)| {
            let is_in = |column: &String| missing.iter().any(|one| same(one, column));
            same(of, table)
                && columns.len() >= missing.len()
                && columns[..missing.len()].iter().all(is_in)
        })
    }
}

/// Serializes a known value as it is, and an unknown one with the reason: `{"not_measured": "…"}`.
///
/// # Errors
/// The serializer's.
pub fn or_why<T: Serialize, S: Serializer>(
    known: &Result<T, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match known {
        Ok(known) => known.serialize(serializer),
        Err(why) => {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry("not_measured", why)?;
            map.end()
        }
    }
}

/// Copies a database into a directory, which should be empty, and examines the copy; `check` asks for
/// [`Integrity`], which reads all of it.
///
/// # Errors
/// It is not a database, cannot be read or copied, stays locked, or its schema is damaged.
pub fn examine(database: &Path, directory: &Path, check: bool) -> Result<Examination> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let copy = copied(&library, database, directory)?;
    let in_database = |error: EngineError| {
        let why = error.message();
        TrialError::cannot_run(format!("cannot read {}: {why}", database.display()))
    };
    let connection = Connection::open(&library, &copy, OpenFlags::default(), None);
    let connection = connection.map_err(in_database)?;
    let examination = read(&connection, database, check).map_err(in_database)?;
    connection.close().map_err(in_database)?;
    Ok(examination)
}

/// Returns the copy of a database in a directory.
///
/// # Errors
/// It is not a database, cannot be read or copied, or stays locked.
pub fn copied(library: &Arc<Library>, database: &Path, directory: &Path) -> Result<PathBuf> {
    let copy = directory.join("copy.db");
    snapshot::take(library, database, &copy)?;
    Ok(copy)
}

fn read(connection: &Connection, database: &Path, check: bool) -> Result<Examination, EngineError> {
    let schema = schema::read(connection)?;
    let space = schema::read_space(connection);
    let number = |sql: &str| connection.query_i64(sql);
    let (page_bytes, pages) = (number("PRAGMA page_size")?, number("PRAGMA page_count")?);
    let mut examination = Examination {
        database: database.to_owned(),
        bytes: page_bytes * pages,
        journal_mode: match connection.query_text("PRAGMA journal_mode")?.as_str() {
            "wal" => "wal".to_owned(),
            _ => "rollback journal".to_owned(),
        },
        page_bytes,
        pages,
        free_pages: number("PRAGMA freelist_count")?,
        tables: schema.tables.len(),
        indexes: schema.tables.iter().map(|table| table.indexes.len()).sum(),
        has_foreign_keys: schema.tables.iter().any(|table| !table.foreign_keys.is_empty()),
        space: space.map_err(|error| error.message()),
        integrity: check.then(|| integrity(connection)).transpose()?,
        findings: Vec::new(),
    };
    examination.findings = findings::of(connection, &schema, &examination)?;
    Ok(examination)
}

fn integrity(connection: &Connection) -> Result<Integrity, EngineError> {
    let check = "PRAGMA quick_check(100)";
    let problems = connection.query_rows(check, |row| Ok(row.column_value(0).to_string()));
    // A file that is damaged enough ends the check itself.
    let problems = problems.unwrap_or_else(|error| vec![error.message()]);
    let sound = problems.iter().all(|problem| problem == "ok");
    let violations = connection
        .query_i64("SELECT count(*) FROM (SELECT 1 FROM pragma_foreign_key_check LIMIT 1000)");
    Ok(Integrity {
        problems: if sound { Vec::new() } else { problems },
        foreign_key_violations: violations.map_err(|error| error.message()),
    })
}
