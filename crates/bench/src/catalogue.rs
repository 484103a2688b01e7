//! Names for experiment files: the workloads of this crate and the PRAGMAs of the engine.

use engine::build::EngineName;
use lab::catalogue::{Accepts, Catalogue, Contents, Scope};
use lab::engine_name::{ENGINE, ENGINE_OPTIONS, engine_of};
use lab::level::Settings;
use lab::trial::{DRIVER, NATIVE};

use crate::bindings;
use crate::parameters::setting;
use crate::target::sqlite;
use crate::workload;

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
}
