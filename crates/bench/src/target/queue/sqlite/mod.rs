//! Tasks in a SQLite database, reached as applications reach it: by a connection for each worker, by
//! one that all share, or through a pool.

mod session;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use engine::Connection;
use lab::durability::Durability;

use self::session::{EachTime, Reused, SqliteSession, task};
use super::sql::{self, COLUMNS};
use super::{Closing, Job, Notes, Store, Task};
use crate::error::TrialError;
use crate::locks::{locked, unlocked};
use crate::target::sqlite::{self, Opening};
use crate::trial::Trial;

/// The file of the database.
const DATABASE: &str = "test.db";

/// Connections that the pool keeps while nobody uses them, as Go's `database/sql` does unless told
/// otherwise (<https://pkg.go.dev/database/sql#DB.SetMaxIdleConns>).
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
}

choice! {
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
    /// Open as long as the store, so that the log is not removed and made again between sessions.
    /// All sessions share it where they share one.
    first: Mutex<Connection>,
    idle: Mutex<Vec<Connection>>,
    /// One connection is opened at a time, outside the clock, where each worker has its own.
    door: Mutex<()>,
    busy: AtomicU64,
    opened: AtomicU64,
    opening_ns: AtomicU64,
}

impl Sqlite {
    /// Makes the database with its table, and an index of the schedule where `indexed`.
    ///
    /// # Errors
    /// SQLite's; a setting that does not take effect.
    pub(crate) fn create(
        trial: &Trial<'_>,
        connections: Connections,
        statements: Statements,
        indexed: bool,
    ) -> Result<Sqlite, TrialError> {
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
            door: Mutex::default(),
            busy: AtomicU64::new(0),
            opened: AtomicU64::new(0),
            opening_ns: AtomicU64::new(0),
        })
    }

    fn own(&self) -> Result<Connection, TrialError> {
        let _door = locked(&self.door);
        self.opening.open(&self.path)
    }

    /// Has `job` use a session that prepares statements each time, on connections that `lend` gives.
    fn prepared_each_time<L: Deref<Target = Connection>>(
        &self,
        lend: impl FnMut() -> Result<L, TrialError>,
        job: Job<'_>,
    ) -> Result<(), TrialError> {
        let each_time = EachTime::new(lend, self.opening.begin());
        job(&mut SqliteSession::new(each_time, &self.busy))
    }

    fn lend(&self) -> Result<Pooled<'_>, TrialError> {
        let idle = locked(&self.idle).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let began = Instant::now();
                // Proving the settings would take more statements than applying them does.
                let opened = self.opening.open_unproved(&self.path)?;
                let took = began.elapsed().as_nanos() as u64;
                self.opened.fetch_add(1, Ordering::Relaxed);
                self.opening_ns.fetch_add(took, Ordering::Relaxed);
                opened
            }
        };
        Ok(Pooled { idle: &self.idle, connection: Some(connection) })
    }
}

impl Store for Sqlite {
    fn session(&self, job: Job<'_>) -> Result<(), TrialError> {
        match (self.connections, self.statements) {
            (Connections::PerThread, Statements::Reused) => {
                let connection = self.own()?;
                let reused = Reused::prepare(&connection, self.opening.begin())?;
                job(&mut SqliteSession::new(reused, &self.busy))?;
                Ok(connection.close()?)
            }
            (Connections::PerThread, Statements::EachTime) => {
                let connection = self.own()?;
                self.prepared_each_time(|| Ok(&connection), job)?;
                Ok(connection.close()?)
            }
            (Connections::Shared, _) => self.prepared_each_time(|| Ok(locked(&self.first)), job),
            (Connections::Pool, _) => self.prepared_each_time(|| self.lend(), job),
        }
    }

    fn tasks(&self) -> Result<Vec<Task>, TrialError> {
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

    fn durability(&self) -> Result<Durability, TrialError> {
        let read_back = sqlite::read_back("first", &locked(&self.first))?;
        let of = |name: &str| {
            let value = read_back.pragmas.get(name).map(String::as_str);
            value.ok_or_else(|| TrialError::NotProved(name.to_owned()))
        };
        Ok(durability(of("journal_mode")?, of("synchronous")?))
    }

    fn notes(&self) -> Notes {
        let counter = self.opening.counter.as_ref();
        let counts = counter.map(|counter| sqlite::file_metrics(&counter.counts()));
        let counts = counts.unwrap_or_default();
        Notes {
            busy: self.busy.load(Ordering::Relaxed),
            opened: self.opened.load(Ordering::Relaxed),
            opening_s: self.opening_ns.load(Ordering::Relaxed) as f64 / 1e9,
            syncs: counts.get("syncs").map(|syncs| *syncs as u64),
            counts,
            ..Notes::default()
        }
    }

    fn close(self: Box<Self>) -> Result<Closing, TrialError> {
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

/// What these settings undertake (<https://sqlite.org/pragma.html#pragma_synchronous>,
/// `#pragma_journal_mode`): a rollback journal that is deleted counts as a commit only when the
/// directory is synced, which `extra` does.
fn durability(journal_mode: &str, synchronous: &str) -> Durability {
    match (journal_mode, synchronous) {
        ("off" | "memory", _) => Durability::Torn,
        (_, "off") => Durability::Process,
        ("wal", "normal") => Durability::Recent,
        ("wal", _) | (_, "extra") | ("truncate" | "persist", "full") => Durability::Every,
        (_, "full") => Durability::Recent,
        // A rollback journal that is not synced twice may be taken for whole when it is not.
        _ => Durability::Process,
    }
}

/// A connection on loan from the pool.
struct Pooled<'p> {
    idle: &'p Mutex<Vec<Connection>>,
    /// Taken when it is given back.
    connection: Option<Connection>,
}

impl Deref for Pooled<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        // It is there until the loan is dropped.
        self.connection.as_ref().expect("a connection on loan")
    }
}

impl Drop for Pooled<'_> {
    fn drop(&mut self) {
        let mut idle = locked(self.idle);
        if idle.len() < IDLE {
            idle.extend(self.connection.take());
        } else {
            // The one too many is closed without holding up the others.
            drop(idle);
            self.connection.take();
        }
    }
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
