//! What a shim reports: the kinds of files and the operations on them.

use crate::ffi;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, c_int};

/// Watches the calls that pass through a shim.
///
/// Called on whichever thread SQLite runs on, after the real VFS succeeded; failed calls are not
/// reported. It must not use the connection at work, nor open one through the same shim; other
/// connections may act, which is how two of them are made to meet at one instant. A panic aborts the
/// process.
pub trait Observer: Send + Sync + 'static {
    /// One call succeeded.
    fn observe(&self, event: &Event<'_>);

    /// A call that takes a lock is about to be made. What another connection does here comes between
    /// what SQLite looked at and the lock that it takes because of it.
    fn about_to_lock(&self) {}

    /// Whether SQLite sleeps when it asks to. It asks while it waits for a lock, which is in vain where
    /// the holder runs on the same thread.
    fn sleeps(&self) -> bool {
        true
    }

    /// Whether syncs reach the disk. They are observed in any case; where no power is ever lost they
    /// only take time.
    fn syncs(&self) -> bool {
        true
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
    /// The kind that the flags of `xOpen` tell (<https://sqlite.org/c3ref/vfs.html>).
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

    /// The kind that a name tells, for `xDelete`, which has no flags: SQLite adds `-journal`, `-wal` or
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

/// A question about files that changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// How large a file is.
    Size,
    /// Whether a file exists or may be used.
    Access,
    /// Whether anyone holds a reserved lock.
    ReservedLock,
}

/// One successful call of a file system.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A file was opened; temporary files have no name.
    Open {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
        /// Its full name.
        name: Option<&'a CStr>,
        /// The flags given to `xOpen`.
        flags: i32,
        /// What the device promises, as `SQLITE_IOCAP_*` bits: they decide which syncs SQLite makes
        /// (<https://sqlite.org/c3ref/c_iocap_atomic.html>).
        characteristics: i32,
        /// The device's sector size in bytes, as the VFS tells it.
        sector_size: i32,
    },
    /// A file was closed.
    Close {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
    },
    /// Bytes were read. A read past the end, which SQLite makes of an empty file, counts too.
    Read {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
        /// Where, in bytes.
        offset: i64,
        /// How many bytes were asked for.
        length: usize,
    },
    /// Bytes were written.
    Write {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
        /// Where, in bytes.
        offset: i64,
        /// What was written.
        bytes: &'a [u8],
    },
    /// A file was cut or extended, be it that a hint of its coming size extended it.
    Truncate {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
        /// The new size in bytes.
        size: i64,
    },
    /// A file was synced.
    Sync {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
        /// How.
        sync: SyncKind,
        /// Whether the file's directory was synced with it: SQLite's Unix VFS does so at the first
        /// sync of every journal or log opened for creating (`os_unix.c`, `UNIXFILE_DIRSYNC`).
        with_directory: bool,
    },
    /// A file was deleted.
    Delete {
        /// Its kind.
        kind: FileKind,
        /// Its full name.
        name: &'a CStr,
        /// Whether SQLite asked for the directory to be synced.
        with_directory: bool,
    },
    /// A page of the file was handed out of the memory map, instead of being read.
    Fetch {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
        /// Where, in bytes.
        offset: i64,
        /// How many bytes.
        length: usize,
    },
    /// A page handed out of the memory map was given back; without a page, the map may go.
    Unfetch {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
        /// Where, in bytes.
        offset: i64,
    },
    /// A lock on the file was taken (<https://sqlite.org/lockingv3.html>).
    Lock {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
        /// The level reached: 1 shared, 2 reserved, 3 pending, 4 exclusive.
        level: i32,
    },
    /// A lock on the file was lowered or released.
    Unlock {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
        /// The level that is left: 0 none, 1 shared.
        level: i32,
    },
    /// A file control was understood by the VFS (<https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html>).
    FileControl {
        /// The file.
        file: FileId,
        /// Its kind.
        kind: FileKind,
        /// The control's number.
        operation: i32,
    },
    /// A question was answered.
    Asked {
        /// Which.
        question: Question,
    },
    /// A region of the shared memory of a write-ahead log was mapped.
    SharedMemoryMap {
        /// The database the memory belongs to.
        file: FileId,
        /// The region's number.
        region: i32,
    },
    /// Locks of the shared memory were taken or released.
    SharedMemoryLock {
        /// The database the memory belongs to.
        file: FileId,
        /// The first lock.
        offset: i32,
        /// How many.
        count: i32,
        /// The flags given to `xShmLock`.
        flags: i32,
    },
    /// A memory barrier.
    SharedMemoryBarrier {
        /// The database the memory belongs to.
        file: FileId,
    },
    /// The shared memory was unmapped.
    SharedMemoryUnmap {
        /// The database the memory belongs to.
        file: FileId,
        /// Whether its file was to be deleted.
        delete: bool,
    },
}
