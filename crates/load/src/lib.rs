#![forbid(unsafe_code)]
//! Bulk loading into SQLite, and unloading.
//!
//! A [`Source`] gives batches of rows in Arrow's columnar form; [`load`] puts them into a table by one
//! of several strategies ([`LoadStrategy`]) with the same result: what SQL `INSERT` would have produced, or an
//! unchanged database.
//!
//! - [`LoadStrategy::Pages`] writes a new database's B-tree pages itself;
//! - [`LoadStrategy::Arrays`] goes through SQL, a batch at a time, by a table-valued function that walks over
//!   the columns; it can do whatever SQL can.
//!
//! The crate knows SQLite through `engine` only. Design constraints:
//! - readers know nothing of strategies, nor strategies of readers: between them stand [`Batch`] and [`Table`];
//! - a new database is built in a temporary file next to its path and renamed when it is complete and
//!   synced; an existing one is changed in one transaction;
//! - what the page writer cannot do correctly it refuses with a reason, and the rows go through SQL.
//!
//! ```
//! use pragmark_load::{CsvOptions, CsvSource, Input, Request, Table, load};
//! use std::sync::Arc;
//!
//! let folder = tempfile::tempdir()?;
//! let database = folder.path().join("towns.db");
//! let csv = "name,people\nBonn,335789\n\"Linz, Donau\",212538\n";
//! let mut source = CsvSource::open(Input::from_bytes("towns", csv.into()), CsvOptions::default())?;
//! let library = Arc::new(engine::Library::load(&engine::Source::Embedded)?);
//! let summary = load(&library, &mut source, &Request::new(&database, Table::new("towns")), &mut |_| true)?;
//! assert_eq!(summary.rows, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod affinity;
mod arrays;
mod batch;
mod batch_conversion;
mod blobs;
mod bytes;
mod cells;
mod convert;
mod database;
mod disk;
mod error;
mod feed;
mod full_text;
mod loader;
mod outline;
mod pages;
mod rejects;
mod request;
mod rows;
mod schema;

mod as_text;
mod source;
mod sql;
mod staging;
mod table;
mod target;
mod threads;
mod unload;

pub use affinity::Affinity;
pub use as_text::VALUES_LINE;
pub use batch::{Batch, Malformed, RowNumbers};
pub use blobs::Blobs;
pub use convert::Decimals;
pub use error::{Fault, LoadError};
pub use feed::{Observer, Phase, Progress};
pub use full_text::rebuild as rebuild_full_text;
pub use loader::{MOST_WORKERS, load};
pub use outline::{Outline, OutlinedColumn, outline};
pub use request::{Duplicates, LoadStrategy, Mode, OnError, Request, Summary};
pub use rows::{Row, RowReader};
pub use source::{
    BatchSource, ColumnarSource, CsvOptions, CsvSource, DatabaseSource, DateColumn, DateOrder,
    Dates, Deciding, DecimalColumn, Encoding, Format, Input, JsonLinesSource, JsonOptions,
    Locations, Note, Notes, NumberForm, Opening, ReadOptions, Reopen, RowLocation, Sample, Seen,
    Selection, Source, SourceInfo, Storing, Typing, Unit, expand, is_truth_value, open, table_name,
    table_of_sql,
};
pub use table::{Column, FullText, Index, Table};
pub use unload::{
    Compression, OutputForm, OutputFormat, ParquetFile, Split, Unload, Unloaded, unload,
};
