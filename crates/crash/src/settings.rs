//! The settings whose safety is measured: a variant is one choice of them.

use crate::bench::Bench;
use crate::error::CrashError;
use crate::model::Model;
use crate::record::MAIN;
use engine::Value;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! setting {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All values.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The value as SQLite takes it.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownValue;

            fn from_str(text: &str) -> Result<$name, UnknownValue> {
                let lower = text.to_ascii_lowercase();
                $name::ALL
                    .iter()
                    .copied()
                    .find(|value| value.name() == lower)
                    .ok_or_else(|| UnknownValue {
                        setting: $what,
                        value: text.to_owned(),
                        allowed: $name::ALL.iter().map(|value| value.name()).collect(),
                    })
            }
        }
    };
}

/// A value that a setting does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting} has no value `{value}`; there are {}", .allowed.join(", "))]
pub struct UnknownValue {
    /// The setting.
    pub setting: &'static str,
    /// What was given.
    pub value: String,
    /// What it takes.
    pub allowed: Vec<&'static str>,
}

setting! {
    /// <https://sqlite.org/pragma.html#pragma_journal_mode>
    JournalMode, "journal_mode" {
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

setting! {
    /// <https://sqlite.org/pragma.html#pragma_synchronous>
    Synchronous, "synchronous" {
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

setting! {
    /// <https://sqlite.org/pragma.html#pragma_locking_mode>
    LockingMode, "locking_mode" {
        /// Locks are released after each transaction.
        Normal = "normal",
        /// They are kept.
        Exclusive = "exclusive",
    }
}

impl Synchronous {
    /// The number that SQLite reads back.
    pub fn number(self) -> i64 {
        match self {
            Synchronous::Off => 0,
            Synchronous::Normal => 1,
            Synchronous::Full => 2,
            Synchronous::Extra => 3,
        }
    }
}

/// One choice of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Variant {
    /// How a transaction can be taken back.
    pub journal_mode: JournalMode,
    /// How much is synced.
    pub synchronous: Synchronous,
    /// How long locks are kept.
    pub locking_mode: LockingMode,
    /// The page size in bytes.
    pub page_size: u32,
    /// Whether SQLite is told that a write changes no byte outside of it, whatever happens: true is its
    /// default, false what `psow=0` or `SQLITE_POWERSAFE_OVERWRITE=0` say
    /// (<https://sqlite.org/psow.html>).
    pub powersafe_overwrite: bool,
}

impl Variant {
    /// Every combination of the values given.
    pub fn matrix(
        journal_modes: &[JournalMode],
        synchronous: &[Synchronous],
        locking_modes: &[LockingMode],
        page_sizes: &[u32],
        powersafe_overwrite: &[bool],
    ) -> Vec<Variant> {
        let mut variants = Vec::new();
        for &powersafe_overwrite in powersafe_overwrite {
            for &page_size in page_sizes {
                for &locking_mode in locking_modes {
                    for &journal_mode in journal_modes {
                        variants.extend(synchronous.iter().map(|&synchronous| Variant {
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
        variants
    }

    /// What an engine does where nothing is set.
    ///
    /// # Errors
    /// It answers with a value that is not known here; the engine's.
    pub fn of_engine(bench: &mut Bench) -> Result<Variant, CrashError> {
        bench.reset(0)?;
        let connection = bench.open(MAIN)?;
        let answer = |name: &str| connection.query_value(&format!("PRAGMA {name}"));
        let number = answer("synchronous")?;
        let known = |value: &&Synchronous| Value::Integer(value.number()) == number;
        let synchronous = match Synchronous::ALL.iter().find(known) {
            Some(value) => *value,
            // Refused with a message that names the values there are.
            None => number.to_string().parse()?,
        };
        Ok(Variant {
            journal_mode: answer("journal_mode")?.to_string().parse()?,
            synchronous,
            locking_mode: answer("locking_mode")?.to_string().parse()?,
            page_size: connection.query_i64("PRAGMA page_size")? as u32,
            powersafe_overwrite: true,
        })
    }

    /// Whether SQLite, told of the device what this variant tells it, takes into account what a model lets
    /// happen (see [`Model::is_within_assumptions`]).
    pub fn assumes(&self, model: Model) -> bool {
        let told = !self.powersafe_overwrite && model == Model::NonPowersafeOverwrite;
        told || model.is_within_assumptions()
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

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Variant {
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
