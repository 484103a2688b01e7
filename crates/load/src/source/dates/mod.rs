//! Columns whose texts are dates get them in the form of SQLite's date functions.

mod form;

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, StringArray};
use arrow_schema::{ArrowError, DataType};
use arrow_select::filter::filter;
use arrow_select::take::take;

use super::{DateColumn, ReadOptions, Reopen, Source, SourceInfo};
use crate::affinity::Affinity;
use crate::batch::{Batch, Malformed, record_batch};
use crate::convert::field_text;
use crate::error::{Fault, LoadError, Result};
use crate::sql::same;
use crate::table::Column;
use form::{DateSample, Form, Verdict};

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
    /// Batches that were read to choose the forms; none before that.
    sample: Option<VecDeque<Batch>>,
}

/// The decision about a column.
#[derive(Debug, Clone)]
enum Decision {
    /// It stays as it is.
    Other,
    /// It has had no value yet.
    Unknown,
    /// Its dates have this form, such as this one.
    Dates(Form, String),
}

/// A value of a column.
enum Field<'f> {
    Null,
    Text(&'f str),
    Other,
}

impl Dated {
    pub(super) fn new(source: Box<dyn Source>, dates: Dates) -> Dated {
        Dated { info: source.info().clone(), columns: Vec::new(), sample: None, source, dates }
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
            self.info.notes.warn("--dates found no column of dates in the first rows");
        }
        Ok(sample)
    }

    /// Returns the next batch, with the texts of each row where Arrow names each distinct one once.
    fn read(&mut self) -> Result<Option<Batch>> {
        let Some(mut batch) = self.source.next()? else { return Ok(None) };
        let columns = batch.rows.columns().iter().zip(&self.columns);
        if !columns.clone().any(is_gathered) {
            return Ok(Some(batch));
        }
        let columns = columns.map(|(array, decision)| {
            if is_gathered((array, decision)) { gathered(array) } else { Ok(Arc::clone(array)) }
        });
        let columns: Result<Vec<ArrayRef>, _> = columns.collect();
        let columns = columns.map_err(|error| LoadError::form(self.name(), error))?;
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
            *decision = match column_sample.verdict(self.dates.order) {
                Verdict::Unknown => Decision::Unknown,
                Verdict::Other => Decision::Other,
                Verdict::Ambiguous(value) => {
                    let column = name.clone();
                    return Err(LoadError::AmbiguousDates(column, value));
                }
                Verdict::Dates(form, first) => {
                    let stored = form.written(&first).unwrap_or_default();
                    let (name, first) = (name.clone(), first.clone());
                    self.info.dates.push(DateColumn { name, first: first.clone(), stored });
                    Decision::Dates(form, first)
                }
            };
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

/// Takes rows out of a batch, each with a column and a reason; `before` are the rows as they were read.
fn leave_out(
    input: &str,
    batch: &mut Batch,
    before: &arrow_array::RecordBatch,
    refused: Vec<(usize, String, String)>,
) -> Result<()> {
    let mut is_kept = vec![true; before.num_rows()];
    let mut numbers = Vec::new();
    for (row, column, reason) in refused {
        is_kept[row] = false;
        let number = batch.numbers.number(row);
        numbers.push(number);
        let fields = before.columns().iter();
        batch.malformed.push(Malformed {
            row: number,
            column: Some(column),
            fault: Fault::Form(reason),
            fields: fields.map(|field| field_text(&field.slice(row, 1))).collect(),
            is_kept: false,
        });
    }
    batch.malformed.sort_by_key(|row| row.row);
    batch.numbers.left_out.extend(numbers);
    batch.numbers.left_out.sort_unstable();
    let kept = is_kept.iter().filter(|is_kept| **is_kept).count();
    let mask = BooleanArray::from(is_kept);
    let columns = batch.rows.columns().iter();
    let columns: Result<Vec<ArrayRef>, _> = columns.map(|column| filter(column, &mask)).collect();
    let columns = columns.map_err(|error| LoadError::form(input, error))?;
    let schema = batch.rows.schema();
    let names = schema.fields().iter().map(|field| field.name());
    batch.rows = record_batch(input, names, columns, kept)?;
    Ok(())
}

/// Returns whether a column is a dictionary of texts that may be dates.
fn is_gathered((array, decision): (&ArrayRef, &Decision)) -> bool {
    let is_text = |values: &DataType| {
        matches!(values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    };
    !matches!(decision, Decision::Other)
        && matches!(array.data_type(), DataType::Dictionary(_, values) if is_text(values))
}

/// Returns the text of each row.
fn gathered(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let dictionary = array.as_any_dictionary();
    take(dictionary.values(), dictionary.keys(), None)
}

/// Returns the values of a column.
fn fields(array: &ArrayRef) -> Box<dyn Iterator<Item = Field<'_>> + '_> {
    fn texts<'t>(
        texts: impl Iterator<Item = Option<&'t str>> + 't,
    ) -> Box<dyn Iterator<Item = Field<'t>> + 't> {
        Box::new(texts.map(|text| text.map_or(Field::Null, Field::Text)))
    }
    match array.data_type() {
        DataType::Utf8 => texts(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter()),
        DataType::Utf8View => texts(array.as_string_view().iter()),
        DataType::Null => Box::new((0..array.len()).map(|_| Field::Null)),
        _ => Box::new(
            (0..array.len()).map(|row| if array.is_null(row) { Field::Null } else { Field::Other }),
        ),
    }
}

fn add(column_sample: &mut DateSample, array: &ArrayRef) {
    for field in fields(array) {
        match field {
            Field::Null => {}
            Field::Text(text) => column_sample.add(text),
            Field::Other => column_sample.add_other(),
        }
    }
}

/// A column with its dates in SQLite's form; `wrong` gets the rows of values that have not the form.
fn written(array: &ArrayRef, form: &Form, mut wrong: impl FnMut(usize, String)) -> ArrayRef {
    let texts = fields(array).enumerate().map(|(row, field)| {
        let text = match field {
            Field::Null => return None,
            Field::Text(text) => form.written(text),
            Field::Other => None,
        };
        if text.is_none() {
            wrong(row, field_text(&array.slice(row, 1)));
        }
        text
    });
    Arc::new(texts.collect::<StringArray>())
}

impl Source for Dated {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn reopen(&self) -> Option<Reopen> {
        self.source.reopen()
    }

    fn begin(&mut self, options: ReadOptions) {
        let columns = self.info.columns.iter().zip(&options.affinities);
        let of = |(column, affinity): (&Column, &Affinity)| {
            let is_left = self.dates.except.iter().any(|name| same(name, &column.name));
            match affinity {
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
