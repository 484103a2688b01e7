//! The settings whose safety is measured.

use crate::error::CrashError;
use crate::model::Model;
use crate::named::named;
use crate::record::MAIN;
use crate::sandbox::Sandbox;
use engine::pragma;
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
}

named! {
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
}

named! {
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
    /// Every combination of the values given.
    pub fn matrix(
        journal_modes: &[JournalMode],
        synchronous: &[Synchronous],
        locking_modes: &[LockingMode],
        page_sizes: &[u32],
        powersafe_overwrite: &[bool],
    ) -> Vec<CrashSettings> {
        let mut settings = Vec::new();
        for &powersafe_overwrite in powersafe_overwrite {
            for &page_size in page_sizes {
                for &locking_mode in locking_modes {
                    for &journal_mode in journal_modes {
                        settings.extend(synchronous.iter().map(|&synchronous| CrashSettings {
                            journal_mode,
                            synchronous,
                            locking_mode,
                            page_size,
                            powersafe_overwrite,
                        }));
                    }
                }
            }
        }
        settings
    }

    /// The settings that an engine has by default.
    ///
    /// # Errors
    /// The engine reports a value that is not known here; the engine's own.
    pub fn of_engine(sandbox: &mut Sandbox) -> Result<CrashSettings, CrashError> {
        sandbox.reset(0)?;
        let connection = sandbox.open(MAIN)?;
        let value = |name| pragma::read(&connection, name);
        Ok(CrashSettings {
            journal_mode: value("journal_mode")?.parse()?,
            synchronous: value("synchronous")?.parse()?,
            locking_mode: value("locking_mode")?.parse()?,
            page_size: connection.query_i64("PRAGMA page_size")? as u32,
            powersafe_overwrite: true,
        })
    }

    /// Whether SQLite, with what these settings declare of the device, takes into account what a model
    /// lets happen (see [`Model::is_within_assumptions`]).
    pub fn assumes(&self, model: Model) -> bool {
        let declared = !self.powersafe_overwrite && model == Model::NonPowersafeOverwrite;
        declared || model.is_within_assumptions()
    }

    /// Whether a commit over attached databases goes through a super-journal, and so is atomic over all
    /// of them (<https://sqlite.org/lang_attach.html>; `vdbeCommit` in `vdbeaux.c` for OFF).
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
        let CrashSettings {
            journal_mode,
            synchronous,
            locking_mode,
            page_size,
            powersafe_overwrite,
        } = self;
        write!(f, "{journal_mode}/{synchronous}/{locking_mode}")?;
        if *page_size != 4096 {
            write!(f, "/{page_size}")?;
        }
        match powersafe_overwrite {
            true => Ok(()),
            false => f.write_str("/psow=0"),
        }
    }
}
