//! A batch as SQLite sees it: Arrow's many types reduced to SQLite's five.

mod calendar;
mod convert;
mod decimal;
mod dictionary;
mod nested;

pub(crate) use convert::{field_text, sifted};
pub use decimal::Decimals;
pub(crate) use decimal::scale;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, Float64Array, Int64Array, StringArray};
use arrow_schema::DataType;
use engine::{Columns, ValueRef};

use crate::batch::Batch;
use crate::error::LoadError;
use convert::converted;

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
    /// The column's values, converted where SQLite has no such type.
    ///
    /// # Errors
    /// SQLite has nothing like the type, or like one of the values.
    pub(crate) fn new(array: &ArrayRef, name: &str) -> Result<Cells, LoadError> {
        let own = converted(array, Decimals::Text);
        let own = own.map_err(|unfit| unfit.of_column(name, array.data_type()))?;
        Ok(Cells::of_own(&own))
    }

    /// The values of a column that has one of SQLite's own types.
    fn of_own(own: &ArrayRef) -> Cells {
        match own.data_type() {
            DataType::Int64 => Cells::Integer(own.as_primitive::<Int64Type>().clone()),
            DataType::Float64 => Cells::Real(own.as_primitive::<Float64Type>().clone()),
            DataType::Utf8 => Cells::Text(own.as_string::<i32>().clone()),
            DataType::Binary => Cells::Blob(own.as_binary::<i32>().clone()),
            _ => Cells::Null,
        }
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
        Ok(Rows { cells: cells?.into(), range: 0..batch.rows.num_rows() })
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
        Rows { cells: Arc::clone(&self.cells), range }
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
        self.cells.get(column).map_or(ValueRef::Null, |cells| cells.value(self.range.start + row))
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
        assert_eq!(values(BooleanArray::from(vec![Some(true), None])), ["integer 1", "null NULL"]);
        assert_eq!(values(UInt8Array::from(vec![255])), ["integer 255"]);
        assert_eq!(values(Float32Array::from(vec![0.5])), ["real 0.5"]);
        assert_eq!(values(Date32Array::from(vec![19_753])), ["text 2024-01-31"]);
        assert_eq!(values(TimestampSecondArray::from(vec![0])), ["text 1970-01-01T00:00:00"]);
        // SQLite's date functions read both forms of a zone.
        let in_zone = |zone: &str| values(TimestampSecondArray::from(vec![0]).with_timezone(zone));
        assert_eq!(in_zone("UTC"), ["text 1970-01-01T00:00:00Z"]);
        assert_eq!(in_zone("Europe/Vienna"), ["text 1970-01-01T00:00:00Z"]);
        assert_eq!(in_zone("+01:00"), ["text 1970-01-01T01:00:00+01:00"]);
        let decimal = Decimal128Array::from(vec![-12_345]).with_precision_and_scale(10, 2).unwrap();
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
        assert!(large.contains("column c") && large.contains("UInt64"), "{large}");
        let duration = DurationSecondArray::from(vec![1]);
        assert!(refused(Arc::new(duration)).contains("Duration"));
    }
}
