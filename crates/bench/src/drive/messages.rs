//! Messages between the trial and its workers: the same for threads and processes, as JSON lines between processes.
//!
//! Worker processes, and the JSON lines between them and the trial. The first line to a worker is its specification.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use engine::{Statement, StatementCounter};
use lab::level::Settings;
use lab::seed::Seed;
use lab::trial::{Measured, ReadBack};
use process::{Group, Process, described};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::pacing::{Progress, Task};
use super::parameters::Workers;
use crate::measure::{CpuTime, LatencyHistogram};
use crate::parameters::Choice;
use crate::platform::die_with_the_parent;
use crate::trial::Trial;
use crate::workload::common::set;

choice! {
    /// The kind of operations that a worker does.
    #[derive(Serialize, Deserialize)]
    enum Role {
        /// Write transactions.
        Writer = "writer",
        /// Queries.
        Reader = "reader",
        /// The user's scripts.
        Client = "client",
    }
}

/// The specification of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerSpec {
    /// Every setting of the variant.
    pub(crate) settings: Settings,
    /// The engine, for a process of its own.
    pub(crate) engine: String,
    /// The directory of the trial, which contains the database.
    pub(crate) directory: PathBuf,
    /// Seed of the worker's choices.
    pub(crate) seed: Seed,
    pub(crate) role: Role,
    /// Its number among the workers of its role, from 0.
    pub(crate) number: u32,
    /// The process of the trial, if the worker is a process.
    pub(crate) parent: Option<u32>,
    /// Whether its file operations are counted.
    pub(crate) counting: bool,
    /// Whether it waits for locks in a busy handler with even pauses, and not by SQLite's `busy_timeout`.
    pub(crate) waits_evenly: bool,
}

impl WorkerSpec {
    /// Returns the specification of the worker of this number, which waits for locks as SQLite does.
    pub(crate) fn new(trial: &Trial<'_>, workers: Workers, role: Role, number: u32) -> WorkerSpec {
        WorkerSpec {
            settings: trial.settings.clone(),
            engine: trial.engine_name(),
            directory: trial.directory.to_owned(),
            seed: trial.seed.child(&format!("{}s", role.name())).nth(u64::from(number)),
            role,
            number,
            parent: (workers == Workers::Processes).then(std::process::id),
            counting: trial.counter.is_some(),
            waits_evenly: false,
        }
    }

    /// Returns its name, such as `writer 3`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.role.name(), self.number + 1)
    }
}

/// A request of the trial to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Carry out a task, and report.
    Work(Task),
    /// Close the connection, and end.
    Finish,
}

/// A worker's response: one when it is ready, and one to each request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Response {
    /// The connection is open and the worker waits for requests.
    Ready,
    /// The task is done.
    Worked(Box<TaskReport>),
    /// The connection is closed.
    Finished(Box<WorkerClosing>),
    /// The variant cannot be run here.
    CannotRun(String),
    /// There is a mistake in the user's SQL.
    Mistake(String),
    /// Something failed.
    Failed(String),
}

/// A worker's report on a task.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaskReport {
    pub(crate) progress: Progress,
    pub(crate) busy: BusyCounts,
    /// CPU time, if the worker is a process.
    pub(crate) cpu: Option<CpuTime>,
    /// Counts of its connection's file operations and page cache, by metric, in a counting trial.
    pub(crate) counts: BTreeMap<String, f64>,
    /// One report for each of the user's scripts and statements.
    pub(crate) parts: Vec<PartReport>,
}

/// The report on one of the user's scripts or statements.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PartReport {
    pub(crate) name: String,
    pub(crate) latency: LatencyHistogram,
    /// Counters of a statement; `None` for a script.
    pub(crate) counters: Option<StatementCounters>,
}

/// Counters of a statement, summed over its executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StatementCounters {
    pub(crate) executions: u64,
    pub(crate) rows: u64,
    pub(crate) vm_steps: i64,
    pub(crate) scan_steps: i64,
    pub(crate) sorts: i64,
    pub(crate) auto_index_rows: i64,
}

impl StatementCounters {
    /// Returns SQLite's counters of a prepared statement, without executions and rows.
    pub(crate) fn of(statement: &Statement<'_, '_>) -> StatementCounters {
        StatementCounters {
            vm_steps: statement.counter(StatementCounter::VmSteps),
            scan_steps: statement.counter(StatementCounter::FullScanSteps),
            sorts: statement.counter(StatementCounter::Sorts),
            auto_index_rows: statement.counter(StatementCounter::AutoIndexRows),
            ..StatementCounters::default()
        }
    }

    pub(crate) fn add(&mut self, other: StatementCounters) {
        self.executions += other.executions;
        self.rows += other.rows;
        self.vm_steps += other.vm_steps;
        self.scan_steps += other.scan_steps;
        self.sorts += other.sorts;
        self.auto_index_rows += other.auto_index_rows;
    }

    /// Sets their means over a number of executions, if it is not 0, as metrics whose names end in `suffix`.
    pub(crate) fn set_means(self, executions: u64, suffix: &str, measured: &mut Measured) {
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

/// How often other connections' locks stood in the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BusyCounts {
    /// `SQLITE_BUSY` results.
    pub(crate) errors: u64,
    /// `SQLITE_BUSY` results that came before half of the timeout had passed.
    pub(crate) at_once: u64,
    /// `SQLITE_BUSY_SNAPSHOT` results.
    pub(crate) snapshots: u64,
    /// Times an operation was begun anew.
    pub(crate) retries: u64,
}

impl BusyCounts {
    pub(crate) fn add(&mut self, other: BusyCounts) {
        self.errors += other.errors;
        self.at_once += other.at_once;
        self.snapshots += other.snapshots;
        self.retries += other.retries;
    }
}

/// The last report of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerClosing {
    /// The PRAGMAs of its connection.
    pub(crate) read_back: ReadBack,
    /// Its largest resident set in bytes, if it is a process and the system reports it.
    pub(crate) peak_memory: Option<f64>,
}

/// A process that runs a hidden subcommand of pragmark. It is killed when it is dropped, dies with the trial's process
/// (where the kernel supports this), and belongs to the process group that the parent of the trial kills.
pub(crate) struct ChildWorker {
    process: Process,
    input: ChildStdin,
}

impl ChildWorker {
    /// Starts a process and sends its specification; returns it with its output.
    pub(crate) fn start(
        subcommand: &str,
        spec: &impl Serialize,
    ) -> io::Result<(ChildWorker, BufReader<ChildStdout>)> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(subcommand).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::start(&mut command, Group::Shared).map_err(io::Error::other)?;
        let pipes = process.take_input().zip(process.take_output());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("its pipes are missing"))?;
        let mut child = ChildWorker { process, input };
        child.send(spec)?;
        Ok((child, BufReader::new(output)))
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        write_message(&mut self.input, message)
    }

    /// Kills the process and describes how it ended.
    pub(crate) fn kill(&mut self) -> String {
        self.process.kill().map(described).unwrap_or_default()
    }
}

/// The worker's side of the exchange.
pub(crate) struct Channel<I, O> {
    input: I,
    output: O,
}

impl<I: BufRead, O: Write> Channel<I, O> {
    /// Receives the messages of `input` and sends messages to `output`.
    pub(crate) fn new(input: I, output: O) -> Channel<I, O> {
        Channel { input, output }
    }

    /// Receives the next message.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        read_message(&mut self.input)
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        write_message(&mut self.output, message)
    }
}

/// Reads a message; fails at the end of the input.
pub(crate) fn read_message<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<T> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Writes a message as a line.
pub(crate) fn write_message(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Asks the kernel to end this process with its parent. Returns whether the parent is still there: it may have died before
/// the kernel was asked.
pub(crate) fn follow_parent(parent: u32) -> bool {
    die_with_the_parent();
    let found = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    found.and_then(|pid| u32::try_from(pid).ok()) == Some(parent)
}
