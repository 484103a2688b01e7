//! The handle of a connection.

use crate::confinement;
use crate::error::{During, EngineError, Result, SqliteError, unsupported};
use crate::ffi::{self, Api};
use crate::library::Library;
use crate::text::copied;
use std::ffi::{CStr, c_int};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

/// An open database connection. Exactly one exists per `sqlite3*`.
///
/// Not `Sync`: even in serialised mode the error code and message belong to the last call of any
/// thread, and a NOMUTEX connection allows one thread at a time.
pub(crate) struct DatabaseHandle {
    raw: NonNull<ffi::sqlite3>,
    library: Arc<Library>,
}

// SAFETY: SQLite lets a connection move between threads as long as one uses it at a time, in every
// mode but THREADSAFE=0 (https://sqlite.org/threadsafe.html); of such a library `Library::enter` lets
// only one connection exist, so that moving it moves all use of the library.
unsafe impl Send for DatabaseHandle {}

impl DatabaseHandle {
    /// Opens `name`, which is `path` as a C string; the path itself is for the message.
    pub(crate) fn open(
        library: &Arc<Library>,
        name: &CStr,
        path: &Path,
        flags: c_int,
        vfs: Option<&CStr>,
    ) -> Result<DatabaseHandle> {
        library.enter()?;
        let mut raw = std::ptr::null_mut();
        let vfs = vfs.map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: both names are C strings that outlive the call, and `raw` is a valid pointer.
        let code = unsafe { (library.api().open_v2)(name.as_ptr(), &mut raw, flags, vfs) };
        let Some(raw) = NonNull::new(raw) else {
            library.leave();
            let message = "out of memory".to_owned();
            return Err(SqliteError::new(code, message, During::Opening(path.to_owned())).into());
        };
        // Even a failed open gives a handle, which holds the message and must be closed (by `Drop`).
        let database = DatabaseHandle { raw, library: Arc::clone(library) };
        if code != ffi::SQLITE_OK {
            return Err(database.error(|| During::Opening(path.to_owned())));
        }
        database.confine()?;
        Ok(database)
    }

    /// Confines a connection where the process is.
    ///
    /// # Errors
    /// The engine has no authorizers.
    fn confine(&self) -> Result<()> {
        if !confinement::is_on() {
            return Ok(());
        }
        let set = self.api().set_authorizer.ok_or(unsupported(
            "authorizer, without which it executes no SQL of somebody else",
            "sqlite3_set_authorizer",
        ))?;
        // SAFETY: the handle is open; `authorize` needs no data.
        let code =
            unsafe { set(self.as_ptr(), Some(confinement::authorize), std::ptr::null_mut()) };
        self.check(code, "confining SQL")
    }

    #[inline]
    pub(crate) fn api(&self) -> &Api {
        self.library.api()
    }

    pub(crate) fn library(&self) -> &Arc<Library> {
        &self.library
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut ffi::sqlite3 {
        self.raw.as_ptr()
    }

    /// Returns the error of the last call, with SQLite's message.
    #[cold]
    pub(crate) fn error(&self, during: impl FnOnce() -> During) -> EngineError {
        // SAFETY: the handle is open, and the message is copied before any other call.
        let (code, message) = unsafe {
            let code = (self.api().extended_errcode)(self.as_ptr());
            (code, copied((self.api().errmsg)(self.as_ptr())))
        };
        let mut message = message.unwrap_or_default();
        if code == ffi::SQLITE_AUTH && confinement::is_on() {
            message.push_str(": SQL that was sent to this machine opens files in the directory of its trial only, by literal names, and loads no code");
        }
        SqliteError::new(code, message, during()).into()
    }

    /// Turns the result of a call without SQL of its own into an error.
    pub(crate) fn check(&self, code: c_int, purpose: &'static str) -> Result<()> {
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        // SAFETY: any code is allowed; the result is a static string.
        let message = unsafe { copied((self.api().errstr)(code)) }.unwrap_or_default();
        Err(SqliteError::new(code, message, During::Call(purpose)).into())
    }

    /// Runs every statement of `sql` and ignores rows.
    pub(crate) fn exec(&self, sql: &CStr) -> Result<()> {
        let none = std::ptr::null_mut();
        // SAFETY: the handle is open, `sql` is a C string, and no callback is given.
        let code =
            unsafe { (self.api().exec)(self.as_ptr(), sql.as_ptr(), None, none, none.cast()) };
        if code != ffi::SQLITE_OK {
            return Err(self.error(|| During::Sql(sql.to_string_lossy().into_owned())));
        }
        Ok(())
    }

    /// Closes and reports why not: unlike `Drop`, which leaves the rest to SQLite.
    pub(crate) fn close(self) -> Result<()> {
        // SAFETY: the handle is open.
        let code = unsafe { (self.api().close)(self.as_ptr()) };
        if code != ffi::SQLITE_OK {
            return Err(self.error(|| During::Call("closing the connection")));
        }
        self.library.leave();
        let closed = std::mem::ManuallyDrop::new(self);
        // SAFETY: `closed` is never dropped, so the Arc is taken out exactly once.
        drop(unsafe { std::ptr::read(&closed.library) });
        Ok(())
    }
}

impl Drop for DatabaseHandle {
    fn drop(&mut self) {
        // SAFETY: the handle is open and not used again. Statements borrow it, so any that SQLite still
        // finds was leaked by its owner and is never touched again.
        unsafe { (self.api().close_v2)(self.as_ptr()) };
        self.library.leave();
    }
}
