//! Ahead of resuming a run: whether this user began it on this machine. Another's run would load libraries
//! and write to directories that somebody else chose.

use std::collections::BTreeSet;

use engine::build::Cache;
use lab::record::{EngineRecord, EnvironmentFile, RunPlan, engine_to_load};
use runner::{RunFolder, TrustedRuns};

use crate::error::{Error, Result};
use crate::interface::Interface;

/// Notes that the user begins this run.
pub(crate) fn note(plan: &RunPlan, environment: &EnvironmentFile, ui: &dyn Interface) {
    warn(own_runs().and_then(|own| Ok(own.add(plan, environment)?)), ui);
}

/// Says what follows if a run has no note. The run goes on.
fn warn(noted: Result<()>, ui: &dyn Interface) {
    if let Err(failure) = noted {
        tell!(ui, "warning: {}; to resume this run again, use --trust", failure.words());
    }
}

/// Refuses a run that this user did not begin here, unless it is trusted: by `--trust`, or by the answer
/// to a question that names what it would load and where it would write.
pub(crate) fn check(
    folder: &RunFolder,
    plan: &RunPlan,
    trusted: bool,
    ui: &dyn Interface,
) -> Result<()> {
    let own = own_runs();
    if let Ok(own) = &own
        && own.contain(folder)?
    {
        return Ok(());
    }
    let does = describe(plan, &folder.environment()?.engines);
    if !trusted {
        ask_for_trust(folder, &does, ui)?;
    }
    warn(own.and_then(|own| Ok(own.adopt(folder)?)), ui);
    Ok(())
}

fn ask_for_trust(folder: &RunFolder, does: &str, ui: &dyn Interface) -> Result<()> {
    let path = folder.path.display();
    let refusal = format!(
        "the run in {path} was not begun by you on this machine, or its plan was changed\n{does}"
    );
    if !ui.can_ask() {
        return Err(Error::mistake(refusal).hint("if you trust it, add --trust"));
    }
    ui.say(&refusal);
    if ui.confirm("resume it?")? { Ok(()) } else { Err(Error::mistake("the run was not resumed")) }
}

/// Returns what a run loads and where it writes, a line each.
fn describe(plan: &RunPlan, engines: &[EngineRecord]) -> String {
    let directories = plan.experiments.iter();
    let directories = directories.map(|planned| planned.directory.display().to_string());
    let listed = |all: BTreeSet<String>| all.into_iter().collect::<Vec<_>>().join(", ");
    format!(
        "  loads: {}\n  writes below: {}",
        listed(libraries(plan, engines)),
        listed(directories.collect())
    )
}

/// Returns every library that a run loads: engines and extensions of SQLite.
fn libraries(plan: &RunPlan, engines: &[EngineRecord]) -> BTreeSet<String> {
    let tiers = plan.tiers.iter().flat_map(|tiers| &tiers.sets);
    let named = crate::engine::names(plan).into_iter().chain(tiers.map(|set| set.engine.clone()));
    let recorded = engines.iter().map(|engine| engine.name.clone());
    let loaded = |name: String| engine_to_load(engines, &name).unwrap_or(name);
    named.chain(recorded).map(loaded).chain(plan.settings().flat_map(bench::extension)).collect()
}

fn own_runs() -> Result<TrustedRuns> {
    Ok(TrustedRuns::below(Cache::of_user()?.root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_of_a_plan_is_named_once() {
        let plan: RunPlan = serde_json::from_value(serde_json::json!({
            "format": 2, "id": "x", "created": "", "pragmark": "", "seed": 1, "scale": "quick",
            "engine": "default", "quick": true, "trial_limit_s": 1.0,
            "experiments": [{
                "key": "x", "directory": "/data", "stopping": {},
                "experiment": {
                    "id": "x", "question": "?", "workload": "w",
                    "design": { "kind": "list", "baseline": {} }
                },
                "variants": [
                    { "label": "a", "levels": {}, "settings": { "engine": "/tmp/unlisted.so" } },
                    { "label": "b", "levels": {}, "settings": { "extension": "/tmp/words.so" } }
                ]
            }]
        }))
        .unwrap();
        let engine = EngineRecord {
            name: "mine".to_owned(),
            path: Some("/tmp/mine.so".into()),
            ..EngineRecord::default()
        };
        let expected = ["/tmp/mine.so", "/tmp/unlisted.so", "/tmp/words.so", "default"];
        let all: Vec<String> = libraries(&plan, &[engine]).into_iter().collect();
        assert_eq!(all, expected);
    }
}
