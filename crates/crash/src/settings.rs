//! The settings whose safety is measured.

use crate::model::Model;
use crate::named::named;
use serde::{Deserialize, Serialize};
use std::fmt;

named! {
    /// <https://sqlite.org/pragma.html#pragma_journal_mode>
    JournalMode, "a value of journal_mode" {
        /// The rollback journal is deleted.
        Delete = "delete",
        /// It is cut to nothing.
        Truncate = "truncate",
        /// Its header is overwritten.
        Persist = "persist",
        /// It is kept in memory.
        Memory = "memory",
        /// A write-ahead log instead of it.
        Wal = "wal",
        /// There is none.
        Off = "off",
    }

    /// <https://sqlite.org/pragma.html#pragma_synchronous>
    Synchronous, "a value of synchronous" {
        /// No syncs.
        Off = "off",
        /// At the most critical moments.
        Normal = "normal",
        /// At every commit.
        Full = "full",
        /// And the directory after a journal was deleted.
        Extra = "extra",
    }

    /// <https://sqlite.org/pragma.html#pragma_locking_mode>
    LockingMode, "a value of locking_mode" {
        /// Locks are released after each transaction.
        Normal = "normal",
        /// They are kept.
        Exclusive = "exclusive",
    }
}

/// One combination of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CrashSettings {
    /// How a transaction can be rolled back.
    pub journal_mode: JournalMode,
    /// How much is synced.
    pub synchronous: Synchronous,
    /// How long locks are kept.
    pub locking_mode: LockingMode,
    /// The page size in bytes.
    pub page_size: u32,
    /// Whether the device is declared to change no byte outside of a write, whatever happens: true is
    /// SQLite's default, false is `psow=0` or `SQLITE_POWERSAFE_OVERWRITE=0`
    /// (<https://sqlite.org/psow.html>).
    pub powersafe_overwrite: bool,
}

impl CrashSettings {
    /// These two, with SQLite's defaults for the others.
    pub fn new(journal_mode: JournalMode, synchronous: Synchronous) -> CrashSettings {
        CrashSettings {
            journal_mode,
            synchronous,
            locking_mode: LockingMode::Normal,
            page_size: 4096,
            powersafe_overwrite: true,
        }
    }

    /// Returns whether SQLite, given the properties of the device in these settings, expects the failures of
    /// a model (see [`Model::is_within_assumptions`]).
    pub fn assumes(&self, model: Model) -> bool {
        let declared = !self.powersafe_overwrite && model == Model::NonPowersafeOverwrite;
        declared || model.is_within_assumptions()
    }

    /// Returns whether a commit over attached databases goes through a super-journal, and so is atomic over
    /// all of them (<https://sqlite.org/lang_attach.html>; `vdbeCommit` in `vdbeaux.c` for OFF).
    pub fn has_super_journal(&self) -> bool {
        let journal = matches!(
            self.journal_mode,
            JournalMode::Delete | JournalMode::Truncate | JournalMode::Persist
        );
        journal && self.synchronous != Synchronous::Off
    }
}

impl fmt::Display for CrashSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (journal, sync, locking) = (self.journal_mode, self.synchronous, self.locking_mode);
        write!(f, "{journal}/{sync}/{locking}")?;
        if self.page_size != 4096 {
            write!(f, "/{}", self.page_size)?;
        }
        if self.powersafe_overwrite { Ok(()) } else { f.write_str("/psow=0") }
    }
}
