#![forbid(unsafe_code)]
//! Proof that the instruments of the crash laboratory detect what they must detect.
//!
//! An instrument that always reports "no violation" would pass every other test. So here are engines
//! with one safeguard removed ([`mutations`]): a sync, a directory sync, a validity check, a lock. Each
//! has to be detected, unless the table says why it cannot be. It stands apart from the crate
//! `crash` because that one judges any engine and must not know these.

#[cfg(target_os = "linux")]
pub mod blocks;
mod crashes;
mod generated;
mod mutant;
pub mod patch;
mod schedules;
mod sound;
mod workload;

pub use crashes::{Crashes, MODELS, Worse, settings};
pub use generated::{
    Amalgamation, COVERAGE, Generated, Kind, Unnoticed, Verdict, selected, unnoticed,
};
pub use mutant::{MutantError, Mutants};
pub use patch::{Instrument, Mutation};
pub use schedules::noticed_by;
pub use sound::{SAFE, Seen, look_for_alarms};
pub use workload::Workload;

/// The mutations, in the order of their numbers.
///
/// # Panics
/// Never: the build script refuses a table that is not valid.
pub fn mutations() -> Vec<Mutation> {
    patch::parse(patch::TABLE).unwrap_or_else(|error| panic!("{error}"))
}
