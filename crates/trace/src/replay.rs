//! What a replay reads of a trace.

use engine::{Step, Value};

use crate::call::{self, Blobs, Call};
use crate::content::{Content, Table};
use crate::read::{integer, optional, text};
use crate::{EndOfDatabase, Text, Trace, TraceError};

impl Trace {
    /// The texts of all statements.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn texts(&self) -> Result<Vec<Text>, TraceError> {
        let sql = "SELECT id, normalised, sql FROM statement ORDER BY id";
        self.rows(sql, |row| Text {
            id: integer(&row[0]),
            normalised: integer(&row[1]),
            sql: text(&row[2]),
        })
    }

    /// The tickets of commits that no event has as its own, because a statement made several.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn further_commits(&self) -> Result<Vec<u64>, TraceError> {
        let sql = "SELECT ticket FROM further_commit ORDER BY ticket";
        self.rows(sql, |row| integer(&row[0]).max(0) as u64)
    }

    /// Passes all events with their values; those of a connection in the order of their starts.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn for_each_call(&self, mut visit: impl FnMut(Call)) -> Result<(), TraceError> {
        let sql = format!("SELECT {} FROM event ORDER BY id", call::COLUMNS);
        let mut read = || {
            let mut blobs = Blobs::new();
            let long = |id: i64| {
                let sql = format!("SELECT content FROM blob WHERE id = {id}");
                self.database.query_value(&sql)
            };
            let mut statement = self.database.prepare(&sql)?;
            while statement.step()? == Step::Row {
                visit(call::call(&statement, &mut blobs, long)?);
            }
            Ok(())
        };
        self.named(read())
    }

    /// What is in the databases at the end, those of which something is known or said.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn end_states(&self) -> Result<Vec<EndOfDatabase>, TraceError> {
        let sql = "SELECT database, name, rows, checksum, problem FROM end_state ORDER BY rowid";
        let mut all: Vec<EndOfDatabase> = Vec::new();
        for row in self.named(self.database.query_all(sql))? {
            let database = text(&row[0]);
            if all.last().is_none_or(|last| last.database != database) {
                let tables = Ok(Vec::new());
                all.push(EndOfDatabase { database, tables });
            }
            let Some(last) = all.last_mut() else { continue };
            match (end_of_table(&row), &mut last.tables) {
                (Some(table), Ok(tables)) => tables.push(table),
                _ => last.tables = Err(text(&row[4])),
            }
        }
        Ok(all)
    }
}

/// A table of a row of `end_state`; none where the row is about the whole database.
fn end_of_table(row: &[Value]) -> Option<Table> {
    let Value::Text(name) = &row[1] else {
        return None;
    };
    let content = match optional(&row[2]) {
        Some(rows) => Ok(Content {
            rows: rows as u64,
            checksum: text(&row[3]),
        }),
        None => Err(text(&row[4])),
    };
    Some(Table {
        name: name.clone(),
        content,
    })
}
