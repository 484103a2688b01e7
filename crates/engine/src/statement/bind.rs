//! Binding values to the parameters of a statement.

use super::Statement;
use crate::array::Array;
use crate::columns::{BoundColumns, Columns};
use crate::error::{EngineError, Result, unsupported};
use crate::ffi;
use crate::text::copied;
use crate::value::Value;
use std::ffi::{c_int, c_void};

impl<'d> Statement<'_, 'd> {
    /// Returns the number of the highest parameter.
    pub fn parameter_count(&self) -> i32 {
        // SAFETY: the statement is alive.
        unsafe { (self.api.bind_parameter_count)(self.as_ptr()) }
    }

    /// Returns the parameter of this number as the text writes it, such as `:id`; `None` where it has no
    /// name, as `?` has none.
    pub fn parameter_name(&self, index: i32) -> Option<String> {
        // SAFETY: the statement is alive, and the name, null or a C string, is copied at once.
        unsafe { copied((self.api.bind_parameter_name)(self.as_ptr(), index)) }
    }

    /// Binds an integer.
    ///
    /// # Errors
    /// No such parameter, or the statement is running; so for every binding.
    #[inline]
    pub fn bind_i64(&mut self, index: i32, value: i64) -> Result<()> {
        // SAFETY: the statement is alive; SQLite checks the index, here and below.
        self.check(unsafe { (self.api.bind_int64)(self.as_ptr(), index, value) })
    }

    /// Binds a floating point number; NaN becomes NULL, as always in SQLite.
    ///
    /// # Errors
    /// As [`bind_i64`](Self::bind_i64).
    #[inline]
    pub fn bind_f64(&mut self, index: i32, value: f64) -> Result<()> {
        // SAFETY: as in `bind_i64`.
        self.check(unsafe { (self.api.bind_double)(self.as_ptr(), index, value) })
    }

    /// Binds NULL.
    ///
    /// # Errors
    /// As [`bind_i64`](Self::bind_i64).
    #[inline]
    pub fn bind_null(&mut self, index: i32) -> Result<()> {
        // SAFETY: as in `bind_i64`.
        self.check(unsafe { (self.api.bind_null)(self.as_ptr(), index) })
    }

    /// Binds a text, which SQLite copies.
    ///
    /// # Errors
    /// As [`bind_i64`](Self::bind_i64), or the text is longer than the engine allows.
    #[inline]
    pub fn bind_text(&mut self, index: i32, text: &str) -> Result<()> {
        // SAFETY: SQLite copies the text before the call returns.
        unsafe { self.bind_text_with(index, text, ffi::SQLITE_TRANSIENT) }
    }

    /// Binds bytes, which SQLite copies.
    ///
    /// # Errors
    /// As [`bind_text`](Self::bind_text).
    #[inline]
    pub fn bind_blob(&mut self, index: i32, bytes: &[u8]) -> Result<()> {
        // SAFETY: SQLite copies the bytes before the call returns.
        unsafe { self.bind_blob_with(index, bytes, ffi::SQLITE_TRANSIENT) }
    }

    /// Binds a text without copying it.
    ///
    /// # Errors
    /// As [`bind_text`](Self::bind_text).
    #[inline]
    pub fn bind_text_borrowed(&mut self, index: i32, text: &'d str) -> Result<()> {
        // SAFETY: 'd outlives the statement, or `with_borrowed` clears the binding before 'd ends.
        unsafe { self.bind_text_with(index, text, ffi::SQLITE_STATIC) }
    }

    /// Binds bytes without copying them.
    ///
    /// # Errors
    /// As [`bind_text`](Self::bind_text).
    #[inline]
    pub fn bind_blob_borrowed(&mut self, index: i32, bytes: &'d [u8]) -> Result<()> {
        // SAFETY: as in `bind_text_borrowed`.
        unsafe { self.bind_blob_with(index, bytes, ffi::SQLITE_STATIC) }
    }

    /// # Safety
    /// With `SQLITE_STATIC`, `text` must stay unchanged until the parameter is bound anew or the
    /// statement is finalised or never used again.
    #[inline]
    unsafe fn bind_text_with(
        &mut self,
        index: i32,
        text: &str,
        destructor: ffi::Destructor,
    ) -> Result<()> {
        let (bind, start, length) = (self.api.bind_text64, text.as_ptr().cast(), text.len() as u64);
        // SAFETY: as in `bind_i64`; the memory is valid for the length, afterwards by the caller's word.
        self.check(unsafe {
            bind(self.as_ptr(), index, start, length, destructor, ffi::SQLITE_UTF8)
        })
    }

    /// # Safety
    /// As for [`bind_text_with`](Self::bind_text_with).
    #[inline]
    unsafe fn bind_blob_with(
        &mut self,
        index: i32,
        bytes: &[u8],
        destructor: ffi::Destructor,
    ) -> Result<()> {
        let (bind, start, length) =
            (self.api.bind_blob64, bytes.as_ptr().cast(), bytes.len() as u64);
        // SAFETY: as in `bind_text_with`. An empty slice has a dangling but non-null pointer, which makes
        // an empty blob rather than NULL.
        self.check(unsafe { bind(self.as_ptr(), index, start, length, destructor) })
    }

    /// Binds a value, which SQLite copies.
    ///
    /// # Errors
    /// As [`bind_text`](Self::bind_text).
    pub fn bind_value(&mut self, index: i32, value: &Value) -> Result<()> {
        match value {
            Value::Null => self.bind_null(index),
            Value::Integer(value) => self.bind_i64(index, *value),
            Value::Real(value) => self.bind_f64(index, *value),
            Value::Text(text) => self.bind_text(index, text),
            Value::Blob(bytes) => self.bind_blob(index, bytes),
        }
    }

    /// Binds an array, without copying it, to a parameter used as `carray(?)`.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where the engine has no carray,
    /// [`EngineError::Usage`], and as [`bind_i64`](Self::bind_i64).
    pub fn bind_array(&mut self, index: i32, array: Array<'d>) -> Result<()> {
        let bind = self.api.carray_bind.ok_or(unsupported("carray", "sqlite3_carray_bind"))?;
        let array = array.raw();
        let length = c_int::try_from(array.length).map_err(|_| {
            let what = "elements is longer than carray allows (2147483647)";
            EngineError::Usage(format!("an array of {} {what}", array.length))
        })?;
        let (start, element) = (array.start.cast_mut(), array.element);
        // SAFETY: as in `bind_text_borrowed`; carray only reads the array, and type and length are its own.
        self.check(unsafe {
            bind(self.as_ptr(), index, start, length, element, ffi::SQLITE_STATIC)
        })
    }

    /// Binds rows of the program, without copying them, to the parameter of a table-valued function
    /// made by [`create_columns_function`](crate::Connection::create_columns_function).
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where the engine cannot bind pointers (before SQLite 3.20), and as
    /// [`bind_i64`](Self::bind_i64).
    pub fn bind_columns(&mut self, index: i32, columns: &'d dyn Columns) -> Result<()> {
        let bind = self.api.bind_pointer;
        let bind = bind.ok_or(unsupported("binding of pointers", "sqlite3_bind_pointer"))?;
        // SAFETY: as in `bind_text_borrowed`.
        let bound = unsafe { BoundColumns::new(columns) }.into_raw();
        let kind = BoundColumns::TYPE.as_ptr();
        let destroy = BoundColumns::destroy as *const c_void;
        // SAFETY: as in `bind_i64`; SQLite owns the box from here on and frees it by its destructor,
        // even if binding fails. The name of the type is static, as SQLite demands.
        self.check(unsafe { bind(self.as_ptr(), index, bound, kind, destroy) })
    }
}
