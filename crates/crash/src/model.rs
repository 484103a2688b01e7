//! The storage models: what may have reached the disk when the machine stopped.
//!
//! Definitions only; `disk` keeps what is pending under them and `states` draws from it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a model lets happen to steps that no sync has covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Every step up to the cut is there: the process ended, the machine went on.
    Kill,
    /// A prefix of all steps is there; any sync is a barrier for everything.
    Ordered,
    /// As ext4 with ordered data: creations, deletions and changes of size are a prefix; appended
    /// data is there before its size; overwrites arrive in any order, sector by sector of 4 KiB; any
    /// sync commits all metadata, and the data of its file.
    Ext4Ordered,
    /// Each sector of 4 KiB, each size and each directory entry has a cut of its own; a sync covers
    /// one file, and directory entries need a sync of the directory.
    Reorder,
    /// As reorder with sectors of 512 bytes; besides, a sector may hold the beginning or the end of
    /// its next write, and space that a file grew by may hold garbage.
    Torn,
    /// As reorder; besides, a write that was under way destroys the whole sector of 4 KiB around it.
    NonPowersafeOverwrite,
    /// The device ignores syncs and loses a tail of at most 64 writes.
    LyingFifo,
    /// The device ignores syncs, and of the last 64 writes each may be missing.
    LyingReorder,
}

/// The operations that a lying device holds in volatile memory.
pub const LYING_WINDOW: usize = 64;

/// What a sync does under a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncRule {
    /// It makes one inode, or one directory's entries, durable.
    Inode,
    /// It makes one inode and all metadata durable.
    Journal,
    /// Nothing.
    Ignored,
}

impl Model {
    /// All models, from the kindest to the worst.
    pub const ALL: [Model; 8] = [
        Model::Kill,
        Model::Ordered,
        Model::Ext4Ordered,
        Model::Reorder,
        Model::Torn,
        Model::NonPowersafeOverwrite,
        Model::LyingFifo,
        Model::LyingReorder,
    ];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Model::Kill => "kill",
            Model::Ordered => "ordered",
            Model::Ext4Ordered => "ext4-ordered",
            Model::Reorder => "reorder",
            Model::Torn => "torn",
            Model::NonPowersafeOverwrite => "non-powersafe-overwrite",
            Model::LyingFifo => "lying-fifo",
            Model::LyingReorder => "lying-reorder",
        }
    }

    /// The model in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Model::Kill => "every write up to the cut is there (the process ended)",
            Model::Ordered => "a prefix of all operations; any sync is a full barrier",
            Model::Ext4Ordered => {
                "metadata as one journal, appended data before its size, overwrites in any order"
            }
            Model::Reorder => {
                "each 4 KiB sector, size and directory entry by itself; a sync covers one file"
            }
            Model::Torn => "reorder by 512 bytes, torn within sectors, garbage after growth",
            Model::NonPowersafeOverwrite => {
                "reorder; a write under way destroys its whole 4 KiB sector"
            }
            Model::LyingFifo => "syncs ignored, the last 64 operations may be lost from the end",
            Model::LyingReorder => "syncs ignored, any of the last 64 operations may be lost",
        }
    }

    /// Whether SQLite's default assumptions about hardware cover the model
    /// (<https://sqlite.org/atomiccommit.html#_hardware_assumptions>,
    /// <https://sqlite.org/psow.html>).
    pub fn is_within_assumptions(self) -> bool {
        !matches!(
            self,
            Model::NonPowersafeOverwrite | Model::LyingFifo | Model::LyingReorder
        )
    }

    /// Whether its states are prefixes of all steps, one for each number of steps.
    pub fn is_prefix(self) -> bool {
        matches!(self, Model::Kill | Model::Ordered | Model::LyingFifo)
    }

    /// What a sync does, for models whose states are no prefixes.
    pub fn sync_rule(self) -> SyncRule {
        match self {
            Model::Ext4Ordered => SyncRule::Journal,
            Model::LyingFifo | Model::LyingReorder => SyncRule::Ignored,
            _ => SyncRule::Inode,
        }
    }

    /// The size in bytes of what the page cache and the device keep coherent.
    pub fn sector(self) -> u64 {
        match self {
            Model::Torn => 512,
            _ => 4096,
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no model's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no storage model called `{name}`; there are {}", Model::ALL.map(Model::name).join(", "))]
pub struct UnknownModel {
    /// What was given.
    pub name: String,
}

impl std::str::FromStr for Model {
    type Err = UnknownModel;

    fn from_str(text: &str) -> Result<Model, UnknownModel> {
        let found = Model::ALL.into_iter().find(|model| model.name() == text);
        found.ok_or_else(|| UnknownModel {
            name: text.to_owned(),
        })
    }
}
