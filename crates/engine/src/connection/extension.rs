//! Loadable extensions: code from a shared library that adds functions, tables or tokenizers.

use super::Connection;
use crate::error::{During, EngineError, SqliteError, unsupported};
use crate::ffi;
use crate::text::{c_string, copied};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl Connection {
    /// Loads the extension at `path` by its own entry point
    /// (<https://sqlite.org/c3ref/load_extension.html>). SQL gets no right to load others.
    ///
    /// # Errors
    /// An engine that cannot load extensions, a file that is not one, or what its entry point says;
    /// each names the path.
    pub fn load_extension(&self, path: &Path) -> Result<(), EngineError> {
        let api = self.handle.api();
        let (Some(enable), Some(load)) = (api.enable_load_extension, api.load_extension) else {
            return Err(unsupported("loadable extensions", "sqlite3_load_extension"));
        };
        let name = c_string(path.as_os_str().as_bytes(), "path of the extension")?;
        let mut message = std::ptr::null_mut();
        // SAFETY: the handle is open, the name is a C string, a null entry point means the
        // default one, and `message` is a valid pointer. The extension itself is code that the user
        // chose to run. Loading is allowed for the time of the call only.
        let code = unsafe {
            enable(self.as_ptr(), 1);
            let code = load(self.as_ptr(), name.as_ptr(), std::ptr::null(), &mut message);
            enable(self.as_ptr(), 0);
            code
        };
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        // SAFETY: SQLite gives null or a C string of its own memory, which is freed once copied.
        let reason = unsafe {
            let reason = copied(message);
            (api.free)(message.cast());
            reason
        };
        let reason = reason.as_deref().unwrap_or("no reason given");
        let message = format!("{}: {reason}", path.display());
        Err(SqliteError::new(code, message, During::Call("loading the extension")).into())
    }
}
