//! A table of a SQLite database, read in the order of its rowids.
//!
//! It is read through the built-in engine, whichever is measured, and a piece at a time, so that no
//! statement stays open on it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Source, Step, Value};

use super::{ImportError, Rows, bad_row, unusable};
use crate::generate::Documents;

/// Rows read at a time.
const PIECE: usize = 1_000;

/// SQLite's names for the key of a row (<https://sqlite.org/rowidtable.html>).
const KEYS: [&str; 3] = ["rowid", "_rowid_", "oid"];

/// A pass over a table.
pub(super) struct Database {
    path: PathBuf,
    connection: Connection,
    select: String,
    /// The name of the rowid in this table.
    key: &'static str,
    columns: usize,
    piece: Documents,
    /// The next row of the piece, and the rowid of the last one read.
    next: usize,
    last: Option<i64>,
    row: u64,
}

fn open(path: &Path) -> Result<Connection, ImportError> {
    // SQLite creates nothing when it opens a file to read, but its message for a missing one is vague.
    std::fs::metadata(path).map_err(|source| super::unreadable(path, source))?;
    let connect = || -> Result<Connection, EngineError> {
        let library = Arc::new(Library::load(&Source::Embedded)?);
        Connection::open(&library, path, OpenFlags::READ_ONLY, None)
    };
    connect().map_err(|error| unusable(path, error.to_string()))
}

/// The table named, or the only one there is.
fn table(
    path: &Path,
    connection: &Connection,
    wanted: Option<&str>,
) -> Result<String, ImportError> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    let tables = texts(connection, sql).map_err(|error| unusable(path, error.to_string()))?;
    match wanted {
        Some(name) if tables.iter().any(|known| known == name) => Ok(name.to_owned()),
        Some(name) => Err(unusable(
            path,
            format!(
                "there is no table `{name}` (there is {})",
                tables.join(", ")
            ),
        )),
        None => match &tables[..] {
            [only] => Ok(only.clone()),
            [] => Err(unusable(path, "there is no table in it".to_owned())),
            _ => Err(unusable(
                path,
                format!(
                    "there are several tables; name one of {}",
                    tables.join(", ")
                ),
            )),
        },
    }
}

/// The columns that are declared to hold text.
pub(super) fn names(path: &Path, wanted: Option<&str>) -> Result<Vec<String>, ImportError> {
    let connection = open(path)?;
    let table = table(path, &connection, wanted)?;
    // By the rules of affinity (https://sqlite.org/datatype3.html, section 3.1).
    let sql = format!(
        "SELECT name FROM pragma_table_info({}) WHERE type LIKE '%char%' OR type LIKE '%clob%' OR type LIKE '%text%' OR type = ''",
        quoted(&table, '\'')
    );
    texts(&connection, &sql).map_err(|error| unusable(path, error.to_string()))
}

/// All columns, whatever they are declared to hold.
pub(super) fn all_names(path: &Path, wanted: Option<&str>) -> Result<Vec<String>, ImportError> {
    let connection = open(path)?;
    let table = table(path, &connection, wanted)?;
    let sql = format!(
        "SELECT name FROM pragma_table_info({})",
        quoted(&table, '\'')
    );
    texts(&connection, &sql).map_err(|error| unusable(path, error.to_string()))
}

/// The name by which the rowid of this table can be asked for: a column of the same name hides it.
fn key(path: &Path, connection: &Connection, table: &str) -> Result<&'static str, ImportError> {
    let failed = |error: EngineError| unusable(path, error.to_string());
    let name = quoted(table, '\'');
    let sql = format!("SELECT wr FROM pragma_table_list({name}) WHERE schema = 'main'");
    if connection.query_i64(&sql).map_err(failed)? == 1 {
        return Err(unusable(
            path,
            format!(
                "the table `{table}` is WITHOUT ROWID, so it cannot be read a piece at a time; copy it into an ordinary table (CREATE TABLE … AS SELECT …) and name that"
            ),
        ));
    }
    // Unlike `table_info`, this knows generated columns.
    let sql = format!("SELECT name FROM pragma_table_xinfo({name})");
    let columns = texts(connection, &sql).map_err(failed)?;
    let is_hidden = |key: &str| columns.iter().any(|name| name.eq_ignore_ascii_case(key));
    let free = KEYS.into_iter().find(|key| !is_hidden(key));
    free.ok_or_else(|| {
        unusable(
            path,
            format!(
                "the columns of the table `{table}` hide its rowid by each of its names: {}",
                KEYS.join(", ")
            ),
        )
    })
}

fn texts(connection: &Connection, sql: &str) -> Result<Vec<String>, EngineError> {
    let rows = connection.query_all(sql)?;
    let first = rows
        .into_iter()
        .filter_map(|mut row| match row.swap_remove(0) {
            Value::Text(text) => Some(text),
            _ => None,
        });
    Ok(first.collect())
}

fn quoted(name: &str, quote: char) -> String {
    format!(
        "{quote}{}{quote}",
        name.replace(quote, &format!("{quote}{quote}"))
    )
}

impl Database {
    pub(super) fn open(
        path: &Path,
        wanted: Option<&str>,
        columns: &[String],
    ) -> Result<Database, ImportError> {
        let connection = open(path)?;
        let table = table(path, &connection, wanted)?;
        let key = key(path, &connection, &table)?;
        let list: Vec<String> = columns.iter().map(|name| quoted(name, '"')).collect();
        Ok(Database {
            path: path.to_owned(),
            connection,
            select: format!(
                "SELECT {key}, {} FROM {}",
                list.join(", "),
                quoted(&table, '"')
            ),
            key,
            columns: columns.len(),
            piece: Documents::new(columns.len()),
            next: 0,
            last: None,
            row: 0,
        })
    }

    fn read_piece(&mut self) -> Result<(), ImportError> {
        self.piece.clear();
        self.next = 0;
        let failed = |error: EngineError| unusable(&self.path, error.to_string());
        let key = self.key;
        let after = self
            .last
            .map_or(String::new(), |last| format!("WHERE {key} > {last}"));
        let sql = format!("{} {after} ORDER BY {key} LIMIT {PIECE}", self.select);
        let mut select = self.connection.prepare(&sql).map_err(failed)?;
        while select.step().map_err(failed)? == Step::Row {
            self.last = Some(select.column_i64(0));
            self.row += 1;
            for column in 1..=self.columns {
                match select.column_value(column as i32) {
                    Value::Null => self.piece.push_field(""),
                    Value::Text(text) => self.piece.push_field(&text),
                    Value::Integer(number) => self.piece.push_field(&number.to_string()),
                    Value::Real(number) => self.piece.push_field(&number.to_string()),
                    Value::Blob(_) => {
                        return Err(bad_row(&self.path, self.row, "not UTF-8 text"));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Rows for Database {
    fn next_into(&mut self, documents: &mut Documents) -> Result<bool, ImportError> {
        if self.next == self.piece.rows() {
            self.read_piece()?;
            if self.piece.rows() == 0 {
                return Ok(false);
            }
        }
        for column in 0..self.columns {
            documents.push_field(self.piece.field(self.next, column).unwrap_or(""));
        }
        self.next += 1;
        Ok(true)
    }
}
