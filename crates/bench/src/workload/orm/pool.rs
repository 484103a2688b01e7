//! The connections of threads. As in ActiveRecord's pool, a thread takes one that is idle or opens
//! another, and gives it back in the end; and it waits for locks as ActiveRecord's threads do.

use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use engine::{Connection, EngineError};
use lab::trial::ReadBack;

use crate::error::Result;
use crate::locks::{locked, unlocked};
use crate::target::sqlite::{self, Opening};
use crate::trial::Trial;

/// Between two tries for a lock, as in `drivers/ruby/orm_target.rb`.
const PAUSE: Duration = Duration::from_micros(500);

/// Connections that are lent to one thread at a time.
pub(super) struct Pool {
    opening: Opening,
    path: PathBuf,
    /// How long a thread waits for a lock.
    busy_timeout: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    /// Returns a pool without a connection yet, for the database at `path`.
    ///
    /// # Errors
    /// As for [`Opening::of`].
    pub(super) fn of(trial: &Trial<'_>, path: PathBuf) -> Result<Pool> {
        Ok(Pool {
            opening: Opening::of(trial)?,
            path,
            busy_timeout: sqlite::busy_timeout(trial.settings),
            idle: Mutex::default(),
        })
    }

    /// Has `work` done on a connection that nobody else uses.
    ///
    /// # Errors
    /// When there can be no connection, or what `work` returns.
    pub(super) fn lend<R>(&self, work: impl FnOnce(&Connection) -> Result<R>) -> Result<R> {
        let mut connection = self.take()?;
        wait_evenly(&mut connection, self.busy_timeout)?;
        let done = work(&connection)?;
        // The handler took the place of busy_timeout, which is read back when the clock has stopped.
        connection.busy_timeout(self.busy_timeout)?;
        locked(&self.idle).push(connection);
        Ok(done)
    }

    fn take(&self) -> Result<Connection> {
        let idle = locked(&self.idle).pop();
        match idle {
            Some(connection) => Ok(connection),
            // Within the clock: proving the settings would take more statements than applying them does.
            None => self.opening.open_unproved(&self.path),
        }
    }

    /// Closes the connections and gives what they have become.
    ///
    /// # Errors
    /// SQLite's; the first setting that was not in force, with the connection.
    pub(super) fn close(self) -> Result<Vec<ReadBack>> {
        let closed = sqlite::close_numbered("thread", unlocked(self.idle))?;
        self.opening.prove(&closed)?;
        Ok(closed)
    }
}

/// Has the connection wait for locks in even steps up to the limit, as the driver for Ruby must wait:
/// SQLite's own pauses grow to 100 ms, and the floor would differ from what stands on it by its pauses.
fn wait_evenly(connection: &mut Connection, limit: Duration) -> Result<(), EngineError> {
    let mut since = Instant::now();
    connection.busy_handler(move |calls| {
        if calls == 0 {
            since = Instant::now();
        }
        thread::sleep(PAUSE);
        since.elapsed() < limit
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Library, Source};
    use lab::level::Settings;
    use std::path::Path;
    use std::sync::Arc;

    fn pool(directory: &Path, busy_timeout: i64) -> Pool {
        let settings = Settings::from([("busy_timeout".to_owned(), busy_timeout.into())]);
        let trial = Trial::detached(
            &settings,
            &Arc::new(Library::load(&Source::Embedded).unwrap()),
            directory,
        );
        Pool::of(&trial, directory.join("test.db")).unwrap()
    }

    #[test]
    fn a_connection_that_was_given_back_is_lent_again() {
        let directory = tempfile::tempdir().unwrap();
        let pool = pool(directory.path(), 5_000);
        // Only the connection that made a temporary table sees it.
        for sql in ["CREATE TEMP TABLE seen(x)", "SELECT * FROM temp.seen"] {
            pool.lend(|connection| Ok(connection.execute(sql)?)).unwrap();
        }
        assert_eq!(pool.close().unwrap().len(), 1);
    }

    #[test]
    fn a_thread_waits_as_long_as_busy_timeout_says_and_that_is_in_force_afterwards() {
        let directory = tempfile::tempdir().unwrap();
        let pool = pool(directory.path(), 30);
        let waited = pool.lend(|holder| {
            holder.execute("CREATE TABLE t(x); BEGIN IMMEDIATE")?;
            let asked = Instant::now();
            let refused = pool.lend(|other| Ok(other.execute("BEGIN IMMEDIATE").is_err()))?;
            assert!(refused);
            let waited = asked.elapsed();
            holder.execute("COMMIT")?;
            Ok(waited)
        });
        assert!(waited.unwrap() >= Duration::from_millis(30));
        let closed = pool.close().unwrap();
        let names = closed.iter().map(|one| &one.connection[..]);
        assert_eq!(names.collect::<Vec<_>>(), ["thread 1", "thread 2"]);
        for one in &closed {
            assert_eq!(one.pragmas["busy_timeout"], "30");
        }
    }
}
