//! A batch as SQLite sees it: Arrow's many types reduced to SQLite's five.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BinaryArray, Float64Array, Int64Array, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
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
            DataType::Dictionary(_, values) => Cells::cast(array, values, name)?,
            DataType::Float16 => Cells::cast(array, &DataType::Float64, name)?,
            DataType::FixedSizeBinary(_) => Cells::cast(array, &DataType::Binary, name)?,
            // As text, the form that SQLite's date functions read; decimals keep every digit.
            DataType::Date32
            | DataType::Date64
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Timestamp(_, _)
            | DataType::Decimal32(_, _)
            | DataType::Decimal64(_, _)
            | DataType::Decimal128(_, _)
            | DataType::Decimal256(_, _) => Cells::cast(array, &DataType::Utf8, name)?,
            _ => return Err(unfit()),
        })
    }

    fn cast(array: &ArrayRef, to: &DataType, name: &str) -> Result<Cells, LoadError> {
        // A value that cannot be converted is an error, not NULL.
        let options = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let cast = cast_with_options(array, to, &options).map_err(|error| LoadError::Type {
            column: name.to_owned(),
            found: format!("{} ({error})", array.data_type()),
        })?;
        Cells::new(&cast, name)
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
            Cells::Text(values) => length(values.value_offsets()),
            Cells::Blob(values) => length(values.value_offsets()),
            _ => 0,
        }
    }

    /// The bytes of the text or blob in a row.
    pub(crate) fn length(&self, row: usize) -> usize {
        match self {
            Cells::Text(values) => values.value(row).len(),
            Cells::Blob(values) => values.value(row).len(),
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

/// The bytes between the first and the last of these offsets.
fn length(offsets: &[i32]) -> usize {
    match offsets {
        [first, .., last] => (last - first) as usize,
        _ => 0,
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

    /// About the bytes of the values of these rows.
    pub(crate) fn bytes(&self) -> usize {
        let rows = self.range.len();
        let of = |cells: &Cells| rows * size_of::<i64>() + cells.bytes();
        self.cells.iter().map(of).sum()
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::*;
    use engine::Value;

    fn values(array: impl Array + 'static) -> Vec<String> {
        let array: ArrayRef = Arc::new(array);
        let cells = Cells::new(&array, "c").unwrap();
        (0..array.len())
            .map(|row| cells.value(row).to_value())
            .map(|value: Value| format!("{} {value}", value.type_name()))
            .collect()
    }

    #[test]
    fn types_that_sqlite_lacks_become_those_it_has() {
        assert_eq!(
            values(BooleanArray::from(vec![Some(true), None])),
            ["integer 1", "null NULL"]
        );
        assert_eq!(values(UInt8Array::from(vec![255])), ["integer 255"]);
        assert_eq!(values(Float32Array::from(vec![0.5])), ["real 0.5"]);
        assert_eq!(values(Date32Array::from(vec![19_753])), ["text 2024-01-31"]);
        assert_eq!(
            values(TimestampSecondArray::from(vec![0])),
            ["text 1970-01-01T00:00:00"]
        );
        let decimal = Decimal128Array::from(vec![-12_345])
            .with_precision_and_scale(10, 2)
            .unwrap();
        assert_eq!(values(decimal), ["text -123.45"]);
        let dictionary: DictionaryArray<types::Int8Type> =
            vec!["a", "b", "a"].into_iter().collect();
        assert_eq!(values(dictionary), ["text a", "text b", "text a"]);
        assert_eq!(values(LargeStringArray::from(vec!["x"])), ["text x"]);
    }

    #[test]
    fn values_without_a_counterpart_are_refused() {
        let refused = |array: ArrayRef| Cells::new(&array, "c").err().unwrap().to_string();
        let large = refused(Arc::new(UInt64Array::from(vec![u64::MAX])));
        assert!(
            large.contains("column c") && large.contains("UInt64"),
            "{large}"
        );
        let list = ListArray::from_iter_primitive::<types::Int8Type, _, _>([Some([Some(1)])]);
        assert!(refused(Arc::new(list)).contains("List"));
    }
}
