//! Reading the row on which a statement stands.
//!
//! Texts and blobs are given where they lie in SQLite's memory; every call which could move them needs
//! the statement exclusively, and conversions that could are refused.

use super::Statement;
use crate::error::{EngineError, Result};
use crate::ffi;
use crate::text::copied;
use crate::value::{Value, ValueRef};
use std::ffi::c_int;

impl Statement<'_, '_> {
    /// Returns the number of columns of the result; 0 for a statement without rows.
    pub fn column_count(&self) -> i32 {
        // SAFETY: the statement is alive.
        unsafe { (self.api.column_count)(self.as_ptr()) }
    }

    /// Returns the name of a column; `None` if no column has that number.
    pub fn column_name(&self, column: i32) -> Option<String> {
        // SAFETY: the statement is alive, and the name, null or a C string, is copied at once.
        unsafe { copied((self.api.column_name)(self.as_ptr(), column)) }
    }

    /// Returns the type that a table's column was declared with
    /// (<https://sqlite.org/c3ref/column_decltype.html>); `None` for an expression, a column without a type,
    /// and engines compiled without this function.
    pub fn column_declared_type(&self, column: i32) -> Option<String> {
        let column_decltype = self.api.column_decltype?;
        // SAFETY: the statement is alive, and the text, null or a C string, is copied at once.
        unsafe { copied(column_decltype(self.as_ptr(), column)) }
    }

    /// Returns the column as an integer, by SQLite's conversions
    /// (<https://sqlite.org/c3ref/column_blob.html>); 0 without a row or such a column.
    #[inline]
    pub fn column_i64(&self, column: i32) -> i64 {
        // SAFETY: as in `column_type`. The conversion does not change the stored value.
        unsafe { (self.api.column_int64)(self.as_ptr(), column) }
    }

    /// Returns the column as a floating point number; otherwise as [`column_i64`](Self::column_i64).
    #[inline]
    pub fn column_f64(&self, column: i32) -> f64 {
        // SAFETY: as in `column_i64`.
        unsafe { (self.api.column_double)(self.as_ptr(), column) }
    }

    /// Returns whether the column is NULL; true also without a row or such a column.
    #[inline]
    pub fn column_is_null(&self, column: i32) -> bool {
        self.column_type(column) == ffi::SQLITE_NULL
    }

    /// Returns the text of the column, where it lies in SQLite's memory.
    ///
    /// # Errors
    /// [`EngineError::Usage`] unless the column holds a text; [`EngineError::NotUtf8`].
    #[inline]
    pub fn column_text(&self, column: i32) -> Result<&str> {
        std::str::from_utf8(self.column_text_bytes(column)?)
            .map_err(|_| EngineError::NotUtf8(column))
    }

    /// Returns the bytes of the column's text, without a check that they are UTF-8.
    ///
    /// # Errors
    /// [`EngineError::Usage`] unless the column holds a text.
    #[inline]
    pub fn column_text_bytes(&self, column: i32) -> Result<&[u8]> {
        self.text(column).ok_or_else(|| self.wrong_type(column, "text"))
    }

    /// Returns the bytes of the column's blob, where they lie in SQLite's memory.
    ///
    /// # Errors
    /// [`EngineError::Usage`] unless the column holds a blob.
    #[inline]
    pub fn column_blob(&self, column: i32) -> Result<&[u8]> {
        self.blob(column).ok_or_else(|| self.wrong_type(column, "blob"))
    }

    /// Returns a copy of the column's value, of the type it has; a text that is not UTF-8 is given as a blob.
    pub fn column_value(&self, column: i32) -> Value {
        match self.column_value_ref(column) {
            Ok(value) => value.to_value(),
            Err(_) => Value::Blob(self.text(column).unwrap_or_default().to_vec()),
        }
    }

    /// Returns the column's value where it lies in SQLite's memory, of the type it has.
    ///
    /// # Errors
    /// [`EngineError::NotUtf8`].
    #[inline]
    pub fn column_value_ref(&self, column: i32) -> Result<ValueRef<'_>> {
        Ok(match self.column_type(column) {
            ffi::SQLITE_INTEGER => ValueRef::Integer(self.column_i64(column)),
            ffi::SQLITE_FLOAT => ValueRef::Real(self.column_f64(column)),
            ffi::SQLITE_TEXT => ValueRef::Text(self.column_text(column)?),
            ffi::SQLITE_BLOB => ValueRef::Blob(self.column_blob(column)?),
            _ => ValueRef::Null,
        })
    }

    /// Appends the row, so that different rows append different bytes: of each value its type, its length and its bytes.
    ///
    /// # Errors
    /// SQLite has no memory for a value.
    pub fn write_row(&self, out: &mut Vec<u8>) -> Result<()> {
        for column in 0..self.column_count() {
            let mut write = |kind: u8, bytes: &[u8]| {
                out.push(kind);
                out.extend((bytes.len() as u64).to_le_bytes());
                out.extend(bytes);
            };
            match self.column_value_ref(column) {
                Ok(ValueRef::Null) => write(0, &[]),
                Ok(ValueRef::Integer(value)) => write(1, &value.to_le_bytes()),
                Ok(ValueRef::Real(value)) => write(2, &value.to_bits().to_le_bytes()),
                Ok(ValueRef::Text(text)) => write(3, text.as_bytes()),
                Ok(ValueRef::Blob(bytes)) => write(4, bytes),
                Err(EngineError::NotUtf8(_)) => write(3, self.column_text_bytes(column)?),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    #[inline]
    fn column_type(&self, column: i32) -> c_int {
        // SAFETY: the statement is alive; without a row or column of that number the value is NULL,
        // here and below.
        unsafe { (self.api.column_type)(self.as_ptr(), column) }
    }

    /// Returns the bytes of a text, as UTF-8. `None` unless the value is a text.
    ///
    /// Other types are refused because a conversion would replace the value's memory, to which an
    /// earlier result may refer; for a text, every call after the first gives the same memory.
    #[inline]
    fn text(&self, column: i32) -> Option<&[u8]> {
        if self.column_type(column) != ffi::SQLITE_TEXT {
            return None;
        }
        // SAFETY: as in `column_type`.
        let start = unsafe { (self.api.column_text)(self.as_ptr(), column) };
        // SAFETY: SQLite keeps the value until the next step or reset, which need `&mut self`.
        unsafe { self.slice(column, start) }
    }

    /// Returns the bytes of a blob. `None` unless the value is a blob.
    #[inline]
    fn blob(&self, column: i32) -> Option<&[u8]> {
        if self.column_type(column) != ffi::SQLITE_BLOB {
            return None;
        }
        // SAFETY: as in `column_type`.
        let start = unsafe { (self.api.column_blob)(self.as_ptr(), column) };
        // SAFETY: as in `text`.
        unsafe { self.slice(column, start.cast()) }
    }

    /// # Safety
    /// `start` must be what SQLite gave for this column's current value, and nothing must have been
    /// called since that converts the value.
    #[inline]
    unsafe fn slice(&self, column: i32, start: *const u8) -> Option<&[u8]> {
        // SAFETY: as in `column_type`.
        let length = unsafe { (self.api.column_bytes)(self.as_ptr(), column) };
        // An empty blob is a null pointer.
        if start.is_null() || length == 0 {
            return Some(&[]);
        }
        // SAFETY: SQLite promises `length` bytes at `start`; the caller vouches for their life.
        Some(unsafe { std::slice::from_raw_parts(start, length as usize) })
    }

    #[cold]
    fn wrong_type(&self, column: i32, wanted: &'static str) -> EngineError {
        let found = self.column_value(column).type_name();
        EngineError::Usage(format!("column {column} holds {found}, not {wanted}"))
    }
}
