//! What follows from the order of a connection's statements: transactions, pauses within them, and runs.

use super::kind::Kind;
use super::runs::{Inserts, Reads, Repeated};
use super::{Event, TransactionUse};

/// The state of a connection between two events.
#[derive(Debug, Default)]
pub struct Connection {
    transaction: Option<Transaction>,
    reads: Reads,
    inserts: Inserts,
}

/// A transaction, and the number of the text of its slowest statement.
#[derive(Debug, Default)]
pub struct Transaction {
    pub usage: TransactionUse,
    pub slowest: i64,
    pub read_before_write: bool,
    slowest_ns: i64,
    has_read: bool,
    end_us: i64,
}

/// What an event has brought to its end.
#[derive(Debug, Default)]
pub struct Finished {
    pub transaction: Option<Transaction>,
    /// Reads that were repeated.
    pub reads: Option<Repeated>,
    /// The text of inserts of single rows in a row, and their number.
    pub inserts: Option<(i64, u64)>,
}

impl Connection {
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    pub fn take(&mut self, event: &Event, text: i64, kind: Kind) -> Finished {
        Finished {
            reads: self.reads.take(event, text, kind == Kind::Read),
            inserts: self.inserts.take(event, text, kind == Kind::Insert),
            transaction: self.take_transaction(event, text),
        }
    }

    /// What is unfinished at the end of the trace counts until its last statement.
    pub fn finish(self) -> Finished {
        Finished {
            transaction: self.transaction.map(Transaction::ended),
            reads: self.reads.ended(),
            inserts: self.inserts.ended(),
        }
    }

    fn take_transaction(&mut self, event: &Event, text: i64) -> Option<Transaction> {
        // A statement that has not ended says nothing of the transaction after it.
        event.duration_ns?;
        if event.autocommit && self.transaction.is_none() {
            return None;
        }
        let transaction = self
            .transaction
            .get_or_insert_with(|| Transaction::begun(event));
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
        let it = &mut self.usage;
        it.statements += 1;
        it.idle_us += (event.start_us - self.end_us).max(0);
        self.end_us = self.end_us.max(event.end_us());
        if event.duration_ns.unwrap_or(0) > self.slowest_ns {
            self.slowest_ns = event.duration_ns.unwrap_or(0);
            self.slowest = text;
        }
        let writes = event.transaction == 2 || event.committed;
        if writes && !it.wrote {
            self.read_before_write = self.has_read;
        }
        it.wrote |= writes;
        self.has_read |= event.transaction == 1;
    }

    fn ended(mut self) -> Transaction {
        self.usage.duration_us = self.end_us - self.usage.start_us;
        self
    }
}
