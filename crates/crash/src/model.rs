//! The storage models: the writes that may have reached the disk when the machine stopped.
//!
//! Definitions only; `disk` keeps pending writes under them and `states` samples from it.

use crate::named::named;
use lab::tier::Accident;

named! {
    /// The fate of steps that no sync has covered, from the kindest model to the worst.
    Model, "a storage model" {
        /// Every step up to the cut persists: the process ended, the machine went on.
        Kill = "kill",
        /// A prefix of all steps persists; any sync is a barrier for everything.
        Ordered = "ordered",
        /// As ext4 with ordered data: creations, deletions and changes of size are a prefix; appended
        /// data persists before its size; overwrites arrive in any order, sector by sector of 4 KiB;
        /// any sync commits all metadata, and the data of its file.
        Ext4Ordered = "ext4-ordered",
        /// Each sector of 4 KiB, each size and each directory entry has a cut of its own; a sync covers
        /// one file, and directory entries need a sync of the directory.
        Reorder = "reorder",
        /// As reorder with sectors of 512 bytes; in addition, a sector may hold the beginning or the
        /// end of its next write, and space that a file grew by may hold garbage.
        Torn = "torn",
        /// As reorder; in addition, a write in progress destroys the whole sector of 4 KiB around it.
        NonPowersafeOverwrite = "non-powersafe-overwrite",
        /// The device ignores syncs and loses a tail of at most 64 writes.
        LyingFifo = "lying-fifo",
        /// The device ignores syncs, and any of the last 64 writes may be missing.
        LyingReorder = "lying-reorder",
    }
}

/// The operations that a lying device holds in volatile memory.
pub const LYING_WINDOW: usize = 64;

/// The effect of a sync under a model.
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
    /// Returns the accident that it describes.
    pub fn accident(self) -> Accident {
        match self {
            Model::Kill => Accident::Process,
            _ => Accident::Power,
        }
    }

    /// Returns the model in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Model::Kill => "every write up to the cut persists (the process ended)",
            Model::Ordered => "a prefix of all operations; any sync is a full barrier",
            Model::Ext4Ordered => {
                "metadata as one journal, appended data before its size, overwrites in any order"
            }
            Model::Reorder => {
                "each 4 KiB sector, size and directory entry separately; a sync covers one file"
            }
            Model::Torn => "reorder by 512 bytes, torn within sectors, garbage after growth",
            Model::NonPowersafeOverwrite => {
                "reorder; a write in progress destroys its whole 4 KiB sector"
            }
            Model::LyingFifo => "syncs ignored, the last 64 operations may be lost from the end",
            Model::LyingReorder => "syncs ignored, any of the last 64 operations may be lost",
        }
    }

    /// Returns whether SQLite's default assumptions about hardware cover the model
    /// (<https://sqlite.org/atomiccommit.html#_hardware_assumptions>, <https://sqlite.org/psow.html>).
    pub fn is_within_assumptions(self) -> bool {
        !matches!(self, Model::NonPowersafeOverwrite | Model::LyingFifo | Model::LyingReorder)
    }

    /// Returns whether its states are prefixes of all steps, one for each number of steps.
    pub fn is_prefix(self) -> bool {
        matches!(self, Model::Kill | Model::Ordered | Model::LyingFifo)
    }

    /// Returns the effect of a sync, for models whose states are not prefixes.
    pub fn sync_rule(self) -> SyncRule {
        match self {
            Model::Ext4Ordered => SyncRule::Journal,
            Model::LyingFifo | Model::LyingReorder => SyncRule::Ignored,
            _ => SyncRule::Inode,
        }
    }

    /// Returns the size in bytes of the unit that the page cache and the device keep coherent.
    pub fn sector(self) -> u64 {
        match self {
            Model::Torn => 512,
            _ => 4096,
        }
    }
}
