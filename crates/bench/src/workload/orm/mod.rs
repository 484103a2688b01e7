//! The operations of a benchmark of object-relational mappers, as plain SQL: the floor, with which a
//! mapper is compared. `drivers/ruby/orm*.rb` hold them for ActiveRecord.
//!
//! Eighteen operations, each by itself and within one transaction, and two with threads: thirty-eight
//! in all. Each is timed apart; making its rows and checking its result are outside the clock, and
//! every table is empty between two operations. The article's code could not be found, but its figures
//! fit one pass of each operation over the counts below with n = 32, and show what its mode called
//! *faithful* here keeps: one object is created where many are meant, a relation is built and never
//! executed, two operations touch a single object within a transaction, and each thread is waited for
//! before the next begins. The mode *corrected* does what was meant, with threads at the same time.
//!
//! The connections of threads. As in ActiveRecord's pool, a thread takes one that is idle or opens
//! another, and gives it back in the end; and it waits for locks as ActiveRecord's threads do.

mod operations;

use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use lab::trial::{BindingMark, ReadBack};

use self::operations::{Operation, prepare};
use crate::target::sqlite::Opening;
use crate::workload::prelude::*;

/// The workload `orm`.
pub(super) struct Orm;

choice! {
    /// Treatment of flaws in the article's own code.
    enum Mode {
        /// What the article did, flaws included.
        Faithful = "faithful",
        /// What it meant, with threads at the same time.
        Corrected = "corrected",
    }

    /// Library that does the work.
    enum Target {
        /// SQLite.
        Sqlite = "sqlite",
        /// A PostgreSQL server, through ActiveRecord only.
        Postgres = "postgres",
    }
}

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Size from which all counts follow: 100 n objects removed, 50 n saved, n × n associated, n threads.
        n: usize = 32, 2..=1_000;
        /// Which version of the operations runs.
        mode: Mode = Mode::Faithful;
        /// What is driven.
        target: Target = Target::Sqlite;
    }
}

/// The operations in their order, and whether each only reads.
const OPERATIONS: [(&str, bool); 20] = [
    ("creation", false),
    ("select", true),
    ("select-by-pk", true),
    ("select-by-attr", true),
    ("select-and-save", false),
    ("destruction", false),
    ("associated-creation", false),
    ("eager-each-1-1", true),
    ("eager-joined-1-1", true),
    ("eager-each-1-n", true),
    ("eager-joined-1-n", true),
    ("eager-each-1-n-n", true),
    ("eager-joined-1-n-n", true),
    ("lazy-1-1", true),
    ("lazy-1-n", true),
    ("select-json-nested", true),
    ("update-json-nested", false),
    ("update-json", false),
    ("light-threading", false),
    ("heavy-threading", false),
];

/// End of the name of an operation within one transaction.
const IN_TRANSACTION: &str = "-txn";

/// PRAGMAs whose numbers are reported, so that claims can be made about them.
const NUMBERS: [&str; 7] = [
    "busy_timeout", "cache_size", "cache_spill", "foreign_keys", "journal_size_limit", "mmap_size",
    "synchronous",
];

/// In addition, since claims are about numbers: 1 where the journal mode is WAL, else 0.
const WAL: &str = "journal_mode_wal";

fn is_threaded(operation: &str) -> bool {
    operation.ends_with("-threading")
}

/// Returns every timed part: thirty-eight.
fn parts() -> Vec<String> {
    let both = |(name, _): &(&str, bool)| {
        let plain = (*name).to_owned();
        if is_threaded(name) { vec![plain] } else { vec![plain, format!("{name}{IN_TRANSACTION}")] }
    };
    OPERATIONS.iter().flat_map(both).collect()
}

impl Declared for Orm {
    const NAME: &'static str = "orm";
    const METRIC: &'static str = "seconds";
    const ABOUT: &'static str = "Thirty-eight operations of an object-relational mapper: objects created, found, saved and removed, with associations, JSON and threads.";
    const COUNTS: bool = false;
    type Parameters = Parameters;

    fn phases() -> Vec<String> {
        let sums = ["reads", "writes"].map(str::to_owned);
        let numbers = NUMBERS.into_iter().chain([WAL]).map(str::to_owned);
        parts().into_iter().chain(sums).chain(numbers).collect()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        if parameters.target == Target::Postgres {
            return Err(TrialError::cannot_run(
                "the native driver runs these operations on SQLite only; use driver = \"ruby-activerecord\" for PostgreSQL",
            ));
        }
        if parameters.mode == Mode::Corrected {
            refuse_single_threaded(trial)?;
        }
        let suite = Suite::open(trial, *parameters)?;
        operations::create_tables(&suite.connection)?;
        let mut measured = suite.run(trial.phase)?;
        suite.finish(trial, &mut measured)?;
        Ok(measured)
    }
}

/// Context of the operations.
struct Suite {
    parameters: Parameters,
    /// How its transactions begin.
    begin: &'static str,
    connection: Connection,
    /// For threads, which have connections of their own.
    pool: Pool,
}

const DATABASE: &str = "test.db";

impl Suite {
    fn open(trial: &Trial<'_>, parameters: Parameters) -> Result<Suite> {
        let path = trial.directory.join(DATABASE);
        Ok(Suite {
            parameters,
            begin: sqlite::begin_statement(trial.settings),
            connection: sqlite::open(trial, &path)?,
            pool: Pool::of(trial, path)?,
        })
    }

    fn run(&self, phase: &mut dyn FnMut(&str)) -> Result<Measured> {
        let mut measured = Measured::default();
        let mut all = Elapsed::default();
        for (name, only_reads) in OPERATIONS {
            for in_transaction in [false, true] {
                if in_transaction && is_threaded(name) {
                    continue;
                }
                let ending = if in_transaction { IN_TRANSACTION } else { "" };
                let part = format!("{name}{ending}");
                phase(&part);
                let operation = prepare(self, name, in_transaction)?;
                let elapsed = self.time(&part, operation, in_transaction, &mut measured)?;
                let sum = if only_reads { "seconds.reads" } else { "seconds.writes" };
                add(&mut measured, sum, elapsed.seconds);
                all.add(elapsed);
            }
        }
        measured.metrics.extend(all.times().metrics);
        Ok(measured)
    }

    fn time(
        &self,
        part: &str,
        operation: Operation<'_>,
        in_transaction: bool,
        measured: &mut Measured,
    ) -> Result<Elapsed> {
        let Operation { work, wanted, after, rows } = operation;
        let watch = Stopwatch::start()?;
        if in_transaction {
            self.connection.execute(self.begin)?;
        }
        let found = work()?;
        if in_transaction {
            self.connection.execute("COMMIT")?;
        }
        let elapsed = watch.stop()?;
        expect(&format!("what {part} found"), found, wanted)?;
        for (sql, wanted) in after {
            let found = self.connection.query_i64(sql)?;
            expect(&format!("after {part}, the answer to {sql}"), found, wanted)?;
        }
        operations::empty_tables(&self.connection)?;
        set(measured, &format!("seconds.{part}"), elapsed.seconds);
        if rows > 0 {
            let each = elapsed.seconds * 1e9 / rows as f64;
            set(measured, &format!("ns_per_row.{part}"), each);
        }
        Ok(elapsed)
    }

    /// Reads back what was in force, on the connections of threads too.
    fn finish(self, trial: &Trial<'_>, measured: &mut Measured) -> Result<()> {
        measured.connections.extend(self.pool.close()?);
        for name in NUMBERS {
            if let Some(number) = number(&self.connection, name)? {
                set(measured, &format!("read_back.{name}"), number);
            }
        }
        let journal_mode = self.connection.query_text("PRAGMA main.journal_mode")?;
        let is_wal = f64::from(u8::from(journal_mode == "wal"));
        set(measured, &format!("read_back.{WAL}"), is_wal);
        let path = trial.directory.join(DATABASE);
        close(self.connection, Some(&path), measured)?;
        measured.binding = Some(BindingMark {
            name: format!("Rust, pragmark {}", env!("CARGO_PKG_VERSION")),
            compile_options: trial.library.identity().compile_options.clone(),
            defaults: sqlite::defaults(trial)?,
        });
        Ok(())
    }
}

/// Returns the number that SQLite answers, or `None` if the engine lacks the PRAGMA.
fn number(connection: &Connection, pragma: &str) -> Result<Option<f64>> {
    let sql = format!("PRAGMA main.{pragma}");
    let found = connection.query_rows(&sql, |row| Ok(row.column_i64(0) as f64))?;
    Ok(found.last().copied())
}

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
    use std::path::Path;
    use std::sync::Arc;

    use engine::{Library, Source};
    use lab::level::{Level, Settings};

    use super::*;
    use crate::parameters::Choice;
    use crate::workload::common::tests::{problem, run};

    fn settings(mode: &str) -> Vec<(&'static str, Level)> {
        vec![
            ("n", 3.into()),
            ("mode", mode.into()),
            ("synchronous", "off".into()),
            ("journal_mode", "wal".into()),
            ("busy_timeout", 5_000.into()),
        ]
    }

    #[test]
    fn there_are_thirty_eight_operations() {
        let parts = parts();
        assert_eq!(parts.len(), 38);
        assert!(parts.iter().any(|part| part == "lazy-1-n-txn"));
        assert!(!parts.iter().any(|part| part == "heavy-threading-txn"));
    }

    #[test]
    fn every_operation_is_verified_and_timed_in_both_modes() {
        for (_, mode, _) in Mode::ALL {
            let measured = run("orm", &settings(mode)).unwrap();
            let mut sum = 0.0;
            for part in parts() {
                sum += measured.metrics[&format!("seconds.{part}")];
            }
            assert!((sum / measured.metrics["seconds"] - 1.0).abs() < 1e-9);
            let both = measured.metrics["seconds.reads"] + measured.metrics["seconds.writes"];
            assert!((both / sum - 1.0).abs() < 1e-9);
            assert_eq!(measured.metrics["read_back.busy_timeout"], 5_000.0);
            assert_eq!(measured.metrics["read_back.journal_mode_wal"], 1.0);
            let lazily = measured.metrics.contains_key("ns_per_row.select");
            assert_eq!(lazily, mode == &"corrected");
        }
    }

    #[test]
    fn every_connection_of_a_thread_that_worked_is_read_back() {
        for (_, mode, _) in Mode::ALL {
            let measured = run("orm", &settings(mode)).unwrap();
            let (of_threads, others): (Vec<_>, Vec<_>) =
                measured.connections.iter().partition(|one| one.connection.starts_with("thread "));
            assert_eq!(others.len(), 1);
            assert_eq!(of_threads.is_empty(), mode == &"faithful");
            for one in of_threads {
                assert_eq!(one.pragmas["busy_timeout"], "5000");
                assert_eq!(one.pragmas["synchronous"], "off");
            }
        }
    }

    #[test]
    fn the_native_driver_drives_no_postgresql() {
        let why = problem("orm", &[("target", "postgres".into())]);
        assert!(why.contains("ruby-activerecord"), "{why}");
    }

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
