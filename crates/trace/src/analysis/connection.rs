//! Analysis of the order of a connection's statements: transactions, pauses within them, and runs.

use hashbrown::HashMap;

use super::runs::{Inserts, Reads, Repeated};
use super::{Event, PAUSE_US, TransactionUse};
use crate::analysis::Kind;

/// How many statements of a transaction are remembered.
const TEXTS: usize = 4;

/// The state of a connection between two events.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    transaction: Option<Transaction>,
    reads: Reads,
    inserts: Inserts,
    /// Statements.
    count: u64,
    /// Whether it has committed.
    has_written: bool,
    /// The texts that were prepared, each with the latest statement that had it.
    prepared: HashMap<i64, i64>,
    /// When the statement before that did more than read ended, if it was a write in autocommit.
    wrote_until_us: Option<i64>,
    /// When the previous commit ended, if it ended a transaction of a single statement.
    single_until_us: Option<i64>,
}

/// A transaction, and the number of the text of its slowest statement.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    pub usage: TransactionUse,
    pub slowest: i64,
    pub read_before_write: bool,
    /// How long no statement ran while it had read only, and once it had written or may have, in microseconds.
    pub idle_reading_us: i64,
    pub idle_writing_us: i64,
    /// When it first read, and the text of that statement.
    pub read: Option<(i64, i64)>,
    /// The texts of its first statements.
    texts: Vec<i64>,
    slowest_ns: i64,
    /// The lock after its latest statement, as in [`Event::transaction`].
    held: i64,
    end_us: i64,
}

/// Transactions, runs and cycles that an event has ended.
#[derive(Debug, Default)]
pub struct Finished {
    pub transaction: Option<Transaction>,
    /// Reads that were repeated.
    pub reads: Option<Repeated>,
    /// The text of inserts of single rows in a row, and their number.
    pub inserts: Option<(i64, u64)>,
    /// Whether the text had been prepared before.
    pub prepared_again: bool,
    /// Whether that was with other values in the text.
    pub other_literals: bool,
    /// Whether it is a write in autocommit.
    pub autocommit_write: bool,
    /// Whether it is one right after another one.
    pub in_a_row: bool,
    /// Whether it ends a transaction of `BEGIN`, one statement that writes and `COMMIT`, right after another one.
    pub single_in_a_row: bool,
}

impl Connection {
    /// Returns how many statements it has executed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether it has committed what it wrote.
    pub fn has_written(&self) -> bool {
        self.has_written
    }

    /// Returns when its transaction began, in microseconds since recording began; `None` outside of one.
    pub fn begun_us(&self) -> Option<i64> {
        self.transaction.as_ref().map(|transaction| transaction.usage.start_us)
    }

    /// Notes that a write was refused because its transaction had read; returns the texts of the transaction.
    pub fn refused(&mut self, text: i64) -> Vec<i64> {
        let Some(transaction) = &mut self.transaction else { return vec![text] };
        transaction.read_before_write = true;
        let mut texts = transaction.texts.clone();
        texts.extend((texts.last() != Some(&text)).then_some(text));
        texts
    }

    pub fn take(&mut self, event: &Event, text: i64, kind: Kind) -> Finished {
        self.count += 1;
        self.has_written |= event.committed;
        let autocommit_write = event.committed && self.transaction.is_none();
        let before = self.wrote_until_us;
        if autocommit_write || kind != Kind::Read {
            self.wrote_until_us = autocommit_write.then(|| event.end_us());
        }
        let transaction = self.take_transaction(event, text);
        let prepared =
            event.prepared.then(|| self.prepared.insert(text, event.statement)).flatten();
        Finished {
            single_in_a_row: self.follows_a_single(event, autocommit_write, transaction.as_ref()),
            autocommit_write,
            in_a_row: autocommit_write && before.is_some_and(|end| event.start_us - end < PAUSE_US),
            prepared_again: prepared.is_some(),
            other_literals: prepared.is_some_and(|statement| statement != event.statement),
            reads: self.reads.take(event, text, kind),
            inserts: self.inserts.take(event, text, kind == Kind::Insert),
            transaction,
        }
    }

    /// Returns whether a transaction of a single statement has ended that began right after another one.
    fn follows_a_single(
        &mut self,
        event: &Event,
        autocommit_write: bool,
        ended: Option<&Transaction>,
    ) -> bool {
        let Some(ended) = ended else {
            if autocommit_write {
                self.single_until_us = None;
            }
            return false;
        };
        let is_single = event.committed && ended.usage.wrote && ended.usage.statements == 3;
        let before = self.single_until_us;
        self.single_until_us = is_single.then(|| event.end_us());
        is_single && before.is_some_and(|end| ended.usage.start_us - end < PAUSE_US)
    }

    /// Returns the unfinished transaction and runs, which count until the last statement of the trace.
    pub fn finish(self) -> Finished {
        Finished {
            transaction: self.transaction.map(Transaction::ended),
            reads: self.reads.ended(),
            inserts: self.inserts.ended(),
            ..Finished::default()
        }
    }

    fn take_transaction(&mut self, event: &Event, text: i64) -> Option<Transaction> {
        // A statement that has not ended says nothing of the transaction after it.
        event.duration_ns?;
        if event.autocommit && self.transaction.is_none() {
            return None;
        }
        let transaction = self.transaction.get_or_insert_with(|| Transaction::begun(event));
        transaction.take(event, text);
        let ended = event.autocommit.then(|| self.transaction.take()).flatten();
        ended.map(Transaction::ended)
    }
}

impl Transaction {
    fn begun(event: &Event) -> Transaction {
        Transaction {
            usage: TransactionUse {
                connection: event.connection,
                start_us: event.start_us,
                ..TransactionUse::default()
            },
            end_us: event.start_us,
            ..Transaction::default()
        }
    }

    fn take(&mut self, event: &Event, text: i64) {
        if self.texts.len() < TEXTS && self.texts.last() != Some(&text) {
            self.texts.push(text);
        }
        let usage = &mut self.usage;
        usage.statements += 1;
        let idle_us = (event.start_us - self.end_us).max(0);
        usage.idle_us += idle_us;
        match self.held {
            0 => {}
            1 => self.idle_reading_us += idle_us,
            _ => self.idle_writing_us += idle_us,
        }
        self.held = event.transaction;
        self.end_us = self.end_us.max(event.end_us());
        if event.duration_ns.unwrap_or(0) > self.slowest_ns {
            self.slowest_ns = event.duration_ns.unwrap_or(0);
            self.slowest = text;
        }
        let writes = event.transaction == 2 || event.committed;
        if writes && !usage.wrote {
            self.read_before_write |= self.read.is_some();
        }
        usage.wrote |= writes;
        if event.transaction == 1 {
            self.read.get_or_insert((event.start_us, text));
        }
    }

    /// Returns when its latest statement ended, in microseconds since recording began.
    pub fn end_us(&self) -> i64 {
        self.end_us
    }

    fn ended(mut self) -> Transaction {
        self.usage.duration_us = self.end_us() - self.usage.start_us;
        self
    }
}
