//! Parameters that several workloads share.

use std::time::Duration;

use lab::catalogue::Parameter;
use lab::level::Settings;

use crate::error::Result;
use crate::parameters::Micros;
use crate::target::sqlite;

/// File handles of a connection that executes the user's SQL at most: database, log or journal, shared memory, and temporary files.
pub(crate) const FILES_OF_OWN_SQL: u64 = 6;

/// Files that a process has open in addition to its connections' files.
const OTHER_FILES: u64 = 64;

/// Returns the most files that a process with this number of connections has open, if each has this many.
pub(crate) fn open_files(connections: u64, of_each: u64) -> u64 {
    of_each * connections + OTHER_FILES
}

parameters! {
    /// How transactions that met a lock are retried.
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
