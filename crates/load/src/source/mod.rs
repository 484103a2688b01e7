//! Readers: what turns files into batches.
//!
//! A reader knows nothing of tables or ways. It is told how columns will be stored, so that it does not
//! parse what stays text.

mod arrow;
mod columnar;
mod csv;
pub(crate) mod infer;
mod input;
mod scan;

pub use arrow::BatchSource;
pub use columnar::ColumnarSource;
pub use csv::{CsvOptions, CsvSource};
pub use input::Input;

use std::path::Path;

use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::error::LoadError;
use crate::table::Column;

/// A column of a source: its name and the declared type that it suggests.
pub type SourceColumn = Column;

/// Something that gives rows, batch by batch, on a thread of its own.
pub trait Source: Send {
    /// What it is called in messages: a path.
    fn name(&self) -> &str;

    /// Its columns.
    fn columns(&self) -> &[SourceColumn];

    /// Tells the affinities of the columns in the table, one for each, before the first batch.
    fn begin(&mut self, affinities: &[Affinity]);

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// Reading fails. Rows that cannot be understood are no error but part of the batch.
    fn next(&mut self) -> Result<Option<Batch>, LoadError>;

    /// The bytes there are to read, as they lie on the disk, where that is known.
    fn total_bytes(&self) -> Option<u64>;
}

/// Opens a file by what it is: Parquet, Arrow IPC, or else CSV with these options. Standard input (`-`)
/// is CSV, because the others are read from their end.
///
/// # Errors
/// It cannot be opened, or is broken at its beginning or end.
pub fn open(path: &Path, options: CsvOptions) -> Result<Box<dyn Source>, LoadError> {
    match ColumnarSource::open(path)? {
        Some(source) => Ok(Box::new(source)),
        None => Ok(Box::new(CsvSource::open(Input::open(path), options)?)),
    }
}
