//! The parameters of `queue`.

use lab::level::{Level, Settings};
use lab::needs::Needs;

use crate::error::{Result, TrialError};
use crate::parameters::Bytes;
use crate::target::postgres::SynchronousCommit;
use crate::target::queue::{Connections, Statements, Writing};

choice! {
    /// Where tasks are stored.
    enum Target {
        /// A SQLite database.
        Sqlite = "sqlite",
        /// A directory with a JSON file per task.
        Files = "files",
        /// Memory, read from files when the process starts.
        Memory = "memory",
        /// A table on a PostgreSQL server.
        Postgres = "postgres",
    }
}

choice! {
    /// The work of the workers.
    enum Work {
        /// Insert tasks.
        Insert = "insert",
        /// Take each task through its life cycle of 13 statements.
        LifeCycle = "life-cycle",
        /// Claim tasks that are due and delete them.
        Schedule = "schedule",
        /// Read single tasks at random.
        Get = "get",
        /// List a hundred tasks by status.
        List = "list",
    }
}

choice! {
    /// How a task gets its next output.
    enum Output {
        /// It replaces the last.
        Replace = "replace",
        /// It is appended.
        Append = "append",
    }
}

/// Number of workers of a trial at most: threads of one process with a connection each.
const MOST_WORKERS: i64 = 2_000;

/// Number of statements in the life cycle of a task: its insertion, a status, ten outputs, its deletion.
pub(super) const STATEMENTS_OF_A_LIFE: usize = 1 + 1 + OUTPUTS + 1;

/// Number of outputs in the life cycle of a task.
pub(super) const OUTPUTS: usize = 10;

/// Number of due tasks for each task that is not due.
const NOT_DUE: usize = 4;

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Debug)]
    struct Parameters {
        /// Where tasks are stored.
        target: Target = Target::Sqlite;
        /// What workers do.
        work: Work = Work::LifeCycle;
        /// Threads that work at the same time.
        workers: usize = 1, 1..=MOST_WORKERS;
        /// Tasks per worker; for get and list, reads per worker.
        tasks: usize = 1_000, 1..;
        /// Tasks stored before the work.
        stored: usize = 0, 0..=100_000_000;
        /// Times that the work is repeated in the same store.
        repeats: usize = 1, 1..=1_000;
        /// Random letters added to the arguments of each task.
        payload_bytes: Bytes = 0, 0..=512 << 20;
        /// How a task gets its next output.
        output: Output = Output::Replace;
        /// Statements of a task's life cycle per transaction; 1 commits each.
        statements_per_txn: usize = 1, 1..=STATEMENTS_OF_A_LIFE as i64;
        /// With target = sqlite, how workers get a connection.
        connections: Connections = Connections::PerThread;
        /// With target = sqlite, when statements are prepared.
        statements: Statements = Statements::Reused;
        /// Whether status and due time are indexed.
        indexed: bool = true;
        /// With target = files, how a file is written.
        writing: Writing = Writing::Rename;
        /// With target = postgres, whether a commit waits until its log is on disk.
        synchronous_commit: SynchronousCommit = SynchronousCommit::On;
    }
}

impl Parameters {
    /// Checks the rules between parameters.
    pub(super) fn check(&self, settings: &Settings) -> Result<()> {
        let has_transactions = matches!(self.target, Target::Sqlite | Target::Postgres);
        let shares = self.connections != Connections::PerThread;
        let sqlite = self.target == Target::Sqlite;
        let begin = settings.get("transaction").and_then(Level::as_text);
        let grouped = self.statements_per_txn > 1;
        let why = if grouped && !has_transactions {
            "files and memory have no transactions, so statements_per_txn must be 1"
        } else if grouped && self.work != Work::LifeCycle {
            "statements_per_txn above 1 requires work = life-cycle"
        } else if sqlite && shares && self.statements == Statements::Reused {
            "connections = shared and pool borrow a connection for each statement, which requires statements = each-time"
        } else if sqlite && begin == Some("concurrent") && grouped && self.workers > 1 {
            "transaction = concurrent requires one worker or statements_per_txn = 1: commits may be refused, and workers do not retry transactions"
        } else if self.work == Work::Schedule && self.stored > 0 {
            "work = schedule stores its own tasks, so stored must be 0"
        } else if self.reads() && self.stored == 0 {
            "work = get and list require stored above 0: there is nothing to read"
        } else {
            return Ok(());
        };
        Err(TrialError::cannot_run(why))
    }

    /// Returns the resources that a trial needs at the same time.
    pub(super) fn needs(&self) -> Needs {
        let workers = self.workers as u64;
        let (handles, files) = match self.target {
            // A database, its log and its shared memory; a socket, its poll and its wake-up.
            Target::Sqlite => (3, 4),
            Target::Postgres => (6, 0),
            // Each worker may write another in addition to a task.
            Target::Files => (3, self.most_tasks() as u64 + workers),
            Target::Memory => (0, self.first_tasks() as u64),
        };
        // The number of tasks that are surely on the disk at the same time. Memory writes no tasks, and in life
        // cycles the number depends on chance.
        Needs {
            open_files: 64 + workers * handles,
            // The server has a process for each connection.
            threads: match self.target {
                Target::Postgres => 32 + 2 * workers,
                _ => 8 + workers,
            },
            // A stack and its guard.
            mappings: 256 + 2 * workers,
            disk_bytes: ((match (self.target, self.work) {
                (Target::Memory, _) | (_, Work::LifeCycle) => self.first_tasks(),
                _ => self.most_tasks(),
            }) * self.payload_bytes) as u64,
            files,
        }
    }

    /// Returns whether the work only reads.
    pub(super) fn reads(&self) -> bool {
        matches!(self.work, Work::Get | Work::List)
    }

    /// Returns the number of tasks that are stored before the work. With a schedule they are not due.
    pub(super) fn first_tasks(&self) -> usize {
        match self.work {
            Work::Schedule => self.workers * self.tasks / NOT_DUE,
            _ => self.stored,
        }
    }

    /// Returns the number of tasks that are stored at the same time, at most.
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

    /// Returns the number of operations in one repetition.
    pub(super) fn operations(&self) -> usize {
        let each = match self.work {
            Work::Insert | Work::Get | Work::List => 1,
            Work::LifeCycle => STATEMENTS_OF_A_LIFE,
            Work::Schedule => 2,
        };
        self.workers * self.tasks * each
    }
}
