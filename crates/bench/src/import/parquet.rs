//! Parquet files (<https://parquet.apache.org/docs/file-format/>): columns of text, or of anything
//! that can be written as text, a batch of rows at a time.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch};
use arrow_schema::{DataType, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::schema::types::SchemaDescriptor;

use super::{ImportError, Rows, bad_row, unreadable, unusable};
use crate::generate::Documents;

/// Rows that are in memory at once: long documents make batches of a few megabytes.
const BATCH_ROWS: usize = 1_024;

/// A pass over such a file.
pub(super) struct Parquet {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    columns: Vec<String>,
    /// The columns wanted of the batch at hand, as bytes that should be UTF-8, and how many of its
    /// rows have been handed out.
    batch: Vec<BinaryArray>,
    next: usize,
    row: u64,
}

/// The names of the columns that hold text.
pub(super) fn names(path: &Path) -> Result<Vec<String>, ImportError> {
    let schema = builder(path)?.schema().clone();
    let texts = schema.fields().iter().filter(|it| is_text(it.data_type()));
    Ok(texts.map(|field| field.name().clone()).collect())
}

/// The names of all columns.
pub(super) fn all_names(path: &Path) -> Result<Vec<String>, ImportError> {
    let builder = builder(path)?;
    Ok(names_in(builder.schema()))
}

fn names_in(schema: &Schema) -> Vec<String> {
    let fields = schema.fields().iter();
    fields.map(|field| field.name().clone()).collect()
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn builder(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, ImportError> {
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| unusable(path, format!("not a Parquet file: {error}")))
}

/// Only these columns, by their places: in names the library takes a dot for the way into a nested
/// column.
fn only(columns: &[String], schema: &SchemaDescriptor) -> ProjectionMask {
    let known = schema.root_schema().get_fields().iter().enumerate();
    let wanted = known.filter(|(_, field)| columns.iter().any(|name| name == field.name()));
    ProjectionMask::roots(schema, wanted.map(|(place, _)| place))
}

impl Parquet {
    pub(super) fn open(path: &Path, columns: &[String]) -> Result<Parquet, ImportError> {
        let builder = builder(path)?;
        let mask = only(columns, builder.parquet_schema());
        let reader = builder
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(|error| unusable(path, error.to_string()))?;
        Ok(Parquet {
            path: path.to_owned(),
            reader,
            columns: columns.to_vec(),
            batch: Vec::new(),
            next: 0,
            row: 0,
        })
    }

    /// Takes up the next batch; false where there is none.
    fn advance(&mut self) -> Result<bool, ImportError> {
        let Some(batch) = self.reader.next() else {
            return Ok(false);
        };
        // The library gives up a batch as a whole and does not say for which of its rows.
        let batch = batch.map_err(|error| {
            let what = format!("in row {} or later: {error}", self.row + 1);
            unusable(&self.path, what)
        })?;
        let columns = self.columns.iter();
        self.batch = columns
            .map(|name| self.column(&batch, name))
            .collect::<Result<_, _>>()?;
        self.next = 0;
        Ok(true)
    }

    fn column(&self, batch: &RecordBatch, name: &str) -> Result<BinaryArray, ImportError> {
        let missing = || unusable(&self.path, format!("its column `{name}` cannot be read"));
        let column = batch.column_by_name(name).ok_or_else(missing)?;
        let bytes = as_bytes(column).map_err(|error| {
            unusable(
                &self.path,
                format!("its column `{name}` is no text: {error}"),
            )
        })?;
        Ok(bytes.as_binary::<i32>().clone())
    }
}

/// A column as the bytes of its texts; what is neither text nor bytes is written as text first.
fn as_bytes(column: &ArrayRef) -> Result<ArrayRef, arrow_schema::ArrowError> {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, Utf8};
    let text = match column.data_type() {
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => column.clone(),
        _ => arrow_cast::cast(column, &Utf8)?,
    };
    arrow_cast::cast(&text, &Binary)
}

impl Rows for Parquet {
    fn next_into(&mut self, documents: &mut Documents) -> Result<bool, ImportError> {
        while self.batch.first().is_none_or(|it| self.next == it.len()) {
            if !self.advance()? {
                return Ok(false);
            }
        }
        self.row += 1;
        for (column, name) in self.batch.iter().zip(&self.columns) {
            if column.is_null(self.next) {
                documents.push_field("");
                continue;
            }
            let text = std::str::from_utf8(column.value(self.next)).map_err(|_| {
                let what = format!("not UTF-8 in the column `{name}`");
                bad_row(&self.path, self.row, what)
            })?;
            documents.push_field(text);
        }
        self.next += 1;
        Ok(true)
    }
}
