//! Which settings are tried with which engine: those of the options, or those of an experiment's variants.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ::crash::{CrashSettings, JournalMode, LockingMode, Sandbox, Synchronous};
use engine::Source;
use lab::catalogue::Catalogue;
use lab::design::variants;
use lab::experiment::Scale;
use lab::level::Level;
use lab::plan::settings_that_decide;
use lab::tier::TierSet;

use super::{engines, failure};
use crate::cli::CrashArgs;
use crate::failure::Failure;
use crate::library;

/// The settings to try with an engine.
pub(super) struct Asked {
    /// The engine, as the user names it.
    pub(super) engine: String,
    /// The settings, each once.
    pub(super) variants: Vec<CrashSettings>,
}

/// What was asked for; each engine once.
pub(super) fn of(args: &CrashArgs) -> Result<Vec<Asked>, Failure> {
    let mut engines: Vec<&String> = Vec::new();
    for engine in &args.engine {
        if !engines.contains(&engine) {
            engines.push(engine);
        }
    }
    match &args.experiment {
        Some(experiment) => of_experiment(experiment, &engines),
        None => Ok(engines
            .into_iter()
            .map(|engine| of_options(args, engine))
            .collect()),
    }
}

fn of_options(args: &CrashArgs, engine: &str) -> Asked {
    fn or_all<T: Copy>(given: &[T], all: &[T]) -> Vec<T> {
        if given.is_empty() { all } else { given }.to_vec()
    }
    let locking_modes = match args.quick {
        true => &[LockingMode::Normal],
        false => LockingMode::ALL,
    };
    Asked {
        engine: engine.to_owned(),
        variants: CrashSettings::matrix(
            &or_all(&args.journal_mode, JournalMode::ALL),
            &or_all(&args.synchronous, Synchronous::ALL),
            &or_all(&args.locking_mode, locking_modes),
            &args.page_size,
            &args.psow,
        ),
    }
}

/// The settings of the variants of an experiment: those that decide what a crash can destroy, and the
/// engine's own where the variant names none. Other settings have no part in it.
fn of_experiment(name: &str, engines: &[&String]) -> Result<Vec<Asked>, Failure> {
    let catalogue = drivers::catalogue(None)?;
    let mut asked: Vec<Asked> = Vec::new();
    let mut sources: HashMap<String, Source> = HashMap::new();
    for engine in engines {
        for set in sets(name, engine, &catalogue)? {
            let source = match sources.entry(set.engine.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(engines::source(&set.engine)?),
            };
            if let Some(variant) = variant(&set, source)? {
                put(&mut asked, set.engine, variant);
            }
        }
    }
    if asked.is_empty() {
        return Err(Failure::usage(format!(
            "no variant of {name} has settings that crashes can be tried with"
        )));
    }
    Ok(asked)
}

fn sets(name: &str, engine: &str, catalogue: &Catalogue) -> Result<Vec<TierSet>, Failure> {
    let mut names = settings_that_decide(catalogue);
    names.push("psow".to_owned());
    let mut sets: Vec<TierSet> = Vec::new();
    for experiment in library::named(&[name.to_owned()], catalogue)? {
        for variant in variants(&experiment, Scale::Default, catalogue) {
            let set = TierSet::of(&variant.settings, &names, engine);
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
    }
    Ok(sets)
}

fn put(asked: &mut Vec<Asked>, engine: String, variant: CrashSettings) {
    match asked.iter_mut().find(|known| known.engine == engine) {
        Some(known) if known.variants.contains(&variant) => {}
        Some(known) => known.variants.push(variant),
        None => asked.push(Asked {
            engine,
            variants: vec![variant],
        }),
    }
}

/// The settings of a set, on top of what its engine does by itself; none where it names a setting that
/// cannot be tried, which is told.
fn variant(set: &TierSet, source: &Source) -> Result<Option<CrashSettings>, Failure> {
    let mut bench = Sandbox::new(source).map_err(failure)?;
    let mut variant = CrashSettings::of_engine(&mut bench).map_err(failure)?;
    for (name, level) in &set.settings {
        if !put_level(&mut variant, name, level).map_err(Failure::usage)? {
            tell!("not measured: {set}: crashes cannot be tried with {name} = {level}");
            return Ok(None);
        }
    }
    Ok(Some(variant))
}

/// Gives a variant a level; false where that cannot be tried.
fn put_level(
    variant: &mut CrashSettings,
    name: &str,
    level: &Level,
) -> Result<bool, ::crash::UnknownValue> {
    match (name, level) {
        ("journal_mode", _) => variant.journal_mode = level.to_string().parse()?,
        ("synchronous", _) => variant.synchronous = level.to_string().parse()?,
        ("locking_mode", _) => variant.locking_mode = level.to_string().parse()?,
        ("page_size", Level::Int(size)) => match u32::try_from(*size) {
            Ok(size) => variant.page_size = size,
            Err(_) => return Ok(false),
        },
        ("psow", Level::Bool(powersafe)) => variant.powersafe_overwrite = *powersafe,
        // One kind of sync is all that the models know.
        (_, Level::Bool(false)) => {}
        _ => return Ok(false),
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::level::Settings;

    fn variant_of(settings: &[(&str, Level)]) -> Option<CrashSettings> {
        let settings: Settings = settings
            .iter()
            .map(|(name, level)| ((*name).to_owned(), level.clone()))
            .collect();
        let set = TierSet {
            engine: "default".to_owned(),
            settings,
        };
        variant(&set, &Source::Embedded).unwrap()
    }

    #[test]
    fn what_an_variant_leaves_open_is_what_the_engine_has() {
        let variant =
            variant_of(&[("synchronous", "extra".into()), ("psow", false.into())]).unwrap();
        assert_eq!(variant.to_string(), "delete/extra/normal/psow=0");
        let other = variant_of(&[("fullfsync", false.into()), ("page_size", 512.into())]).unwrap();
        assert_eq!(other.to_string(), "delete/full/normal/512");
    }

    #[test]
    fn settings_that_cannot_be_tried_are_left_out() {
        assert_eq!(variant_of(&[("fullfsync", true.into())]), None);
    }
}
