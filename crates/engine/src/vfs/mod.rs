//! VFS shims: layers between SQLite and the real file system that watch what is read, written and
//! synced (<https://sqlite.org/vfs.html>).
//!
//! [`Observer`] is the seam: the shim passes every call on unchanged and reports it to an observer, of
//! which [`CountingVfs`] is one. Shims stand apart from connections because nothing that is timed
//! goes through them: counting is a pass of its own.

mod counting;
mod event;
mod file;
mod methods;
mod shim;

pub use counting::{CountingVfs, FileCounts, IoCounts, SharedMemoryCounts};
pub use event::{Event, FileId, FileKind, Observer, SyncKind};
pub use shim::ObservedVfs;
