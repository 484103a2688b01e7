//! The tiers of a run: each different set of settings that decide, once, and how a tier is measured.
//!
//! A tier must be the same in every run. So it is judged by a fixed number of crash images and schedules,
//! drawn with a fixed seed, whatever the time and the seed of the run.
//!
//! Safety tiers that need not be measured again: what they depend on, and what was found.
//!
//! A tier is a property of the engine, of the settings and of the method. These three are its key, so that
//! a tier measured once holds for every run with the same key.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{BESIDES, ModelSafety, Safety, Schedules};
use crate::engine_name::engine_of;
use crate::level::{Settings, label, overlaid, picked};
use crate::record::EngineRecord;
use crate::seed::Seed;

/// Version of the method. It is raised when the storage models, the crashed workload, the judge, the
/// scenarios of two connections or the sample change: tiers that were measured before are measured again
/// then.
pub const METHOD: u32 = 4;

/// Crash images of each set of settings under each storage model; models with fewer states have fewer.
/// With this many, the seed decides next to no verdict (`benchmarks/RESULTS.md`).
pub const IMAGES: u32 = 32_000;

/// Schedules of each large scenario of two connections.
pub const SCHEDULES_EACH: u32 = 200;

/// Scenarios of two connections with at most this many schedules are played in full.
pub const SCHEDULES_IN_FULL: u32 = 10_000;

/// The seed of crash images and schedules.
pub const SEED: Seed = Seed(1);

/// Seconds that measuring a set takes on two processors, to plan with until one was measured.
pub const EXPECTED_S: f64 = 6.0;

/// An engine with the settings that decide what a crash can destroy: what a tier is a property of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierSet {
    /// The engine.
    pub engine: String,
    /// The settings, as far as they are named; the others are left as the engine has them.
    pub settings: Settings,
}

impl TierSet {
    /// Returns whether it names a setting that decides what a crash can destroy.
    pub fn decides(&self) -> bool {
        self.settings.keys().any(|name| !BESIDES.contains(&name.as_str()))
    }

    /// Returns the set of a variant with these settings; `names` are the settings that decide, and `engine` is
    /// used where the variant names none.
    pub fn of(settings: &Settings, names: &[String], engine: &str) -> TierSet {
        TierSet {
            engine: engine_of(settings, engine),
            settings: picked(settings, |name| names.contains(name)),
        }
    }

    /// Returns the settings of a trial of [`WORKLOAD`](super::WORKLOAD) that measures the tier of these.
    pub fn trial_settings(&self) -> Settings {
        let mut settings = self.settings.clone();
        settings.insert("images".to_owned(), i64::from(IMAGES).into());
        settings.insert("schedules".to_owned(), i64::from(SCHEDULES_EACH).into());
        settings.insert("psow".to_owned(), true.into());
        settings
    }
}

impl fmt::Display for TierSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.settings.is_empty() {
            f.write_str("default settings")?
        } else {
            f.write_str(&label(&self.settings))?
        }
        match self.engine.as_str() {
            "default" => Ok(()),
            engine => write!(f, " with the engine {engine}"),
        }
    }
}

/// The tiers that a run needs. Those that are not known when it is planned are measured after its rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierPlan {
    /// The settings that crashes are tried with: those that decide what a crash can destroy, and
    /// [`BESIDES`].
    pub names: Vec<String>,
    /// The sets, each once.
    pub sets: Vec<TierSet>,
    /// Tiers known before the run, so that its folder alone suffices for a report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownTier>,
}

impl TierPlan {
    /// Returns the known tier of a set.
    pub fn known(&self, set: &TierSet) -> Option<&KnownTier> {
        self.known.iter().find(|known| known.set == *set)
    }

    /// Returns the sets whose tiers are to be measured.
    pub fn unknown(&self) -> impl Iterator<Item = &TierSet> {
        self.sets.iter().filter(|set| self.known(set).is_none())
    }

    /// Seconds that measuring the unknown ones will probably take.
    pub fn expected_s(&self) -> f64 {
        EXPECTED_S * self.unknown().count() as f64
    }
}

/// The identity of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineIdentity {
    /// The engine that is part of the program. Its hash depends on the compiler, so what it was compiled
    /// from stands for it.
    BuiltIn {
        /// `sqlite3_sourceid()`.
        source_id: String,
        /// Its compile-time options without the compiler, in order.
        compile_options: Vec<String>,
    },
    /// A library of its own.
    Library {
        /// SHA-256 of the file.
        sha256: String,
    },
}

impl EngineIdentity {
    /// Returns the identity of an engine as it described itself; `None` if it cannot be used, or its file cannot
    /// be read, so that nothing about it may be remembered.
    pub fn of(engine: &EngineRecord) -> Option<EngineIdentity> {
        if engine.problem.is_some() {
            return None;
        }
        if engine.path.is_some() {
            let sha256 = engine.sha256.clone()?;
            return Some(EngineIdentity::Library { sha256 });
        }
        let options = engine.compile_options.iter();
        let mut compile_options: Vec<String> =
            options.filter(|option| !option.starts_with("COMPILER=")).cloned().collect();
        compile_options.sort();
        Some(EngineIdentity::BuiltIn { source_id: engine.source_id.clone(), compile_options })
    }
}

/// The key of a tier: everything it depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierKey {
    /// The version of the method, [`METHOD`].
    pub method: u32,
    /// The engine.
    pub engine: EngineIdentity,
    /// The settings that decide.
    pub settings: Settings,
}

/// The findings for a set of settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Under each storage model.
    pub safety: Vec<ModelSafety>,
    /// By two connections that meet at chosen moments; `None` if they were not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<Schedules>,
}

/// Why a tier need not be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It comes with the program.
    Program,
    /// An earlier run has measured it.
    Cache,
}

/// A tier that was known before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownTier {
    /// Whose tier it is.
    pub set: TierSet,
    /// Where it comes from.
    pub origin: Origin,
    /// All settings that decide, also those that the set leaves to the engine; empty where they are not known.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub in_force: Settings,
    /// The findings.
    pub findings: Findings,
}

impl KnownTier {
    /// Returns how safe the settings are.
    pub fn safety(&self) -> Safety {
        let Findings { safety, schedules } = self.findings.clone();
        Safety::of(safety).with_schedules(schedules)
    }
}

/// The tiers of one engine, as they come with the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierTable {
    /// The version of the method by which they were measured.
    pub method: u32,
    /// The engine.
    pub engine: EngineIdentity,
    /// The levels of the settings that decide when nothing is named, as the engine answers them.
    pub defaults: Settings,
    /// The tiers, each with the settings that differ from the defaults.
    pub tiers: Vec<(Settings, Findings)>,
}

impl TierTable {
    /// Returns the key of a set's tier; `None` if the engine cannot be told from others.
    ///
    /// A setting that is not named has the default of the engine. The table knows the defaults of its own engine;
    /// of others, what is not named stays so, and naming a default makes another key.
    pub fn key(&self, set: &TierSet, engine: &EngineRecord) -> Option<TierKey> {
        let engine = EngineIdentity::of(engine)?;
        let settings = if engine == self.engine {
            overlaid(&self.defaults, &set.settings)
        } else {
            set.settings.clone()
        };
        Some(TierKey { method: METHOD, settings, engine })
    }

    /// Returns the findings for a key.
    pub fn find(&self, key: &TierKey) -> Option<&Findings> {
        if (key.method, &key.engine) != (self.method, &self.engine) {
            return None;
        }
        let mut tiers = self.tiers.iter();
        tiers
            .find(|(settings, _)| overlaid(&self.defaults, settings) == key.settings)
            .map(|(_, findings)| findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built_in(options: &[&str]) -> EngineRecord {
        EngineRecord {
            name: "default".to_owned(),
            source_id: "2026".to_owned(),
            compile_options: options.iter().map(|it| (*it).to_owned()).collect(),
            ..EngineRecord::default()
        }
    }

    fn library(sha256: Option<&str>) -> EngineRecord {
        EngineRecord {
            path: Some("/lib/libsqlite3.so".into()),
            sha256: sha256.map(str::to_owned),
            ..built_in(&["THREADSAFE=1"])
        }
    }

    fn settings(named: &[(&str, &str)]) -> Settings {
        named.iter().map(|(name, level)| ((*name).to_owned(), (*level).into())).collect()
    }

    fn set(named: &[(&str, &str)]) -> TierSet {
        TierSet { engine: "default".to_owned(), settings: settings(named) }
    }

    fn findings(played: u64) -> Findings {
        Findings {
            safety: Vec::new(),
            schedules: Some(Schedules::Played { played, wrong: 0, first: None }),
        }
    }

    fn table() -> TierTable {
        TierTable {
            method: METHOD,
            engine: EngineIdentity::of(&built_in(&["THREADSAFE=1"])).unwrap(),
            defaults: settings(&[("journal_mode", "delete"), ("synchronous", "full")]),
            tiers: vec![
                (settings(&[]), findings(1)),
                (settings(&[("synchronous", "off")]), findings(2)),
            ],
        }
    }

    #[test]
    fn the_built_in_engine_is_the_same_whatever_compiled_it() {
        let one = built_in(&["COMPILER=gcc-12.2.0", "A", "B"]);
        let other = built_in(&["B", "A", "COMPILER=clang-19"]);
        assert_eq!(EngineIdentity::of(&one), EngineIdentity::of(&other));
        let options = EngineIdentity::of(&built_in(&["A"]));
        assert_ne!(EngineIdentity::of(&one), options);
    }

    #[test]
    fn nothing_is_remembered_of_an_engine_that_cannot_be_told_from_others() {
        assert_eq!(EngineIdentity::of(&library(None)), None);
        let problem = EngineRecord::unusable("system", "missing".to_owned());
        assert_eq!(EngineIdentity::of(&problem), None);
        let hashes = ["a", "b"].map(|hash| EngineIdentity::of(&library(Some(hash))));
        assert_ne!(hashes[0], hashes[1]);
    }

    #[test]
    fn a_default_may_be_named_or_not_where_it_is_known() {
        let (table, engine) = (table(), built_in(&["THREADSAFE=1"]));
        let known = |named: &[(&str, &str)]| {
            let key = table.key(&set(named), &engine).unwrap();
            table.find(&key).cloned()
        };
        assert_eq!(known(&[]), Some(findings(1)));
        assert_eq!(known(&[("synchronous", "full")]), Some(findings(1)));
        assert_eq!(known(&[("synchronous", "off")]), Some(findings(2)));
        assert_eq!(known(&[("journal_mode", "wal")]), None);
    }

    #[test]
    fn nothing_is_known_of_other_engines_and_methods() {
        let mut table = table();
        let other = table.key(&set(&[]), &library(Some("a"))).unwrap();
        assert!(other.settings.is_empty() && table.find(&other).is_none());
        let options = table.key(&set(&[]), &built_in(&["OMIT_X"])).unwrap();
        assert_eq!(table.find(&options), None);
        let own = table.key(&set(&[]), &built_in(&["THREADSAFE=1"])).unwrap();
        assert!(table.find(&own).is_some());
        table.method += 1;
        assert_eq!(table.find(&own), None);
    }
}
