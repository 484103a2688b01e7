//! The events that a shim reports: the kinds of files and the operations on them.

use crate::ffi;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, c_int};
use std::io;

/// Watches the calls that pass through a shim.
///
/// Called on whichever thread SQLite runs on, after the real VFS succeeded; failed calls are not
/// reported. It must not use the connection that makes the call, nor open one through the same shim;
/// other connections may act, which is how two of them are interleaved. A panic aborts the process.
pub trait Observer: Send + Sync + 'static {
    /// One call succeeded.
    fn observe(&self, event: &Event<'_>);

    /// A call that takes a lock is about to be made. Acts of another connection here fall between SQLite's
    /// read and the lock that it takes because of it.
    fn about_to_lock(&self) {}

    /// Returns whether SQLite sleeps when it wants to. It does while it waits for a lock, which is futile if
    /// the holder runs on the same thread.
    fn sleeps(&self) -> bool {
        true
    }

    /// Returns whether syncs reach the disk. They are observed either way; where power is never lost they
    /// only cost time.
    fn syncs(&self) -> bool {
        true
    }

    /// Returns the milliseconds by which SQLite's clock is ahead of the real one.
    fn clock_ahead(&self) -> i64 {
        0
    }

    /// Reads bytes in place of the real file. Returns `false` to let the file be read.
    ///
    /// # Errors
    /// They cannot be read.
    fn read(&self, _kind: FileKind, _offset: i64, _bytes: &mut [u8]) -> io::Result<bool> {
        Ok(false)
    }
}

/// Observes nothing, with a clock that is this many milliseconds ahead.
pub struct ClockAhead(pub i64);

impl Observer for ClockAhead {
    fn observe(&self, _: &Event<'_>) {}

    fn clock_ahead(&self) -> i64 {
        self.0
    }
}

/// The kinds of files SQLite has (<https://sqlite.org/tempfiles.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// A main or attached database.
    Database,
    /// Its rollback journal.
    Journal,
    /// Its write-ahead log.
    Wal,
    /// A super-journal, for commits that span databases.
    SuperJournal,
    /// Temporary databases, their journals, statement journals and sorter files.
    Temporary,
}

impl FileKind {
    /// Returns the kind given by the flags of `xOpen` (<https://sqlite.org/c3ref/vfs.html>).
    pub(super) fn of_flags(flags: c_int) -> FileKind {
        let has = |flag| flags & flag != 0;
        if has(ffi::SQLITE_OPEN_MAIN_DB) {
            FileKind::Database
        } else if has(ffi::SQLITE_OPEN_MAIN_JOURNAL) {
            FileKind::Journal
        } else if has(ffi::SQLITE_OPEN_WAL) {
            FileKind::Wal
        } else if has(ffi::SQLITE_OPEN_SUPER_JOURNAL) {
            FileKind::SuperJournal
        } else {
            FileKind::Temporary
        }
    }

    /// Returns the kind given by a name, for `xDelete`, which has no flags: SQLite adds `-journal`, `-wal` or
    /// `-mj` and nine hexadecimal digits to the database's name (`vdbe.c`, `vdbeaux.c`).
    pub(super) fn of_name(name: &CStr) -> FileKind {
        let name = name.to_bytes();
        if name.ends_with(b"-journal") {
            FileKind::Journal
        } else if name.ends_with(b"-wal") {
            FileKind::Wal
        } else if is_super_journal(name) {
            FileKind::SuperJournal
        } else {
            FileKind::Database
        }
    }
}

fn is_super_journal(name: &[u8]) -> bool {
    const SUFFIX: usize = "-mj".len() + 9;
    name.len() > SUFFIX && {
        let (mark, digits) = name[name.len() - SUFFIX..].split_at(3);
        mark == b"-mj" && digits.iter().all(u8::is_ascii_hexdigit)
    }
}

/// An open file, numbered from 1 in the order of opening within one shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId(pub u64);

impl FileId {
    /// No open file: the call takes a name.
    pub const NONE: FileId = FileId(0);
}

/// How much a sync must reach, and what of it (<https://sqlite.org/c3ref/c_sync_dataonly.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncKind {
    /// `SQLITE_SYNC_FULL`: F_FULLFSYNC on macOS; otherwise as normal.
    pub full: bool,
    /// `SQLITE_SYNC_DATAONLY`: the inode need not be synced.
    pub data_only: bool,
}

impl SyncKind {
    pub(super) fn of_flags(flags: c_int) -> SyncKind {
        SyncKind {
            full: flags & 0x0f == ffi::SQLITE_SYNC_FULL,
            data_only: flags & ffi::SQLITE_SYNC_DATAONLY != 0,
        }
    }
}

/// A query that changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// How large a file is.
    Size,
    /// Whether a file exists or may be used.
    Access,
    /// Whether any connection holds a reserved lock.
    ReservedLock,
}

/// One successful call of a file system.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// The open file, or [`FileId::NONE`]. For shared memory: the database that it belongs to.
    pub file: FileId,
    /// The kind of the file.
    pub kind: FileKind,
    /// The operation.
    pub operation: Operation<'a>,
}

/// An operation of a call. Offsets, lengths and sizes are in bytes.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[allow(missing_docs)] // Variants describe their fields.
pub enum Operation<'a> {
    /// A file was opened; temporary files have no name.
    Open {
        /// Its full name.
        name: Option<&'a CStr>,
        /// The flags given to `xOpen`.
        flags: i32,
        /// The promises of the device, as `SQLITE_IOCAP_*` bits: they decide which syncs SQLite makes
        /// (<https://sqlite.org/c3ref/c_iocap_atomic.html>).
        characteristics: i32,
        /// The device's sector size in bytes, as reported by the VFS.
        sector_size: i32,
    },
    /// A file was closed.
    Close,
    /// Bytes were requested from this offset on and read. A read past the end, which SQLite makes of an empty file, counts too.
    Read { offset: i64, length: usize },
    /// Bytes were written from this offset on.
    Write { offset: i64, bytes: &'a [u8] },
    /// A file was cut or extended to this size, possibly because of a hint about its coming size.
    Truncate { size: i64 },
    /// A file was synced, its directory with it or not: SQLite's Unix VFS syncs it at the first sync of every journal or log opened
    /// for creating (`os_unix.c`, `UNIXFILE_DIRSYNC`).
    Sync { sync: SyncKind, with_directory: bool },
    /// A file was deleted, by its full name, with a sync of the directory if SQLite requested one.
    Delete { name: &'a CStr, with_directory: bool },
    /// A page of the file, from this offset on, was handed out of the memory map instead of being read.
    Fetch { offset: i64, length: usize },
    /// A page handed out of the memory map, from this offset on, was given back; without a page, the map may go.
    Unfetch { offset: i64 },
    /// A lock on the file was taken (<https://sqlite.org/lockingv3.html>), which reached a level: 1 shared, 2 reserved, 3 pending,
    /// 4 exclusive.
    Lock { level: i32 },
    /// A lock on the file was lowered to a level or released: 0 none, 1 shared.
    Unlock { level: i32 },
    /// A file control of this number was understood by the VFS (<https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html>).
    FileControl { control: i32 },
    /// A query was answered.
    Query(Query),
    /// A region of the shared memory of a write-ahead log was mapped, by its number.
    SharedMemoryMap { region: i32 },
    /// Locks of the shared memory were taken or released: this number from the first one on, with the flags given to `xShmLock`.
    SharedMemoryLock { offset: i32, count: i32, flags: i32 },
    /// A memory barrier.
    SharedMemoryBarrier,
    /// The shared memory was unmapped, and its file was to be deleted or not.
    SharedMemoryUnmap { delete: bool },
}
