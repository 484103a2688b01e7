//! Names for experiment files: the workloads of this crate and the PRAGMAs of the engine.
//!
//! The workloads that exercise a library before it is compiled with a profile.
//!
//! It stands apart from workloads because it is a choice among them: a bit of everything that SQLite is
//! asked for, so that a compiler which favours what it saw does not favour one experiment. What was not
//! seen is optimised for size and becomes slower. Engines are kept by what they were made with: whoever
//! changes the exercises raises `TRAINING` in `build/builder.rs` of `engine`.

use engine::build::EngineName;
use lab::catalogue::{Accepts, Catalogue, Contents, Scope};
use lab::engine_name::{ENGINE, ENGINE_OPTIONS, engine_of};
use lab::level::{Level, Settings};
use lab::trial::{DRIVER, NATIVE};

use crate::parameters::setting;
use crate::target::sqlite;
use crate::{bindings, workload};

/// Everything that experiment files may name, but for drivers in other languages
/// ([`Catalogue::with_drivers`]).
pub fn catalogue() -> Catalogue {
    let mut shared = sqlite::connection_settings();
    shared.extend(sqlite::pragma_settings());
    shared.extend(PROGRAMS.map(|(name, about)| {
        let accepts = match name {
            DRIVER => Accepts::choice(&[NATIVE]),
            ENGINE => Accepts::Text(Contents::Engine),
            _ => Accepts::Text(Contents::Plain),
        };
        setting(name, accepts, Scope::Connection, about.to_owned())
    }));
    Catalogue {
        workloads: workload::ALL.iter().map(|workload| workload.info()).collect(),
        shared,
        drivers: Vec::new(),
        why_impossible: Some(why_impossible),
    }
}

/// Settings that name the programs that do the work. Without a driver the native one does it.
const PROGRAMS: [(&str, &str); 3] = [
    (
        ENGINE,
        "SQLite library: default, system, a version with option sets such as \
         3.54.1+recommended, the name of an added engine, or the path of a shared library; see `pragmark \
         engine list`",
    ),
    (
        ENGINE_OPTIONS,
        "option sets that the engine's version is compiled with, joined by +; default: those of the \
         built-in engine; see `pragmark engine list`",
    ),
    (
        DRIVER,
        "binding that does the work: native (pragmark itself) or a driver in another language; \
         `pragmark driver list` shows which are ready",
    ),
];

/// Returns why no engine and no machine can run a workload with these settings.
fn why_impossible(workload: &str, settings: &Settings) -> Option<String> {
    why_no_engine(settings)
        .or_else(|| sqlite::why_impossible(settings))
        .or_else(|| bindings::why_impossible(settings))
        .or_else(|| {
            let checked = workload::find(workload)?.check(settings);
            checked.err().map(|error| error.to_string())
        })
}

/// Returns why the settings name no engine that could be had anywhere.
fn why_no_engine(settings: &Settings) -> Option<String> {
    let name = engine_of(settings, "default");
    let parsed = name.parse::<EngineName>();
    parsed.err().map(|error| error.to_string())
}

/// The workloads with what differs from their defaults.
const EXERCISES: [(&str, &str); 8] = [
    ("bulk-insert", "order=shuffled index=before"),
    ("bulk-insert", "rows=20000 rows_per_txn=10 journal_mode=wal synchronous=off"),
    ("user-insert", "rows=50000"),
    ("quotes", "rows=20000 copies=0"),
    ("fts-update", "rows=1000 changes=200 change=mixed repeat=1"),
    ("set-query", "method=in-list lookup=primary-key queries=100"),
    ("set-query", "method=temp-table lookup=index queries=100"),
    ("set-query", "method=json-each lookup=primary-key queries=100"),
];

/// Returns the level that is written so: a whole number or a name.
fn level(text: &str) -> Level {
    text.parse::<i64>().map_or_else(|_| text.into(), Level::Int)
}

/// Returns the workloads of a training run, each with all its settings.
pub fn training() -> Vec<(String, Settings)> {
    let catalogue = catalogue();
    EXERCISES
        .iter()
        .filter_map(|(workload, over)| {
            let mut settings = catalogue.defaults(catalogue.workload(workload)?);
            let over = over.split(' ').filter_map(|one| one.split_once('='));
            settings.extend(over.map(|(name, value)| (name.to_owned(), level(value))));
            Some(((*workload).to_owned(), settings))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_two_things() {
        let catalogue = catalogue();
        for workload in &catalogue.workloads {
            let mut names: Vec<&str> =
                catalogue.settings_of(workload).map(|parameter| parameter.name.as_str()).collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{}", workload.name);
        }
    }

    fn why(workload: &str, over: &[(&str, lab::level::Level)]) -> Option<String> {
        let catalogue = catalogue();
        let workload = catalogue.workload(workload).unwrap();
        let mut settings = catalogue.defaults(workload);
        for (name, level) in over {
            settings.insert((*name).to_owned(), level.clone());
        }
        catalogue.why_impossible(workload, &settings)
    }

    #[test]
    fn defaults_and_settings_that_go_together_are_possible() {
        let workloads = catalogue().workloads.into_iter();
        // There is no trace by default.
        for workload in workloads.filter(|it| it.name != "replay") {
            assert_eq!(why(&workload.name, &[]), None, "{}", workload.name);
        }
        assert!(why("replay", &[]).is_some_and(|why| why.contains("names no trace")));
        assert_eq!(why("user-insert", &[("journal_mode", "wal".into())]), None);
    }

    #[test]
    fn what_can_never_be_run_is_known_before_it_is_tried() {
        let memory = ("where", "memory".into());
        for (workload, over, reason) in [
            ("quotes", [("databases", 2.into()), ("copies", 1.into())], "one database only"),
            ("bulk-insert", [("query_only", true.into()), ("rows", 1.into())], "query_only"),
            ("user-insert", [memory.clone(), ("journal_mode", "wal".into())], "in memory"),
            ("user-insert", [memory.clone(), ("locking_mode", "normal".into())], "in memory"),
            ("user-insert", [memory, ("mmap_size", 4096.into())], "in memory"),
            (
                "quotes",
                [("hard_heap_limit", 1_000_000.into()), ("soft_heap_limit", 2_000_000.into())],
                "soft_heap_limit",
            ),
        ] {
            let found = why(workload, &over).expect("a reason");
            assert!(found.contains(reason), "{over:?}: {found}");
        }
    }

    #[test]
    fn every_default_is_a_level_that_its_parameter_accepts() {
        let catalogue = catalogue();
        for workload in &catalogue.workloads {
            for parameter in catalogue.settings_of(workload) {
                if let Some(default) = &parameter.default {
                    assert!(parameter.accepts.allows(default), "{}", parameter.name);
                }
            }
        }
    }

    #[test]
    fn every_exercise_is_of_a_workload_that_exists_with_settings_that_it_takes() {
        let catalogue = catalogue();
        let training = training();
        assert_eq!(training.len(), EXERCISES.len());
        for (name, settings) in training {
            let workload = catalogue.workload(&name).unwrap();
            for (setting, level) in &settings {
                let parameter = catalogue.setting(workload, setting).unwrap();
                assert!(parameter.accepts.allows(level), "{name}: {setting}={level}");
            }
            assert_eq!(catalogue.why_impossible(workload, &settings), None, "{name}");
        }
    }
}
