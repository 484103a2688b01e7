//! The same work on two sides, counted and not timed.

use std::path::PathBuf;

use lab::comparison::{ExactComparison, Side, keeping_rows};
use lab::design::Variant;
use lab::engine_name::ENGINE;
use lab::experiment::{Experiment, Labels};
use lab::plan::{Request, plan};
use lab::record::PlannedExperiment;
use runner::{Draws, Execution};

use crate::driver::Running;
use crate::engine;
use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::measure::{self, Subject, Work};
use crate::run::plan::{directories, request_for};
use crate::run::preflight::check_needs;

/// The longest time of one repetition, in seconds.
const LIMIT_S: f64 = 600.0;

/// The statements of a trace that are compared one by one.
const TRACED_STATEMENTS: i64 = 100_000;

/// An exact comparison.
#[derive(Clone, Debug)]
pub struct ExactRequest {
    /// The work, and the sides.
    pub subject: Subject,
    /// The executions of each query or script.
    pub executions: u32,
    /// The repetitions of each side.
    pub repetitions: u32,
    /// The directory for copies.
    pub directory: Option<PathBuf>,
    /// The seed of all random choices.
    pub seed: u64,
}

/// The result of an exact comparison.
pub struct ComparedSides {
    /// Each other side compared with the first.
    pub comparisons: Vec<ExactComparison>,
    /// Whether every trial of every side was measured.
    pub is_whole: bool,
}

/// Counts what all sides do. Returns `None` if it was interrupted.
///
/// # Errors
/// The request is invalid, or something cannot be used.
pub fn compare_exactly(
    request: &ExactRequest,
    ui: &dyn Interface,
) -> Result<Option<ComparedSides>> {
    let experiment = experiment(request, ui)?;
    let running = Running::native(ui)?;
    let engine_of_all = match request.subject.engines.as_slice() {
        [only] => engine::name_in_plan(only)?,
        _ => engine::BUILT_IN.to_owned(),
    };
    let planned = Request {
        experiments: vec![experiment],
        directories: directories(request.directory.as_slice())?,
        ..request_for(engine_of_all, request.seed, LIMIT_S)
    };
    let plan = plan(planned, &drivers::catalogue(None)?);
    check_needs(&plan)?;
    let engines = engine::prepare(&engine::names(&plan), &running)?;
    engine::all_usable(&engines)?;
    let mut executor = running.local(&plan.id, &engines).sharing(&Draws::default());
    let Some(planned) = plan.experiments.first() else { return Ok(None) };
    let repetitions = request.repetitions as usize;
    let mut begins = shows_progress(planned, repetitions, ui);
    let counted = runner::count(&plan, planned, repetitions, &mut executor, &mut begins)?;
    let Some(sides) = counted.map(|executions| named(planned, executions)) else { return Ok(None) };
    // If only some sides fail, that is a difference between them.
    let problems = sides.iter().map(|side| side.trials.first());
    let mistakes = problems.map(|trial| trial.filter(|trial| trial.is_mistake())?.problem());
    let mistakes = mistakes.collect::<Option<Vec<_>>>().unwrap_or_default();
    if let Some(problem) = mistakes.into_iter().next() {
        return Err(Error::mistake(problem.trim_start_matches("failed: ")));
    }
    let (base, others) = sides.split_at(1);
    let compared = others.iter().map(|new| ExactComparison::of(&base[0], new));
    let mut comparisons: Vec<ExactComparison> = compared.collect();
    if let Some(planned) = keeping_rows(planned)
        && comparisons.iter().any(ExactComparison::has_other_answers)
        && let Some(again) = runner::count(&plan, &planned, 1, &mut executor, &mut |_| {})?
    {
        let again: Vec<Side> = named(&planned, again);
        for (comparison, new) in comparisons.iter_mut().zip(&again[1..]) {
            comparison.add_rows(&again[0].trials[0], &new.trials[0]);
        }
    }
    let is_measured = |side: &Side| side.trials.iter().all(|trial| trial.problem().is_none());
    Ok(Some(ComparedSides { comparisons, is_whole: sides.iter().all(is_measured) }))
}

/// Returns a display of the trial of this number.
fn shows_progress(
    planned: &PlannedExperiment,
    repetitions: usize,
    ui: &dyn Interface,
) -> impl FnMut(usize) {
    let PlannedExperiment { variants, experiment, .. } = planned;
    let names = variants.iter().map(|variant| name(variant, &experiment.labels));
    let (names, task): (Vec<String>, _) = (names.collect(), ui.show_task());
    move |number| {
        let side = &names[number % names.len()];
        let words = format!("{side}: trial {} of {}", number + 1, names.len() * repetitions);
        task.now_and_then(&words);
        task.update(words);
    }
}

/// Returns the experiment whose variants are the sides.
fn experiment(request: &ExactRequest, ui: &dyn Interface) -> Result<Experiment> {
    let Subject { databases, setup, set, .. } = &request.subject;
    if let Some((_, value)) = set.iter().find(|(name, _)| name == "executions") {
        return Err(Error::mistake(format!("--set executions={value} is an option of compare"))
            .hint(format!("use --executions {value}")));
    }
    let is_trace = matches!(request.subject.work, Work::Replay(_));
    if is_trace && !(databases.is_empty() && setup.is_none()) {
        return Err(Error::mistake("a trace brings its own databases: leave --db and --setup out"));
    }
    let mut subject = request.subject.clone();
    for engine in &mut subject.engines {
        *engine = engine::name_in_plan(engine)?;
    }
    let catalogue = drivers::catalogue(None)?;
    let mut experiment = measure::experiment(&subject, false, &catalogue, ui)?;
    let stopping = &mut experiment.design.stopping;
    (stopping.rounds, stopping.max_rounds) = (2, 2);
    let base = &mut experiment.base;
    if is_trace {
        base.insert("statements".to_owned(), TRACED_STATEMENTS.into());
    } else {
        base.insert("executions".to_owned(), i64::from(request.executions).into());
        base.insert("answers".to_owned(), i64::from(request.executions).into());
    }
    if experiment.factors.is_empty() {
        return Err(Error::mistake("there is nothing to compare").hint(
            "name two engines (--engine system --engine default), two databases (--db a.db --db b.db), two files of SQL or statements (-c), or two values of a setting (--vary journal_mode=delete,wal)",
        ));
    }
    let text = experiment.to_toml().map_err(Error::mistake)?;
    measure::checked(&text, &catalogue)
}

/// Returns the levels of a variant in words.
fn name(variant: &Variant, labels: &Labels) -> String {
    let names = variant.levels.iter().map(|(factor, level)| match labels.of(factor, level) {
        Some(words) => words.to_owned(),
        None if factor == ENGINE => level.to_string(),
        None => format!("{factor}={level}"),
    });
    names.collect::<Vec<_>>().join(" ")
}

fn named(planned: &PlannedExperiment, executions: Vec<Vec<Execution>>) -> Vec<Side> {
    let variants = planned.variants.iter().zip(executions);
    let side = |(variant, trials): (&Variant, Vec<Execution>)| Side {
        name: name(variant, &planned.experiment.labels),
        trials: trials.into_iter().map(|execution| execution.outcome).collect(),
    };
    let mut sides: Vec<Side> = variants.map(side).collect();
    if let Some((base, others)) = sides.split_first_mut() {
        others.iter_mut().for_each(|side| side.name_as_in(base));
    }
    sides
}
