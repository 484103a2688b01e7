//! A queue of tasks, kept in SQLite, in files, on a PostgreSQL server or in memory.
//!
//! It follows the comparison of article 004 and takes its factors apart: how workers come to a
//! connection, how a file is written, what a commit waits for. A target says what survives of a change
//! it has acknowledged, so that targets can be compared at the same durability. Every task must be
//! there once as it was left, or be gone, before a trial counts as measured.

mod jobs;
mod marks;
mod parameters;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use lab::level::Settings;
use lab::needs::Needs;
use lab::trial::Measured;

use self::jobs::{Done, Maker, Part};
use self::marks::{Course, Op};
use self::parameters::{Parameters, Target, Work};
use self::verify::Expected;
use super::common::{Elapsed, refuse_single_threaded, set, set_peak_memory};
use super::team::{Gate, together};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::parameters::Choice;
use crate::target::postgres::Server;
use crate::target::queue::{Connections, Files, Memory, Notes, Postgres, Sqlite, Store, Task};

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
        let operations = Op::ALL.iter().map(|(_, phase, _)| *phase);
        operations.chain(["rebuild"]).map(str::to_owned).collect()
    }

    fn check(parameters: &Parameters, settings: &Settings) -> Result<(), TrialError> {
        parameters.check(settings)
    }

    fn needs(parameters: &Parameters, _: &Settings) -> Needs {
        parameters.needs()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        if parameters.target == Target::Sqlite {
            refuse_single_threaded(trial)?;
        }
        (trial.phase)("load");
        let stored = stored(trial, parameters);
        let (store, rebuild_s) = store(trial, parameters, &stored)?;
        fill(&*store, parameters, &stored)?;

        (trial.phase)("work");
        let mut expected = Expected::new(parameters, stored);
        let worked = work(trial, parameters, &*store, &mut expected)?;
        let notes = worked.notes();
        let mut measured = worked.measured(parameters)?;
        set_peak_memory(&mut measured);
        note(&notes, parameters, trial.counter.is_some(), &mut measured);
        if let Some(seconds) = rebuild_s {
            set(&mut measured, "seconds.rebuild", seconds);
        }

        (trial.phase)("verify");
        let durability = store.durability()?;
        verify::check_durability(durability, &notes, parameters)?;
        measured.durability = Some(durability);
        expected.check(&store.tasks()?)?;
        let closing = store.close()?;
        measured.metrics.extend(closing.metrics);
        measured.connections = closing.connections;
        measured.tables = closing.tables;
        let files = files(trial.directory);
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

fn files(directory: &Path) -> PathBuf {
    directory.join(FILES)
}

/// The tasks that are there from the beginning.
fn stored(trial: &Trial<'_>, parameters: &Parameters) -> Vec<Task> {
    let mut maker = Maker::new(trial.seed.child("stored"), parameters.payload_bytes);
    match parameters.work {
        Work::Schedule => maker.not_due(parameters.first_tasks()),
        _ => maker.due(parameters.first_tasks()),
    }
}

/// The store, and the time it took to look through the files that were there, in seconds, where the
/// target must do so when it starts.
fn store(
    trial: &Trial<'_>,
    parameters: &Parameters,
    stored: &[Task],
) -> Result<(Box<dyn Store>, Option<f64>), TrialError> {
    let directory = files(trial.directory);
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
        Target::Files => {
            make_files(&directory, stored)?;
            let clock = Instant::now();
            let files = Files::open(directory, parameters.writing)?;
            Ok((Box::new(files), Some(clock.elapsed().as_secs_f64())))
        }
        Target::Memory => {
            make_files(&directory, stored)?;
            let clock = Instant::now();
            let memory = Memory::rebuild(&directory)?;
            Ok((Box::new(memory), Some(clock.elapsed().as_secs_f64())))
        }
    }
}

fn make_files(directory: &Path, stored: &[Task]) -> Result<(), TrialError> {
    fs::create_dir(directory).map_err(TrialError::io("create", directory))?;
    for task in stored {
        let path = directory.join(task.id.to_string());
        let content =
            serde_json::to_vec(task).map_err(|error| TrialError::Measuring(error.to_string()))?;
        fs::write(&path, content).map_err(TrialError::io("write", &path))?;
    }
    Ok(())
}

/// Stores the first tasks in a target that does not read them from files.
fn fill(store: &dyn Store, parameters: &Parameters, stored: &[Task]) -> Result<(), TrialError> {
    if stored.is_empty() || matches!(parameters.target, Target::Files | Target::Memory) {
        return Ok(());
    }
    add(store, parameters, stored)
}

/// What all repetitions have taken.
struct Worked {
    course: Course,
    elapsed: Elapsed,
    seconds: Vec<f64>,
    /// What the store noted in each, without what was loaded before it.
    notes: Vec<Notes>,
}

fn work(
    trial: &Trial<'_>,
    parameters: &Parameters,
    store: &dyn Store,
    expected: &mut Expected,
) -> Result<Worked, TrialError> {
    let mut worked = Worked {
        course: Course::default(),
        elapsed: Elapsed::default(),
        seconds: Vec::new(),
        notes: Vec::new(),
    };
    for repetition in 0..parameters.repeats {
        let seed = trial.seed.child("work").nth(repetition as u64);
        let tasks = |worker: usize| {
            let mut maker = Maker::new(seed.nth(worker as u64), parameters.payload_bytes);
            match parameters.work {
                Work::Get | Work::List => Vec::new(),
                _ => maker.due(parameters.tasks),
            }
        };
        let mut tasks: Vec<Vec<Task>> = (0..parameters.workers).map(tasks).collect();
        if parameters.work == Work::Schedule {
            let due: Vec<Task> = tasks.iter_mut().flat_map(std::mem::take).collect();
            add(store, parameters, &due)?;
            expected.add_due(&due);
        }
        let parts = tasks.into_iter().enumerate().map(|(worker, tasks)| Part {
            parameters,
            tasks,
            stored: expected.stored(),
            seed: seed.child("choice").nth(worker as u64),
        });
        let before = store.notes();
        let (done, elapsed) =
            together(parts.collect(), clock, |part, gate| attend(store, part, gate))?;
        worked.notes.push(store.notes().since(&before));
        worked.seconds.push(elapsed.seconds);
        worked.elapsed.add(elapsed);
        let marks = expected.add(done.into_iter().flatten().collect())?;
        worked.course.add(marks, elapsed.seconds);
    }
    Ok(worked)
}

/// The time from the moment at which all workers begin to that at which the last has ended.
fn clock(gate: &Gate) -> Result<Elapsed, TrialError> {
    let watch = gate.start_clock()?;
    gate.wait_until_done();
    let elapsed = watch.stop()?;
    gate.dismiss();
    Ok(elapsed)
}

/// Has a worker do its part with a session of its own; returns none where another failed first.
fn attend(store: &dyn Store, part: Part<'_>, gate: &Gate) -> Result<Option<Done>, TrialError> {
    let (mut part, mut done) = (Some(part), None);
    store.session(&mut |session| {
        if let (Some(began), Some(part)) = (gate.pass(), part.take()) {
            done = Some(jobs::job(part, session, began)?);
            gate.wait_to_leave();
        }
        Ok(())
    })?;
    Ok(done)
}

/// Adds tasks outside the clock, in one transaction where there are transactions.
fn add(store: &dyn Store, parameters: &Parameters, tasks: &[Task]) -> Result<(), TrialError> {
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

impl Worked {
    /// What the store noted while the clock ran.
    fn notes(&self) -> Notes {
        let parts = self.notes.iter().cloned();
        parts.reduce(Notes::and).unwrap_or_default()
    }

    fn measured(&self, parameters: &Parameters) -> Result<Measured, TrialError> {
        let mut measured = self.elapsed.times();
        let operations = parameters.operations() * parameters.repeats;
        let rate = operations as f64 / self.elapsed.seconds;
        set(&mut measured, "ops_per_s", rate);
        let halves = self.seconds.split_at(self.seconds.len() / 2);
        if let (first @ [_, ..], second) = halves {
            let mean = |seconds: &[f64]| seconds.iter().sum::<f64>() / seconds.len() as f64;
            let percent = 100.0 * mean(second) / mean(first);
            set(&mut measured, "settled_percent", percent);
        }
        self.course.note(&mut measured)?;
        Ok(measured)
    }
}

/// Tells what the store noted while the clock ran.
fn note(notes: &Notes, parameters: &Parameters, counting: bool, measured: &mut Measured) {
    set(measured, "busy_errors", notes.busy as f64);
    if parameters.target == Target::Sqlite && parameters.connections == Connections::Pool {
        let all = measured.metrics["seconds"] * parameters.workers as f64;
        set(measured, "connections_opened", notes.opened as f64);
        set(measured, "opening_percent", 100.0 * notes.opening_s / all);
    }
    // Files are counted at no cost, so that their counts are those of the timed work itself.
    if counting || parameters.target == Target::Files {
        let counts = notes.counts.iter();
        measured.metrics.extend(counts.map(|(name, value)| (name.clone(), *value)));
    }
}

#[cfg(test)]
mod tests;
