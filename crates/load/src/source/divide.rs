//! Batches of any length, given in parts of the length that the loader takes at a time.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, LargeBinaryType, LargeUtf8Type,
    StringViewType, Utf8Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

use crate::batch::{Batch, RowNumbers};
use crate::error::LoadError;

/// Rows in a batch, whose columns stay in the processor's cache.
pub(super) const BATCH_ROWS: usize = 16 << 10;
/// Bytes of values in a batch, unless one row has more: wide rows come in batches of fewer.
pub(super) const BATCH_BYTES: usize = 8 << 20;

/// The first rows of a batch, as many as are taken at a time, and what is left of it.
fn divided(batch: RecordBatch) -> (RecordBatch, Option<RecordBatch>) {
    let all = batch.num_rows();
    let mut rows = all.min(BATCH_ROWS);
    while rows > 1 && bytes_of(&batch.slice(0, rows)) > BATCH_BYTES {
        rows /= 2;
    }
    if rows == all {
        return (batch, None);
    }
    let rest = batch.slice(rows, all - rows);
    (batch.slice(0, rows), Some(rest))
}

/// Batches of any length as those of a source, numbered through.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// What is left of a batch that is longer than ours.
    rest: Option<RecordBatch>,
    /// Rows so far.
    pub(super) rows: u64,
}

impl Parts {
    /// The next rows: some of a longer batch, or of one that `more` gives.
    pub(super) fn next(
        &mut self,
        more: impl FnOnce(u64) -> Result<Option<RecordBatch>, LoadError>,
    ) -> Result<Option<Batch>, LoadError> {
        let batch = match self.rest.take() {
            Some(batch) => Some(batch),
            None => more(self.rows)?,
        };
        let Some(batch) = batch else {
            return Ok(None);
        };
        let (rows, rest) = divided(batch);
        self.rest = rest;
        let first = self.rows + 1;
        self.rows += rows.num_rows() as u64;
        Ok(Some(Batch {
            rows,
            numbers: RowNumbers { first, left_out: Vec::new() },
            malformed: Vec::new(),
            bytes_read: 0,
        }))
    }
}

fn bytes_of(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(bytes_of_column).sum()
}

/// The bytes of the values of a column, or of the buffers they lie in where that is not known.
fn bytes_of_column(column: &ArrayRef) -> usize {
    match column.data_type() {
        // Of these the library counts what points to the values, however often and wherever it points.
        DataType::Utf8View | DataType::BinaryView | DataType::Dictionary(_, _) => {
            (0..column.len()).map(lengths(column)).sum()
        }
        _ => {
            let data = column.to_data();
            data.get_slice_memory_size().unwrap_or_else(|_| data.get_buffer_memory_size())
        }
    }
}

/// Tells the bytes of the value in a row.
type Lengths<'c> = Box<dyn Fn(usize) -> usize + 'c>;

fn lengths(column: &ArrayRef) -> Lengths<'_> {
    match column.data_type() {
        DataType::Utf8 => lengths_by_offsets::<Utf8Type>(column),
        DataType::LargeUtf8 => lengths_by_offsets::<LargeUtf8Type>(column),
        DataType::Binary => lengths_by_offsets::<BinaryType>(column),
        DataType::LargeBinary => lengths_by_offsets::<LargeBinaryType>(column),
        DataType::Utf8View => lengths_by_views::<StringViewType>(column),
        DataType::BinaryView => lengths_by_views::<BinaryViewType>(column),
        DataType::Dictionary(_, _) => lengths_by_keys(column),
        _ => Box::new(|_| size_of::<i64>()),
    }
}

fn lengths_by_offsets<T: ByteArrayType>(column: &ArrayRef) -> Lengths<'_> {
    let values = column.as_bytes::<T>();
    Box::new(move |row| values.value_length(row).as_usize())
}

fn lengths_by_views<T: ByteViewType>(column: &ArrayRef) -> Lengths<'_> {
    let views = column.as_byte_view::<T>().views();
    // A view begins with the length, in 32 bits.
    Box::new(move |row| views[row] as u32 as usize)
}

fn lengths_by_keys(column: &ArrayRef) -> Lengths<'_> {
    let dictionary = column.as_any_dictionary();
    if dictionary.values().is_empty() {
        return Box::new(|_| 0);
    }
    let keys = dictionary.normalized_keys();
    let length = lengths(dictionary.values());
    Box::new(move |row| length(keys[row]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{
        BinaryViewArray, DictionaryArray, Int32Array, Int64Array, StringArray, StringViewArray,
    };
    use std::sync::Arc;

    const WIDE: usize = 20_000;

    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("c", column)]).unwrap()
    }

    /// The numbers of rows in the parts of a batch.
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
