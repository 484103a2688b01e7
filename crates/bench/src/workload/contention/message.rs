//! What the trial and the workers that share its work say to one another: the same whether a worker
//! is a thread or a process, as JSON lines between processes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lab::level::Settings;
use lab::seed::Seed;
use lab::trial::{Latency, Measured, ReadBack};
use serde::{Deserialize, Serialize};

use super::pace::Task;
use crate::workload::common::set;

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::workload) enum Kind {
    /// Write transactions.
    Writer,
    /// Queries.
    Reader,
    /// Scripts of the user's own.
    Client,
}

/// Everything that a worker must know before the first order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workload) struct WorkerSpec {
    /// Every setting of the variant.
    pub(in crate::workload) settings: Settings,
    /// The engine, for a process of its own.
    pub(in crate::workload) engine: String,
    /// The directory of the trial, in which the database is.
    pub(in crate::workload) directory: PathBuf,
    /// From which the worker's choices derive.
    pub(in crate::workload) seed: Seed,
    /// What it does.
    pub(in crate::workload) kind: Kind,
    /// Its number among those of its kind, from 0.
    pub(in crate::workload) number: u32,
    /// The process of the trial, where the worker is another one.
    pub(in crate::workload) parent: Option<u32>,
    /// Whether what it does to files is counted.
    pub(in crate::workload) counting: bool,
}

impl WorkerSpec {
    /// Its name, such as `writer 3`.
    pub(in crate::workload) fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Writer => "writer",
            Kind::Reader => "reader",
            Kind::Client => "client",
        };
        format!("{kind} {}", self.number + 1)
    }
}

/// What the trial wants of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workload) enum Order {
    /// Work, and report.
    Work(Task),
    /// Close the connection, and end.
    Finish,
}

/// What a worker answers; one answer to each order, and one ahead of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workload) enum Answer {
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
pub(in crate::workload) struct Report {
    pub(in crate::workload) latency: Latency,
    pub(in crate::workload) late: Latency,
    pub(in crate::workload) offered: u64,
    pub(in crate::workload) attempted: u64,
    pub(in crate::workload) given_up: Vec<u64>,
    pub(in crate::workload) unserved: u64,
    pub(in crate::workload) slots: Vec<u64>,
    pub(in crate::workload) last_end: u64,
    pub(in crate::workload) busy: BusyCounts,
    /// CPU time in user mode and in the kernel, in seconds, where the worker is a process.
    pub(in crate::workload) cpu: Option<(f64, f64)>,
    /// What its connection did to files and to its page cache, by metric, in a counting trial.
    pub(in crate::workload) counts: BTreeMap<String, f64>,
    /// What became of each script and each statement of the user's own.
    pub(in crate::workload) parts: Vec<PartReport>,
}

/// What became of a script or a statement of the user's own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workload) struct PartReport {
    pub(in crate::workload) name: String,
    pub(in crate::workload) latency: Latency,
    /// What was counted of a statement; none of a script.
    pub(in crate::workload) counters: Option<Counters>,
}

/// What was counted of a statement in all its executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::workload) struct Counters {
    pub(in crate::workload) executions: u64,
    pub(in crate::workload) rows: u64,
    pub(in crate::workload) vm_steps: i64,
    pub(in crate::workload) scan_steps: i64,
    pub(in crate::workload) sorts: i64,
    pub(in crate::workload) auto_index_rows: i64,
}

impl Counters {
    pub(in crate::workload) fn add(&mut self, other: Counters) {
        self.executions += other.executions;
        self.rows += other.rows;
        self.vm_steps += other.vm_steps;
        self.scan_steps += other.scan_steps;
        self.sorts += other.sorts;
        self.auto_index_rows += other.auto_index_rows;
    }

    /// Sets their means over so many executions as metrics whose names end in `suffix`; nothing without an
    /// execution.
    pub(in crate::workload) fn set_means(
        self,
        executions: u64,
        suffix: &str,
        measured: &mut Measured,
    ) {
        if executions == 0 {
            return;
        }
        set(measured, &format!("executions{suffix}"), executions as f64);
        for (name, count) in [
            ("rows_per_call", self.rows as f64),
            ("vm_steps", self.vm_steps as f64),
            ("scan_steps", self.scan_steps as f64),
            ("sorts", self.sorts as f64),
            ("auto_index_rows", self.auto_index_rows as f64),
        ] {
            set(measured, &format!("{name}{suffix}"), count / executions as f64);
        }
    }
}

/// How locks of other connections stood in the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::workload) struct BusyCounts {
    /// `SQLITE_BUSY` results.
    pub(in crate::workload) errors: u64,
    /// Those that came before half of the timeout had passed.
    pub(in crate::workload) at_once: u64,
    /// Those that are `SQLITE_BUSY_SNAPSHOT`.
    pub(in crate::workload) snapshots: u64,
    /// Times an operation was begun anew.
    pub(in crate::workload) retries: u64,
}

impl BusyCounts {
    pub(in crate::workload) fn add(&mut self, other: BusyCounts) {
        self.errors += other.errors;
        self.at_once += other.at_once;
        self.snapshots += other.snapshots;
        self.retries += other.retries;
    }
}

/// The last words of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workload) struct Closing {
    /// The PRAGMAs of its connection.
    pub(in crate::workload) read_back: ReadBack,
    /// Its largest resident set in bytes, where it is a process and the system says it.
    pub(in crate::workload) peak_memory: Option<f64>,
}
