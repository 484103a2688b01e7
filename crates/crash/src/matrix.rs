//! The matrix: every variant under every model, spread over threads.
//!
//! A task is a variant under some models. Each begins with its own recording and its own seeds, so that
//! the tables are the same whatever thread does which task in which order.

use crate::bench::Bench;
use crate::error::CrashError;
use crate::expected::{Expectation, Standing, cause, expected};
use crate::judge::Judge;
use crate::look::Look;
use crate::model::Model;
use crate::record::{NotMeasured, Recording};
use crate::script::Script;
use crate::settings::Variant;
use crate::states::{Go, visit};
use crate::tally::{Narrowed, Tally, Verdict, Witness};
use engine::Source;
use lab::seed::Seed;
use serde::Serialize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The settings.
    pub variants: Vec<Variant>,
    /// The storage models.
    pub models: Vec<Model>,
    /// Images to look at for each variant and model; models whose states are fewer have fewer.
    pub images: usize,
    /// Of every so many images the recovery is crashed as well; 0 for none.
    pub second_crash_every: u64,
    /// All random choices derive from it.
    pub seed: Seed,
    /// The engine.
    pub engine: Source,
    /// The user's script, parsed; otherwise the built-in workload.
    pub script: Option<Script>,
    /// Threads.
    pub threads: usize,
}

/// One variant under one model.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// The settings.
    pub variant: Variant,
    /// The storage model.
    pub model: Model,
    /// What the documentation says.
    pub expected: Expectation,
    /// What was found.
    pub verdict: Verdict,
    /// Where the verdict holds on occasions only: on which, and what holds otherwise.
    pub narrowed: Option<Narrowed>,
    /// Why it differs from the documentation, where that is known.
    pub cause: Option<&'static str>,
    /// The counts behind it; absent where nothing was measured.
    pub tally: Option<Tally>,
    /// An image that shows a violation, or else one that shows a loss.
    #[serde(skip)]
    pub witness: Option<Witness>,
}

/// All cells, variant by variant.
#[derive(Debug, Clone, Serialize)]
pub struct Matrix {
    /// The cells.
    pub cells: Vec<Cell>,
    /// Whether it was stopped before all cells were done.
    pub stopped: bool,
    /// Distinct images judged.
    pub images: u64,
    /// Recoveries by the engine; fewer than images, because equal files are recovered once.
    pub recoveries: u64,
    /// The largest that the databases of a workload were, in bytes.
    pub largest_database: usize,
    /// How long it took.
    #[serde(skip)]
    pub took: Duration,
}

/// What a measurement under way tells of itself.
#[derive(Debug, Default)]
pub struct Progress {
    /// Images judged.
    pub images: AtomicU64,
    /// Cells done.
    pub cells: AtomicUsize,
    /// Set from outside to end early.
    pub stop: AtomicBool,
}

/// Measures the plan.
///
/// # Errors
/// The engine cannot be loaded; the script is wrong; a defect of this crate.
pub fn measure(plan: &Plan, progress: &Progress) -> Result<Matrix, CrashError> {
    let begin = Instant::now();
    let tasks = tasks(plan);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || -> Result<(), CrashError> {
        let mut bench = Bench::new(&plan.engine)?;
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            if progress.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let result = run(plan, task, &mut bench, progress);
            // A worker that fails ends the others too.
            let result = result.inspect_err(|_| progress.stop.store(true, Ordering::Relaxed))?;
            lock(&done).push((task.number, result));
        }
        Ok(())
    };
    let threads = plan.threads.clamp(1, tasks.len().max(1));
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join()).collect()
    });
    for result in results {
        match result {
            Ok(result) => result?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    let mut done = done
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(number, _)| *number);
    let mut matrix = Matrix {
        cells: Vec::new(),
        stopped: progress.stop.load(Ordering::Relaxed),
        images: 0,
        recoveries: 0,
        largest_database: 0,
        took: begin.elapsed(),
    };
    for (_, done) in done {
        matrix.images += done.cells.iter().map(|cell| cell.images()).sum::<u64>();
        matrix.recoveries += done.recoveries;
        matrix.largest_database = matrix.largest_database.max(done.largest);
        matrix.cells.extend(done.cells);
    }
    Ok(matrix)
}

impl Matrix {
    /// Why nothing at all was measured, each reason once with the first settings that it concerns; `None`
    /// where anything was.
    pub fn refused(&self) -> Option<Vec<(Variant, &str)>> {
        let mut refused: Vec<(Variant, &str)> = Vec::new();
        for cell in &self.cells {
            let Verdict::NotMeasured { reason } = &cell.verdict else {
                return None;
            };
            if !refused.iter().any(|(_, known)| known == reason) {
                refused.push((cell.variant, reason));
            }
        }
        (!refused.is_empty()).then_some(refused)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Cell {
    /// How it stands to the documentation.
    pub fn standing(&self) -> Standing {
        Standing::of(&self.verdict, self.expected.promise)
    }

    fn images(&self) -> u64 {
        self.tally.as_ref().map_or(0, |tally| tally.images)
    }
}

/// A variant under some models.
struct Task {
    number: usize,
    variant: Variant,
    models: Vec<Model>,
}

/// Whole variants, whose models share what was recovered; where there are few, single models.
fn tasks(plan: &Plan) -> Vec<Task> {
    let together = match plan.variants.len() >= 2 * plan.threads {
        true => plan.models.len(),
        false => 1,
    };
    let mut tasks = Vec::new();
    for variant in &plan.variants {
        for models in plan.models.chunks(together.max(1)) {
            tasks.push(Task {
                number: tasks.len(),
                variant: *variant,
                models: models.to_vec(),
            });
        }
    }
    tasks
}

struct Done {
    cells: Vec<Cell>,
    recoveries: u64,
    largest: usize,
}

fn run(
    plan: &Plan,
    task: &Task,
    bench: &mut Bench,
    progress: &Progress,
) -> Result<Done, CrashError> {
    let seed = plan.seed.child(&task.variant.to_string());
    let built_in;
    let script = match &plan.script {
        Some(script) => script,
        None => {
            built_in = Script::built_in(&task.variant);
            &built_in
        }
    };
    let recording = Recording::make(bench, &task.variant, script, seed)?;
    let mut judge = Judge::new(bench);
    let mut cells = Vec::new();
    for model in &task.models {
        let cell = match &recording {
            Err(NotMeasured(reason)) => not_measured(&task.variant, *model, reason.clone()),
            Ok(recording) => {
                let seed = seed.child(model.name());
                measure_cell(
                    plan,
                    &task.variant,
                    *model,
                    recording,
                    &mut judge,
                    seed,
                    progress,
                )?
            }
        };
        if progress.stop.load(Ordering::Relaxed) {
            break;
        }
        progress.cells.fetch_add(1, Ordering::Relaxed);
        cells.push(cell);
    }
    Ok(Done {
        cells,
        recoveries: judge.recoveries,
        largest: recording.map_or(0, |recording| recording.largest),
    })
}

fn not_measured(variant: &Variant, model: Model, reason: String) -> Cell {
    Cell {
        variant: *variant,
        model,
        expected: expected(variant, model),
        verdict: Verdict::NotMeasured { reason },
        narrowed: None,
        cause: None,
        tally: None,
        witness: None,
    }
}

fn measure_cell(
    plan: &Plan,
    variant: &Variant,
    model: Model,
    recording: &Recording,
    judge: &mut Judge<'_>,
    seed: Seed,
    progress: &Progress,
) -> Result<Cell, CrashError> {
    let second_crashes = seed.child("second crash").generator();
    let mut look = Look::new(
        recording,
        judge,
        model,
        variant.has_super_journal(),
        (plan.second_crash_every, second_crashes),
        &progress.images,
    );
    let mut failed = None;
    let states = seed.child("states");
    let visited = visit(
        &recording.trace,
        model,
        plan.images,
        states,
        |candidate| match look.at(candidate) {
            _ if progress.stop.load(Ordering::Relaxed) => Go::Stop,
            Ok(()) => Go::On,
            Err(error) => {
                failed = Some(error);
                Go::Stop
            }
        },
    );
    if let Some(error) = failed {
        return Err(error);
    }
    let (tally, witness) = look.finish(visited as u64);
    let (verdict, narrowed) = (Verdict::of(&tally), Narrowed::of(&tally));
    let only = narrowed.as_ref().map_or(&[][..], |narrowed| &narrowed.only);
    Ok(Cell {
        variant: *variant,
        model,
        expected: expected(variant, model),
        cause: cause(variant, model, &verdict, only),
        verdict,
        narrowed,
        tally: Some(tally),
        witness,
    })
}
