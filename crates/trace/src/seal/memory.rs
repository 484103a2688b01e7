//! Databases in memory that several connections of a process share.

use super::write::{AsInteger, Writer};
use crate::Result;
use crate::schema::shared_memory;
use engine::Value;

/// The VFS whose databases are in memory, under names.
const MEMORY_VFS: &[u8] = b"memdb";

/// Returns the file of a database; empty for one in memory.
pub fn file_of<'a>(file: &'a [u8], vfs: &[u8]) -> &'a [u8] {
    if vfs == MEMORY_VFS { b"" } else { file }
}

impl Writer<'_> {
    /// Gives the database of a connection, and of the one that opened it, a name of its own.
    pub fn share(&self, connection: u32, opened_by: u32) -> Result<()> {
        let values = [
            Value::Text(shared_memory(opened_by.into())),
            i64::from(connection).integer(),
            i64::from(opened_by).integer(),
        ];
        self.run("UPDATE connection SET database = ? WHERE id IN (?, ?)", &values)
    }
}
