//! Which transactions were begun and acknowledged, over both connections.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A transaction that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Transaction {
    pub(super) who: &'static str,
    pub(super) number: u32,
}

/// The transactions of a play. Both connections write in it, one inside a call of the other, so it is
/// never locked while SQLite runs.
#[derive(Default)]
pub(super) struct Ledger(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    under_way: BTreeSet<Transaction>,
    acknowledged: BTreeSet<Transaction>,
}

impl Ledger {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, transaction: Transaction) {
        self.entries().under_way.insert(transaction);
    }

    pub(super) fn acknowledge(&self, transaction: Transaction) {
        let mut entries = self.entries();
        entries.under_way.remove(&transaction);
        entries.acknowledged.insert(transaction);
    }

    pub(super) fn withdraw(&self, transaction: Transaction) {
        self.entries().under_way.remove(&transaction);
    }

    /// How many were acknowledged.
    pub(super) fn acknowledged(&self) -> i64 {
        self.entries().acknowledged.len() as i64
    }

    /// How many were acknowledged or are under way: the most that anyone may see.
    pub(super) fn begun(&self) -> i64 {
        let entries = self.entries();
        (entries.acknowledged.len() + entries.under_way.len()) as i64
    }

    /// Those that were acknowledged, in order.
    pub(super) fn all_acknowledged(&self) -> Vec<Transaction> {
        self.entries().acknowledged.iter().copied().collect()
    }
}
