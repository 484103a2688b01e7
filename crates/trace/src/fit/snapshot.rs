//! The database of the script: the snapshot with the recorded changes of its schema, or what the program made if there was none.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engine::{Connection, EngineError, OpenFlags, Value};
use script::Hint;
use serde_json::Value as Json;

use super::values::{Fit, Values};
use crate::analysis::Kind;
use crate::{Grown, Result, Trace, TraceError};

/// The share of values that a column must have for values to be drawn from it.
const SHARE: f64 = 0.9;
/// How many different values are looked up.
const LOOKED_UP: usize = 500;
/// From how many values of a column a script draws (`docs/own-workload.md`).
const DRAWN: u64 = 10_000;

/// How long recorded writes are repeated.
const GROWN: Duration = Duration::from_secs(120);

/// The database, open.
pub struct SnapshotCopy {
    connection: Connection,
    path: PathBuf,
}

impl SnapshotCopy {
    /// Writes the database to a new file. One that was empty gets what the program wrote into it: queries find rows there.
    pub fn write(
        trace: &Trace,
        database: &str,
        connections: &HashSet<i64>,
        path: &Path,
    ) -> Result<(SnapshotCopy, Option<Grown>)> {
        let snapshot = trace.contents(database)?;
        let grown = match snapshot {
            Some(id) => trace.restore(id, path).map(|()| None)?,
            None => Some(trace.grow(database, path, Instant::now() + GROWN)?),
        };
        let copy = SnapshotCopy::open(trace, path)?;
        copy.named(copy.connection.execute("PRAGMA synchronous = OFF"))?;
        if snapshot.is_none() {
            // The file exists then, even if the application made no tables.
            copy.named(copy.connection.execute("PRAGMA user_version = 0"))?;
        }
        if grown.is_none_or(|grown| grown.is_partial) {
            copy.change_schema(trace, connections)?;
        }
        copy.close()?;
        // What is temporary belongs to the connections of the application.
        Ok((SnapshotCopy::open(trace, path)?, grown))
    }

    fn open(trace: &Trace, path: &Path) -> Result<SnapshotCopy> {
        let connection = Connection::open(trace.library(), path, OpenFlags::default(), None);
        Ok(SnapshotCopy {
            connection: connection
                .map_err(|source| TraceError::Database { path: path.to_owned(), source })?,
            path: path.to_owned(),
        })
    }

    fn named<T>(&self, result: Result<T, EngineError>) -> Result<T> {
        result.map_err(|source| TraceError::Database { path: self.path.clone(), source })
    }

    /// Returns whether a statement can be executed on the database by another program.
    pub fn can_execute(&self, sql: &str) -> bool {
        self.connection.query_plan(sql.trim_start()).is_ok()
    }

    /// Returns whether a statement writes a table with keys that must be unique, apart from the keys of rows.
    pub fn has_unique_keys(&self, sql: &str) -> bool {
        let has = |table: &String| {
            let sql = format!(
                "SELECT EXISTS (SELECT 1 FROM pragma_index_list('{}') WHERE \"unique\")",
                table.replace('\'', "''")
            );
            self.connection.query_i64(&sql).is_ok_and(|exists| exists == 1)
        };
        script::effect::written(sql).iter().any(has)
    }

    /// Returns whether an insertion gives the keys of rows itself, so that SQLite looks whether they exist.
    pub fn gives_rowids(&self, sql: &str) -> bool {
        let program = self.connection.query_all(&format!("EXPLAIN {sql}")).unwrap_or_default();
        let looks = Value::Text("NotExists".to_owned());
        program.iter().any(|instruction| instruction.get(1) == Some(&looks))
    }

    /// Closes the database, so that its file is whole.
    pub fn close(self) -> Result<()> {
        let closed = self.connection.close();
        closed.map_err(|source| TraceError::Database { path: self.path, source })
    }

    fn change_schema(&self, trace: &Trace, connections: &HashSet<i64>) -> Result<()> {
        let sql = "SELECT connection, sql FROM event JOIN statement ON statement.id = statement
            WHERE coalesce(result, 0) = 0 AND NOT readonly ORDER BY event.id";
        trace.each_row(sql, |row| {
            if let [Value::Integer(connection), Value::Text(sql)] = row
                && connections.contains(connection)
                && Kind::of(sql.trim_start(), false) == Kind::Schema
            {
                // A change that needs rows or functions of the application shows when the script runs.
                drop(self.connection.execute(sql));
            }
            Ok(())
        })
    }

    /// Draws texts by their frequency from a table of this name, which is made for them.
    pub fn kept<'v>(
        &self,
        table: String,
        texts: impl Iterator<Item = (&'v String, u64)>,
    ) -> Result<Fit> {
        let mut texts: Vec<_> = texts.collect();
        texts.sort();
        let total: u64 = texts.iter().map(|(_, count)| count).sum();
        let rows_of = |count: u64| count.div_ceil(total.div_ceil(DRAWN / 2));
        let fill = || {
            self.connection.execute(&format!("BEGIN; CREATE TABLE {table}(text TEXT)"))?;
            let mut insert = self.connection.prepare(&format!("INSERT INTO {table} VALUES (?)"))?;
            for (text, count) in texts {
                insert.bind_value(1, &Value::Text(text.clone()))?;
                (0..rows_of(count)).try_for_each(|_| insert.run())?;
            }
            drop(insert);
            self.connection.execute("COMMIT")
        };
        self.named(fill())?;
        Ok(Fit::Drawn { column: (table, "text".to_owned()), zipf: None, are_numbers: false })
    }

    /// Draws from the column of a hint, if it has the values.
    pub fn drawn(&self, values: &Values, hint: &Hint) -> Option<Fit> {
        let tables = hint.table.as_ref().map_or(&hint.tables[..], std::slice::from_ref);
        tables.iter().find_map(|table| self.drawn_from(values, table, &hint.column))
    }

    fn drawn_from(&self, values: &Values, table: &str, column: &str) -> Option<Fit> {
        let is_word = |word: &str| word.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_word(table) || !is_word(column) {
            return None;
        }
        let samples = values.samples(LOOKED_UP);
        let exists = format!("SELECT EXISTS (SELECT 1 FROM \"{table}\" WHERE \"{column}\" = ?)");
        let mut lookup = self.connection.prepare(&exists).ok()?;
        let mut known = 0;
        for sample in &samples {
            let value = match sample {
                Json::String(text) => Value::Text(text.clone()),
                other => Value::Integer(other.as_i64().unwrap_or(0)),
            };
            lookup.bind_value(1, &value).ok()?;
            lookup.step().ok()?;
            known += lookup.column_i64(0);
            lookup.reset().ok()?;
        }
        if samples.is_empty() || (known as f64) < SHARE * samples.len() as f64 {
            return None;
        }
        let count =
            |what: String| self.connection.query_i64(&format!("SELECT {what} FROM \"{table}\""));
        let domain = count(format!("count(DISTINCT \"{column}\")")).ok()?.unsigned_abs();
        let others =
            count(format!("count(*) FILTER (WHERE typeof(\"{column}\") IN ('text', 'blob'))"))
                .ok()?;
        Some(Fit::Drawn {
            column: (table.to_owned(), column.to_owned()),
            zipf: values.popularity(domain.min(DRAWN)),
            are_numbers: others == 0,
        })
    }
}
