//! The parameters of `contention`.

use lab::level::{Level, Settings};
use lab::needs::Needs;

use crate::drive::parameters::{BusyTimeout, Workers};
use crate::error::{Result, TrialError};
use crate::parameters::{Micros, Millis, Percent, Rows};

choice! {
    /// The statements of a write transaction.
    enum Work {
        /// Its first statement writes.
        Write = "write",
        /// It reads a value, then writes one derived from it.
        ReadThenWrite = "read-then-write",
    }
}

choice! {
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
}

choice! {
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

/// Number of file handles that a process has besides its databases.
const OTHER_FILES: u64 = 64;

/// File handles of a connection at most: database, log or journal, shared memory, and a temporary
/// file.
const FILES_PER_CONNECTION: u64 = 4;

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
        /// Times that the application retries an operation after SQLITE_BUSY before it gives up.
        max_retries: usize = 1_000, 0..=1_000_000;
        /// Pause before a retry, plus or minus half at random.
        retry_pause as "retry_pause_us": Micros = 1_000, 0..=10_000_000;
        /// How a connection waits for a lock.
        waiting: Waiting = Waiting::BusyTimeout;
        busy_timeout: BusyTimeout;
    }
}

impl Parameters {
    /// Checks the rules between parameters.
    pub(super) fn check(&self, settings: &Settings) -> Result<()> {
        let idle = |workers: u32, per_s: usize| workers > 0 && per_s == 0;
        let locking = settings.get("locking_mode").and_then(Level::as_text);
        let why = if self.writers + self.readers == 0 {
            "no writers and no readers: there is nothing to do"
        } else if self.read_rows > self.items {
            "read_rows cannot exceed items"
        } else if self.arrival == Arrival::Rate
            && (idle(self.writers, self.writes_per_s) || idle(self.readers, self.reads_per_s))
        {
            "arrival = rate requires writes_per_s for writers and reads_per_s for readers"
        } else if self.writers + self.readers > 1 && locking == Some("exclusive") {
            "locking_mode = exclusive admits one connection, so nothing contends"
        } else {
            return Ok(());
        };
        Err(TrialError::cannot_run(why))
    }

    /// Returns the needs of a trial from the operating system.
    pub(super) fn needs(&self) -> Needs {
        let workers = u64::from(self.writers) + u64::from(self.readers);
        let connections = match self.workers {
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
}
