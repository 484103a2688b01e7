//! Parameters that several workloads share.

use std::time::Duration;

use lab::catalogue::Parameter;
use lab::level::Settings;

use crate::error::Result;
use crate::target::sqlite;

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
