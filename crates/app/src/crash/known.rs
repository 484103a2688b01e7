//! The safety tiers that come with the program: those of the built-in engine, for all durability settings of
//! the included experiments.

use std::path::Path;

use engine::pragma;
use lab::catalogue::{Accepts, Catalogue, Parameter};
use lab::design::variants;
use lab::experiment::Scale;
use lab::level::{Level, Settings, distinct, overlaid};
use lab::plan::{Request, ad_hoc, plan_alone, settings_that_decide, tier_sets, tier_variant};
use lab::record::EngineRecord;
use lab::tier::{self, EngineIdentity, Findings, TierSet, TierTable};
use lab::trial::{Measured, Outcome};
use runner::{End, RunFolder, tiers};

use super::plan::{TRIAL_LIMIT_S, memory};
use crate::driver::Running;
use crate::engine::{self as engines, BUILT_IN};
use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::run::carry_out;
use crate::run::plan::{directories, request_for};
use crate::{files, library};

/// Measures the tiers and writes them as the file that becomes part of the program. Returns whether they were measured to the
/// end.
///
/// # Errors
/// Trials cannot be run, or the file cannot be written.
pub fn write_known(
    file: &Path,
    quick: bool,
    directory: Option<&Path>,
    ui: &dyn Interface,
) -> Result<End> {
    let running = Running::native(ui)?;
    let catalogue = drivers::catalogue(None)?;
    let defaults = defaults(&catalogue)?;
    let sets = sets(&catalogue, &defaults)?;
    let request = Request {
        quick,
        directories: directories(&[memory(directory)])?,
        ..request_for(BUILT_IN.to_owned(), tier::SEED.0, TRIAL_LIMIT_S)
    };
    let question = "What can a crash destroy with the built-in engine?";
    let experiment = ad_hoc("tiers", question, tier::WORKLOAD, "images_per_s");
    let plan = plan_alone(request, experiment, sets.iter().map(tier_variant).collect(), 1);
    let engines = engines::of_plan(&plan, &running)?;
    let parent = tempfile::tempdir().map_err(Error::unusable)?;
    let environment = runner::survey(&plan, engines.clone(), 0.0, &running.interrupted, || {})?;
    let folder = RunFolder::create(&parent.path().join("run"), &plan, &environment)?;
    let end = carry_out(&folder, &running)?;
    if end == End::Finished {
        let table = table(&folder, &engines, &sets, defaults, ui)?;
        files::write(file, |out| tiers::write(&table, out))?;
    }
    Ok(end)
}

/// Returns the sets of durability settings of all variants of the included experiments, each once: the settings that differ
/// from the defaults.
fn sets(catalogue: &Catalogue, defaults: &Settings) -> Result<Vec<TierSet>> {
    let names = settings_that_decide(catalogue);
    let mut sets = Vec::new();
    for experiment in library::all(catalogue)? {
        for scale in [Scale::Quick, Scale::Default, Scale::Paper] {
            sets.extend(tier_sets(&variants(&experiment, scale, catalogue), &names, BUILT_IN));
        }
    }
    sets.retain(|set| set.engine == BUILT_IN);
    for set in &mut sets {
        set.settings.retain(|name, level| defaults.get(name) != Some(level));
    }
    sets.sort_by_key(|set| format!("{:?}", set.settings));
    Ok(distinct(sets))
}

/// Returns SQLite's defaults of the settings that decide. Each trial says whether they are those of the engine.
fn defaults(catalogue: &Catalogue) -> Result<Settings> {
    let names = settings_that_decide(catalogue);
    let default = |name: String| {
        let text = pragma::find(&name).and_then(|pragma| pragma.default);
        let level = level(catalogue, &name, text.unwrap_or_default())?;
        Ok((name, level))
    };
    names.into_iter().map(default).collect()
}

/// Returns the level of a setting that SQLite answers like this.
fn level(catalogue: &Catalogue, name: &str, answer: &str) -> Result<Level> {
    let mut shared = catalogue.shared.iter();
    let accepts = shared
        .find(|parameter: &&Parameter| parameter.name == name)
        .map(|parameter| &parameter.accepts);
    let level = match accepts {
        Some(Accepts::Bool) => Some(Level::Bool(answer == "on")),
        Some(Accepts::Choice(_) | Accepts::Text(_)) => Some(Level::from(answer)),
        Some(Accepts::Int { .. } | Accepts::PowerOfTwo { .. }) => {
            answer.parse().ok().map(Level::Int)
        }
        None => None,
    };
    level.ok_or_else(|| Error::unusable(format!("PRAGMA {name} has the value `{answer}`")))
}

/// Returns the table of what the trials found.
fn table(
    folder: &RunFolder,
    engines: &[EngineRecord],
    sets: &[TierSet],
    defaults: Settings,
    ui: &dyn Interface,
) -> Result<TierTable> {
    let catalogue = drivers::catalogue(None)?;
    let mut found = Vec::new();
    folder.each_trial(|record| found.push((record.variant, record.outcome)))?;
    let mut tiers = Vec::new();
    for set in sets {
        let label = set.to_string();
        let outcome = found.iter().find(|(variant, _)| *variant == label);
        // Settings that the crash laboratory refuses have no tier.
        let Some((_, Outcome::Measured(measured))) = outcome else {
            tell!(ui, "left out: {label}");
            continue;
        };
        check_answers(&catalogue, measured, &overlaid(&defaults, &set.settings))?;
        let findings =
            Findings { safety: measured.safety.clone(), schedules: measured.schedules.clone() };
        tiers.push((set.settings.clone(), findings));
    }
    let engine = engines.first().and_then(EngineIdentity::of);
    Ok(TierTable {
        method: tier::METHOD,
        engine: engine.ok_or_else(|| Error::unusable("the built-in engine has no identity"))?,
        defaults,
        tiers,
    })
}

/// Checks that the engine has these settings, also where they were not named.
fn check_answers(catalogue: &Catalogue, measured: &Measured, settings: &Settings) -> Result<()> {
    let answers = measured.connections.first();
    for (name, expected) in settings {
        let answer = answers.and_then(|connection| connection.pragmas.get(name));
        let answer = level(catalogue, name, answer.map_or("", String::as_str))?;
        if answer != *expected {
            return Err(Error::unusable(format!(
                "the built-in engine has {name} = {answer} where {expected} was expected"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use runner::tiers::built_in;

    /// What a failure of these tests asks for.
    const WRITE: &str = "write the file anew: cargo run --release -p pragmark -- crash --write-known crates/runner/src/tiers/built_in.json.gz";

    #[test]
    fn the_tiers_of_the_program_are_those_of_this_method_and_engine() {
        let engine = bench::describe_engine(BUILT_IN).unwrap();
        let identity = EngineIdentity::of(&engine);
        assert_eq!(built_in().method, tier::METHOD, "{WRITE}");
        assert_eq!(Some(&built_in().engine), identity.as_ref(), "{WRITE}");
    }

    #[test]
    fn the_program_knows_every_set_of_its_experiments() {
        let catalogue = drivers::catalogue(None).unwrap();
        let defaults = defaults(&catalogue).unwrap();
        assert_eq!(built_in().defaults, defaults, "{WRITE}");
        let engine = bench::describe_engine(BUILT_IN).unwrap();
        for set in sets(&catalogue, &defaults).unwrap() {
            let key = built_in().key(&set, &engine).unwrap();
            assert!(built_in().find(&key).is_some(), "{set}: {WRITE}");
        }
    }
}
