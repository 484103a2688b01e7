//! The inserting itself: the work of an application, and clock readings.
//!
//! The database that the methods `attach-value` and `attach-star` copy from.
//!
//! A connection of its own makes it in the directory of the trial. It is closed and synced before the clock starts, so
//! that the measured work inherits neither a journal nor pages that are still to be written.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::{
    Array, Columns, Connection, EngineError, Library, OpenFlags, Statement, ValueRef, pragma,
};

use super::{Method, Parameters, Statement as Preparing};
use crate::workload::inserts::writer::{Transaction, insert_sql};
use crate::workload::prelude::*;

/// The name under which the database to copy from is attached.
pub(super) const SOURCE: &str = "source";

/// Inserts transaction by transaction.
pub(super) struct Inserter<'c, 'd> {
    rows: Rows<'c, 'd>,
    transaction: Transaction<'c>,
    rows_per_txn: Option<usize>,
    stop_after: Option<Duration>,
}

/// Number of rows and transactions inserted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inserted {
    pub(super) rows: usize,
    pub(super) transactions: usize,
}

impl<'c, 'd> Inserter<'c, 'd> {
    pub(super) fn prepare(
        connection: &'c Connection,
        parameters: &Parameters,
        begin: &str,
    ) -> Result<Inserter<'c, 'd>> {
        let rows_per_txn = parameters.rows_per_txn.map(usize::from);
        let transaction = if rows_per_txn == Some(1) {
            Transaction(None)
        } else {
            Transaction::prepare(connection, begin)?
        };
        Ok(Inserter {
            rows: Rows::prepare(connection, parameters)?,
            transaction,
            rows_per_txn,
            stop_after: parameters.stop_after,
        })
    }

    /// Inserts the data until it ends or the time is up.
    pub(super) fn insert_all(
        &mut self,
        data: &'d [i64],
        start: Instant,
        histogram: &mut LatencyHistogram,
        windows: &mut Windows,
    ) -> Result<Inserted> {
        let mut inserted = Inserted::default();
        let mut last = Instant::now();
        for chunk in data.chunks(self.rows_per_txn.unwrap_or(data.len()).max(1)) {
            let rows = &mut self.rows;
            self.transaction.insert(chunk.len(), windows, |range| rows.insert(&chunk[range]))?;
            let now = Instant::now();
            histogram.record(now.duration_since(last));
            last = now;
            inserted.rows += chunk.len();
            inserted.transactions += 1;
            if self.stop_after.is_some_and(|limit| now.duration_since(start) >= limit) {
                break;
            }
        }
        Ok(inserted)
    }
}

/// Everything prepared for inserting some rows; arrays are borrowed for `'d`.
pub(super) struct Rows<'c, 'd> {
    method: Method,
    rows_per_statement: usize,
    way: Way<'c, 'd>,
}

/// Use of statements.
enum Way<'c, 'd> {
    /// One row a statement, which makes the shortest loop.
    OneByOne(Statement<'c, 'd>),
    /// Statements of many rows, and one-row statements for the rest.
    Reused { whole: Statement<'c, 'd>, single: Statement<'c, 'd> },
    /// Statements that are prepared each time, of many rows and of one row.
    PreparedEachTime { connection: &'c Connection, whole: String, single: String },
}

impl<'c, 'd> Rows<'c, 'd> {
    /// Prepares what is reused.
    pub(super) fn prepare(
        connection: &'c Connection,
        parameters: &Parameters,
    ) -> Result<Rows<'c, 'd>> {
        let Parameters { method, statement, .. } = *parameters;
        let rows_per_statement = parameters.rows_per_statement();
        method.prepare(connection)?;
        let (whole, single) = (method.sql(rows_per_statement), method.sql(1));
        let way = match statement {
            Preparing::PreparedEachTime => Way::PreparedEachTime { connection, whole, single },
            Preparing::Reused if method == Method::Values && rows_per_statement == 1 => {
                Way::OneByOne(connection.prepare(&single)?)
            }
            Preparing::Reused => Way::Reused {
                whole: connection.prepare(&whole)?,
                single: connection.prepare(&single)?,
            },
        };
        Ok(Rows { method, rows_per_statement, way })
    }

    /// Inserts the values. A method that copies takes its rows from the attached database and
    /// must be given all of them at once.
    #[inline]
    pub(super) fn insert(&mut self, values: &'d [i64]) -> Result<()> {
        let (method, rows) = (self.method, self.rows_per_statement);
        match &mut self.way {
            Way::OneByOne(single) => one_by_one(single, values),
            Way::Reused { whole, single } => {
                for chunk in values.chunks(rows) {
                    if method.takes(rows, chunk.len()) {
                        method.run(whole, chunk)?;
                    } else {
                        one_by_one(single, chunk)?;
                    }
                }
                Ok(())
            }
            Way::PreparedEachTime { connection, whole, single } => {
                for chunk in values.chunks(rows) {
                    if method.takes(rows, chunk.len()) {
                        method.run(&mut connection.prepare(whole)?, chunk)?;
                    } else {
                        for value in chunk {
                            let value = std::slice::from_ref(value);
                            method.run(&mut connection.prepare(single)?, value)?;
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

#[inline]
fn one_by_one(statement: &mut Statement<'_, '_>, values: &[i64]) -> Result<()> {
    for value in values {
        statement.bind_i64(1, *value)?;
        statement.run()?;
    }
    Ok(())
}

impl Method {
    /// Checks that the engine has the functions of the method.
    pub(super) fn check_engine(self, library: &Library) -> Result<()> {
        if self == Method::Carray && !library.has_carray() {
            let why = "this engine lacks carray (sqlite3_carray_bind)";
            return Err(TrialError::cannot_run(why));
        }
        if self == Method::Columns && !library.has_columns_function() {
            let why = "this engine lacks virtual tables or sqlite3_bind_pointer";
            return Err(TrialError::cannot_run(why));
        }
        Ok(())
    }

    /// Registers the functions that the SQL of the method calls.
    fn prepare(self, connection: &Connection) -> Result<(), EngineError> {
        match self {
            Method::Columns => connection.create_columns_function(COLUMNS, 1),
            _ => Ok(()),
        }
    }

    /// Returns the INSERT of this number of rows, which only a VALUES list depends on.
    fn sql(self, rows: usize) -> String {
        match self {
            Method::Values => insert_sql("integers(value)", "(?)", rows),
            Method::Carray => "INSERT INTO integers(value) SELECT value FROM carray(?1)".to_owned(),
            Method::Columns => {
                format!("INSERT INTO integers(value) SELECT c0 FROM {COLUMNS}(?1)")
            }
            Method::AttachValue => {
                format!("INSERT INTO integers(value) SELECT value FROM {SOURCE}.integers")
            }
            Method::AttachStar => format!("INSERT INTO integers SELECT * FROM {SOURCE}.integers"),
        }
    }

    /// Returns whether a statement for `rows` rows takes the given number: a VALUES list takes no other number, the other
    /// methods any.
    fn takes(self, rows: usize, given: usize) -> bool {
        self != Method::Values || rows == given
    }

    /// Binds the values and runs the statement once.
    #[inline]
    fn run<'d>(
        self,
        statement: &mut Statement<'_, 'd>,
        values: &'d [i64],
    ) -> Result<(), EngineError> {
        match self {
            Method::Values => {
                for (index, value) in values.iter().enumerate() {
                    statement.bind_i64(index as i32 + 1, *value)?;
                }
            }
            Method::Carray => statement.bind_array(1, Array::I64(values))?,
            Method::Columns => {
                let column = Integers(values);
                return statement.with_borrowed(|statement| {
                    statement.bind_columns(1, &column)?;
                    statement.run()
                });
            }
            Method::AttachValue | Method::AttachStar => {}
        }
        statement.run()
    }
}

/// The table-valued function of the method `columns`.
const COLUMNS: &str = "bulk_columns";

/// The values as the one column of a table.
struct Integers<'d>(&'d [i64]);

impl Columns for Integers<'_> {
    fn rows(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn value(&self, row: usize, _column: usize) -> ValueRef<'_> {
        ValueRef::Integer(self.0[row])
    }
}

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
        statement: Preparing::Reused,
        per_statement: NonZeroUsize::new(ROWS_PER_STATEMENT),
        ..*parameters
    };
    connection.execute("BEGIN")?;
    Rows::prepare(connection, &filling)?.insert(data)?;
    Ok(connection.execute("COMMIT")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_values_list_has_a_place_for_every_row() {
        assert_eq!(Method::Values.sql(3), "INSERT INTO integers(value) VALUES (?),(?),(?)");
        assert!(Method::Values.takes(3, 3) && !Method::Values.takes(3, 2));
        assert!(Method::Carray.takes(3, 2));
    }
}
