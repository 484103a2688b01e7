//! Counting what passes through a shim, by kind of file.

use super::event::{Event, FileKind, Observer, Operation};
use super::shim::ObservedVfs;
use crate::error::Result;
use crate::library::Library;
use crate::locks::locked;
use serde::{Deserialize, Serialize};
use std::ops::Sub;
use std::sync::{Arc, Mutex};

/// Declares a record of counts, and how to subtract them.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $count:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $count,)*
        }

        /// The counts after `earlier`, an older reading of the same VFS.
        impl Sub for $name {
            type Output = $name;

            fn sub(self, earlier: $name) -> $name {
                $name { $($field: self.$field - earlier.$field,)* }
            }
        }
    )*};
}

counts! {
    /// Counts of calls on the files of one kind. Only calls that succeeded count.
    FileCounts {
        /// Files opened.
        opens: u64,
        /// Read calls.
        reads: u64,
        /// Bytes requested by them.
        bytes_read: u64,
        /// Pages handed out of the memory map, which are not among the reads.
        mapped_reads: u64,
        /// Write calls.
        writes: u64,
        /// Bytes written by them.
        bytes_written: u64,
        /// Syncs of any sort.
        syncs: u64,
        /// The syncs with `SQLITE_SYNC_FULL`.
        full_syncs: u64,
        /// The syncs with `SQLITE_SYNC_DATAONLY`.
        data_only_syncs: u64,
        /// Syncs of the directory: requested with a deletion, or made by SQLite's Unix VFS with the
        /// first sync of a journal or log that it opened for creating.
        directory_syncs: u64,
        /// Changes of size, without those that writing makes.
        truncates: u64,
        /// Files deleted.
        deletes: u64,
    }

    /// Counts of calls on the shared memory of write-ahead logs.
    SharedMemoryCounts {
        /// Calls that map a region.
        maps: u64,
        /// Calls that take or release locks.
        locks: u64,
        /// Memory barriers.
        barriers: u64,
        /// Calls that unmap the memory.
        unmaps: u64,
    }

    /// Everything a [`CountingVfs`] counts.
    IoCounts {
        /// Main and attached databases.
        database: FileCounts,
        /// Rollback journals.
        journal: FileCounts,
        /// Write-ahead logs.
        wal: FileCounts,
        /// Super-journals.
        super_journal: FileCounts,
        /// Temporary files of all sorts.
        temporary: FileCounts,
        /// The shared memory of write-ahead logs.
        shared_memory: SharedMemoryCounts,
    }
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
    /// Registers a counting shim over the VFS of that name, or the library's default one.
    ///
    /// # Errors
    /// As for [`ObservedVfs::register`].
    pub fn register(library: &Arc<Library>, base: Option<&str>) -> Result<CountingVfs> {
        let counter = Arc::new(Counter::default());
        ObservedVfs::register(library, base, "pragmark-counting", counter).map(CountingVfs)
    }

    /// Returns the name to open connections with.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns the counts since registration.
    pub fn counts(&self) -> IoCounts {
        *locked(&self.0.observer().0)
    }
}

/// The observer. Nothing that passes through it is timed.
#[derive(Default)]
struct Counter(Mutex<IoCounts>);

impl Observer for Counter {
    fn observe(&self, event: &Event<'_>) {
        let counts = &mut *locked(&self.0);
        let files = match event.kind {
            FileKind::Database => &mut counts.database,
            FileKind::Journal => &mut counts.journal,
            FileKind::Wal => &mut counts.wal,
            FileKind::SuperJournal => &mut counts.super_journal,
            FileKind::Temporary => &mut counts.temporary,
        };
        match event.operation {
            Operation::Open { .. } => files.opens += 1,
            Operation::Read { length, .. } => {
                files.reads += 1;
                files.bytes_read += length as u64;
            }
            Operation::Write { bytes, .. } => {
                files.writes += 1;
                files.bytes_written += bytes.len() as u64;
            }
            Operation::Truncate { .. } => files.truncates += 1,
            Operation::Sync { sync, with_directory } => {
                files.syncs += 1;
                files.full_syncs += u64::from(sync.full);
                files.data_only_syncs += u64::from(sync.data_only);
                files.directory_syncs += u64::from(with_directory);
            }
            Operation::Delete { with_directory, .. } => {
                files.deletes += 1;
                files.directory_syncs += u64::from(with_directory);
            }
            Operation::Fetch { .. } => files.mapped_reads += 1,
            Operation::SharedMemoryMap { .. } => counts.shared_memory.maps += 1,
            Operation::SharedMemoryLock { .. } => counts.shared_memory.locks += 1,
            Operation::SharedMemoryBarrier => counts.shared_memory.barriers += 1,
            Operation::SharedMemoryUnmap { .. } => counts.shared_memory.unmaps += 1,
            Operation::Close
            | Operation::Unfetch { .. }
            | Operation::Lock { .. }
            | Operation::Unlock { .. }
            | Operation::FileControl { .. }
            | Operation::Query(_) => {}
        }
    }
}
