//! Designs: which variants there are, in which order trials run, and when to stop.
//!
//! What comes next is a pure function of the plan and of the outcomes so far ([`next`]), so a
//! killed run resumes where it was, and the whole schedule can be tested without a clock.

mod ahead;
mod confirmation;
mod forecast;
mod history;
mod next;
mod schedule;
mod stopping;
mod turns;
mod variants;

use serde::{Deserialize, Serialize};

use crate::level::Settings;

pub use ahead::ahead;
pub use confirmation::{MANY, rounds_again};
pub use forecast::{expected_rounds, expected_seconds, fewest_trials};
pub use history::{Done, History, Observation};
pub use next::{Course, Next, StopReason, block, next};
pub use schedule::{Block, ScheduledTrial, round, trials_per_round};
pub use stopping::Stopping;
pub use turns::{budget_of, outlook, turn};
pub use variants::{VariantsError, partners, select, upper_bounds, variants};

/// One assignment of levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its identity within the experiment: the levels of its factors.
    pub label: String,
    /// Its name in people's words, where the experiment gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What to do when it is the best, where the experiment says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The level of each factor.
    pub levels: Settings,
    /// Everything that holds in its trials: defaults, base, scale, adjustments and levels.
    pub settings: Settings,
}

impl Variant {
    /// Its name in people's words, or its levels.
    pub fn name_or_label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.label)
    }
}

/// Something that bounds what the variants can reach, measured in the same blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpperBound {
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
    /// The baseline variant, with which the block's other trials are compared.
    Baseline,
    /// The baseline variant once more: an A/A comparison that must show no difference.
    AaCheck,
    /// Any other variant.
    Variant,
    /// What bounds the variants: the same input without SQLite.
    UpperBound,
    /// A variant once more after the last round, counting what it does to files; its time is not used.
    Counting,
}
