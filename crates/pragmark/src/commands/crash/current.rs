//! The settings that the user's database or application has now, which a crash of it meets ahead of all others.

use std::path::Path;
use std::sync::Arc;

use engine::{Library, Source};
use lab::design::Variant;
use lab::level::Settings;
use lab::tier::CURRENT;
use trace::{Setting, Trace};

use crate::cli::CrashArgs;
use crate::failure::Failure;

/// The settings of a connection to the database of --db that sets nothing, or those that most connections of --trace
/// had; none without either.
pub(super) fn of(args: &CrashArgs) -> Result<Option<Settings>, Failure> {
    match (&args.trace, &args.db) {
        (Some(trace), _) => of_trace(trace),
        (None, Some(database)) => of_database(database).map(Some),
        (None, None) => Ok(None),
    }
}

fn of_database(database: &Path) -> Result<Settings, Failure> {
    let is_in_wal_mode = bench::is_in_wal_mode(database).map_err(Failure::unusable)?;
    let journal_mode = if is_in_wal_mode { "wal" } else { "delete" };
    Ok(settings([journal_mode, "full", "normal"]))
}

fn settings([journal_mode, synchronous, locking_mode]: [&str; 3]) -> Settings {
    let named = [
        ("journal_mode", journal_mode),
        ("synchronous", synchronous),
        ("locking_mode", locking_mode),
    ];
    let levels = named.map(|(name, level)| (name.to_owned(), level.into()));
    Settings::from(levels)
}

/// None where no connection of the application was closed, so that its settings are not known.
fn of_trace(path: &Path) -> Result<Option<Settings>, Failure> {
    let library = Arc::new(Library::load(&Source::Embedded).map_err(Failure::unusable)?);
    let all = Trace::open(&library, path).and_then(|trace| trace.most_common_settings_of_files());
    let all = all.map_err(Failure::unusable)?;
    let most = |name: &str| level(&all, name);
    let (Some(journal_mode), Some(synchronous)) = (most("journal_mode"), most("synchronous"))
    else {
        return Ok(None);
    };
    let locking_mode = most("locking_mode").unwrap_or_else(|| "normal".to_owned());
    Ok(Some(settings([&journal_mode, &synchronous, &locking_mode])))
}

/// The value of a setting, as a level.
fn level(all: &[Setting], name: &str) -> Option<String> {
    let own = all.iter().find(|it| it.name == name)?;
    engine::pragma::find(name)?.normalise(&own.value).ok()
}

/// Moves the variant with these settings to the beginning, and names it, if it is among them.
pub(super) fn lead(variants: &mut [Variant], current: &Settings) {
    let is_current = |variant: &Variant| {
        let mut levels = current.iter();
        levels.all(|(name, level)| variant.settings.get(name) == Some(level))
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
        Variant {
            settings: settings(levels),
            ..Variant::default()
        }
    }

    #[test]
    fn the_current_settings_come_first_and_the_others_keep_their_order() {
        let current = ["wal", "full", "normal"];
        let others = [["delete", "full", "normal"], ["delete", "off", "normal"]];
        let mut variants = vec![variant(others[0]), variant(others[1]), variant(current)];
        lead(&mut variants, &settings(current));
        let order = [current, others[0], others[1]].map(|it| variant(it).settings);
        assert_eq!(
            variants.iter().map(|it| &it.settings).collect::<Vec<_>>(),
            order.each_ref()
        );
        let names = variants.iter().map(|it| it.name.as_deref());
        assert_eq!(names.collect::<Vec<_>>(), [Some(CURRENT), None, None]);
    }

    #[test]
    fn settings_that_are_not_tried_are_not_invented() {
        let mut variants = vec![variant(["delete", "full", "normal"])];
        let before = variants.clone();
        let absent = settings(["wal", "full", "normal"]);
        lead(&mut variants, &absent);
        assert_eq!(variants, before);
    }

    #[test]
    fn a_value_counts_by_its_name() {
        let all = [Setting {
            name: "synchronous".to_owned(),
            value: "1".to_owned(),
            connections: 7,
        }];
        assert_eq!(level(&all, "synchronous").as_deref(), Some("normal"));
        assert_eq!(level(&all, "journal_mode"), None);
    }
}
