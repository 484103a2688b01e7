//! A queue of tasks, kept in SQLite, in files, on a PostgreSQL server or in memory.
//!
//! It follows the comparison of article 004 and separates its factors: how workers get a connection, how a file is written, and
//! whether a commit waits for the disk. A target states the durability of an acknowledged change, so that targets can be compared
//! at the same durability. Every task must be stored once as it was left, or be gone, before a trial counts as measured.
//!
//! The parameters of `queue`.
//!
//! Verification of the tasks at the end.

mod worker;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use lab::durability::Durability;

use self::worker::{Op, OperationLog, Operations, TaskGenerator, WorkerInput, WorkerResult};
use crate::parameters::Bytes;
use crate::target::postgres::{Server, SynchronousCommit};
use crate::target::queue::{
    Connections, Files, Memory, Postgres, Sqlite, Statements, Store, StoreStats, Task, TaskId,
    Writing, files_left,
};
use crate::workload::prelude::*;

/// The workload `queue`.
pub(super) struct Queue;

/// The directory of task files within the trial's.
const FILES: &str = "tasks";

impl Declared for Queue {
    const NAME: &'static str = "queue";
    const METRIC: &'static str = "ops_per_s";
    const ABOUT: &'static str = "A task queue in SQLite, in files, on a PostgreSQL server or in memory: workers insert tasks, take them through their life cycle (insert, status, ten outputs, delete), claim those that are due, or read them. Every task must be stored exactly once as it was left, or be gone.";
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn phases() -> Vec<String> {
        Op::ALL.iter().map(|(_, phase, _)| *phase).chain(["rebuild"]).map(str::to_owned).collect()
    }

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        let has_transactions = matches!(parameters.target, Target::Sqlite | Target::Postgres);
        let shares = parameters.connections != Connections::PerThread;
        let sqlite = parameters.target == Target::Sqlite;
        let begin = settings.get("transaction").and_then(Level::as_text);
        let grouped = parameters.statements_per_txn > 1;
        let why = if grouped && !has_transactions {
            "files and memory have no transactions, so statements_per_txn must be 1"
        } else if grouped && parameters.work != Work::LifeCycle {
            "statements_per_txn above 1 requires work = life-cycle"
        } else if sqlite && shares && parameters.statements == Statements::Reused {
            "connections = shared and pool borrow a connection for each statement, which requires statements = each-time"
        } else if sqlite && begin == Some("concurrent") && grouped && parameters.workers > 1 {
            "transaction = concurrent requires one worker or statements_per_txn = 1: commits may be refused, and workers do not retry transactions"
        } else if parameters.work == Work::Schedule && parameters.stored > 0 {
            "work = schedule stores its own tasks, so stored must be 0"
        } else if parameters.reads() && parameters.stored == 0 {
            "work = get and list require stored above 0: there is nothing to read"
        } else {
            return Ok(());
        };
        Err(TrialError::cannot_run(why))
    }

    fn needs(parameters: &Parameters, _: &Settings) -> Needs {
        let workers = parameters.workers as u64;
        let (handles, files) = match parameters.target {
            // A database, its log and its shared memory; a socket, its poll and its wake-up.
            Target::Sqlite => (3, 4),
            Target::Postgres => (6, 0),
            // Each worker may write another in addition to a task.
            Target::Files => (3, parameters.most_tasks() as u64 + workers),
            Target::Memory => (0, parameters.first_tasks() as u64),
        };
        // The number of tasks that are surely on the disk at the same time. Memory writes no tasks, and in life
        // cycles the number depends on chance.
        Needs {
            open_files: 64 + workers * handles,
            // The server has a process for each connection.
            threads: match parameters.target {
                Target::Postgres => 32 + 2 * workers,
                _ => 8 + workers,
            },
            // A stack and its guard.
            mappings: 256 + 2 * workers,
            disk_bytes: ((match (parameters.target, parameters.work) {
                (Target::Memory, _) | (_, Work::LifeCycle) => parameters.first_tasks(),
                _ => parameters.most_tasks(),
            }) * parameters.payload_bytes) as u64,
            files,
        }
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        if parameters.target == Target::Sqlite {
            refuse_single_threaded(trial)?;
        }
        (trial.phase)("load");
        let stored = parameters.stored_tasks(trial);
        let (store, rebuild_s) = parameters.store(trial, &stored)?;
        parameters.fill(&*store, &stored)?;

        (trial.phase)("work");
        let mut expected = Expected::new(parameters, stored);
        let repetitions = parameters.carry_out(trial, &*store, &mut expected)?;
        let stats = repetitions.stats();
        let mut measured = repetitions.measured(parameters)?;
        set_peak_memory(&mut measured);
        parameters.note_stats(&stats, trial.counter.is_some(), &mut measured);
        if let Some(seconds) = rebuild_s {
            set(&mut measured, "seconds.rebuild", seconds);
        }

        (trial.phase)("verify");
        let durability = store.durability()?;
        parameters.check_durability(durability, &stats)?;
        measured.durability = Some(durability);
        expected.check(&store.tasks()?)?;
        let closing = store.close()?;
        measured.metrics.extend(closing.metrics);
        measured.connections = closing.connections;
        measured.tables = closing.tables;
        let files = trial.directory.join(FILES);
        let left = match closing.left_on_server {
            Some(left) => Some(left),
            None => expected.left_over(trial.directory, &files)?,
        };
        if let Some(left) = left {
            set(&mut measured, "left_over", left as f64);
        }
        Ok(measured)
    }
}

/// The figures of all repetitions.
#[derive(Default)]
struct Repetitions {
    operations: Operations,
    elapsed: Elapsed,
    seconds: Vec<f64>,
    /// The store's statistics of each repetition, without the tasks that were loaded before it.
    stats: Vec<StoreStats>,
}

/// Returns the time from the moment at which all workers begin to the end of the last one.
fn time_work(gate: &Gate) -> Result<Elapsed> {
    let watch = gate.start_clock()?;
    gate.wait_until_done();
    let elapsed = watch.stop()?;
    gate.dismiss();
    Ok(elapsed)
}

impl Repetitions {
    /// Returns the store's statistics while the clock ran.
    fn stats(&self) -> StoreStats {
        self.stats.iter().cloned().reduce(StoreStats::plus).unwrap_or_default()
    }

    fn measured(&self, parameters: &Parameters) -> Result<Measured> {
        let mut measured = self.elapsed.times();
        let operations = parameters.operations() * parameters.repeats;
        set(&mut measured, "ops_per_s", operations as f64 / self.elapsed.seconds);
        let halves = self.seconds.split_at(self.seconds.len() / 2);
        if let (first @ [_, ..], second) = halves {
            let mean = |seconds: &[f64]| seconds.iter().sum::<f64>() / seconds.len() as f64;
            let percent = 100.0 * mean(second) / mean(first);
            set(&mut measured, "settled_percent", percent);
        }
        self.operations.note(&mut measured)?;
        Ok(measured)
    }
}

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
    /// Returns the tasks that are stored before the work.
    fn stored_tasks(&self, trial: &Trial<'_>) -> Vec<Task> {
        let mut generator = TaskGenerator::new(trial.seed.child("stored"), self.payload_bytes);
        match self.work {
            Work::Schedule => generator.not_due(self.first_tasks()),
            _ => generator.due(self.first_tasks()),
        }
    }

    /// Creates the store. Returns it with the seconds of reading the existing files, if the target must read them when it starts.
    fn store(&self, trial: &Trial<'_>, stored: &[Task]) -> Result<(Box<dyn Store>, Option<f64>)> {
        let directory = trial.directory.join(FILES);
        match self.target {
            Target::Sqlite => {
                let (connections, statements) = (self.connections, self.statements);
                let sqlite = Sqlite::create(trial, connections, statements, self.indexed)?;
                Ok((Box::new(sqlite), None))
            }
            Target::Postgres => {
                let server = Server::of(trial.postgres, self.synchronous_commit)?;
                let postgres = Postgres::create(server, self.indexed)?;
                Ok((Box::new(postgres), None))
            }
            Target::Files | Target::Memory => {
                fs::create_dir(&directory).map_err(TrialError::io("create", &directory))?;
                for task in stored {
                    let path = directory.join(task.id.to_string());
                    let content = serde_json::to_vec(task).map_err(TrialError::measuring)?;
                    fs::write(&path, content).map_err(TrialError::io("write", &path))?;
                }
                let clock = Instant::now();
                let store: Box<dyn Store> = if self.target == Target::Files {
                    Box::new(Files::open(directory, self.writing)?)
                } else {
                    Box::new(Memory::rebuild(&directory)?)
                };
                Ok((store, Some(clock.elapsed().as_secs_f64())))
            }
        }
    }

    /// Stores the first tasks in a target that does not read them from files.
    fn fill(&self, store: &dyn Store, stored: &[Task]) -> Result<()> {
        if stored.is_empty() || matches!(self.target, Target::Files | Target::Memory) {
            return Ok(());
        }
        self.add(store, stored)
    }

    /// Carries out the repetitions of the work.
    fn carry_out(
        &self,
        trial: &Trial<'_>,
        store: &dyn Store,
        expected: &mut Expected,
    ) -> Result<Repetitions> {
        let mut repetitions = Repetitions::default();
        for repetition in 0..self.repeats {
            let seed = trial.seed.child("work").nth(repetition as u64);
            let tasks = |worker: usize| {
                let mut generator = TaskGenerator::new(seed.nth(worker as u64), self.payload_bytes);
                match self.work {
                    Work::Get | Work::List => Vec::new(),
                    _ => generator.due(self.tasks),
                }
            };
            let mut tasks: Vec<Vec<Task>> = (0..self.workers).map(tasks).collect();
            if self.work == Work::Schedule {
                let due: Vec<Task> = tasks.iter_mut().flat_map(std::mem::take).collect();
                self.add(store, &due)?;
                expected.due.extend(due.iter().map(|task| task.id));
            }
            let specs = tasks.into_iter().enumerate().map(|(worker, tasks)| WorkerInput {
                parameters: self,
                tasks,
                stored: &expected.stored,
                seed: seed.child("choice").nth(worker as u64),
            });
            let before = store.stats();
            let work = |input: WorkerInput<'_>, gate: &Gate| input.run(store, gate);
            let (results, elapsed) = run_threads(specs.collect(), time_work, work)?;
            repetitions.stats.push(store.stats().since(&before));
            repetitions.seconds.push(elapsed.seconds);
            repetitions.elapsed.add(elapsed);
            let logs = expected.add(results.into_iter().flatten().collect())?;
            repetitions.operations.add(logs, elapsed.seconds);
        }
        Ok(repetitions)
    }

    /// Adds tasks outside the clock, in one transaction where there are transactions.
    fn add(&self, store: &dyn Store, tasks: &[Task]) -> Result<()> {
        let groups = matches!(self.target, Target::Sqlite | Target::Postgres);
        store.session(&mut |session| {
            if groups {
                session.begin()?;
            }
            tasks.iter().try_for_each(|task| session.insert(task))?;
            if groups {
                session.commit()?;
            }
            Ok(())
        })
    }

    /// Notes the store's statistics while the clock ran.
    fn note_stats(&self, stats: &StoreStats, counting: bool, measured: &mut Measured) {
        set(measured, "busy_errors", stats.busy as f64);
        if self.target == Target::Sqlite && self.connections == Connections::Pool {
            let all = measured.metrics["seconds"] * self.workers as f64;
            set(measured, "connections_opened", stats.opened as f64);
            set(measured, "opening_percent", 100.0 * stats.opening_s / all);
        }
        // Files are counted at no cost, so their counts belong to the timed work itself.
        if counting || self.target == Target::Files {
            measured.metrics.extend(stats.counts.clone());
        }
    }

    /// Compares the durability of the target with the counted syncs, if syncs were counted.
    ///
    /// # Errors
    /// There were too few syncs.
    fn check_durability(&self, durability: Durability, stats: &StoreStats) -> Result<()> {
        let Some(syncs) = stats.syncs else { return Ok(()) };
        let per_life = STATEMENTS_OF_A_LIFE.div_ceil(self.statements_per_txn);
        let changes = match self.work {
            Work::Get | Work::List => 0,
            Work::LifeCycle => self.workers * self.tasks * per_life,
            Work::Insert | Work::Schedule => self.operations(),
        };
        let changes = (changes * self.repeats) as u64;
        match durability.contradicted(syncs, changes, stats.shares_syncs) {
            Some(why) => Err(TrialError::Measuring(why)),
            None => Ok(()),
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

/// The file that a trial with SQLite leaves.
const DATABASE: &str = "test.db";

/// The tasks that must be stored at the end.
struct Expected {
    target: Target,
    /// The tasks that were stored before the work, which no work deletes.
    stored: Vec<Task>,
    /// Tasks that workers added and left.
    added: Vec<Task>,
    /// Tasks that are due and not claimed yet.
    due: BTreeSet<TaskId>,
}

impl Expected {
    /// Expects the tasks that are stored before the work.
    fn new(parameters: &Parameters, stored: Vec<Task>) -> Expected {
        Expected { target: parameters.target, stored, added: Vec::new(), due: BTreeSet::new() }
    }

    /// Adds the results of the workers in a repetition. Returns their logs.
    ///
    /// # Errors
    /// A task that was claimed twice, or never.
    fn add(&mut self, results: Vec<WorkerResult>) -> Result<Vec<OperationLog>> {
        let mut logs = Vec::with_capacity(results.len());
        for result in results {
            for id in result.claimed {
                if !self.due.remove(&id) {
                    let what = format!("the task {id}");
                    return Err(TrialError::wrong(
                        what,
                        "claimed twice or not due",
                        "claimed once",
                    ));
                }
            }
            self.added.extend(result.added);
            logs.push(result.log);
        }
        expect("the number of due tasks that were never claimed", self.due.len(), 0)?;
        Ok(logs)
    }

    /// Compares the expected tasks with the stored ones, which are in the order of ids.
    ///
    /// # Errors
    /// The first task that is lost, too many, or not as it was left.
    fn check(&self, found: &[Task]) -> Result<()> {
        let mut wanted: Vec<&Task> = self.stored.iter().chain(&self.added).collect();
        wanted.sort_by_key(|task| task.id);
        expect("the number of tasks in the end", found.len(), wanted.len())?;
        for (found, wanted) in found.iter().zip(wanted) {
            if found != wanted {
                let what = format!("the task {}", wanted.id);
                let found = format!("missing or changed (found {} instead)", found.id);
                return Err(TrialError::wrong(what, found, "as it was left"));
            }
        }
        Ok(())
    }

    /// Returns the number of files that are left when the store is closed and should not be: temporary files of tasks, journals and
    /// logs. `None` if nothing is stored in files.
    ///
    /// # Errors
    /// The directory cannot be read.
    fn left_over(&self, directory: &Path, files: &Path) -> Result<Option<usize>> {
        match self.target {
            Target::Postgres | Target::Memory => Ok(None),
            Target::Files => {
                let wanted = self.stored.len() + self.added.len();
                Ok(Some(files_left(files)?.saturating_sub(wanted)))
            }
            Target::Sqlite => {
                let failed = TrialError::io("read", directory);
                let mut left = 0;
                for entry in fs::read_dir(directory).map_err(&failed)? {
                    left += usize::from(entry.map_err(&failed)?.file_name() != DATABASE);
                }
                Ok(Some(left))
            }
        }
    }
}

#[cfg(test)]
mod tests;
