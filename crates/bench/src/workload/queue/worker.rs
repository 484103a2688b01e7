//! The work of one worker, and its tasks.
//!
//! The ends of operations. They are kept one by one while the clock runs, because a thousand histograms would not fit into
//! memory, and become latencies and throughput afterwards.

use std::time::{Duration, Instant};

use super::{OUTPUTS, Output, Parameters, STATEMENTS_OF_A_LIFE, Work};
use crate::drive::pacing::SLOTS;
use crate::target::queue::{Change, Session, Status, Store, Task, TaskId};
use crate::workload::prelude::*;

/// The output of a task at every step, as in the program of the article.
const OUTPUT: &str = "Some kind of output and whatever";

/// The present moment of a trial: tasks that are scheduled up to then are due.
pub(super) const NOW: i64 = 1_000_000;

/// Number of tasks that a listing returns at most.
const LISTED: usize = 100;

/// Generates tasks. Their ids are random, as in the program of the article.
pub(super) struct TaskGenerator {
    ids: SplitMix64,
    args: String,
}

impl TaskGenerator {
    /// Generates the tasks of one worker and repetition, or the tasks that are stored before the work.
    pub(super) fn new(seed: Seed, payload_bytes: usize) -> TaskGenerator {
        let padding = match payload_bytes {
            0 => String::new(),
            bytes => format!(",\"{}\"", payload(seed.child("payload"), bytes)),
        };
        TaskGenerator { ids: seed.generator(), args: format!("[\"a\",\"b\",\"c\"{padding}]") }
    }

    /// Returns a task that is due at `scheduled_at`.
    fn task(&mut self, scheduled_at: i64) -> Task {
        let high = u128::from(self.ids.next_u64()) << 64;
        Task {
            id: TaskId(high | u128::from(self.ids.next_u64())),
            status: Status::Pending,
            cmd: "example".to_owned(),
            args: self.args.clone(),
            scheduled_at,
            output: String::new(),
        }
    }

    /// Returns tasks that are due.
    pub(super) fn due(&mut self, count: usize) -> Vec<Task> {
        let mut due = |_| {
            let scheduled_at = self.ids.below(NOW as u64) as i64;
            self.task(scheduled_at)
        };
        (0..count).map(&mut due).collect()
    }

    /// Returns tasks that are not due yet, and must not be touched.
    pub(super) fn not_due(&mut self, count: usize) -> Vec<Task> {
        (0..count).map(|number| self.task(NOW + 1 + number as i64)).collect()
    }
}

/// Returns random letters, which a server cannot compress and JSON need not escape.
fn payload(seed: Seed, bytes: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut choice = seed.generator();
    let letter = |_: usize| char::from(LETTERS[choice.below(64) as usize]);
    (0..bytes).map(letter).collect()
}

/// The input of a worker.
pub(super) struct WorkerInput<'p> {
    pub(super) parameters: &'p Parameters,
    /// Tasks that it adds.
    pub(super) tasks: Vec<Task>,
    /// Tasks that are stored.
    pub(super) stored: &'p [Task],
    /// Seed of its choices.
    pub(super) seed: Seed,
}

/// The result of a worker's work.
pub(super) struct WorkerResult {
    pub(super) log: OperationLog,
    /// The tasks that it added and left in the store.
    pub(super) added: Vec<Task>,
    /// The tasks that it claimed.
    pub(super) claimed: Vec<TaskId>,
}

impl WorkerInput<'_> {
    /// Carries out the work with a session of its own. Returns `None` if another worker failed first.
    pub(super) fn run(self, store: &dyn Store, gate: &Gate) -> Result<Option<WorkerResult>> {
        let (mut input, mut result) = (Some(self), None);
        store.session(&mut |session| {
            if let (Some(began), Some(input)) = (gate.pass(), input.take()) {
                result = Some(input.work(session, began)?);
                gate.wait_for_dismissal();
            }
            Ok(())
        })?;
        Ok(result)
    }

    fn work(self, session: &mut dyn Session, began: Instant) -> Result<WorkerResult> {
        let room = self.parameters.operations() / self.parameters.workers;
        let log = OperationLog::new(began, room + 1);
        let mut result = WorkerResult { log, added: Vec::new(), claimed: Vec::new() };
        match self.parameters.work {
            Work::Insert => self.insert(session, &mut result)?,
            Work::LifeCycle => self.life_cycles(session, &mut result.log)?,
            Work::Schedule => schedule(session, &mut result)?,
            Work::Get => self.get(session, &mut result.log)?,
            Work::List => self.list(session, &mut result.log)?,
        }
        Ok(result)
    }

    fn insert(self, session: &mut dyn Session, result: &mut WorkerResult) -> Result<()> {
        for task in &self.tasks {
            session.insert(task)?;
            result.log.end(Op::Insert, 1);
        }
        result.added = self.tasks;
        Ok(())
    }

    fn life_cycles(self, session: &mut dyn Session, log: &mut OperationLog) -> Result<()> {
        let grouped = self.parameters.statements_per_txn;
        let appends = self.parameters.output == Output::Append;
        for mut task in self.tasks {
            if grouped == 1 {
                for statement in 0..STATEMENTS_OF_A_LIFE {
                    let op = execute_statement(session, &mut task, statement, appends)?;
                    log.end(op, 1);
                }
                continue;
            }
            for from in (0..STATEMENTS_OF_A_LIFE).step_by(grouped) {
                let to = (from + grouped).min(STATEMENTS_OF_A_LIFE);
                session.begin()?;
                for statement in from..to {
                    execute_statement(session, &mut task, statement, appends)?;
                }
                session.commit()?;
                log.end(Op::Transaction, (to - from) as u32);
            }
        }
        Ok(())
    }

    fn get(&self, session: &mut dyn Session, log: &mut OperationLog) -> Result<()> {
        let mut choice = self.seed.generator();
        for _ in 0..self.parameters.tasks {
            let wanted = &self.stored[choice.below(self.stored.len() as u64) as usize];
            let found = session.get(wanted.id)?;
            if found.as_ref() != Some(wanted) {
                let what = format!("the task {}", wanted.id);
                let found = found.map_or("missing", |_| "another");
                return Err(TrialError::wrong(what, found, "as it was stored"));
            }
            log.end(Op::Get, 1);
        }
        Ok(())
    }

    fn list(&self, session: &mut dyn Session, log: &mut OperationLog) -> Result<()> {
        for _ in 0..self.parameters.tasks {
            let found = session.list(Status::Pending, LISTED)?;
            let wanted = self.stored.len().min(LISTED);
            expect("the number of tasks listed", found.len(), wanted)?;
            log.end(Op::List, 1);
        }
        Ok(())
    }
}

/// Executes a statement of a task's life cycle.
fn execute_statement(
    session: &mut dyn Session,
    task: &mut Task,
    statement: usize,
    appends: bool,
) -> Result<Op> {
    const LAST: usize = STATEMENTS_OF_A_LIFE - 1;
    match statement {
        0 => session.insert(task).map(|()| Op::Insert),
        1 => {
            task.status = Status::Processing;
            session.update(task, Change::Status).map(|()| Op::Status)
        }
        LAST => session.delete(task).map(|()| Op::Delete),
        number => {
            let output = format!("{}{OUTPUT}", number - (LAST - OUTPUTS));
            let change = if appends {
                task.output.push_str(&output);
                Change::Appended(&output)
            } else {
                task.output.clone_from(&output);
                Change::Output
            };
            session.update(task, change).map(|()| Op::Output)
        }
    }
}

/// Claims and deletes tasks until none is due.
fn schedule(session: &mut dyn Session, result: &mut WorkerResult) -> Result<()> {
    while let Some(task) = session.claim(NOW)? {
        result.log.end(Op::Claim, 1);
        let wanted = "processing";
        expect("the status of a claimed task", task.status.name(), wanted)?;
        result.claimed.push(task.id);
        session.delete(&task)?;
        result.log.end(Op::Delete, 1);
    }
    Ok(())
}

choice! {
    /// A kind of operation, with the name of its phase.
    enum Op {
        /// A task is added.
        Insert = "insert",
        /// Its status changes.
        Status = "status",
        /// Its output changes.
        Output = "output",
        /// It is removed.
        Delete = "delete",
        /// The task that is due first is taken.
        Claim = "claim",
        /// A task is read.
        Get = "get",
        /// Tasks of a status are listed.
        List = "list",
        /// Several statements and the commit.
        Transaction = "transaction",
    }
}

/// The operations of one worker. Each begins when the last has ended.
pub(super) struct OperationLog {
    began: Instant,
    /// Delay until the worker was awake, which belongs to no operation.
    woke: Duration,
    /// The kind of each operation, its end after `began`, and the number of operations.
    ends: Vec<(Op, Duration, u32)>,
}

impl OperationLog {
    /// Returns the log of work that began at this moment, with room for this number of operations. The worker has woken by now.
    fn new(began: Instant, operations: usize) -> OperationLog {
        let ends = Vec::with_capacity(operations);
        OperationLog { began, woke: began.elapsed(), ends }
    }

    /// Notes the end of an operation, or of several in one transaction.
    #[inline]
    pub(super) fn end(&mut self, op: Op, operations: u32) {
        self.ends.push((op, self.began.elapsed(), operations));
    }
}

/// The operations of all workers in all repetitions, one after the other.
#[derive(Default)]
pub(super) struct Operations {
    logs: Vec<(Duration, OperationLog)>,
    length: Duration,
}

impl Operations {
    /// Adds a repetition.
    pub(super) fn add(&mut self, logs: Vec<OperationLog>, seconds: f64) {
        let after = self.length;
        self.logs.extend(logs.into_iter().map(|log| (after, log)));
        self.length += Duration::from_secs_f64(seconds);
    }

    /// Notes latencies, of each kind of operation and of all together, and throughput over time.
    pub(super) fn note(&self, measured: &mut Measured) -> Result<()> {
        let mut all = LatencyHistogram::default();
        for (op, phase, _) in Op::ALL {
            let of_kind = self.latencies(*op);
            if of_kind.count() == 0 {
                continue;
            }
            all.add(&of_kind);
            measured.metrics.extend(of_kind.metrics_of_phase(phase));
        }
        set_latency(measured, &all)?;
        measured.windows = self.windows();
        Ok(())
    }

    fn latencies(&self, wanted: Op) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::default();
        for (_, log) in &self.logs {
            let mut before = log.woke;
            for (op, end, _) in &log.ends {
                if *op == wanted {
                    histogram.record(end.saturating_sub(before));
                }
                before = *end;
            }
        }
        histogram
    }

    /// Returns the operations a second in each hundredth of the time.
    fn windows(&self) -> Vec<f64> {
        let slot = self.length.as_secs_f64() / SLOTS as f64;
        if slot <= 0.0 {
            return Vec::new();
        }
        let mut done = vec![0_u64; SLOTS];
        for (after, log) in &self.logs {
            for (_, end, operations) in &log.ends {
                let place = (*after + *end).as_secs_f64() / slot;
                done[(place as usize).min(SLOTS - 1)] += u64::from(*operations);
            }
        }
        done.into_iter().map(|done| done as f64 / slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_payload_is_random_letters_of_the_seed_within_json() {
        const BYTES: usize = 10_000;
        let args = |seed| TaskGenerator::new(Seed(seed), BYTES).due(1).remove(0).args;
        let words: Vec<String> = serde_json::from_str(&args(1)).unwrap();
        let payload = &words[3];
        assert_eq!((words.len(), payload.len()), (4, BYTES));
        // A compressor lives on repeated strings.
        let strings: BTreeSet<&[u8]> = payload.as_bytes().windows(4).collect();
        assert!(strings.len() > BYTES * 99 / 100, "{}", strings.len());
        assert_eq!(args(1), args(1));
        assert_ne!(args(1), args(2));
    }

    fn log(ends: &[(Op, u64)]) -> OperationLog {
        OperationLog {
            began: Instant::now(),
            woke: Duration::ZERO,
            ends: ends
                .iter()
                .map(|(op, millis)| (*op, Duration::from_millis(*millis), 1))
                .collect(),
        }
    }

    #[test]
    fn a_latency_is_the_time_since_the_last_operation_of_the_worker() {
        let mut operations = Operations::default();
        operations
            .add(vec![log(&[(Op::Insert, 10), (Op::Delete, 40)]), log(&[(Op::Insert, 20)])], 0.1);
        let mut measured = Measured::default();
        operations.note(&mut measured).unwrap();
        let metric = |name: &str| measured.metrics[name];
        assert!((metric("max_us.insert") / 20_000.0 - 1.0).abs() < 0.01);
        assert!((metric("max_us.delete") / 30_000.0 - 1.0).abs() < 0.01);
        assert!(!measured.metrics.contains_key("max_us.claim"));
        assert_eq!(measured.latency.unwrap().count, 3);
    }

    #[test]
    fn repetitions_follow_one_another_in_the_windows() {
        let mut operations = Operations::default();
        operations.add(vec![log(&[(Op::Get, 5)])], 0.05);
        operations.add(vec![log(&[(Op::Get, 25), (Op::Get, 50)])], 0.05);
        let windows = operations.windows();
        assert_eq!(windows.len(), SLOTS);
        let busy: Vec<usize> = (0..SLOTS).filter(|at| windows[*at] > 0.0).collect();
        assert_eq!(busy, [5, 75, 99]);
        let done: f64 = windows.iter().map(|rate| rate * 0.001).sum();
        assert!((done - 3.0).abs() < 1e-9);
        assert!(Operations::default().windows().is_empty());
    }
}
