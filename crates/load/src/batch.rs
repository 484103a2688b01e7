//! What readers produce and strategies consume.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use thiserror::Error;

use crate::affinity::Affinity;
use crate::error::LoadError;

/// Rows in columnar form, with what is needed to name one of them in a message.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The rows; their columns are the source's, in its order. The type of a column may differ from
    /// batch to batch: what is text in one may be integers in the next.
    pub rows: RecordBatch,
    /// Their numbers in the input.
    pub numbers: RowNumbers,
    /// Rows that could not be read, in order; they are not among `rows`.
    pub malformed: Vec<Malformed>,
    /// How much of the input has been read so far, in bytes as they lie on the disk.
    pub bytes_read: u64,
}

/// A row that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Its number, from 1, without the header.
    pub row: u64,
    /// The column to blame, where there is one.
    pub column: Option<String>,
    /// What is wrong with it.
    pub fault: Fault,
    /// What could be made out of it.
    pub fields: Vec<String>,
}

/// What is wrong with a row.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// It is not as its format has rows.
    #[error("{0}")]
    Form(String),
    /// Its text is not of the encoding in which it is read.
    #[error("it is not valid {0}")]
    Encoding(&'static str),
    /// An object of JSON has a key that is no column.
    #[error("its key {0} is not among those of the first lines")]
    UnknownKey(String),
    /// The type of a column, chosen from the first rows, would change a value.
    #[error("the type {declared}, chosen from the first rows, would change the value `{value}`")]
    Type {
        /// The type.
        declared: &'static str,
        /// The beginning of the value.
        value: String,
    },
    /// It has the first value of a column, which is read again to choose the type of that column.
    #[error("the first rows have no value in this column, so its type is not known")]
    Unseen,
    /// The table refuses it, in SQLite's words.
    #[error("{0}")]
    Refused(String),
}

impl Fault {
    /// A value that a column of this affinity would change.
    pub(crate) fn changed(affinity: Affinity, value: &[u8]) -> Fault {
        let value = String::from_utf8_lossy(value);
        Fault::Type {
            declared: affinity.declared(),
            value: value.chars().take(LONGEST_VALUE).collect(),
        }
    }

    /// Whether the types of columns are to blame, not the row: it is never skipped.
    pub(crate) fn is_of_type(&self) -> bool {
        matches!(self, Fault::Type { .. } | Fault::Unseen)
    }
}

/// Characters of a value that a message repeats.
const LONGEST_VALUE: usize = 60;

/// The numbers of a batch's rows in the input: consecutive, but for the malformed ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowNumbers {
    /// The number that the first row has if none is left out before it.
    pub first: u64,
    /// The numbers left out, ascending.
    pub left_out: Vec<u64>,
}

impl RowNumbers {
    /// The number of the row at this index of the batch.
    pub fn number(&self, index: usize) -> u64 {
        let mut number = self.first + index as u64;
        for left_out in &self.left_out {
            if *left_out <= number {
                number += 1;
            }
        }
        number
    }

    /// How many rows stand before the one of this number.
    pub(crate) fn before(&self, number: u64) -> usize {
        let left_out = self.left_out.partition_point(|left_out| *left_out < number);
        number.saturating_sub(self.first + left_out as u64) as usize
    }

    /// The numbers of the rows from this index of the batch on.
    pub(crate) fn starting_at(&self, index: usize) -> RowNumbers {
        let first = self.number(index);
        let left_out = self.left_out.iter().copied();
        RowNumbers { first, left_out: left_out.filter(|number| *number > first).collect() }
    }
}

/// Columns of so many rows, side by side.
///
/// # Errors
/// They do not make a batch, which is not known to happen.
pub(crate) fn record_batch<'n>(
    input: &str,
    names: impl IntoIterator<Item = &'n String>,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, LoadError> {
    let fields: Vec<Field> = names
        .into_iter()
        .zip(&columns)
        .map(|(name, column)| Field::new(name, column.data_type().clone(), true))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
        .map_err(|error| LoadError::form(input, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_behind_a_malformed_one_keep_their_numbers() {
        let numbers = RowNumbers { first: 10, left_out: vec![10, 12, 13] };
        let found: Vec<u64> = (0..3).map(|index| numbers.number(index)).collect();
        assert_eq!(found, [11, 14, 15]);
    }

    #[test]
    fn a_part_of_a_batch_keeps_the_numbers_of_its_rows() {
        let numbers = RowNumbers { first: 10, left_out: vec![10, 12, 13] };
        for index in 0..3 {
            let part = numbers.starting_at(index);
            assert_eq!(part.number(0), numbers.number(index));
            assert_eq!(part.number(3), numbers.number(index + 3));
        }
    }
}
