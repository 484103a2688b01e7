//! File controls: settings that go past SQL to the VFS.

use super::Connection;
use crate::error::EngineError;
use crate::ffi;
use std::ffi::{CStr, c_char, c_int};

/// A switch of the main database's file (<https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum FileSwitch {
    /// Keep the write-ahead log when the last connection closes.
    PersistWal = ffi::SQLITE_FCNTL_PERSIST_WAL,
    /// Trust that a write never damages bytes beside those written.
    PowersafeOverwrite = ffi::SQLITE_FCNTL_POWERSAFE_OVERWRITE,
}

impl Connection {
    /// Sets a switch of the file, or leaves it for `None`, and returns how it stands.
    ///
    /// # Errors
    /// The VFS does not know the switch (a database in memory has none).
    pub fn file_switch(&self, switch: FileSwitch, on: Option<bool>) -> Result<bool, EngineError> {
        let mut value: c_int = on.map_or(-1, c_int::from);
        // SAFETY: these controls read and write one `int`.
        let code = unsafe { self.file_control(switch as c_int, (&raw mut value).cast()) };
        self.handle
            .check(code, "setting a switch of the database file")?;
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
