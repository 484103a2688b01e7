//! Tables of anybody's rows in one SQLite database, or in a folder of Parquet files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::Schema;
use engine::{Connection, EngineError, Library, OpenFlags, Statement, Value};
use parquet::arrow::ArrowWriter;

use super::columns::Type;
use super::parquet::{BATCH, batch, properties, schema};
use super::{database, other};
use crate::TraceError;

/// A table of the export.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The names and types of its columns, in order.
    pub columns: Vec<(&'static str, Type)>,
}

/// Takes a row for the table with this index.
pub type Add<'a> = dyn FnMut(usize, Vec<Value>) -> Result<(), TraceError> + 'a;

/// Writes tables into a new SQLite database: `fill` passes their rows.
///
/// # Errors
/// The file exists or cannot be written, or `fill` has an error.
pub fn sqlite<E: From<TraceError>>(
    library: &Arc<Library>,
    path: &Path,
    tables: &[Table],
    fill: impl FnOnce(&mut Add<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let failed = database(path);
    let connection = create(library, path, tables).map_err(&failed)?;
    let prepared = tables.iter().map(|table| insert(&connection, table));
    let prepared: Result<Vec<Statement<'_, '_>>, EngineError> = prepared.collect();
    let mut prepared = prepared.map_err(&failed)?;
    fill(&mut |table, row| {
        let statement = &mut prepared[table];
        let mut write = || {
            for (index, value) in (1..).zip(&row) {
                statement.bind_value(index, value)?;
            }
            statement.run()
        };
        write().map_err(&failed)
    })?;
    drop(prepared);
    connection.execute("COMMIT").map_err(&failed)?;
    connection.close().map_err(&failed)?;
    Ok(())
}

fn create(
    library: &Arc<Library>,
    path: &Path,
    tables: &[Table],
) -> Result<Connection, EngineError> {
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE;
    let connection = Connection::open(library, path, flags, None)?;
    // Until it is whole, the file does not have its name, so nothing has to survive a crash.
    connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
    for table in tables {
        let columns = table.columns.iter();
        let columns = columns.map(|(name, kind)| format!("\"{name}\" {}", kind.of_sqlite()));
        let columns = columns.collect::<Vec<_>>().join(", ");
        connection.execute(&format!("CREATE TABLE \"{}\"({columns})", table.name))?;
    }
    Ok(connection)
}

fn insert<'c>(
    connection: &'c Connection,
    table: &Table,
) -> Result<Statement<'c, 'static>, EngineError> {
    let parameters = vec!["?"; table.columns.len()].join(", ");
    connection.prepare(&format!("INSERT INTO \"{}\" VALUES ({parameters})", table.name))
}

/// Writes tables into a folder, each as the Parquet file of its name: `fill` passes their rows.
///
/// # Errors
/// The files cannot be written, or `fill` has an error.
pub fn parquet<E: From<TraceError>>(
    folder: &Path,
    tables: &[Table],
    fill: impl FnOnce(&mut Add<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let writers = tables.iter().map(|table| Writer::create(folder, table));
    let mut writers = writers.collect::<Result<Vec<_>, TraceError>>()?;
    fill(&mut |table, row| writers[table].add(row))?;
    for writer in writers {
        writer.finish()?;
    }
    Ok(())
}

/// The file of one table, and the rows that are not yet in it.
struct Writer {
    table: Table,
    schema: Arc<Schema>,
    writer: ArrowWriter<File>,
    rows: Vec<Vec<Value>>,
    path: std::path::PathBuf,
}

impl Writer {
    fn create(folder: &Path, table: &Table) -> Result<Writer, TraceError> {
        let path = folder.join(format!("{}.parquet", table.name));
        let failed = failed(&path);
        let file = File::create_new(&path).map_err(&failed)?;
        let schema = Arc::new(schema(&table.columns));
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties()));
        let writer = writer.map_err(|error| failed(other(error)))?;
        drop(failed);
        Ok(Writer { table: table.clone(), schema, writer, rows: Vec::with_capacity(BATCH), path })
    }

    fn add(&mut self, row: Vec<Value>) -> Result<(), TraceError> {
        self.rows.push(row);
        if self.rows.len() < BATCH { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        let batch = batch(&self.schema, &self.table.columns, &self.rows);
        self.rows.clear();
        batch.and_then(|batch| self.writer.write(&batch).map_err(other)).map_err(failed(&self.path))
    }

    fn finish(mut self) -> Result<(), TraceError> {
        self.flush()?;
        let closed = self.writer.close();
        closed.map(drop).map_err(|error| failed(&self.path)(other(error)))
    }
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> TraceError {
    let path = path.to_owned();
    move |source| TraceError::File { path: path.clone(), source }
}
