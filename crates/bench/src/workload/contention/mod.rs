//! Several connections contend for one database: what each of them waits, and what it is refused.
//!
//! SQLite lets many read and one write. What that costs an application depends on how its
//! transactions begin, on how long they wait for the lock, and on whether they read before they
//! write: a transaction that began as a reader is refused the lock at once when waiting could only
//! end in a deadlock or in a lost update, whatever its busy timeout
//! (<https://sqlite.org/lang_transaction.html>, <https://sqlite.org/isolation.html>).
//!
//! Workers are threads or processes, operations come one after another or arrive on a schedule, and
//! every operation that a writer was told is committed must be in the database once.

mod arrivals;
mod client;
mod clock;
mod crew;
mod message;
mod pace;
mod parameters;
mod verify;
mod worker;

use std::time::Duration;

use engine::Connection;
use lab::catalogue::WorkloadInfo;
use lab::level::Settings;
use lab::needs::Needs;
use lab::seed::Seed;
use lab::trial::Measured;

use self::clock::{Clock, Monotonic};
use self::crew::{Crew, engine_name};
use self::message::{BusyCounts, Kind, Report, WorkerSpec};
use self::pace::{Pace, SLOTS};
use self::parameters::{Arrival, Parameters, Workers};
use self::verify::Acknowledged;
use super::common::{refuse_single_threaded, set, set_peak_memory};
use super::{Trial, Workload};
use crate::descriptors::allow_open_files;
use crate::error::TrialError;
use crate::measure::{CpuTime, LatencyHistogram};
use crate::target::sqlite;

pub use self::worker::work;

/// The workload `contention`.
pub(super) struct Contention;

/// The file of the database.
const DATABASE: &str = "test.db";

const CREATE_TABLES: &str = "CREATE TABLE item(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL); CREATE TABLE log(writer INTEGER NOT NULL, op INTEGER NOT NULL)";

/// Time between the order and the begin of the work, in which every worker gets it.
const LEAD: Duration = Duration::from_millis(5);

impl Workload for Contention {
    fn info(&self) -> WorkloadInfo {
        parameters::info()
    }

    fn needs(&self, settings: &Settings) -> Needs {
        parameters::needs(settings)
    }

    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured, TrialError> {
        let parameters = Parameters::read(trial.settings)?;
        if parameters.workers == Workers::Threads {
            refuse_single_threaded(trial)?;
        }
        allow_open_files(parameters::needs(trial.settings).open_files)?;
        (trial.phase)("load");
        make_database(trial, &parameters)?;
        let mut crew = Crew::start(
            specs(trial, &parameters),
            parameters.workers,
            &trial.library,
        )?;

        let mut measured = Measured::default();
        let mut writers = Writers::new(parameters.writers);
        let rates = match parameters.arrival {
            Arrival::Closed => None,
            Arrival::Rate => Some((
                parameters.writes_per_s as f64,
                parameters.reads_per_s as f64,
            )),
            Arrival::Share => {
                (trial.phase)("capacity");
                let shift = shift(&mut crew, &parameters, parameters.capacity, |_| {
                    Pace::Closed
                })?;
                writers.add(&shift);
                shift.note_capacity(&mut measured);
                let share = parameters.capacity_percent as f64 / 100.0;
                Some((
                    shift.per_s(Kind::Writer) * share,
                    shift.per_s(Kind::Reader) * share,
                ))
            }
        };

        (trial.phase)("work");
        let seed = trial.seed;
        let pace = |index: usize| match rates {
            None => Pace::Closed,
            Some(rates) => arrivals(&parameters, seed, rates, index),
        };
        let shift = shift(&mut crew, &parameters, parameters.duration, pace)?;
        writers.add(&shift);
        shift.note(rates, &parameters, &mut measured)?;
        let wal = trial.directory.join(format!("{DATABASE}-wal"));
        set(&mut measured, "wal_bytes", sqlite::size(&wal)?);
        set_peak_memory(&mut measured);
        for closing in crew.finish()? {
            measured.connections.push(closing.read_back);
            if let Some(bytes) = closing.peak_memory {
                *measured
                    .metrics
                    .entry("peak_memory_bytes".to_owned())
                    .or_default() += bytes;
            }
        }

        (trial.phase)("verify");
        let path = trial.directory.join(DATABASE);
        let connection = sqlite::open(trial, &path)?;
        verify::check(&connection, &writers.0)?;
        connection.close()?;
        set(&mut measured, "db_bytes", sqlite::size(&path)?);
        Ok(measured)
    }
}

fn make_database(trial: &Trial<'_>, parameters: &Parameters) -> Result<(), TrialError> {
    let connection = sqlite::open(trial, &trial.directory.join(DATABASE))?;
    connection.execute(CREATE_TABLES)?;
    fill(&connection, parameters.items)?;
    Ok(connection.close()?)
}

fn fill(connection: &Connection, items: usize) -> Result<(), TrialError> {
    connection.execute("BEGIN")?;
    let mut insert = connection.prepare("INSERT INTO item VALUES (?1, 0, 0)")?;
    for id in 1..=items {
        insert.bind_i64(1, id as i64)?;
        insert.run()?;
    }
    Ok(connection.execute("COMMIT")?)
}

/// The workers: writers first, then readers.
fn specs(trial: &Trial<'_>, parameters: &Parameters) -> Vec<WorkerSpec> {
    let parent = match parameters.workers {
        Workers::Threads => None,
        Workers::Processes => Some(std::process::id()),
    };
    let of = |kind: Kind, name: &str, number: u32| WorkerSpec {
        settings: trial.settings.clone(),
        engine: engine_name(&trial.library),
        directory: trial.directory.to_owned(),
        seed: trial.seed.child(name).nth(u64::from(number)),
        kind,
        number,
        parent,
        counting: trial.counter.is_some(),
    };
    let writers = (0..parameters.writers).map(|number| of(Kind::Writer, "writers", number));
    let readers = (0..parameters.readers).map(|number| of(Kind::Reader, "readers", number));
    writers.chain(readers).collect()
}

/// The arrivals of worker `index`: its even share of the rate of all writers or all readers. Several
/// independent Poisson processes together are one with the sum of their rates.
fn arrivals(parameters: &Parameters, seed: Seed, rates: (f64, f64), index: usize) -> Pace {
    let writers = parameters.writers as usize;
    let (per_s, workers) = match index < writers {
        true => (rates.0, parameters.writers),
        false => (rates.1, parameters.readers),
    };
    Pace::Arrivals {
        per_s: per_s / f64::from(workers.max(1)),
        seed: seed.child("arrivals").nth(index as u64),
    }
}

/// What each writer was told so far.
struct Writers(Vec<Acknowledged>);

impl Writers {
    fn new(writers: u32) -> Writers {
        let none = |_| Acknowledged {
            attempted: 0,
            given_up: Vec::new(),
        };
        Writers((0..writers).map(none).collect())
    }

    fn add(&mut self, shift: &Shift) {
        for (acknowledged, report) in self.0.iter_mut().zip(&shift.reports) {
            acknowledged.attempted += report.attempted;
            acknowledged.given_up.extend(&report.given_up);
        }
    }
}

/// All workers have worked for a while.
struct Shift {
    /// In the order of the workers: writers first.
    reports: Vec<Report>,
    writers: usize,
    start: u64,
    duration: Duration,
    cpu: CpuTime,
}

/// Has every worker work for `duration`, each at its pace.
fn shift(
    crew: &mut Crew,
    parameters: &Parameters,
    duration: Duration,
    pace: impl Fn(usize) -> Pace,
) -> Result<Shift, TrialError> {
    let cpu = CpuTime::now()?;
    let start = Monotonic.now() + LEAD.as_nanos() as u64;
    let workers = (parameters.writers + parameters.readers) as usize;
    let tasks: Vec<_> = (0..workers)
        .map(|index| worker::task(pace(index), start, duration))
        .collect();
    let reports = crew.work(&tasks)?;
    Ok(Shift {
        reports,
        writers: parameters.writers as usize,
        start,
        duration,
        cpu: CpuTime::now()?.since(cpu),
    })
}

impl Shift {
    fn of(&self, kind: Kind) -> &[Report] {
        let (writers, readers) = self.reports.split_at(self.writers);
        match kind {
            Kind::Writer => writers,
            Kind::Reader => readers,
        }
    }

    /// From the begin to the end of the last operation, or of the time in which they arrive.
    fn seconds(&self) -> f64 {
        let last = self.reports.iter().map(|report| report.last_end).max();
        let worked = Duration::from_nanos(last.unwrap_or(0).saturating_sub(self.start));
        worked.max(self.duration).as_secs_f64()
    }

    /// Operations done a second.
    fn per_s(&self, kind: Kind) -> f64 {
        done(self.of(kind)) as f64 / self.seconds()
    }

    fn note_capacity(&self, measured: &mut Measured) {
        for (kind, metric) in [
            (Kind::Writer, "txns_per_s.capacity"),
            (Kind::Reader, "queries_per_s.capacity"),
        ] {
            if !self.of(kind).is_empty() {
                set(measured, metric, self.per_s(kind));
            }
        }
    }

    fn note(
        &self,
        rates: Option<(f64, f64)>,
        parameters: &Parameters,
        measured: &mut Measured,
    ) -> Result<(), TrialError> {
        set(measured, "seconds", self.seconds());
        self.note_cpu(measured);
        measured.windows = self.windows();
        for (kind, metric, phase) in [
            (Kind::Writer, "txns_per_s", "write"),
            (Kind::Reader, "queries_per_s", "read"),
        ] {
            if !self.of(kind).is_empty() {
                set(measured, metric, self.per_s(kind));
                let latencies = latencies(self.of(kind))?;
                let named = latencies
                    .metrics()
                    .into_iter()
                    .map(|(name, value)| (format!("{name}.{phase}"), value));
                measured.metrics.extend(named);
                // One distribution is kept whole: that of writes, where there are any.
                measured.latency.get_or_insert(latencies.latency()?);
            }
        }
        self.note_hindrances(parameters, measured);
        self.note_counts(measured);
        match rates {
            Some(_) => self.note_offer(measured),
            None => Ok(()),
        }
    }

    /// The trial's own CPU time, and that of workers which are processes.
    fn note_cpu(&self, measured: &mut Measured) {
        let others = self.reports.iter().filter_map(|report| report.cpu);
        let (user, system) = others.fold((self.cpu.user, self.cpu.system), |sum, cpu| {
            (sum.0 + cpu.0, sum.1 + cpu.1)
        });
        set(measured, "cpu_user_s", user);
        set(measured, "cpu_system_s", system);
    }

    fn note_hindrances(&self, parameters: &Parameters, measured: &mut Measured) {
        let mut busy = BusyCounts::default();
        for report in &self.reports {
            busy.add(report.busy);
        }
        let given_up: usize = self.reports.iter().map(|r| r.given_up.len()).sum();
        set(measured, "busy_errors", busy.errors as f64);
        set(measured, "busy_snapshots", busy.snapshots as f64);
        set(measured, "retries", busy.retries as f64);
        set(measured, "given_up", given_up as f64);
        // Without a timeout every refusal is at once.
        if !parameters.busy_timeout.is_zero() {
            set(measured, "busy_at_once", busy.at_once as f64);
        }
    }

    /// What all connections together did to files and to their page caches, in a counting trial.
    fn note_counts(&self, measured: &mut Measured) {
        for (metric, count) in self.reports.iter().flat_map(|report| &report.counts) {
            *measured.metrics.entry(metric.clone()).or_default() += count;
        }
    }

    fn note_offer(&self, measured: &mut Measured) -> Result<(), TrialError> {
        let sum = |count: fn(&Report) -> u64| self.reports.iter().map(count).sum::<u64>() as f64;
        let offered = sum(|report| report.offered) / self.duration.as_secs_f64();
        let achieved = done(&self.reports) as f64 / self.seconds();
        set(measured, "offered_per_s", offered);
        set(measured, "unserved", sum(|report| report.unserved));
        if offered > 0.0 {
            set(measured, "served_percent", 100.0 * achieved / offered);
        }
        let mut late = LatencyHistogram::new()?;
        for report in &self.reports {
            late.add(&LatencyHistogram::read(&report.late)?)?;
        }
        if late.count() > 0 {
            set(measured, "timer_late_us", late.quantile_us(0.99));
        }
        Ok(())
    }

    /// Operations a second in each hundredth of the time.
    fn windows(&self) -> Vec<f64> {
        let slot_s = self.duration.as_secs_f64() / SLOTS as f64;
        let done = |slot: usize| -> u64 { self.reports.iter().map(|r| r.slots[slot]).sum() };
        (0..SLOTS).map(|slot| done(slot) as f64 / slot_s).collect()
    }
}

fn done(reports: &[Report]) -> u64 {
    let of = |report: &Report| report.attempted - report.given_up.len() as u64;
    reports.iter().map(of).sum()
}

fn latencies(reports: &[Report]) -> Result<LatencyHistogram, TrialError> {
    let mut all = LatencyHistogram::new()?;
    for report in reports {
        all.add(&LatencyHistogram::read(&report.latency)?)?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
