//! Designs: which arms there are, in which order trials run, and when to stop.
//!
//! What comes next is a pure function of the plan and of the outcomes so far ([`next`]), so a
//! killed run resumes where it was, and the whole schedule can be tested without a clock.

mod arms;
mod forecast;
mod fresh;
mod history;
mod next;
mod schedule;
mod stopping;
mod turns;

use serde::{Deserialize, Serialize};

use crate::level::Settings;

pub use arms::{ArmsError, arms, limits, partners, select};
pub use forecast::{expected_rounds, expected_seconds, fewest_trials};
pub use fresh::{MANY, rounds_again};
pub use history::{Done, History, Seen};
pub use next::{Course, Next, StopReason, next};
pub use schedule::{Block, ScheduledTrial, round, trials_per_round};
pub use stopping::Stopping;
pub use turns::{budget_of, outlook, turn};

/// One assignment of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Its name within the experiment: the levels of its factors.
    pub label: String,
    /// The level of each factor.
    pub levels: Settings,
    /// Everything that holds in its trials: defaults, base, scale, adjustments and levels.
    pub settings: Settings,
}

/// Something that bounds what the arms can reach, measured in the same blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Its name within the experiment.
    pub label: String,
    /// What is done, in words.
    pub says: String,
    /// The workload.
    pub workload: String,
    /// Everything that holds in its trials.
    pub settings: Settings,
}

/// What a trial is in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The reference arm, with which the block's other trials are compared.
    Reference,
    /// The reference arm once more: an A/A comparison that must show no difference.
    Canary,
    /// Any other arm.
    Arm,
    /// What bounds the arms: the same input without SQLite.
    Limit,
    /// An arm once more after the last round, counting what it does to files; its time is not used.
    Counting,
}
