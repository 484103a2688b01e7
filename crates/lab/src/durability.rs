//! Durability of an acknowledged change: the classes within which targets of different
//! kinds can be compared fairly.
//!
//! A [safety tier](crate::tier) is what crashes were seen to do to SQLite's files. A durability class is
//! less: what a target guarantees by what it waits for, declared by the target for the settings of the
//! variant and checked against the syncs that it was counted to make. It exists for files, servers and
//! memory, which the crash laboratory cannot crash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Durability; stronger classes are greater.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::Display)]
pub enum Durability {
    /// Nothing outlives the process.
    #[strum(to_string = "nothing outlives the process")]
    Nothing,
    /// The latest acknowledged changes do not outlive the process, which hands them on later.
    #[strum(to_string = "the latest changes do not outlive the process")]
    Buffered,
    /// Changes outlive the process, but if it ends in the middle of one, that one may be left half
    /// done; a power failure may take or damage anything.
    #[strum(to_string = "outlives the process, but for a change cut short")]
    Torn,
    /// Every change outlives the process whole; a power failure may take or damage anything that was
    /// written lately.
    #[strum(to_string = "outlives the process, not a power failure")]
    Process,
    /// A power failure may take the latest changes, but damages nothing.
    #[strum(to_string = "a power failure may take the latest changes")]
    Recent,
    /// Every acknowledged change survives a power cut, if the disk honours syncs.
    #[strum(to_string = "every change outlives a power failure")]
    Every,
}

impl Durability {
    /// All classes, the strongest first.
    pub const ALL: [Durability; 6] = [
        Durability::Every,
        Durability::Recent,
        Durability::Process,
        Durability::Torn,
        Durability::Buffered,
        Durability::Nothing,
    ];

    /// Returns why this number of syncs contradicts this number of acknowledged changes in the class; `None` if they fit.
    ///
    /// Changes that are acknowledged at the same time may share a sync where `shared` says so. Only the
    /// ends of the scale can be told by counting: a target that never syncs keeps no change through a
    /// power failure, and one that keeps every change must have synced each, or for several at once.
    pub fn contradicted(self, syncs: u64, changes: u64, shared: bool) -> Option<String> {
        let enough = if shared { changes.min(1) } else { changes };
        match self {
            Durability::Every if syncs < enough => Some(format!(
                "it was declared that {self}, but there were {syncs} syncs for {changes} changes"
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_listed_once_from_the_strongest_on() {
        assert!(Durability::ALL.is_sorted_by(|a, b| a > b));
        assert_eq!(Durability::ALL.len(), Durability::Every as usize + 1);
    }

    #[test]
    fn a_promise_of_every_change_needs_a_sync_for_each_or_one_for_several_at_once() {
        let every = Durability::Every;
        assert_eq!(every.contradicted(10, 10, false), None);
        let why = every.contradicted(9, 10, false).unwrap();
        assert!(why.contains("9 syncs for 10 changes"), "{why}");
        assert_eq!(every.contradicted(1, 10, true), None);
        assert!(every.contradicted(0, 10, true).is_some());
        assert_eq!(every.contradicted(0, 0, true), None);
        assert_eq!(Durability::Process.contradicted(0, 10, false), None);
    }
}
