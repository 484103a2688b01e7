//! The part of a trace that a replay reads.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use engine::{EngineError, Statement, Step, Value};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::content::{Content, Table};
use crate::read::{LONG_VALUE, integer, optional, text};
use crate::schema::state as bits;
use crate::{EndOfDatabase, Result, Text, Trace, TraceError};

impl Trace {
    /// Returns the texts of all statements.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn texts(&self) -> Result<Vec<Text>> {
        let sql = "SELECT id, normalised, sql FROM statement ORDER BY id";
        self.rows(sql, |row| Text {
            id: integer(&row[0]),
            normalised: integer(&row[1]),
            sql: text(&row[2]),
        })
    }

    /// Returns the values of an event as they were bound.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn bound_values(&self, event: i64) -> Result<Values> {
        let text = self.values(event)?;
        if text.is_empty() {
            return Ok(Values::Bound(Vec::new()));
        }
        let long = |number| self.read_value(LONG_VALUE, number);
        self.named(values(&text, &mut Blobs::default(), long))
    }

    /// Returns the tickets of commits that no event has as its own, because a statement made several.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn further_commits(&self) -> Result<Vec<u64>> {
        let sql = "SELECT ticket FROM further_commit ORDER BY ticket";
        self.rows(sql, |row| integer(&row[0]).max(0) as u64)
    }

    /// Passes all events with their values, until `visit` fails; within a connection in the order of their starts.
    ///
    /// # Errors
    /// When the trace cannot be read, or `visit` fails.
    pub fn for_each_call<E: From<TraceError>>(
        &self,
        visit: impl FnMut(Call) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_call_of("1", visit)
    }

    /// Passes the events that meet a condition in SQL.
    pub(crate) fn for_each_call_of<E: From<TraceError>>(
        &self,
        condition: &str,
        mut visit: impl FnMut(Call) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!("SELECT {COLUMNS} FROM event WHERE {condition} ORDER BY id");
        let mut blobs = Blobs::default();
        let stored = RefCell::new(self.named(self.database.prepare(LONG_VALUE))?);
        let long = |id: i64| stored_value(&mut stored.borrow_mut(), id);
        let mut statement = self.named(self.database.prepare(&sql))?;
        while self.named(statement.step())? == Step::Row {
            visit(self.named(call(&statement, &mut blobs, long))?)?;
        }
        Ok(())
    }

    /// Returns the known states of databases at the end of the recording.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn end_states(&self) -> Result<Vec<EndOfDatabase>> {
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

/// Returns the value of a number; NULL if the trace lacks it.
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
    let Value::Text(name) = &row[1] else { return None };
    let content = match optional(&row[2]) {
        Some(rows) => Ok(Content { rows: rows as u64, checksum: text(&row[3]) }),
        None => Err(text(&row[4])),
    };
    Some(Table { name: name.clone(), content })
}

/// One execution of a statement, which is serialised without its values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// Its event.
    pub event: i64,
    /// Its connection.
    pub connection: i64,
    /// Its statement; 0 for a text that is not known.
    pub statement: i64,
    /// When it started, in microseconds since recording began.
    pub start_us: i64,
    /// How long it took, in nanoseconds; `None` if its end was not recorded.
    pub duration_ns: Option<i64>,
    /// Rows that the application stepped to.
    pub rows: u64,
    /// Rows that it changed.
    pub changes: i64,
    /// SQLite's extended result code where it is known; 0 for success.
    pub result: Option<i32>,
    /// The number of the commit in the order of all commits.
    pub ticket: Option<u64>,
    /// Whether it is the first execution since the statement was prepared.
    pub prepared: bool,
    /// Whether the application stopped before the last row.
    pub early: bool,
    /// Whether the connection was outside of `BEGIN` and `COMMIT` afterwards.
    pub autocommit: bool,
    /// The transaction afterwards: 0 no lock, 1 read, 2 written, 3 not known.
    pub transaction: i64,
    /// The bound values.
    #[serde(skip)]
    pub values: Values,
}

impl Call {
    /// When it started, in nanoseconds since recording began.
    pub fn start_ns(&self) -> i64 {
        self.start_us.saturating_mul(1_000)
    }

    /// When it ended; its start if its end was not recorded.
    pub fn end_ns(&self) -> i64 {
        self.start_ns().saturating_add(self.duration_ns.unwrap_or(0))
    }
}

/// The values of an execution.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// They are known; each has the number of its parameter, from 1.
    Bound(Vec<Bound>),
    /// The whole statement with its values in place.
    Expanded(String),
    /// They are not in the trace: why.
    Missing(&'static str),
}

impl Default for Values {
    fn default() -> Values {
        Values::Missing("values that are not read")
    }
}

/// A value to be bound.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// A value.
    Own(Value),
    /// A long value, which several executions may have.
    Shared(Arc<Value>),
}

impl Bound {
    /// Returns the value.
    pub fn value(&self) -> &Value {
        match self {
            Bound::Own(value) => value,
            Bound::Shared(value) => value,
        }
    }
}

/// The columns of [`Call`].
pub(crate) const COLUMNS: &str = "id, connection, statement, start_us, duration_ns, rows, changes, result, ticket, \
                                  state, \"values\"";

/// Long values by their numbers, so that those that are bound often are read once.
#[derive(Default)]
pub(crate) struct Blobs {
    known: HashMap<i64, Arc<Value>>,
    bytes: usize,
}

impl Blobs {
    /// Bytes that are known at a time: then they are forgotten.
    const KNOWN: usize = 16 << 20;

    fn know(&mut self, id: i64, value: &Arc<Value>) {
        self.bytes += match &**value {
            Value::Text(text) => text.len(),
            Value::Blob(bytes) => bytes.len(),
            _ => 0,
        };
        if self.bytes > Blobs::KNOWN {
            *self = Blobs::default();
        }
        self.known.insert(id, Arc::clone(value));
    }
}

/// Returns the call in a row of [`COLUMNS`]; `read` reads a long value.
pub(crate) fn call(
    row: &Statement<'_, '_>,
    blobs: &mut Blobs,
    read: impl Fn(i64) -> Result<Value, EngineError>,
) -> Result<Call, EngineError> {
    let optional = |column| (!row.column_is_null(column)).then(|| row.column_i64(column));
    let state = row.column_i64(9);
    let values = if row.column_is_null(10) {
        Values::Bound(Vec::new())
    } else {
        values(row.column_text(10)?, blobs, read)?
    };
    Ok(Call {
        event: row.column_i64(0),
        connection: row.column_i64(1),
        statement: row.column_i64(2),
        start_us: row.column_i64(3),
        duration_ns: optional(4),
        rows: row.column_i64(5).max(0) as u64,
        changes: row.column_i64(6),
        result: optional(7).map(|code| code as i32),
        ticket: optional(8).map(|ticket| ticket.max(0) as u64),
        prepared: state & bits::PREPARED != 0,
        early: state & bits::EARLY != 0,
        autocommit: state & bits::AUTOCOMMIT != 0,
        transaction: (state & bits::TRANSACTION) >> bits::TRANSACTION_SHIFT,
        values,
    })
}

/// Returns the values that a JSON array holds; `read` reads a long value.
fn values(
    text: &str,
    blobs: &mut Blobs,
    read: impl Fn(i64) -> Result<Value, EngineError>,
) -> Result<Values, EngineError> {
    let Ok(all) = serde_json::from_str::<Vec<Json>>(text) else {
        return Ok(Values::Missing("values that cannot be read"));
    };
    let mut bound = Vec::with_capacity(all.len());
    for json in &all {
        match one(json) {
            Element::Value(value) => bound.push(Bound::Own(value)),
            Element::Stored(id) => bound.push(Bound::Shared(stored(id, blobs, &read)?)),
            Element::Expanded(sql) => return Ok(Values::Expanded(sql.to_owned())),
            Element::Missing(why) => return Ok(Values::Missing(why)),
        }
    }
    Ok(Values::Bound(bound))
}

fn stored(
    id: i64,
    blobs: &mut Blobs,
    read: impl Fn(i64) -> Result<Value, EngineError>,
) -> Result<Arc<Value>, EngineError> {
    if let Some(known) = blobs.known.get(&id) {
        return Ok(Arc::clone(known));
    }
    let value = Arc::new(read(id)?);
    blobs.know(id, &value);
    Ok(value)
}

/// One element of the array.
enum Element<'a> {
    Value(Value),
    Stored(i64),
    Expanded(&'a str),
    Missing(&'static str),
}

fn one(json: &Json) -> Element<'_> {
    Element::Value(match json {
        Json::Null => Value::Null,
        Json::String(text) => Value::Text(text.clone()),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Value::Integer(integer),
            (None, Some(real)) => Value::Real(real),
            (None, None) => return Element::Missing("a number that cannot be read"),
        },
        Json::Object(object) => match object.iter().next() {
            Some((kind, json)) => return special(kind, json),
            None => return Element::Missing("a value without a kind"),
        },
        Json::Bool(_) | Json::Array(_) => return Element::Missing("a value of an unknown kind"),
    })
}

/// Returns a value that JSON itself does not have. `length` comes before `text_hash` and `blob_hash` where keys are
/// sorted.
fn special<'a>(kind: &str, json: &'a Json) -> Element<'a> {
    match (kind, json) {
        ("hex", Json::String(hex)) => match bytes_of(hex) {
            Some(bytes) => Element::Value(Value::Blob(bytes)),
            None => Element::Missing("a blob that cannot be read"),
        },
        ("blob", Json::Number(id)) => Element::Stored(id.as_i64().unwrap_or(0)),
        ("zeroblob", Json::Number(length)) => {
            Element::Value(Value::Blob(vec![0; length.as_u64().unwrap_or(0) as usize]))
        }
        ("real", Json::String(text)) => match text.parse() {
            Ok(real) => Element::Value(Value::Real(real)),
            Err(_) => Element::Missing("a number that cannot be read"),
        },
        ("expanded", Json::String(sql)) => Element::Expanded(sql),
        ("pointer", _) => Element::Missing("pointers"),
        ("text_hex", _) => Element::Missing("texts that are not UTF-8"),
        ("text_hash" | "blob_hash" | "length", _) => Element::Missing("hashed values"),
        ("omitted", _) => Element::Missing("values of a connection with a key"),
        _ => Element::Missing("values of an unknown kind"),
    }
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    hex.len().is_multiple_of(2).then(|| pairs.map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Values {
        let stored = |id| Ok(Value::Text(format!("stored {id}")));
        values(text, &mut Blobs::default(), stored).unwrap()
    }

    #[test]
    fn values_are_those_that_were_written() {
        let own = |value| Bound::Own(value);
        assert_eq!(
            read(
                r#"[null,-7,1.0,1e300,"a\u0000b",{"hex":"00ff"},{"zeroblob":2},{"real":"-inf"},{"blob":3}]"#
            ),
            Values::Bound(vec![
                own(Value::Null),
                own(Value::Integer(-7)),
                own(Value::Real(1.0)),
                own(Value::Real(1e300)),
                own(Value::Text("a\0b".to_owned())),
                own(Value::Blob(vec![0, 255])),
                own(Value::Blob(vec![0, 0])),
                own(Value::Real(f64::NEG_INFINITY)),
                Bound::Shared(Arc::new(Value::Text("stored 3".to_owned()))),
            ])
        );
    }

    #[test]
    fn numbers_keep_their_last_digit() {
        for real in [0.1, 1.2345678901234567e89, 5e-324, f64::MAX] {
            assert_eq!(
                read(&format!("[{real:?}]")),
                Values::Bound(vec![Bound::Own(Value::Real(real))])
            );
        }
    }

    #[test]
    fn what_cannot_be_bound_says_why() {
        assert_eq!(read(r#"[{"expanded":"SELECT 1"}]"#), Values::Expanded("SELECT 1".to_owned()));
        for (text, why) in [
            (r#"[1,{"pointer":true}]"#, "pointers"),
            (r#"[{"text_hash":"00","length":3}]"#, "hashed values"),
            (r#"[{"omitted":true}]"#, "values of a connection with a key"),
            (r#"[{"hex":"0"}]"#, "a blob that cannot be read"),
            ("[", "values that cannot be read"),
        ] {
            assert_eq!(read(text), Values::Missing(why), "{text}");
        }
    }
}
