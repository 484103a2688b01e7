//! Recording what passes through a shim, in order and with every byte written.
//!
//! It stands apart from counting because it keeps data: the record of a workload is what crashes are
//! made of. Reads are left out, since they change nothing that a crash could find.

use super::event::{Event, FileId, FileKind, Observer, SyncKind};
use super::shim::ObservedVfs;
use crate::error::EngineError;
use crate::library::Library;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One successful call of a file system, with what it wrote. The meanings are those of [`Event`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Call {
    /// A file was opened; temporary files may have no name.
    Open {
        file: FileId,
        kind: FileKind,
        name: Option<PathBuf>,
        flags: i32,
        characteristics: i32,
        sector_size: i32,
    },
    /// A file was closed.
    Close { file: FileId, kind: FileKind },
    /// Bytes were written at an offset.
    Write {
        file: FileId,
        kind: FileKind,
        offset: u64,
        bytes: Box<[u8]>,
    },
    /// A file was cut or extended to a size in bytes.
    Truncate {
        file: FileId,
        kind: FileKind,
        size: u64,
    },
    /// A file was synced, and its directory too where `with_directory`.
    Sync {
        file: FileId,
        kind: FileKind,
        sync: SyncKind,
        with_directory: bool,
    },
    /// A name was deleted, and its directory synced where `with_directory`.
    Delete {
        kind: FileKind,
        name: PathBuf,
        with_directory: bool,
    },
    /// A lock on the file was taken.
    Lock {
        file: FileId,
        kind: FileKind,
        level: i32,
    },
    /// A lock on the file was lowered or released.
    Unlock {
        file: FileId,
        kind: FileKind,
        level: i32,
    },
    /// A page was handed out of the memory map.
    Fetch {
        file: FileId,
        kind: FileKind,
        offset: u64,
        length: usize,
    },
    /// A page of the memory map was given back.
    Unfetch {
        file: FileId,
        kind: FileKind,
        offset: u64,
    },
    /// A file control was understood.
    FileControl {
        file: FileId,
        kind: FileKind,
        operation: i32,
    },
    /// A region of the shared memory of a write-ahead log was mapped.
    SharedMemoryMap { file: FileId, region: i32 },
    /// Locks of the shared memory were taken or released.
    SharedMemoryLock {
        file: FileId,
        offset: i32,
        count: i32,
        flags: i32,
    },
    /// A memory barrier.
    SharedMemoryBarrier { file: FileId },
    /// The shared memory was unmapped.
    SharedMemoryUnmap { file: FileId, delete: bool },
}

/// A VFS that records: open connections with [`name`](Self::name), then [`take`](Self::take) the calls.
pub struct RecordingVfs(ObservedVfs<Recorder>);

impl RecordingVfs {
    /// Registers a recording shim over the library's default VFS.
    ///
    /// # Errors
    /// As for [`ObservedVfs::register`].
    pub fn register(library: &Arc<Library>) -> Result<RecordingVfs, EngineError> {
        RecordingVfs::register_over(library, None)
    }

    /// Registers a recording shim over the VFS of that name.
    ///
    /// # Errors
    /// As for [`ObservedVfs::register`].
    pub fn register_over(
        library: &Arc<Library>,
        base: Option<&str>,
    ) -> Result<RecordingVfs, EngineError> {
        let recorder = Arc::new(Recorder::default());
        ObservedVfs::register(library, base, "pragmark-recording", recorder).map(RecordingVfs)
    }

    /// The name to open connections with.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The number of calls recorded since the record was last taken: the position of the next one.
    pub fn position(&self) -> usize {
        self.0.observer().calls().len()
    }

    /// A copy of the record.
    pub fn calls(&self) -> Vec<Call> {
        self.0.observer().calls().clone()
    }

    /// Takes the record, which begins anew.
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.0.observer().calls())
    }
}

/// The observer: calls of all connections in the order in which they ended.
#[derive(Default)]
struct Recorder(Mutex<Vec<Call>>);

impl Recorder {
    /// A panic elsewhere cannot leave a half-written record: calls are pushed whole.
    fn calls(&self) -> MutexGuard<'_, Vec<Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Recorder {
    fn observe(&self, event: &Event<'_>) {
        if let Some(call) = recorded(event) {
            self.calls().push(call);
        }
    }
}

fn path(name: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

/// The event as a call that owns its data; `None` for reads. SQLite gives no negative offsets or sizes.
fn recorded(event: &Event<'_>) -> Option<Call> {
    Some(match *event {
        Event::Read { .. } => return None,
        Event::Open {
            file,
            kind,
            name,
            flags,
            characteristics,
            sector_size,
        } => Call::Open {
            file,
            kind,
            name: name.map(path),
            flags,
            characteristics,
            sector_size,
        },
        Event::Close { file, kind } => Call::Close { file, kind },
        Event::Write {
            file,
            kind,
            offset,
            bytes,
        } => Call::Write {
            file,
            kind,
            offset: offset as u64,
            bytes: bytes.into(),
        },
        Event::Truncate { file, kind, size } => Call::Truncate {
            file,
            kind,
            size: size as u64,
        },
        Event::Sync {
            file,
            kind,
            sync,
            with_directory,
        } => Call::Sync {
            file,
            kind,
            sync,
            with_directory,
        },
        Event::Delete {
            kind,
            name,
            with_directory,
        } => Call::Delete {
            kind,
            name: path(name),
            with_directory,
        },
        Event::Lock { file, kind, level } => Call::Lock { file, kind, level },
        Event::Unlock { file, kind, level } => Call::Unlock { file, kind, level },
        Event::Fetch {
            file,
            kind,
            offset,
            length,
        } => Call::Fetch {
            file,
            kind,
            offset: offset as u64,
            length,
        },
        Event::Unfetch { file, kind, offset } => Call::Unfetch {
            file,
            kind,
            offset: offset as u64,
        },
        Event::FileControl {
            file,
            kind,
            operation,
        } => Call::FileControl {
            file,
            kind,
            operation,
        },
        Event::SharedMemoryMap { file, region } => Call::SharedMemoryMap { file, region },
        Event::SharedMemoryLock {
            file,
            offset,
            count,
            flags,
        } => Call::SharedMemoryLock {
            file,
            offset,
            count,
            flags,
        },
        Event::SharedMemoryBarrier { file } => Call::SharedMemoryBarrier { file },
        Event::SharedMemoryUnmap { file, delete } => Call::SharedMemoryUnmap { file, delete },
    })
}
