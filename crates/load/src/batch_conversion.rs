//! Batches in SQLite's own types. Rows with values for which SQLite has nothing are malformed.

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use crate::batch::{Batch, Malformed, record_batch};
use crate::convert::{ConversionError, Decimals, converted, field_text, is_own};
use crate::error::{Fault, LoadError, Result};

/// A batch in SQLite's own types, without the rows that have a value for which SQLite has nothing: these are
/// malformed.
///
/// # Errors
/// SQLite has nothing like the type of a column.
pub(crate) fn convert_batch(input: &str, decimals: Decimals, mut batch: Batch) -> Result<Batch> {
    if batch.rows.columns().iter().all(is_own) {
        return Ok(batch);
    }
    let mut columns = converted_columns(&batch.rows, decimals);
    if let Err((_, ConversionError::Values(_))) = columns {
        let mut refused = Vec::new();
        find_refused(&batch.rows, 0, decimals, &mut refused)?;
        let before = batch.rows.clone();
        leave_out(input, &mut batch, &before, refused)?;
        columns = converted_columns(&batch.rows, decimals);
    }
    let rows = &batch.rows;
    let columns = columns.map_err(|failed| of_column(rows, failed))?;
    let schema = rows.schema();
    let names = schema.fields().iter().map(|field| field.name());
    batch.rows = record_batch(input, names, columns, rows.num_rows())?;
    Ok(batch)
}

/// A row that is refused, by its place in the batch; the column with the fault, and the fault.
pub(crate) type Refused = (usize, String, String);

/// Lists the rows that cannot be converted, by bisection of a batch that has some. The first of these rows has the number `first`.
fn find_refused(
    rows: &RecordBatch,
    first: usize,
    decimals: Decimals,
    refused: &mut Vec<Refused>,
) -> Result<()> {
    let count = rows.num_rows();
    match converted_columns(rows, decimals) {
        Ok(_) => Ok(()),
        Err((column, ConversionError::Values(reason))) if count == 1 => {
            let data_type = rows.column(column).data_type();
            let reason = format!("its {data_type} value cannot be loaded: {reason}");
            refused.push((first, rows.schema_ref().field(column).name().clone(), reason));
            Ok(())
        }
        Err((_, ConversionError::Values(_))) if count > 1 => {
            let half = count / 2;
            find_refused(&rows.slice(0, half), first, decimals, refused)?;
            find_refused(&rows.slice(half, count - half), first + half, decimals, refused)
        }
        Err(failed) => Err(of_column(rows, failed)),
    }
}

/// Takes rows out of a batch, at most one for each place, in ascending order; `before` are the rows as they were read.
pub(crate) fn leave_out(
    input: &str,
    batch: &mut Batch,
    before: &RecordBatch,
    refused: Vec<Refused>,
) -> Result<()> {
    let mut is_kept = vec![true; before.num_rows()];
    let numbers: Vec<u64> = refused.iter().map(|(row, ..)| batch.numbers.number(*row)).collect();
    for ((row, column, reason), number) in refused.into_iter().zip(&numbers) {
        is_kept[row] = false;
        let fields = before.columns().iter().map(|field| field_text(&field.slice(row, 1)));
        let (fault, fields) = (Fault::Form(reason), fields.collect());
        batch.malformed.push(Malformed::new(*number, Some(column), fault, fields));
    }
    batch.malformed.sort_by_key(|row| row.row);
    batch.numbers.left_out.extend(numbers);
    batch.numbers.left_out.sort_unstable();
    batch.rows = filter_record_batch(&batch.rows, &BooleanArray::from(is_kept))
        .map_err(|error| LoadError::form(input, error))?;
    Ok(())
}

/// A column that cannot be converted, and why.
type Failed = (usize, ConversionError);

/// Returns the columns of these rows in SQLite's own types, or the number of a column that cannot be converted.
fn converted_columns(rows: &RecordBatch, decimals: Decimals) -> Result<Vec<ArrayRef>, Failed> {
    let columns = rows.columns().iter().enumerate();
    columns
        .map(|(number, column)| converted(column, decimals).map_err(|error| (number, error)))
        .collect()
}

fn of_column(rows: &RecordBatch, (column, error): Failed) -> LoadError {
    error.of_column(rows.schema_ref().field(column).name(), rows.column(column).data_type())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::RowNumbers;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{
        Date32Array, DurationSecondArray, Int64Array, StringArray, UInt64Array, UnionArray,
    };
    use arrow_schema::{DataType, Field, UnionFields};
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
        let part =
            convert_batch("test", Decimals::Text, batch(vec![("id", ids), ("day", days)])).unwrap();
        assert_eq!(part.bytes_read, 100);
        let ids = part.rows.column(0).as_primitive::<Int64Type>();
        let days = part.rows.column(1).as_string::<i32>();
        let values = ids.iter().zip(days).enumerate();
        let rows: Vec<(u64, Option<i64>, &str)> = values
            .map(|(index, (id, day))| (part.numbers.number(index), id, day.unwrap()))
            .collect();
        assert_eq!(
            rows,
            [(11, Some(1), "1970-01-01"), (14, None, "1970-01-03"), (16, Some(5), "1970-01-05")]
        );
        let messages: Vec<String> = (part.malformed.iter())
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
        let part = convert_batch("test", Decimals::Text, batch(vec![("id", ids)])).unwrap();
        assert_eq!(part.rows.num_rows(), 0);
        let rows: Vec<u64> = part.malformed.iter().map(|bad| bad.row).collect();
        assert_eq!(rows, [11, 12, 13]);
    }

    #[test]
    fn a_batch_that_is_as_sqlite_has_it_stays_as_it_is() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let part = convert_batch("test", Decimals::Text, batch(vec![("text", texts)])).unwrap();
        assert_eq!(part.malformed.len(), 1);
        assert_eq!(part.numbers.left_out, [12]);
    }

    #[test]
    fn a_type_without_a_counterpart_is_an_error_whatever_the_rows() {
        for rows in [0, 2] {
            let durations: ArrayRef = Arc::new(DurationSecondArray::from(vec![1; rows]));
            let error = convert_batch("test", Decimals::Text, batch(vec![("time", durations)]))
                .unwrap_err();
            assert!(matches!(error, LoadError::Type(..)), "{error}");
        }
        let field = Arc::new(Field::new("i", DataType::Int64, true));
        let fields = UnionFields::from_fields([field]);
        let union = UnionArray::try_new(
            fields,
            vec![0].into(),
            None,
            vec![Arc::new(Int64Array::from(vec![1]))],
        );
        let columns = batch(vec![("u", Arc::new(union.unwrap()))]);
        let error = convert_batch("test", Decimals::Text, columns).unwrap_err();
        assert!(matches!(error, LoadError::Type(..)), "{error}");
    }
}
