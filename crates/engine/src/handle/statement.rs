//! The handle of a prepared statement.

use super::DatabaseHandle;
use crate::array::RawArray;
use crate::columns::{BoundColumns, Columns};
use crate::error::{During, EngineError, unsupported};
use crate::ffi::{self, Api};
use crate::text::copied;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

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
    /// # Safety
    /// `raw` must be a statement of `database` that nothing else owns.
    pub(super) unsafe fn new(
        raw: NonNull<ffi::sqlite3_stmt>,
        database: &'c DatabaseHandle,
    ) -> StatementHandle<'c> {
        StatementHandle {
            raw,
            api: database.api(),
            database,
            failed: false,
        }
    }

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
        unsafe { copied((self.api.sql)(self.as_ptr())) }.unwrap_or_default()
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
        let bind = self.api.carray_bind;
        let bind = bind.ok_or(unsupported("carray", "sqlite3_carray_bind"))?;
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

    /// # Safety
    /// The rows must stay borrowed until the parameter is bound anew or the statement is finalised or
    /// never used again.
    pub(crate) unsafe fn bind_columns(
        &mut self,
        index: i32,
        columns: &dyn Columns,
    ) -> Result<(), EngineError> {
        let bind = self.api.bind_pointer;
        let bind = bind.ok_or(unsupported("binding of pointers", "sqlite3_bind_pointer"))?;
        // SAFETY: the caller vouches for the life of the rows.
        let bound = unsafe { BoundColumns::new(columns) };
        let destroy = BoundColumns::destroy as *const c_void;
        // SAFETY: as in `bind_i64`; SQLite owns the box from here on and frees it by its destructor,
        // even if binding fails. The name of the type is static, as SQLite demands.
        self.check(unsafe {
            bind(
                self.as_ptr(),
                index,
                bound.into_raw(),
                BoundColumns::TYPE.as_ptr(),
                destroy,
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
