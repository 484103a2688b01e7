//! Writing into a value without a statement (<https://sqlite.org/c3ref/blob_open.html>).

use super::Connection;
use crate::error::{Result, unsupported};
use crate::text::{SQL, c_string};
use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

/// A value of a row: its table in the main database, its column and its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobAt<'a> {
    /// The table.
    pub table: &'a str,
    /// The column.
    pub column: &'a str,
    /// The number of the row.
    pub row: i64,
}

impl Connection {
    /// Overwrites the bytes of a value from `offset` on; its length stays the same.
    ///
    /// # Errors
    /// SQLite's; an engine without such handles.
    pub fn write_blob(&self, at: BlobAt<'_>, offset: usize, bytes: &[u8]) -> Result<()> {
        let api = self.handle.api();
        let missing = || unsupported("handles of values", "sqlite3_blob_open");
        let open = api.blob_open.ok_or(missing())?;
        let write = api.blob_write.ok_or(missing())?;
        let close = api.blob_close.ok_or(missing())?;
        let (table, column) = (c_string(at.table, SQL)?, c_string(at.column, SQL)?);
        let mut blob = null_mut();
        const FOR_WRITING: c_int = 1;
        // SAFETY: the handle is open and the texts end with zero; `blob` is written to.
        let opened = unsafe {
            let [main, table, column] = [c"main", &table, &column].map(CStr::as_ptr);
            open(self.as_ptr(), main, table, column, at.row, FOR_WRITING, &mut blob)
        };
        self.handle.check(opened, "opening a handle of a value")?;
        let length = c_int::try_from(bytes.len()).unwrap_or(c_int::MAX);
        let offset = c_int::try_from(offset).unwrap_or(c_int::MAX);
        // SAFETY: the handle of the value was just opened and is closed once; `bytes` holds `length` bytes.
        let (written, closed) =
            unsafe { (write(blob, bytes.as_ptr().cast(), length, offset), close(blob)) };
        self.handle.check(written, "writing into a value")?;
        self.handle.check(closed, "closing a handle of a value")
    }
}
