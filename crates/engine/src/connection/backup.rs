//! Copying a database that others may use (<https://sqlite.org/backup.html>).

use super::Connection;
use crate::error::{During, Result, unsupported};
use crate::ffi;
use std::ffi::c_int;
use std::sync::Arc;

impl Connection {
    /// Copies the whole main database of this connection over the one of `target`, as one read transaction
    /// sees it. Waits for locks as the busy timeouts of both connections say.
    ///
    /// # Errors
    /// SQLite's; busy, if a lock stayed in the way; an engine without backups; connections of two libraries.
    pub fn copy_to(&self, target: &Connection) -> Result<()> {
        const ALL_PAGES: c_int = -1;
        self.copy(target, ALL_PAGES)
    }

    /// Copies as [`copy_to`](Self::copy_to), but page by page, with a read transaction for each: others may write
    /// meanwhile, and SQLite then starts over.
    ///
    /// # Errors
    /// As [`copy_to`](Self::copy_to).
    pub fn copy_by_pages(&self, target: &Connection) -> Result<()> {
        self.copy(target, 1)
    }

    /// Copies this number of pages at a time.
    fn copy(&self, target: &Connection, pages: c_int) -> Result<()> {
        let api = self.handle.api();
        let missing = |what| unsupported(what, "sqlite3_backup_init");
        if !Arc::ptr_eq(self.library(), target.library()) {
            return Err(missing("backup from one library to another"));
        }
        let init = api.backup_init.ok_or(missing("backup interface"))?;
        let step = api.backup_step.ok_or(missing("backup interface"))?;
        let finish = api.backup_finish.ok_or(missing("backup interface"))?;
        let main = c"main".as_ptr();
        // SAFETY: both handles are open, of one library, and outlive the backup, which ends below.
        let backup = unsafe { init(target.as_ptr(), main, self.as_ptr(), main) };
        if backup.is_null() {
            let during = || During::Call("beginning a copy of the database");
            return Err(target.handle.error(during));
        }
        // SAFETY: the backup was just begun, and is finished once, after its last step.
        let (code, finished) = unsafe {
            let mut code = step(backup, pages);
            while code == ffi::SQLITE_OK {
                code = step(backup, pages);
            }
            (code, finish(backup))
        };
        let code = if code == ffi::SQLITE_DONE { finished } else { code };
        self.handle.check(code, "copying the database")
    }
}
