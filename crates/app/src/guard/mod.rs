//! The gate for continuous integration: two sides of a project, measured and judged by budgets.

mod measure;
mod repository;
mod side;

use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::comparison::ExactComparison;
use lab::guard::{Gate, Guard, Status, Timed, Work, alone, counters};
use lab::record::{RunPlan, TrialRecord};
use report::document::Document;
use runner::RunFolder;
use serde::Serialize;

use self::measure::Measurement;
use self::repository::{Repository, Workspace};
use self::side::Side;
use crate::driver::Running;
use crate::engine;
use crate::error::{Error, Result};
use crate::files::write_in_run;
use crate::interface::Interface;
use crate::report::{PAGE, html};

/// The file in the folder of the run with every figure of the gate.
const GATE: &str = "guard.json";

/// A guarded comparison.
#[derive(Clone, Debug)]
pub struct GuardRequest {
    /// The revision to compare with.
    pub base: Option<String>,
    /// The revision to check, instead of the working directory.
    pub new: Option<String>,
    /// The directory to compare with, instead of a revision.
    pub base_directory: Option<PathBuf>,
    /// Whether the project is checked by itself, by limits.
    pub no_base: bool,
    /// The engine of both sides, or the base's and the new side's.
    pub engines: Vec<String>,
    /// The database of both sides, or the base's and the new side's.
    pub databases: Vec<PathBuf>,
    /// The file with work and budgets.
    pub config: PathBuf,
    /// Whether no time is measured.
    pub counters_only: bool,
    /// The longest time for measuring times.
    pub time_limit: Duration,
    /// The time of one trial.
    pub trial: Duration,
    /// The seed of all random choices.
    pub seed: u64,
    /// The folder for the record, if it is kept.
    pub out: Option<PathBuf>,
}

/// The result of a guarded comparison.
#[derive(Serialize)]
pub struct Guarded {
    /// The checks.
    pub gate: Gate,
    /// The counters of both sides; empty without a base.
    pub comparison: ExactComparison,
}

impl Guarded {
    /// Returns the result as a document.
    pub fn document(&self) -> Document {
        report::guarded(&self.gate, &self.comparison)
    }

    /// Returns every figure as JSON.
    ///
    /// # Errors
    /// A figure cannot be written as JSON.
    pub fn json(&self) -> Result<String> {
        let json = serde_json::to_string_pretty(self).map_err(Error::unusable)?;
        Ok(format!("{json}\n"))
    }
}

/// Measures both sides and judges.
///
/// # Errors
/// The request is invalid, or a side cannot be built or measured.
pub fn guard(request: &GuardRequest, ui: &dyn Interface) -> Result<Guarded> {
    let running = Running::native(ui)?;
    if let Some(folder) = &request.out {
        RunFolder::check_free(folder)?;
    }
    if request.no_base && (request.engines.len() > 1 || request.databases.len() > 1) {
        return Err(Error::mistake("--no-base has one side, so one --engine and one --db"));
    }
    let project = Project::of(&request.config)?;
    let repository = Repository::of(&project.directory)?;
    let workspace = repository.workspace(ui)?;
    let (guard, sides) = sides(request, &project, &repository, &workspace)?;
    measure_sides(request, &guard, &sides, &workspace, &running)
}

/// Builds, counts and times both sides, and keeps the record if it is wanted.
fn measure_sides(
    request: &GuardRequest,
    guard: &Guard,
    sides: &[Side; 2],
    workspace: &Workspace<'_>,
    running: &Running<'_>,
) -> Result<Guarded> {
    let (directory, interrupted, ui) = (&workspace.path, &running.interrupted, running.ui);
    let names = [0, 1].map(|side| format!("{}: {}", sides[side].role, sides[side].name));
    let planned = |side: &Side| side.planned(directory, interrupted);
    let planned = if request.no_base {
        // A side is compared with itself, and built once.
        let new = planned(&sides[1])?;
        [new.clone(), new]
    } else {
        [planned(&sides[0])?, planned(&sides[1])?]
    };
    let measurement = Measurement::new(planned, &names, directory, request.seed, running)?;
    let (comparison, mut trials) = measurement.counted(&names)?;
    if request.no_base {
        let checks = alone(guard, &comparison);
        if checks.is_empty() {
            return Err(Error::unusable(
                "there is nothing to check: no statement of the work is counted",
            )
            .hint("give [work] scripts or a trace, or name [limits]"));
        }
        let guarded = Guarded { gate: Gate::of(checks), comparison: ExactComparison::default() };
        let run = measurement.recorded(&measurement.timing(&[], request.trial), &trials);
        return kept(request, &measurement, &run, &trials, guarded, ui);
    }
    let mut checks = counters(guard, &comparison);
    if checks.iter().any(|check| check.status == Status::Failed) {
        let tables = sides[0].random_tables(directory, interrupted)?;
        Gate::of_random_data(&mut checks, &comparison, &tables);
    }
    let mut budgets = if request.counters_only { Vec::new() } else { Timed::of(guard) };
    if comparison.totals.is_empty() && budgets.is_empty() {
        return Err(Error::unusable(
            "there is nothing to check: the work is not counted, and there is no budget of time",
        )
        .hint("name budgets of metrics that the trials report, and leave --counters-only out"));
    }
    let metrics: Vec<String> = budgets.iter().map(|budget| budget.metric().to_owned()).collect();
    let times = measurement.timing(&metrics, request.trial);
    measurement.timed(&times, &mut budgets, request.time_limit, &mut trials)?;
    checks.extend(budgets.iter().map(Timed::check));
    let run = measurement.recorded(&times, &trials);
    checks.extend(measurement.safety(guard.may_lose, &run, &trials));
    kept(request, &measurement, &run, &trials, Guarded { gate: Gate::of(checks), comparison }, ui)
}

/// Writes the folder of the run, if it is wanted, with the gate as its page. The run cannot be resumed, because the revisions
/// that were checked out are gone.
fn kept(
    request: &GuardRequest,
    measurement: &Measurement<'_>,
    plan: &RunPlan,
    trials: &[TrialRecord],
    guarded: Guarded,
    ui: &dyn Interface,
) -> Result<Guarded> {
    let Some(folder) = &request.out else { return Ok(guarded) };
    let run = RunFolder::create(folder, plan, &measurement.environment()?)?;
    let mut appender = run.appender()?;
    for trial in trials {
        appender.append(trial)?;
    }
    write_in_run(&folder.join(PAGE), &html(&guarded.document())?)?;
    write_in_run(&folder.join(GATE), &guarded.json()?)?;
    tell!(ui, "record: {}", folder.display());
    Ok(guarded)
}

/// The project that is guarded.
struct Project {
    directory: PathBuf,
    /// The name of the file with work and budgets.
    file: PathBuf,
}

impl Project {
    fn of(config: &Path) -> Result<Project> {
        let whole = config.canonicalize().map_err(|error| {
            Error::reading(config, error)
                .hint("write pragmark-guard.toml, such as: work = { scripts = \"queries.sql\", database = \"app.db\" }")
        })?;
        let directory = whole.parent().unwrap_or(Path::new("/")).to_owned();
        let file = whole.file_name().map(PathBuf::from).unwrap_or_default();
        Ok(Project { directory, file })
    }
}

/// Returns what is guarded, and both sides, not yet built. Budgets come from the new side.
fn sides(
    request: &GuardRequest,
    project: &Project,
    repository: &Repository,
    workspace: &Workspace<'_>,
) -> Result<(Guard, [Side; 2])> {
    let checked_out = |revision: &str, role: &str| {
        let (directory, commit) = repository.check_out(workspace, revision, role)?;
        Ok::<_, Error>((directory, format!("{revision} at {commit}")))
    };
    let (new_directory, new_name) = match &request.new {
        Some(revision) => checked_out(revision, "new")?,
        None => (project.directory.clone(), "working directory".to_owned()),
    };
    // Reads what is guarded.
    let path = &new_directory.join(&project.file);
    let wrong = |why: String| Error::mistake(format!("{}: {why}", path.display()));
    let guard = Guard::read(&read(path)?).map_err(wrong)?;
    if let Some(directory) = &guard.work.drivers {
        // Drivers declare metrics.
        drivers::catalogue(Some(&path.with_file_name(directory)))?;
    }
    guard.check().map_err(wrong)?;
    let (base_directory, base_name) = match (&request.base, &request.base_directory) {
        (Some(revision), _) => checked_out(revision, "base")?,
        (None, Some(other)) if other.is_dir() => (other.clone(), other.display().to_string()),
        (None, Some(other)) => {
            let why = format!("--base {} is no directory", other.display());
            return Err(Error::mistake(why));
        }
        (None, None)
            if request.no_base || request.engines.len() == 2 || request.databases.len() == 2 =>
        {
            (new_directory.clone(), new_name.clone())
        }
        _ => {
            return Err(Error::mistake("there is nothing to compare with").hint(
                "name a revision (--base origin/main), a directory (--base DIR), two engines (--engine A --engine B) or two databases (--db A --db B); or check the project by itself (--no-base)",
            ));
        }
    };
    let own = base_directory.join(&project.file);
    let base_work = if own.exists() { work_of_base(&own, &base_name)? } else { guard.work.clone() };
    let new_work = guard.work.clone();
    let sides = [
        side(request, 0, (base_directory, base_name), base_work)?,
        side(request, 1, (new_directory, new_name), new_work)?,
    ];
    Ok((guard, sides))
}

/// Returns a side with the engine and the database of the request. A name has the ones that differ.
fn side(
    request: &GuardRequest,
    number: usize,
    (directory, name): (PathBuf, String),
    work: Work,
) -> Result<Side> {
    let engine = request.engines.get(number).or(request.engines.first());
    let database = request.databases.get(number).or(request.databases.first());
    let database =
        database.map(|path| path.canonicalize().map_err(|error| Error::reading(path, error)));
    let mut words = vec![name];
    if request.engines.len() == 2 {
        words.push(format!("engine {}", request.engines[number]));
    }
    if request.databases.len() == 2 {
        words.push(request.databases[number].display().to_string());
    }
    Ok(Side {
        role: ["base", "new"][number],
        name: words.join(", "),
        directory,
        work,
        engine: engine.map(|name| engine::name_in_plan(name)).transpose()?,
        database: database.transpose()?,
    })
}

/// Reads the work in the file of the base; its budgets do not count.
fn work_of_base(path: &Path, name: &str) -> Result<Work> {
    let file = path.file_name().unwrap_or_default().display().to_string();
    Work::parse(&read(path)?)
        .map_err(|why| Error::unusable(format!("{file} of the base side ({name}): {why}")))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Error::reading(path, error))
}
