//! Tasks in a SQLite database, reached as applications reach it: by a connection for each worker, by one that all share, or
//! through a pool. A session prepares its statements once or for each use.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use engine::{Connection, EngineError, Statement, Step, locked, unlocked};
use lab::durability::Durability;

use super::sql::{self, COLUMNS, Sql};
use super::{
    Change, Closing, Session, SessionWork, Status, Store, StoreStats, Task, TaskId, damaged,
    missing,
};
use crate::error::{Result, TrialError};
use crate::parameters::Choice;
use crate::target::sqlite::{self, Opening};
use crate::trial::Trial;

/// The file of the database.
const DATABASE: &str = "test.db";

/// Number of idle connections that the pool keeps, as Go's `database/sql` does by default
/// (<https://pkg.go.dev/database/sql#DB.SetMaxIdleConns>).
const IDLE: usize = 2;

choice! {
    /// How workers get a connection.
    enum Connections {
        /// Each has its own.
        PerThread = "per-thread",
        /// All share one.
        Shared = "shared",
        /// Each statement takes one from a pool that opens as many as needed and keeps two idle ones, as
        /// Go's database/sql does by default.
        Pool = "pool",
    }

    /// When statements are prepared.
    enum Statements {
        /// Once per connection.
        Reused = "reused",
        /// For each use.
        EachTime = "each-time",
    }
}

/// A database of tasks.
pub(crate) struct Sqlite {
    opening: Opening,
    path: PathBuf,
    connections: Connections,
    statements: Statements,
    /// Open as long as the store, so that the log is not removed and recreated between sessions. It is also the connection that
    /// all sessions share, if they share one.
    first: Mutex<Connection>,
    idle: Mutex<Vec<Connection>>,
    /// Locked while a worker opens its own connection, one at a time and before the clock starts.
    opening_lock: Mutex<()>,
    busy: AtomicU64,
    opened: AtomicU64,
    opening_ns: AtomicU64,
}

impl Sqlite {
    /// Creates the database with its table and, if `indexed`, an index of the schedule.
    ///
    /// # Errors
    /// SQLite reports an error, or a setting does not take effect.
    pub(crate) fn create(
        trial: &Trial<'_>,
        connections: Connections,
        statements: Statements,
        indexed: bool,
    ) -> Result<Sqlite> {
        let opening = Opening::of(trial)?;
        let path = trial.directory.join(DATABASE);
        let first = opening.open(&path)?;
        first.execute(&sql::create_table("integer"))?;
        if indexed {
            first.execute(sql::CREATE_INDEX)?;
        }
        Ok(Sqlite {
            opening,
            path,
            connections,
            statements,
            first: Mutex::new(first),
            idle: Mutex::default(),
            opening_lock: Mutex::default(),
            busy: AtomicU64::new(0),
            opened: AtomicU64::new(0),
            opening_ns: AtomicU64::new(0),
        })
    }

    fn borrow(&self) -> Result<Loan<'_>> {
        let idle = locked(&self.idle).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let began = Instant::now();
                // Proving the settings would take more statements than applying them.
                let opened = self.opening.open_unproved(&self.path)?;
                let took = began.elapsed().as_nanos() as u64;
                self.opened.fetch_add(1, Ordering::Relaxed);
                self.opening_ns.fetch_add(took, Ordering::Relaxed);
                opened
            }
        };
        Ok(Loan::Pooled { idle: &self.idle, connection: Some(connection) })
    }
}

impl Store for Sqlite {
    fn session(&self, session_work: SessionWork<'_>) -> Result<()> {
        let own = match self.connections {
            Connections::PerThread => {
                let _lock = locked(&self.opening_lock);
                Some(self.opening.open(&self.path)?)
            }
            Connections::Shared | Connections::Pool => None,
        };
        let texts = Sql::texts(self.opening.begin());
        let reused = own.as_ref().filter(|_| self.statements == Statements::Reused);
        let reused = reused.map(|own| texts.iter().map(|sql| own.prepare(sql)).collect());
        session_work(&mut SqliteSession {
            store: self,
            own: own.as_ref(),
            reused: reused.transpose()?,
            texts,
            kept: None,
            transaction: Transaction::Closed,
        })?;
        own.map_or(Ok(()), |own| Ok(own.close()?))
    }

    fn tasks(&self) -> Result<Vec<Task>> {
        let connection = locked(&self.first);
        let mut tasks = Vec::new();
        let mut problem = None;
        connection.for_each_row(&format!("SELECT {COLUMNS} FROM tasks ORDER BY id"), |row| {
            match task(row) {
                Ok(task) => tasks.push(task),
                Err(error) => problem = problem.take().or(Some(error)),
            }
            Ok(())
        })?;
        problem.map_or(Ok(tasks), Err)
    }

    fn durability(&self) -> Result<Durability> {
        let read_back = sqlite::read_back("first", &locked(&self.first))?;
        let of = |name: &str| {
            let value = read_back.pragmas.get(name).map(String::as_str);
            value.ok_or_else(|| TrialError::not_proved(name))
        };
        Ok(durability(of("journal_mode")?, of("synchronous")?))
    }

    fn stats(&self) -> StoreStats {
        let counter = self.opening.counter.as_ref();
        let counts = counter.map(|counter| sqlite::file_metrics(&counter.counts()));
        let counts = counts.unwrap_or_default();
        StoreStats {
            busy: self.busy.load(Ordering::Relaxed),
            opened: self.opened.load(Ordering::Relaxed),
            opening_s: self.opening_ns.load(Ordering::Relaxed) as f64 / 1e9,
            syncs: counts.get("syncs").map(|syncs| *syncs as u64),
            counts,
            ..StoreStats::default()
        }
    }

    fn close(self: Box<Self>) -> Result<Closing> {
        let pooled = sqlite::close_numbered("pool", unlocked(self.idle))?;
        self.opening.prove(&pooled)?;
        let first = unlocked(self.first);
        let wal_bytes = sqlite::wal_size(&self.path)?;
        let read_back = sqlite::read_back("first", &first)?;
        let closing = Instant::now();
        first.close()?;
        let close_s = closing.elapsed().as_secs_f64();
        let metrics = [
            ("wal_bytes", wal_bytes),
            ("close_s", close_s),
            ("db_bytes", sqlite::size(&self.path)?),
        ];
        Ok(Closing {
            connections: [vec![read_back], pooled].concat(),
            metrics: metrics.map(|(name, value)| (name.to_owned(), value)).into(),
            ..Closing::default()
        })
    }
}

/// Returns the durability of these settings (<https://sqlite.org/pragma.html#pragma_synchronous>, `#pragma_journal_mode`). The
/// deletion of a rollback journal is durable only when the directory is synced, which `extra` does.
fn durability(journal_mode: &str, synchronous: &str) -> Durability {
    match (journal_mode, synchronous) {
        ("off" | "memory", _) => Durability::Torn,
        (_, "off") => Durability::Process,
        ("wal", "normal") => Durability::Recent,
        ("wal", _) | (_, "extra") | ("truncate" | "persist", "full") => Durability::Every,
        (_, "full") => Durability::Recent,
        // A rollback journal that is not synced twice may seem complete when it is not.
        _ => Durability::Process,
    }
}

/// Number of times that a statement is retried after SQLITE_BUSY.
const MOST_TRIES: u32 = 10_000;

/// The use of a prepared statement: bind, step, read.
type Work<'w> = &'w mut dyn FnMut(&mut Statement<'_, 'static>) -> Result<(), EngineError>;

/// The connection that a session uses.
enum Loan<'s> {
    Own(&'s Connection),
    Shared(MutexGuard<'s, Connection>),
    Pooled { idle: &'s Mutex<Vec<Connection>>, connection: Option<Connection> },
}

impl Deref for Loan<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match self {
            Loan::Own(connection) => connection,
            Loan::Shared(connection) => connection,
            Loan::Pooled { connection, .. } => connection.as_ref().expect("a connection on loan"),
        }
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let Loan::Pooled { idle, connection } = self else { return };
        let mut idle = locked(idle);
        if idle.len() < IDLE {
            idle.extend(connection.take());
        } else {
            // A surplus connection is closed without blocking the others.
            drop(idle);
            connection.take();
        }
    }
}

/// The state of a session's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transaction {
    /// No transaction is open.
    Closed,
    /// It has executed nothing yet.
    Begun,
    /// It has executed a statement, and a retry would have to begin it anew.
    UnderWay,
}

struct SqliteSession<'s> {
    store: &'s Sqlite,
    /// The connection of a session that has its own.
    own: Option<&'s Connection>,
    /// Its statements, if they are prepared once.
    reused: Option<Vec<Statement<'s, 'static>>>,
    texts: [&'static str; 10],
    /// The connection of the open transaction.
    kept: Option<Loan<'s>>,
    transaction: Transaction,
}

impl<'s> SqliteSession<'s> {
    fn lend(&self) -> Result<Loan<'s>> {
        match (self.own, self.store.connections) {
            (Some(own), _) => Ok(Loan::Own(own)),
            (None, Connections::Pool) => self.store.borrow(),
            (None, _) => Ok(Loan::Shared(locked(&self.store.first))),
        }
    }

    /// Has `work` use a statement, on the connection of the open transaction if there is one. Returns the number of rows that
    /// the connection changed last.
    fn run_once(&mut self, sql: Sql, work: Work<'_>) -> Result<i64> {
        if let (Some(statements), Some(own)) = (&mut self.reused, self.own) {
            let statement = &mut statements[sql as usize];
            let done = work(statement);
            // `work` has returned the error of the statement; the next use begins anew either way.
            let reset = statement.reset();
            done?;
            reset?;
            return Ok(own.changes());
        }
        let lent;
        let connection = match &self.kept {
            Some(kept) => kept,
            None => {
                lent = self.lend()?;
                &lent
            }
        };
        let mut statement = connection.prepare(self.texts[sql as usize])?;
        work(&mut statement)?;
        Ok(connection.changes())
    }

    /// Runs a statement. If a lock refuses it, the refusal is counted, and the statement is retried unless its transaction would
    /// have to be begun anew.
    fn run(&mut self, sql: Sql, work: Work<'_>) -> Result<i64> {
        let mut tries = 0;
        loop {
            match self.run_once(sql, work) {
                Err(TrialError::Engine(error)) if error.is_busy() => {
                    self.store.busy.fetch_add(1, Ordering::Relaxed);
                    tries += 1;
                    if self.transaction == Transaction::UnderWay || tries > MOST_TRIES {
                        return Err(error.into());
                    }
                }
                other => {
                    if self.transaction == Transaction::Begun {
                        self.transaction = Transaction::UnderWay;
                    }
                    return other;
                }
            }
        }
    }

    /// Runs a statement that must change one row.
    fn change(&mut self, sql: Sql, id: TaskId, work: Work<'_>) -> Result<()> {
        match self.run(sql, work)? {
            1 => Ok(()),
            _ => Err(missing(id)),
        }
    }

    fn set(&mut self, sql: Sql, id: TaskId, value: &str) -> Result<()> {
        let key = id.to_string();
        self.change(sql, id, &mut |statement| {
            statement.bind_text(1, &key)?;
            statement.bind_text(2, value)?;
            statement.run()
        })
    }

    /// Returns the task of a statement, if any.
    fn one(&mut self, sql: Sql, bind: Work<'_>) -> Result<Option<Task>> {
        let mut found = Ok(None);
        self.run(sql, &mut |statement| {
            bind(statement)?;
            found = Ok(None);
            if statement.step()? == Step::Row {
                found = task(statement).map(Some);
                // An UPDATE commits at its end.
                while statement.step()? == Step::Row {}
            }
            Ok(())
        })?;
        found
    }
}

impl Session for SqliteSession<'_> {
    fn insert(&mut self, task: &Task) -> Result<()> {
        let key = task.id.to_string();
        self.change(Sql::Insert, task.id, &mut |statement| {
            statement.bind_text(1, &key)?;
            statement.bind_text(2, task.status.name())?;
            statement.bind_text(3, &task.cmd)?;
            statement.bind_text(4, &task.args)?;
            statement.bind_i64(5, task.scheduled_at)?;
            statement.bind_text(6, &task.output)?;
            statement.run()
        })
    }

    fn update(&mut self, task: &Task, change: Change<'_>) -> Result<()> {
        match change {
            Change::Status => self.set(Sql::SetStatus, task.id, task.status.name()),
            Change::Output => self.set(Sql::SetOutput, task.id, &task.output),
            Change::Appended(more) => self.set(Sql::AppendOutput, task.id, more),
        }
    }

    fn delete(&mut self, task: &Task) -> Result<()> {
        let key = task.id.to_string();
        self.change(Sql::Delete, task.id, &mut |statement| {
            statement.bind_text(1, &key)?;
            statement.run()
        })
    }

    fn get(&mut self, id: TaskId) -> Result<Option<Task>> {
        let key = id.to_string();
        self.one(Sql::Get, &mut |statement| statement.bind_text(1, &key))
    }

    fn list(&mut self, status: Status, limit: usize) -> Result<Vec<TaskId>> {
        let mut found = Vec::new();
        self.run(Sql::List, &mut |statement| {
            found.clear();
            statement.bind_text(1, status.name())?;
            statement.bind_i64(2, i64::try_from(limit).unwrap_or(i64::MAX))?;
            while statement.step()? == Step::Row {
                found.push(TaskId::parse(statement.column_text(0)?));
            }
            Ok(())
        })?;
        let ids: Option<Vec<TaskId>> = found.into_iter().collect();
        ids.ok_or_else(|| damaged("an id"))
    }

    fn claim(&mut self, now: i64) -> Result<Option<Task>> {
        self.one(Sql::Claim, &mut |statement| statement.bind_i64(1, now))
    }

    fn begin(&mut self) -> Result<()> {
        self.kept = Some(self.lend()?);
        self.run(Sql::Begin, &mut |statement| statement.run())?;
        self.transaction = Transaction::Begun;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.transaction = Transaction::Closed;
        self.run(Sql::Commit, &mut |statement| statement.run())?;
        self.kept = None;
        Ok(())
    }
}

/// Returns the task in the current row of a statement.
fn task(row: &Statement<'_, '_>) -> Result<Task> {
    let text = |column| -> Result<String> { Ok(row.column_text(column)?.to_owned()) };
    Ok(Task {
        id: TaskId::parse(row.column_text(0)?).ok_or_else(|| damaged("an id"))?,
        status: Status::named(row.column_text(1)?).ok_or_else(|| damaged("a status"))?,
        cmd: text(2)?,
        args: text(3)?,
        scheduled_at: row.column_i64(4),
        output: text(5)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_settings_undertake_follows_the_documentation() {
        for (journal_mode, synchronous, wanted) in [
            ("wal", "full", Durability::Every),
            ("wal", "extra", Durability::Every),
            ("wal", "normal", Durability::Recent),
            ("wal", "off", Durability::Process),
            ("delete", "extra", Durability::Every),
            ("delete", "full", Durability::Recent),
            ("truncate", "full", Durability::Every),
            ("delete", "normal", Durability::Process),
            ("memory", "full", Durability::Torn),
            ("off", "extra", Durability::Torn),
        ] {
            assert_eq!(
                durability(journal_mode, synchronous),
                wanted,
                "{journal_mode} {synchronous}"
            );
        }
    }
}
