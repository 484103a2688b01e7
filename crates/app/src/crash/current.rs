//! The settings that the user's database or application has now, which a crash of it meets ahead of all others.

use std::path::Path;
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, pragma};
use lab::design::Variant;
use lab::engine_name::ENGINE;
use lab::level::{Level, Settings};
use lab::record::{EngineRecord, RunPlan};
use lab::tier::CURRENT;
use trace::{Setting, Trace};

use super::CrashWork;
use crate::engine::source_in;
use crate::error::{Error, Result};
use crate::files::built_in_library;

/// The settings that are looked at.
const NAMES: [&str; 3] = ["journal_mode", "synchronous", "locking_mode"];

/// Moves the variant with the current settings of the user's database or application to the beginning, and names it, if it is
/// among those that are crashed with the engine of the run.
pub(super) fn put_current_first(
    work: &CrashWork,
    plan: &mut RunPlan,
    engines: &[EngineRecord],
) -> Result<()> {
    let current = match work {
        CrashWork::Trace { trace, .. } => of_trace(trace)?,
        CrashWork::Script { database: Some(database), .. } => {
            let source = source_in(engines, &plan.engine)?;
            let library = Arc::new(Library::load(&source).map_err(Error::unusable)?);
            Some(of_connections(&library, bench::is_in_wal_mode(database)?)?)
        }
        _ => None,
    };
    let Some(mut current) = current else { return Ok(()) };
    current.insert(ENGINE.to_owned(), plan.engine.as_str().into());
    for planned in &mut plan.experiments {
        put_first(&mut planned.variants, &current);
    }
    Ok(())
}

/// Returns the settings of a connection of this engine that sets nothing: the file decides on the log, and the engine on what follows.
fn of_connections(library: &Arc<Library>, is_in_wal_mode: bool) -> Result<Settings> {
    let folder = tempfile::tempdir().map_err(Error::unusable)?;
    let path = folder.path().join("made.db");
    let read = || -> Result<Settings, EngineError> {
        let made = Connection::open(library, &path, OpenFlags::default(), None)?;
        if is_in_wal_mode {
            pragma::apply(&made, "journal_mode", "wal")?;
        }
        made.execute("CREATE TABLE made(x)")?;
        made.close()?;
        let connection = Connection::open(library, &path, OpenFlags::default(), None)?;
        let level =
            |name: &str| Ok((name.to_owned(), Level::Text(pragma::read(&connection, name)?)));
        NAMES.into_iter().map(level).collect()
    };
    read().map_err(Error::unusable)
}

fn settings([journal_mode, synchronous, locking_mode]: [&str; 3]) -> Settings {
    let named = NAMES.into_iter().zip([journal_mode, synchronous, locking_mode]);
    named.map(|(name, level)| (name.to_owned(), level.into())).collect()
}

/// Returns the settings of most connections, or `None` if no connection was closed, so that they are not known.
fn of_trace(path: &Path) -> Result<Option<Settings>> {
    let library = built_in_library()?;
    let all = Trace::open(&library, path).and_then(|trace| trace.most_common_settings_of_files());
    let all = all.map_err(Error::unusable)?;
    let most = |name: &str| level(&all, name);
    let (Some(journal_mode), Some(synchronous)) = (most("journal_mode"), most("synchronous"))
    else {
        return Ok(None);
    };
    let locking_mode = most("locking_mode").unwrap_or_else(|| "normal".to_owned());
    Ok(Some(settings([&journal_mode, &synchronous, &locking_mode])))
}

/// Returns the value of a setting, as a level.
fn level(all: &[Setting], name: &str) -> Option<String> {
    let own = all.iter().find(|setting| setting.name == name)?;
    pragma::find(name)?.normalise(&own.value).ok()
}

/// Moves the variant with these settings to the beginning, and names it, if it is among them.
fn put_first(variants: &mut [Variant], current: &Settings) {
    let is_current = |variant: &Variant| {
        current.iter().all(|(name, level)| variant.settings.get(name) == Some(level))
    };
    if let Some(number) = variants.iter().position(is_current) {
        variants[..=number].rotate_right(1);
        variants[0].name = Some(CURRENT.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(levels: [&str; 3]) -> Variant {
        Variant { settings: settings(levels), ..Variant::default() }
    }

    #[test]
    fn the_current_settings_come_first_and_the_others_keep_their_order() {
        let current = ["wal", "full", "normal"];
        let others = [["delete", "full", "normal"], ["delete", "off", "normal"]];
        let mut variants = vec![variant(others[0]), variant(others[1]), variant(current)];
        put_first(&mut variants, &settings(current));
        let order = [current, others[0], others[1]].map(|levels| variant(levels).settings);
        assert_eq!(
            variants.iter().map(|variant| &variant.settings).collect::<Vec<_>>(),
            order.each_ref()
        );
        let names = variants.iter().map(|variant| variant.name.as_deref());
        assert_eq!(names.collect::<Vec<_>>(), [Some(CURRENT), None, None]);
    }

    #[test]
    fn the_settings_of_a_connection_that_sets_nothing_are_those_that_its_engine_says() {
        let library = built_in_library().unwrap();
        for (is_in_wal_mode, journal_mode) in [(false, "delete"), (true, "wal")] {
            let read = of_connections(&library, is_in_wal_mode).unwrap();
            assert_eq!(read, settings([journal_mode, "full", "normal"]));
        }
    }

    #[test]
    fn settings_that_are_not_tried_are_not_invented() {
        let mut variants = vec![variant(["delete", "full", "normal"])];
        let before = variants.clone();
        let absent = settings(["wal", "full", "normal"]);
        put_first(&mut variants, &absent);
        assert_eq!(variants, before);
    }

    #[test]
    fn a_value_counts_by_its_name() {
        let all =
            [Setting { name: "synchronous".to_owned(), value: "1".to_owned(), connections: 7 }];
        assert_eq!(level(&all, "synchronous").as_deref(), Some("normal"));
        assert_eq!(level(&all, "journal_mode"), None);
    }
}
