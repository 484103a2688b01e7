//! The database of the script: the snapshot with the recorded changes of its schema, or what the program made if there was none.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engine::{Connection, EngineError, OpenFlags, Value};
use script::Hint;
use script::effect::{first_word, names};
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
        for sql in not_repeated(&schema_changes(trace, connections)?, grown) {
            // A change that needs rows or functions of the application shows when the script runs.
            drop(copy.connection.execute(sql));
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

/// Returns the recorded changes of the schema, each with its event.
fn schema_changes(trace: &Trace, connections: &HashSet<i64>) -> Result<Vec<(i64, String)>> {
    let sql =
        "SELECT event.id, connection, sql FROM event JOIN statement ON statement.id = statement
        WHERE coalesce(result, 0) = 0 AND NOT readonly ORDER BY event.id";
    let mut changes = Vec::new();
    trace.each_row(sql, |row| {
        if let [Value::Integer(event), Value::Integer(connection), Value::Text(sql)] = row
            && connections.contains(connection)
            && Kind::of(sql.trim_start(), false) == Kind::Schema
        {
            changes.push((*event, sql.clone()));
        }
        Ok(())
    })?;
    Ok(changes)
}

/// Returns the changes of the schema that a database lacks. If time ran out, these are the later ones: an earlier one, such as
/// the DROP of a table that was made anew, would remove rows. If writes were left out, any CREATE may be among them, and SQLite
/// refuses the others, whose names exist; what was dropped or renamed later does not come back.
fn not_repeated(changes: &[(i64, String)], grown: Option<Grown>) -> Vec<&str> {
    let is_create = |sql: &str| first_word(sql) == "create";
    let is_gone = |event: i64, sql: &str| {
        let mut later = changes.iter().filter(|(later, sql)| *later > event && !is_create(sql));
        later.any(|(_, later)| {
            let removes =
                first_word(later) == "drop" || names(later).contains(&"rename".to_owned());
            removes && object(later) == object(sql)
        })
    };
    let lacks = |event: i64, sql: &str| match grown {
        None => true,
        Some(grown) if grown.is_partial => event > grown.until,
        Some(grown) => grown.left_out > 0 && is_create(sql) && !is_gone(event, sql),
    };
    let lacking = changes.iter().filter(|(event, sql)| lacks(*event, sql));
    lacking.map(|(_, sql)| sql.as_str()).collect()
}

/// Returns the name of the table, index, view or trigger that a change of the schema is about.
fn object(sql: &str) -> Option<String> {
    const OTHERS: [&str; 14] = [
        "create", "alter", "drop", "temp", "temporary", "unique", "virtual", "table", "index",
        "view", "trigger", "if", "not", "exists",
    ];
    let mut names = names(sql).into_iter();
    names.find(|name| !OTHERS.contains(&name.as_str()) && name != "main")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_grew_gets_the_changes_of_the_schema_that_it_lacks() {
        let changes = [
            "CREATE TABLE t(a)",
            "CREATE TABLE \"new t\"(a, b)",
            "DROP TABLE t",
            "ALTER TABLE \"new t\" RENAME TO t",
            "CREATE INDEX IF NOT EXISTS main.i ON t(a)",
            "ALTER TABLE t ADD COLUMN c",
        ];
        let changes: Vec<_> = (1..).zip(changes.map(str::to_owned)).collect();
        let events = |grown: Option<Grown>| -> Vec<i64> {
            let lacking = not_repeated(&changes, grown);
            let lacks = |sql: &str| lacking.contains(&sql);
            changes.iter().filter(|(_, sql)| lacks(sql)).map(|(event, _)| *event).collect()
        };
        let grown = |left_out, is_partial, until| {
            Some(Grown { left_out, is_partial, until, ..Grown::default() })
        };
        assert_eq!(events(None), [1, 2, 3, 4, 5, 6]);
        assert_eq!(events(grown(0, true, 4)), [5, 6]);
        assert_eq!(events(grown(7, true, 0)), [1, 2, 3, 4, 5, 6]);
        assert_eq!(events(grown(0, false, 6)), [0; 0]);
        assert_eq!(events(grown(1, false, 6)), [5]);
    }
}
