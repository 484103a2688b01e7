//! `pragmark guard`: the gate for continuous integration.

mod keep;
mod measure;
mod repository;
mod side;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::exact::Comparison;
use lab::guard::{Check, Gate, Guard, Status, Timed, Work, counters, unknown_part};
use lab::record::{PlannedExperiment, TrialRecord};
use lab::seed::Seed;
use report::document::Document;
use report::render;
use runner::RunFolder;
use serde::Serialize;

use self::keep::keep;
use self::measure::Bench;
use self::repository::{Desk, Repository};
use self::side::Side;
use super::report::terminal_style;
use super::{engine, output};
use crate::cli::{GuardArgs, UndecidedArg};
use crate::failure::{Exit, Failure};
use crate::interrupt;

/// What a guarded comparison says.
#[derive(Serialize)]
struct Guarded {
    gate: Gate,
    comparison: Comparison,
}

/// Measures both sides and judges.
pub fn execute(args: &GuardArgs) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    if let Some(folder) = &args.out {
        RunFolder::check_free(folder)?;
    }
    let (directory, file) = project(&args.config)?;
    let repository = Repository::of(&directory)?;
    let desk = repository.desk()?;
    let (guard, sides) = sides(args, &directory, &file, &repository, &desk)?;
    let guarded = guarded(args, &guard, &sides, &desk, &interrupted)?;
    drop(desk);
    write(args, &guarded)?;
    Ok(exit(guarded.gate.status(), args.undecided))
}

/// Builds, counts and times both sides, and keeps the record where one is wanted.
fn guarded(
    args: &GuardArgs,
    guard: &Guard,
    sides: &[Side; 2],
    desk: &Desk,
    interrupted: &AtomicBool,
) -> Result<Guarded, Failure> {
    let names = [0, 1].map(|side| format!("{}: {}", sides[side].role, sides[side].name));
    let [base, new] = [&sides[0], &sides[1]].map(|it| it.planned(desk.path(), interrupted));
    let seed = Seed(args.seed);
    let bench = Bench::new([base?, new?], &names, desk.path(), seed, interrupted)?;
    let (comparison, mut trials) = bench.counted(&names)?;
    let mut checks = counters(guard, &comparison);
    check_names(guard, &comparison)?;
    let budgets = budgets_of_time(args, guard);
    if comparison.totals.is_empty() && budgets.is_empty() {
        return Err(Failure::unusable(
            "there is nothing to check: the work is not counted, and there is no budget of time",
        )
        .hint("name budgets of metrics that the trials report, and leave --counters-only out"));
    }
    let metrics: Vec<String> = budgets.iter().map(|it| it.metric().to_owned()).collect();
    let times = bench.timing(&metrics, Duration::from_secs_f64(args.trial));
    checks.extend(timed(args, &bench, &times, budgets, &mut trials)?);
    let run = bench.recorded(&times, &trials);
    checks.extend(bench.safety(guard.may_lose, &run, &trials));
    let gate = Gate::of(checks);
    let guarded = Guarded { gate, comparison };
    if let Some(folder) = &args.out {
        keep(folder, &bench, &run, &trials, &guarded)?;
    }
    Ok(guarded)
}

fn exit(status: Status, undecided: Option<UndecidedArg>) -> Exit {
    match (status, undecided) {
        (Status::Passed, _) | (Status::Undecided, Some(UndecidedArg::Ok)) => Exit::Success,
        (Status::Failed, _) | (Status::Undecided, Some(UndecidedArg::Fail)) => Exit::BeyondBudget,
        (Status::Undecided, None) => Exit::Undecided,
    }
}

/// The directory of the project and the name of its file.
fn project(config: &Path) -> Result<(PathBuf, PathBuf), Failure> {
    let cannot = |error: std::io::Error| {
        Failure::unusable(format!("cannot read {}: {error}", config.display()))
            .hint("write pragmark-guard.toml, such as: work = { scripts = \"queries.sql\", database = \"app.db\" }")
    };
    let whole = config.canonicalize().map_err(cannot)?;
    let directory = whole.parent().unwrap_or(Path::new("/")).to_owned();
    let file = whole.file_name().map(PathBuf::from).unwrap_or_default();
    Ok((directory, file))
}

/// What is guarded, and both sides, not yet built. Budgets are those of the new side.
fn sides(
    args: &GuardArgs,
    directory: &Path,
    file: &Path,
    repository: &Repository,
    desk: &Desk,
) -> Result<(Guard, [Side; 2]), Failure> {
    let (new_directory, new_name) = match &args.new {
        Some(revision) => checked_out(repository, desk, revision, "new")?,
        None => (directory.to_owned(), "working directory".to_owned()),
    };
    let guard = guard_of(&new_directory.join(file))?;
    let (base_directory, base_name) = match (&args.base, &args.base_dir) {
        (Some(revision), _) => checked_out(repository, desk, revision, "base")?,
        (None, Some(other)) => (other.clone(), other.display().to_string()),
        (None, None) if args.engine.len() == 2 || args.dbs.len() == 2 => {
            (new_directory.clone(), new_name.clone())
        }
        _ => {
            return Err(Failure::usage("there is nothing to compare with").hint(
                "name a revision (--base origin/main), a directory (--base-dir DIR), two engines (--engine A --engine B) or two databases (--db A --db B)",
            ));
        }
    };
    let own = base_directory.join(file);
    let base_work = match own.exists() {
        true => work_of_base(&own, &base_name)?,
        false => guard.work.clone(),
    };
    let new_work = guard.work.clone();
    let sides = [
        side(args, 0, (base_directory, base_name), base_work)?,
        side(args, 1, (new_directory, new_name), new_work)?,
    ];
    Ok((guard, sides))
}

/// A side with what the command line gives it.
fn side(
    args: &GuardArgs,
    number: usize,
    (directory, name): (PathBuf, String),
    work: Work,
) -> Result<Side, Failure> {
    let engine = args.engine.get(number).or(args.engine.first());
    let database = args.dbs.get(number).or(args.dbs.first());
    let database = database.map(|path| {
        path.canonicalize()
            .map_err(|error| Failure::unusable(format!("cannot read {}: {error}", path.display())))
    });
    Ok(Side {
        role: ["base", "new"][number],
        name: described(name, args, number),
        directory,
        work,
        engine: engine.map(|name| engine::name_in_plan(name)).transpose()?,
        database: database.transpose()?,
    })
}

/// The name of a side with what the command line gives it alone.
fn described(name: String, args: &GuardArgs, number: usize) -> String {
    let mut words = vec![name];
    if args.engine.len() == 2 {
        words.push(format!("engine {}", args.engine[number]));
    }
    if args.dbs.len() == 2 {
        words.push(args.dbs[number].display().to_string());
    }
    words.join(", ")
}

fn checked_out(
    repository: &Repository,
    desk: &Desk,
    revision: &str,
    name: &str,
) -> Result<(PathBuf, String), Failure> {
    let (directory, commit) = repository.check_out(desk, revision, name)?;
    Ok((directory, format!("{revision} at {commit}")))
}

fn guard_of(path: &Path) -> Result<Guard, Failure> {
    let text = read(path)?;
    let wrong = |why: String| Failure::usage(format!("{}: {why}", path.display()));
    let guard = Guard::read(&text).map_err(wrong)?;
    if let Some(directory) = &guard.work.drivers {
        // Drivers declare metrics.
        let directory = path.with_file_name(directory);
        drivers::catalogue(Some(&directory))?;
    }
    guard.check().map_err(wrong)?;
    Ok(guard)
}

/// The work in the file of the base; its budgets do not count.
fn work_of_base(path: &Path, name: &str) -> Result<Work, Failure> {
    let file = path.file_name().unwrap_or_default().display().to_string();
    Work::parse(&read(path)?)
        .map_err(|why| Failure::unusable(format!("{file} of the base side ({name}): {why}")))
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::unusable(format!("cannot read {}: {error}", path.display())))
}

/// The budgets and limits of time, each with nothing measured.
fn budgets_of_time(args: &GuardArgs, guard: &Guard) -> Vec<Timed> {
    match args.counters_only {
        true => Vec::new(),
        false => Timed::of(guard),
    }
}

/// Refuses budgets of statements and of kinds of files that there are not.
fn check_names(guard: &Guard, comparison: &Comparison) -> Result<(), Failure> {
    match unknown_part(guard, comparison) {
        None => Ok(()),
        Some(name) => Err(Failure::unusable(format!(
            "the budget {name} is of a statement or a kind of file that there is not"
        ))
        .hint("`pragmark compare` shows the names of statements")),
    }
}

/// Measures until the budgets are decided; their checks.
fn timed(
    args: &GuardArgs,
    bench: &Bench<'_>,
    times: &PlannedExperiment,
    mut budgets: Vec<Timed>,
    trials: &mut Vec<TrialRecord>,
) -> Result<Vec<Check>, Failure> {
    let limit = Duration::from_secs_f64(args.time_limit);
    bench.timed(times, &mut budgets, limit, trials)?;
    Ok(budgets.iter().map(Timed::check).collect())
}

fn document(guarded: &Guarded) -> Document {
    report::guarded(&guarded.gate, &guarded.comparison)
}

/// Prints the result, and writes it in the other forms that are wanted.
fn write(args: &GuardArgs, guarded: &Guarded) -> Result<(), Failure> {
    let document = document(guarded);
    if let Some(path) = &args.markdown {
        output::write_text(Some(path), &render::markdown(&document))?;
    }
    if let Some(path) = &args.html {
        let page = render::html(&document)
            .map_err(|error| Failure::unusable(format!("cannot make the page: {error}")))?;
        output::write_text(Some(path), &page)?;
    }
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(guarded).map_err(Failure::unusable)?;
        output::write_text(Some(path), &format!("{json}\n"))?;
    }
    if let Some(path) = &args.junit {
        output::write_text(Some(path), &report::junit(&guarded.gate))?;
    }
    output::write_text(None, &render::terminal(&document, terminal_style())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undecided_is_what_the_user_says() {
        let undecided = |what| exit(Status::Undecided, what);
        assert_eq!(undecided(None), Exit::Undecided);
        assert_eq!(undecided(Some(UndecidedArg::Ok)), Exit::Success);
        assert_eq!(undecided(Some(UndecidedArg::Fail)), Exit::BeyondBudget);
        assert_eq!(exit(Status::Failed, Some(UndecidedArg::Ok)), Exit::BeyondBudget);
        assert_eq!(exit(Status::Passed, Some(UndecidedArg::Fail)), Exit::Success);
    }
}
