//! The members of a group: the processes of agents whose outcomes count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The agent of each process that belongs to a group, by the public key of the process.
pub type Members = BTreeMap<String, String>;

/// The group of a run as its coordinator knows it at the moment.
#[derive(Default)]
pub struct Roster {
    present: AtomicUsize,
    members: Mutex<Arc<Members>>,
    strangers: Mutex<BTreeSet<String>>,
}

impl Roster {
    /// Returns a group with these members, before anybody was seen.
    pub fn new(members: Members) -> Roster {
        let roster = Roster { present: AtomicUsize::new(members.len()), ..Roster::default() };
        roster.set_members(members);
        roster
    }

    /// Sets how many agents are present.
    pub fn set_present(&self, present: usize) {
        self.present.store(present, Ordering::Relaxed);
    }

    /// Returns how many agents are present.
    pub fn present(&self) -> usize {
        self.present.load(Ordering::Relaxed)
    }

    /// Sets whose outcomes count.
    pub fn set_members(&self, members: Members) {
        *locked(&self.members) = Arc::new(members);
    }

    /// Returns whose outcomes count.
    pub fn members(&self) -> Arc<Members> {
        Arc::clone(&locked(&self.members))
    }

    /// Notes that there are outcomes under the name of an agent that no member has signed.
    pub(crate) fn note_stranger(&self, agent: &str) {
        locked(&self.strangers).insert(agent.to_owned());
    }

    /// Returns the names under which outcomes were stored that no member has signed, and forgets them.
    pub fn take_strangers(&self) -> BTreeSet<String> {
        std::mem::take(&mut locked(&self.strangers))
    }
}

pub(crate) fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
