//! Rows of values that have types already (JSON, SQLite), gathered into columns.
//!
//! A column of a batch has one type, a column of such rows need not: a batch ends where the type of a
//! column changes, unless the column's affinity makes the same of both types.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, NullArray};
use engine::ValueRef;

use super::Storing;
use super::number::EXACT;
use crate::affinity::Affinity;
use crate::batch::{Batch, Malformed, RowNumbers, record_batch};
use crate::error::{Fault, Result};

/// Gathers rows into batches.
pub(super) struct BatchBuilder {
    names: Vec<String>,
    storing: Vec<Storing>,
    columns: Vec<ColumnBuilder>,
    /// Rows in the current batch.
    pub(super) rows: usize,
    numbers: RowNumbers,
    malformed: Vec<Malformed>,
    /// The last number given.
    pub(super) number: u64,
    done: Vec<Batch>,
}

/// A column that is being built.
pub(crate) enum ColumnBuilder {
    /// Only NULL so far, this number of times.
    Nulls(usize),
    Integers(Int64Builder),
    Reals(Float64Builder),
    Texts(StringBuilder),
    Blobs(BinaryBuilder),
}

impl BatchBuilder {
    /// `before` is the number of the row before the first one.
    pub(super) fn new(names: &[String], storing: &[Storing], before: u64) -> BatchBuilder {
        BatchBuilder {
            names: names.to_vec(),
            storing: storing.to_vec(),
            columns: names.iter().map(|_| ColumnBuilder::Nulls(0)).collect(),
            rows: 0,
            numbers: RowNumbers { first: before + 1, left_out: Vec::new(), of: Vec::new() },
            malformed: Vec::new(),
            number: before,
            done: Vec::new(),
        }
    }

    /// Returns the number of rows that cannot be read, before or in the current batch.
    pub(super) fn malformed(&self) -> usize {
        self.malformed.len()
    }

    /// Adds a row, a value for each column.
    ///
    /// # Errors
    /// The columns do not fit together, which should not happen.
    pub(super) fn push(&mut self, input: &str, values: &[ValueRef<'_>]) -> Result<()> {
        let fits = values
            .iter()
            .enumerate()
            .all(|(number, value)| self.columns[number].fits(value, self.affinity(number)));
        if !fits {
            self.end_batch(input)?;
        }
        self.number += 1;
        self.rows += 1;
        for (number, value) in values.iter().enumerate() {
            let affinity = self.affinity(number);
            self.columns[number].push(*value, affinity);
        }
        Ok(())
    }

    /// Gives a number to something that is not a row.
    pub(super) fn skip(&mut self) {
        self.number += 1;
        self.numbers.left_out.push(self.number);
    }

    /// Gives a number to a row that cannot be read.
    pub(super) fn reject(&mut self, column: Option<String>, fault: Fault, fields: Vec<String>) {
        self.skip();
        self.malformed.push(Malformed::new(self.number, column, fault, fields));
    }

    /// Ends the current batch, if there is anything in it.
    pub(super) fn end_batch(&mut self, input: &str) -> Result<()> {
        if self.rows == 0 && self.malformed.is_empty() {
            return Ok(());
        }
        let fresh = BatchBuilder::new(&self.names, &self.storing, self.number);
        let full = std::mem::replace(self, fresh);
        let columns = full.columns.into_iter().map(ColumnBuilder::finish).collect();
        let batch = Batch {
            rows: record_batch(input, &full.names, columns, full.rows)?,
            numbers: full.numbers,
            malformed: full.malformed,
            bytes_read: 0,
        };
        self.done = full.done;
        self.done.push(batch);
        Ok(())
    }

    /// Returns the batches that have ended.
    pub(super) fn take(&mut self) -> Vec<Batch> {
        std::mem::take(&mut self.done)
    }

    fn affinity(&self, column: usize) -> Affinity {
        Storing::of(&self.storing, column).affinity
    }
}

/// Rows and bytes that a column has room for at first. Where types change from row to row each batch has one
/// row, and thousands of them may wait for their turn.
const FEW: usize = 16;
const FEW_BYTES: usize = 128;

/// Returns whether an integer may stand among floating point numbers: columns of these affinities keep a number,
/// in whichever form it comes, in the form they prefer.
fn is_same_number(value: i64, affinity: Affinity) -> bool {
    let numeric = matches!(affinity, Affinity::Numeric | Affinity::Integer | Affinity::Real);
    numeric && value.unsigned_abs() <= EXACT
}

impl ColumnBuilder {
    /// Returns whether a value can be added.
    pub(crate) fn fits(&self, value: &ValueRef<'_>, affinity: Affinity) -> bool {
        match (self, value) {
            (ColumnBuilder::Nulls(_), _) | (_, ValueRef::Null) => true,
            (ColumnBuilder::Integers(_), ValueRef::Integer(_)) => true,
            (ColumnBuilder::Reals(_), ValueRef::Real(_)) => true,
            (ColumnBuilder::Texts(_), ValueRef::Text(_)) => true,
            (ColumnBuilder::Blobs(_), ValueRef::Blob(_)) => true,
            (ColumnBuilder::Reals(_), ValueRef::Integer(value)) => is_same_number(*value, affinity),
            (ColumnBuilder::Integers(values), ValueRef::Real(_)) => {
                values.values_slice().iter().all(|value| is_same_number(*value, affinity))
            }
            _ => false,
        }
    }

    /// Adds a value that fits.
    pub(crate) fn push(&mut self, value: ValueRef<'_>, affinity: Affinity) {
        if let ColumnBuilder::Nulls(count) = self {
            *self = ColumnBuilder::begin(*count, value, affinity);
        }
        if let (ColumnBuilder::Integers(values), ValueRef::Real(_)) = (&mut *self, value) {
            let integers = values.finish();
            let mut reals = Float64Builder::with_capacity(integers.len() + 1);
            reals.extend(integers.iter().map(|value| value.map(|value| value as f64)));
            *self = ColumnBuilder::Reals(reals);
        }
        match (self, value) {
            (ColumnBuilder::Nulls(count), _) => *count += 1,
            (ColumnBuilder::Integers(values), ValueRef::Integer(value)) => {
                values.append_value(value)
            }
            (ColumnBuilder::Reals(values), ValueRef::Real(value)) => values.append_value(value),
            (ColumnBuilder::Reals(values), ValueRef::Integer(value)) => {
                values.append_value(value as f64)
            }
            (ColumnBuilder::Texts(values), ValueRef::Text(value)) => values.append_value(value),
            (ColumnBuilder::Blobs(values), ValueRef::Blob(value)) => values.append_value(value),
            (ColumnBuilder::Integers(values), _) => values.append_null(),
            (ColumnBuilder::Reals(values), _) => values.append_null(),
            (ColumnBuilder::Texts(values), _) => values.append_null(),
            (ColumnBuilder::Blobs(values), _) => values.append_null(),
        }
    }

    /// Makes a column that begins with this number of NULLs and can take this value.
    fn begin(nulls: usize, value: ValueRef<'_>, affinity: Affinity) -> ColumnBuilder {
        match value {
            ValueRef::Null => ColumnBuilder::Nulls(nulls),
            // Where integers become floating point numbers anyway, both go together from the start.
            ValueRef::Integer(value)
                if affinity == Affinity::Real && is_same_number(value, affinity) =>
            {
                ColumnBuilder::begin(nulls, ValueRef::Real(0.0), affinity)
            }
            ValueRef::Integer(_) => {
                let mut values = Int64Builder::with_capacity(FEW);
                values.append_nulls(nulls);
                ColumnBuilder::Integers(values)
            }
            ValueRef::Real(_) => {
                let mut values = Float64Builder::with_capacity(FEW);
                values.append_nulls(nulls);
                ColumnBuilder::Reals(values)
            }
            ValueRef::Text(_) => {
                let mut values = StringBuilder::with_capacity(FEW, FEW_BYTES);
                (0..nulls).for_each(|_| values.append_null());
                ColumnBuilder::Texts(values)
            }
            ValueRef::Blob(_) => {
                let mut values = BinaryBuilder::with_capacity(FEW, FEW_BYTES);
                (0..nulls).for_each(|_| values.append_null());
                ColumnBuilder::Blobs(values)
            }
        }
    }

    pub(crate) fn finish(self) -> ArrayRef {
        match self {
            ColumnBuilder::Nulls(count) => Arc::new(NullArray::new(count)),
            ColumnBuilder::Integers(mut values) => Arc::new(values.finish()),
            ColumnBuilder::Reals(mut values) => Arc::new(values.finish()),
            ColumnBuilder::Texts(mut values) => Arc::new(values.finish()),
            ColumnBuilder::Blobs(mut values) => Arc::new(values.finish()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::DataType;

    fn gathered(affinity: Affinity, values: &[ValueRef<'_>]) -> Vec<(DataType, usize)> {
        let mut builder = BatchBuilder::new(&["a".to_owned()], &[Storing::declared(affinity)], 0);
        for value in values {
            builder.push("test", &[*value]).unwrap();
        }
        builder.end_batch("test").unwrap();
        let batches = builder.take();
        let mut next = 1;
        let messages = batches.iter().map(|batch| {
            assert_eq!(batch.numbers.first, next);
            next += batch.rows.num_rows() as u64;
            let column = batch.rows.column(0);
            (column.data_type().clone(), column.len())
        });
        messages.collect()
    }

    #[test]
    fn a_batch_ends_where_a_type_changes() {
        use ValueRef::{Integer, Null, Real, Text};
        let mixed = [Null, Integer(1), Text("a"), Null, Real(1.5), Integer(2)];
        assert_eq!(
            gathered(Affinity::Blob, &mixed),
            [
                (DataType::Int64, 2),
                (DataType::Utf8, 2),
                (DataType::Float64, 1),
                (DataType::Int64, 1)
            ]
        );
        assert_eq!(gathered(Affinity::Blob, &[Null, Null]), [(DataType::Null, 2)]);
    }

    #[test]
    fn numbers_of_both_kinds_go_together_where_the_column_makes_them_one() {
        use ValueRef::{Integer, Null, Real};
        let numbers = [Integer(1), Null, Real(1.5), Integer(2)];
        for affinity in [Affinity::Numeric, Affinity::Integer, Affinity::Real] {
            assert_eq!(gathered(affinity, &numbers), [(DataType::Float64, 4)]);
        }
        let large = [Integer(i64::MAX), Real(1.5)];
        assert_eq!(gathered(Affinity::Numeric, &large).len(), 2);
    }
}
