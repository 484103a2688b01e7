//! One of the two clients: performs actions and checks what it reads.

use super::scenario::Action;
use crate::error::is_of_harness;
use engine::{Connection, EngineError, Library, OpenFlags, locked};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The pages of data that each transaction changes, as rows of one page each.
pub(super) const ROWS: u32 = 6;

/// The size of a page: the smallest, so that a transaction changes many pages with little work.
const PAGE_SIZE: u32 = 512;

/// Pages in a connection's cache: fewer than a transaction changes, so that some are spilled.
const CACHE_PAGES: u32 = 4;

/// `SQLITE_PROTOCOL`: a lock of the log that never came free, however often it was tried
/// (<https://sqlite.org/rescode.html#protocol>). It is another form of busy.
const PROTOCOL: i32 = 15;

/// Returns the statements that make the data.
pub(super) fn schema(journal_mode: &str) -> String {
    format!(
        "PRAGMA page_size = {PAGE_SIZE};
         PRAGMA journal_mode = {journal_mode};
         BEGIN;
         CREATE TABLE data(id INTEGER PRIMARY KEY, v INTEGER NOT NULL, body BLOB NOT NULL);
         CREATE TABLE log(who TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (who, n)) WITHOUT ROWID;
         WITH RECURSIVE row(id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM row WHERE id < {ROWS})
             INSERT INTO data SELECT id, 0, randomblob(400) FROM row;
         COMMIT"
    )
}

/// Rebuilds the log of transactions in another tree, with the same rows.
const REBUILD: &str = "BEGIN IMMEDIATE;
     CREATE TABLE moved(who TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (who, n)) WITHOUT ROWID;
     INSERT INTO moved SELECT who, n FROM log;
     DROP TABLE log;
     ALTER TABLE moved RENAME TO log;
     COMMIT";

/// Returns the statements of a transaction: every row counts the transactions so far, and the log names them.
pub(super) fn changes(who: &str, number: u32) -> String {
    format!("UPDATE data SET v = v + 1; INSERT INTO log VALUES ('{who}', {number})")
}

/// A transaction that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Transaction {
    pub(super) who: &'static str,
    pub(super) number: u32,
}

/// The transactions of a play: under way, or acknowledged where it is true. Both connections write in it, one inside a call
/// of the other, so it is never locked while SQLite runs.
#[derive(Default)]
pub(super) struct TransactionLog(Mutex<BTreeMap<Transaction, bool>>);

impl TransactionLog {
    pub(super) fn begin(&self, transaction: Transaction) {
        locked(&self.0).insert(transaction, false);
    }

    pub(super) fn acknowledge(&self, transaction: Transaction) {
        locked(&self.0).insert(transaction, true);
    }

    pub(super) fn withdraw(&self, transaction: Transaction) {
        locked(&self.0).remove(&transaction);
    }

    /// How many were acknowledged or are under way: the most that anyone may see.
    pub(super) fn begun(&self) -> i64 {
        locked(&self.0).len() as i64
    }

    /// Those that were acknowledged, in order.
    pub(super) fn acknowledged(&self) -> Vec<Transaction> {
        let entries = locked(&self.0);
        entries.iter().filter(|(_, done)| **done).map(|(transaction, _)| *transaction).collect()
    }
}

/// A snapshot of the data, read by one query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    least: i64,
    most: i64,
    rows: i64,
    logged: i64,
}

impl Seen {
    /// Reads everything in one statement, so in one snapshot.
    pub(super) fn read(connection: &Connection) -> Result<Seen, EngineError> {
        let sql = "SELECT min(v), max(v), count(*), sum(length(body)), (SELECT count(*) FROM log) FROM data";
        let seen = connection.query_rows(sql, |row| {
            let [least, most, rows, logged] = [0, 1, 2, 4].map(|column| row.column_i64(column));
            Ok(Seen { least, most, rows, logged })
        })?;
        Ok(seen.into_iter().next().unwrap_or_default())
    }

    /// Returns the number of transactions it shows, if it is one state.
    pub(super) fn transactions(self) -> Result<i64, String> {
        let Seen { least, most, rows, logged } = self;
        if least == most && most == logged && rows == i64::from(ROWS) {
            Ok(logged)
        } else {
            Err(format!(
                "{rows} rows say that there were {least} to {most} transactions, the log says {logged}"
            ))
        }
    }
}

/// The outcome of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was done.
    Done,
    /// Another connection held a lock, and the action was abandoned.
    Busy,
    /// It violated an invariant.
    Wrong(String),
    /// SQLite did not understand it: that is wrong, unless it never does.
    NotUnderstood(String),
    /// SQLite refused it for a reason unrelated to the database.
    Unable(String),
}

impl Outcome {
    /// Returns the outcome of an action that only damage, or the harness, prevents.
    pub(super) fn failed(trouble: CheckError) -> Outcome {
        match trouble {
            CheckError::Sqlite(error) if is_of_harness(&error) => {
                Outcome::Unable(error.to_string())
            }
            CheckError::Sqlite(error) => Outcome::Wrong(error.to_string()),
            CheckError::Seen(what) => Outcome::Wrong(what),
        }
    }
}

/// The transaction that a connection has open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    Nothing,
    /// A transaction that reads, with the number of transactions that it saw.
    Reading(i64),
    /// A transaction that has written.
    Writing(Transaction),
}

/// A connection and the state of its work.
pub(super) struct Client {
    pub(super) who: &'static str,
    pub(super) library: Arc<Library>,
    pub(super) vfs: String,
    pub(super) database: PathBuf,
    pub(super) journal_mode: &'static str,
    pub(super) connection: Option<Connection>,
    pub(super) next: u32,
    pub(super) open: Open,
}

impl Client {
    /// Acts. An action that another connection's lock prevents is given up as an application would: its
    /// transaction is rolled back, but for a commit, which stays to be tried again.
    pub(super) fn action(&mut self, action: Action, log: &TransactionLog) -> Outcome {
        let outcome = match action {
            Action::Open => self.open(),
            Action::Write => self.write(log),
            // Changes the version on the first page, which holds no data.
            Action::Touch => self.run(|connection| connection.execute("PRAGMA user_version = 1")),
            Action::Read => self.read(log),
            Action::BeginRead => self.begin_read(log),
            Action::WriteAfterRead => self.write_after_read(log),
            Action::EndRead => self.end_read(),
            Action::BeginWrite => self.begin_write(log),
            Action::Commit => self.commit(log),
            Action::Rollback => self.rollback(log),
            Action::Rebuild => self.rebuild(),
            Action::Backup => self.backup(log),
            Action::Checkpoint(mode) => {
                self.run(|connection| connection.checkpoint(mode).map(drop))
            }
        };
        match outcome {
            Ok(()) => Outcome::Done,
            Err(CheckError::Sqlite(error)) if is_busy(&error) => Outcome::Busy,
            Err(CheckError::Sqlite(error)) if error.is_not_understood() => {
                Outcome::NotUnderstood(error.to_string())
            }
            Err(trouble) => Outcome::failed(trouble),
        }
    }

    /// Ends the open transaction, as far as locks allow.
    pub(super) fn end(&mut self, log: &TransactionLog) -> Outcome {
        match self.open {
            Open::Nothing => Outcome::Done,
            Open::Reading(_) => self.action(Action::EndRead, log),
            Open::Writing(_) => self.action(Action::Commit, log),
        }
    }

    /// Closes the connection.
    pub(super) fn close(&mut self) -> Outcome {
        match self.connection.take().map(Connection::close) {
            None | Some(Ok(())) => Outcome::Done,
            Some(Err(error)) => Outcome::failed(error.into()),
        }
    }

    fn run<R>(
        &self,
        work: impl FnOnce(&Connection) -> Result<R, EngineError>,
    ) -> Result<R, CheckError> {
        match &self.connection {
            Some(connection) => work(connection).map_err(CheckError::Sqlite),
            None => Err(CheckError::Seen("the connection is not open".to_owned())),
        }
    }

    fn open(&mut self) -> Result<(), CheckError> {
        let connection =
            Connection::open(&self.library, &self.database, OpenFlags::default(), Some(&self.vfs))?;
        let connection = self.connection.insert(connection);
        connection.execute(&format!("PRAGMA cache_size = {CACHE_PAGES}"))?;
        // The log is a property of the file; the other modes are one of the connection.
        if self.journal_mode != "wal" {
            connection.execute(&format!("PRAGMA journal_mode = {}", self.journal_mode))?;
        }
        Ok(())
    }

    fn write(&mut self, log: &TransactionLog) -> Result<(), CheckError> {
        self.begin_write(log)?;
        self.commit(log).inspect_err(|_| self.abandon(log))
    }

    /// The log of transactions moves to another tree.
    fn rebuild(&self) -> Result<(), CheckError> {
        let rebuilt = self.run(|connection| connection.execute(REBUILD));
        rebuilt.inspect_err(|_| {
            let _ = self.run(|connection| {
                if connection.in_transaction() { connection.execute("ROLLBACK") } else { Ok(()) }
            });
        })
    }

    fn begin_write(&mut self, log: &TransactionLog) -> Result<(), CheckError> {
        self.run(|connection| connection.execute("BEGIN IMMEDIATE"))?;
        self.change(log)
    }

    /// Writes in the transaction that is open.
    fn change(&mut self, log: &TransactionLog) -> Result<(), CheckError> {
        let transaction = Transaction { who: self.who, number: self.next };
        self.next += 1;
        log.begin(transaction);
        self.open = Open::Writing(transaction);
        self.run(|connection| connection.execute(&changes(self.who, transaction.number)))
            .inspect_err(|_| self.abandon(log))
    }

    fn commit(&mut self, log: &TransactionLog) -> Result<(), CheckError> {
        let Open::Writing(transaction) = self.open else {
            // Its transaction was given up before.
            return Ok(());
        };
        self.run(|connection| connection.execute("COMMIT"))?;
        log.acknowledge(transaction);
        self.open = Open::Nothing;
        Ok(())
    }

    fn rollback(&mut self, log: &TransactionLog) -> Result<(), CheckError> {
        let Open::Writing(transaction) = self.open else { return Ok(()) };
        self.run(|connection| connection.execute("ROLLBACK"))?;
        log.withdraw(transaction);
        self.open = Open::Nothing;
        Ok(())
    }

    /// Gives up the transaction that is open. SQLite may have rolled it back itself.
    fn abandon(&mut self, log: &TransactionLog) {
        if let Some(connection) = &self.connection
            && connection.in_transaction()
        {
            // The check of the database finds what a failed rollback leaves.
            let _ = connection.execute("ROLLBACK");
        }
        if let Open::Writing(transaction) = self.open {
            log.withdraw(transaction);
        }
        self.open = Open::Nothing;
    }

    fn read(&mut self, log: &TransactionLog) -> Result<(), CheckError> {
        let count = self.count(log)?;
        match self.open {
            Open::Reading(before) if before != count => Err(CheckError::Seen(format!(
                "a transaction that saw {before} transactions now sees {count}"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the number of transactions that the data show.
    fn count(&mut self, log: &TransactionLog) -> Result<i64, CheckError> {
        let least = log.acknowledged().len() as i64;
        let seen = self.run(Seen::read)?;
        self.checked(least, seen, log)
    }

    /// Checks a copy made page by page: it must be one state, at least as new as when the copy was begun.
    fn backup(&mut self, log: &TransactionLog) -> Result<(), CheckError> {
        let least = log.acknowledged().len() as i64;
        let seen = self.run(|connection| {
            let in_memory = Path::new(":memory:");
            let copy = Connection::open(&self.library, in_memory, OpenFlags::default(), None)?;
            connection.copy_by_pages(&copy)?;
            Seen::read(&copy)
        })?;
        self.checked(least, seen, log).map(drop)
    }

    /// Returns the number of transactions in a snapshot, after checking it: at least `least` were
    /// acknowledged before.
    fn checked(&self, least: i64, seen: Seen, log: &TransactionLog) -> Result<i64, CheckError> {
        let count = seen.transactions().map_err(CheckError::Seen)?;
        let most = log.begun();
        let in_snapshot = matches!(self.open, Open::Reading(_));
        if !in_snapshot && count < least {
            return Err(CheckError::Seen(format!(
                "{least} transactions were acknowledged, but only {count} are seen"
            )));
        }
        if count > most {
            return Err(CheckError::Seen(format!(
                "{count} transactions are seen, but only {most} were begun"
            )));
        }
        Ok(count)
    }

    fn begin_read(&mut self, log: &TransactionLog) -> Result<(), CheckError> {
        self.run(|connection| connection.execute("BEGIN"))?;
        let count = self.count(log).inspect_err(|_| self.abandon(log))?;
        self.open = Open::Reading(count);
        Ok(())
    }

    fn end_read(&mut self) -> Result<(), CheckError> {
        if let Open::Reading(_) = self.open {
            self.open = Open::Nothing;
            self.run(|connection| connection.execute("COMMIT"))?;
        }
        Ok(())
    }

    fn write_after_read(&mut self, log: &TransactionLog) -> Result<(), CheckError> {
        if !matches!(self.open, Open::Reading(_)) {
            return Ok(());
        }
        self.change(log)?;
        self.commit(log).inspect_err(|_| self.abandon(log))
    }
}

/// Why an action failed.
pub(super) enum CheckError {
    Sqlite(EngineError),
    /// The data read are wrong.
    Seen(String),
}

impl From<EngineError> for CheckError {
    fn from(error: EngineError) -> CheckError {
        CheckError::Sqlite(error)
    }
}

fn is_busy(error: &EngineError) -> bool {
    error.is_busy() || error.as_sqlite().is_some_and(|error| error.primary() == PROTOCOL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_two_states_are_distinguished_from_those_of_one() {
        let seen = |least, most, logged| Seen { least, most, logged, rows: i64::from(ROWS) };
        assert_eq!(seen(3, 3, 3).transactions(), Ok(3));
        assert!(seen(2, 3, 3).transactions().is_err());
        assert!(seen(3, 3, 2).transactions().is_err());
    }
}
