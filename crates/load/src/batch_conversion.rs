//! Batches in SQLite's own types. Rows with values for which SQLite has nothing are malformed.

use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch};

use crate::batch::{Batch, Malformed, record_batch};
use crate::convert::{ConversionError, Decimals, converted, field_text, is_own};
use crate::error::{Fault, Result};

/// A batch in SQLite's own types, without the rows that have a value for which SQLite has nothing: these are
/// malformed. What stands before and behind such a row becomes batches of their own.
///
/// # Errors
/// SQLite has nothing like the type of a column.
pub(crate) fn convert_batch(input: &str, decimals: Decimals, batch: Batch) -> Result<Vec<Batch>> {
    if batch.rows.columns().iter().all(is_own) {
        return Ok(vec![batch]);
    }
    let mut splitter =
        Splitter { input, decimals, batch: &batch, kept: Vec::new(), refused: Vec::new() };
    splitter.split(0..batch.rows.num_rows())?;
    if splitter.kept.is_empty() {
        // The malformed rows need a batch to come with.
        splitter.split(0..0)?;
    }
    let Splitter { mut kept, refused, .. } = splitter;
    if let Some(first) = kept.first_mut() {
        first.malformed = batch.malformed;
        first.malformed.extend(refused);
        first.malformed.sort_by_key(|row| row.row);
    }
    Ok(kept)
}

/// Divides a batch until the malformed rows are found, which costs nothing if there are
/// none.
struct Splitter<'b> {
    input: &'b str,
    decimals: Decimals,
    batch: &'b Batch,
    kept: Vec<Batch>,
    refused: Vec<Malformed>,
}

impl Splitter<'_> {
    /// Keeps these rows, or bisects them to find the malformed ones.
    fn split(&mut self, range: Range<usize>) -> Result<()> {
        let rows = self.batch.rows.slice(range.start, range.len());
        match converted_columns(&rows, self.decimals) {
            Ok(columns) => self.keep(range, columns),
            Err((column, ConversionError::Values(reason))) if range.len() == 1 => {
                self.refuse(range.start, column, &reason);
                Ok(())
            }
            Err((_, ConversionError::Values(_))) if range.len() > 1 => {
                let middle = range.start + range.len() / 2;
                self.split(range.start..middle)?;
                self.split(middle..range.end)
            }
            Err((column, error)) => {
                let name = rows.schema_ref().field(column).name();
                Err(error.of_column(name, rows.column(column).data_type()))
            }
        }
    }

    fn keep(&mut self, range: Range<usize>, columns: Vec<ArrayRef>) -> Result<()> {
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
            is_kept: false,
        });
    }
}

/// Returns the columns of these rows in SQLite's own types, or the number of a column that cannot be converted.
fn converted_columns(
    rows: &RecordBatch,
    decimals: Decimals,
) -> Result<Vec<ArrayRef>, (usize, ConversionError)> {
    let columns = rows.columns().iter().enumerate();
    columns
        .map(|(number, column)| converted(column, decimals).map_err(|error| (number, error)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::RowNumbers;
    use crate::error::LoadError;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Date32Array, DurationSecondArray, StringArray, UInt64Array};
    use std::sync::Arc;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> Batch {
        Batch {
            rows: RecordBatch::try_from_iter(columns).unwrap(),
            numbers: RowNumbers { first: 11, left_out: vec![12], of: Vec::new() },
            malformed: vec![Malformed {
                row: 12,
                column: None,
                fault: Fault::Encoding { expected: "UTF-8", is_mixed: false },
                is_kept: false,
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
            convert_batch("test", Decimals::Text, batch(vec![("id", ids), ("day", days)])).unwrap();
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
        let parts = convert_batch("test", Decimals::Text, batch(vec![("id", ids)])).unwrap();
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].rows.num_rows(), 0);
        let rows: Vec<u64> = parts[0].malformed.iter().map(|bad| bad.row).collect();
        assert_eq!(rows, [11, 12, 13]);
    }

    #[test]
    fn a_batch_that_is_as_sqlite_has_it_stays_as_it_is() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let parts = convert_batch("test", Decimals::Text, batch(vec![("text", texts)])).unwrap();
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].malformed.len(), 1);
        assert_eq!(parts[0].numbers.left_out, [12]);
    }

    #[test]
    fn a_type_without_a_counterpart_is_an_error_whatever_the_rows() {
        for rows in [0, 2] {
            let durations: ArrayRef = Arc::new(DurationSecondArray::from(vec![1; rows]));
            let error = convert_batch("test", Decimals::Text, batch(vec![("time", durations)]))
                .unwrap_err();
            assert!(matches!(error, LoadError::Type(..)), "{error}");
        }
    }
}
