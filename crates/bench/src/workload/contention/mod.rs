//! Several connections contend for one database: how long they wait, and what SQLite refuses.
//!
//! SQLite lets many connections read and one write. The price for an application depends on how its transactions begin, how
//! long they wait for the lock, and whether they read before they write: SQLite refuses the lock at once to a transaction that
//! began as a reader when waiting could only end in a deadlock or a lost update, whatever the busy timeout
//! (<https://sqlite.org/lang_transaction.html>, <https://sqlite.org/isolation.html>).
//!
//! Workers are threads or processes, operations come one after another or arrive on a schedule, and every operation that a
//! writer was told is committed must be in the database once.

mod client;
mod parameters;
mod verify;

use std::time::Duration;

use engine::Connection;
use lab::level::Settings;
use lab::needs::Needs;
use lab::trial::Measured;

use self::parameters::{Arrival, Parameters, Waiting};
use self::verify::Acknowledged;
use super::common::{refuse_single_threaded, set, set_peak_memory};
use super::declared::Declared;
use crate::drive::messages::{Role, TaskReport, WorkerSpec};
use crate::drive::pacing::{Pacing, Task};
use crate::drive::parameters::Workers;
use crate::drive::period::{Period, done, latencies, next_start};
use crate::drive::pool::WorkerPool;
use crate::drive::worker::DATABASE;
use crate::error::Result;
use crate::target::sqlite;
use crate::trial::Trial;

pub(super) use self::client::client;

/// The workload `contention`.
pub(super) struct Contention;

const CREATE_TABLES: &str = "CREATE TABLE item(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL); CREATE TABLE log(writer INTEGER NOT NULL, op INTEGER NOT NULL)";

impl Declared for Contention {
    const NAME: &'static str = "contention";
    const ABOUT: &'static str = "Writers and readers, each with its own connection, contend for one database. A write transaction increments both columns of a random row of item(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL), one in its first and one in its last statement, and logs itself in log(writer INTEGER NOT NULL, op INTEGER NOT NULL) between them. A read sums both columns of consecutive rows; the sums must be equal.";
    const PHASES: &'static [&'static str] = &["write", "read", "capacity"];
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        parameters.check(settings)
    }

    fn needs(parameters: &Parameters, _: &Settings) -> Needs {
        parameters.needs()
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
        let work = Work::run(&mut pool, parameters, parameters.duration, pacing)?;
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
        verify::check(&connection, &acknowledged)?;
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
            let work = Work::run(pool, parameters, parameters.capacity, |_| Pacing::Closed)?;
            work.add_to(acknowledged);
            for role in work.roles() {
                set(measured, &format!("{}.capacity", role.metric), role.per_s);
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
struct Work {
    period: Period,
    writers: usize,
}

/// The figures of the workers of one role.
struct RoleFigures<'w> {
    metric: &'static str,
    phase: &'static str,
    reports: &'w [TaskReport],
    per_s: f64,
}

impl Work {
    /// Lets every worker work for `duration`.
    fn run(
        pool: &mut WorkerPool,
        parameters: &Parameters,
        duration: Duration,
        pacing: impl Fn(usize) -> Pacing,
    ) -> Result<Work> {
        let start = next_start();
        let workers = (parameters.writers + parameters.readers) as usize;
        let tasks: Vec<Task> =
            (0..workers).map(|index| Task::timed(pacing(index), start, duration)).collect();
        let period = Period::run(pool, &tasks, duration)?;
        Ok(Work { period, writers: parameters.writers as usize })
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

    /// Returns the figures of the roles that have workers.
    fn roles(&self) -> impl Iterator<Item = RoleFigures<'_>> {
        let roles =
            [("txns_per_s", "write", self.writers()), ("queries_per_s", "read", self.readers())];
        let roles = roles.into_iter().filter(|(.., reports)| !reports.is_empty());
        roles.map(|(metric, phase, reports)| RoleFigures {
            metric,
            phase,
            reports,
            per_s: self.per_s(reports),
        })
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
        for role in self.roles() {
            set(measured, role.metric, role.per_s);
            let latencies = latencies(role.reports);
            measured.metrics.extend(latencies.metrics_of_phase(role.phase));
            // One distribution is kept whole: the latencies of writes, if there are any.
            measured.latency.get_or_insert(latencies.latency()?);
        }
        self.period.note_busy(parameters.busy_timeout.0, measured);
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

#[cfg(test)]
mod tests;
