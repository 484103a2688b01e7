//! The engines of a run: those of its plan, before it starts and when it resumes.

use std::sync::atomic::AtomicBool;

use ::engine::build::EngineName;
use lab::engine_name::engine_of;
use lab::level::distinct;
use lab::record::{EngineRecord, RunPlan};
use runner::Driver;

use super::{describe, named, prepare, problem};
use crate::failure::Failure;

/// Trials run in directories of their own, so the path of a library must not depend on the current one.
pub fn name_in_plan(text: &str) -> Result<String, Failure> {
    let EngineName::File(path) = named(text)? else {
        return Ok(text.to_owned());
    };
    let path = path.canonicalize().map_err(|error| {
        let unusable = EngineRecord::unusable(text, error.to_string());
        problem(&unusable).unwrap_or_else(|| Failure::unusable(error))
    })?;
    Ok(path.display().to_string())
}

/// Every engine of the plan, located or built. The engine of the whole run must be usable; variants of
/// other unusable engines will be skipped.
pub fn of_plan(
    plan: &RunPlan,
    driver: &Driver,
    interrupted: &AtomicBool,
    bar: bool,
) -> Result<Vec<EngineRecord>, Failure> {
    usable(plan, prepare(&names(plan), driver, interrupted, bar)?)
}

/// The engines of a plan where that of the whole run can be used; it says which others cannot.
pub fn usable(plan: &RunPlan, engines: Vec<EngineRecord>) -> Result<Vec<EngineRecord>, Failure> {
    for record in &engines {
        let Some(failure) = problem(record) else {
            continue;
        };
        if record.name == plan.engine {
            return Err(failure);
        }
        tell!("warning: {}; variants with it are skipped", failure.words());
    }
    Ok(engines)
}

/// The engines of the plan, each once: of the run, of variants and of safety tiers.
pub fn names(plan: &RunPlan) -> Vec<String> {
    let others = plan.settings();
    let others = others.map(|settings| engine_of(settings, &plan.engine));
    let tiers = plan.tiers.iter().flat_map(|tiers| &tiers.sets);
    let of_tiers = tiers.map(|set| set.engine.clone());
    distinct([plan.engine.clone()].into_iter().chain(others).chain(of_tiers))
}

/// Refuses to resume a run whose engines have changed: it compares trials of the same libraries.
pub fn check_unchanged(engines: &[EngineRecord], driver: &Driver) -> Result<(), Failure> {
    for before in engines.iter().filter(|engine| engine.problem.is_none()) {
        let now = describe(&before.name, &before.to_load(), driver)?;
        let found = match &now.problem {
            Some(problem) => problem.clone(),
            None if now.source_id != before.source_id || now.sha256 != before.sha256 => {
                format!("it is a different library now (SQLite {})", now.version)
            }
            None => continue,
        };
        return Err(Failure::unusable(format!(
            "the engine {} of this run can no longer be used: {found}",
            before.name
        ))
        .hint("restore the library, or start a new run"));
    }
    Ok(())
}
