//! Analysis of a recording while programs write it, in memory that does not grow with what they do.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use recorder::read::{Ended, Record, Seen, Text, Where};

use crate::analysis::{Analyser, Analysis, Event, Normalised};
use crate::normalised;
use crate::seal::{Sealed, runs_again, take_note, transaction_number};

/// How many normalised statements are told apart.
const STATEMENTS: usize = 10_000;
/// The number and the text of all further ones.
const OTHERS: i64 = 1;
const OTHERS_TEXT: &str = "all other statements";

/// One execution that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// The process, as the system numbers it.
    pub pid: u64,
    /// The database of its connection; empty for one in memory.
    pub database: &'a str,
    /// The statement without its values.
    pub sql: &'a str,
    /// Its figures.
    pub event: &'a Event,
}

/// An analysis that grows.
pub struct Live {
    /// When recording began, in nanoseconds.
    started: u64,
    analyser: Analyser,
    numbers: HashMap<String, i64>,
    processes: HashMap<u32, Process>,
    connections: HashMap<u32, Connection>,
    /// Databases in files; they stay when no connection has them open any more.
    databases: BTreeMap<String, DatabaseUse>,
    events: i64,
    /// Processes and connections since the beginning, and libraries that cannot be recorded.
    seen: Sealed,
}

/// The use of a database in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseUse {
    /// Open connections.
    pub connections: u64,
    /// The largest write-ahead log that a connection left when it was closed, in bytes.
    pub log_bytes: u64,
}

#[derive(Debug, Default)]
struct Process {
    pid: u64,
    /// The numbers of its texts, each with the number of the normalised one.
    texts: HashMap<u32, i64>,
}

#[derive(Debug, Default)]
struct Connection {
    process: u32,
    database: String,
    /// The open ones, each with the time of its start.
    open: HashMap<usize, (u64, Event)>,
    /// The last one that has ended, to which a commit can still belong.
    ended: Option<Event>,
}

impl Live {
    /// Returns the analysis of a recording that began at this time of its clock, in nanoseconds.
    pub fn new(started: u64) -> Live {
        let mut texts = Normalised::default();
        texts.add_text(OTHERS, OTHERS_TEXT.to_owned());
        texts.add_statement(OTHERS, OTHERS, false);
        Live {
            started,
            analyser: Analyser::new(0, texts, HashMap::new()),
            numbers: HashMap::from([(OTHERS_TEXT.to_owned(), OTHERS)]),
            processes: HashMap::new(),
            connections: HashMap::new(),
            databases: BTreeMap::new(),
            events: 0,
            seen: Sealed::default(),
        }
    }

    /// Takes a part of the recording; `ended` sees the executions that end. Returns whether the part could be used: a
    /// statement can come before its text.
    pub fn take(&mut self, seen: &Seen<'_>, ended: &mut dyn FnMut(&Execution<'_>)) -> bool {
        let (at, record) = match seen {
            Seen::Record(at, record) => (*at, record),
            Seen::Gone(process) => {
                self.end_process(*process, ended);
                return true;
            }
        };
        match record {
            Record::Process(process) => {
                self.seen.processes += 1;
                self.processes.entry(at.process).or_default().pid = process.pid;
            }
            Record::Connection(connection) => self.connect(at, connection.file),
            Record::Text { id, readonly, sql, .. } => {
                let number = self.number(sql, *readonly);
                self.processes.entry(at.process).or_default().texts.insert(*id, number);
            }
            Record::Begin { place, text, prepared, .. } => {
                let Some(statement) = self.text(at.process, *text) else { return false };
                self.pass(at.connection, ended);
                self.begin(at, *place, statement, *prepared);
            }
            Record::End { place, ended: result } => {
                self.pass(at.connection, ended);
                self.end(at, *place, result);
            }
            Record::Note { code, words } => take_note(&mut self.seen, *code, words),
            Record::Commit { .. } => self.commit(at.connection),
            Record::Changes(changes) => {
                let connection = self.connections.get_mut(&at.connection);
                if let Some(event) = connection.and_then(|connection| connection.ended.as_mut()) {
                    event.changes += i64::from(*changes);
                }
            }
            Record::Setting { name: b"log_bytes", value } => self.log_size(at.connection, value),
            Record::Close => self.close(at.connection, ended),
            _ => {}
        }
        true
    }

    /// Passes what has ended so far to the analysis.
    pub fn settle(&mut self, ended: &mut dyn FnMut(&Execution<'_>)) {
        let waiting = self.connections.iter().filter(|(_, connection)| connection.ended.is_some());
        let waiting: Vec<u32> = waiting.map(|(number, _)| *number).collect();
        waiting.into_iter().for_each(|connection| self.pass(connection, ended));
    }

    /// Returns the analysis of everything that has ended.
    pub fn analysis(&self) -> Analysis {
        self.analyser.clone().finish()
    }

    /// Returns the databases in files.
    pub fn databases(&self) -> impl Iterator<Item = (&str, DatabaseUse)> {
        self.databases.iter().map(|(name, usage)| (name.as_str(), *usage))
    }

    /// Returns the number of processes that record.
    pub fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Returns what was seen so far, and libraries that cannot be recorded.
    pub fn seen(&self) -> &Sealed {
        &self.seen
    }

    fn connect(&mut self, at: Where, file: &[u8]) {
        self.seen.connections += 1;
        let database = String::from_utf8_lossy(file).into_owned();
        if !database.is_empty() {
            self.databases.entry(database.clone()).or_default().connections += 1;
        }
        let connection = Connection { process: at.process, database, ..Connection::default() };
        self.connections.insert(at.connection, connection);
    }

    fn log_size(&mut self, connection: u32, bytes: &[u8]) {
        let database = self.connections.get(&connection).map(|connection| &connection.database);
        let usage = database.and_then(|database| self.databases.get_mut(database));
        let bytes = std::str::from_utf8(bytes).ok().and_then(|bytes| bytes.parse().ok());
        if let (Some(usage), Some(bytes)) = (usage, bytes) {
            usage.log_bytes = usage.log_bytes.max(bytes);
        }
    }

    fn text(&mut self, process: u32, text: Text<'_>) -> Option<i64> {
        match text {
            Text::Known(id) => self.processes.get(&process)?.texts.get(&id).copied(),
            Text::Inline(sql) => Some(self.number(sql, false)),
        }
    }

    fn number(&mut self, sql: &[u8], readonly: bool) -> i64 {
        let form = normalised(&String::from_utf8_lossy(sql));
        if let Some(number) = self.numbers.get(&form) {
            return *number;
        }
        if self.numbers.len() >= STATEMENTS {
            return OTHERS;
        }
        let number = self.numbers.len() as i64 + OTHERS;
        let texts = self.analyser.texts();
        texts.add_text(number, form.clone());
        texts.add_statement(number, number, readonly);
        self.numbers.insert(form, number);
        number
    }

    fn begin(&mut self, at: Where, place: usize, statement: i64, prepared: bool) {
        self.events += 1;
        let event = Event {
            id: self.events,
            connection: at.connection.into(),
            statement,
            start_us: (at.time.saturating_sub(self.started) / 1000) as i64,
            prepared,
            ..Event::default()
        };
        let connection = self.connections.entry(at.connection).or_default();
        connection.open.insert(place, (at.time, event));
    }

    fn end(&mut self, at: Where, place: usize, ended: &Ended) {
        let Some(connection) = self.connections.get_mut(&at.connection) else { return };
        if runs_again(ended) {
            return;
        }
        let Some((began, event)) = connection.open.remove(&place) else { return };
        connection.ended = Some(Event {
            duration_ns: Some(at.time.saturating_sub(began) as i64),
            rows: ended.rows as i64,
            changes: ended.changes.into(),
            result: ended.result.map(i64::from),
            vm_steps: ended.vm_steps as i64,
            scan_steps: ended.scan_steps as i64,
            sorts: ended.sorts as i64,
            automatic_index_rows: ended.automatic_index_rows as i64,
            waited_ns: ended.waited_ns.map(|ns| ns as i64),
            early: ended.early,
            autocommit: ended.autocommit,
            transaction: transaction_number(ended.transaction),
            ..event
        });
    }

    /// A commit belongs to the statement that is running, or to the last one if it was reset while others only read.
    fn commit(&mut self, connection: u32) {
        let Some(Connection { open, ended, .. }) = self.connections.get_mut(&connection) else {
            return;
        };
        let texts = self.analyser.texts();
        let was_reset = open.values().all(|(_, event)| texts.reads(event.statement));
        let running = open.values_mut().map(|(_, event)| event).max_by_key(|event| event.id);
        if let Some(event) = ended.as_mut().filter(|_| was_reset).or(running) {
            event.committed = true;
        }
    }

    /// Has the analysis take the execution of a connection that has ended, if one waits.
    fn pass(&mut self, connection: u32, ended: &mut dyn FnMut(&Execution<'_>)) {
        let Some(connection) = self.connections.get_mut(&connection) else { return };
        let Some(event) = connection.ended.take() else { return };
        self.analyser.take(&event);
        let process = self.processes.get(&connection.process);
        ended(&Execution {
            pid: process.map_or(0, |process| process.pid),
            database: &connection.database,
            sql: self.analyser.texts().text_of(event.statement),
            event: &event,
        });
    }

    fn close(&mut self, number: u32, ended: &mut dyn FnMut(&Execution<'_>)) {
        self.pass(number, ended);
        self.analyser.close(number.into());
        let Some(connection) = self.connections.remove(&number) else { return };
        if let Some(usage) = self.databases.get_mut(&connection.database) {
            usage.connections = usage.connections.saturating_sub(1);
        }
    }

    fn end_process(&mut self, process: u32, ended: &mut dyn FnMut(&Execution<'_>)) {
        let own = self.connections.iter().filter(|(_, connection)| connection.process == process);
        let own: Vec<u32> = own.map(|(number, _)| *number).collect();
        own.into_iter().for_each(|connection| self.close(connection, ended));
        self.processes.remove(&process);
    }
}
