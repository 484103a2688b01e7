//! Traces for other tools, and tables of any rows ([`tables`]): one row for each execution of a statement, with all that belongs to it, as JSON Lines,
//! Parquet or a plain SQLite database.

mod columns;
mod json_lines;
mod parquet;
mod sqlite;
pub mod tables;

use std::fs::File;
use std::io;
use std::path::Path;

use engine::{EngineError, Statement, Step, Value};
use serde_json::{Value as Json, json};

use crate::seal::Unfinished;
use crate::{Trace, TraceError};
pub use columns::Type;
use columns::{COLUMNS, SELECT};

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
pub fn export(trace: &Trace, form: Form, to: &Path) -> Result<u64, TraceError> {
    if to.exists() {
        return Err(TraceError::Exists(to.to_owned()));
    }
    let unfinished = Unfinished::of(to);
    let failed = |source| TraceError::File { path: to.to_owned(), source };
    let create = || File::create_new(unfinished.path()).map_err(failed);
    let count = match form {
        Form::JsonLines => json_lines::write(trace, create()?, failed)?,
        Form::Parquet => parquet::write(trace, create()?, failed)?,
        Form::Sqlite => sqlite::write(trace, unfinished.path())?,
    };
    unfinished.name(to)?;
    Ok(count)
}

/// Passes all rows, in the order of [`COLUMNS`]; returns how many there are. Long values are in their place.
fn for_each_row(
    trace: &Trace,
    mut visit: impl FnMut(&[Value]) -> Result<(), TraceError>,
) -> Result<u64, TraceError> {
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
fn with_long_values(trace: &Trace, values: &str) -> Result<String, TraceError> {
    if !values.contains(r#"{"blob":"#) {
        return Ok(values.to_owned());
    }
    let Ok(mut all) = serde_json::from_str::<Json>(values) else {
        return Ok(values.to_owned());
    };
    for value in all.as_array_mut().into_iter().flatten() {
        if let Some(number) = value.get("blob").and_then(Json::as_i64) {
            *value = long_value(trace.long_value(number)?);
        }
    }
    Ok(all.to_string())
}

/// A long value as JSON.
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
        mut visit: impl FnMut(&Statement<'_, '_>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let mut statement = self.named(self.database().prepare(sql))?;
        while self.named(statement.step())? == Step::Row {
            visit(&statement)?;
        }
        Ok(())
    }
}

/// An error of a library as one of a file.
fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::other(error)
}

/// An error of SQLite while it writes a file.
fn database(path: &Path) -> impl Fn(EngineError) -> TraceError {
    let path = path.to_owned();
    move |source| TraceError::Database { path: path.clone(), source }
}
