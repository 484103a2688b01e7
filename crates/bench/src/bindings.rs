//! Bindings of other languages and PRAGMAs: the statements that their drivers execute, and whether what
//! they read back is what the variant asks.
//!
//! Drivers in other languages know nothing of the PRAGMA catalogue; they execute and read what the
//! specification lists, and the answers are normalised and checked here, as for the native driver.

use std::collections::BTreeMap;

use engine::EngineError;
use engine::pragma::{self, Access};
use lab::level::{Level, Settings};
use lab::target;
use lab::trial::{BindingSpec, DRIVER, Measured, NATIVE, Outcome};

use crate::error::Result;
use crate::target::sqlite;

/// Returns the specification for a driver of this name, besides the settings.
///
/// # Errors
/// A setting has a value that its PRAGMA does not take.
pub fn binding_spec(driver: &str, settings: &Settings) -> Result<BindingSpec, EngineError> {
    Ok(BindingSpec {
        driver: driver.to_owned(),
        pragmas: sqlite::pragma_statements(settings)?,
        read_back: pragma::CATALOGUE
            .iter()
            .filter(|entry| matches!(entry.access, Access::ReadWrite | Access::ReadOnly))
            .map(|entry| entry.name.to_owned())
            .collect(),
    })
}

/// Returns the outcome of a measurement by another driver, with every PRAGMA in its normal spelling. It failed if a
/// setting of the variant was not in force on a connection that did SQLite's work.
pub fn judge_binding(settings: &Settings, mut measured: Measured) -> Outcome {
    for read_back in &mut measured.connections {
        normalise_pragmas(&mut read_back.pragmas);
    }
    if let Some(binding) = &mut measured.binding {
        normalise_pragmas(&mut binding.defaults);
    }
    match prove(settings, &measured) {
        Ok(()) => Outcome::Measured(Box::new(measured)),
        Err(error) => error.outcome(),
    }
}

fn prove(settings: &Settings, measured: &Measured) -> Result<()> {
    // Another database system has none of SQLite's PRAGMAs.
    if !target::is_sqlite(settings) {
        return Ok(());
    }
    sqlite::prove(settings, &measured.connections)
}

/// Brings values of PRAGMAs into their normal spelling. What the catalogue does not know stays as it is: it is the
/// truth.
pub fn normalise_pragmas(pragmas: &mut BTreeMap<String, String>) {
    for (name, value) in pragmas {
        let normal = pragma::find(name).and_then(|entry| entry.normalise(value).ok());
        if let Some(normal) = normal {
            *value = normal;
        }
    }
}

/// Returns why no driver but the native one can do what a variant asks that names another: bindings open connections in
/// one way, and where an engine has no BEGIN CONCURRENT, as most have not, only the native driver can tell.
pub(crate) fn why_impossible(settings: &Settings) -> Option<String> {
    let text = |name: &str| settings.get(name).and_then(Level::as_text);
    let driver = text(DRIVER).filter(|&driver| driver != NATIVE)?;
    let asked = match (text("open_mutex"), text("transaction")) {
        (Some(mutex @ ("no" | "full")), _) => format!("open_mutex={mutex}"),
        (_, Some("concurrent")) => "transaction=concurrent".to_owned(),
        _ => return None,
    };
    Some(format!(
        "the driver {driver} does not support {asked}, which only the native driver does; leave it out, or set it only in variants with driver=native"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::trial::ReadBack;

    fn settings(over: &[(&str, lab::level::Level)]) -> Settings {
        over.iter().map(|(name, level)| ((*name).to_owned(), level.clone())).collect()
    }

    fn measured(pragmas: &[(&str, &str)]) -> Measured {
        Measured {
            connections: vec![ReadBack {
                connection: "main".to_owned(),
                pragmas: pragmas
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
            }],
            ..Measured::default()
        }
    }

    #[test]
    fn pragmas_are_told_in_the_order_in_which_they_must_be_applied() {
        let spec = binding_spec(
            "python-sqlite3",
            &settings(&[
                ("synchronous", "normal".into()),
                ("journal_mode", "wal".into()),
                ("busy_timeout", 5_000.into()),
                ("foreign_keys", true.into()),
                ("rows", 10.into()),
            ]),
        )
        .unwrap();
        assert_eq!(spec.pragmas[0], "PRAGMA busy_timeout = '5000'");
        assert_eq!(spec.pragmas[1], "PRAGMA journal_mode = 'wal'");
        assert!(spec.pragmas.contains(&"PRAGMA foreign_keys = 'on'".to_owned()));
        assert_eq!(spec.pragmas.len(), 4);
        assert!(!spec.read_back.iter().any(|name| name == "integrity_check"));
    }

    #[test]
    fn answers_are_proved_in_any_spelling_and_recorded_in_the_normal_one() {
        let asked = settings(&[("synchronous", "normal".into()), ("foreign_keys", true.into())]);
        let answered = measured(&[("synchronous", "1"), ("foreign_keys", "1")]);
        let Outcome::Measured(judged) = judge_binding(&asked, answered) else {
            panic!("measured");
        };
        assert_eq!(judged.connections[0].pragmas["synchronous"], "normal");
        let other = measured(&[("synchronous", "2"), ("foreign_keys", "1")]);
        let problem = judge_binding(&asked, other).problem().unwrap();
        assert!(problem.contains("synchronous is full"), "{problem}");
    }

    #[test]
    fn another_database_system_has_no_pragmas_to_prove() {
        let asked = settings(&[("synchronous", "normal".into()), ("target", "postgres".into())]);
        let judged = judge_binding(&asked, Measured::default());
        assert!(matches!(judged, Outcome::Measured(_)));
    }

    #[test]
    fn a_setting_that_only_the_native_driver_obeys_is_refused_with_any_other() {
        let why = |driver: &str, name: &str, level: &str| {
            let asked = settings(&[("driver", driver.into()), (name, level.into())]);
            why_impossible(&asked)
        };
        for (name, level) in
            [("open_mutex", "no"), ("open_mutex", "full"), ("transaction", "concurrent")]
        {
            let refused = why("ruby-activerecord", name, level).unwrap();
            assert!(refused.contains(&format!("{name}={level}")), "{refused}");
            assert_eq!(why("native", name, level), None);
        }
        assert_eq!(why("go-mattn", "open_mutex", "default"), None);
        assert_eq!(why("ruby-activerecord", "transaction", "exclusive"), None);
    }
}
