//! The tiers of a run: each different set of settings that decide, once, and how a tier is measured.
//!
//! A tier must be the same in every run. So it is judged by a fixed number of crash images and schedules,
//! drawn with a fixed seed, whatever the time and the seed of the run.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{BESIDES, KnownTier};
use crate::engine_name::engine_of;
use crate::level::{Settings, label, picked};
use crate::seed::Seed;

/// Version of the method. It is raised when the storage models, the crashed workload, the judge, the
/// scenarios of two connections or the sample change: tiers that were measured before are measured again
/// then.
pub const METHOD: u32 = 2;

/// Crash images of each set of settings under each storage model; models with fewer states have fewer.
/// With so many, the seed decides next to no verdict (`docs/benchmarks.md`).
pub const IMAGES: u32 = 32_000;

/// Schedules of each large scenario of two connections.
pub const SCHEDULES_EACH: u32 = 200;

/// Scenarios of two connections with at most so many schedules are played in full.
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
    /// Whether it names a setting that decides what a crash can destroy.
    pub fn decides(&self) -> bool {
        let mut names = self.settings.keys();
        names.any(|name| !BESIDES.contains(&name.as_str()))
    }

    /// The set of a variant with these settings; `names` are the settings that decide, and `engine` is
    /// used where the variant names none.
    pub fn of(settings: &Settings, names: &[String], engine: &str) -> TierSet {
        TierSet {
            engine: engine_of(settings, engine),
            settings: picked(settings, |name| names.contains(name)),
        }
    }

    /// The settings of a trial of [`WORKLOAD`](super::WORKLOAD) that measures the tier of these.
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
        match self.settings.is_empty() {
            true => f.write_str("default settings")?,
            false => f.write_str(&label(&self.settings))?,
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
    /// What was known of them before the run, so that its folder alone suffices for a report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownTier>,
}

impl TierPlan {
    /// The known tier of a set.
    pub fn known(&self, set: &TierSet) -> Option<&KnownTier> {
        self.known.iter().find(|known| known.set == *set)
    }

    /// The sets whose tiers are to be measured.
    pub fn unknown(&self) -> impl Iterator<Item = &TierSet> {
        self.sets.iter().filter(|set| self.known(set).is_none())
    }

    /// Seconds that measuring the unknown ones will probably take.
    pub fn expected_s(&self) -> f64 {
        EXPECTED_S * self.unknown().count() as f64
    }
}
