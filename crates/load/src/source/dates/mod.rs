//! Columns whose texts are dates get them in the form of SQLite's date functions.

mod form;

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;

use super::{DateColumn, ReadOptions, Reopen, Source, SourceInfo, Storing};
use crate::affinity::Affinity;
use crate::batch::{Batch, record_batch};
use crate::batch_conversion::leave_out;
use crate::convert::{Decimals, converted, field_text};
use crate::error::{LoadError, Result};
use crate::sql::same;
use crate::table::Column;
use form::{DateSample, Decision, Form};

pub use form::DateOrder;

/// Rows from which the form of a column is chosen, at least.
const SAMPLE: usize = 10_000;

/// Which dates are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dates {
    /// The order of day and month in dates that end with the year.
    pub order: DateOrder,
    /// Columns that stay as they are.
    pub except: Vec<String>,
}

/// A source some of whose columns of texts are dates.
pub(super) struct Dated {
    source: Box<dyn Source>,
    info: SourceInfo,
    dates: Dates,
    columns: Vec<Decision>,
    /// Why columns with dates stay as they are.
    doubts: Vec<String>,
    /// Batches that were read to choose the forms; none before that.
    sample: Option<VecDeque<Batch>>,
}

impl Dated {
    pub(super) fn new(source: Box<dyn Source>, dates: Dates) -> Dated {
        let info = source.info().clone();
        Dated { info, columns: Vec::new(), doubts: Vec::new(), sample: None, source, dates }
    }

    /// Reads the first rows and chooses the form of each column.
    fn choose(&mut self) -> Result<VecDeque<Batch>> {
        let (mut sample, mut rows) = (VecDeque::new(), 0);
        while rows < SAMPLE
            && let Some(batch) = self.read()?
        {
            rows += batch.rows.num_rows();
            sample.push_back(batch);
        }
        self.decide(&sample)?;
        if self.info.dates.is_empty() && rows > 0 {
            let doubts: String = self.doubts.iter().map(|doubt| format!("; {doubt}")).collect();
            let notes = &self.info.notes;
            notes.warn(format!("--dates found no column of dates in the first rows{doubts}"));
        }
        Ok(sample)
    }

    /// Returns the next batch, with the texts of each row however Arrow keeps them.
    fn read(&mut self) -> Result<Option<Batch>> {
        let Some(mut batch) = self.source.next()? else { return Ok(None) };
        let columns = batch.rows.columns().iter().zip(&self.columns).zip(&self.info.columns);
        let columns = columns.map(|((array, decision), column)| {
            if *decision == Decision::Other || !has_texts(array.data_type()) {
                return Ok(Arc::clone(array));
            }
            converted(array, Decimals::Text)
                .map_err(|error| error.of_column(&column.name, array.data_type()))
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let names = self.info.columns.iter().map(|column| &column.name);
        batch.rows = record_batch(self.name(), names, columns, batch.rows.num_rows())?;
        Ok(Some(batch))
    }

    /// Chooses the form of each column that is still unknown and has values in these rows.
    fn decide<'b>(&mut self, batches: impl IntoIterator<Item = &'b Batch> + Clone) -> Result<()> {
        for (number, decision) in self.columns.iter_mut().enumerate() {
            if !matches!(decision, Decision::Unknown) {
                continue;
            }
            let mut column_sample = DateSample::default();
            for batch in batches.clone() {
                add(&mut column_sample, batch.rows.column(number));
            }
            let name = &self.info.columns[number].name;
            *decision = (column_sample.decide(self.dates.order))
                .map_err(|value| LoadError::AmbiguousDates(name.clone(), value))?;
            if let Some((date, other)) = column_sample.contradiction() {
                self.doubts.push(format!("column {name} has {other} beside {date}"));
            }
            if let Decision::Dates(form, first) = decision {
                let stored = form.written(first).unwrap_or_default();
                let (name, first) = (name.clone(), first.clone());
                self.info.dates.push(DateColumn { name, first, stored });
            }
        }
        Ok(())
    }

    /// Returns the rows of a batch with their dates; those whose text is none of the column's form are malformed.
    fn converted(&self, mut batch: Batch) -> Result<Batch> {
        let mut columns = batch.rows.columns().to_vec();
        let mut refused = Vec::new();
        for (number, decision) in self.columns.iter().enumerate() {
            if let Decision::Dates(form, first) = decision {
                let name = &self.info.columns[number].name;
                let wrong = |row, value: String| {
                    let reason =
                        format!("`{value}` is no date of the form of `{first}`, the first value");
                    refused.push((row, name.clone(), reason));
                };
                columns[number] = written(&columns[number], form, wrong);
            }
        }
        let names = self.info.columns.iter().map(|column| &column.name);
        let rows = batch.rows.num_rows();
        let changed = record_batch(self.name(), names, columns, rows)?;
        let before = std::mem::replace(&mut batch.rows, changed);
        if !refused.is_empty() {
            refused.sort_by_key(|(row, ..)| *row);
            refused.dedup_by_key(|(row, ..)| *row);
            leave_out(self.name(), &mut batch, &before, refused)?;
        }
        Ok(batch)
    }
}

/// Returns whether the values of a column are texts, which may be dates.
pub(super) fn has_texts(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => has_texts(values),
        _ => false,
    }
}

fn add(column_sample: &mut DateSample, array: &ArrayRef) {
    match array.as_string_opt::<i32>() {
        Some(texts) => texts.iter().flatten().for_each(|text| column_sample.add(text)),
        None if array.logical_null_count() < array.len() => column_sample.add_other(),
        None => {}
    }
}

/// A column with its dates in SQLite's form; `wrong` gets the rows of values that have not the form.
fn written(array: &ArrayRef, form: &Form, mut wrong: impl FnMut(usize, String)) -> ArrayRef {
    let (texts, nulls) = (array.as_string_opt::<i32>(), array.logical_nulls());
    let dates = (0..array.len()).map(|row| {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        let date = texts.and_then(|texts| form.written(texts.value(row)));
        if date.is_none() {
            wrong(row, field_text(&array.slice(row, 1)));
        }
        date
    });
    Arc::new(dates.collect::<StringArray>())
}

impl Source for Dated {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn reopen(&self) -> Option<Reopen> {
        self.source.reopen()
    }

    fn begin(&mut self, options: ReadOptions) {
        let columns = self.info.columns.iter().zip(&options.columns);
        let of = |(column, storing): (&Column, &Storing)| {
            let is_left = self.dates.except.iter().any(|name| same(name, &column.name));
            match storing.affinity {
                // Types such as DATE and TIMESTAMP have the affinity of numbers.
                Affinity::Text | Affinity::Blob | Affinity::Numeric if !is_left => {
                    Decision::Unknown
                }
                _ => Decision::Other,
            }
        };
        self.columns = columns.map(of).collect();
        self.source.begin(options);
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        if self.sample.is_none() {
            self.sample = Some(self.choose()?);
        }
        let ahead = self.sample.as_mut().and_then(VecDeque::pop_front);
        let batch = match ahead {
            Some(batch) => Some(batch),
            None => self.read()?,
        };
        let Some(batch) = batch else { return Ok(None) };
        self.decide([&batch])?;
        self.converted(batch).map(Some)
    }
}
