//! The part of a trace that a replay reads.

use std::cell::RefCell;

use engine::{EngineError, Statement, Step, Value};

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

    /// Passes all events with their values, until `visit` fails; within a connection in the order of their starts.
    ///
    /// # Errors
    /// When the trace cannot be read, or `visit` fails.
    pub fn for_each_call<E: From<TraceError>>(
        &self,
        mut visit: impl FnMut(Call) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!("SELECT {} FROM event ORDER BY id", call::COLUMNS);
        let mut blobs = Blobs::default();
        let stored = RefCell::new(
            self.named(self.database.prepare("SELECT content FROM blob WHERE id = ?"))?,
        );
        let long = |id: i64| stored_value(&mut stored.borrow_mut(), id);
        let mut statement = self.named(self.database.prepare(&sql))?;
        while self.named(statement.step())? == Step::Row {
            visit(self.named(call::call(&statement, &mut blobs, long))?)?;
        }
        Ok(())
    }

    /// Returns the known states of databases at the end of the recording.
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

/// The value of a number; NULL if the trace lacks it.
fn stored_value(statement: &mut Statement<'_, '_>, id: i64) -> Result<Value, EngineError> {
    statement.bind_i64(1, id)?;
    let value = match statement.step()? {
        Step::Row => statement.column_value(0),
        Step::Done => Value::Null,
    };
    statement.reset()?;
    Ok(value)
}

/// Returns the table of a row of `end_state`; `None` if the row is about the whole database.
fn end_of_table(row: &[Value]) -> Option<Table> {
    let Value::Text(name) = &row[1] else {
        return None;
    };
    let content = match optional(&row[2]) {
        Some(rows) => Ok(Content { rows: rows as u64, checksum: text(&row[3]) }),
        None => Err(text(&row[4])),
    };
    Some(Table { name: name.clone(), content })
}
