//! Several connections contend for one database: how long they wait, and what SQLite refuses.
//!
//! SQLite lets many connections read and one write. The price for an application depends on how its transactions begin, how
//! long they wait for the lock, and whether they read before they write: SQLite refuses the lock at once to a transaction that
//! began as a reader when waiting could only end in a deadlock or a lost update, whatever the busy timeout
//! (<https://sqlite.org/lang_transaction.html>, <https://sqlite.org/isolation.html>).
//!
//! Workers are threads or processes, operations come one after another or arrive on a schedule, and every operation that a
//! writer was told is committed must be in the database once.
//!
//! The parameters of `contention`.
//!
//! Checks that the database holds every acknowledged operation once, and nothing else.

mod client;

use std::time::Duration;

use crate::drive::messages::{Role, TaskReport, WorkerSpec};
use crate::drive::pacing::{Pacing, Task};
use crate::drive::parameters::{Retrying, Workers, open_files};
use crate::drive::period::{Period, done, latencies, next_start};
use crate::drive::pool::WorkerPool;
use crate::drive::worker::DATABASE;
use crate::parameters::{Micros, Millis, Percent};
use crate::workload::prelude::*;

pub(super) use self::client::client;

/// The workload `contention`.
pub(super) struct Contention;

const CREATE_TABLES: &str = "CREATE TABLE item(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL); CREATE TABLE log(writer INTEGER NOT NULL, op INTEGER NOT NULL)";

impl Declared for Contention {
    const NAME: &'static str = "contention";
    const METRIC: &'static str = "txns_per_s";
    const ABOUT: &'static str = "Writers and readers, each with its own connection, contend for one database. A write transaction increments both columns of a random row of item(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL), one in its first and one in its last statement, and logs itself in log(writer INTEGER NOT NULL, op INTEGER NOT NULL) between them. A read sums both columns of consecutive rows; the sums must be equal.";
    const PHASES: &'static [&'static str] = &["write", "read", "capacity"];
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        let idle = |workers: u32, per_s: usize| workers > 0 && per_s == 0;
        let locking = settings.get("locking_mode").and_then(Level::as_text);
        let why = if parameters.writers + parameters.readers == 0 {
            "no writers and no readers: there is nothing to do"
        } else if parameters.read_rows > parameters.items {
            "read_rows cannot exceed items"
        } else if parameters.arrival == Arrival::Rate
            && (idle(parameters.writers, parameters.writes_per_s)
                || idle(parameters.readers, parameters.reads_per_s))
        {
            "arrival = rate requires writes_per_s for writers and reads_per_s for readers"
        } else if parameters.writers + parameters.readers > 1 && locking == Some("exclusive") {
            "locking_mode = exclusive admits one connection, so nothing contends"
        } else {
            return Ok(());
        };
        Err(TrialError::cannot_run(why))
    }

    fn needs(parameters: &Parameters, _: &Settings) -> Needs {
        let workers = u64::from(parameters.writers) + u64::from(parameters.readers);
        let connections = match parameters.workers {
            Workers::Threads => workers + 1,
            // Each process has its own connection, and the trial the pipes to it.
            Workers::Processes => workers / 2 + 1,
        };
        Needs {
            open_files: open_files(connections, FILES_PER_CONNECTION),
            threads: workers + 1,
            ..Needs::default()
        }
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        if parameters.workers == Workers::Threads {
            refuse_single_threaded(trial)?;
        }
        (trial.phase)("load");
        make_database(trial, parameters)?;
        let mut pool = WorkerPool::start(specs(trial, parameters), &trial.library, client)?;
        let mut measured = Measured::default();
        let mut acknowledged = vec![Acknowledged::default(); parameters.writers as usize];
        let rates = rates(trial, parameters, &mut pool, &mut acknowledged, &mut measured)?;

        (trial.phase)("work");
        let pacing = |index: usize| {
            rates.map_or(Pacing::Closed, |rates| rates.pacing(trial, parameters, index))
        };
        let work = PeriodOfWork::run(&mut pool, parameters, parameters.duration, pacing)?;
        work.add_to(&mut acknowledged);
        work.note(parameters, &mut measured)?;
        if rates.is_some() {
            work.period.note_arrivals(&mut measured);
        }
        let path = trial.directory.join(DATABASE);
        set(&mut measured, "wal_bytes", sqlite::wal_size(&path)?);
        set_peak_memory(&mut measured);
        pool.finish(&mut measured)?;

        (trial.phase)("verify");
        let connection = sqlite::open(trial, &path)?;
        check(&connection, &acknowledged)?;
        connection.close()?;
        set(&mut measured, "db_bytes", sqlite::size(&path)?);
        Ok(measured)
    }
}

/// Operations per second that arrive for all workers of a role together.
#[derive(Clone, Copy)]
struct Rates {
    writes_per_s: f64,
    reads_per_s: f64,
}

impl Rates {
    /// Returns the arrivals of worker `index`: its even share of the rate of its role. Independent Poisson processes add up
    /// to one with the sum of their rates.
    fn pacing(self, trial: &Trial<'_>, parameters: &Parameters, index: usize) -> Pacing {
        let (per_s, workers) = if index < parameters.writers as usize {
            (self.writes_per_s, parameters.writers)
        } else {
            (self.reads_per_s, parameters.readers)
        };
        Pacing::Arrivals {
            per_s: per_s / f64::from(workers.max(1)),
            seed: trial.seed.child("arrivals").nth(index as u64),
        }
    }
}

/// Returns the rates at which operations arrive; `None` in a closed loop. A share of the capacity is derived from a closed
/// loop that measures the capacity first.
fn rates(
    trial: &mut Trial<'_>,
    parameters: &Parameters,
    pool: &mut WorkerPool,
    acknowledged: &mut [Acknowledged],
    measured: &mut Measured,
) -> Result<Option<Rates>> {
    Ok(match parameters.arrival {
        Arrival::Closed => None,
        Arrival::Rate => Some(Rates {
            writes_per_s: parameters.writes_per_s as f64,
            reads_per_s: parameters.reads_per_s as f64,
        }),
        Arrival::Share => {
            (trial.phase)("capacity");
            let work =
                PeriodOfWork::run(pool, parameters, parameters.capacity, |_| Pacing::Closed)?;
            work.add_to(acknowledged);
            for (metric, _, reports) in work.roles() {
                set(measured, &format!("{metric}.capacity"), work.per_s(reports));
            }
            let share = parameters.capacity_percent as f64 / 100.0;
            Some(Rates {
                writes_per_s: work.per_s(work.writers()) * share,
                reads_per_s: work.per_s(work.readers()) * share,
            })
        }
    })
}

/// One period of work; its reports are in the order of the workers, writers first.
struct PeriodOfWork {
    period: Period,
    writers: usize,
}

impl PeriodOfWork {
    /// Lets every worker work for `duration`.
    fn run(
        pool: &mut WorkerPool,
        parameters: &Parameters,
        duration: Duration,
        pacing: impl Fn(usize) -> Pacing,
    ) -> Result<PeriodOfWork> {
        let start = next_start();
        let workers = (parameters.writers + parameters.readers) as usize;
        let tasks: Vec<Task> =
            (0..workers).map(|index| Task::timed(pacing(index), start, duration)).collect();
        let period = Period::run(pool, &tasks, duration)?;
        Ok(PeriodOfWork { period, writers: parameters.writers as usize })
    }

    fn writers(&self) -> &[TaskReport] {
        &self.period.reports[..self.writers]
    }

    fn readers(&self) -> &[TaskReport] {
        &self.period.reports[self.writers..]
    }

    fn per_s(&self, reports: &[TaskReport]) -> f64 {
        done(reports) as f64 / self.period.seconds()
    }

    /// Returns the roles that have workers: metric, phase, and reports.
    fn roles(&self) -> impl Iterator<Item = (&'static str, &'static str, &[TaskReport])> {
        let roles =
            [("txns_per_s", "write", self.writers()), ("queries_per_s", "read", self.readers())];
        roles.into_iter().filter(|(.., reports)| !reports.is_empty())
    }

    /// Adds the operations that were acknowledged to each writer.
    fn add_to(&self, acknowledged: &mut [Acknowledged]) {
        for (acknowledged, report) in acknowledged.iter_mut().zip(self.writers()) {
            acknowledged.attempted += report.progress.attempted;
            acknowledged.given_up.extend(&report.progress.given_up);
        }
    }

    fn note(&self, parameters: &Parameters, measured: &mut Measured) -> Result<()> {
        set(measured, "seconds", self.period.seconds());
        self.period.note_cpu(measured);
        measured.windows = self.period.windows();
        for (metric, phase, reports) in self.roles() {
            set(measured, metric, self.per_s(reports));
            let latencies = latencies(reports);
            measured.metrics.extend(latencies.metrics_of_phase(phase));
            // One distribution is kept whole: the latencies of writes, if there are any.
            measured.latency.get_or_insert(latencies.latency()?);
        }
        self.period.note_busy(parameters.retrying.busy_timeout.0, measured);
        self.period.note_counts(measured);
        Ok(())
    }
}

fn make_database(trial: &Trial<'_>, parameters: &Parameters) -> Result<()> {
    let connection = sqlite::open(trial, &trial.directory.join(DATABASE))?;
    connection.execute(CREATE_TABLES)?;
    fill(&connection, parameters.items)?;
    Ok(connection.close()?)
}

fn fill(connection: &Connection, items: usize) -> Result<()> {
    connection.execute("BEGIN")?;
    let mut insert = connection.prepare("INSERT INTO item VALUES (?1, 0, 0)")?;
    for id in 1..=items {
        insert.bind_i64(1, id as i64)?;
        insert.run()?;
    }
    Ok(connection.execute("COMMIT")?)
}

/// Returns the specifications of the workers: writers first, then readers.
fn specs(trial: &Trial<'_>, parameters: &Parameters) -> Vec<WorkerSpec> {
    let spec = |role, number| WorkerSpec {
        waits_evenly: parameters.waiting == Waiting::EvenHandler,
        ..WorkerSpec::new(trial, parameters.workers, role, number)
    };
    let writers = (0..parameters.writers).map(|number| spec(Role::Writer, number));
    let readers = (0..parameters.readers).map(|number| spec(Role::Reader, number));
    writers.chain(readers).collect()
}

choice! {
    /// The statements of a write transaction.
    enum Work {
        /// Its first statement writes.
        Write = "write",
        /// It reads a value, then writes one derived from it.
        ReadThenWrite = "read-then-write",
    }

    /// When operations start.
    enum Arrival {
        /// Each worker starts its next operation when the last has ended, which measures capacity.
        Closed = "closed",
        /// At random times, at the rates writes_per_s and reads_per_s.
        Rate = "rate",
        /// At random times, at capacity_percent of the rates that a closed loop reaches at the start of
        /// the same trial.
        Share = "share",
    }

    /// How a connection waits for a lock.
    enum Waiting {
        /// SQLite's busy_timeout, whose pauses grow to 100 ms.
        BusyTimeout = "busy-timeout",
        /// The application's busy handler, which pauses 1 ms at a time up to busy_timeout; the PRAGMA
        /// then reads 0.
        EvenHandler = "even-handler",
    }
}

/// Workers of one kind at most.
const MOST_WORKERS: i64 = 1_024;

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Connections that write.
        writers: u32 = 4, 0..=MOST_WORKERS;
        /// Connections that read.
        readers: u32 = 0, 0..=MOST_WORKERS;
        /// What each connection belongs to.
        workers: Workers = Workers::Threads;
        /// What a write transaction does.
        work: Work = Work::Write;
        /// Rows of the table item.
        items: Rows = 1_000, 1..;
        /// Rows that one read scans.
        read_rows: Rows = 100, 1..;
        /// Time between reading and writing in which the application keeps its transaction open.
        hold as "hold_us": Micros = 0, 0..=10_000_000;
        /// When operations start; latency counts from the arrival.
        arrival: Arrival = Arrival::Closed;
        /// Write transactions per second that arrive for all writers together.
        writes_per_s: usize = 0, 0..=10_000_000;
        /// Reads per second that arrive for all readers together.
        reads_per_s: usize = 0, 0..=10_000_000;
        /// Share of the capacity that arrives with arrival = share.
        capacity_percent: Percent = 70, 1..=200;
        /// Length of the closed loop that measures capacity for arrival = share.
        capacity as "capacity_ms": Millis = 200, 1..;
        /// Time in which operations start or arrive; a backlog is stopped after the same time again.
        duration as "stop_after_ms": Millis = 500, 1..;
        retrying: Retrying;
        /// How a connection waits for a lock.
        waiting: Waiting = Waiting::BusyTimeout;
    }
}

/// Sums that must equal the number of acknowledged operations.
const SUMS: [Sum; 2] = [("the sum of `first`", "sum(first)"), ("the sum of `last`", "sum(last)")];

/// The operations that a writer was told are committed: all operations up to `attempted`, except those given up.
#[derive(Clone, Default)]
pub(super) struct Acknowledged {
    /// Operations begun, numbered from 0.
    pub(super) attempted: u64,
    /// The numbers of the operations that were given up, ascending.
    pub(super) given_up: Vec<u64>,
}

impl Acknowledged {
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let mut given_up = self.given_up.iter().copied().peekable();
        (0..self.attempted).filter(move |number| given_up.next_if_eq(number).is_none())
    }

    /// Returns the number of operations.
    pub(super) fn count(&self) -> u64 {
        self.attempted - self.given_up.len() as u64
    }
}

/// Checks the log against what each writer was told, both columns of the items against the log, and
/// the database as a whole.
pub(super) fn check(connection: &Connection, writers: &[Acknowledged]) -> Result<()> {
    check_log(connection, writers)?;
    let all: u64 = writers.iter().map(Acknowledged::count).sum();
    check_sums(connection, &SUMS, ("item", ""), &[all as i64; 2])?;
    let integrity = connection.query_text("PRAGMA integrity_check")?;
    expect("the integrity check", integrity.as_str(), "ok")
}

fn check_log(connection: &Connection, writers: &[Acknowledged]) -> Result<()> {
    let mut wanted = writers.iter().enumerate().flat_map(|(writer, acknowledged)| {
        acknowledged.numbers().map(move |number| (writer as i64, number as i64))
    });
    let mut wrong = Ok(());
    connection.for_each_row("SELECT writer, op FROM log ORDER BY writer, op", |row| {
        let found = (row.column_i64(0), row.column_i64(1));
        if wrong.is_ok() {
            wrong = compare(wanted.next(), found);
        }
        Ok(())
    })?;
    wrong?;
    match wanted.next() {
        Some(lost) => Err(differs(lost, "missing", "in it once")),
        None => Ok(()),
    }
}

/// Both sides ascend, so the smaller of two that differ is missing on the other side.
fn compare(wanted: Option<(i64, i64)>, found: (i64, i64)) -> Result<()> {
    match wanted {
        Some(wanted) if wanted == found => Ok(()),
        Some(wanted) if wanted < found => Err(differs(wanted, "missing", "in it once")),
        _ => Err(differs(found, "in it though it was not acknowledged, or twice", "not in it")),
    }
}

fn differs((writer, op): (i64, i64), found: &str, wanted: &str) -> TrialError {
    let what = format!("operation {op} of writer {} in the log", writer + 1);
    TrialError::wrong(what, found, wanted)
}

/// File handles of a connection at most: database, log or journal, shared memory, and a temporary file.
const FILES_PER_CONNECTION: u64 = 4;

#[cfg(test)]
mod tests;
