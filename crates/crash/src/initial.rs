//! The databases with which the user's own workload begins, and the number of its transactions to crash.

use crate::error::{CrashError, Result};
use engine::vfs::{Base, Bytes};
use std::path::Path;
use std::sync::Arc;

/// The database that a workload opens.
pub const MAIN: &str = "main.db";

/// The database that a backup writes.
pub(crate) const COPY: &str = "copy.db";

/// The bytes that a recording may write: all of them are kept in memory.
pub(crate) const MOST_WRITTEN: u64 = 256 << 20;

/// Databases that exist before the workload, and the number of its transactions to crash. They are only read:
/// writes lie in a layer above them, so memory and time depend on the bytes written and not on the size of
/// the databases.
#[derive(Debug, Clone)]
pub struct InitialDatabases {
    databases: Vec<(String, Arc<Base>)>,
    /// The most transactions that are recorded.
    pub transactions: usize,
}

impl InitialDatabases {
    /// Returns the databases in these files. The first is the main one; the others have their names
    /// in [`database`](Self::database) when they are attached. A missing or empty file is a new database.
    /// Each must have been closed, without a log or a journal next to it, and must not change.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of(files: &[&Path], transactions: usize) -> Result<InitialDatabases> {
        let mut databases = Vec::new();
        for (number, path) in files.iter().enumerate() {
            if !path.exists() {
                continue;
            }
            let base = Base::open(path).map_err(CrashError::io("read", path))?;
            databases.push((InitialDatabases::database(number), Arc::new(base)));
        }
        databases.retain(|(_, base)| !base.is_empty());
        Ok(InitialDatabases { databases, transactions })
    }

    /// Returns the name of a database where it is crashed, by its number from 0.
    pub fn database(number: usize) -> String {
        match number {
            0 => MAIN.to_owned(),
            more => format!("attached-{more}.db"),
        }
    }

    /// Returns the page size of the main database in bytes; `None` if the database is new.
    pub fn page_size(&self) -> Option<u32> {
        let (_, base) = self.databases.iter().find(|(name, _)| name == MAIN)?;
        Some(crate::pages::page_size(&Bytes::from(Arc::clone(base))))
    }

    /// Returns the databases with their names.
    pub(crate) fn bases(&self) -> impl Iterator<Item = (&str, &Base)> {
        self.databases.iter().map(|(name, base)| (name.as_str(), &**base))
    }

    pub(crate) fn files(&self) -> Vec<(String, Bytes)> {
        let databases = self.databases.iter();
        databases.map(|(name, base)| (name.clone(), Bytes::from(Arc::clone(base)))).collect()
    }
}
