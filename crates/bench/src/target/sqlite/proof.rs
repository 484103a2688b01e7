//! Proof of the settings in force: they are read back from every connection and compared with the variant.

use std::collections::BTreeMap;

use engine::pragma::{self, Access, Timing};
use engine::{Connection, EngineError, OpenFlags};
use lab::level::{Level, Settings};
use lab::trial::ReadBack;

use crate::error::{Result, TrialError};
use crate::trial::Trial;

/// Name of the setting that tells whether a connection takes its mutex.
pub(super) const OPEN_MUTEX: &str = "open_mutex";

/// Returns the PRAGMAs of a fresh connection to a file of its own in the trial's directory, before anything is set.
pub(crate) fn defaults(trial: &Trial<'_>) -> Result<BTreeMap<String, String>> {
    let path = trial.directory.join("defaults.db");
    let fresh = Connection::open(&trial.library, &path, OpenFlags::default(), None)?;
    let pragmas = pragma::read_back(&fresh)?;
    fresh.close()?;
    Ok(pragmas)
}

/// Reads back every configuration PRAGMA of a connection, and how it was opened.
pub(crate) fn read_back(connection: &str, database: &Connection) -> Result<ReadBack> {
    let mut pragmas = pragma::read_back(database)?;
    if let Some(serialised) = database.is_serialised() {
        let mutex = if serialised { "full" } else { "no" };
        pragmas.insert(OPEN_MUTEX.to_owned(), mutex.to_owned());
    }
    Ok(ReadBack { connection: connection.to_owned(), pragmas })
}

/// Checks that the settings were in force on every connection that took part, as read back after the work.
///
/// # Errors
/// The first setting that was not in force, with its connection; or no connection was read back.
pub(crate) fn prove(settings: &Settings, connections: &[ReadBack]) -> Result<()> {
    let readable = settings.iter().filter(|(name, _)| is_read_back(name));
    for (name, level) in readable {
        let Some(wanted) = wanted(name, level)? else { continue };
        if connections.is_empty() {
            return Err(TrialError::not_proved(format!("{name}={wanted}")));
        }
        for read_back in connections {
            let found = read_back.pragmas.get(name).map(String::as_str);
            if !found.is_some_and(|found| holds(name, &wanted, found)) {
                return Err(TrialError::not_in_force(
                    name,
                    &read_back.connection,
                    found.unwrap_or("not known"),
                    &wanted,
                ));
            }
        }
    }
    Ok(())
}

/// Returns whether the setting can be read after the work. A setting that cannot be read, or that the end of each transaction
/// resets, was proved when it was applied.
fn is_read_back(name: &str) -> bool {
    name == OPEN_MUTEX
        || pragma::find(name).is_some_and(|entry| {
            entry.access == Access::ReadWrite && entry.timing != Timing::UntilTransactionEnds
        })
}

/// Returns the required value; `None` if any value is allowed.
fn wanted(name: &str, level: &Level) -> Result<Option<String>> {
    match pragma::find(name) {
        Some(entry) => {
            let normal = entry.normalise(&level.to_string());
            Ok(Some(normal.map_err(EngineError::from)?))
        }
        None => Ok(level.as_text().filter(|mutex| *mutex != "default").map(str::to_owned)),
    }
}

fn holds(name: &str, wanted: &str, found: &str) -> bool {
    match pragma::find(name) {
        Some(entry) => pragma::in_force(entry, wanted, found),
        None => wanted == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(pragmas: &[(&str, &str)]) -> ReadBack {
        ReadBack {
            connection: "writer".to_owned(),
            pragmas: pragmas
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    fn settings(over: &[(&str, Level)]) -> Settings {
        over.iter().map(|(name, level)| ((*name).to_owned(), level.clone())).collect()
    }

    #[test]
    fn a_setting_in_force_on_every_connection_is_proved_in_any_spelling() {
        let settings = settings(&[
            ("synchronous", "normal".into()),
            ("foreign_keys", true.into()),
            ("cache_size", (-2000).into()),
            ("open_mutex", "full".into()),
            ("rows", 10.into()),
            ("transaction", "immediate".into()),
            ("case_sensitive_like", true.into()),
        ]);
        let good = read_back(&[
            ("synchronous", "normal"),
            ("foreign_keys", "on"),
            ("cache_size", "-2000"),
            ("open_mutex", "full"),
        ]);
        assert!(prove(&settings, &[good.clone(), good]).is_ok());
    }

    #[test]
    fn a_setting_that_one_connection_has_not_or_does_not_know_is_named_with_it() {
        let good = read_back(&[("synchronous", "normal")]);
        let other = read_back(&[("synchronous", "full")]);
        let unknown = read_back(&[]);
        let settings = settings(&[("synchronous", "normal".into())]);
        for (bad, found) in [(other, "is full on"), (unknown, "is not known on")] {
            let error = prove(&settings, &[good.clone(), bad]).unwrap_err().to_string();
            assert!(error.contains("`writer`") && error.contains(found), "{error}");
            assert!(error.contains("not normal"), "{error}");
        }
    }

    #[test]
    fn a_mutex_that_was_not_taken_is_noticed_and_the_default_is_any() {
        let no = read_back(&[("open_mutex", "no")]);
        let ask = |mutex: &str| settings(&[("open_mutex", mutex.into())]);
        assert!(prove(&ask("full"), std::slice::from_ref(&no)).is_err());
        assert!(prove(&ask("no"), std::slice::from_ref(&no)).is_ok());
        assert!(prove(&ask("default"), &[]).is_ok());
    }

    #[test]
    fn settings_without_a_connection_that_was_read_back_are_not_proved() {
        let error = prove(&settings(&[("cache_size", 10.into())]), &[]).unwrap_err();
        assert!(error.to_string().contains("cache_size=10"), "{error}");
        assert!(prove(&settings(&[("rows", 10.into())]), &[]).is_ok());
    }
}
