//! The flags a connection is opened with.

use crate::ffi;
use std::ffi::c_int;
use std::ops::BitOr;

/// How to open a database (<https://sqlite.org/c3ref/open.html>). Flags are joined with `|`.
///
/// The default is to read, write and create, with the threading mode the library was compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFlags(c_int);

impl OpenFlags {
    /// Read only.
    pub const READ_ONLY: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_READONLY);
    /// Read and write; the file must exist.
    pub const READ_WRITE: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_READWRITE);
    /// With `READ_WRITE`: create the file if it is not there.
    pub const CREATE: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_CREATE);
    /// The path may be a URI (`file:…?mode=ro`).
    pub const URI: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_URI);
    /// Multi-thread mode: the connection has no mutex of its own.
    pub const NO_MUTEX: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_NOMUTEX);
    /// Serialised mode: every call takes the connection's mutex.
    pub const FULL_MUTEX: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_FULLMUTEX);

    /// The flags as `sqlite3_open_v2` takes them.
    pub const fn bits(self) -> c_int {
        self.0
    }
}

impl Default for OpenFlags {
    fn default() -> OpenFlags {
        OpenFlags::READ_WRITE | OpenFlags::CREATE
    }
}

impl BitOr for OpenFlags {
    type Output = OpenFlags;

    fn bitor(self, other: OpenFlags) -> OpenFlags {
        OpenFlags(self.0 | other.0)
    }
}
