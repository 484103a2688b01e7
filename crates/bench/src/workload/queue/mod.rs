//! A queue of tasks, kept in SQLite, in files, on a PostgreSQL server or in memory.
//!
//! It follows the comparison of article 004 and separates its factors: how workers get a connection, how a file is written, and
//! whether a commit waits for the disk. A target states the durability of an acknowledged change, so that targets can be compared
//! at the same durability. Every task must be stored once as it was left, or be gone, before a trial counts as measured.

mod operations;
mod parameters;
mod verify;
mod worker;

use std::fs;
use std::time::Instant;

use lab::level::Settings;
use lab::needs::Needs;
use lab::trial::Measured;

use self::operations::{Op, Operations};
use self::parameters::{Parameters, Target, Work};
use self::verify::Expected;
use self::worker::{TaskGenerator, WorkerInput, WorkerResult};
use super::common::{Elapsed, refuse_single_threaded, set, set_peak_memory};
use super::declared::Declared;
use crate::drive::gate::{Gate, run_threads};
use crate::error::{Result, TrialError};
use crate::parameters::Choice;
use crate::target::postgres::Server;
use crate::target::queue::{Connections, Files, Memory, Postgres, Sqlite, Store, StoreStats, Task};
use crate::trial::Trial;

/// The workload `queue`.
pub(super) struct Queue;

/// The directory of task files within the trial's.
const FILES: &str = "tasks";

impl Declared for Queue {
    const NAME: &'static str = "queue";
    const ABOUT: &'static str = "A task queue in SQLite, in files, on a PostgreSQL server or in memory: workers insert tasks, take them through their life cycle (insert, status, ten outputs, delete), claim those that are due, or read them. Every task must be stored exactly once as it was left, or be gone.";
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn phases() -> Vec<String> {
        Op::ALL.iter().map(|(_, phase, _)| *phase).chain(["rebuild"]).map(str::to_owned).collect()
    }

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        parameters.check(settings)
    }

    fn needs(parameters: &Parameters, _: &Settings) -> Needs {
        parameters.needs()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        if parameters.target == Target::Sqlite {
            refuse_single_threaded(trial)?;
        }
        (trial.phase)("load");
        let stored = stored(trial, parameters);
        let (store, rebuild_s) = store(trial, parameters, &stored)?;
        fill(&*store, parameters, &stored)?;

        (trial.phase)("work");
        let mut expected = Expected::new(parameters, stored);
        let repetitions = work(trial, parameters, &*store, &mut expected)?;
        let stats = repetitions.stats();
        let mut measured = repetitions.measured(parameters)?;
        set_peak_memory(&mut measured);
        note_stats(&stats, parameters, trial.counter.is_some(), &mut measured);
        if let Some(seconds) = rebuild_s {
            set(&mut measured, "seconds.rebuild", seconds);
        }

        (trial.phase)("verify");
        let durability = store.durability()?;
        verify::check_durability(durability, &stats, parameters)?;
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

/// Returns the tasks that are stored before the work.
fn stored(trial: &Trial<'_>, parameters: &Parameters) -> Vec<Task> {
    let mut generator = TaskGenerator::new(trial.seed.child("stored"), parameters.payload_bytes);
    match parameters.work {
        Work::Schedule => generator.not_due(parameters.first_tasks()),
        _ => generator.due(parameters.first_tasks()),
    }
}

/// Creates the store. Returns it with the seconds of reading the existing files, if the target must read them when it starts.
fn store(
    trial: &Trial<'_>,
    parameters: &Parameters,
    stored: &[Task],
) -> Result<(Box<dyn Store>, Option<f64>)> {
    let directory = trial.directory.join(FILES);
    match parameters.target {
        Target::Sqlite => {
            let (connections, statements) = (parameters.connections, parameters.statements);
            let sqlite = Sqlite::create(trial, connections, statements, parameters.indexed)?;
            Ok((Box::new(sqlite), None))
        }
        Target::Postgres => {
            let server = Server::of(trial.postgres, parameters.synchronous_commit)?;
            let postgres = Postgres::create(server, parameters.indexed)?;
            Ok((Box::new(postgres), None))
        }
        Target::Files | Target::Memory => {
            fs::create_dir(&directory).map_err(TrialError::io("create", &directory))?;
            for task in stored {
                let path = directory.join(task.id.to_string());
                let content = serde_json::to_vec(task)
                    .map_err(|error| TrialError::Measuring(error.to_string()))?;
                fs::write(&path, content).map_err(TrialError::io("write", &path))?;
            }
            let clock = Instant::now();
            let store: Box<dyn Store> = if parameters.target == Target::Files {
                Box::new(Files::open(directory, parameters.writing)?)
            } else {
                Box::new(Memory::rebuild(&directory)?)
            };
            Ok((store, Some(clock.elapsed().as_secs_f64())))
        }
    }
}

/// Stores the first tasks in a target that does not read them from files.
fn fill(store: &dyn Store, parameters: &Parameters, stored: &[Task]) -> Result<()> {
    if stored.is_empty() || matches!(parameters.target, Target::Files | Target::Memory) {
        return Ok(());
    }
    add(store, parameters, stored)
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

fn work(
    trial: &Trial<'_>,
    parameters: &Parameters,
    store: &dyn Store,
    expected: &mut Expected,
) -> Result<Repetitions> {
    let mut repetitions = Repetitions::default();
    for repetition in 0..parameters.repeats {
        let seed = trial.seed.child("work").nth(repetition as u64);
        let tasks = |worker: usize| {
            let mut generator =
                TaskGenerator::new(seed.nth(worker as u64), parameters.payload_bytes);
            match parameters.work {
                Work::Get | Work::List => Vec::new(),
                _ => generator.due(parameters.tasks),
            }
        };
        let mut tasks: Vec<Vec<Task>> = (0..parameters.workers).map(tasks).collect();
        if parameters.work == Work::Schedule {
            let due: Vec<Task> = tasks.iter_mut().flat_map(std::mem::take).collect();
            add(store, parameters, &due)?;
            expected.add_due(&due);
        }
        let specs = tasks.into_iter().enumerate().map(|(worker, tasks)| WorkerInput {
            parameters,
            tasks,
            stored: &expected.stored,
            seed: seed.child("choice").nth(worker as u64),
        });
        let before = store.stats();
        let (results, elapsed) =
            run_threads(specs.collect(), time_work, |spec, gate| run_worker(store, spec, gate))?;
        repetitions.stats.push(store.stats().since(&before));
        repetitions.seconds.push(elapsed.seconds);
        repetitions.elapsed.add(elapsed);
        let logs = expected.add(results.into_iter().flatten().collect())?;
        repetitions.operations.add(logs, elapsed.seconds);
    }
    Ok(repetitions)
}

/// Returns the time from the moment at which all workers begin to the end of the last one.
fn time_work(gate: &Gate) -> Result<Elapsed> {
    let watch = gate.start_clock()?;
    gate.wait_until_done();
    let elapsed = watch.stop()?;
    gate.dismiss();
    Ok(elapsed)
}

/// Runs a worker with a session of its own. Returns `None` if another worker failed first.
fn run_worker(
    store: &dyn Store,
    spec: WorkerInput<'_>,
    gate: &Gate,
) -> Result<Option<WorkerResult>> {
    let (mut spec, mut result) = (Some(spec), None);
    store.session(&mut |session| {
        if let (Some(began), Some(spec)) = (gate.pass(), spec.take()) {
            result = Some(worker::run(spec, session, began)?);
            gate.wait_for_dismissal();
        }
        Ok(())
    })?;
    Ok(result)
}

/// Adds tasks outside the clock, in one transaction where there are transactions.
fn add(store: &dyn Store, parameters: &Parameters, tasks: &[Task]) -> Result<()> {
    let groups = matches!(parameters.target, Target::Sqlite | Target::Postgres);
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

/// Notes the store's statistics while the clock ran.
fn note_stats(
    stats: &StoreStats,
    parameters: &Parameters,
    counting: bool,
    measured: &mut Measured,
) {
    set(measured, "busy_errors", stats.busy as f64);
    if parameters.target == Target::Sqlite && parameters.connections == Connections::Pool {
        let all = measured.metrics["seconds"] * parameters.workers as f64;
        set(measured, "connections_opened", stats.opened as f64);
        set(measured, "opening_percent", 100.0 * stats.opening_s / all);
    }
    // Files are counted at no cost, so their counts belong to the timed work itself.
    if counting || parameters.target == Target::Files {
        measured.metrics.extend(stats.counts.clone());
    }
}

#[cfg(test)]
mod tests;
