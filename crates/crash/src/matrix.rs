//! The matrix: every arm under every model, spread over threads.
//!
//! A task is an arm under some models. Each begins with its own recording and its own seeds, so that
//! the tables are the same whatever thread does which task in which order.

use crate::bench::Bench;
use crate::disk::State;
use crate::error::CrashError;
use crate::expected::{Expectation, expected};
use crate::judge::{Judge, Judgement, Violation, hash};
use crate::model::Model;
use crate::record::{NotMeasured, Recording};
use crate::script::Script;
use crate::settings::Arm;
use crate::states::{Candidate, Go, draw_one, minimise, visit};
use crate::tally::{Tally, Verdict, Witness};
use crate::trace::File;
use engine::Source;
use lab::seed::{Seed, SplitMix64};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The settings.
    pub arms: Vec<Arm>,
    /// The storage models.
    pub models: Vec<Model>,
    /// Images to look at for each arm and model; models whose states are fewer have fewer.
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

/// One arm under one model.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// The settings.
    pub arm: Arm,
    /// The storage model.
    pub model: Model,
    /// What the documentation says.
    pub expected: Expectation,
    /// What was found.
    pub verdict: Verdict,
    /// The counts behind it; absent where nothing was measured.
    pub tally: Option<Tally>,
    /// An image that shows a violation, or else one that shows a loss.
    #[serde(skip)]
    pub witness: Option<Witness>,
}

/// All cells, arm by arm.
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Cell {
    fn images(&self) -> u64 {
        self.tally.as_ref().map_or(0, |tally| tally.images)
    }
}

/// An arm under some models.
struct Task {
    number: usize,
    arm: Arm,
    models: Vec<Model>,
}

/// Whole arms, whose models share what was recovered; where there are few, single models.
fn tasks(plan: &Plan) -> Vec<Task> {
    let together = match plan.arms.len() >= 2 * plan.threads {
        true => plan.models.len(),
        false => 1,
    };
    let mut tasks = Vec::new();
    for arm in &plan.arms {
        for models in plan.models.chunks(together.max(1)) {
            tasks.push(Task {
                number: tasks.len(),
                arm: *arm,
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
    let seed = plan.seed.child(&task.arm.to_string());
    let built_in;
    let script = match &plan.script {
        Some(script) => script,
        None => {
            built_in = Script::built_in(&task.arm);
            &built_in
        }
    };
    let recording = Recording::make(bench, &task.arm, script, seed)?;
    let mut judge = Judge::new(bench);
    let mut cells = Vec::new();
    for model in &task.models {
        let cell = match &recording {
            Err(NotMeasured(reason)) => not_measured(&task.arm, *model, reason.clone()),
            Ok(recording) => {
                let seed = seed.child(model.name());
                measure_cell(
                    plan, &task.arm, *model, recording, &mut judge, seed, progress,
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

fn not_measured(arm: &Arm, model: Model, reason: String) -> Cell {
    Cell {
        arm: *arm,
        model,
        expected: expected(arm, model),
        verdict: Verdict::NotMeasured { reason },
        tally: None,
        witness: None,
    }
}

fn measure_cell(
    plan: &Plan,
    arm: &Arm,
    model: Model,
    recording: &Recording,
    judge: &mut Judge<'_>,
    seed: Seed,
    progress: &Progress,
) -> Result<Cell, CrashError> {
    let mut look = Look {
        recording,
        judge,
        model,
        splits_count: arm.has_super_journal(),
        seen: HashMap::new(),
        tally: Tally::default(),
        violation: None,
        loss: None,
        minimised: 0,
        random: seed.child("second crash").generator(),
        second_crash_every: plan.second_crash_every,
        progress,
    };
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
    let mut tally = look.finish();
    tally.visited = visited as u64;
    let witness = look.violation.or(look.loss);
    Ok(Cell {
        arm: *arm,
        model,
        expected: expected(arm, model),
        verdict: Verdict::of(&tally),
        tally: Some(tally),
        witness,
    })
}

/// How often a witness is minimised in one cell.
const MINIMISED: u32 = 3;

/// What was found at an image, and the most commits that had been acknowledged when it could be left.
struct Seen {
    acknowledged: usize,
    /// The commit it holds; `None` for a violation.
    committed: Option<usize>,
}

/// Looks at the images of one cell.
struct Look<'a, 'b> {
    recording: &'a Recording,
    judge: &'a mut Judge<'b>,
    model: Model,
    /// Whether commits are promised to be atomic over attached databases.
    splits_count: bool,
    seen: HashMap<u128, Seen>,
    tally: Tally,
    violation: Option<Witness>,
    loss: Option<Witness>,
    minimised: u32,
    random: SplitMix64,
    second_crash_every: u64,
    progress: &'a Progress,
}

impl Look<'_, '_> {
    fn at(&mut self, candidate: Candidate<'_>) -> Result<(), CrashError> {
        let acknowledged = self.recording.acknowledged(candidate.cut);
        let key = hash(&candidate.files);
        if let Some(seen) = self.seen.get(&key)
            && seen.acknowledged >= acknowledged
        {
            return Ok(());
        }
        let crash_again = self.second_crash_every > 0
            && !self.seen.contains_key(&key)
            && self.random.below(self.second_crash_every) == 0;
        let copy = crash_again.then(|| candidate.files.clone());
        let Candidate {
            cut,
            files,
            faults,
            source,
        } = candidate;
        let judgement = self.judged(key, files, acknowledged, false)?;
        match judgement {
            Judgement::Violated(violation) => {
                if self.is_better_witness(faults) {
                    let remake = source
                        .as_ref()
                        .map(|source| move |state: &State| source.disk.files(source.units, state));
                    let state = match source.as_ref() {
                        Some(source) if self.minimised < MINIMISED => {
                            self.minimised += 1;
                            Some(self.minimised_state(
                                source.units,
                                source.state,
                                remake.as_ref(),
                            )?)
                        }
                        other => other.map(|source| source.state.clone()),
                    };
                    let (files, faults) = match (&source, &state) {
                        (Some(source), Some(state)) => (
                            source.disk.files(source.units, state),
                            state.faults(source.units),
                        ),
                        _ => (
                            crate::states::prefix_files(&self.recording.trace, cut - faults),
                            faults,
                        ),
                    };
                    self.keep_violation(cut, acknowledged, faults, files, violation)?;
                }
            }
            Judgement::Committed(committed) => {
                let lost = acknowledged.saturating_sub(committed);
                if lost > self.loss.as_ref().map_or(0, |witness| witness.lost) {
                    let files = match &source {
                        Some(source) => source.disk.files(source.units, source.state),
                        None => crate::states::prefix_files(&self.recording.trace, cut - faults),
                    };
                    self.loss = Some(Witness {
                        cut,
                        acknowledged,
                        faults,
                        lost,
                        files,
                        violation: None,
                        second_crash: false,
                    });
                }
                if let Some(files) = copy {
                    self.crash_again(cut, acknowledged, files)?;
                }
            }
        }
        Ok(())
    }

    fn is_better_witness(&self, faults: usize) -> bool {
        self.violation
            .as_ref()
            .is_none_or(|witness| faults < witness.faults || witness.second_crash)
    }

    /// Judges files and counts them, once for equal ones.
    fn judged(
        &mut self,
        key: u128,
        files: Vec<File>,
        acknowledged: usize,
        second: bool,
    ) -> Result<Judgement, CrashError> {
        let mut judgement = self.judge.judge(self.recording, files)?;
        let is_new = !self.seen.contains_key(&key);
        if is_new {
            self.tally.images += 1;
            self.tally.second_crashes += u64::from(second);
            self.progress.images.fetch_add(1, Ordering::Relaxed);
        }
        if judgement == Judgement::Violated(Violation::Split) && !self.splits_count {
            self.tally.split_unpromised += u64::from(is_new);
            // Each database by itself is in order, and nothing was promised of them together.
            judgement = Judgement::Committed(acknowledged);
        }
        let committed = match &judgement {
            Judgement::Committed(committed) => Some(*committed),
            Judgement::Violated(violation) => {
                if is_new {
                    self.tally.count(violation);
                }
                None
            }
        };
        let seen = self.seen.entry(key).or_insert(Seen {
            acknowledged,
            committed,
        });
        seen.acknowledged = seen.acknowledged.max(acknowledged);
        Ok(judgement)
    }

    fn minimised_state(
        &mut self,
        units: &crate::disk::Units,
        state: &State,
        remake: Option<&impl Fn(&State) -> Vec<File>>,
    ) -> Result<State, CrashError> {
        let Some(remake) = remake else {
            return Ok(state.clone());
        };
        let mut failed = None;
        let smallest = minimise(units, state, |state| {
            match self.judge.judge(self.recording, remake(state)) {
                Ok(Judgement::Violated(Violation::Split)) => self.splits_count,
                Ok(Judgement::Violated(_)) => true,
                Ok(Judgement::Committed(_)) => false,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            }
        });
        failed.map_or(Ok(smallest), Err)
    }

    fn keep_violation(
        &mut self,
        cut: usize,
        acknowledged: usize,
        faults: usize,
        files: Vec<File>,
        violation: Violation,
    ) -> Result<(), CrashError> {
        if !self.is_better_witness(faults) {
            return Ok(());
        }
        // The smallest image may show another violation than the one it was found by.
        let violation = match self.judge.judge(self.recording, files.clone())? {
            Judgement::Violated(now) => now,
            Judgement::Committed(_) => violation,
        };
        self.violation = Some(Witness {
            cut,
            acknowledged,
            faults,
            lost: 0,
            files,
            violation: Some(violation),
            second_crash: false,
        });
        Ok(())
    }

    /// Lets the recovery of these files crash too, and judges what that leaves.
    fn crash_again(
        &mut self,
        cut: usize,
        acknowledged: usize,
        files: Vec<File>,
    ) -> Result<(), CrashError> {
        let trace = self.judge.trace_recovery(self.recording, &files)?;
        if trace.steps.is_empty() {
            return Ok(());
        }
        for _ in 0..2 {
            let (_, files, faults) = draw_one(&trace, self.model, &mut self.random);
            let key = hash(&files);
            if self.seen.contains_key(&key) {
                continue;
            }
            let kept = files.clone();
            if let Judgement::Violated(violation) = self.judged(key, files, acknowledged, true)?
                && self.violation.is_none()
            {
                self.violation = Some(Witness {
                    cut,
                    acknowledged,
                    faults,
                    lost: 0,
                    files: kept,
                    violation: Some(violation),
                    second_crash: true,
                });
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Tally {
        let mut tally = self.tally.clone();
        for seen in self.seen.values() {
            if let Some(committed) = seen.committed {
                let lost = seen.acknowledged.saturating_sub(committed);
                tally.losing += u64::from(lost > 0);
                tally.most_lost = tally.most_lost.max(lost as u64);
            }
        }
        tally
    }
}
