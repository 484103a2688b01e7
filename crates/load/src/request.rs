//! The request of a load and the summary of its result: types of the public interface.

use std::path::PathBuf;
use std::time::Duration;

use crate::convert::Decimals;
use crate::error::{LoadError, Result};
use crate::source::{DateColumn, DecimalColumn, Note};
use crate::sql::same;
use crate::staging::destination;
use crate::table::{Index, Table};

/// A load to be done: the table to load into, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The database; created if it does not exist.
    pub database: PathBuf,
    /// The table.
    pub table: Table,
    /// Whether the table is created, extended or replaced.
    pub mode: Mode,
    /// Whether a table that is extended gets the columns that it lacks.
    pub adds_columns: bool,
    /// Whether a table that is replaced keeps its indexes and triggers.
    pub keeps_indexes: bool,
    /// The only way in which the rows may be written; by default the fastest possible one.
    pub strategy: Option<LoadStrategy>,
    /// How rows are handled that cannot be read or that the table refuses.
    pub on_error: OnError,
    /// How rows are handled whose key another row has.
    pub duplicates: Duplicates,
    /// Whether SQLite's statistics of the table are gathered (`ANALYZE`), by which it chooses indexes.
    pub analyze: bool,
    /// The file that skipped rows are written to, made only if there are any.
    pub rejects: Option<PathBuf>,
    /// How many rows may be skipped; one more ends the load. Without a limit, any number may be skipped as long as
    /// at least one row is loaded.
    pub max_errors: Option<u64>,
    /// The page size of a new database in bytes, a power of two from 512 to 65,536; by default SQLite's
    /// 4,096.
    pub page_size: Option<u32>,
    /// Threads that write pages; by default two for each processor, because a thread
    /// sometimes waits for the disk, but at most [`MOST_WORKERS`](crate::MOST_WORKERS).
    pub workers: Option<usize>,
    /// Bytes of memory for sorting indexes, and the rows of a table WITHOUT ROWID; beyond that, sorted runs
    /// of them go into a temporary file next to the database.
    pub index_memory: usize,
    /// The VFS with which SQLite opens an existing database, if not its default. Pages are written without
    /// it.
    pub vfs: Option<String>,
    /// Whether no row is expected to be skipped because of its keys, so that rows may be written before they are checked.
    /// If one has to be skipped, the load fails and is repeated without this.
    pub(crate) expects_unique: bool,
    /// Whether foreign keys are enforced, as by `PRAGMA foreign_keys`.
    pub foreign_keys: bool,
    /// Whether the finished table is checked (`PRAGMA integrity_check` and the number
    /// of rows), which reads all of it.
    pub check: bool,
}

impl Request {
    /// Requests a new table, by the fastest possible strategy; the first row that cannot be loaded ends the load.
    pub fn new(database: impl Into<PathBuf>, table: Table) -> Request {
        Request {
            database: database.into(),
            table,
            mode: Mode::Create,
            adds_columns: false,
            keeps_indexes: false,
            strategy: None,
            on_error: OnError::Fail,
            duplicates: Duplicates::Refuse,
            analyze: false,
            rejects: None,
            max_errors: None,
            page_size: None,
            workers: None,
            index_memory: 512 << 20,
            vfs: None,
            expects_unique: false,
            foreign_keys: false,
            check: false,
        }
    }

    /// Returns the same request, expecting that no row is skipped because of its keys. That makes a difference if such
    /// rows are to be skipped, and is possible only if the input can be read again.
    pub(crate) fn expecting_unique(&self, is_reopenable: bool) -> Request {
        let is_possible = is_reopenable && self.strategy != Some(LoadStrategy::Arrays);
        let is_useful = self.on_error == OnError::Skip && self.duplicates == Duplicates::Refuse;
        Request { expects_unique: is_possible && is_useful, ..self.clone() }
    }

    /// Returns the request for the file that the database's path leads to.
    ///
    /// # Errors
    /// The table has no name, the database is no file, or SQLite does not have the page size.
    pub(crate) fn resolved(&self) -> Result<Request> {
        if self.table.name.trim().is_empty() {
            let reason = "the name of the table is empty".to_owned();
            return Err(LoadError::Definition(reason));
        }
        let path = self.database.to_string_lossy();
        if path == ":memory:" || path.starts_with("file:") {
            let reason = format!(
                "{path} is no path of a file, and a load into memory would be lost; name a file"
            );
            return Err(LoadError::Definition(reason));
        }
        if let Some(size) = self.page_size
            && !(size.is_power_of_two() && (512..=65_536).contains(&size))
        {
            return Err(LoadError::Definition(format!(
                "invalid page size {size}: it must be a power of two from 512 to 65536"
            )));
        }
        Ok(Request { database: destination(&self.database), ..self.clone() })
    }

    /// Returns whether the table declares its types, whatever the input suggests.
    pub(crate) fn has_types(&self) -> bool {
        self.mode == Mode::Append || self.table.sql.is_some()
    }

    /// Returns whether the type of a column is declared, whatever the input suggests.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.has_types() || self.table.types.iter().any(|column| same(&column.name, name))
    }

    /// Returns whether rows are skipped because of their keys.
    pub(crate) fn skips_duplicates(&self) -> bool {
        self.on_error == OnError::Skip && !self.expects_unique
    }

    /// Returns whether an index must exist before the rows: a unique index that decides which rows are skipped, or that
    /// foreign keys refer to.
    pub(crate) fn is_made_before(&self, index: &Index) -> bool {
        let decides = self.skips_duplicates() || self.duplicates != Duplicates::Refuse;
        index.unique && (decides || self.foreign_keys)
    }
}

/// How a table that exists is handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is an error; otherwise the table is created.
    #[default]
    Create,
    /// The rows are added; a table that does not exist is an error.
    Append,
    /// It is dropped with its indexes and triggers, and created again.
    Replace,
}

/// How a row that cannot be loaded is handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnError {
    /// It ends the load; the database is unchanged.
    #[default]
    Fail,
    /// It is skipped and counted.
    Skip,
}

/// How a row is handled that has the same values in a primary key or unique index as a row of the table, or as an
/// earlier row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// It cannot be loaded.
    #[default]
    Refuse,
    /// It is skipped; the other row stays unchanged.
    Ignore,
    /// If it has the same values in these columns, which are a primary key or unique index, the other row
    /// gets its values in all other columns of the input.
    Update(Vec<String>),
}

/// How rows get into the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum LoadStrategy {
    /// Pages, written directly: of a new database, or behind the end of an existing one.
    Pages,
    /// SQL over arrays.
    Arrays,
}

/// The result of a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Rows in the table that were not there before; with [`Duplicates::Update`], rows added or updated.
    pub rows: u64,
    /// Rows left out by [`Duplicates::Ignore`], by an `ON CONFLICT IGNORE` of the table or by one of its
    /// triggers.
    pub ignored: u64,
    /// Loaded rows that were written by [`LoadStrategy::Pages`]; the others by [`LoadStrategy::Arrays`].
    pub rows_by_pages: u64,
    /// Why not all rows were written as pages; `None` if they were.
    pub why_arrays: Option<String>,
    /// Why the input was read again to choose types from all rows; `None` if it was not.
    pub why_reread: Option<String>,
    /// Full-text indexes over an earlier table of this name, filled again from the new one.
    pub rebuilt: Vec<String>,
    /// Full-text indexes over the table that lack the rows appended: no trigger inserts them.
    pub stale: Vec<String>,
    /// The columns of decimals.
    pub decimals: Vec<DecimalColumn>,
    /// The columns whose texts are dates.
    pub dates: Vec<DateColumn>,
    /// Rows skipped.
    pub rejected: u64,
    /// Rows that were mended and loaded.
    pub mended: u64,
    /// The findings in the input.
    pub notes: Vec<Note>,
    /// Bytes of the input on the disk.
    pub bytes_read: u64,
    /// Whether the database is new.
    pub new_database: bool,
    /// Bytes of the database afterwards.
    pub database_bytes: u64,
    /// From the beginning to the end, syncing included.
    pub time: Duration,
}

impl Summary {
    /// Returns everything that should be known of how the rows were read and stored, a sentence each; decimals were stored
    /// like this.
    pub fn notices(&self, stored: Decimals) -> Vec<String> {
        let mut notices: Vec<String> = self.notes.iter().map(ToString::to_string).collect();
        let dates = self.dates.iter();
        let dates: Vec<String> = dates
            .map(|column| format!("{} ({} is {})", column.name, column.first, column.stored))
            .collect();
        if !dates.is_empty() {
            notices.push(format!("dates: {}", dates.join(", ")));
        }
        let scaled = |column: &DecimalColumn| match stored {
            Decimals::ScaledInteger => format!("{} × 10^{}", column.name, column.scale),
            _ => column.name.clone(),
        };
        let decimals: Vec<String> = self.decimals.iter().map(scaled).collect();
        if !decimals.is_empty() {
            notices.push(format!("decimals: {} as {}", decimals.join(", "), stored.words()));
        }
        if let Some(why) = &self.why_reread {
            notices.push(format!("types: from all rows, read a second time ({why})"));
        }
        notices
    }

    /// Returns the rows per second.
    pub fn rows_per_second(&self) -> f64 {
        self.rows as f64 / self.time.as_secs_f64()
    }
}
