//! The matrix: every variant under every model, spread over threads.
//!
//! A task is a variant under some models. Each begins with its own recording and its own seeds, so that
//! the tables are the same whatever thread does which task in which order.

use crate::documented::{cause, documented};
use crate::error::CrashError;
use crate::judge::Judge;
use crate::model::Model;
use crate::record::{NotMeasured, Recording};
use crate::sandbox::Sandbox;
use crate::script::Script;
use crate::settings::CrashSettings;
use crate::states::visit;
use crate::survey::{Findings, Survey};
use crate::tally::{Tally, Witness};
use crate::witness::describe_witness;
use engine::Source;
use lab::seed::Seed;
use lab::tier::{ModelSafety, Narrowed, Tier};
use serde::Serialize;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The settings.
    pub variants: Vec<CrashSettings>,
    /// The storage models.
    pub models: Vec<Model>,
    /// Images to sample for each variant and model; models with fewer states have fewer.
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
    pub variant: CrashSettings,
    /// The storage model.
    #[serde(skip)]
    pub model: Model,
    /// The tier measured, compared with the documentation.
    #[serde(flatten)]
    pub safety: ModelSafety,
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

/// How far a measurement is.
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
    let next = AtomicUsize::new(0);
    let worker = || -> Result<Vec<Done>, CrashError> {
        let mut sandbox = Sandbox::new(&plan.engine)?;
        let mut done = Vec::new();
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            if progress.stop.load(Ordering::Relaxed) {
                break;
            }
            let result = run(plan, task, &mut sandbox, progress);
            // A worker that fails ends the others too.
            done.push(result.inspect_err(|_| progress.stop.store(true, Ordering::Relaxed))?);
        }
        Ok(done)
    };
    let threads = plan.threads.clamp(1, tasks.len().max(1));
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join()).collect()
    });
    let mut done = Vec::new();
    for result in results {
        done.extend(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    }
    done.sort_by_key(|done| done.task);
    Ok(Matrix {
        stopped: progress.stop.load(Ordering::Relaxed),
        images: done
            .iter()
            .flat_map(|done| &done.cells)
            .map(Cell::images)
            .sum(),
        recoveries: done.iter().map(|done| done.recoveries).sum(),
        largest_database: done.iter().map(|done| done.largest).max().unwrap_or(0),
        took: begin.elapsed(),
        cells: done.into_iter().flat_map(|done| done.cells).collect(),
    })
}

impl Matrix {
    /// Why nothing at all was measured, each reason once with the first settings that it concerns; `None`
    /// where anything was measured.
    pub fn refused(&self) -> Option<Vec<(CrashSettings, &str)>> {
        let mut refused: Vec<(CrashSettings, &str)> = Vec::new();
        for cell in &self.cells {
            let Tier::NotMeasured { why } = &cell.safety.tier else {
                return None;
            };
            if !refused.iter().any(|(_, known)| known == why) {
                refused.push((cell.variant, why));
            }
        }
        (!refused.is_empty()).then_some(refused)
    }
}

impl Cell {
    fn not_measured(settings: &CrashSettings, model: Model, why: &str) -> Cell {
        Cell {
            variant: *settings,
            model,
            safety: ModelSafety {
                model: model.name().to_owned(),
                assumed: settings.assumes(model),
                tier: Tier::not_measured(why),
                adds_up: false,
                documented: documented(settings, model),
                witness: None,
                again: None,
                narrowed: None,
                cause: None,
            },
            tally: None,
            witness: None,
        }
    }

    fn measured(mut self, tally: Tally, witness: Option<Witness>) -> Cell {
        let (only, otherwise) = tally.confined().unzip();
        let only = only.unwrap_or_default();
        self.safety.tier = tally.tier();
        self.safety.narrowed = otherwise.map(|otherwise| Narrowed {
            only: only.iter().map(ToString::to_string).collect(),
            otherwise,
        });
        self.safety.cause =
            cause(&self.variant, self.model, &self.safety, &only).map(str::to_owned);
        self.safety.witness = witness.as_ref().map(describe_witness);
        self.tally = Some(tally);
        self.witness = witness;
        self
    }

    fn images(&self) -> u64 {
        self.tally.as_ref().map_or(0, |tally| tally.images)
    }
}

/// A variant under some models.
struct Task {
    number: usize,
    variant: CrashSettings,
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
    task: usize,
    cells: Vec<Cell>,
    recoveries: u64,
    largest: usize,
}

fn run(
    plan: &Plan,
    task: &Task,
    sandbox: &mut Sandbox,
    progress: &Progress,
) -> Result<Done, CrashError> {
    let settings = &task.variant;
    let seed = plan.seed.child(&settings.to_string());
    let script = match &plan.script {
        Some(script) => Cow::Borrowed(script),
        None => Cow::Owned(Script::built_in(settings)),
    };
    let recording = Recording::make(sandbox, settings, &script, seed)?;
    let mut judge = Judge::new(sandbox);
    let mut cells = Vec::new();
    for model in &task.models {
        let cell = match &recording {
            Err(NotMeasured(why)) => Cell::not_measured(settings, *model, why),
            Ok(recording) => {
                let cell = Cell::not_measured(settings, *model, "stopped");
                match measure_cell(plan, cell, recording, &mut judge, seed, progress)? {
                    Some(cell) => cell,
                    None => break,
                }
            }
        };
        if progress.stop.load(Ordering::Relaxed) {
            break;
        }
        progress.cells.fetch_add(1, Ordering::Relaxed);
        cells.push(cell);
    }
    Ok(Done {
        task: task.number,
        cells,
        recoveries: judge.recoveries,
        largest: recording.map_or(0, |recording| recording.largest),
    })
}

/// Why a visit of states ended early.
enum Ended {
    Stopped,
    Failed(CrashError),
}

/// The cell with its measurement; `None` if it was stopped.
fn measure_cell(
    plan: &Plan,
    cell: Cell,
    recording: &Recording,
    judge: &mut Judge<'_>,
    seed: Seed,
    progress: &Progress,
) -> Result<Option<Cell>, CrashError> {
    let seed = seed.child(cell.model.name());
    let mut survey = Survey {
        recording,
        judge,
        model: cell.model,
        splits_count: cell.variant.has_super_journal(),
        second_crash_every: plan.second_crash_every,
        random: seed.child("second crash").generator(),
        images: &progress.images,
        findings: Findings::default(),
    };
    let states = seed.child("states");
    let visited = visit(
        &recording.trace,
        cell.model,
        plan.images,
        states,
        |candidate| match progress.stop.load(Ordering::Relaxed) {
            true => Err(Ended::Stopped),
            false => survey.judge(candidate).map_err(Ended::Failed),
        },
    );
    match visited {
        Ok(visited) => {
            let (tally, witness) = survey.finish(visited);
            Ok(Some(cell.measured(tally, witness)))
        }
        Err(Ended::Stopped) => Ok(None),
        Err(Ended::Failed(error)) => Err(error),
    }
}
