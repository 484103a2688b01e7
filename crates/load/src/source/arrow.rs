//! Rows that are in memory already, as Arrow's record batches; and batches of any length, given in parts of the length
//! that the loader takes at a time.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, DataType, Schema};

use super::{DecimalColumn, Source, SourceInfo};
use crate::batch::{Batch, RowNumbers};
use crate::convert::{Decimals, scale};
use crate::error::{LoadError, Result};
use crate::table::Column;

/// Record batches as a source: the interface for programs that have or make their data in memory.
pub struct BatchSource<'b> {
    info: SourceInfo,
    batches: Batches<'b>,
    parts: Parts,
}

type Batches<'b> = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'b>;

impl<'b> BatchSource<'b> {
    /// Makes a source of these batches; all must have the schema's columns.
    pub fn new(
        name: impl Into<String>,
        schema: &Schema,
        batches: impl Iterator<Item = RecordBatch> + Send + 'b,
    ) -> BatchSource<'b> {
        BatchSource::reading(name, schema, Decimals::default(), batches.map(Ok))
    }

    /// A source of batches that come from elsewhere, which may fail, with what decimals are stored as.
    pub fn reading(
        name: impl Into<String>,
        schema: &Schema,
        decimals: Decimals,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'b,
    ) -> BatchSource<'b> {
        let mut info = info_of_schema(name, schema, decimals);
        // Its name is not the name of a file.
        info.files.clear();
        BatchSource { info, batches: Box::new(batches), parts: Parts::default() }
    }
}

impl BatchSource<'static> {
    /// Opens a file with an Arrow IPC stream.
    ///
    /// # Errors
    /// It cannot be opened, or is damaged at its beginning.
    pub(super) fn of_stream(path: &Path, decimals: Decimals) -> Result<BatchSource<'static>> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(LoadError::open(path))?;
        let length = file.metadata().map_err(LoadError::open(path))?.len();
        let reader = StreamReader::try_new(BufReader::new(file), None)
            .map_err(|error| LoadError::form(&name, error))?;
        let schema = reader.schema();
        let mut source = BatchSource::reading(name, &schema, decimals, reader);
        source.info.files.push(path.to_owned());
        source.info.total_bytes = Some(length);
        Ok(source)
    }
}

/// Returns the columns of an Arrow schema with the declared types that keep their values as they are.
pub(super) fn columns_of(schema: &Schema, decimals: Decimals) -> Vec<Column> {
    schema
        .fields()
        .iter()
        .map(|field| Column {
            name: field.name().clone(),
            declared: declared(field.data_type(), decimals).to_owned(),
            not_null: !field.is_nullable(),
        })
        .collect()
}

fn declared(data_type: &DataType, decimals: Decimals) -> &'static str {
    if let Some(scale) = scale(data_type) {
        return decimals.declared(scale);
    }
    match data_type {
        DataType::Dictionary(_, values) => declared(values, decimals),
        DataType::Boolean => "INTEGER",
        integer if integer.is_integer() => "INTEGER",
        real if real.is_floating() => "REAL",
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "BLOB",
        _ => "TEXT",
    }
}

impl Source for BatchSource<'_> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        let name = &self.info.name;
        let more =
            |_| self.batches.next().transpose().map_err(|error| LoadError::form(name, error));
        let Some(batch) = self.parts.next(more)? else { return Ok(None) };
        let (found, expected) = (batch.rows.num_columns(), self.info.columns.len());
        if found != expected {
            let reason = format!("a batch has {found} columns, the schema {expected}");
            return Err(LoadError::form(self.name(), reason));
        }
        Ok(Some(batch))
    }
}

/// Returns what is known of a source with this Arrow schema.
pub(super) fn info_of_schema(
    name: impl Into<String>,
    schema: &Schema,
    decimals: Decimals,
) -> SourceInfo {
    let mut info = SourceInfo::new(name, columns_of(schema, decimals));
    info.decimals_as = decimals;
    let decimals = schema.fields().iter().filter_map(|field| {
        let scale = scale(field.data_type())?;
        Some(DecimalColumn { name: field.name().clone(), scale })
    });
    info.decimals = decimals.collect();
    info
}

/// Rows in a batch, whose columns stay in the processor's cache.
pub(super) const BATCH_ROWS: usize = 16 << 10;
/// Bytes of values in a batch, unless one row has more: wide rows come in batches of fewer.
pub(super) const BATCH_BYTES: usize = 8 << 20;

/// Returns the first rows of a batch, as many as are taken at a time, and what is left of it.
fn divided(batch: RecordBatch) -> (RecordBatch, Option<RecordBatch>) {
    let all = batch.num_rows();
    let mut rows = all.min(BATCH_ROWS);
    let bytes =
        |rows: usize| -> usize { batch.slice(0, rows).columns().iter().map(bytes_of_column).sum() };
    while rows > 1 && bytes(rows) > BATCH_BYTES {
        rows /= 2;
    }
    if rows == all {
        return (batch, None);
    }
    let rest = batch.slice(rows, all - rows);
    (batch.slice(0, rows), Some(rest))
}

/// Divides batches of any length into the batches of a source, numbered through.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// The rest of a batch that is longer than the loader takes.
    rest: Option<RecordBatch>,
    /// Rows so far.
    pub(super) rows: u64,
}

impl Parts {
    /// Returns the next rows: some of a longer batch, or of one that `more` gives.
    pub(super) fn next(
        &mut self,
        more: impl FnOnce(u64) -> Result<Option<RecordBatch>>,
    ) -> Result<Option<Batch>> {
        let batch = match self.rest.take() {
            Some(batch) => Some(batch),
            None => more(self.rows)?,
        };
        let Some(batch) = batch else { return Ok(None) };
        let (rows, rest) = divided(batch);
        self.rest = rest;
        let first = self.rows + 1;
        self.rows += rows.num_rows() as u64;
        Ok(Some(Batch {
            rows,
            numbers: RowNumbers { first, left_out: Vec::new(), of: Vec::new() },
            malformed: Vec::new(),
            bytes_read: 0,
        }))
    }
}

/// Returns the bytes of the values of a column, or of the buffers they lie in where that is not known.
fn bytes_of_column(column: &ArrayRef) -> usize {
    match column.data_type() {
        // Of these the library counts what points to the values, however often and wherever it points.
        DataType::Utf8View | DataType::BinaryView | DataType::Dictionary(_, _) => {
            let length = length_in(column);
            (0..column.len()).map(length).sum()
        }
        _ => {
            let data = column.to_data();
            data.get_slice_memory_size().unwrap_or_else(|_| data.get_buffer_memory_size())
        }
    }
}

/// Returns a function of a row that gives the bytes of the value in it, without looking at others.
fn length_in<'c>(column: &'c ArrayRef) -> Box<dyn Fn(usize) -> usize + 'c> {
    fn between<O: OffsetSizeTrait>(offsets: &[O], row: usize) -> usize {
        offsets[row + 1].as_usize() - offsets[row].as_usize()
    }
    // A view begins with the length, in 32 bits.
    let of_view = |view: u128| view as u32 as usize;
    match column.data_type() {
        DataType::Utf8 => Box::new(|row| between(column.as_string::<i32>().offsets(), row)),
        DataType::LargeUtf8 => Box::new(|row| between(column.as_string::<i64>().offsets(), row)),
        DataType::Binary => Box::new(|row| between(column.as_binary::<i32>().offsets(), row)),
        DataType::LargeBinary => Box::new(|row| between(column.as_binary::<i64>().offsets(), row)),
        DataType::Utf8View => Box::new(move |row| of_view(column.as_string_view().views()[row])),
        DataType::BinaryView => Box::new(move |row| of_view(column.as_binary_view().views()[row])),
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            if dictionary.values().is_empty() {
                return Box::new(|_| 0);
            }
            let (keys, length) = (dictionary.normalized_keys(), length_in(dictionary.values()));
            Box::new(move |row| length(keys[row]))
        }
        _ => Box::new(|_| size_of::<i64>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::*;
    use std::sync::Arc;

    #[test]
    fn long_batches_come_in_parts_that_are_numbered_through() {
        let long = "x".repeat(5 << 20);
        let texts: ArrayRef = Arc::new(StringArray::from(vec![&*long; 3]));
        let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
        let schema = batch.schema();
        let mut source = BatchSource::new("test", &schema, [batch.clone(), batch].into_iter());
        let mut firsts = Vec::new();
        while let Some(batch) = source.next().unwrap() {
            assert_eq!(batch.rows.num_rows(), 1);
            firsts.push(batch.numbers.first);
        }
        assert_eq!(firsts, [1, 2, 3, 4, 5, 6]);
    }

    const WIDE: usize = 20_000;

    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("c", column)]).unwrap()
    }

    /// Returns the numbers of rows in the parts of a batch.
    fn parts(column: ArrayRef) -> Vec<usize> {
        let mut rest = Some(batch(column));
        let mut parts = Vec::new();
        while let Some(batch) = rest {
            let (part, left) = divided(batch);
            parts.push(part.num_rows());
            rest = left;
        }
        parts
    }

    fn check_wide(column: ArrayRef) {
        let kind = column.data_type().clone();
        let rows = column.len();
        let parts = parts(column);
        assert_eq!(parts.iter().sum::<usize>(), rows, "{kind}");
        assert!(parts.iter().all(|part| *part <= BATCH_BYTES / WIDE), "{kind}: {parts:?}");
        // And not in more than it takes.
        assert!(parts.len() <= 2 * rows / (BATCH_BYTES / WIDE) + 2, "{kind}: {parts:?}");
    }

    #[test]
    fn wide_rows_come_in_parts_of_fewer_whatever_holds_them() {
        let text = "x".repeat(WIDE);
        let texts = vec![&*text; 2_000];
        check_wide(Arc::new(StringArray::from(texts.clone())));
        check_wide(Arc::new(StringViewArray::from(texts.clone())));
        check_wide(Arc::new(BinaryViewArray::from_iter_values(texts)));
        let keys = Int32Array::from(vec![0; 2_000]);
        let values: ArrayRef = Arc::new(StringArray::from(vec![&*text]));
        check_wide(Arc::new(DictionaryArray::new(keys, values)));
    }

    #[test]
    fn rows_of_a_few_bytes_come_by_their_number() {
        let numbers = Int64Array::from_iter_values(0..40_000);
        assert_eq!(parts(Arc::new(numbers)), [BATCH_ROWS, BATCH_ROWS, 7_232]);
        assert_eq!(parts(Arc::new(Int64Array::new_null(0))), [0]);
        let nothing = DictionaryArray::<Int32Type>::from_iter([None::<&str>, None]);
        assert_eq!(parts(Arc::new(nothing)), [2]);
    }

    #[test]
    fn a_row_that_is_longer_than_a_part_is_one_of_its_own() {
        let long = "x".repeat(BATCH_BYTES + 1);
        let texts = StringArray::from(vec!["a", &long, "b"]);
        assert_eq!(parts(Arc::new(texts)), [1, 1, 1]);
    }
}
