//! The columns of a batch by SQLite's five storage classes.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, Float64Array, Int64Array, StringArray};
use arrow_schema::DataType;
use engine::{Columns, ValueRef};

use crate::batch::Batch;

/// A column of a batch.
#[derive(Debug, Clone)]
pub(crate) enum Cells {
    Null,
    Integer(Int64Array),
    Real(Float64Array),
    Text(StringArray),
    Blob(BinaryArray),
}

impl Cells {
    /// The values of a column that has one of SQLite's own types.
    pub(crate) fn of(own: &ArrayRef) -> Cells {
        match own.data_type() {
            DataType::Int64 => Cells::Integer(own.as_primitive::<Int64Type>().clone()),
            DataType::Float64 => Cells::Real(own.as_primitive::<Float64Type>().clone()),
            DataType::Utf8 => Cells::Text(own.as_string::<i32>().clone()),
            DataType::Binary => Cells::Blob(own.as_binary::<i32>().clone()),
            other => {
                debug_assert_eq!(*other, DataType::Null, "batches are converted before");
                Cells::Null
            }
        }
    }

    /// Returns whether any value is NULL; NaN is, in SQLite.
    pub(crate) fn has_nulls(&self) -> bool {
        match self {
            Cells::Null => true,
            Cells::Integer(values) => values.null_count() > 0,
            Cells::Real(values) => {
                values.null_count() > 0 || values.values().iter().any(|value| value.is_nan())
            }
            Cells::Text(values) => values.null_count() > 0,
            Cells::Blob(values) => values.null_count() > 0,
        }
    }

    /// Returns the bytes of all texts or blobs together: no single one is longer.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Cells::Text(values) => length(values.value_offsets()),
            Cells::Blob(values) => length(values.value_offsets()),
            _ => 0,
        }
    }

    /// Returns the bytes of the text or blob in a row.
    pub(crate) fn length(&self, row: usize) -> usize {
        match self {
            Cells::Text(values) => values.value(row).len(),
            Cells::Blob(values) => values.value(row).len(),
            _ => 0,
        }
    }

    /// Returns whether texts hold NUL bytes.
    pub(crate) fn has_nul_bytes(&self) -> bool {
        matches!(self, Cells::Text(values) if values.value_data().contains(&0))
    }

    /// Returns the value of a row.
    #[inline]
    pub(crate) fn value(&self, row: usize) -> ValueRef<'_> {
        match self {
            Cells::Null => ValueRef::Null,
            Cells::Integer(values) if values.is_valid(row) => ValueRef::Integer(values.value(row)),
            Cells::Real(values) if values.is_valid(row) => ValueRef::Real(values.value(row)),
            Cells::Text(values) if values.is_valid(row) => ValueRef::Text(values.value(row)),
            Cells::Blob(values) if values.is_valid(row) => ValueRef::Blob(values.value(row)),
            _ => ValueRef::Null,
        }
    }
}

/// Returns a value as reports show it.
pub(crate) fn display_text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        value => value.to_value().to_string(),
    }
}

/// Returns the bytes between the first and the last of these offsets.
fn length(offsets: &[i32]) -> usize {
    match offsets {
        [first, .., last] => (last - first) as usize,
        _ => 0,
    }
}

/// Consecutive rows of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// The columns of the whole batch.
    pub(crate) cells: Arc<[Cells]>,
    range: Range<usize>,
}

impl Rows {
    /// Every row of a batch.
    pub(crate) fn of(batch: &Batch) -> Rows {
        let cells = batch.rows.columns().iter().map(Cells::of);
        Rows { cells: cells.collect(), range: 0..batch.rows.num_rows() }
    }

    /// Returns the place of these rows in the batch.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// About the bytes of the values of these rows.
    pub(crate) fn bytes(&self) -> usize {
        let rows = self.range.len();
        let of = |cells: &Cells| rows * size_of::<i64>() + cells.bytes();
        self.cells.iter().map(of).sum()
    }

    /// Some of these rows, by their place in the batch.
    pub(crate) fn part(&self, range: Range<usize>) -> Rows {
        Rows { cells: Arc::clone(&self.cells), range }
    }
}

impl Columns for Rows {
    fn rows(&self) -> usize {
        self.range.len()
    }

    #[inline]
    fn value(&self, row: usize, column: usize) -> ValueRef<'_> {
        self.cells.get(column).map_or(ValueRef::Null, |cells| cells.value(self.range.start + row))
    }
}
