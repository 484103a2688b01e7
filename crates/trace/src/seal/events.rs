//! Records put together to events.

use std::collections::{HashMap, HashSet};

use recorder::Door;
use recorder::read::{Chunk, ConnectionRecord, Ended, Record, Transaction, Where};

use super::Sealed;
use super::files::{DatabaseFile, Files, file_of};
use super::texts::Texts;
use super::write::{Event, Writer};
use crate::Result;
use crate::schema::state;

/// The codes of notes.
const NOTE_STUB: u64 = 1;
const NOTE_OLD: u64 = 4;

/// SQLite's result code of a statement whose schema has changed since it was prepared.
const SQLITE_SCHEMA: u32 = 17;

/// The state of reading a recording.
pub struct Events {
    started: u64,
    texts: Texts,
    next: i64,
    connections: HashMap<u32, Connection>,
    processes: HashSet<u32>,
    /// Connections that share a database in memory, each with the one that opened it.
    shared: Vec<(u32, u32)>,
    files: Files,
    sealed: Sealed,
}

/// The known state of a connection.
#[derive(Default)]
struct Connection {
    open: HashMap<usize, Event>,
    /// The event that ended last, until another one begins or ends: its reset may still commit and change rows.
    last: Option<Event>,
}

impl Connection {
    /// Adds rows to those that the statement which ended last changed.
    fn add_changes(&mut self, changes: u32) {
        if let Some(ended) = self.last.as_mut().and_then(|event| event.ended.as_mut()) {
            ended.changes = ended.changes.wrapping_add(changes);
        }
    }
}

impl Events {
    pub fn new(started: u64, texts: Texts) -> Events {
        Events {
            started,
            texts,
            next: 1,
            connections: HashMap::new(),
            processes: HashSet::new(),
            shared: Vec::new(),
            files: Files::default(),
            sealed: Sealed::default(),
        }
    }

    /// Takes the records of a chunk; returns how many of its bytes were unreadable.
    pub fn take(&mut self, chunk: Chunk<'_>, writer: &Writer<'_>) -> Result<u64> {
        let mut records = chunk.records();
        for (at, record) in records.by_ref() {
            self.record(at, record, writer)?;
        }
        writer.statements(&mut self.texts)?;
        Ok(records.unreadable() as u64)
    }

    fn record(&mut self, at: Where, record: Record<'_>, writer: &Writer<'_>) -> Result<()> {
        match record {
            Record::Begin { place, text, prepared, values } => {
                let event = Event {
                    id: self.next,
                    connection: at.connection,
                    statement: self.texts.of(at.process, text),
                    start: at.time,
                    start_us: self.microseconds(at.time),
                    values: writer.values(values, &self.texts.classes)?,
                    state: if prepared { state::PREPARED } else { 0 },
                    ..Event::default()
                };
                self.next += 1;
                self.begin(at, place, event, writer)
            }
            Record::End { place, ended } => self.end(at, place, &ended, writer),
            Record::Commit { ticket } => self.commit(at, ticket, writer),
            Record::Connection(record) => {
                self.sealed.connections += 1;
                let opened = self.microseconds(at.time);
                self.shared.extend(record.shares.map(|by| (at.connection, by)));
                let file = file_of(record.file, record.vfs);
                if !file.is_empty() && !record.inherited {
                    self.files.connect(at.connection);
                }
                writer.connection(at, &ConnectionRecord { file, ..record }, opened)
            }
            Record::Changes(changes) => {
                self.connection(at).add_changes(changes);
                Ok(())
            }
            Record::Close => writer.closed(at.connection, self.microseconds(at.time)),
            Record::Setting { name, value } => writer.setting(at.connection, name, value),
            Record::Snapshot { state, number, file, reason } => {
                let row = writer.snapshot(state, number, file, reason)?;
                self.files.snapshot(at.connection, file, row);
                Ok(())
            }
            Record::File(file) => {
                self.files.open(at.connection, self.microseconds(at.time), &file);
                Ok(())
            }
            Record::Process(record) => {
                if self.processes.insert(at.process) {
                    self.sealed.processes += 1;
                }
                writer.process(at.process, &record)
            }
            Record::Exit => writer.exit(at.process),
            Record::Library(record) => writer.library(at.process, &record, door_name(record.door)),
            Record::Note { code, words } => {
                take_note(&mut self.sealed, code, words);
                writer.note(at.process, code, words)
            }
            Record::Text { .. } => Ok(()),
        }
    }

    fn connection(&mut self, at: Where) -> &mut Connection {
        self.connections.entry(at.connection).or_default()
    }

    /// Microseconds since recording began.
    fn microseconds(&self, time: u64) -> i64 {
        (time.saturating_sub(self.started) / 1000) as i64
    }

    fn begin(&mut self, at: Where, place: usize, event: Event, writer: &Writer<'_>) -> Result<()> {
        let connection = self.connection(at);
        let replaced = connection.open.insert(place, event);
        connection.last.take().iter().chain(&replaced).try_for_each(|event| writer.event(event))
    }

    fn end(&mut self, at: Where, place: usize, ended: &Ended, writer: &Writer<'_>) -> Result<()> {
        let connection = self.connection(at);
        // A recording that is damaged may lack the start.
        let Some(mut event) = connection.open.remove(&place) else { return Ok(()) };
        let before = event.ended.map_or(0, |former| former.changes);
        event.duration = Some(at.time.saturating_sub(event.start) as i64);
        event.state = event.state & state::PREPARED | state_of(ended);
        event.ended = Some(Ended { changes: ended.changes.wrapping_add(before), ..*ended });
        let last = if runs_again(ended) {
            connection.open.insert(place, event);
            connection.last.take()
        } else {
            connection.last.replace(event)
        };
        last.map_or(Ok(()), |event| writer.event(&event))
    }

    /// A commit belongs to the statement that is running, or to the last one if it was reset while others only read.
    fn commit(&mut self, at: Where, ticket: u64, writer: &Writer<'_>) -> Result<()> {
        let Connection { open, last } = self.connections.entry(at.connection).or_default();
        let was_reset = open.values().all(|event| self.texts.reads(event.statement));
        let running = open.values_mut().max_by_key(|event| event.id);
        let Some(event) = last.as_mut().filter(|_| was_reset).or(running) else {
            return writer.further_commit(ticket as i64, None);
        };
        match std::mem::replace(&mut event.ticket, ticket as i64) {
            0 => Ok(()),
            former => writer.further_commit(former, Some(event.id)),
        }
    }

    /// Writes the statements that had not ended; returns the databases in files, too.
    pub fn finish(mut self, writer: &Writer<'_>) -> Result<(Sealed, Vec<DatabaseFile>)> {
        for Connection { open, last } in self.connections.values() {
            open.values().chain(last).try_for_each(|event| writer.event(event))?;
        }
        for (connection, opened_by) in self.shared {
            writer.share(connection, opened_by)?;
        }
        self.sealed.events = self.next as u64 - 1;
        writer.statements(&mut self.texts)?;
        Ok((self.sealed, self.files.finish(writer)?))
    }
}

/// Notes a library that cannot be recorded.
pub(crate) fn take_note(sealed: &mut Sealed, code: u64, words: &[u8]) {
    let list = match code {
        NOTE_STUB => &mut sealed.stubs,
        NOTE_OLD => &mut sealed.old,
        _ => return,
    };
    let words = String::from_utf8_lossy(words).into_owned();
    if !list.contains(&words) {
        list.push(words);
    }
}

/// Returns the number of a transaction in traces.
pub(crate) fn transaction_number(transaction: Transaction) -> i64 {
    match transaction {
        Transaction::None => 0,
        Transaction::Read => 1,
        Transaction::Write => 2,
        Transaction::Unknown => 3,
    }
}

/// Returns whether SQLite prepares a statement again and runs it once more, which ends it again.
pub(crate) fn runs_again(ended: &Ended) -> bool {
    ended.result.is_some_and(|code| code & 0xff == SQLITE_SCHEMA)
}

fn state_of(ended: &Ended) -> i64 {
    (if ended.early { state::EARLY } else { 0 })
        | (if ended.autocommit { state::AUTOCOMMIT } else { 0 })
        | transaction_number(ended.transaction) << state::TRANSACTION_SHIFT
}

fn door_name(door: Door) -> &'static str {
    match door {
        Door::Any => "any",
        Door::Table => "table",
        Door::Symbol => "symbol",
        Door::Interpose => "interpose",
        Door::Extension => "extension",
    }
}
