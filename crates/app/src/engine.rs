//! Engines: the SQLite libraries to measure. They are found or built, and described in a process of their own, because
//! loading a library runs its code.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crash::syncs;
use engine::build::{
    BuildError, BuildEvent, BuildName, Builder, Cache, EngineName, Kept, Recipe, Tools, resolve,
};
use engine::{Source, WHERE_SUPPORTED};
use lab::design::variants;
use lab::engine_name::engine_of;
use lab::experiment::Scale;
use lab::level::distinct;
use lab::record::{EngineRecord, RunPlan, engine_to_load};
use process::{Group, Limits};
use runner::Driver;

use crate::driver::{self, Running};
use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::library;

/// The engine that is part of the program.
pub(crate) const BUILT_IN: &str = "default";

/// How long an engine may take to describe itself.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(60);

/// The paths of built engines by name, or why one was not built.
pub type Built = HashMap<String, Result<String>>;

/// A stored or known engine, or how it would be built.
pub enum EngineStatus {
    /// It exists.
    Exists(Box<EngineRecord>),
    /// It can be built.
    NotBuilt(BuildName, Recipe),
}

/// Returns the default engine, the system's, and stored ones. A damaged one is a record with its problem.
///
/// # Errors
/// pragmark itself cannot be started.
pub fn available() -> Result<Vec<EngineRecord>> {
    let driver = driver::native()?;
    let mut found = Vec::new();
    for name in [BUILT_IN, "system"] {
        found.push(describe(name, name, &driver)?);
    }
    // Without a cache directory no engines are stored.
    let stored = Cache::of_user().map_or_else(|_| Vec::new(), |cache| cache.all());
    for kept in stored {
        found.push(match kept {
            Ok(kept) => describe(&kept.provenance.name, &path_of(&kept), &driver)?,
            Err(error) => EngineRecord::unusable("(damaged)", error.to_string()),
        });
    }
    Ok(found)
}

/// Stores a copy of a shared library under a name.
///
/// # Errors
/// The library cannot be read or used, or the name is taken or invalid.
pub fn add(library: &Path, name: &str) -> Result<Kept> {
    let driver = driver::native()?;
    let path = library.canonicalize().map_err(|error| {
        Error::reading(library, error).hint("use the path of a libsqlite3 shared library")
    })?;
    Cache::of_user()?.add(name, &path, runner::now(), |path| {
        let library = path.display().to_string();
        let record = describe(&library, &library, &driver)?;
        match problem(&record) {
            Some(error) => Err(error),
            None => Ok((record.version, record.source_id)),
        }
    })
}

/// Removes stored engines by name, and returns how many builds each name had.
///
/// # Errors
/// No engine of a name is stored; those named before it are removed.
pub fn remove(name: &str) -> Result<usize> {
    let name: EngineName = name.parse()?;
    match Cache::of_user()?.remove(&name)? {
        0 => Err(Error::mistake(format!("there is no stored engine `{name}`"))
            .hint("`pragmark engine list` shows the stored engines")),
        builds => Ok(builds),
    }
}

/// Removes all stored engines, and returns their number.
///
/// # Errors
/// The cache cannot be changed.
pub fn remove_all() -> Result<usize> {
    Ok(Cache::of_user()?.remove_all()?)
}

/// Describes an engine, or how it would be built.
///
/// # Errors
/// There is no such engine, or it cannot be used.
pub fn show(text: &str) -> Result<EngineStatus> {
    let name: EngineName = text.parse()?;
    let to_load = match name {
        EngineName::Build(build) => match existing(&build)? {
            Some(library) => library,
            None => {
                let recipe = Recipe::of(&build, WHERE_SUPPORTED);
                return Ok(EngineStatus::NotBuilt(build, recipe));
            }
        },
        other => located(&other)?,
    };
    let record = describe(text, &to_load, &driver::native()?)?;
    match problem(&record) {
        Some(error) => Err(error),
        None => Ok(EngineStatus::Exists(Box::new(record))),
    }
}

/// Returns the path of a build, if it exists.
fn existing(build: &BuildName) -> Result<Option<String>> {
    let cache = Cache::of_user()?;
    let never = AtomicBool::new(false);
    let untrained = |_: &Path| Err("nothing is built here".to_owned());
    let builder = Builder::new(&cache, Tools::of_user(), &untrained, runner::now, &never);
    Ok(builder.existing(build)?.map(|kept| path_of(&kept)))
}

fn path_of(kept: &Kept) -> String {
    kept.library.display().to_string()
}

/// Builds the named engines and those of experiments before a run. Returns the names, each once, and what
/// became of them.
///
/// # Errors
/// A name cannot be built, an experiment is invalid, or the build was interrupted.
pub fn build_for(
    engines: &[String],
    experiments: &[String],
    ui: &dyn Interface,
) -> Result<(Vec<BuildName>, Built)> {
    let mut builds: Vec<BuildName> = Vec::new();
    for text in engines {
        let EngineName::Build(build) = text.parse()? else {
            return Err(Error::mistake(format!("`{text}` cannot be built"))
                .hint("use a version with optional option sets, such as 3.46.0 or 3.54.1+recommended; see `pragmark engine list`"));
        };
        builds.push(build);
    }
    let catalogue = drivers::catalogue(None)?;
    for experiment in library::named(experiments, &catalogue)? {
        for scale in [Scale::Quick, Scale::Default, Scale::Paper] {
            for variant in variants(&experiment, scale, &catalogue) {
                if let EngineName::Build(build) = engine_of(&variant.settings, BUILT_IN).parse()? {
                    builds.push(build);
                }
            }
        }
    }
    let builds = distinct(builds);
    let built = build(&builds, &Running::native(ui)?)?;
    Ok((builds, built))
}

/// Finds or builds the engines of these names, and has each described in a process of its own. The record of an engine that
/// cannot be used states the reason.
///
/// # Errors
/// It was interrupted.
pub(crate) fn prepare(names: &[String], running: &Running<'_>) -> Result<Vec<EngineRecord>> {
    let parsed: Vec<Result<EngineName, BuildError>> =
        names.iter().map(|name| name.parse()).collect();
    let builds = parsed.iter().filter_map(|name| match name {
        Ok(EngineName::Build(build)) => Some(build.clone()),
        _ => None,
    });
    let mut built = build(&builds.collect::<Vec<_>>(), running)?;
    let mut records = Vec::new();
    for (text, name) in names.iter().zip(parsed) {
        let to_load = match name {
            Ok(EngineName::Build(build)) => match built.remove(&build.to_string()) {
                Some(path) => path.map_err(|error| error.words()),
                None => Err("it was not built".to_owned()),
            },
            Ok(name) => located(&name).map_err(|error| Error::from(error).words()),
            Err(error) => Err(error.to_string()),
        };
        records.push(match to_load {
            Ok(library) => describe(text, &library, &running.driver)?,
            Err(why) => EngineRecord::unusable(text, why),
        });
    }
    Ok(records)
}

/// Builds the engines that do not exist yet, by default as many at a time as there are processors.
///
/// # Errors
/// It was interrupted.
fn build(names: &[BuildName], running: &Running<'_>) -> Result<Built> {
    let Running { driver, interrupted, ui, .. } = running;
    if names.is_empty() {
        return Ok(Built::new());
    }
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let cache = Cache::of_user()?;
    let exercises = bench::training();
    let train = |library: &Path| runner::train(driver, &exercises, library, interrupted);
    let builder = Builder::new(&cache, Tools::of_user(), &train, runner::now, interrupted);
    let mut missing_s = Vec::new();
    for name in names {
        missing_s.push(match builder.existing(name)? {
            Some(_) => 0.0,
            None => builder.expected_s(name),
        });
    }
    let display = Mutex::new(ui.show_builds(missing_s, jobs));
    let observe = |event: BuildEvent<'_>| {
        let mut show = display.lock().unwrap_or_else(PoisonError::into_inner);
        show(&event);
    };
    let results = builder.build_all(names, jobs, &observe);
    drop(display);
    let mut paths = Built::new();
    for (name, result) in names.iter().zip(results) {
        let path = match result {
            Ok(built) => Ok(path_of(&built.kept)),
            Err(BuildError::Cancelled) => return Err(BuildError::Cancelled.into()),
            Err(error) => Err(Error::from(error)),
        };
        paths.insert(name.to_string(), path);
    }
    Ok(paths)
}

/// Returns the name by which a driver loads an engine that is not built.
fn located(name: &EngineName) -> Result<String, BuildError> {
    let cache = match name {
        EngineName::Added(_) => Cache::of_user()?,
        // No other kind looks into the cache.
        _ => Cache::at(PathBuf::new()),
    };
    Ok(resolve(name, &cache)?.unwrap_or_default().to_string())
}

/// Describes a library in a process of its own.
///
/// # Errors
/// pragmark itself cannot be started, or its answer is invalid.
pub(crate) fn describe(name: &str, library: &str, driver: &Driver) -> Result<EngineRecord> {
    let mut command = Command::new(&driver.program);
    command.args(["describe-engine", library]);
    let answer = process::run(&mut command, Group::Own, &Limits::time(DESCRIBE_LIMIT))
        .map_err(Error::unusable)?;
    if !answer.end.is_success() {
        let why = match answer.errors.trim_start_matches("error: ") {
            "" => format!("the process that loaded it {}", answer.end),
            words => words.to_owned(),
        };
        return Ok(EngineRecord::unusable(name, why));
    }
    let record: EngineRecord = serde_json::from_slice(&answer.output).map_err(|error| {
        Error::unusable(format!("the description of the engine {name} is invalid: {error}"))
    })?;
    // The engine that is part of the program is checked by its tests.
    let is_built_in = library == Source::default().to_string();
    Ok(EngineRecord {
        name: name.to_owned(),
        syncs: (!is_built_in).then(|| syncs::check(&driver.program, library)),
        ..record
    })
}

/// Returns the error of a command that needs an engine which cannot be used.
pub(crate) fn problem(engine: &EngineRecord) -> Option<Error> {
    let why = engine.problem.as_ref()?;
    // A problem with a name contains it already.
    let message = if why.contains(&format!("`{}`", engine.name)) {
        why.clone()
    } else {
        format!("cannot use the engine {}: {why}", engine.name)
    };
    Some(Error::unusable(message).hint(
        "an engine is `default`, `system`, a version from `pragmark engine list`, the name of an added engine, or the path of a libsqlite3 shared library",
    ))
}

/// Refuses engines that cannot be used.
pub(crate) fn all_usable(engines: &[EngineRecord]) -> Result<()> {
    engines.iter().find_map(problem).map_or(Ok(()), Err)
}

/// Returns where the library of this name is loaded from, and builds it if necessary.
pub(crate) fn source(name: &str, ui: &dyn Interface) -> Result<Source> {
    name.parse::<EngineName>()?;
    let engines = prepare(&[name.to_owned()], &Running::native(ui)?)?;
    all_usable(&engines)?;
    source_in(&engines, name)
}

/// Returns where the library of a prepared engine is loaded from.
pub(crate) fn source_in(engines: &[EngineRecord], name: &str) -> Result<Source> {
    engine_to_load(engines, name).map_err(Error::unusable)?.parse().map_err(Error::mistake)
}

/// Returns the name of an engine for a plan. Trials run in directories of their own, so the path of a library must not
/// depend on the current one.
pub(crate) fn name_in_plan(text: &str) -> Result<String> {
    let EngineName::File(path) = text.parse()? else { return Ok(text.to_owned()) };
    let path = path.canonicalize().map_err(|error| {
        let unusable = EngineRecord::unusable(text, error.to_string());
        problem(&unusable).unwrap_or_else(|| Error::unusable(error))
    })?;
    Ok(path.display().to_string())
}

/// Finds or builds every engine of the plan. The engine of the whole run must be usable; variants of other unusable engines
/// will be skipped.
pub(crate) fn of_plan(plan: &RunPlan, running: &Running<'_>) -> Result<Vec<EngineRecord>> {
    usable(plan, prepare(&names(plan), running)?, running.ui)
}

/// Returns the engines of a plan if the whole run's can be used, and says which others cannot.
pub(crate) fn usable(
    plan: &RunPlan,
    engines: Vec<EngineRecord>,
    ui: &dyn Interface,
) -> Result<Vec<EngineRecord>> {
    for record in &engines {
        let Some(error) = problem(record) else { continue };
        if record.name == plan.engine {
            return Err(error);
        }
        tell!(ui, "warning: {}; variants with it are skipped", error.words());
    }
    Ok(engines)
}

/// Returns the engines of the plan, each once: of the run, of variants and of safety tiers.
pub(crate) fn names(plan: &RunPlan) -> Vec<String> {
    let others = plan.settings().map(|settings| engine_of(settings, &plan.engine));
    let of_tiers = plan.tiers.iter().flat_map(|tiers| &tiers.sets).map(|set| set.engine.clone());
    distinct([plan.engine.clone()].into_iter().chain(others).chain(of_tiers))
}

/// Refuses to resume a run whose engines have changed: it compares trials of the same libraries.
pub(crate) fn check_unchanged(engines: &[EngineRecord], driver: &Driver) -> Result<()> {
    for before in engines.iter().filter(|engine| engine.problem.is_none()) {
        let now = describe(&before.name, &before.to_load(), driver)?;
        let found = match &now.problem {
            Some(problem) => problem.clone(),
            None if now.source_id != before.source_id || now.sha256 != before.sha256 => {
                format!("it is a different library now (SQLite {})", now.version)
            }
            None => continue,
        };
        return Err(Error::unusable(format!(
            "the engine {} of this run can no longer be used: {found}",
            before.name
        ))
        .hint("restore the library, or start a new run"));
    }
    Ok(())
}
