//! Safety tiers: what the death of a process and a power cut take under some settings, as measured.
//!
//! Settings are tried under storage models, and each model says what a crash may leave on the disk
//! ([`ModelSafety`]). A [`Tier`] sums them up by [`Accident`], for ordinary commits; what happens on
//! rare occasions alone is kept apart. Models outside SQLite's assumptions about hardware decide no
//! tier: no settings can hold against a disk that lies.
//!
//! It stands apart from statistics because nothing here is an estimate: one witness proves that a
//! database can be corrupted, and no number of clean images proves that it cannot. How the tiers
//! are measured is in `docs/crash.md`; trying the settings is the business of the workload
//! [`WORKLOAD`], like any other trial.

mod loss;
mod model;
mod plan;
mod recovery_log;
mod safety;
#[cfg(test)]
mod tests;

pub use loss::{Accident, Class, Counts, Loss, Losses, Schedules, WrongSchedule};
pub use model::{Documented, ModelSafety, OnOccasion, Promise, UnderSettings, merged};
pub use plan::{
    EXPECTED_S, EngineIdentity, Findings, IMAGES, KnownTier, METHOD, Origin, SCHEDULES_EACH,
    SCHEDULES_IN_FULL, SEED, TierKey, TierPlan, TierSet, TierTable,
};
pub use recovery_log::{RECOVERY_LOG, RecoveryLog};
pub use safety::{MayLose, RareLoss, Safety, Tier, Uncrashed};

/// The workload that tries settings under the storage models and reports [`ModelSafety`]s.
pub const WORKLOAD: &str = "crash";

/// The title of the table in which a trial of [`WORKLOAD`] says how much of the user's own workload it crashed: rows of
/// what and how much.
pub const CRASHED: &str = "what was crashed";

/// The name of the variant of [`WORKLOAD`] that has the settings of the user's database or recorded application.
pub const CURRENT: &str = "current settings";

/// The workload that kills processes while they write.
pub const KILL: &str = "kill";

/// The workload in which two connections meet at every instant.
pub const SCHEDULES: &str = "schedules";

/// Settings that a crash is tried with although they decide nothing by themselves: how many pages share
/// a sector changes what can be torn, but no page size is meant to be less safe than another.
pub const BESIDES: [&str; 1] = ["page_size"];
