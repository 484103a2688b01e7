//! Wide rows made long: each value of a column becomes a row of its own, with the name of the column.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray};
use engine::{Columns, ValueRef};

use super::batch_builder::BatchBuilder;
use super::several::widen;
use super::view::positions;
use super::{ReadOptions, Reopen, Seen, Source, SourceInfo, Storing};
use crate::batch::{Batch, RowNumbers, record_batch};
use crate::cells::Rows;
use crate::error::{LoadError, Result};
use crate::sql::unique;
use crate::table::Column;

/// A source whose columns, but for some that say which row it is, have become rows; NULL becomes none.
pub(super) struct Long {
    source: Box<dyn Source>,
    info: SourceInfo,
    /// Where the columns stand that stay, and the others.
    ids: Vec<usize>,
    others: Vec<usize>,
    ready: VecDeque<Batch>,
}

impl Long {
    /// Keeps the columns of these names.
    ///
    /// # Errors
    /// The source has no such column, or no other one.
    pub(super) fn new(source: Box<dyn Source>, ids: &[String]) -> Result<Long> {
        let of = source.info();
        let ids = positions(&of.name, &of.columns, ids)?;
        let others: Vec<usize> = (0..of.columns.len()).filter(|at| !ids.contains(at)).collect();
        let Some(first) = others.first() else {
            let reason = "no column is left whose values could be rows".to_owned();
            return Err(LoadError::Definition(reason));
        };
        let (mut value, mut seen) = (of.columns[*first].clone(), of.seen[*first].clone());
        for at in &others {
            widen(&mut value, &mut seen, &of.columns[*at], &of.seen[*at]);
        }
        let mut info = of.clone();
        info.is_row_for_row = false;
        info.columns = ids.iter().map(|at| of.columns[*at].clone()).collect();
        info.seen = ids.iter().map(|at| of.seen[*at].clone()).collect();
        let names: Vec<String> = info.columns.iter().map(|column| column.name.clone()).collect();
        let name = |wanted: &str| unique(&names, wanted.to_owned());
        info.columns.push(Column::new(name("name"), "TEXT"));
        info.seen.push(Seen { is_text: true, ..Seen::declared() });
        info.columns.push(Column { name: name("value"), not_null: false, ..value });
        info.seen.push(seen);
        info.notes.fact(format!("rows: each value of {} columns is a row", others.len()));
        Ok(Long { source, info, ids, others, ready: VecDeque::new() })
    }

    /// Adds the rows that the values of a batch give.
    fn add(&mut self, batch: Batch) -> Result<()> {
        let cells = Rows::of(&batch);
        let columns: Vec<String> =
            self.info.columns.iter().map(|column| column.name.clone()).collect();
        let (mut builder, mut of) = (BatchBuilder::new(&columns, &[], 0), Vec::new());
        for row in 0..cells.rows() {
            let mut values: Vec<ValueRef<'_>> =
                self.ids.iter().map(|at| cells.value(row, *at)).collect();
            for at in &self.others {
                let value = cells.value(row, *at);
                if value != ValueRef::Null {
                    values.truncate(self.ids.len());
                    values.extend([ValueRef::Text(&self.source.columns()[*at].name), value]);
                    builder.push(self.name(), &values)?;
                    of.push(row as u32);
                }
            }
        }
        builder.end_batch(self.name())?;
        let mut parts = builder.take();
        if parts.is_empty() && !batch.malformed.is_empty() {
            // The malformed rows need a batch to come with.
            let none = columns.iter().map(|_| -> ArrayRef { Arc::new(NullArray::new(0)) });
            let rows = record_batch(self.name(), &columns, none.collect(), 0)?;
            parts.push(Batch { rows, ..batch.clone() });
        }
        let (mut malformed, mut of) = (batch.malformed, &of[..]);
        for part in parts {
            let (own, rest) = of.split_at(part.rows.num_rows());
            of = rest;
            self.ready.push_back(Batch {
                rows: part.rows,
                numbers: RowNumbers { of: own.to_vec(), ..batch.numbers.clone() },
                malformed: std::mem::take(&mut malformed),
                bytes_read: batch.bytes_read,
            });
        }
        Ok(())
    }
}

impl Source for Long {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn reopen(&self) -> Option<Reopen> {
        self.source.reopen()
    }

    fn begin(&mut self, options: ReadOptions) {
        // The values are in the last column.
        let value = Storing::of(&options.columns, self.info.columns.len() - 1);
        let mut columns = vec![value; self.source.columns().len()];
        for (column, at) in self.ids.iter().enumerate() {
            columns[*at] = Storing::of(&options.columns, column);
        }
        self.source.begin(ReadOptions { columns, ..options });
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        while self.ready.is_empty() {
            let Some(batch) = self.source.next_converted()? else { return Ok(None) };
            self.add(batch)?;
        }
        Ok(self.ready.pop_front())
    }
}
