//! Parameters that several workloads share.

use std::time::Duration;

use lab::catalogue::Parameter;
use lab::level::Settings;

use crate::error::Result;
use crate::parameters::Micros;
use crate::target::sqlite;

/// File handles of a connection at most, and those that a process has besides.
const FILES_PER_CONNECTION: u64 = 6;
const OTHER_FILES: u64 = 64;

/// Returns the number of open files that a process with so many connections needs at most.
pub(crate) fn open_files(connections: u64) -> u64 {
    FILES_PER_CONNECTION * connections + OTHER_FILES
}

parameters! {
    /// How transactions are retried that met a lock.
    #[derive(Clone, Copy, Debug)]
    struct Retrying {
        /// Times that a transaction is retried after SQLITE_BUSY before it is given up.
        max_retries: usize = 1_000, 0..=1_000_000;
        /// Pause before a retry, plus or minus half at random.
        retry_pause as "retry_pause_us": Micros = 1_000, 0..=10_000_000;
        busy_timeout: BusyTimeout;
    }
}

choice! {
    /// The kind of workers.
    enum Workers {
        /// Threads of one process.
        Threads = "threads",
        /// Processes.
        Processes = "processes",
    }
}

/// The shared setting of this name, which is not declared by a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BusyTimeout(pub(crate) Duration);

impl crate::parameters::Parameters for BusyTimeout {
    fn declared() -> Vec<Parameter> {
        Vec::new()
    }

    fn read(settings: &Settings) -> Result<BusyTimeout> {
        Ok(BusyTimeout(sqlite::busy_timeout(settings)))
    }
}
