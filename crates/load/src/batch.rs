//! The rows that readers produce and strategies consume.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};

use crate::error::{Fault, LoadError, Result};
use crate::source::Locations;

/// Rows in columnar form, with their numbers for messages.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The rows; their columns are the source's, in its order. The type of a column may differ from
    /// batch to batch: text in one may be integers in the next.
    pub rows: RecordBatch,
    /// Their numbers in the input.
    pub numbers: RowNumbers,
    /// Rows that could not be read, in order; only those that were mended are among `rows`.
    pub malformed: Vec<Malformed>,
    /// Bytes of the input that have been read from the disk so far.
    pub bytes_read: u64,
}

/// A row that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Its number, from 1, without the header.
    pub row: u64,
    /// The column with the fault, if there is one.
    pub column: Option<String>,
    /// The fault.
    pub fault: Fault,
    /// The fields that could be read.
    pub fields: Vec<String>,
    /// Whether it was mended, and is among the rows that are loaded.
    pub is_kept: bool,
}

impl Malformed {
    /// A row that is left out.
    pub(crate) fn new(
        row: u64,
        column: Option<String>,
        fault: Fault,
        fields: Vec<String>,
    ) -> Malformed {
        Malformed { row, column, fault, fields, is_kept: false }
    }

    /// Returns the error of the row.
    pub(crate) fn error(self, locations: &Locations) -> LoadError {
        let location = locations.find(self.row);
        LoadError::Row { location, column: self.column, fault: self.fault }
    }
}

/// The numbers of a batch's rows in the input: consecutive, but for the malformed ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowNumbers {
    /// The number that the first row has if none is left out before it.
    pub first: u64,
    /// The numbers left out, ascending.
    pub left_out: Vec<u64>,
    /// Which row of those read each row comes from, ascending; empty if each comes from one of its own.
    pub of: Vec<u32>,
}

impl RowNumbers {
    /// Returns the number of the row at this index of the batch.
    pub fn number(&self, index: usize) -> u64 {
        let index = self.of.get(index).map_or(index as u64, |row| u64::from(*row));
        let mut number = self.first + index;
        for left_out in &self.left_out {
            if *left_out <= number {
                number += 1;
            }
        }
        number
    }

    /// Returns the number of rows before the row with this number.
    pub(crate) fn before(&self, number: u64) -> usize {
        let left_out = self.left_out.partition_point(|left_out| *left_out < number);
        let rows = number.saturating_sub(self.first + left_out as u64) as usize;
        if self.of.is_empty() {
            rows
        } else {
            self.of.partition_point(|row| (*row as usize) < rows)
        }
    }
}

/// Makes a batch of columns with this number of rows.
///
/// # Errors
/// The columns do not fit together, which should not happen.
pub(crate) fn record_batch<'n>(
    input: &str,
    names: impl IntoIterator<Item = &'n String>,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
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
        let numbers = RowNumbers { first: 10, left_out: vec![10, 12, 13], of: Vec::new() };
        let found: Vec<u64> = (0..3).map(|index| numbers.number(index)).collect();
        assert_eq!(found, [11, 14, 15]);
    }
}
