//! The raw handles of SQLite, each owned by exactly one value.
//!
//! They stand apart so that every call on a raw handle is in this file. What the borrow checker cannot
//! see from here (how long bound memory lives) is the duty of `Statement`, through the unsafe
//! functions below.

use crate::array::RawArray;
use crate::error::{During, EngineError, SqliteError};
use crate::ffi::{self, Api};
use crate::library::Library;
use std::ffi::{CStr, c_char, c_int};
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
    ) -> Result<DatabaseHandle, EngineError> {
        library.enter()?;
        let mut raw = std::ptr::null_mut();
        let vfs = vfs.map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: both names are C strings that outlive the call, and `raw` is a valid place.
        let code = unsafe { (library.api().open_v2)(name.as_ptr(), &mut raw, flags, vfs) };
        let Some(raw) = NonNull::new(raw) else {
            library.leave();
            let message = "out of memory".to_owned();
            return Err(SqliteError::new(code, message, During::Opening(path.to_owned())).into());
        };
        // Even a failed open gives a handle, which holds the message and must be closed (by `Drop`).
        let database = DatabaseHandle {
            raw,
            library: Arc::clone(library),
        };
        match code {
            ffi::SQLITE_OK => Ok(database),
            _ => Err(database.error(|| During::Opening(path.to_owned()))),
        }
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

    /// The error of the last call, with SQLite's message.
    #[cold]
    pub(crate) fn error(&self, during: impl FnOnce() -> During) -> EngineError {
        // SAFETY: the handle is open, and the message is copied before any other call.
        let (code, message) = unsafe {
            let code = (self.api().extended_errcode)(self.as_ptr());
            (
                code,
                CStr::from_ptr((self.api().errmsg)(self.as_ptr()))
                    .to_string_lossy()
                    .into_owned(),
            )
        };
        SqliteError::new(code, message, during()).into()
    }

    /// Turns the result of a call without SQL of its own into an error.
    pub(crate) fn check(&self, code: c_int, purpose: &'static str) -> Result<(), EngineError> {
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        // SAFETY: any code is allowed; the result is a static string.
        let text = unsafe { CStr::from_ptr((self.api().errstr)(code)) };
        let message = text.to_string_lossy().into_owned();
        Err(SqliteError::new(code, message, During::Call(purpose)).into())
    }

    /// Runs every statement of `sql` and ignores rows.
    pub(crate) fn exec(&self, sql: &CStr) -> Result<(), EngineError> {
        let none = std::ptr::null_mut();
        // SAFETY: the handle is open, `sql` is a C string, and no callback is given.
        let code =
            unsafe { (self.api().exec)(self.as_ptr(), sql.as_ptr(), None, none, none.cast()) };
        if code != ffi::SQLITE_OK {
            return Err(self.error(|| During::Sql(sql.to_string_lossy().into_owned())));
        }
        Ok(())
    }

    /// Prepares the first statement of `sql`; `None` where there is only white space or comment.
    /// The second value is what follows the statement.
    pub(crate) fn prepare<'c, 's>(
        &'c self,
        sql: &'s CStr,
    ) -> Result<(Option<StatementHandle<'c>>, &'s CStr), EngineError> {
        let mut raw = std::ptr::null_mut();
        let mut tail: *const c_char = sql.as_ptr();
        // SAFETY: the handle is open and `sql` is a C string, which the length −1 announces; a length
        // would make SQLite copy the text first.
        let code = unsafe {
            (self.api().prepare_v2)(self.as_ptr(), sql.as_ptr(), -1, &mut raw, &mut tail)
        };
        if code != ffi::SQLITE_OK {
            return Err(self.error(|| During::Sql(sql.to_string_lossy().into_owned())));
        }
        // SAFETY: SQLite sets the tail to a place within `sql`, which ends in the same NUL.
        let tail = unsafe { CStr::from_ptr(tail) };
        let statement = NonNull::new(raw).map(|raw| StatementHandle {
            raw,
            api: self.api(),
            database: self,
            failed: false,
        });
        Ok((statement, tail))
    }

    /// Closes and reports why not: unlike `Drop`, which leaves the rest to SQLite.
    pub(crate) fn close(self) -> Result<(), EngineError> {
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

/// A prepared statement. Exactly one exists per `sqlite3_stmt*`.
pub(crate) struct StatementHandle<'c> {
    raw: NonNull<ffi::sqlite3_stmt>,
    /// Beside the database, so that a call loads its function through one pointer.
    api: &'c Api,
    database: &'c DatabaseHandle,
    /// Whether the last step failed, in which case resetting reports the same error again.
    failed: bool,
}

impl<'c> StatementHandle<'c> {
    #[inline]
    pub(crate) fn api(&self) -> &'c Api {
        self.api
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut ffi::sqlite3_stmt {
        self.raw.as_ptr()
    }

    /// The SQL the statement was prepared from.
    pub(crate) fn sql(&self) -> String {
        // SAFETY: the statement is alive, and its text ends in NUL.
        unsafe { CStr::from_ptr((self.api.sql)(self.as_ptr())) }
            .to_string_lossy()
            .into_owned()
    }

    #[inline]
    fn check(&self, code: c_int) -> Result<(), EngineError> {
        if code == ffi::SQLITE_OK {
            Ok(())
        } else {
            Err(self.error())
        }
    }

    #[cold]
    fn error(&self) -> EngineError {
        self.database.error(|| During::Sql(self.sql()))
    }

    #[cold]
    fn step_error(&mut self) -> EngineError {
        self.failed = true;
        self.error()
    }

    /// Whether there is a row.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<bool, EngineError> {
        // SAFETY: the statement is alive.
        match unsafe { (self.api.step)(self.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            _ => Err(self.step_error()),
        }
    }

    #[inline]
    pub(crate) fn reset(&mut self) -> Result<(), EngineError> {
        // SAFETY: the statement is alive.
        let code = unsafe { (self.api.reset)(self.as_ptr()) };
        let failed = std::mem::take(&mut self.failed);
        if code == ffi::SQLITE_OK {
            Ok(())
        } else {
            self.reset_failed(failed)
        }
    }

    /// An error of the step before was reported by the step; another one is new.
    #[cold]
    fn reset_failed(&self, step_failed: bool) -> Result<(), EngineError> {
        if step_failed {
            Ok(())
        } else {
            Err(self.error())
        }
    }

    /// Resets and sets every parameter to NULL. Resetting comes first, because SQLite frees a bound
    /// array even while the statement still reads it.
    pub(crate) fn clear_bindings(&mut self) -> Result<(), EngineError> {
        let reset = self.reset();
        // SAFETY: the statement is alive and not running; the result is always SQLITE_OK.
        unsafe { (self.api.clear_bindings)(self.as_ptr()) };
        reset
    }

    #[inline]
    pub(crate) fn bind_i64(&mut self, index: i32, value: i64) -> Result<(), EngineError> {
        // SAFETY: the statement is alive; SQLite checks the index, here and below.
        self.check(unsafe { (self.api.bind_int64)(self.as_ptr(), index, value) })
    }

    #[inline]
    pub(crate) fn bind_f64(&mut self, index: i32, value: f64) -> Result<(), EngineError> {
        // SAFETY: as in `bind_i64`.
        self.check(unsafe { (self.api.bind_double)(self.as_ptr(), index, value) })
    }

    #[inline]
    pub(crate) fn bind_null(&mut self, index: i32) -> Result<(), EngineError> {
        // SAFETY: as in `bind_i64`.
        self.check(unsafe { (self.api.bind_null)(self.as_ptr(), index) })
    }

    /// # Safety
    /// With `SQLITE_STATIC`, `text` must stay unchanged until the parameter is bound anew or the
    /// statement is finalised or never used again.
    #[inline]
    pub(crate) unsafe fn bind_text(
        &mut self,
        index: i32,
        text: &str,
        destructor: ffi::Destructor,
    ) -> Result<(), EngineError> {
        let start = text.as_ptr().cast();
        // SAFETY: as in `bind_i64`; the memory is valid for the length, afterwards by the caller's word.
        self.check(unsafe {
            (self.api.bind_text64)(
                self.as_ptr(),
                index,
                start,
                text.len() as u64,
                destructor,
                ffi::SQLITE_UTF8,
            )
        })
    }

    /// # Safety
    /// As for [`bind_text`](Self::bind_text).
    #[inline]
    pub(crate) unsafe fn bind_blob(
        &mut self,
        index: i32,
        bytes: &[u8],
        destructor: ffi::Destructor,
    ) -> Result<(), EngineError> {
        let start = bytes.as_ptr().cast();
        // SAFETY: as in `bind_text`. An empty slice has a dangling but non-null pointer, which makes
        // an empty blob rather than NULL.
        self.check(unsafe {
            (self.api.bind_blob64)(self.as_ptr(), index, start, bytes.len() as u64, destructor)
        })
    }

    /// # Safety
    /// The array, and what it points to, must stay unchanged until the parameter is bound anew or the
    /// statement is finalised or never used again.
    pub(crate) unsafe fn bind_array(
        &mut self,
        index: i32,
        array: RawArray,
    ) -> Result<(), EngineError> {
        let bind = self.api.carray_bind.ok_or(EngineError::Unsupported {
            what: "carray",
            function: "sqlite3_carray_bind",
        })?;
        let length = c_int::try_from(array.length).map_err(|_| EngineError::ArrayTooLong {
            length: array.length,
        })?;
        let start = array.start.cast_mut();
        // SAFETY: as in `bind_i64`; carray only reads the array, and type and length are its own.
        self.check(unsafe {
            bind(
                self.as_ptr(),
                index,
                start,
                length,
                array.element,
                ffi::SQLITE_STATIC,
            )
        })
    }

    #[inline]
    pub(crate) fn column_type(&self, column: i32) -> c_int {
        // SAFETY: the statement is alive; without a row or column of that number the value is NULL,
        // here and below.
        unsafe { (self.api.column_type)(self.as_ptr(), column) }
    }

    #[inline]
    pub(crate) fn column_i64(&self, column: i32) -> i64 {
        // SAFETY: as in `column_type`. The conversion does not change the stored value.
        unsafe { (self.api.column_int64)(self.as_ptr(), column) }
    }

    #[inline]
    pub(crate) fn column_f64(&self, column: i32) -> f64 {
        // SAFETY: as in `column_i64`.
        unsafe { (self.api.column_double)(self.as_ptr(), column) }
    }

    /// The bytes of a text, as UTF-8. `None` unless the value is a text.
    ///
    /// Other types are refused because a conversion would replace the value's memory, to which an
    /// earlier result may refer; for a text, every call after the first gives the same memory.
    #[inline]
    pub(crate) fn column_text(&self, column: i32) -> Option<&[u8]> {
        if self.column_type(column) != ffi::SQLITE_TEXT {
            return None;
        }
        // SAFETY: as in `column_type`.
        let start = unsafe { (self.api.column_text)(self.as_ptr(), column) };
        // SAFETY: SQLite keeps the value until the next step or reset, which need `&mut self`.
        unsafe { self.column_slice(column, start) }
    }

    /// The bytes of a blob. `None` unless the value is a blob.
    #[inline]
    pub(crate) fn column_blob(&self, column: i32) -> Option<&[u8]> {
        if self.column_type(column) != ffi::SQLITE_BLOB {
            return None;
        }
        // SAFETY: as in `column_type`.
        let start = unsafe { (self.api.column_blob)(self.as_ptr(), column) };
        // SAFETY: as in `column_text`.
        unsafe { self.column_slice(column, start.cast()) }
    }

    /// # Safety
    /// `start` must be what SQLite gave for this column's current value, and nothing must have been
    /// called since that converts the value.
    #[inline]
    unsafe fn column_slice(&self, column: i32, start: *const u8) -> Option<&[u8]> {
        // SAFETY: as in `column_type`.
        let length = unsafe { (self.api.column_bytes)(self.as_ptr(), column) };
        // An empty blob is a null pointer.
        if start.is_null() || length == 0 {
            return Some(&[]);
        }
        // SAFETY: SQLite promises `length` bytes at `start`; the caller vouches for their life.
        Some(unsafe { std::slice::from_raw_parts(start, length as usize) })
    }
}

impl Drop for StatementHandle<'_> {
    fn drop(&mut self) {
        // SAFETY: the statement is alive and not used again. The result repeats the last step's error.
        unsafe { (self.api.finalize)(self.as_ptr()) };
    }
}
