//! The engines that a command uses: located or built, and described, before anything else begins.

use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ::engine::Source;
use ::engine::build::{
    BuildError, BuildEvent, BuildName, Builder, Cache, EngineName, Tools, resolve,
};
use crash::syncs;
use lab::record::{EngineRecord, engine_to_load};
use process::{Group, Limits};
use runner::Driver;

use super::named;
use crate::commands::run;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::builds::Progress;

/// How long an engine may take to describe itself.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(60);

/// Locates or builds the engines of these names, and has each described in a process of its own. The
/// record of an engine that cannot be used states the reason.
///
/// # Errors
/// It was interrupted.
pub fn prepare(
    names: &[String],
    driver: &Driver,
    interrupted: &AtomicBool,
    bar: bool,
) -> Result<Vec<EngineRecord>, Failure> {
    let parsed: Vec<Result<EngineName, BuildError>> =
        names.iter().map(|name| name.parse()).collect();
    let builds: Vec<BuildName> = parsed
        .iter()
        .filter_map(|name| match name {
            Ok(EngineName::Build(build)) => Some(build.clone()),
            _ => None,
        })
        .collect();
    let built = build(&builds, driver, interrupted, usual_jobs(), bar)?;
    let mut records = Vec::new();
    for (text, name) in names.iter().zip(parsed) {
        let to_load =
            name.map_err(|error| error.to_string()).and_then(|name| to_load(&name, &built));
        records.push(match to_load {
            Ok(library) => describe(text, &library, driver)?,
            Err(why) => EngineRecord::unusable(text, why),
        });
    }
    Ok(records)
}

/// Builds as many engines at a time as there are processors.
pub(super) fn usual_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The paths of builds by name, or why there is none.
pub(super) type Paths = HashMap<String, Result<String, Failure>>;

/// Builds those that do not exist yet, and displays progress.
///
/// # Errors
/// It was interrupted.
pub(super) fn build(
    names: &[BuildName],
    driver: &Driver,
    interrupted: &AtomicBool,
    jobs: usize,
    bar: bool,
) -> Result<Paths, Failure> {
    if names.is_empty() {
        return Ok(Paths::new());
    }
    let cache = Cache::of_user()?;
    let exercises = bench::training();
    let train = |library: &std::path::Path| runner::train(driver, &exercises, library, interrupted);
    let builder = Builder::new(&cache, Tools::of_user(), &train, runner::now, interrupted);
    let mut missing_s = Vec::new();
    for name in names {
        missing_s.push(match builder.existing(name)? {
            Some(_) => 0.0,
            None => builder.expected_s(name),
        });
    }
    let progress = Mutex::new(Progress::new(missing_s, jobs, bar));
    let observe = |event: BuildEvent<'_>| {
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.event(&event);
    };
    let results = builder.build_all(names, jobs, &observe);
    drop(progress);
    let mut paths = Paths::new();
    for (name, result) in names.iter().zip(results) {
        let path = match result {
            Ok(built) => Ok(built.kept.library.display().to_string()),
            Err(BuildError::Cancelled) => return Err(BuildError::Cancelled.into()),
            Err(error) => Err(Failure::from(error)),
        };
        paths.insert(name.to_string(), path);
    }
    Ok(paths)
}

/// The name by which a driver loads an engine, or why it cannot.
fn to_load(name: &EngineName, built: &Paths) -> Result<String, String> {
    let words = |error: BuildError| Failure::from(error).words();
    if let EngineName::Build(build) = name {
        let path = built.get(&build.to_string());
        return match path {
            Some(Ok(path)) => Ok(path.clone()),
            Some(Err(failure)) => Err(failure.words()),
            None => Err("it was not built".to_owned()),
        };
    }
    located(name).map_err(words)
}

/// The name by which a driver loads an engine that is not built.
pub(super) fn located(name: &EngineName) -> Result<String, BuildError> {
    let cache = match name {
        EngineName::Added(_) => Cache::of_user()?,
        // No other kind looks into the cache.
        _ => Cache::at(std::path::PathBuf::new()),
    };
    Ok(resolve(name, &cache)?.unwrap_or_default().to_string())
}

/// The description of a library, from a process of its own, because loading a library runs its code.
///
/// # Errors
/// pragmark itself cannot be started, or its answer is invalid.
pub fn describe(name: &str, library: &str, driver: &Driver) -> Result<EngineRecord, Failure> {
    let mut command = Command::new(&driver.program);
    command.args(["describe-engine", library]);
    let answer = process::run(&mut command, Group::Own, &Limits::time(DESCRIBE_LIMIT))
        .map_err(Failure::unusable)?;
    if !answer.end.is_success() {
        return Ok(EngineRecord::unusable(
            name,
            match answer.errors.trim_start_matches("error: ") {
                "" => format!("the process that loaded it {}", answer.end),
                words => words.to_owned(),
            },
        ));
    }
    let record: EngineRecord = serde_json::from_slice(&answer.output).map_err(|error| {
        Failure::unusable(format!("the description of the engine {name} is invalid: {error}"))
    })?;
    // The engine that is part of the program is checked by its tests.
    let is_own = library == Source::default().to_string();
    Ok(EngineRecord {
        name: name.to_owned(),
        syncs: (!is_own).then(|| syncs::check(&driver.program, library)),
        ..record
    })
}

/// The failure of a command that needs this engine; none where it can be used.
pub fn problem(engine: &EngineRecord) -> Option<Failure> {
    let why = engine.problem.as_ref()?;
    // What is wrong with a name names it already.
    let words = match why.contains(&format!("`{}`", engine.name)) {
        true => why.clone(),
        false => format!("cannot use the engine {}: {why}", engine.name),
    };
    let failure = Failure::unusable(words);
    Some(failure.hint(
        "an engine is `default`, `system`, a version from `pragmark engine list`, the name of an added engine, or the path of a libsqlite3 shared library",
    ))
}

/// Where the library of this name is loaded from, built where it has to be.
pub fn source(name: &str) -> Result<Source, Failure> {
    named(name)?;
    let (driver, interrupted) = (run::native_driver()?, interrupt::flag()?);
    let engines = prepare(&[name.to_owned()], &driver, &interrupted, false)?;
    match engines.iter().find_map(problem) {
        Some(failure) => Err(failure),
        None => {
            let to_load = engine_to_load(&engines, name).map_err(Failure::unusable)?;
            to_load.parse().map_err(Failure::usage)
        }
    }
}
