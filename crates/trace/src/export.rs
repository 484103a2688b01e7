//! Traces for other tools, and tables of any rows ([`sqlite`], [`parquet()`]): one row for each execution of a statement, with all that belongs to it, as JSON Lines,
//! Parquet or a plain SQLite database.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_schema::DataType;
use engine::{Connection, Library, OpenFlags, Statement, Step, Value};
use load::ParquetFile;
use serde_json::{Value as Json, json};

use crate::schema::run;
use crate::seal::Unfinished;
use crate::{Result, Trace, TraceError};

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON object on each line.
    JsonLines,
    /// Apache Parquet, compressed with zstd.
    Parquet,
    /// An SQLite database.
    Sqlite,
}

/// Writes the events of a trace to a new file; returns how many there are.
///
/// # Errors
/// When the trace cannot be read, or the file exists or cannot be written.
pub fn export(trace: &Trace, form: Form, to: &Path) -> Result<u64> {
    if to.exists() {
        return Err(TraceError::Exists(to.to_owned()));
    }
    let unfinished = Unfinished::of(to);
    let failed = |source| TraceError::File { path: to.to_owned(), source };
    let count = match form {
        Form::JsonLines => {
            json_lines(trace, File::create_new(unfinished.path()).map_err(failed)?, failed)?
        }
        Form::Parquet => {
            let mut file = parquet_file(unfinished.path(), &COLUMNS).map_err(failed)?;
            let count = for_each_row(trace, |row| file.add(row).map_err(failed))?;
            file.finish().map_err(failed)?;
            count
        }
        Form::Sqlite => {
            let definition = format!("CREATE TABLE event({})", of_sqlite(&COLUMNS, Some("id")));
            let tables = [("event", COLUMNS.len(), definition)];
            in_sqlite(trace.library(), unfinished.path(), &tables, |add| {
                for_each_row(trace, |row| add(0, row.to_vec()))
            })?
        }
    };
    unfinished.name(to)?;
    Ok(count)
}

/// Passes all rows, in the order of [`COLUMNS`]; returns how many there are. Long values are in their place.
fn for_each_row(trace: &Trace, mut visit: impl FnMut(&[Value]) -> Result<()>) -> Result<u64> {
    let (mut count, mut row) = (0, Vec::with_capacity(COLUMNS.len()));
    trace.for_each(SELECT, |statement| {
        fill(&mut row, statement);
        if let Some(Value::Text(values)) = row.last_mut() {
            *values = with_long_values(trace, values)?;
        }
        count += 1;
        visit(&row)
    })?;
    Ok(count)
}

fn fill(row: &mut Vec<Value>, statement: &Statement<'_, '_>) {
    row.clear();
    row.extend((0..COLUMNS.len() as i32).map(|column| statement.column_value(column)));
}

/// Values with the long ones instead of their numbers.
fn with_long_values(trace: &Trace, values: &str) -> Result<String> {
    if !values.contains(r#"{"blob":"#) {
        return Ok(values.to_owned());
    }
    let Ok(mut all) = serde_json::from_str::<Json>(values) else { return Ok(values.to_owned()) };
    for value in all.as_array_mut().into_iter().flatten() {
        if let Some(number) = value.get("blob").and_then(Json::as_i64) {
            *value = long_value(trace.long_value(number)?);
        }
    }
    Ok(all.to_string())
}

/// Returns a long value as JSON.
pub(crate) fn long_value(value: Value) -> Json {
    match value {
        Value::Text(text) => Json::String(text),
        Value::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": digits })
        }
        _ => json!({ "omitted": true }),
    }
}

impl Trace {
    /// Passes the rows of a query.
    fn for_each(
        &self,
        sql: &str,
        mut visit: impl FnMut(&Statement<'_, '_>) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.named(self.database().prepare(sql))?;
        while self.named(statement.step())? == Step::Row {
            visit(&statement)?;
        }
        Ok(())
    }
}

fn json_lines(trace: &Trace, file: File, failed: impl Fn(io::Error) -> TraceError) -> Result<u64> {
    let mut out = BufWriter::new(file);
    let count = for_each_row(trace, |row| write_row(&mut out, row).map_err(&failed))?;
    out.flush().map_err(&failed)?;
    Ok(count)
}

fn write_row(out: &mut impl Write, row: &[Value]) -> io::Result<()> {
    for (number, ((name, kind), value)) in COLUMNS.iter().zip(row).enumerate() {
        let between = if number == 0 { '{' } else { ',' };
        write!(out, "{between}\"{name}\":")?;
        match (kind, value) {
            (Type::Boolean, Value::Integer(number)) => write!(out, "{}", *number != 0)?,
            (_, Value::Integer(number)) => write!(out, "{number}")?,
            // They are an array already.
            (Type::Json, Value::Text(values)) => out.write_all(values.as_bytes())?,
            (_, Value::Text(text)) => write!(out, "{}", Json::from(text.as_str()))?,
            _ => out.write_all(b"null")?,
        }
    }
    out.write_all(b"}\n")
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A whole number.
    Integer,
    /// A number.
    Real,
    /// Yes or no, 1 or 0 in SQLite.
    Boolean,
    /// A text.
    Text,
    /// A JSON array.
    Json,
}

impl Type {
    /// Returns the type of a column of SQLite.
    fn of_sqlite(self) -> &'static str {
        match self {
            Type::Integer | Type::Boolean => "INTEGER",
            Type::Real => "REAL",
            Type::Text | Type::Json => "TEXT",
        }
    }

    /// Returns the type of a column of Parquet.
    fn of_arrow(self) -> DataType {
        match self {
            Type::Integer => DataType::Int64,
            Type::Real => DataType::Float64,
            Type::Boolean => DataType::Boolean,
            Type::Text | Type::Json => DataType::Utf8,
        }
    }
}

/// The names and types, in order. `docs/lists/tables.md` describes them.
const COLUMNS: [(&str, Type); 25] = [
    ("id", Type::Integer),
    ("process", Type::Integer),
    ("connection", Type::Integer),
    ("database", Type::Text),
    ("sql", Type::Text),
    ("normalised", Type::Text),
    ("readonly", Type::Boolean),
    ("time_us", Type::Integer),
    ("start_us", Type::Integer),
    ("duration_ns", Type::Integer),
    ("waited_ns", Type::Integer),
    ("rows", Type::Integer),
    ("changes", Type::Integer),
    ("result", Type::Integer),
    ("vm_steps", Type::Integer),
    ("scan_steps", Type::Integer),
    ("sorts", Type::Integer),
    ("automatic_index_rows", Type::Integer),
    ("ticket", Type::Integer),
    ("prepared", Type::Boolean),
    ("early", Type::Boolean),
    ("autocommit", Type::Boolean),
    ("reading", Type::Boolean),
    ("writing", Type::Boolean),
    ("values", Type::Json),
];

/// The rows. What is known at the end of an execution only is NULL where the end was not recorded.
const SELECT: &str = "
SELECT event.id, connection.process, event.connection, connection.database, statement.sql, normalised.sql,
  statement.readonly, start_us + (SELECT value FROM meta WHERE name = 'started_ns') / 1000, start_us, duration_ns,
  waited_ns, rows, changes, result, vm_steps, scan_steps, sorts, automatic_index_rows, ticket, state & 1,
  CASE WHEN duration_ns IS NOT NULL THEN state & 2 <> 0 END,
  CASE WHEN duration_ns IS NOT NULL THEN state & 4 <> 0 END,
  CASE WHEN duration_ns IS NOT NULL AND state & 24 <> 24 THEN state & 24 = 8 END,
  CASE WHEN duration_ns IS NOT NULL AND state & 24 <> 24 THEN state & 24 = 16 END, \"values\"
FROM event LEFT JOIN connection ON connection.id = event.connection
  LEFT JOIN statement ON statement.id = event.statement
  LEFT JOIN normalised ON normalised.id = statement.normalised
ORDER BY event.id";

/// A table of the export.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The names and types of its columns, in order.
    pub columns: Vec<(&'static str, Type)>,
}

/// Takes a row for the table with this index.
pub type Add<'a> = dyn FnMut(usize, Vec<Value>) -> Result<()> + 'a;

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
    let definitions = tables.iter().map(|table| {
        let columns = of_sqlite(&table.columns, None);
        (table.name, table.columns.len(), format!("CREATE TABLE \"{}\"({columns})", table.name))
    });
    in_sqlite(library, path, &definitions.collect::<Vec<_>>(), fill)
}

/// Returns the definitions of columns in SQLite.
fn of_sqlite(columns: &[(&str, Type)], key: Option<&str>) -> String {
    let columns = columns.iter().map(|(name, kind)| {
        let key = if key == Some(name) { " PRIMARY KEY" } else { "" };
        format!("\"{name}\" {}{key}", kind.of_sqlite())
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// Creates a database with tables, given by name, number of columns and definition, and inserts the rows that `fill`
/// passes.
fn in_sqlite<T, E: From<TraceError>>(
    library: &Arc<Library>,
    path: &Path,
    tables: &[(&str, usize, String)],
    fill: impl FnOnce(&mut Add<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let failed = |source| TraceError::Database { path: path.to_owned(), source };
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE;
    let connection = Connection::open(library, path, flags, None).map_err(failed)?;
    // Until it is whole, the file does not have its name, so nothing has to survive a crash.
    connection
        .execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")
        .map_err(failed)?;
    let mut inserts = Vec::new();
    for (name, columns, definition) in tables {
        connection.execute(definition).map_err(failed)?;
        let parameters = vec!["?"; *columns].join(", ");
        let insert = format!("INSERT INTO \"{name}\" VALUES ({parameters})");
        inserts.push(connection.prepare(&insert).map_err(failed)?);
    }
    let filled = fill(&mut |table, row| run(&mut inserts[table], &row).map_err(failed))?;
    drop(inserts);
    connection.execute("COMMIT").map_err(failed)?;
    connection.close().map_err(failed)?;
    Ok(filled)
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
    let files = tables.iter().map(|table| {
        let path = folder.join(format!("{}.parquet", table.name));
        let file = parquet_file(&path, &table.columns).map_err(failed(&path))?;
        Ok((file, path))
    });
    let mut files = files.collect::<Result<Vec<_>>>()?;
    fill(&mut |table, row| {
        let (file, path) = &mut files[table];
        file.add(&row).map_err(failed(path))
    })?;
    for (file, path) in files {
        file.finish().map_err(failed(&path))?;
    }
    Ok(())
}

fn parquet_file(path: &Path, columns: &[(&str, Type)]) -> io::Result<ParquetFile> {
    let columns: Vec<(&str, DataType)> =
        columns.iter().map(|(name, kind)| (*name, kind.of_arrow())).collect();
    ParquetFile::create(path, &columns)
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> TraceError {
    let path = path.to_owned();
    move |source| TraceError::File { path: path.clone(), source }
}
