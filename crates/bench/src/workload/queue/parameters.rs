//! The parameters of `queue`.

use lab::catalogue::{Accepts, WorkloadInfo};
use lab::level::{Level, Settings};
use lab::needs::Needs;
use lab::target;

use crate::error::TrialError;
use crate::settings::Reader;
use crate::target::postgres;
use crate::target::queue::{Connections, Statements, Writing};
use crate::workload::common::{by_name, from, names, parameter};

/// Where tasks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Sqlite,
    Files,
    Memory,
    Postgres,
}

const TARGETS: &[(&str, Target)] = &[
    (target::SQLITE, Target::Sqlite),
    ("files", Target::Files),
    ("memory", Target::Memory),
    (target::POSTGRES, Target::Postgres),
];

/// What workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Add tasks.
    Insert,
    /// Take tasks from their beginning to their end.
    LifeCycle,
    /// Claim tasks that are due, and delete them when they are done.
    Schedule,
    /// Read single tasks.
    Get,
    /// List tasks by status.
    List,
}

const WORK: &[(&str, Work)] = &[
    ("insert", Work::Insert),
    ("life-cycle", Work::LifeCycle),
    ("schedule", Work::Schedule),
    ("get", Work::Get),
    ("list", Work::List),
];

const CONNECTIONS: &[(&str, Connections)] = &[
    ("per-thread", Connections::PerThread),
    ("shared", Connections::Shared),
    ("pool", Connections::Pool),
];

const STATEMENTS: &[(&str, Statements)] = &[
    ("reused", Statements::Reused),
    ("each-time", Statements::EachTime),
];

const WRITING: &[(&str, Writing)] = &[
    ("truncate", Writing::Truncate),
    ("rename", Writing::Rename),
    ("sync", Writing::Sync),
    ("sync-directory", Writing::SyncDirectory),
];

/// Whether an output is replaced or added to.
const OUTPUT: &[(&str, bool)] = &[("replace", false), ("append", true)];

/// Workers of a trial at most: threads of one process, and a connection each.
const MOST_WORKERS: i64 = 2_000;

/// Statements in the life of a task: its insertion, a status, ten outputs, its deletion.
pub(super) const STATEMENTS_OF_A_LIFE: usize = 1 + 1 + OUTPUTS + 1;

/// Outputs in the life of a task.
pub(super) const OUTPUTS: usize = 10;

/// For so many tasks that are due there is one more that is not.
const NOT_DUE: usize = 4;

/// The parameters of one trial.
#[derive(Clone, Debug)]
pub(super) struct Parameters {
    pub(super) target: Target,
    pub(super) work: Work,
    pub(super) workers: usize,
    pub(super) tasks: usize,
    pub(super) stored: usize,
    pub(super) repeats: usize,
    pub(super) payload_bytes: usize,
    pub(super) appends: bool,
    pub(super) statements_per_txn: usize,
    pub(super) connections: Connections,
    pub(super) statements: Statements,
    pub(super) indexed: bool,
    pub(super) writing: Writing,
    /// Whether transactions begin concurrently.
    concurrent: bool,
}

impl Parameters {
    /// Reads and checks them.
    pub(super) fn read(settings: &Settings) -> Result<Parameters, TrialError> {
        let reader = Reader(settings);
        let parameters = Parameters {
            target: reader.name(target::SETTING, |name| by_name(TARGETS, name))?,
            work: reader.name("work", |name| by_name(WORK, name))?,
            workers: reader.count("workers")?.max(1),
            tasks: reader.count("tasks")?,
            stored: reader.count("stored")?,
            repeats: reader.count("repeats")?.max(1),
            payload_bytes: reader.count("payload_bytes")?,
            appends: reader.name("output", |name| by_name(OUTPUT, name))?,
            statements_per_txn: reader.count("statements_per_txn")?.max(1),
            connections: reader.name("connections", |name| by_name(CONNECTIONS, name))?,
            statements: reader.name("statements", |name| by_name(STATEMENTS, name))?,
            indexed: reader.flag("indexed")?,
            writing: reader.name("writing", |name| by_name(WRITING, name))?,
            concurrent: settings.get("transaction").and_then(Level::as_text) == Some("concurrent"),
        };
        parameters.check()?;
        Ok(parameters)
    }

    fn check(&self) -> Result<(), TrialError> {
        let has_transactions = matches!(self.target, Target::Sqlite | Target::Postgres);
        let shares = self.connections != Connections::PerThread;
        let problem = match () {
            () if self.statements_per_txn > 1 && !has_transactions => {
                "files and memory have no transactions, so statements_per_txn must be 1"
            }
            () if self.statements_per_txn > 1 && self.work != Work::LifeCycle => {
                "statements are grouped in the life of a task only: statements_per_txn goes with work = life-cycle"
            }
            () if self.target == Target::Sqlite
                && shares
                && self.statements == Statements::Reused =>
            {
                "a connection that is borrowed for each statement keeps none prepared: connections = shared and pool go with statements = each-time"
            }
            () if self.target == Target::Sqlite
                && self.concurrent
                && self.statements_per_txn > 1
                && self.workers > 1 =>
            {
                "transactions that begin concurrently may be refused when they commit, and the workers of a queue do not begin theirs anew: transaction = concurrent goes with one worker, or with statements_per_txn = 1"
            }
            () if self.work == Work::Schedule && self.stored > 0 => {
                "work = schedule stores its own tasks, so stored must be 0"
            }
            () if self.reads() && self.stored == 0 => {
                "there is nothing to read: work = get and list need tasks that are stored"
            }
            () => return Ok(()),
        };
        Err(TrialError::CannotRun(problem.to_owned()))
    }

    /// Whether nothing is changed.
    pub(super) fn reads(&self) -> bool {
        matches!(self.work, Work::Get | Work::List)
    }

    /// Tasks that are there from the beginning: those of a schedule are not due.
    pub(super) fn first_tasks(&self) -> usize {
        match self.work {
            Work::Schedule => self.workers * self.tasks / NOT_DUE,
            _ => self.stored,
        }
    }

    /// Tasks that are there at the same time, at most.
    fn most_tasks(&self) -> usize {
        let each_time = self.workers * self.tasks;
        let added = match self.work {
            Work::Get | Work::List => 0,
            // A worker begins with a task when the last is gone.
            Work::LifeCycle => self.workers,
            // A repetition begins when the tasks of the last are gone.
            Work::Schedule => each_time,
            Work::Insert => each_time * self.repeats,
        };
        self.first_tasks() + added
    }

    /// Tasks that are surely on the disk at the same time: memory writes none of its own, and of those
    /// that come and go in a life-cycle it depends on chance how many meet.
    fn tasks_on_disk(&self) -> usize {
        match (self.target, self.work) {
            (Target::Memory, _) | (_, Work::LifeCycle) => self.first_tasks(),
            _ => self.most_tasks(),
        }
    }

    /// Operations in one repetition.
    pub(super) fn operations(&self) -> usize {
        let each = match self.work {
            Work::Insert | Work::Get | Work::List => 1,
            Work::LifeCycle => STATEMENTS_OF_A_LIFE,
            Work::Schedule => 2,
        };
        self.workers * self.tasks * each
    }
}

/// What a trial needs at the same time.
pub(super) fn needs(settings: &Settings) -> Needs {
    let Ok(parameters) = Parameters::read(settings) else {
        return Needs::default();
    };
    let workers = parameters.workers as u64;
    let (handles, files) = match parameters.target {
        // A database, its log and its shared memory; a socket, its poll and its wake-up.
        Target::Sqlite => (3, 4),
        Target::Postgres => (6, 0),
        // Each worker may write another beside a task.
        Target::Files => (3, parameters.most_tasks() as u64 + workers),
        Target::Memory => (0, parameters.first_tasks() as u64),
    };
    Needs {
        open_files: 64 + workers * handles,
        // The server has a process for each connection.
        threads: match parameters.target {
            Target::Postgres => 32 + 2 * workers,
            _ => 8 + workers,
        },
        // A stack and its guard.
        mappings: 256 + 2 * workers,
        disk_bytes: (parameters.tasks_on_disk() * parameters.payload_bytes) as u64,
        files,
    }
}

pub(super) fn info() -> WorkloadInfo {
    let up_to = |min, max| Accepts::Int { min, max };
    let choice = |name: &str, accepts, default: &str, about: &str| {
        parameter(name, accepts, Level::from(default), about)
    };
    WorkloadInfo {
        name: "queue".to_owned(),
        about: "a queue of tasks in SQLite, in files, on a PostgreSQL server or in memory: workers add tasks, take them through their life (insertion, status, ten outputs, deletion), claim those that are due, or read them; every task must be there once, as it was left, or be gone".to_owned(),
        parameters: vec![
            choice(target::SETTING, names(TARGETS), target::SQLITE, "where tasks are kept: a SQLite database, a directory with a JSON file for each, a table on a PostgreSQL server, or memory (read from files when the process starts)"),
            choice("work", names(WORK), "life-cycle", "what workers do: insert tasks, take each through its life-cycle of 13 statements, claim what a schedule says is due and delete it, get single tasks at random, or list a hundred by status"),
            parameter("workers", up_to(1, MOST_WORKERS), 1.into(), "threads that work at the same time"),
            parameter("tasks", from(1), 1_000.into(), "tasks of each worker; readings of each for get and list"),
            parameter("stored", up_to(0, 100_000_000), 0.into(), "tasks that are there from the beginning"),
            parameter("repeats", up_to(1, 1_000), 1.into(), "times that the work is done in the same store, one after the other"),
            parameter("payload_bytes", up_to(0, 512 << 20), 0.into(), "random letters added to the arguments of each task, in bytes"),
            choice("output", names(OUTPUT), "replace", "whether an output takes the place of the last or is added to it"),
            parameter("statements_per_txn", up_to(1, STATEMENTS_OF_A_LIFE as i64), 1.into(), "statements of a task's life in one transaction; 1 commits each"),
            choice("connections", names(CONNECTIONS), "per-thread", "for the target sqlite: a connection for each worker, one that all share, or a pool that opens as many as are wanted at a time and keeps two idle ones (as Go's database/sql does unless told otherwise)"),
            choice("statements", names(STATEMENTS), "reused", "for the target sqlite: whether statements are prepared once for each connection or for each use"),
            parameter("indexed", Accepts::Bool, true.into(), "whether a table has an index of status and due time"),
            choice("writing", names(WRITING), "rename", "for the target files: whether a file is truncated and written over, or written beside and renamed over, synced before that, and its directory after it"),
            postgres::synchronous_commit(),
        ],
        phases: ["insert", "status", "output", "delete", "claim", "get", "list", "transaction", "rebuild"]
            .map(str::to_owned)
            .to_vec(),
        counts: true,
    }
}
