//! Reading the row on which a statement stands.
//!
//! Texts and blobs are given where they lie in SQLite's memory; every call which could move them needs
//! the statement exclusively, and conversions that could are refused.

use super::Statement;
use crate::error::EngineError;
use crate::ffi;
use crate::text::copied;
use crate::value::{Value, ValueRef};

impl Statement<'_, '_> {
    /// The number of columns of the result; 0 for a statement without rows.
    pub fn column_count(&self) -> i32 {
        // SAFETY: the statement is alive.
        unsafe { (self.handle.api().column_count)(self.handle.as_ptr()) }
    }

    /// The name of a column; `None` where there is no column of that number.
    pub fn column_name(&self, column: i32) -> Option<String> {
        // SAFETY: the statement is alive, and the name, null or a C string, is copied at once.
        unsafe {
            copied((self.handle.api().column_name)(
                self.handle.as_ptr(),
                column,
            ))
        }
    }

    /// The type that a table's column was declared with
    /// (<https://sqlite.org/c3ref/column_decltype.html>); `None` for an expression, a column without a
    /// type, and engines compiled without this function.
    pub fn column_declared_type(&self, column: i32) -> Option<String> {
        let column_decltype = self.handle.api().column_decltype?;
        // SAFETY: the statement is alive, and the text, null or a C string, is copied at once.
        unsafe { copied(column_decltype(self.handle.as_ptr(), column)) }
    }

    /// The column as an integer, by SQLite's conversions (<https://sqlite.org/c3ref/column_blob.html>);
    /// 0 where there is no row or no such column.
    #[inline]
    pub fn column_i64(&self, column: i32) -> i64 {
        self.handle.column_i64(column)
    }

    /// The column as a floating point number; otherwise as [`column_i64`](Self::column_i64).
    #[inline]
    pub fn column_f64(&self, column: i32) -> f64 {
        self.handle.column_f64(column)
    }

    /// Whether the column is NULL; true also where there is no row or no such column.
    #[inline]
    pub fn column_is_null(&self, column: i32) -> bool {
        self.handle.column_type(column) == ffi::SQLITE_NULL
    }

    /// The text of the column, where it lies in SQLite's memory.
    ///
    /// # Errors
    /// [`EngineError::WrongType`] unless the column holds a text; [`EngineError::NotUtf8`].
    #[inline]
    pub fn column_text(&self, column: i32) -> Result<&str, EngineError> {
        std::str::from_utf8(self.column_text_bytes(column)?)
            .map_err(|_| EngineError::NotUtf8 { column })
    }

    /// The bytes of the column's text, without a check that they are UTF-8.
    ///
    /// # Errors
    /// [`EngineError::WrongType`] unless the column holds a text.
    #[inline]
    pub fn column_text_bytes(&self, column: i32) -> Result<&[u8], EngineError> {
        self.handle
            .column_text(column)
            .ok_or_else(|| self.wrong_type(column, "text"))
    }

    /// The bytes of the column's blob, where they lie in SQLite's memory.
    ///
    /// # Errors
    /// [`EngineError::WrongType`] unless the column holds a blob.
    #[inline]
    pub fn column_blob(&self, column: i32) -> Result<&[u8], EngineError> {
        self.handle
            .column_blob(column)
            .ok_or_else(|| self.wrong_type(column, "blob"))
    }

    /// A copy of the column's value, of the type it has; a text that is not UTF-8 is given as a blob.
    pub fn column_value(&self, column: i32) -> Value {
        if let Some(text) = self.handle.column_text(column) {
            return match std::str::from_utf8(text) {
                Ok(text) => Value::Text(text.to_owned()),
                Err(_) => Value::Blob(text.to_vec()),
            };
        }
        if let Some(bytes) = self.handle.column_blob(column) {
            return Value::Blob(bytes.to_vec());
        }
        match self.handle.column_type(column) {
            ffi::SQLITE_INTEGER => Value::Integer(self.column_i64(column)),
            ffi::SQLITE_FLOAT => Value::Real(self.column_f64(column)),
            _ => Value::Null,
        }
    }

    /// The column's value where it lies in SQLite's memory, of the type it has.
    ///
    /// # Errors
    /// [`EngineError::NotUtf8`].
    #[inline]
    pub fn column_value_ref(&self, column: i32) -> Result<ValueRef<'_>, EngineError> {
        Ok(match self.handle.column_type(column) {
            ffi::SQLITE_INTEGER => ValueRef::Integer(self.column_i64(column)),
            ffi::SQLITE_FLOAT => ValueRef::Real(self.column_f64(column)),
            ffi::SQLITE_TEXT => ValueRef::Text(self.column_text(column)?),
            ffi::SQLITE_BLOB => ValueRef::Blob(self.column_blob(column)?),
            _ => ValueRef::Null,
        })
    }

    #[cold]
    fn wrong_type(&self, column: i32, wanted: &'static str) -> EngineError {
        let found = self.column_value(column).type_name();
        EngineError::WrongType {
            column,
            wanted,
            found,
        }
    }
}
