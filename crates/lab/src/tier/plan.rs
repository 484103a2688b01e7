//! What a run tries crashes with: each different set of settings that decide, once.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::BESIDES;
use crate::engine_name::engine_of;
use crate::level::{Settings, label, picked};

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

    /// The settings of a trial of [`WORKLOAD`](super::WORKLOAD) that tests these for so many seconds.
    pub fn trial_settings(&self, seconds: f64) -> Settings {
        /// More images than any time is enough for, under each model.
        const IMAGES: i64 = 1_000_000;
        /// The same of schedules, of each scenario.
        const SCHEDULES: i64 = 1_000_000;
        let mut settings = self.settings.clone();
        settings.insert("images".to_owned(), IMAGES.into());
        settings.insert("schedules".to_owned(), SCHEDULES.into());
        settings.insert("psow".to_owned(), true.into());
        stop_after(&mut settings, seconds);
        settings
    }
}

/// Has a trial of the workload [`WORKLOAD`](super::WORKLOAD) end after so many seconds.
pub fn stop_after(settings: &mut Settings, seconds: f64) {
    let milliseconds = (seconds * 1_000.0).ceil().max(1.0) as i64;
    settings.insert("stop_after_ms".to_owned(), milliseconds.into());
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

/// The tiers that a run measures after its rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierPlan {
    /// Time for each set, in seconds, above zero.
    pub seconds: f64,
    /// The settings that crashes are tried with: those that decide what a crash can destroy, and
    /// [`BESIDES`].
    pub names: Vec<String>,
    /// The sets, each once.
    pub sets: Vec<TierSet>,
}

impl TierPlan {
    /// Seconds that all sets will probably take.
    pub fn expected_s(&self) -> f64 {
        self.seconds * self.sets.len() as f64
    }
}
