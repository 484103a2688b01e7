//! The same work on two sides, counted and not timed.

use std::path::Path;

use lab::design::Variant;
use lab::exact::{Comparison, Side};
use lab::experiment::{Experiment, Scale};
use lab::plan::{Request, plan};
use lab::record::PlannedExperiment;
use lab::seed::Seed;
use runner::{Execution, Local};

use super::subject::Subject;
use super::write;
use crate::cli::{CompareArgs, MeasureArgs};
use crate::commands::{engine, measure, needs, run};
use crate::failure::{Exit, Failure};
use crate::interrupt;

/// The longest time of one repetition, in seconds.
const LIMIT_S: f64 = 600.0;

/// Counts all sides, and compares each with the first.
pub fn execute(args: &CompareArgs, subject: Subject) -> Result<Exit, Failure> {
    let experiment = experiment(args, subject)?;
    let Some(sides) = sides(args, experiment)? else {
        return Ok(Exit::Interrupted);
    };
    let Some((base, others)) = sides.split_first() else {
        return Ok(Exit::Success);
    };
    let compared = others.iter().map(|new| Comparison::of(base, new));
    let comparisons: Vec<Comparison> = compared.collect();
    write(args.format, args.out.as_deref(), &report::exact(&comparisons), &comparisons)?;
    let is_whole = |side: &Side| side.trials.iter().all(|it| it.problem().is_none());
    Ok(match sides.iter().all(is_whole) {
        true => Exit::Success,
        false => Exit::TrialsFailed,
    })
}

/// The experiment whose variants are the sides.
fn experiment(args: &CompareArgs, subject: Subject) -> Result<Experiment, Failure> {
    let is_trace = matches!(subject, Subject::Trace(_));
    if is_trace && !(args.dbs.is_empty() && args.setup.is_none()) {
        return Err(Failure::usage("a trace brings its own databases: leave --db and --setup out"));
    }
    let catalogue = drivers::catalogue(None)?;
    let mut experiment = measure::experiment(&measure_args(args, subject)?, &catalogue)?;
    let base = &mut experiment.base;
    match is_trace {
        true => base.insert("statements".to_owned(), 100_000.into()),
        false => base.insert("executions".to_owned(), i64::from(args.executions).into()),
    };
    if !is_trace {
        base.insert("answers".to_owned(), i64::from(args.executions).into());
    }
    if experiment.factors.is_empty() {
        return Err(Failure::usage("there is nothing to compare").hint(
            "name two engines (--engine system --engine default), two databases (--db a.db --db b.db), two files of SQL, or two values of a setting (--vary journal_mode=delete,wal)",
        ));
    }
    let text = experiment.to_toml().map_err(Failure::usage)?;
    measure::checked(&text, &catalogue)
}

/// The same as options of `measure`.
fn measure_args(args: &CompareArgs, subject: Subject) -> Result<MeasureArgs, Failure> {
    let (files, trace) = match subject {
        Subject::Trace(trace) => (Vec::new(), Some(trace)),
        Subject::Scripts(files) | Subject::Runs(files) => (files, None),
    };
    let engines = args.engine.iter().map(|name| engine::name_in_plan(name));
    Ok(MeasureArgs {
        files,
        trace,
        commands: args.commands.clone(),
        dbs: args.dbs.clone(),
        setup: args.setup.clone(),
        vary: args.vary.clone(),
        set: args.set.clone(),
        engine: engines.collect::<Result<_, _>>()?,
        rounds: 2,
        ..MeasureArgs::default()
    })
}

/// What each side did, or none if it was interrupted.
fn sides(args: &CompareArgs, experiment: Experiment) -> Result<Option<Vec<Side>>, Failure> {
    let (interrupted, driver) = (interrupt::flag()?, run::native_driver()?);
    let directories: Vec<_> = args.dir.iter().cloned().collect();
    let engine_of_all = match args.engine.as_slice() {
        [only] => engine::name_in_plan(only)?,
        _ => "default".to_owned(),
    };
    let request = Request {
        id: runner::run_id(),
        created: runner::now(),
        pragmark: env!("CARGO_PKG_VERSION").to_owned(),
        seed: Seed(args.seed),
        scale: Scale::Default,
        engine: engine_of_all,
        quick: false,
        trial_limit_s: LIMIT_S,
        budget_s: None,
        tiers: false,
        postgres_given: false,
        experiments: vec![experiment],
        directories: run::directories(&directories)?,
    };
    let plan = plan(request, &drivers::catalogue(None)?);
    needs::check(&plan)?;
    let engines = engine::prepare(&engine::names(&plan), &driver, &interrupted, false)?;
    if let Some(failure) = engines.iter().find_map(engine::problem) {
        return Err(failure);
    }
    let mut executor = Local::new(&driver, &plan.id, &engines, &interrupted);
    let Some(planned) = plan.experiments.first() else {
        return Ok(None);
    };
    let repetitions = args.repetitions as usize;
    let counted = runner::count(&plan, planned, repetitions, &mut executor)?;
    Ok(counted.map(|executions| named(planned, executions)))
}

/// The levels of a variant; paths below the current directory as seen from there.
fn name(variant: &Variant, here: &Path) -> String {
    let levels = variant.levels.values().map(|level| {
        let text = level.to_string();
        let below = Path::new(&text).strip_prefix(here).ok();
        below.map_or(text.clone(), |path| path.display().to_string())
    });
    levels.collect::<Vec<_>>().join(" ")
}

fn named(planned: &PlannedExperiment, executions: Vec<Vec<Execution>>) -> Vec<Side> {
    let variants = planned.variants.iter().zip(executions);
    let here = std::env::current_dir().unwrap_or_default();
    let side = |(variant, trials): (&Variant, Vec<Execution>)| Side {
        name: name(variant, &here),
        trials: trials.into_iter().map(|it| it.outcome).collect(),
    };
    variants.map(side).collect()
}
