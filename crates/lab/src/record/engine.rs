//! Engines in the record of a run: how they describe themselves, how they were made, whether they sync.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// An engine as it described itself before the run, or why it cannot be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRecord {
    /// How the run names it: `default`, `system`, a version with its option sets, the name of an added
    /// engine, or a path.
    pub name: String,
    /// Why it cannot be used; variants that name it are skipped for that reason. The rest is empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Where it was found, for libraries that are files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// SHA-256 of the library; none for the engine that is part of the program, and where there is no file
    /// that could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// `sqlite3_libversion()`.
    pub version: String,
    /// `sqlite3_sourceid()`.
    pub source_id: String,
    /// Its compile-time options.
    pub compile_options: Vec<String>,
    /// How it was made, for engines that pragmark keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<ProvenanceRecord>,
    /// Whether its own VFS syncs; none for the engine that is part of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs: Option<SyncCheck>,
}

/// The compile-time option without whose absence nothing is ever synced.
const NO_SYNC: &str = "NO_SYNC";

/// Whether an engine's own VFS passes on the syncs that SQLite requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncCheck {
    /// The syncs of a few commits.
    Counted {
        /// Requested by SQLite.
        requested: u64,
        /// System calls that sync a file.
        reached: u64,
    },
    /// Files or folders were not synced in time.
    Faulty {
        /// The first fault.
        fault: String,
    },
    /// It could not be observed.
    NotChecked {
        /// Why.
        why: String,
    },
}

impl EngineRecord {
    /// Returns why a power cut can take everything whatever the settings; none for an engine that syncs, as far as that
    /// is known.
    pub fn why_unsynced(&self) -> Option<String> {
        match &self.syncs {
            Some(SyncCheck::Faulty { fault }) => Some(format!("its own VFS {fault}")),
            Some(SyncCheck::Counted { requested, reached }) if reached < requested => {
                Some(format!(
                    "its own VFS passes on {reached} of {requested} syncs that SQLite requests"
                ))
            }
            _ if self.compile_options.iter().any(|option| option == NO_SYNC) => {
                Some("it is compiled with SQLITE_NO_SYNC".to_owned())
            }
            _ => None,
        }
    }

    /// One that cannot be used, and why.
    pub fn unusable(name: &str, problem: String) -> EngineRecord {
        EngineRecord { name: name.to_owned(), problem: Some(problem), ..EngineRecord::default() }
    }

    /// Returns the name by which a driver loads the engine: the path of a library, or a name that means the same in every
    /// process.
    pub fn to_load(&self) -> String {
        match &self.path {
            Some(path) if self.name != SYSTEM => path.display().to_string(),
            _ => self.name.clone(),
        }
    }
}

/// Returns the name by which a driver loads the engine of this name, where `engines` were looked at ahead
/// of it. A name that was not is left to the driver.
///
/// # Errors
/// Why the engine cannot be used.
pub fn engine_to_load(engines: &[EngineRecord], name: &str) -> Result<String, String> {
    let record = engines.iter().find(|engine| engine.name == name);
    match record {
        None => Ok(name.to_owned()),
        Some(record) => match &record.problem {
            Some(problem) => Err(format!("the engine {name} cannot be used: {problem}")),
            None => Ok(record.to_load()),
        },
    }
}

/// The name of the system's own engine, which a driver finds for itself: where the dynamic loader keeps
/// it in a cache of its own, its path is none that could be opened.
const SYSTEM: &str = "system";

/// How an engine that pragmark keeps was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenanceRecord {
    /// Where it came from: a release of a crate, or a file.
    pub source: String,
    /// SHA-256 of the library.
    pub sha256: String,
    /// When it was made or added: RFC 3339, UTC.
    pub created: String,
    /// The version of the compiler as it says itself; none for a library that was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// Flags and options as the compiler got them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Whether it was compiled with the profile of a training run.
    #[serde(default)]
    pub profile_guided: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engines() -> Vec<EngineRecord> {
        let at = |name: &str, path: &str| EngineRecord {
            name: name.to_owned(),
            path: Some(path.into()),
            ..EngineRecord::default()
        };
        vec![
            at("3.46.0", "/cache/libsqlite3.so.0"),
            at("system", "/usr/lib/libsqlite3.so.0"),
            EngineRecord::unusable("3.46.0+lto", "the compiler failed".to_owned()),
        ]
    }

    #[test]
    fn an_engine_is_unsynced_by_its_system_calls_or_by_its_compile_options() {
        let why = |syncs, options: &[&str]| {
            let compile_options = options.iter().map(|it| (*it).to_owned()).collect();
            let engine = EngineRecord { syncs, compile_options, ..EngineRecord::default() };
            engine.why_unsynced()
        };
        let counted = |requested, reached| Some(SyncCheck::Counted { requested, reached });
        assert_eq!(why(None, &["THREADSAFE=1"]), None);
        assert_eq!(why(counted(20, 23), &[]), None);
        assert!(why(counted(20, 19), &[]).unwrap().contains("19 of 20"));
        let fault = "acknowledged a commit before it synced `wal`".to_owned();
        assert!(why(Some(SyncCheck::Faulty { fault }), &[]).unwrap().contains("VFS acknowledged"));
        let unknown = Some(SyncCheck::NotChecked { why: String::new() });
        assert_eq!(why(unknown.clone(), &[]), None);
        for syncs in [None, unknown, counted(0, 0)] {
            assert!(why(syncs, &["NO_SYNC"]).unwrap().contains("SQLITE_NO_SYNC"));
        }
    }

    #[test]
    fn drivers_are_told_the_path_of_an_engine_but_the_systems_by_its_name() {
        let to_load = |name: &str| engine_to_load(&engines(), name);
        assert_eq!(to_load("3.46.0"), Ok("/cache/libsqlite3.so.0".to_owned()));
        assert_eq!(to_load("system"), Ok("system".to_owned()));
        assert_eq!(to_load("unheard"), Ok("unheard".to_owned()));
    }

    #[test]
    fn an_engine_that_cannot_be_used_is_told_with_the_reason() {
        let why = engine_to_load(&engines(), "3.46.0+lto").unwrap_err();
        assert!(why.contains("3.46.0+lto") && why.contains("the compiler failed"));
    }

    #[test]
    fn records_of_earlier_runs_are_read() {
        let old = r#"{"name":"default","version":"3.54.1","source_id":"x","compile_options":[]}"#;
        let record: EngineRecord = serde_json::from_str(old).unwrap();
        assert_eq!((record.problem, record.provenance), (None, None));
    }
}
