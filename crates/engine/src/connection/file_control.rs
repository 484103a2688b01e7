//! File controls: settings that go past SQL to the VFS.

use super::Connection;
use crate::error::EngineError;
use crate::ffi;

impl Connection {
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
        // SAFETY: the handle is open; this control writes one pointer, to a file that lives as long as
        // the connection.
        let code = unsafe {
            (self.handle.api().file_control)(
                self.as_ptr(),
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_FILE_POINTER,
                (&raw mut file).cast(),
            )
        };
        self.handle.check(code, "requesting the database file")?;
        if file.is_null() {
            return Ok(None);
        }
        // SAFETY: not null, hence a file whose methods are null only where it is not open.
        Ok(unsafe {
            let methods = (*file).pMethods;
            (!methods.is_null()).then(|| ((*methods).xDeviceCharacteristics)(file))
        })
    }
}
