//! The parameters of `contention`.

use std::time::Duration;

use lab::catalogue::{Accepts, WorkloadInfo};
use lab::level::{Level, Settings};
use lab::needs::Needs;

use crate::error::TrialError;
use crate::settings::Reader;
use crate::workload::common::{by_name, from, names, parameter};

/// What workers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workers {
    /// Threads of one process.
    Threads,
    /// Processes.
    Processes,
}

const WORKERS: &[(&str, Workers)] = &[
    ("threads", Workers::Threads),
    ("processes", Workers::Processes),
];

/// What a write transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Its first statement writes.
    Write,
    /// It reads a value, and then writes what follows from it.
    ReadThenWrite,
}

const WORK: &[(&str, Work)] = &[
    ("write", Work::Write),
    ("read-then-write", Work::ReadThenWrite),
];

/// When operations begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Each worker begins the next when the last has ended.
    Closed,
    /// At rates that are given.
    Rate,
    /// At a share of the rates that a closed loop has just reached.
    Share,
}

const ARRIVAL: &[(&str, Arrival)] = &[
    ("closed", Arrival::Closed),
    ("rate", Arrival::Rate),
    ("share", Arrival::Share),
];

/// How a connection waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// As SQLite does within busy_timeout.
    BusyTimeout,
    /// With a busy handler that pauses evenly, up to busy_timeout.
    EvenHandler,
}

const WAITING: &[(&str, Waiting)] = &[
    ("busy-timeout", Waiting::BusyTimeout),
    ("even-handler", Waiting::EvenHandler),
];

/// Workers of one kind at most.
const MOST_WORKERS: i64 = 1_024;

/// File handles that a process has beside those of its databases.
const OTHER_FILES: u64 = 64;

/// File handles of a connection at most: database, log or journal, shared memory, and a temporary
/// file.
const FILES_PER_CONNECTION: u64 = 4;

/// The parameters of one trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    pub(super) writers: u32,
    pub(super) readers: u32,
    pub(super) workers: Workers,
    pub(super) work: Work,
    pub(super) items: usize,
    pub(super) read_rows: usize,
    pub(super) hold: Duration,
    pub(super) arrival: Arrival,
    pub(super) writes_per_s: usize,
    pub(super) reads_per_s: usize,
    pub(super) capacity_percent: usize,
    pub(super) capacity: Duration,
    pub(super) duration: Duration,
    pub(super) max_retries: usize,
    pub(super) retry_pause: Duration,
    pub(super) waiting: Waiting,
    pub(super) busy_timeout: Duration,
}

impl Parameters {
    /// # Errors
    /// A setting is missing or of the wrong kind, or the settings do not go together.
    pub(super) fn read(settings: &Settings) -> Result<Parameters, TrialError> {
        let reader = Reader(settings);
        let workers =
            |name| Ok::<u32, TrialError>(reader.count(name)?.min(u32::MAX as usize) as u32);
        let micros = |name| Ok::<_, TrialError>(Duration::from_micros(reader.count(name)? as u64));
        let millis = |name| Ok::<_, TrialError>(Duration::from_millis(reader.count(name)? as u64));
        let parameters = Parameters {
            writers: workers("writers")?,
            readers: workers("readers")?,
            workers: reader.name("workers", |name| by_name(WORKERS, name))?,
            work: reader.name("work", |name| by_name(WORK, name))?,
            items: reader.count("items")?,
            read_rows: reader.count("read_rows")?,
            hold: micros("hold_us")?,
            arrival: reader.name("arrival", |name| by_name(ARRIVAL, name))?,
            writes_per_s: reader.count("writes_per_s")?,
            reads_per_s: reader.count("reads_per_s")?,
            capacity_percent: reader.count("capacity_percent")?,
            capacity: millis("capacity_ms")?,
            duration: millis("stop_after_ms")?,
            max_retries: reader.count("max_retries")?,
            retry_pause: micros("retry_pause_us")?,
            waiting: reader.name("waiting", |name| by_name(WAITING, name))?,
            busy_timeout: busy_timeout(settings),
        };
        parameters.check(settings)?;
        Ok(parameters)
    }

    fn check(&self, settings: &Settings) -> Result<(), TrialError> {
        let cannot = |why: &str| Err(TrialError::CannotRun(why.to_owned()));
        if self.writers + self.readers == 0 {
            return cannot("without writers and readers there is nothing to do");
        }
        if self.read_rows > self.items {
            return cannot("a read cannot look at more rows than there are items");
        }
        let silent = |workers: u32, per_s: usize| workers > 0 && per_s == 0;
        if self.arrival == Arrival::Rate
            && (silent(self.writers, self.writes_per_s) || silent(self.readers, self.reads_per_s))
        {
            return cannot(
                "arrival = rate needs writes_per_s for writers and reads_per_s for readers",
            );
        }
        let locking = settings.get("locking_mode").and_then(Level::as_text);
        if self.writers + self.readers > 1 && locking == Some("exclusive") {
            return cannot("locking_mode = exclusive lets one connection in, so nobody contends");
        }
        Ok(())
    }
}

fn busy_timeout(settings: &Settings) -> Duration {
    let millis = settings.get("busy_timeout").and_then(Level::as_int);
    Duration::from_millis(millis.unwrap_or(0).max(0) as u64)
}

/// What a trial with these settings needs of the operating system.
pub(super) fn needs(settings: &Settings) -> Needs {
    // Settings that cannot be read are an outcome of the trial, which says so.
    let Ok(parameters) = Parameters::read(settings) else {
        return Needs::default();
    };
    let workers = u64::from(parameters.writers) + u64::from(parameters.readers);
    let connections = match parameters.workers {
        Workers::Threads => workers + 1,
        // Each process has its own connection, and the trial the pipes to it.
        Workers::Processes => workers / 2 + 1,
    };
    Needs {
        open_files: FILES_PER_CONNECTION * connections + OTHER_FILES,
        threads: workers + 1,
        ..Needs::default()
    }
}

/// The description of the workload.
pub(super) fn info() -> WorkloadInfo {
    let up_to = |max| Accepts::Int { min: 0, max };
    WorkloadInfo {
        name: "contention".to_owned(),
        about: "writers and readers, each with a connection of its own, contend for one database; a write transaction adds one to both columns of a random row of item(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL), by its first and its last statement, and notes itself in log(writer INTEGER NOT NULL, op INTEGER NOT NULL) in between; a read sums both columns of consecutive rows, which must be equal".to_owned(),
        parameters: vec![
            parameter("writers", up_to(MOST_WORKERS), 4.into(), "connections that write"),
            parameter("readers", up_to(MOST_WORKERS), 0.into(), "connections that read"),
            parameter(
                "workers",
                names(WORKERS),
                "threads".into(),
                "whether each connection has a thread of one process, or a process of its own",
            ),
            parameter(
                "work",
                names(WORK),
                "write".into(),
                "whether a write transaction writes with its first statement, or reads a value first and then writes what follows from it",
            ),
            parameter("items", from(1), 1_000.into(), "rows of the table item"),
            parameter("read_rows", from(1), 100.into(), "rows that a read looks at"),
            parameter(
                "hold_us",
                up_to(10_000_000),
                0.into(),
                "microseconds that the application thinks, between reading and writing, while its transaction is open",
            ),
            parameter(
                "arrival",
                names(ARRIVAL),
                "closed".into(),
                "closed: each worker begins its next operation when the last has ended, which finds the capacity; rate: operations arrive at random moments at writes_per_s and reads_per_s; share: at capacity_percent of the rates that a closed loop reaches at the beginning of the same trial. Latency counts from the arrival",
            ),
            parameter("writes_per_s", up_to(10_000_000), 0.into(), "write transactions a second that arrive for all writers together"),
            parameter("reads_per_s", up_to(10_000_000), 0.into(), "reads a second that arrive for all readers together"),
            parameter("capacity_percent", Accepts::Int { min: 1, max: 200 }, 70.into(), "share of the capacity that arrives, per cent"),
            parameter("capacity_ms", from(1), 200.into(), "milliseconds of the closed loop ahead of arrival = share"),
            parameter(
                "stop_after_ms",
                from(1),
                500.into(),
                "milliseconds in which operations begin or arrive; those that an overload leaves waiting are stopped after as long again",
            ),
            parameter("max_retries", up_to(1_000_000), 1_000.into(), "times that the application begins an operation anew after SQLITE_BUSY before it gives it up"),
            parameter("retry_pause_us", up_to(10_000_000), 1_000.into(), "microseconds that it waits before that, give or take half at random"),
            parameter(
                "waiting",
                names(WAITING),
                "busy-timeout".into(),
                "how a connection waits for a lock: as SQLite does within busy_timeout, with pauses that grow to 100 ms, or with a busy handler of the application that pauses one millisecond each time, up to busy_timeout, which then reads 0",
            ),
        ],
        phases: ["write", "read", "capacity"].map(str::to_owned).to_vec(),
        counts: true,
    }
}
