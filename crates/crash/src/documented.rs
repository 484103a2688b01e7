//! The promises of SQLite's documentation, as data: every measured cell is compared with them.

use crate::model::Model;
use crate::rare::RareEvent;
use crate::settings::{CrashSettings, JournalMode, LockingMode, Synchronous};
use lab::tier::{Documented, ModelSafety, Promise};

/// A statement of the documentation on some settings under some models; an empty list stands for any.
struct Rule {
    journal_modes: &'static [JournalMode],
    synchronous: &'static [Synchronous],
    models: &'static [Model],
    promise: Promise,
    /// In our words.
    says: &'static str,
    source: &'static str,
}

const POWER: &[Model] = &[Model::Ordered, Model::Ext4Ordered, Model::Reorder, Model::Torn];
const ROLLBACK: &[JournalMode] =
    &[JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist];
const JOURNAL_MODE: &str = "https://sqlite.org/pragma.html#pragma_journal_mode";
const SYNCHRONOUS: &str = "https://sqlite.org/pragma.html#pragma_synchronous";
const CORRUPT: &str =
    "https://sqlite.org/howtocorrupt.html#_disk_drives_that_do_not_honor_sync_requests";

/// A table of rules: journal modes, values of synchronous and models, then the promise, its source and its
/// wording.
macro_rules! rules {
    ($($modes:expr, [$($synchronous:ident)*], $models:expr => $promise:ident, $source:tt: $says:literal;)*) => {
        &[$(Rule {
            journal_modes: $modes,
            synchronous: &[$(Synchronous::$synchronous),*],
            models: $models,
            promise: Promise::$promise,
            says: $says,
            source: $source,
        }),*]
    };
}

/// The first rule that fits holds.
const RULES: &[Rule] = rules! {
    &[JournalMode::Off, JournalMode::Memory], [], &[] => MayCorrupt, JOURNAL_MODE:
        "without a journal on disk, a crash within a transaction very likely corrupts the database";
    &[], [], &[Model::Kill] => Safe, SYNCHRONOUS:
        "data is safe when the application crashes, even with synchronous=OFF";
    &[], [], &[Model::NonPowersafeOverwrite] => Silent, "https://sqlite.org/psow.html":
        "SQLite assumes powersafe overwrite by default; psow=0 withdraws the assumption";
    &[], [], &[Model::LyingFifo] => MayLose, CORRUPT:
        "a sync that only preserves the order of writes loses durability, not consistency";
    &[], [], &[Model::LyingReorder] => MayCorrupt, CORRUPT:
        "a device that lies about syncs and reorders can corrupt; with a write-ahead log only during a checkpoint";
    &[], [Off], POWER => MayCorrupt, SYNCHRONOUS:
        "with synchronous=OFF a power loss might corrupt the database";
    &[JournalMode::Wal], [Normal], POWER => MayLose, SYNCHRONOUS:
        "WAL with synchronous=NORMAL is consistent but may roll back commits after a power loss";
    &[JournalMode::Wal], [Full Extra], POWER => Safe, SYNCHRONOUS:
        "WAL with synchronous=FULL syncs the log after each transaction and is durable";
    ROLLBACK, [Normal], POWER => MayCorrupt, SYNCHRONOUS:
        "with synchronous=NORMAL there is a very small chance that a power loss corrupts the database on an older file system";
    &[JournalMode::Delete], [Full], POWER => MayLose, SYNCHRONOUS:
        "FULL does not corrupt; EXTRA adds durability where a power loss closely follows a commit in DELETE mode";
    ROLLBACK, [Full Extra], POWER => Safe, SYNCHRONOUS:
        "content is safely on disk before SQLite continues, so a power loss corrupts nothing";
    &[], [], &[] => Silent, "https://sqlite.org/docs.html":
        "the documentation does not say";
};

/// Returns the documented promise for settings under a model; the last rule fits anything.
pub fn documented(settings: &CrashSettings, model: Model) -> Option<Documented> {
    // With psow=0 SQLite never writes next to content that must survive, so a model that destroys the sector
    // around a write takes no more than `reorder` does.
    let model = match model {
        Model::NonPowersafeOverwrite if !settings.powersafe_overwrite => Model::Reorder,
        other => other,
    };
    let fits = |rule: &&Rule| {
        (rule.journal_modes.is_empty() || rule.journal_modes.contains(&settings.journal_mode))
            && (rule.synchronous.is_empty() || rule.synchronous.contains(&settings.synchronous))
            && (rule.models.is_empty() || rule.models.contains(&model))
    };
    RULES.iter().find(fits).map(|rule| Documented {
        promise: rule.promise,
        says: rule.says.to_owned(),
        source: rule.source.to_owned(),
    })
}

/// Why more is lost on a rare event than is documented, where that is known from SQLite's source.
pub fn cause_of_breach(settings: &CrashSettings, event: RareEvent) -> Option<&'static str> {
    match (settings.journal_mode, settings.synchronous, event) {
        (JournalMode::Delete, Synchronous::Full, RareEvent::Shrinking) => Some(
            "a commit that shrinks the database truncates the file after deleting the journal \
             (pager_end_transaction); the truncation can persist while the deletion does not, and the \
             journal is then rolled back over a file that has lost pages which the journal does not hold",
        ),
        (JournalMode::Wal, Synchronous::Normal, RareEvent::ModeChange) => Some(
            "entering and leaving WAL mode writes the first page under a rollback journal, for which NORMAL syncs no \
             more than it does in DELETE mode; set the journal mode while synchronous is FULL",
        ),
        _ => None,
    }
}

/// Why less is lost than is documented, where that is known from SQLite's source; `None` where it is not,
/// or where nothing less is lost.
pub fn cause_of_more_safety(
    settings: &CrashSettings,
    model: Model,
    safety: &ModelSafety,
) -> Option<&'static str> {
    if !safety.is_safer_than_documented() {
        return None;
    }
    let promise = safety.documented.as_ref().map(|documented| documented.promise);
    let is_rollback = ROLLBACK.contains(&settings.journal_mode);
    match (settings.journal_mode, settings.synchronous) {
        (JournalMode::Delete, Synchronous::Full)
            if settings.locking_mode == LockingMode::Exclusive =>
        {
            Some(
                "with exclusive locking the journal's header is overwritten instead of deleting the journal",
            )
        }
        (_, Synchronous::Normal) if is_rollback => Some(
            "the documented risk is a power loss before the journal's header arrives; this model does \
             not separate the two, or the sample did not",
        ),
        (_, Synchronous::Off) if model == Model::Ordered => Some(
            "where writes keep their order, a power loss leaves nothing that a kill would not leave",
        ),
        // That nothing is lost either has another cause, if any.
        (JournalMode::Wal, _) if promise == Some(Promise::MayCorrupt) => Some(
            "frames of the log are verified by checksums; only a checkpoint can be interrupted",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_settings_and_models_have_a_rule_with_a_source() {
        let mut all = 0;
        for &journal_mode in JournalMode::ALL {
            for &synchronous in Synchronous::ALL {
                for &locking_mode in LockingMode::ALL {
                    let settings = CrashSettings {
                        journal_mode,
                        synchronous,
                        locking_mode,
                        page_size: 4096,
                        powersafe_overwrite: true,
                    };
                    all += 1;
                    for model in Model::ALL {
                        let source = documented(&settings, *model).unwrap().source;
                        assert!(source.contains('#') || source.contains("psow"));
                    }
                }
            }
        }
        assert_eq!(all, 48);
    }
}
