//! File controls: settings that go past SQL to the VFS.

use super::Connection;
use crate::error::EngineError;
use crate::ffi;
use std::ffi::{CStr, c_char, c_int};

impl Connection {
    /// Sets whether the write-ahead log stays when the last connection closes, or leaves that for
    /// `None`, and returns how it stands (`SQLITE_FCNTL_PERSIST_WAL`).
    ///
    /// # Errors
    /// The VFS does not know the switch (a database in memory).
    pub fn persist_wal(&self, on: Option<bool>) -> Result<bool, EngineError> {
        let mut value: c_int = on.map_or(-1, c_int::from);
        // SAFETY: this control reads and writes one `int`.
        let code =
            unsafe { self.file_control(ffi::SQLITE_FCNTL_PERSIST_WAL, (&raw mut value).cast()) };
        self.handle
            .check(code, "setting whether the write-ahead log stays")?;
        Ok(value != 0)
    }

    /// The VFS that the main database's file is in, as it calls itself: the observing shims pass the
    /// question on to the VFS below them. `None` where there is no file (a database in memory).
    ///
    /// # Errors
    /// SQLite's.
    pub fn vfs_name(&self) -> Result<Option<String>, EngineError> {
        let mut name: *mut c_char = std::ptr::null_mut();
        // SAFETY: this control writes one pointer to a string of SQLite's allocator.
        let code = unsafe { self.file_control(ffi::SQLITE_FCNTL_VFSNAME, (&raw mut name).cast()) };
        if code != ffi::SQLITE_NOTFOUND {
            self.handle.check(code, "asking for the name of the VFS")?;
        }
        if name.is_null() {
            return Ok(None);
        }
        // SAFETY: not null, hence a C string, which is copied and then freed once.
        unsafe {
            let owned = CStr::from_ptr(name).to_string_lossy().into_owned();
            (self.handle.api().free)(name.cast());
            Ok(Some(owned))
        }
    }

    /// What the device under the main database promises, as SQLite's `SQLITE_IOCAP_*` bits
    /// (<https://sqlite.org/c3ref/c_iocap_atomic.html>); they decide which syncs SQLite makes. `None`
    /// for a database without a file.
    ///
    /// They are fixed when the file is opened. Powersafe overwrite is chosen with the URI parameter
    /// `psow`; the file control of that name comes too late to change them.
    ///
    /// # Errors
    /// SQLite's.
    pub fn device_characteristics(&self) -> Result<Option<i32>, EngineError> {
        let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
        // SAFETY: this control writes one pointer, to a file that lives as long as the connection.
        let code =
            unsafe { self.file_control(ffi::SQLITE_FCNTL_FILE_POINTER, (&raw mut file).cast()) };
        self.handle.check(code, "asking for the database file")?;
        if file.is_null() {
            return Ok(None);
        }
        // SAFETY: not null, hence a file whose methods are null only where it is not open.
        Ok(unsafe {
            let methods = (*file).pMethods;
            (!methods.is_null()).then(|| ((*methods).xDeviceCharacteristics)(file))
        })
    }

    /// # Safety
    /// `argument` must be what the control `operation` expects.
    unsafe fn file_control(&self, operation: c_int, argument: *mut std::ffi::c_void) -> c_int {
        // SAFETY: the handle is open; the caller vouches for the argument.
        unsafe {
            (self.handle.api().file_control)(self.as_ptr(), c"main".as_ptr(), operation, argument)
        }
    }
}
