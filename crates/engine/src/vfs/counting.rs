//! Counting what passes through a shim, by kind of file.

use super::event::{Event, FileKind, Observer, Operation};
use super::shim::ObservedVfs;
use crate::error::Result;
use crate::library::Library;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Declares a record of counts, the atomics behind it, and how to read and subtract them. One declaration
/// keeps a count from being forgotten in one of the three.
macro_rules! counts {
    ($(#[$doc:meta])* $name:ident, $counters:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64,)*
        }

        impl $name {
            /// Returns the counts after `earlier`.
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
    /// Counts of calls on the files of one kind. Only calls that succeeded count.
    FileCounts, FileCounters {
        /// Files opened.
        opens,
        /// Read calls.
        reads,
        /// Bytes requested by them.
        bytes_read,
        /// Pages handed out of the memory map, which are not among the reads.
        mapped_reads,
        /// Write calls.
        writes,
        /// Bytes written by them.
        bytes_written,
        /// Syncs of any sort.
        syncs,
        /// The syncs with `SQLITE_SYNC_FULL`.
        full_syncs,
        /// The syncs with `SQLITE_SYNC_DATAONLY`.
        data_only_syncs,
        /// Syncs of the directory: requested with a deletion, or made by SQLite's Unix VFS with the
        /// first sync of a journal or log that it opened for creating.
        directory_syncs,
        /// Changes of size, without those that writing makes.
        truncates,
        /// Files deleted.
        deletes,
    }
}

counts! {
    /// Counts of calls on the shared memory of write-ahead logs.
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

/// Declares the record of all counts and the counters behind it.
macro_rules! totals {
    ($($(#[$doc:meta])* $field:ident: $counts:ident = $counters:ident,)*) => {
        /// Everything a [`CountingVfs`] counts.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct IoCounts {
            $($(#[$doc])* pub $field: $counts,)*
        }

        impl IoCounts {
            /// Returns the counts after `earlier`, an older reading of the same VFS.
            pub fn since(&self, earlier: &IoCounts) -> IoCounts {
                IoCounts { $($field: self.$field.since(&earlier.$field),)* }
            }
        }

        /// The observer: atomics without order among them, because they are read when nothing runs.
        #[derive(Default)]
        struct Counter {
            $($field: $counters,)*
        }

        impl Counter {
            fn read(&self) -> IoCounts {
                IoCounts { $($field: self.$field.read(),)* }
            }
        }
    };
}

totals! {
    /// Main and attached databases.
    database: FileCounts = FileCounters,
    /// Rollback journals.
    journal: FileCounts = FileCounters,
    /// Write-ahead logs.
    wal: FileCounts = FileCounters,
    /// Super-journals.
    super_journal: FileCounts = FileCounters,
    /// Temporary files of all sorts.
    temporary: FileCounts = FileCounters,
    /// The shared memory of write-ahead logs.
    shared_memory: SharedMemoryCounts = SharedMemoryCounters,
}

impl IoCounts {
    /// Returns the syncs of files of every kind, without directories.
    pub fn syncs(&self) -> u64 {
        self.files().map(|counts| counts.syncs).sum()
    }

    /// Bytes written to files of every kind.
    pub fn bytes_written(&self) -> u64 {
        self.files().map(|counts| counts.bytes_written).sum()
    }

    fn files(&self) -> impl Iterator<Item = &FileCounts> {
        [&self.database, &self.journal, &self.wal, &self.super_journal, &self.temporary].into_iter()
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
    pub fn register(library: &Arc<Library>) -> Result<CountingVfs> {
        CountingVfs::register_over(library, None)
    }

    /// Registers a counting shim over the VFS of that name.
    ///
    /// # Errors
    /// As for [`ObservedVfs::register`].
    pub fn register_over(library: &Arc<Library>, base: Option<&str>) -> Result<CountingVfs> {
        let counter = Arc::new(Counter::default());
        ObservedVfs::register(library, base, "pragmark-counting", counter).map(CountingVfs)
    }

    /// Returns the name to open connections with.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns the counts since registration. If other threads use the VFS meanwhile, the counts may be of
    /// slightly different moments.
    pub fn counts(&self) -> IoCounts {
        self.0.observer().read()
    }
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
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

impl Observer for Counter {
    fn observe(&self, event: &Event<'_>) {
        let (files, shared_memory) = (self.of(event.kind), &self.shared_memory);
        match event.operation {
            Operation::Open { .. } => add(&files.opens, 1),
            Operation::Read { length, .. } => {
                add(&files.reads, 1);
                add(&files.bytes_read, length as u64);
            }
            Operation::Write { bytes, .. } => {
                add(&files.writes, 1);
                add(&files.bytes_written, bytes.len() as u64);
            }
            Operation::Truncate { .. } => add(&files.truncates, 1),
            Operation::Sync { sync, with_directory } => {
                add(&files.syncs, 1);
                add(&files.full_syncs, sync.full.into());
                add(&files.data_only_syncs, sync.data_only.into());
                add(&files.directory_syncs, with_directory.into());
            }
            Operation::Delete { with_directory, .. } => {
                add(&files.deletes, 1);
                add(&files.directory_syncs, with_directory.into());
            }
            Operation::Fetch { .. } => add(&files.mapped_reads, 1),
            Operation::SharedMemoryMap { .. } => add(&shared_memory.maps, 1),
            Operation::SharedMemoryLock { .. } => add(&shared_memory.locks, 1),
            Operation::SharedMemoryBarrier => add(&shared_memory.barriers, 1),
            Operation::SharedMemoryUnmap { .. } => add(&shared_memory.unmaps, 1),
            Operation::Close
            | Operation::Unfetch { .. }
            | Operation::Lock { .. }
            | Operation::Unlock { .. }
            | Operation::FileControl { .. }
            | Operation::Query(_) => {}
        }
    }
}
