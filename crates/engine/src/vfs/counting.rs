//! Counting what passes through a shim, by kind of file.

use super::event::{Event, FileKind, Observer, SyncKind};
use super::shim::ObservedVfs;
use crate::error::EngineError;
use crate::library::Library;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Declares a record of counts, the atomics behind it, and how to read and subtract them: once, so that
/// no count can be forgotten in one of the three.
macro_rules! counts {
    ($(#[$doc:meta])* $name:ident, $counters:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64,)*
        }

        impl $name {
            /// What was counted after `earlier`.
            pub fn since(&self, earlier: &$name) -> $name {
                $name { $($field: self.$field - earlier.$field,)* }
            }
        }

        #[derive(Default)]
        struct $counters {
            $($field: AtomicU64,)*
        }

        impl $counters {
            fn read(&self) -> $name {
                $name { $($field: self.$field.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counts! {
    /// What was done to the files of one kind. Only calls that succeeded count.
    FileCounts, FileCounters {
        /// Files opened.
        opens,
        /// Read calls.
        reads,
        /// Bytes asked for by them.
        bytes_read,
        /// Pages handed out of the memory map, which are not among the reads.
        mapped_reads,
        /// Write calls.
        writes,
        /// Bytes written by them.
        bytes_written,
        /// Syncs of any sort.
        syncs,
        /// Those of the syncs with `SQLITE_SYNC_FULL`.
        full_syncs,
        /// Those of the syncs with `SQLITE_SYNC_DATAONLY`.
        data_only_syncs,
        /// Syncs of the directory: asked for with a deletion, or made by SQLite's Unix VFS with the
        /// first sync of a journal or log that it opened for creating.
        directory_syncs,
        /// Changes of size, without those that writing makes.
        truncates,
        /// Files deleted.
        deletes,
    }
}

counts! {
    /// What was done to the shared memory of write-ahead logs.
    SharedMemoryCounts, SharedMemoryCounters {
        /// Calls that map a region.
        maps,
        /// Calls that take or release locks.
        locks,
        /// Memory barriers.
        barriers,
        /// Calls that unmap the memory.
        unmaps,
    }
}

/// Everything a [`CountingVfs`] counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoCounts {
    /// Main and attached databases.
    pub database: FileCounts,
    /// Rollback journals.
    pub journal: FileCounts,
    /// Write-ahead logs.
    pub wal: FileCounts,
    /// Super-journals.
    pub super_journal: FileCounts,
    /// Temporary files of all sorts.
    pub temporary: FileCounts,
    /// The shared memory of write-ahead logs.
    pub shared_memory: SharedMemoryCounts,
}

impl IoCounts {
    /// What was counted after `earlier`, an older reading of the same VFS.
    pub fn since(&self, earlier: &IoCounts) -> IoCounts {
        IoCounts {
            database: self.database.since(&earlier.database),
            journal: self.journal.since(&earlier.journal),
            wal: self.wal.since(&earlier.wal),
            super_journal: self.super_journal.since(&earlier.super_journal),
            temporary: self.temporary.since(&earlier.temporary),
            shared_memory: self.shared_memory.since(&earlier.shared_memory),
        }
    }

    /// Syncs of files of every kind, without those of directories.
    pub fn syncs(&self) -> u64 {
        self.files().map(|counts| counts.syncs).sum()
    }

    /// Bytes written to files of every kind.
    pub fn bytes_written(&self) -> u64 {
        self.files().map(|counts| counts.bytes_written).sum()
    }

    fn files(&self) -> impl Iterator<Item = &FileCounts> {
        [
            &self.database,
            &self.journal,
            &self.wal,
            &self.super_journal,
            &self.temporary,
        ]
        .into_iter()
    }
}

/// A VFS that counts: open connections with [`name`](Self::name), then read [`counts`](Self::counts).
///
/// Attached databases are counted too. The shared-memory file is written through a memory map and
/// never synced, so calls are all there is to count of it.
pub struct CountingVfs(ObservedVfs<Counter>);

impl CountingVfs {
    /// Registers a counting shim over the library's default VFS.
    ///
    /// # Errors
    /// As for [`ObservedVfs::register`].
    pub fn register(library: &Arc<Library>) -> Result<CountingVfs, EngineError> {
        CountingVfs::register_over(library, None)
    }

    /// Registers a counting shim over the VFS of that name.
    ///
    /// # Errors
    /// As for [`ObservedVfs::register`].
    pub fn register_over(
        library: &Arc<Library>,
        base: Option<&str>,
    ) -> Result<CountingVfs, EngineError> {
        let counter = Arc::new(Counter::default());
        ObservedVfs::register(library, base, "pragmark-counting", counter).map(CountingVfs)
    }

    /// The name to open connections with.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// What was counted since registration. Read while other threads use the VFS, the counts may be of
    /// slightly different moments.
    pub fn counts(&self) -> IoCounts {
        self.0.observer().read()
    }
}

/// The observer: atomics without order among them, because they are read when nothing runs.
#[derive(Default)]
struct Counter {
    database: FileCounters,
    journal: FileCounters,
    wal: FileCounters,
    super_journal: FileCounters,
    temporary: FileCounters,
    shared_memory: SharedMemoryCounters,
}

impl Counter {
    fn of(&self, kind: FileKind) -> &FileCounters {
        match kind {
            FileKind::Database => &self.database,
            FileKind::Journal => &self.journal,
            FileKind::Wal => &self.wal,
            FileKind::SuperJournal => &self.super_journal,
            FileKind::Temporary => &self.temporary,
        }
    }

    fn read(&self) -> IoCounts {
        IoCounts {
            database: self.database.read(),
            journal: self.journal.read(),
            wal: self.wal.read(),
            super_journal: self.super_journal.read(),
            temporary: self.temporary.read(),
            shared_memory: self.shared_memory.read(),
        }
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

impl FileCounters {
    fn sync(&self, sync: SyncKind, with_directory: bool) {
        add(&self.syncs, 1);
        add(&self.full_syncs, sync.full.into());
        add(&self.data_only_syncs, sync.data_only.into());
        add(&self.directory_syncs, with_directory.into());
    }
}

impl Observer for Counter {
    fn observe(&self, event: &Event<'_>) {
        match *event {
            Event::Open { kind, .. } => add(&self.of(kind).opens, 1),
            Event::Close { .. }
            | Event::Unfetch { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::FileControl { .. } => {}
            Event::Read { kind, length, .. } => {
                add(&self.of(kind).reads, 1);
                add(&self.of(kind).bytes_read, length as u64);
            }
            Event::Write { kind, bytes, .. } => {
                add(&self.of(kind).writes, 1);
                add(&self.of(kind).bytes_written, bytes.len() as u64);
            }
            Event::Truncate { kind, .. } => add(&self.of(kind).truncates, 1),
            Event::Sync {
                kind,
                sync,
                with_directory,
                ..
            } => {
                self.of(kind).sync(sync, with_directory);
            }
            Event::Delete {
                kind,
                with_directory,
                ..
            } => {
                add(&self.of(kind).deletes, 1);
                add(&self.of(kind).directory_syncs, with_directory.into());
            }
            Event::Fetch { kind, .. } => add(&self.of(kind).mapped_reads, 1),
            Event::SharedMemoryMap { .. } => add(&self.shared_memory.maps, 1),
            Event::SharedMemoryLock { .. } => add(&self.shared_memory.locks, 1),
            Event::SharedMemoryBarrier { .. } => add(&self.shared_memory.barriers, 1),
            Event::SharedMemoryUnmap { .. } => add(&self.shared_memory.unmaps, 1),
        }
    }
}
