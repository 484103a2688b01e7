//! Analysis of an application's use of SQLite: one pass over its events, in memory that does not grow with them.
//!
//! Definitions that the text for users relies on:
//! - a *write in autocommit* is a commit outside of `BEGIN` and `COMMIT`: a transaction of its own; it is one *in a row*
//!   if the statement before it on its connection, reads aside, was one, too, less than [`PAUSE_US`] ago;
//! - a *transaction of a single statement* is `BEGIN`, one statement that writes and `COMMIT`; *in a row* is as above;
//! - a *short* connection executed fewer than [`FEW`] statements;
//! - a *run* is the same reading statement at least [`READS`] times in a row on a connection, with pauses below
//!   [`PAUSE_US`] and not always the same values, as an application that polls has; `BEGIN` and `COMMIT` around each read
//!   do not end it. After a read that returned as many rows it is what an application does that loads parts one by one
//!   (N+1). A *cycle* is the same with two to four statements in turn;
//! - a transaction *reads before it writes* if it held a read lock only and then wrote, or was refused a write: SQLite may
//!   have to refuse the write at once, whatever the busy timeout is. A connection in exclusive locking mode is alone;
//! - a transaction is *idle* while none of its statements runs.

mod connection;
mod findings;
mod holders;
mod latencies;
mod locks;
mod pins;
mod runs;

use hashbrown::HashMap;

use self::connection::{Connection, Finished};
use self::locks::Refusals;
use self::pins::Pin;
use self::runs::{CYCLE, Repeated};
use crate::is_in_memory;

pub use findings::Finding;
pub use findings::scans_much;
pub use holders::Holders;
pub use latencies::Latencies;
pub use locks::{
    ConnectionSettings, HolderUse, Refusal, RefusalKey, RefusalUse, Unprotected, Waits,
};
pub use pins::{PinUse, Pins};

/// How many inserts of single rows in a row make a run.
pub const RUN: u64 = 10;

/// How many times the same reads in a row make a run: parts of one thing are often few.
pub const READS: u64 = 5;

/// The longest pause within a run, in microseconds.
pub const PAUSE_US: i64 = 100_000;

/// From how many statements on a connection is not short.
pub const FEW: u64 = 20;

/// How many of the longest transactions are kept.
const LONGEST: usize = 5;

/// How many changes of the schema are kept.
const SCHEMA_CHANGES: usize = 10_000;

/// One execution of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its number; numbers of a connection grow with the time of the start.
    pub id: i64,
    /// The connection.
    pub connection: i64,
    /// The statement.
    pub statement: i64,
    /// When it started, in microseconds since recording began.
    pub start_us: i64,
    /// How long it took, in nanoseconds; nothing if its end was not recorded.
    pub duration_ns: Option<i64>,
    /// Rows that the application stepped to.
    pub rows: i64,
    /// Rows that it changed.
    pub changes: i64,
    /// SQLite's extended result code, where it is known; 0 for success.
    pub result: Option<i64>,
    /// Steps of the virtual machine.
    pub vm_steps: i64,
    /// Steps in full scans.
    pub scan_steps: i64,
    /// Sorts.
    pub sorts: i64,
    /// Rows put into automatic indexes.
    pub automatic_index_rows: i64,
    /// How long it waited for locks, in nanoseconds, where that is known.
    pub waited_ns: Option<i64>,
    /// Whether it committed a transaction that had written.
    pub committed: bool,
    /// Whether it was the first execution since it was prepared.
    pub prepared: bool,
    /// Whether the application stopped before the last row.
    pub early: bool,
    /// Whether the connection was outside of `BEGIN` and `COMMIT` afterwards.
    pub autocommit: bool,
    /// The transaction afterwards: 0 no lock, 1 read, 2 written, 3 not known.
    pub transaction: i64,
    /// A hash of its bound values.
    pub values: u64,
}

impl Event {
    /// When it ended, in microseconds since recording began.
    fn end_us(&self) -> i64 {
        self.start_us + self.duration_ns.unwrap_or(0) / 1000
    }

    /// Returns whether it may have waited for locks, and ended.
    fn has_unknown_wait(&self) -> bool {
        self.waited_ns.is_none() && self.duration_ns.is_some()
    }

    fn example(&self) -> Example {
        Example {
            event: self.id,
            statement: self.statement,
            connection: self.connection,
            start_us: self.start_us,
        }
    }
}

/// The normalised texts of statements.
#[derive(Clone, Debug, Default)]
pub struct Normalised {
    texts: HashMap<i64, String>,
    of_statements: HashMap<i64, (i64, Kind)>,
}

impl Normalised {
    /// Adds a text by its number.
    pub fn add_text(&mut self, id: i64, sql: String) {
        self.texts.insert(id, sql);
    }

    /// Says which of the texts a statement has, and whether it only reads.
    pub fn add_statement(&mut self, id: i64, text: i64, readonly: bool) {
        let kind = self.texts.get(&text).map_or(Kind::Other, |sql| Kind::of(sql, readonly));
        self.of_statements.insert(id, (text, kind));
    }

    /// Returns the number of a statement's text, and what the statement does.
    fn of(&self, statement: i64) -> (i64, Kind) {
        self.of_statements.get(&statement).copied().unwrap_or_default()
    }

    /// Returns whether a statement reads rows.
    pub fn reads(&self, statement: i64) -> bool {
        self.of(statement).1 == Kind::Read
    }

    fn text(&self, id: i64) -> String {
        self.texts.get(&id).cloned().unwrap_or_default()
    }

    /// Returns the text of a statement; empty where it has none.
    pub fn text_of(&self, statement: i64) -> &str {
        self.texts.get(&self.of(statement).0).map_or("", String::as_str)
    }
}

/// One execution, as an example of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The event.
    pub event: i64,
    /// Its statement.
    pub statement: i64,
    /// Its connection.
    pub connection: i64,
    /// When it started, in microseconds since recording began.
    pub start_us: i64,
}

impl Example {
    /// Returns the key that orders it among the events of all connections, which are numbered separately.
    pub fn moment(&self) -> (i64, i64) {
        (self.start_us, self.event)
    }
}

/// Reading statements that were executed in turn, at least [`READS`] times each without another one between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CycleUse {
    /// The texts, in the order of their execution.
    pub texts: Vec<String>,
    /// The runs of the whole cycle.
    pub runs: RunUse,
}

/// Runs of one read, or of several reads in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunUse {
    /// How many there are.
    pub count: u64,
    /// Executions within runs.
    pub times: u64,
    /// The most in one run.
    pub longest: u64,
    /// Runs after a read that returned a row for each execution (N+1).
    pub of_rows: u64,
}

impl RunUse {
    fn take(&mut self, repeated: &Repeated) {
        self.count += 1;
        self.times += repeated.times;
        self.longest = self.longest.max(repeated.times);
        self.of_rows += u64::from(repeated.is_of_rows);
    }
}

/// All executions of statements with one normalised text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementUse {
    /// The text.
    pub sql: String,
    /// Its kind.
    pub kind: Kind,
    /// Its latest execution.
    pub latest: Example,
    /// Executions.
    pub count: u64,
    /// The time of all, in nanoseconds.
    pub total_ns: u64,
    /// The time of the longest, in nanoseconds.
    pub longest_ns: u64,
    /// The times of all.
    pub latencies: Latencies,
    /// Rows that the application stepped to.
    pub rows: u64,
    /// Rows that were changed.
    pub changes: u64,
    /// Steps of the virtual machine.
    pub vm_steps: u64,
    /// Steps in full scans.
    pub scan_steps: u64,
    /// Sorts.
    pub sorts: u64,
    /// Rows put into automatic indexes.
    pub automatic_index_rows: u64,
    /// Executions after which the application stopped before the last row.
    pub early: u64,
    /// How often it was prepared.
    pub prepared: u64,
    /// How often on a connection that had prepared it before.
    pub prepared_again: u64,
    /// How often of these with other values in the text.
    pub other_literals: u64,
    /// Transactions of its own that it committed.
    pub autocommit_writes: u64,
    /// Executions that failed.
    pub failed: u64,
    /// How long all waited for locks, in nanoseconds.
    pub waited_ns: u64,
    /// Executions whose waits are unknown.
    pub unknown_waits: u64,
    /// Runs of it.
    pub runs: RunUse,
    /// Executions in runs that insert single rows within a transaction.
    pub single_rows: u64,
    /// The longest of these runs.
    pub longest_single_rows: u64,
}

/// One transaction between `BEGIN` and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionUse {
    /// The connection.
    pub connection: i64,
    /// When it began, in microseconds since recording began.
    pub start_us: i64,
    /// How long it took, in microseconds.
    pub duration_us: i64,
    /// How long none of its statements ran, in microseconds.
    pub idle_us: i64,
    /// Statements in it, `BEGIN` and `COMMIT` included.
    pub statements: u64,
    /// Whether it wrote.
    pub wrote: bool,
    /// The text of its statement that took longest.
    pub slowest: String,
}

/// Executions of a text that failed with one result code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureUse {
    /// SQLite's extended result code.
    pub code: i64,
    /// The text.
    pub sql: String,
    /// How many there are.
    pub count: u64,
    /// How long they took.
    pub waits: Waits,
}

/// An application's use of SQLite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Statements by their normalised text, those that take most time first.
    pub statements: Vec<StatementUse>,
    /// Executions.
    pub events: u64,
    /// Executions whose end was not recorded.
    pub unfinished: u64,
    /// The time of all statements, in nanoseconds.
    pub total_ns: u64,
    /// Statements that waited for locks.
    pub waited: u64,
    /// How long they waited, in nanoseconds.
    pub waited_ns: u64,
    /// Statements of which that is not known.
    pub unknown_waits: u64,
    /// Commits of transactions that had written.
    pub commits: u64,
    /// Commits of connections in WAL mode, and commits of connections that are known to be in another mode.
    pub commits_by_mode: [u64; 2],
    /// Commits of connections that are known to sync none of them.
    pub unsynced_commits: u64,
    /// Those outside of `BEGIN` and `COMMIT`.
    pub autocommit_writes: u64,
    /// How many of them are in a row.
    pub autocommit_in_a_row: u64,
    /// Commits of transactions of one statement between `BEGIN` and `COMMIT`, in a row.
    pub single_in_a_row: u64,
    /// Connections that executed statements.
    pub connections: u64,
    /// The short ones of them.
    pub short_connections: u64,
    /// Transactions between `BEGIN` and their end.
    pub transactions: u64,
    /// Transactions that read before they wrote; `None` if the library could not tell.
    pub read_before_write: Option<u64>,
    /// Those of them on databases to which other connections wrote, or tried to.
    pub upgrades_among_writers: u64,
    /// How long transactions were idle, in microseconds.
    pub idle_us: i64,
    /// How long those that had written were.
    pub idle_writing_us: i64,
    /// How long those that had only read were, with a rollback journal.
    pub idle_reading_us: i64,
    /// Reading transactions that kept a write-ahead log from being reset, at most one of each database.
    pub pins: Vec<PinUse>,
    /// The transactions that took longest, longest first.
    pub longest: Vec<TransactionUse>,
    /// Failed executions by SQLite's extended result code and text, most frequent first.
    pub failures: Vec<FailureUse>,
    /// Statements that were refused because of locks or waited for them, by reason.
    pub refusals: Vec<RefusalUse>,
    /// Settings that protect data on some connections to a database only.
    pub unprotected: Vec<Unprotected>,
    /// Reads that were executed in turn, most frequent first.
    pub cycles: Vec<CycleUse>,
    /// Changes of the schema that succeeded, 10,000 at most, by connection.
    pub schema_changes: Vec<Example>,
    /// Reads and writes over time.
    pub timeline: Vec<Bucket>,
    /// How long a bucket of the timeline is, in microseconds.
    pub bucket_us: i64,
}

/// Analyses events one after the other.
#[derive(Clone, Debug)]
pub struct Analyser {
    texts: Normalised,
    settings: HashMap<i64, ConnectionSettings>,
    uses: HashMap<i64, StatementUse>,
    connections: HashMap<i64, Connection>,
    failures: HashMap<(i64, i64), FailureUse>,
    refusals: Refusals,
    cycles: HashMap<[i64; CYCLE], CycleUse>,
    timeline: Timeline,
    transactions: Vec<(TransactionUse, i64)>,
    pins: Vec<Pin>,
    /// Transactions of each connection that read before they wrote.
    upgrades: HashMap<i64, u64>,
    unknown_locks: bool,
    analysis: Analysis,
}

impl Analyser {
    /// Returns an analysis of events within this time, in microseconds, of connections with these settings.
    pub fn new(
        duration_us: i64,
        texts: Normalised,
        settings: HashMap<i64, ConnectionSettings>,
    ) -> Analyser {
        Analyser {
            texts,
            settings,
            refusals: Refusals::default(),
            uses: HashMap::new(),
            connections: HashMap::new(),
            failures: HashMap::new(),
            cycles: HashMap::new(),
            timeline: Timeline::new(duration_us),
            transactions: Vec::new(),
            pins: Vec::new(),
            upgrades: HashMap::new(),
            unknown_locks: false,
            analysis: Analysis { read_before_write: Some(0), ..Analysis::default() },
        }
    }

    /// Returns the texts, to which more may be added.
    pub fn texts(&mut self) -> &mut Normalised {
        &mut self.texts
    }

    /// Forgets a connection, which executes nothing more.
    pub fn close(&mut self, connection: i64) {
        if let Some(connection) = self.connections.remove(&connection) {
            self.take_closed(connection);
        }
    }

    fn take_closed(&mut self, connection: Connection) {
        self.analysis.connections += 1;
        self.analysis.short_connections += u64::from(connection.count() < FEW);
        self.take_finished(connection.finish());
    }

    /// Takes the next event.
    pub fn take(&mut self, event: &Event) {
        let (text, kind) = self.texts.of(event.statement);
        let connection = self.connections.entry(event.connection).or_default();
        let finished = connection.take(event, text, kind);
        self.count(event, &finished);
        self.timeline.take(event);
        let usage = self.uses.entry(text).or_default();
        usage.kind = kind;
        usage.take(event, &finished);
        if kind == Kind::Schema {
            self.take_schema_change(event);
        }
        if kind == Kind::Read && event.autocommit && finished.transaction.is_none() {
            self.take_pin(Pin::of(event, text));
        }
        match event.result {
            Some(0) if event.waited_ns > Some(0) => self.hinder(Refusal::Waited, event, &[text]),
            None | Some(0) => {}
            Some(code) => self.take_failure(event, code, text, kind),
        }
        self.take_finished(finished);
    }

    fn hinder(&mut self, refusal: Refusal, event: &Event, texts: &[i64]) {
        let unknown = ConnectionSettings::default();
        let settings = self.settings.get(&event.connection).unwrap_or(&unknown);
        let begun_us = self.connections.get(&event.connection).and_then(Connection::begun_us);
        self.refusals.take(refusal, event, texts, begun_us, settings);
    }

    fn take_failure(&mut self, event: &Event, code: i64, text: i64, kind: Kind) {
        let unknown = ConnectionSettings::default();
        let settings = self.settings.get(&event.connection).unwrap_or(&unknown);
        let failure = self.failures.entry((code, text)).or_default();
        failure.count += 1;
        failure.waits.take(event, settings);
        let Some(refusal) = Refusal::of(event, kind, settings) else { return };
        let connection = self.connections.entry(event.connection).or_default();
        let texts = match refusal {
            Refusal::Upgrade => connection.refused(text),
            _ => Vec::new(),
        };
        self.hinder(refusal, event, &texts);
    }

    /// Returns a search for the transactions that held locks which statements were refused or waited for, with
    /// [`add_holders`](Self::add_holders); it takes all events again. `None` if there were no such statements.
    pub fn holders(&self) -> Option<Holders<'_>> {
        let mut blocked = self.refusals.blocked.clone();
        blocked.extend(self.refusals.waited.iter().filter(|_| self.analysis.waits_much()));
        (!blocked.is_empty()).then(|| Holders::new(&self.texts, &self.settings, blocked))
    }

    /// Returns a search for commits during long reads, with [`add_pins`](Self::add_pins); it takes all events again. `None` if
    /// there were no such reads.
    pub fn pins(&self) -> Option<Pins<'_>> {
        (!self.pins.is_empty()).then(|| Pins::new(&self.texts, &self.settings, &self.pins))
    }

    /// Adds the reading transactions that kept a write-ahead log from being reset.
    pub fn add_pins(&mut self, pins: Vec<PinUse>) {
        self.analysis.pins = pins;
    }

    /// Adds the transactions that held locks.
    pub fn add_holders(&mut self, holders: std::collections::HashMap<RefusalKey, Vec<HolderUse>>) {
        self.refusals.holders = holders;
    }

    fn count(&mut self, event: &Event, finished: &Finished) {
        let analysis = &mut self.analysis;
        analysis.events += 1;
        analysis.unfinished += u64::from(event.duration_ns.is_none());
        analysis.total_ns += unsigned(event.duration_ns.unwrap_or(0));
        let waited_ns = unsigned(event.waited_ns.unwrap_or(0));
        analysis.waited += u64::from(waited_ns > 0);
        analysis.waited_ns += waited_ns;
        analysis.unknown_waits += u64::from(event.has_unknown_wait());
        analysis.commits += u64::from(event.committed);
        let settings = self.settings.get(&event.connection);
        if let Some(settings) = settings.filter(|settings| settings.is_wal || settings.has_journal)
        {
            analysis.commits_by_mode[usize::from(!settings.is_wal)] += u64::from(event.committed);
            // In WAL mode, NORMAL syncs at checkpoints only.
            let needed = if settings.is_wal { 2 } else { 1 };
            let syncs = settings.synchronous.is_none_or(|level| level >= needed);
            analysis.unsynced_commits += u64::from(event.committed && !syncs);
        }
        analysis.autocommit_writes += u64::from(finished.autocommit_write);
        // In memory, a commit costs next to nothing.
        if !settings.is_some_and(|settings| is_in_memory(&settings.database)) {
            analysis.autocommit_in_a_row += u64::from(finished.in_a_row);
            analysis.single_in_a_row += u64::from(finished.single_in_a_row);
        }
        self.unknown_locks |= event.transaction == 3;
    }

    fn take_schema_change(&mut self, event: &Event) {
        let changes = &mut self.analysis.schema_changes;
        if event.result.unwrap_or(0) == 0 && changes.len() < SCHEMA_CHANGES {
            changes.push(event.example());
        }
    }

    fn take_repeated(&mut self, repeated: Repeated) {
        if repeated.is_polling {
            return;
        }
        let runs = if repeated.period > 1 {
            &mut self.cycles.entry(repeated.texts).or_default().runs
        } else {
            &mut self.uses.entry(repeated.texts[0]).or_default().runs
        };
        runs.take(&repeated);
    }

    fn take_finished(&mut self, finished: Finished) {
        if let Some(repeated) = finished.reads {
            self.take_repeated(repeated);
        }
        if let Some((text, length)) = finished.inserts {
            let usage = self.uses.entry(text).or_default();
            usage.single_rows += length;
            usage.longest_single_rows = usage.longest_single_rows.max(length);
        }
        let Some(transaction) = finished.transaction else { return };
        self.analysis.transactions += 1;
        self.analysis.idle_us += transaction.usage.idle_us;
        self.analysis.idle_writing_us += transaction.idle_writing_us;
        let connection = transaction.usage.connection;
        let settings = self.settings.get(&connection);
        if settings.is_some_and(|settings| settings.has_journal) {
            self.analysis.idle_reading_us += transaction.idle_reading_us;
        }
        let is_alone = settings.is_some_and(|settings| settings.is_exclusive);
        let upgrades = u64::from(transaction.read_before_write && !is_alone);
        if let Some(count) = &mut self.analysis.read_before_write {
            *count += upgrades;
        }
        *self.upgrades.entry(connection).or_default() += upgrades;
        if let Some((from_us, text)) = transaction.read {
            self.take_pin(Pin { connection, text, from_us, until_us: transaction.end_us() });
        }
        self.transactions.push((transaction.usage, transaction.slowest));
        self.transactions.sort_by_key(|(usage, _)| std::cmp::Reverse(usage.duration_us));
        self.transactions.truncate(LONGEST);
    }

    fn take_pin(&mut self, pin: Pin) {
        let settings = self.settings.get(&pin.connection);
        if settings.is_some_and(|settings| settings.is_wal) {
            pin.add_to(&mut self.pins);
        }
    }

    /// Returns the analysis of all events that were taken.
    pub fn finish(mut self) -> Analysis {
        let wrote = |id: &i64| self.connections.get(id).is_some_and(Connection::has_written);
        let settings = || self.settings.iter().map(|(id, settings)| (settings, wrote(id)));
        self.analysis.unprotected = locks::unprotected(settings());
        let writers = locks::writers(settings());
        let was_hindered = !self.refusals.blocked.is_empty();
        let is_one_of_several = |id: &i64| {
            let Some(settings) = self.settings.get(id) else { return true };
            let others = writers[settings.database.as_str()] - u64::from(wrote(id));
            others > 0 || was_hindered
        };
        let upgrades = self.upgrades.iter().filter(|(id, _)| is_one_of_several(id));
        self.analysis.upgrades_among_writers = upgrades.map(|(_, count)| count).sum();
        let connections: Vec<Connection> =
            self.connections.drain().map(|(_, connection)| connection).collect();
        connections.into_iter().for_each(|connection| self.take_closed(connection));
        let mut analysis = self.analysis;
        if self.unknown_locks {
            analysis.read_before_write = None;
        }
        let texts = &self.texts;
        let named =
            |(id, usage): (i64, StatementUse)| StatementUse { sql: texts.text(id), ..usage };
        analysis.statements = self.uses.into_iter().map(named).collect();
        analysis.statements.sort_by(|a, b| (b.total_ns, &a.sql).cmp(&(a.total_ns, &b.sql)));
        let named = |((code, text), failure): ((i64, i64), FailureUse)| FailureUse {
            code,
            sql: texts.text(text),
            ..failure
        };
        analysis.failures = self.failures.into_iter().map(named).collect();
        analysis.failures.sort_by(|a, b| (b.count, a.code, &a.sql).cmp(&(a.count, b.code, &b.sql)));
        analysis.refusals = self.refusals.finish(texts);
        analysis.cycles = cycles(self.cycles, texts);
        let named = |(usage, slowest)| TransactionUse { slowest: texts.text(slowest), ..usage };
        analysis.longest = self.transactions.into_iter().map(named).collect();
        analysis.bucket_us = self.timeline.bucket_us();
        analysis.timeline = self.timeline.finish();
        analysis
    }
}

fn cycles(cycles: HashMap<[i64; CYCLE], CycleUse>, texts: &Normalised) -> Vec<CycleUse> {
    let named = |(ids, cycle): ([i64; CYCLE], CycleUse)| CycleUse {
        texts: ids.iter().take_while(|id| **id > 0).map(|id| texts.text(*id)).collect(),
        ..cycle
    };
    let mut cycles: Vec<CycleUse> = cycles.into_iter().map(named).collect();
    cycles.sort_by(|a, b| (b.runs.times, &a.texts).cmp(&(a.runs.times, &b.texts)));
    cycles
}

impl StatementUse {
    fn take(&mut self, event: &Event, finished: &Finished) {
        let duration = unsigned(event.duration_ns.unwrap_or(0));
        self.count += 1;
        if event.example().moment() >= self.latest.moment() {
            self.latest = event.example();
        }
        self.total_ns += duration;
        self.longest_ns = self.longest_ns.max(duration);
        self.latencies.take(duration);
        self.rows += unsigned(event.rows);
        self.changes += unsigned(event.changes);
        self.vm_steps += unsigned(event.vm_steps);
        self.scan_steps += unsigned(event.scan_steps);
        self.sorts += unsigned(event.sorts);
        self.automatic_index_rows += unsigned(event.automatic_index_rows);
        self.early += u64::from(event.early);
        self.prepared += u64::from(event.prepared);
        self.prepared_again += u64::from(finished.prepared_again);
        self.other_literals += u64::from(finished.other_literals);
        self.autocommit_writes += u64::from(finished.autocommit_write);
        self.failed += u64::from(event.result.is_some_and(|code| code != 0));
        self.waited_ns += unsigned(event.waited_ns.unwrap_or(0));
        self.unknown_waits += u64::from(event.has_unknown_wait());
    }

    /// Returns the share of its time in which it waited for locks; `None` if that is not known of every execution.
    pub fn share_of_waits(&self) -> Option<f64> {
        (self.unknown_waits == 0).then(|| self.waited_ns as f64 / self.total_ns.max(1) as f64)
    }

    /// Returns the time, in nanoseconds, that 99 of 100 executions did not exceed; `None` for fewer than 100 executions.
    pub fn p99_ns(&self) -> Option<f64> {
        let p99 = self.latencies.quantile(0.99).filter(|_| self.count >= 100)?;
        // The middle of the longest time's class can be longer than that time.
        Some(p99.min(self.longest_ns as f64))
    }
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The kind of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Reads rows.
    Read,
    /// Inserts rows.
    Insert,
    /// Changes the schema.
    Schema,
    /// Begins or ends a transaction.
    Transaction,
    /// Anything else: an update, a PRAGMA.
    #[default]
    Other,
}

impl Kind {
    /// Returns the kind of a normalised text.
    pub fn of(text: &str, readonly: bool) -> Kind {
        let word = text.split(|c: char| !c.is_ascii_alphabetic()).next();
        let word = word.unwrap_or_default().to_ascii_uppercase();
        match word.as_str() {
            "SELECT" | "WITH" | "VALUES" if readonly => Kind::Read,
            "INSERT" | "REPLACE" => Kind::Insert,
            "CREATE" | "ALTER" | "DROP" => Kind::Schema,
            "BEGIN" | "COMMIT" | "END" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => Kind::Transaction,
            _ => Kind::Other,
        }
    }
}

/// How many buckets a timeline has.
const BUCKETS: i64 = 60;

/// A part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Statements that started and did not commit.
    pub reads: u64,
    /// Commits of transactions that had written.
    pub commits: u64,
    /// The time of the statements that started, in nanoseconds.
    pub busy_ns: u64,
}

/// The buckets, being filled.
#[derive(Clone, Debug)]
struct Timeline {
    bucket_us: i64,
    buckets: Vec<Bucket>,
}

impl Timeline {
    fn new(duration_us: i64) -> Timeline {
        Timeline {
            bucket_us: duration_us.max(0) / BUCKETS + 1,
            buckets: vec![Bucket::default(); BUCKETS as usize],
        }
    }

    fn bucket_us(&self) -> i64 {
        self.bucket_us
    }

    fn take(&mut self, event: &Event) {
        while event.start_us / self.bucket_us >= BUCKETS {
            self.halve();
        }
        let index = (event.start_us / self.bucket_us).max(0);
        let bucket = &mut self.buckets[index as usize];
        bucket.commits += u64::from(event.committed);
        bucket.reads += u64::from(!event.committed);
        bucket.busy_ns += unsigned(event.duration_ns.unwrap_or(0));
    }

    /// Makes room by buckets of twice the length.
    fn halve(&mut self) {
        let pairs = self.buckets.chunks(2).map(|pair| Bucket {
            reads: pair.iter().map(|bucket| bucket.reads).sum(),
            commits: pair.iter().map(|bucket| bucket.commits).sum(),
            busy_ns: pair.iter().map(|bucket| bucket.busy_ns).sum(),
        });
        self.buckets = pairs.collect();
        self.buckets.resize(BUCKETS as usize, Bucket::default());
        self.bucket_us *= 2;
    }

    fn finish(self) -> Vec<Bucket> {
        self.buckets
    }
}

#[cfg(test)]
mod tests;
