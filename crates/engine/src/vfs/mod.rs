//! VFS shims: layers between SQLite and the real file system that watch what is read, written and synced
//! (<https://sqlite.org/vfs.html>).
//!
//! The shim passes every call on unchanged and reports it to an [`Observer`], such as the ones of
//! [`CountingVfs`] and [`RecordingVfs`]. Shims stand apart from connections because nothing that is timed
//! goes through them: counting is a pass of its own.
//!
//! [`MemoryVfs`] is not a shim but a file system in memory. Crash images are recovered in it thousands of
//! times a second, and a shim can lie over it as over any other.

mod counting;
mod event;
mod file;
mod memory;
mod overlay;
mod recording;
mod shim;

pub use counting::{CountingVfs, FileCounts, IoCounts, SharedMemoryCounts};
pub use event::{ClockAhead, Event, FileId, FileKind, Observer, Operation, Query, SyncKind};
pub use memory::{BLOCK, Base, Block, Bytes, Changed, MemoryOptions, MemoryVfs};
pub use overlay::Overlay;
pub use recording::{Call, RecordingVfs};
pub use shim::ObservedVfs;
