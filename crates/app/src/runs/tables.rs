//! Runs in the tables of an export: an SQLite database, or a folder of Parquet files.

use lab::comparison::RunDigest;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Value};
use load::{Opening, Request, Table};
use report::export::{Datum, NEEDED_TABLES, RunOfTables, TABLES, TableForm};

use crate::error::{Error, Result};
use crate::files::built_in_library;

/// A run that was read or cannot be, with its name.
pub type Read = (String, Result<RunDigest>);

/// Returns whether a folder is an export as Parquet files.
pub(super) fn is_folder(path: &Path) -> bool {
    path.join(file_of(&TABLES[0])).exists()
}

/// Returns whether an SQLite database is such an export, and not a trace.
///
/// # Errors
/// It cannot be opened.
pub fn is_export_database(path: &Path) -> Result<bool> {
    let connection = open(&built_in_library()?, path)?;
    // Whoever reads another file says why.
    let known = names(&connection).unwrap_or_default();
    Ok(needed().all(|form| known.iter().any(|name| name == form.name)))
}

/// Reads the runs in an export, the oldest first, with the name of each.
pub(super) fn read(path: &Path) -> Result<Vec<Read>> {
    let library = built_in_library()?;
    if path.is_file() {
        return runs(path, &open(&library, path)?);
    }
    let folder = tempfile::tempdir().map_err(Error::unusable)?;
    let database = folder.path().join("tables.db");
    for form in needed() {
        let inputs = [path.join(file_of(form))];
        let mut source = load::open(&inputs, &Opening::new(&library))?;
        let request = Request::new(&database, Table::new(form.name));
        load::load(&library, &mut *source, &request, &mut |_| true)?;
    }
    runs(path, &open(&library, &database)?)
}

fn needed() -> impl Iterator<Item = &'static TableForm> {
    NEEDED_TABLES.iter().map(|table| &TABLES[*table])
}

fn file_of(form: &TableForm) -> String {
    format!("{}.parquet", form.name)
}

fn open(library: &Arc<Library>, path: &Path) -> Result<Connection> {
    let flags = OpenFlags::READ_ONLY;
    Connection::open(library, path, flags, None).map_err(|error| Error::reading(path, error))
}

fn names(connection: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table'";
    let rows = connection.query_all(sql).map_err(Error::unusable)?;
    Ok(rows.into_iter().flatten().filter_map(text).collect())
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// The rowids between which the rows of each run are, by table.
type Places = HashMap<(usize, String), (i64, i64)>;

fn runs(path: &Path, connection: &Connection) -> Result<Vec<Read>> {
    let sql = "SELECT run FROM run ORDER BY created, run";
    let ids = connection.query_all(sql).map_err(Error::unusable)?;
    let places = places(connection).map_err(Error::unusable)?;
    let read = ids.into_iter().flatten().filter_map(text).map(|id| {
        let name = format!("{id} in {}", path.display());
        let digest = run(connection, &places, &id)
            .map_err(|why| Error::unusable(format!("cannot compare {name}: {why}")));
        (name, digest)
    });
    Ok(read.collect())
}

/// Finds the rows of all runs at once: the tables have no index.
fn places(connection: &Connection) -> Result<Places, EngineError> {
    let mut places = Places::new();
    for table in NEEDED_TABLES {
        let sql = format!("SELECT run, rowid FROM {} ORDER BY rowid", TABLES[table].name);
        connection.for_each_row(&sql, |row| {
            if let (Value::Text(run), Value::Integer(rowid)) =
                (row.column_value(0), row.column_value(1))
            {
                places.entry((table, run)).or_insert((rowid, rowid)).1 = rowid;
            }
            Ok(())
        })?;
    }
    Ok(places)
}

/// Reads the run with this id.
fn run(connection: &Connection, places: &Places, id: &str) -> Result<RunDigest, String> {
    let mut read = RunOfTables::default();
    for table in NEEDED_TABLES {
        let Some((first, last)) = places.get(&(table, id.to_owned())) else { continue };
        let form = &TABLES[table];
        let columns: Vec<&str> = form.columns.iter().map(|(name, _)| *name).collect();
        let (columns, quoted) = (columns.join(", "), id.replace('\'', "''"));
        let sql = format!(
            "SELECT {columns} FROM {} WHERE rowid BETWEEN {first} AND {last} AND run = '{quoted}' ORDER BY rowid",
            form.name
        );
        let mut added = Ok(());
        let rows = connection.for_each_row(&sql, |row| {
            let cells = (0..row.column_count()).map(|column| match row.column_value(column) {
                Value::Integer(number) => Datum::Integer(number),
                Value::Real(number) => Datum::Real(number),
                Value::Text(text) => Datum::Text(text),
                Value::Null | Value::Blob(_) => Datum::None,
            });
            if added.is_ok() {
                added = read.add(&(table, cells.collect()));
            }
            Ok(())
        });
        rows.map_err(|error| error.to_string())?;
        added?;
    }
    read.finish()
}
