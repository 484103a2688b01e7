//! What SQLite's documentation promises, as data: beside every measured cell stands what was published.
//!
//! The first rule that fits an arm and a model holds.

use crate::model::Model;
use crate::settings::{Arm, JournalMode, Synchronous};
use serde::{Deserialize, Serialize};

/// How much is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// Nothing that was committed is lost, and nothing is corrupted.
    Safe,
    /// Recent commits may be lost; nothing is corrupted.
    MayLose,
    /// The database may be corrupted.
    MayCorrupt,
    /// The model is outside what SQLite assumes of hardware, and nothing is said of it.
    Silent,
}

impl Promise {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Promise::Safe => "safe",
            Promise::MayLose => "may lose commits",
            Promise::MayCorrupt => "may corrupt",
            Promise::Silent => "no promise",
        }
    }
}

/// A statement of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Expectation {
    /// What it promises.
    pub promise: Promise,
    /// What it says, in our words.
    pub says: &'static str,
    /// Where.
    pub source: &'static str,
}

struct Rule {
    /// Empty for any.
    journal_modes: &'static [JournalMode],
    synchronous: &'static [Synchronous],
    models: &'static [Model],
    expectation: Expectation,
}

const POWER: &[Model] = &[
    Model::Ordered,
    Model::Ext4Ordered,
    Model::Reorder,
    Model::Torn,
];
const ROLLBACK: &[JournalMode] = &[
    JournalMode::Delete,
    JournalMode::Truncate,
    JournalMode::Persist,
];
const JOURNAL_MODE: &str = "https://sqlite.org/pragma.html#pragma_journal_mode";
const SYNCHRONOUS: &str = "https://sqlite.org/pragma.html#pragma_synchronous";
const CORRUPT: &str =
    "https://sqlite.org/howtocorrupt.html#_disk_drives_that_do_not_honor_sync_requests";

const RULES: &[Rule] = &[
    Rule {
        journal_modes: &[JournalMode::Off, JournalMode::Memory],
        synchronous: &[],
        models: &[],
        expectation: Expectation {
            promise: Promise::MayCorrupt,
            says: "without a journal on the disk, a crash within a transaction very likely corrupts the database",
            source: JOURNAL_MODE,
        },
    },
    Rule {
        journal_modes: &[],
        synchronous: &[],
        models: &[Model::Kill],
        expectation: Expectation {
            promise: Promise::Safe,
            says: "data is safe when the application crashes, even with synchronous=OFF",
            source: SYNCHRONOUS,
        },
    },
    Rule {
        journal_modes: &[],
        synchronous: &[],
        models: &[Model::NonPowersafeOverwrite],
        expectation: Expectation {
            promise: Promise::Silent,
            says: "SQLite assumes powersafe overwrite by default; psow=0 takes the assumption back",
            source: "https://sqlite.org/psow.html",
        },
    },
    Rule {
        journal_modes: &[],
        synchronous: &[],
        models: &[Model::LyingFifo],
        expectation: Expectation {
            promise: Promise::MayLose,
            says: "a sync that only keeps the order of writes gives up durability, not consistency",
            source: CORRUPT,
        },
    },
    Rule {
        journal_modes: &[],
        synchronous: &[],
        models: &[Model::LyingReorder],
        expectation: Expectation {
            promise: Promise::MayCorrupt,
            says: "a device that lies about syncs and reorders can corrupt; with a write-ahead log only during a checkpoint",
            source: CORRUPT,
        },
    },
    Rule {
        journal_modes: &[],
        synchronous: &[Synchronous::Off],
        models: POWER,
        expectation: Expectation {
            promise: Promise::MayCorrupt,
            says: "with synchronous=OFF a power loss might corrupt the database",
            source: SYNCHRONOUS,
        },
    },
    Rule {
        journal_modes: &[JournalMode::Wal],
        synchronous: &[Synchronous::Normal],
        models: POWER,
        expectation: Expectation {
            promise: Promise::MayLose,
            says: "WAL with synchronous=NORMAL is consistent but may roll back commits after a power loss",
            source: SYNCHRONOUS,
        },
    },
    Rule {
        journal_modes: &[JournalMode::Wal],
        synchronous: &[Synchronous::Full, Synchronous::Extra],
        models: POWER,
        expectation: Expectation {
            promise: Promise::Safe,
            says: "WAL with synchronous=FULL syncs the log after each transaction and is durable",
            source: SYNCHRONOUS,
        },
    },
    Rule {
        journal_modes: ROLLBACK,
        synchronous: &[Synchronous::Normal],
        models: POWER,
        expectation: Expectation {
            promise: Promise::MayCorrupt,
            says: "with synchronous=NORMAL there is a very small chance that a power loss corrupts the database on an older file system",
            source: SYNCHRONOUS,
        },
    },
    Rule {
        journal_modes: &[JournalMode::Delete],
        synchronous: &[Synchronous::Full],
        models: POWER,
        expectation: Expectation {
            promise: Promise::MayLose,
            says: "FULL does not corrupt; EXTRA adds durability where a power loss closely follows a commit in DELETE mode",
            source: SYNCHRONOUS,
        },
    },
    Rule {
        journal_modes: ROLLBACK,
        synchronous: &[Synchronous::Full, Synchronous::Extra],
        models: POWER,
        expectation: Expectation {
            promise: Promise::Safe,
            says: "content is safely on the disk before SQLite goes on, so that a power loss corrupts nothing",
            source: SYNCHRONOUS,
        },
    },
];

/// What the documentation says of an arm under a model.
pub fn expected(arm: &Arm, model: Model) -> Expectation {
    let fits = |rule: &&Rule| {
        (rule.journal_modes.is_empty() || rule.journal_modes.contains(&arm.journal_mode))
            && (rule.synchronous.is_empty() || rule.synchronous.contains(&arm.synchronous))
            && (rule.models.is_empty() || rule.models.contains(&model))
    };
    match RULES.iter().find(fits) {
        Some(rule) => rule.expectation,
        None => Expectation {
            promise: Promise::Silent,
            says: "the documentation does not say",
            source: "https://sqlite.org/docs.html",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LockingMode;

    #[test]
    fn every_arm_and_model_has_a_rule_with_a_source() {
        let arms = Arm::matrix(
            JournalMode::ALL,
            Synchronous::ALL,
            LockingMode::ALL,
            &[4096],
        );
        assert_eq!(arms.len(), 48);
        for arm in arms {
            for model in Model::ALL {
                let expectation = expected(&arm, model);
                assert!(expectation.source.contains('#') || expectation.source.contains("psow"));
            }
        }
    }
}
