//! What SQLite's documentation promises, as data: beside every measured cell stands what was published.
//!
//! The first rule that fits a variant and a model holds.

use crate::model::Model;
use crate::occasion::Occasion;
use crate::settings::{JournalMode, LockingMode, Synchronous, Variant};
use crate::tally::Verdict;
pub use lab::tier::Promise;
use serde::{Deserialize, Serialize};

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

/// What the documentation says of a variant under a model.
pub fn expected(variant: &Variant, model: Model) -> Expectation {
    // With psow=0 SQLite keeps what it writes apart from what it must not destroy, so that a sector
    // may go with a write to it and no more is lost than without it.
    let model = match model {
        Model::NonPowersafeOverwrite if !variant.powersafe_overwrite => Model::Reorder,
        other => other,
    };
    let fits = |rule: &&Rule| {
        (rule.journal_modes.is_empty() || rule.journal_modes.contains(&variant.journal_mode))
            && (rule.synchronous.is_empty() || rule.synchronous.contains(&variant.synchronous))
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

/// How a verdict stands to the promise beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// As documented, or nothing is documented, or nothing was measured.
    Agrees,
    /// Worse than documented; there is a witness.
    Worse,
    /// Better than documented, in the images that were looked at.
    Better,
}

impl Standing {
    /// Compares a verdict with a promise.
    pub fn of(verdict: &Verdict, promise: Promise) -> Standing {
        let found = match verdict {
            Verdict::NoViolation { .. } => Promise::Safe,
            Verdict::LosesCommits { .. } => Promise::MayLose,
            Verdict::CanCorrupt { .. } => Promise::MayCorrupt,
            Verdict::NotMeasured { .. } => return Standing::Agrees,
        };
        if promise == Promise::Silent {
            return Standing::Agrees;
        }
        match found.cmp(&promise) {
            std::cmp::Ordering::Less => Standing::Better,
            std::cmp::Ordering::Equal => Standing::Agrees,
            std::cmp::Ordering::Greater => Standing::Worse,
        }
    }
}

/// Why a measured cell differs from the documentation, where the cause is known from SQLite's source;
/// `None` where it is not, or where nothing differs. `only` are the occasions on which alone the verdict
/// holds, if there are any.
pub fn cause(
    variant: &Variant,
    model: Model,
    verdict: &Verdict,
    only: &[Occasion],
) -> Option<&'static str> {
    let is_rollback = ROLLBACK.contains(&variant.journal_mode);
    match Standing::of(verdict, expected(variant, model).promise) {
        Standing::Agrees => None,
        Standing::Worse => match (variant.journal_mode, variant.synchronous, only) {
            (JournalMode::Delete, Synchronous::Full, [Occasion::Shrinking]) => Some(
                "a commit that shrinks the database truncates the file after the journal was deleted \
                 (pager_end_transaction); the truncation can be on the disk while the deletion is not, \
                 and the journal is then rolled back over a file that has lost pages it does not hold",
            ),
            (JournalMode::Wal, Synchronous::Normal, [Occasion::ModeChange]) => Some(
                "leaving WAL mode writes the first page under a rollback journal, for which NORMAL \
                 syncs no more than it does in DELETE mode",
            ),
            _ => None,
        },
        Standing::Better => match (variant.journal_mode, variant.locking_mode) {
            (JournalMode::Delete, LockingMode::Exclusive)
                if variant.synchronous == Synchronous::Full =>
            {
                Some("with exclusive locking the journal is not deleted but its header overwritten")
            }
            _ if is_rollback && variant.synchronous == Synchronous::Normal => Some(
                "the documented chance is that of a power loss before the journal's header arrives; \
                 this model does not separate the two, or the sample did not",
            ),
            _ if model == Model::Ordered && variant.synchronous == Synchronous::Off => Some(
                "where writes keep their order, nothing is left that a killed process would not leave",
            ),
            // That nothing is lost either has another cause, if any.
            (JournalMode::Wal, _) if expected(variant, model).promise == Promise::MayCorrupt => {
                Some(
                    "frames of the log are checked by their sums; only a checkpoint can be caught half done",
                )
            }
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_and_model_has_a_rule_with_a_source() {
        let variants = Variant::matrix(
            JournalMode::ALL,
            Synchronous::ALL,
            LockingMode::ALL,
            &[4096],
            &[true],
        );
        assert_eq!(variants.len(), 48);
        for variant in variants {
            for model in Model::ALL {
                let expectation = expected(&variant, model);
                assert!(expectation.source.contains('#') || expectation.source.contains("psow"));
            }
        }
    }

    #[test]
    fn a_verdict_is_worse_better_or_as_documented() {
        let corrupt = Verdict::CanCorrupt {
            violations: 1,
            images: 9,
        };
        let clean = Verdict::NoViolation { images: 9 };
        assert_eq!(Standing::of(&corrupt, Promise::MayLose), Standing::Worse);
        assert_eq!(
            Standing::of(&corrupt, Promise::MayCorrupt),
            Standing::Agrees
        );
        assert_eq!(Standing::of(&corrupt, Promise::Silent), Standing::Agrees);
        assert_eq!(Standing::of(&clean, Promise::MayLose), Standing::Better);
        assert_eq!(Standing::of(&clean, Promise::Safe), Standing::Agrees);
    }
}
