//! A batch as SQLite sees it: Arrow's many types reduced to SQLite's five.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BinaryArray, Float64Array, Int64Array, StringArray};
use arrow_schema::DataType;
use engine::{Columns, ValueRef};

use crate::batch::Batch;
use crate::error::LoadError;

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
    /// The column's values, converted where SQLite has no such type: booleans to 0 and 1, numbers to
    /// 64 bits.
    pub(crate) fn new(array: &ArrayRef, name: &str) -> Result<Cells, LoadError> {
        fn integers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Cells
        where
            T::Native: Into<i64>,
        {
            Cells::Integer(array.as_primitive::<T>().unary(Into::into))
        }
        let unfit = || LoadError::Type {
            column: name.to_owned(),
            found: array.data_type().to_string(),
        };
        Ok(match array.data_type() {
            DataType::Null => Cells::Null,
            DataType::Boolean => Cells::Integer(
                array
                    .as_boolean()
                    .iter()
                    .map(|b| b.map(i64::from))
                    .collect(),
            ),
            DataType::Int8 => integers::<Int8Type>(array),
            DataType::Int16 => integers::<Int16Type>(array),
            DataType::Int32 => integers::<Int32Type>(array),
            DataType::Int64 => Cells::Integer(array.as_primitive::<Int64Type>().clone()),
            DataType::UInt8 => integers::<UInt8Type>(array),
            DataType::UInt16 => integers::<UInt16Type>(array),
            DataType::UInt32 => integers::<UInt32Type>(array),
            DataType::UInt64 => {
                let values = array.as_primitive::<UInt64Type>();
                if values
                    .iter()
                    .flatten()
                    .any(|value| i64::try_from(value).is_err())
                {
                    return Err(LoadError::Type {
                        column: name.to_owned(),
                        found: "UInt64 with values above 9223372036854775807".to_owned(),
                    });
                }
                Cells::Integer(values.unary(|value| value as i64))
            }
            DataType::Float32 => Cells::Real(array.as_primitive::<Float32Type>().unary(f64::from)),
            DataType::Float64 => Cells::Real(array.as_primitive::<Float64Type>().clone()),
            DataType::Utf8 => Cells::Text(array.as_string::<i32>().clone()),
            DataType::LargeUtf8 => Cells::Text(array.as_string::<i64>().iter().collect()),
            DataType::Utf8View => Cells::Text(array.as_string_view().iter().collect()),
            DataType::Binary => Cells::Blob(array.as_binary::<i32>().clone()),
            DataType::LargeBinary => Cells::Blob(array.as_binary::<i64>().iter().collect()),
            DataType::BinaryView => Cells::Blob(array.as_binary_view().iter().collect()),
            _ => return Err(unfit()),
        })
    }

    /// Whether any value is NULL; NaN is, in SQLite.
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

    /// The bytes of all texts or blobs together: no single one is longer.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Cells::Text(values) => values.value_data().len(),
            Cells::Blob(values) => values.value_data().len(),
            _ => 0,
        }
    }

    /// Whether texts hold NUL bytes.
    pub(crate) fn has_nul_bytes(&self) -> bool {
        matches!(self, Cells::Text(values) if values.value_data().contains(&0))
    }

    /// The value of a row.
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

/// Consecutive rows of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    cells: Arc<[Cells]>,
    range: Range<usize>,
}

impl Rows {
    /// Every row of a batch.
    pub(crate) fn of(batch: &Batch) -> Result<Rows, LoadError> {
        let schema = batch.rows.schema();
        let cells: Result<Vec<Cells>, LoadError> = batch
            .rows
            .columns()
            .iter()
            .zip(schema.fields())
            .map(|(array, field)| Cells::new(array, field.name()))
            .collect();
        Ok(Rows {
            cells: cells?.into(),
            range: 0..batch.rows.num_rows(),
        })
    }

    /// Where these rows stand in the batch.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Some of these rows, by their place in the batch.
    pub(crate) fn part(&self, range: Range<usize>) -> Rows {
        Rows {
            cells: Arc::clone(&self.cells),
            range,
        }
    }

    /// The columns of the whole batch.
    pub(crate) fn cells(&self) -> &[Cells] {
        &self.cells
    }
}

impl Columns for Rows {
    fn rows(&self) -> usize {
        self.range.len()
    }

    #[inline]
    fn value(&self, row: usize, column: usize) -> ValueRef<'_> {
        self.cells
            .get(column)
            .map_or(ValueRef::Null, |cells| cells.value(self.range.start + row))
    }
}
