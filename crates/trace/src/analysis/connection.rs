//! What follows from the order of a connection's statements: transactions, pauses within them, and runs.

use super::{Event, PAUSE_US, RUN, TransactionUse};

/// The state of a connection between two events.
#[derive(Debug, Default)]
pub struct Connection {
    transaction: Option<Transaction>,
    run: Run,
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

/// The same statement in a row.
#[derive(Debug, Default)]
struct Run {
    text: i64,
    length: u64,
    end_us: i64,
}

/// What an event has brought to its end.
#[derive(Debug, Default)]
pub struct Finished {
    pub transaction: Option<Transaction>,
    /// The text of a run, and its length.
    pub run: Option<(i64, u64)>,
}

impl Connection {
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    pub fn take(&mut self, event: &Event, text: i64, readonly: bool) -> Finished {
        Finished {
            run: self.run.take(event, text, readonly),
            transaction: self.take_transaction(event, text),
        }
    }

    /// What is unfinished at the end of the trace counts until its last statement.
    pub fn finish(self) -> Finished {
        Finished {
            transaction: self.transaction.map(Transaction::ended),
            run: self.run.ended(),
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

impl Run {
    /// Takes a statement; returns the run that it ends.
    fn take(&mut self, event: &Event, text: i64, readonly: bool) -> Option<(i64, u64)> {
        let goes_on = readonly && self.text == text && event.start_us - self.end_us < PAUSE_US;
        let ended = if goes_on {
            None
        } else {
            std::mem::take(self).ended()
        };
        if readonly {
            self.text = text;
            self.length += 1;
            self.end_us = event.end_us();
        }
        ended
    }

    fn ended(self) -> Option<(i64, u64)> {
        (self.length >= RUN).then_some((self.text, self.length))
    }
}
