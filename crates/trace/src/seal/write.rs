//! Writes the tables of a trace.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Statement, Value};
use recorder::Folder;
use recorder::read::{
    ConnectionRecord, Ended, LibraryRecord, ProcessRecord, Recording, Values, Where,
};
use twox_hash::XxHash3_128;

use super::texts::Texts;
use super::{Sealed, json};
use crate::content::Classes;
use crate::schema::{APPLICATION_ID, FORMAT, TABLES, run};
use crate::{Result, TraceError};

/// The bytes of a snapshot in one row.
const PART: usize = 1 << 20;

/// The most long values whose equality is noticed, to bound the memory.
const KNOWN_BLOBS: usize = 100_000;

/// The most rows of counters that are known at a time, to bound the memory: then they are forgotten.
const KNOWN_COUNTERS: usize = 100_000;

/// One execution as the trace describes it.
#[derive(Debug, Default)]
pub struct Event {
    pub id: i64,
    pub connection: u32,
    pub statement: i64,
    /// In nanoseconds of the recording's clock.
    pub start: u64,
    pub start_us: i64,
    /// In nanoseconds.
    pub duration: Option<i64>,
    pub ended: Option<Ended>,
    pub ticket: i64,
    pub state: i64,
    pub values: Option<String>,
}

/// Opens a new trace.
pub fn open(library: &Arc<Library>, path: &Path) -> Result<Connection> {
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE;
    let opened = Connection::open(library, path, flags, None).and_then(|connection| {
        // A trace that is not whole has no name, so nothing has to survive a crash.
        connection.execute(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384",
        )?;
        connection.execute(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}"
        ))?;
        connection.execute("BEGIN")?;
        connection.execute(TABLES)?;
        Ok(connection)
    });
    opened.map_err(|source| TraceError::Database { path: path.to_owned(), source })
}

/// The tables, being filled.
pub struct Writer<'c> {
    pub(super) connection: &'c Connection,
    path: PathBuf,
    execution: RefCell<Statement<'c, 'static>>,
    /// Rows of `counters` that further executions may share, by what they say.
    counters: RefCell<HashMap<(Option<Ended>, i64), i64>>,
    next_counters: Cell<i64>,
    blob: RefCell<Statement<'c, 'static>>,
    blobs: RefCell<HashMap<u128, i64>>,
    next_blob: Cell<i64>,
}

impl<'c> Writer<'c> {
    pub fn new(connection: &'c Connection, path: &Path) -> Result<Writer<'c>> {
        let prepare = |sql| {
            let prepared = connection.prepare(sql);
            prepared.map_err(|source| TraceError::Database { path: path.to_owned(), source })
        };
        Ok(Writer {
            connection,
            path: path.to_owned(),
            execution: RefCell::new(prepare("INSERT INTO execution VALUES (?,?,?,?,?,?,?,?)")?),
            counters: RefCell::default(),
            next_counters: Cell::new(1),
            blob: RefCell::new(prepare("INSERT INTO blob VALUES (?, ?)")?),
            blobs: RefCell::default(),
            next_blob: Cell::new(1),
        })
    }

    pub(super) fn named<T>(&self, result: Result<T, EngineError>) -> Result<T> {
        result.map_err(|source| TraceError::Database { path: self.path.clone(), source })
    }

    pub(super) fn run(&self, sql: &str, values: &[Value]) -> Result<()> {
        let prepared = self.connection.prepare(sql);
        self.named(prepared.and_then(|mut statement| run(&mut statement, values)))
    }

    /// Stores a long value in the table `blob` and returns its number.
    fn store(&self, bytes: &[u8], is_text: bool) -> Result<i64, EngineError> {
        let hash = XxHash3_128::oneshot(bytes) ^ u128::from(is_text);
        if let Some(id) = self.blobs.borrow().get(&hash) {
            return Ok(*id);
        }
        let id = self.next_blob.get();
        self.next_blob.set(id + 1);
        self.blob.borrow_mut().with_borrowed(|insert| {
            insert.bind_i64(1, id)?;
            match std::str::from_utf8(bytes) {
                Ok(text) if is_text => insert.bind_text_borrowed(2, text)?,
                _ => insert.bind_blob_borrowed(2, bytes)?,
            }
            insert.run()
        })?;
        let mut blobs = self.blobs.borrow_mut();
        if blobs.len() < KNOWN_BLOBS {
            blobs.insert(hash, id);
        }
        Ok(id)
    }

    /// Returns the values of an execution as the elements of a JSON array; `None` without values.
    pub fn values(&self, values: Values<'_>, classes: &Classes) -> Result<Option<String>> {
        if values.is_empty() {
            return Ok(None);
        }
        let mut out = String::new();
        self.named(json::write(
            values,
            classes,
            &mut |bytes, is_text| self.store(bytes, is_text),
            &mut out,
        ))?;
        Ok(Some(out))
    }

    pub fn event(&self, event: &Event) -> Result<()> {
        let counters = self.counters(event)?;
        self.named(self.insert_execution(event, counters))
    }

    /// Returns the row of what the execution did.
    fn counters(&self, event: &Event) -> Result<i64> {
        let mut known = self.counters.borrow_mut();
        let key = (event.ended, event.state);
        if let Some(id) = known.get(&key) {
            return Ok(*id);
        }
        if known.len() == KNOWN_COUNTERS {
            known.clear();
        }
        let id = self.next_counters.get();
        self.next_counters.set(id + 1);
        known.insert(key, id);
        let of = |what: fn(&Ended) -> u64| {
            let ended = event.ended.as_ref();
            ended.map_or(Value::Null, |ended| Value::Integer(what(ended) as i64))
        };
        let result = event.ended.and_then(|ended| ended.result);
        let waited = event.ended.and_then(|ended| ended.waited_ns);
        let values = [
            id.integer(),
            of(|ended| ended.rows),
            of(|ended| ended.changes.into()),
            result.map_or(Value::Null, |code| i64::from(code).integer()),
            of(|ended| ended.vm_steps),
            of(|ended| ended.scan_steps),
            of(|ended| ended.sorts),
            of(|ended| ended.automatic_index_rows),
            waited.map_or(Value::Null, |ns| (ns as i64).integer()),
            event.state.integer(),
        ];
        self.run("INSERT INTO counters VALUES (?,?,?,?,?,?,?,?,?,?)", &values)?;
        Ok(id)
    }

    fn insert_execution(&self, event: &Event, counters: i64) -> Result<(), EngineError> {
        self.execution.borrow_mut().with_borrowed(|insert| {
            insert.bind_i64(1, event.id)?;
            insert.bind_i64(2, event.connection.into())?;
            insert.bind_i64(3, event.statement)?;
            insert.bind_i64(4, event.start_us)?;
            match event.duration {
                Some(duration) => insert.bind_i64(5, duration)?,
                None => insert.bind_null(5)?,
            }
            match event.ticket {
                0 => insert.bind_null(6)?,
                ticket => insert.bind_i64(6, ticket)?,
            }
            insert.bind_i64(7, counters)?;
            match (&event.values, event.values.as_deref().map(str::parse)) {
                (_, Some(Ok(number))) => insert.bind_i64(8, number)?,
                (Some(values), _) => insert.bind_text_borrowed(8, values)?,
                (None, _) => insert.bind_null(8)?,
            }
            insert.run()
        })
    }

    /// A commit that is not the last one of its event, or that has none.
    pub fn further_commit(&self, ticket: i64, event: Option<i64>) -> Result<()> {
        let event = event.map_or(Value::Null, Value::Integer);
        let values = [ticket.integer(), event];
        self.run("INSERT INTO further_commit VALUES (?, ?)", &values)
    }

    /// Writes the texts that are new.
    pub fn statements(&self, texts: &mut Texts) -> Result<()> {
        for (id, statement) in texts.drain() {
            let (normalised, form) = texts.normalised(&statement.sql);
            if let Some(form) = form {
                self.run(
                    "INSERT INTO normalised VALUES (?, ?)",
                    &[normalised.integer(), Value::Text(form)],
                )?;
            }
            let readonly = i64::from(statement.readonly);
            let values = [
                id.integer(),
                normalised.integer(),
                readonly.integer(),
                Value::Text(statement.sql),
            ];
            self.run("INSERT INTO statement VALUES (?, ?, ?, ?)", &values)?;
        }
        Ok(())
    }

    pub fn connection(
        &self,
        at: Where,
        record: &ConnectionRecord<'_>,
        opened_us: i64,
    ) -> Result<()> {
        let values = [
            i64::from(at.connection).integer(),
            i64::from(at.process).integer(),
            (record.library as i64).integer(),
            text(record.file),
            text(record.vfs),
            i64::from(record.readonly).integer(),
            i64::from(record.inherited).integer(),
            opened_us.integer(),
        ];
        self.run("INSERT OR REPLACE INTO connection VALUES (?,?,?,?,?,?,?,?,NULL)", &values)
    }

    pub fn closed(&self, connection: u32, closed_us: i64) -> Result<()> {
        let values = [closed_us.integer(), i64::from(connection).integer()];
        self.run("UPDATE connection SET closed_us = ? WHERE id = ?", &values)
    }

    pub fn process(&self, process: u32, record: &ProcessRecord<'_>) -> Result<()> {
        let arguments: Vec<_> =
            record.arguments.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        let arguments = match arguments.split_last() {
            Some((last, others)) if last.is_empty() => serde_json::json!(others),
            _ => serde_json::json!(arguments),
        };
        let values = [
            i64::from(process).integer(),
            (record.pid as i64).integer(),
            (record.parent as i64).integer(),
            text(record.program),
            Value::Text(arguments.to_string()),
        ];
        self.run("INSERT OR REPLACE INTO process VALUES (?,?,?,?,?,0)", &values)
    }

    pub fn library(&self, process: u32, record: &LibraryRecord<'_>, door: &str) -> Result<()> {
        let values = [
            i64::from(process).integer(),
            (record.number as i64).integer(),
            text(record.version),
            text(record.source),
            text(record.path),
            Value::Text(door.to_owned()),
            i64::from(record.exact).integer(),
            i64::from(record.results).integer(),
        ];
        self.run("INSERT OR REPLACE INTO library VALUES (?,?,?,?,?,?,?,?)", &values)
    }

    pub fn setting(&self, connection: u32, name: &[u8], value: &[u8]) -> Result<()> {
        let values = [i64::from(connection).integer(), text(name), text(value)];
        self.run("INSERT OR REPLACE INTO setting VALUES (?, ?, ?)", &values)
    }

    pub fn note(&self, process: u32, code: u64, words: &[u8]) -> Result<()> {
        let values = [i64::from(process).integer(), (code as i64).integer(), text(words)];
        self.run("INSERT INTO note VALUES (?, ?, ?)", &values)
    }

    /// Writes the state of a snapshot; returns its row.
    pub fn snapshot(&self, state: u8, number: u64, file: &[u8], reason: &[u8]) -> Result<i64> {
        let state = match state {
            1 => "taken",
            2 => "empty",
            3 => "failed",
            _ => "skipped",
        };
        let id = if number > 0 { (number as i64).integer() } else { Value::Null };
        let result =
            String::from_utf8_lossy(reason).parse::<i64>().map_or(Value::Null, Value::Integer);
        let values = [id, text(file), Value::Text(state.to_owned()), result];
        self.run(
            // Those without a number get one below 0, where no snapshot has its own.
            "INSERT OR REPLACE INTO snapshot VALUES
             (coalesce(?, (SELECT min(0, min(id)) FROM snapshot) - 1, -1), ?, ?, ?)",
            &values,
        )?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Takes the snapshots of a recording in; returns the databases without one, with SQLite's result code.
    pub fn snapshots(&self, folder: &Folder) -> Result<Vec<(String, i64)>> {
        let rows = self
            .named(self.connection.query_all("SELECT id, database, state, result FROM snapshot"))?;
        let mut without = Vec::new();
        for row in rows {
            match row.as_slice() {
                [Value::Integer(id), _, Value::Text(state), _] if state == "taken" => {
                    self.parts(*id, &folder.snapshot(*id as u64))?;
                }
                [_, Value::Text(database), Value::Text(state), result] if state == "failed" => {
                    let result = if let Value::Integer(code) = result { *code } else { 0 };
                    without.push((database.clone(), result));
                }
                _ => {}
            }
        }
        Ok(without)
    }

    fn parts(&self, id: i64, path: &Path) -> Result<()> {
        let failed = |source| TraceError::File { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        for part in 0.. {
            let mut content = Vec::with_capacity(PART);
            file.by_ref().take(PART as u64).read_to_end(&mut content).map_err(failed)?;
            if content.is_empty() {
                break;
            }
            let values = [id.integer(), i64::from(part).integer(), Value::Blob(content)];
            self.run("INSERT INTO snapshot_part VALUES (?, ?, ?)", &values)?;
        }
        Ok(())
    }

    pub fn meta(&self, recording: &Recording, sealed: &Sealed) -> Result<()> {
        let lost = sealed.lost;
        let duration =
            "SELECT coalesce(max(start_us + coalesce(duration_ns, 0) / 1000), 0) FROM execution";
        let duration = self.named(self.connection.query_value(duration))?;
        let facts = [
            ("started_ns", (recording.started_wall() as i64).integer()),
            ("duration_us", duration),
            ("redacted", i64::from(recording.is_redacted()).integer()),
            ("tickets", (recording.tickets() as i64).integer()),
            ("events", (sealed.events as i64).integer()),
            ("unreadable_bytes", (sealed.unreadable as i64).integer()),
            ("lost_space", i64::from(lost.space).integer()),
            ("lost_file", i64::from(lost.file).integer()),
            ("lost_memory", i64::from(lost.memory).integer()),
            ("lost_statements", i64::from(lost.statements).integer()),
            ("lost_commits", i64::from(lost.commits).integer()),
            ("architecture", Value::Text(std::env::consts::ARCH.to_owned())),
            ("pragmark", Value::Text(env!("CARGO_PKG_VERSION").to_owned())),
        ];
        for (name, value) in facts {
            self.run("INSERT INTO meta VALUES (?, ?)", &[Value::Text(name.to_owned()), value])?;
        }
        Ok(())
    }

    /// Makes the trace whole; statements must end before their connection is closed. The arguments of a process that
    /// set a key are left out, because they may have it.
    pub fn finish(self) -> Result<()> {
        let arguments = "UPDATE process SET arguments = '[]' WHERE id IN (SELECT process FROM note WHERE code = 3)";
        let sql = format!("PRAGMA secure_delete = ON; {arguments}; COMMIT");
        self.named(self.connection.execute(&sql))
    }
}

fn text(bytes: &[u8]) -> Value {
    Value::Text(String::from_utf8_lossy(bytes).into_owned())
}

/// A number as a value.
pub(super) trait AsInteger {
    fn integer(self) -> Value;
}

impl AsInteger for i64 {
    fn integer(self) -> Value {
        Value::Integer(self)
    }
}
