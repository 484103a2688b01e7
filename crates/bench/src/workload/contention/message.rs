//! What the trial and the workers that share its work say to one another: the same whether a worker
//! is a thread or a process, as JSON lines between processes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lab::level::Settings;
use lab::seed::Seed;
use lab::trial::{Latency, ReadBack};
use serde::{Deserialize, Serialize};

use super::pace::Task;

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Write transactions.
    Writer,
    /// Queries.
    Reader,
}

/// Everything that a worker must know before the first order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkerSpec {
    /// Every setting of the variant.
    pub(super) settings: Settings,
    /// The engine, for a process of its own.
    pub(super) engine: String,
    /// The directory of the trial, in which the database is.
    pub(super) directory: PathBuf,
    /// From which the worker's choices derive.
    pub(super) seed: Seed,
    /// What it does.
    pub(super) kind: Kind,
    /// Its number among those of its kind, from 0.
    pub(super) number: u32,
    /// The process of the trial, where the worker is another one.
    pub(super) parent: Option<u32>,
    /// Whether what it does to files is counted.
    pub(super) counting: bool,
}

impl WorkerSpec {
    /// Its name, such as `writer 3`.
    pub(super) fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Writer => "writer",
            Kind::Reader => "reader",
        };
        format!("{kind} {}", self.number + 1)
    }
}

/// What the trial wants of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Work, and report.
    Work(Task),
    /// Close the connection, and end.
    Finish,
}

/// What a worker answers; one answer to each order, and one ahead of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The connection is open and the worker waits for orders.
    Opened,
    /// The work is done.
    Worked(Box<Report>),
    /// The connection is closed.
    Finished(Box<Closing>),
    /// The variant cannot be run here.
    CannotRun(String),
    /// Something was wrong.
    Failed(String),
}

/// What became of the operations of one task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) latency: Latency,
    pub(super) late: Latency,
    pub(super) offered: u64,
    pub(super) attempted: u64,
    pub(super) given_up: Vec<u64>,
    pub(super) unserved: u64,
    pub(super) slots: Vec<u64>,
    pub(super) last_end: u64,
    pub(super) busy: BusyCounts,
    /// CPU time in user mode and in the kernel, in seconds, where the worker is a process.
    pub(super) cpu: Option<(f64, f64)>,
    /// What its connection did to files and to its page cache, by metric, in a counting trial.
    pub(super) counts: BTreeMap<String, f64>,
}

/// How locks of other connections stood in the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BusyCounts {
    /// `SQLITE_BUSY` results.
    pub(super) errors: u64,
    /// Those that came before half of the timeout had passed.
    pub(super) at_once: u64,
    /// Those that are `SQLITE_BUSY_SNAPSHOT`.
    pub(super) snapshots: u64,
    /// Times an operation was begun anew.
    pub(super) retries: u64,
}

impl BusyCounts {
    pub(super) fn add(&mut self, other: BusyCounts) {
        self.errors += other.errors;
        self.at_once += other.at_once;
        self.snapshots += other.snapshots;
        self.retries += other.retries;
    }
}

/// The last words of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Closing {
    /// The PRAGMAs of its connection.
    pub(super) read_back: ReadBack,
    /// Its largest resident set in bytes, where it is a process and the system says it.
    pub(super) peak_memory: Option<f64>,
}
