//! What exists to choose from: workloads with their parameters, PRAGMAs and connection settings.
//!
//! The lab may not know SQLite, so the crates that do give it this description, and experiment
//! files are checked against it.

use std::fmt;

use crate::level::{Level, Settings};

/// What a setting accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Accepts {
    /// `true` or `false`.
    Bool,
    /// A whole number within these bounds, both included.
    Int {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// A power of two within these bounds, both included.
    PowerOfTwo {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// One of these names.
    Choice(Vec<String>),
    /// Any text.
    Text,
}

impl Accepts {
    /// A choice of names.
    pub fn choice(names: &[&str]) -> Accepts {
        Accepts::Choice(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Whether the level may be used.
    pub fn allows(&self, level: &Level) -> bool {
        match (self, level) {
            (Accepts::Bool, Level::Bool(_)) | (Accepts::Text, Level::Text(_)) => true,
            (Accepts::Int { min, max }, Level::Int(value)) => (min..=max).contains(&value),
            (Accepts::PowerOfTwo { min, max }, Level::Int(value)) => {
                (min..=max).contains(&value) && value.count_ones() == 1
            }
            (Accepts::Choice(names), Level::Text(text)) => names.contains(text),
            _ => false,
        }
    }
}

impl fmt::Display for Accepts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Accepts::Bool => f.write_str("true or false"),
            Accepts::Int { min, max: i64::MAX } => write!(f, "a whole number from {min}"),
            Accepts::Int { min, max } => write!(f, "a whole number from {min} to {max}"),
            Accepts::PowerOfTwo { min, max } => write!(f, "a power of two from {min} to {max}"),
            Accepts::Choice(names) => write!(f, "one of {}", names.join(", ")),
            Accepts::Text => f.write_str("text"),
        }
    }
}

/// Where a setting acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A parameter of the workload.
    Workload,
    /// A PRAGMA, applied to and read back from every connection.
    Pragma,
    /// How connections are opened and used, or which engine is loaded.
    Connection,
}

/// One setting that an experiment file may name.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name in experiment files.
    pub name: String,
    /// What it accepts.
    pub accepts: Accepts,
    /// The level used when an experiment says nothing; `None` leaves SQLite's own default.
    pub default: Option<Level>,
    /// What it means.
    pub about: String,
    /// Where it acts.
    pub scope: Scope,
    /// Whether it decides what a crash can destroy, so that no level of it may be recommended for
    /// its speed alone.
    pub crash_relevant: bool,
}

/// One workload that an experiment file may name.
#[derive(Clone, Debug)]
pub struct WorkloadInfo {
    /// Its name in experiment files.
    pub name: String,
    /// What it does.
    pub about: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The phases that it times apart (`seconds.<phase>`).
    pub phases: Vec<String>,
    /// Whether it can count what it does to files.
    pub counts: bool,
}

/// Why no engine and no machine can run a workload with these settings; none where some can.
pub type WhyImpossible = fn(workload: &str, settings: &Settings) -> Option<String>;

/// Everything that experiment files may name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// The workloads.
    pub workloads: Vec<WorkloadInfo>,
    /// Settings that every workload understands: PRAGMAs and connection settings.
    pub shared: Vec<Parameter>,
    /// What tells combinations that can never be run, so that an experiment with such a variant is
    /// refused before anything is measured; none where every combination of levels can be tried.
    pub why_impossible: Option<WhyImpossible>,
}

impl Catalogue {
    /// The workload of this name.
    pub fn workload(&self, name: &str) -> Option<&WorkloadInfo> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// Every setting that this workload understands: its own parameters, then the shared ones.
    pub fn settings_of<'a>(
        &'a self,
        workload: &'a WorkloadInfo,
    ) -> impl Iterator<Item = &'a Parameter> {
        workload.parameters.iter().chain(&self.shared)
    }

    /// The setting of this name for this workload.
    pub fn setting<'a>(&'a self, workload: &'a WorkloadInfo, name: &str) -> Option<&'a Parameter> {
        self.settings_of(workload)
            .find(|parameter| parameter.name == name)
    }

    /// Why a workload can never be run with these settings; none where it can.
    pub fn why_impossible(&self, workload: &WorkloadInfo, settings: &Settings) -> Option<String> {
        self.why_impossible?(&workload.name, settings)
    }

    /// The levels that hold when an experiment says nothing.
    pub fn defaults(&self, workload: &WorkloadInfo) -> Settings {
        self.settings_of(workload)
            .filter_map(|parameter| Some((parameter.name.clone(), parameter.default.clone()?)))
            .collect()
    }
}
