//! Recording what passes through a shim, in order and with every byte written.
//!
//! It stands apart from counting because it keeps data: crash images are made from the record of a
//! workload. Reads, locks and shared memory are left out, because they leave no trace on a disk.

use super::event::{Event, FileId, FileKind, Observer, Operation, SyncKind};
use super::shim::ObservedVfs;
use crate::error::Result;
use crate::library::Library;
use crate::locks::locked;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A successful call that matters after a crash, with the meanings of [`Operation`](super::Operation).
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
    Write { file: FileId, kind: FileKind, offset: u64, bytes: Box<[u8]> },
    /// A file was cut or extended to a size in bytes.
    Truncate { file: FileId, kind: FileKind, size: u64 },
    /// A file was synced, and its directory too where `with_directory`.
    Sync { file: FileId, kind: FileKind, sync: SyncKind, with_directory: bool },
    /// A name was deleted, and its directory synced where `with_directory`.
    Delete { kind: FileKind, name: PathBuf, with_directory: bool },
}

/// A VFS that records: open connections with [`name`](Self::name), then [`take`](Self::take) the calls.
pub struct RecordingVfs(ObservedVfs<Recorder>);

impl RecordingVfs {
    /// Registers a recording shim over the VFS of that name, or the library's default one.
    ///
    /// # Errors
    /// As for [`ObservedVfs::register`].
    pub fn register(library: &Arc<Library>, base: Option<&str>) -> Result<RecordingVfs> {
        let recorder = Arc::new(Recorder::default());
        ObservedVfs::register(library, base, "pragmark-recording", recorder).map(RecordingVfs)
    }

    /// Returns the name to open connections with.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns the number of calls recorded since the record was last taken: the position of the next one.
    pub fn position(&self) -> usize {
        locked(&self.0.observer().0).len()
    }

    /// Returns a copy of the record.
    pub fn calls(&self) -> Vec<Call> {
        locked(&self.0.observer().0).clone()
    }

    /// Returns the bytes written by the calls from this one on.
    pub fn written_since(&self, position: usize) -> u64 {
        let calls = locked(&self.0.observer().0);
        let written = calls.iter().skip(position).map(|call| match call {
            Call::Write { bytes, .. } => bytes.len() as u64,
            _ => 0,
        });
        written.sum()
    }

    /// Forgets the calls from this position on.
    pub fn forget_since(&self, position: usize) {
        locked(&self.0.observer().0).truncate(position);
    }

    /// Takes the record, which begins anew.
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut locked(&self.0.observer().0))
    }
}

/// The observer: calls of all connections in the order in which they ended.
#[derive(Default)]
struct Recorder(Mutex<Vec<Call>>);

impl Observer for Recorder {
    fn observe(&self, event: &Event<'_>) {
        if let Some(call) = recorded(event) {
            locked(&self.0).push(call);
        }
    }
}

fn path(name: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

/// Returns the event as a call that owns its data; `None` for what leaves no trace on a disk. SQLite passes
/// no negative offsets or sizes.
fn recorded(event: &Event<'_>) -> Option<Call> {
    let Event { file, kind, .. } = *event;
    Some(match event.operation {
        Operation::Open { name, flags, characteristics, sector_size } => {
            Call::Open { file, kind, name: name.map(path), flags, characteristics, sector_size }
        }
        Operation::Close => Call::Close { file, kind },
        Operation::Write { offset, bytes } => {
            Call::Write { file, kind, offset: offset as u64, bytes: bytes.into() }
        }
        Operation::Truncate { size } => Call::Truncate { file, kind, size: size as u64 },
        Operation::Sync { sync, with_directory } => Call::Sync { file, kind, sync, with_directory },
        Operation::Delete { name, with_directory } => {
            Call::Delete { kind, name: path(name), with_directory }
        }
        _ => return None,
    })
}
