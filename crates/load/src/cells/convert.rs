//! Arrow's many types reduced to those that SQLite has, and rows with values for which it has nothing.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryArrayType, Float64Array, Int64Array, RecordBatch,
    StringArray, StringArrayType, UInt64Array, downcast_primitive_array,
};
use arrow_schema::DataType;
use engine::ValueRef;

use super::decimal::{self, Decimals};
use super::{Cells, calendar, dictionary, nested};
use crate::batch::{Batch, Fault, Malformed, record_batch};
use crate::error::LoadError;

/// Why a column cannot become one of SQLite's.
#[derive(Debug)]
pub(super) enum Unfit {
    /// SQLite has nothing like its type.
    Type,
    /// SQLite has nothing like some of its values.
    Values(String),
}

impl Unfit {
    /// The error of a whole column.
    pub(super) fn of_column(self, name: &str, data_type: &DataType) -> LoadError {
        LoadError::Type {
            column: name.to_owned(),
            found: match self {
                Unfit::Type => data_type.to_string(),
                Unfit::Values(reason) => format!("{data_type} ({reason})"),
            },
        }
    }
}

/// Whether a column has one of SQLite's own types.
fn is_own(column: &ArrayRef) -> bool {
    matches!(
        column.data_type(),
        DataType::Null | DataType::Int64 | DataType::Float64 | DataType::Utf8 | DataType::Binary
    )
}

/// A column in one of SQLite's own types: booleans become 0 and 1, and numbers get 64 bits. Decimals in nested
/// values keep every digit.
pub(super) fn converted(array: &ArrayRef, decimals: Decimals) -> Result<ArrayRef, Unfit> {
    fn integers<T: ArrowPrimitiveType>(array: &ArrayRef) -> ArrayRef
    where
        T::Native: Into<i64>,
    {
        let integers: Int64Array = array.as_primitive::<T>().unary(Into::into);
        Arc::new(integers)
    }
    Ok(match array.data_type() {
        _ if is_own(array) => Arc::clone(array),
        DataType::Boolean => {
            let bits = array.as_boolean().iter();
            Arc::new(bits.map(|bit| bit.map(i64::from)).collect::<Int64Array>())
        }
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => Arc::new(signed(array.as_primitive::<UInt64Type>())?),
        DataType::Float16 => {
            let reals: Float64Array = array.as_primitive::<Float16Type>().unary(f64::from);
            Arc::new(reals)
        }
        DataType::Float32 => {
            let reals: Float64Array = array.as_primitive::<Float32Type>().unary(f64::from);
            Arc::new(reals)
        }
        DataType::LargeUtf8 => texts(array.as_string::<i64>())?,
        DataType::Utf8View => texts(array.as_string_view())?,
        DataType::LargeBinary => blobs(array.as_binary::<i64>())?,
        DataType::BinaryView => blobs(array.as_binary_view())?,
        DataType::FixedSizeBinary(_) => blobs(array.as_fixed_size_binary())?,
        DataType::Dictionary(_, _) => dictionary::gathered(array.as_any_dictionary(), decimals)?,
        _ => {
            let stored = decimal::stored(array, decimals).or_else(|| calendar::texts(array));
            let stored = stored.or_else(|| nested::texts(array));
            return stored.unwrap_or(Err(Unfit::Type));
        }
    })
}

fn signed(values: &UInt64Array) -> Result<Int64Array, Unfit> {
    values.try_unary::<_, Int64Type, _>(|value| {
        i64::try_from(value).map_err(|_| {
            let largest = i64::MAX;
            Unfit::Values(format!("{value} is above SQLite's largest, {largest}"))
        })
    })
}

fn texts<'t>(values: impl StringArrayType<'t>) -> Result<ArrayRef, Unfit> {
    check_length(values.iter().flatten().map(str::len))?;
    Ok(Arc::new(values.iter().collect::<StringArray>()))
}

fn blobs<'b>(values: impl BinaryArrayType<'b>) -> Result<ArrayRef, Unfit> {
    check_length(values.iter().flatten().map(<[u8]>::len))?;
    Ok(Arc::new(values.iter().collect::<BinaryArray>()))
}

/// Whether texts or blobs of these lengths make a column, in which 32 bits tell where each begins; the
/// library panics where they do not.
pub(super) fn check_length(lengths: impl Iterator<Item = usize>) -> Result<(), Unfit> {
    let bytes: usize = lengths.sum();
    match i32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(Unfit::Values(format!("{bytes} bytes exceed SQLite's limit for a value"))),
    }
}

/// A batch in SQLite's own types, without the rows that have a value for which SQLite has nothing: these are
/// malformed. What stands before and behind such a row becomes batches of their own.
///
/// # Errors
/// SQLite has nothing like the type of a column.
pub(crate) fn sifted(
    input: &str,
    decimals: Decimals,
    batch: Batch,
) -> Result<Vec<Batch>, LoadError> {
    if batch.rows.columns().iter().all(is_own) {
        return Ok(vec![batch]);
    }
    let mut sieve = Sieve { input, decimals, batch: &batch, kept: Vec::new(), refused: Vec::new() };
    sieve.sift(0..batch.rows.num_rows())?;
    if sieve.kept.is_empty() {
        // The malformed rows need a batch to come with.
        sieve.sift(0..0)?;
    }
    let Sieve { mut kept, refused, .. } = sieve;
    if let Some(first) = kept.first_mut() {
        first.malformed = batch.malformed;
        first.malformed.extend(refused);
        first.malformed.sort_by_key(|row| row.row);
    }
    Ok(kept)
}

/// A batch that is taken apart until the rows to blame are found, which costs nothing as long as there are
/// none.
struct Sieve<'b> {
    input: &'b str,
    decimals: Decimals,
    batch: &'b Batch,
    kept: Vec<Batch>,
    refused: Vec<Malformed>,
}

impl Sieve<'_> {
    /// Keeps these rows, or finds the ones to blame by halves.
    fn sift(&mut self, range: Range<usize>) -> Result<(), LoadError> {
        let rows = self.batch.rows.slice(range.start, range.len());
        match converted_columns(&rows, self.decimals) {
            Ok(columns) => self.keep(range, columns),
            Err((column, Unfit::Values(reason))) if range.len() == 1 => {
                self.refuse(range.start, column, &reason);
                Ok(())
            }
            Err((_, Unfit::Values(_))) if range.len() > 1 => {
                let middle = range.start + range.len() / 2;
                self.sift(range.start..middle)?;
                self.sift(middle..range.end)
            }
            Err((column, unfit)) => {
                let name = rows.schema_ref().field(column).name();
                Err(unfit.of_column(name, rows.column(column).data_type()))
            }
        }
    }

    fn keep(&mut self, range: Range<usize>, columns: Vec<ArrayRef>) -> Result<(), LoadError> {
        let schema = self.batch.rows.schema();
        let names = schema.fields().iter().map(|field| field.name());
        self.kept.push(Batch {
            rows: record_batch(self.input, names, columns, range.len())?,
            numbers: self.batch.numbers.starting_at(range.start),
            malformed: Vec::new(),
            bytes_read: self.batch.bytes_read,
        });
        Ok(())
    }

    fn refuse(&mut self, row: usize, column: usize, reason: &str) {
        let rows = &self.batch.rows;
        let data_type = rows.column(column).data_type();
        let reason = format!("its {data_type} value cannot be loaded: {reason}");
        let fields = rows.columns().iter();
        self.refused.push(Malformed {
            row: self.batch.numbers.number(row),
            column: Some(rows.schema_ref().field(column).name().clone()),
            fault: Fault::Form(reason),
            fields: fields.map(|column| field_text(&column.slice(row, 1))).collect(),
        });
    }
}

/// The columns of these rows in SQLite's own types, or the number of one that cannot have such.
fn converted_columns(
    rows: &RecordBatch,
    decimals: Decimals,
) -> Result<Vec<ArrayRef>, (usize, Unfit)> {
    let columns = rows.columns().iter().enumerate();
    columns
        .map(|(number, column)| converted(column, decimals).map_err(|unfit| (number, unfit)))
        .collect()
}

/// A value in an array of its own as it is shown; one that cannot be converted as the number that it is.
pub(crate) fn field_text(value: &ArrayRef) -> String {
    let Ok(cells) = Cells::new(value, "") else {
        return number_text(value);
    };
    match cells.value(0) {
        ValueRef::Null => String::new(),
        value => value.to_value().to_string(),
    }
}

/// The number that a value is to Arrow, such as the days of a date; nothing where it is none.
fn number_text(value: &ArrayRef) -> String {
    downcast_primitive_array! {
        value => format!("{:?}", value.value(0)),
        _ => String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::RowNumbers;
    use arrow_array::{Date32Array, DurationSecondArray, LargeStringArray, StringViewArray};

    fn batch(columns: Vec<(&str, ArrayRef)>) -> Batch {
        Batch {
            rows: RecordBatch::try_from_iter(columns).unwrap(),
            numbers: RowNumbers { first: 11, left_out: vec![12] },
            malformed: vec![Malformed {
                row: 12,
                column: None,
                fault: Fault::Encoding("UTF-8"),
                fields: Vec::new(),
            }],
            bytes_read: 100,
        }
    }

    #[test]
    fn rows_with_values_that_sqlite_lacks_are_malformed_and_the_others_kept() {
        let ids: ArrayRef =
            Arc::new(UInt64Array::from(vec![Some(1), Some(u64::MAX), None, Some(4), Some(5)]));
        let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 1, 2, i32::MAX, 4]));
        let parts =
            sifted("test", Decimals::Text, batch(vec![("id", ids), ("day", days)])).unwrap();
        let mut rows = Vec::new();
        for part in &parts {
            assert_eq!(part.bytes_read, 100);
            let ids = part.rows.column(0).as_primitive::<Int64Type>();
            let days = part.rows.column(1).as_string::<i32>();
            for (index, (id, day)) in ids.iter().zip(days).enumerate() {
                rows.push((part.numbers.number(index), id, day.unwrap()));
            }
        }
        assert_eq!(
            rows,
            [(11, Some(1), "1970-01-01"), (14, None, "1970-01-03"), (16, Some(5), "1970-01-05")]
        );
        let malformed = parts.iter().flat_map(|part| &part.malformed);
        let messages: Vec<String> = malformed
            .map(|bad| {
                let column = bad.column.as_deref().unwrap_or("-");
                format!("{} {column} {}: {}", bad.row, bad.fields.join(","), bad.fault)
            })
            .collect();
        assert_eq!(
            messages,
            [
                "12 - : it is not valid UTF-8",
                "13 id 18446744073709551615,1970-01-02: its UInt64 value cannot be loaded: \
                 18446744073709551615 is above SQLite's largest, 9223372036854775807",
                "15 day 4,2147483647: its Date32 value cannot be loaded: \
                 2147483647 is outside of the years 0 to 9999",
            ]
        );
    }

    #[test]
    fn a_batch_of_which_nothing_is_left_still_tells_what_was_wrong() {
        let ids: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 1 << 63]));
        let parts = sifted("test", Decimals::Text, batch(vec![("id", ids)])).unwrap();
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].rows.num_rows(), 0);
        let rows: Vec<u64> = parts[0].malformed.iter().map(|bad| bad.row).collect();
        assert_eq!(rows, [11, 12, 13]);
    }

    #[test]
    fn a_batch_that_is_as_sqlite_has_it_stays_as_it_is() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let parts = sifted("test", Decimals::Text, batch(vec![("text", texts)])).unwrap();
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].malformed.len(), 1);
        assert_eq!(parts[0].numbers.left_out, [12]);
    }

    #[test]
    fn a_type_without_a_counterpart_is_an_error_whatever_the_rows() {
        for rows in [0, 2] {
            let durations: ArrayRef = Arc::new(DurationSecondArray::from(vec![1; rows]));
            let error =
                sifted("test", Decimals::Text, batch(vec![("time", durations)])).unwrap_err();
            assert!(matches!(error, LoadError::Type { .. }), "{error}");
        }
    }

    #[test]
    fn texts_of_any_kind_of_array_stay_what_they_are() {
        let texts = vec![Some("short"), None, Some("a text longer than a view holds")];
        let plain: ArrayRef = Arc::new(StringArray::from(texts.clone()));
        let large: ArrayRef = Arc::new(LargeStringArray::from(texts.clone()));
        let views: ArrayRef = Arc::new(StringViewArray::from(texts));
        for array in [large, views] {
            assert_eq!(&converted(&array, Decimals::Text).unwrap(), &plain);
        }
    }

    #[test]
    fn more_than_a_column_takes_is_refused_before_it_is_copied() {
        let most = i32::MAX as usize;
        assert!(check_length([most - 1, 1].into_iter()).is_ok());
        assert!(matches!(check_length([most, 1].into_iter()), Err(Unfit::Values(_))));
    }
}
