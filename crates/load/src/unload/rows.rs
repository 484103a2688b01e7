//! Rows on their way from a statement to a file: gathered, as texts or columns, into blocks.

use std::io;
use std::path::Path;

use arrow_array::RecordBatch;
use engine::{Statement, Step, ValueRef};

use super::Shape;
use super::columnar::{ColumnRows, Types};
use super::text::TextRows;
use crate::error::{LoadError, Result};
use crate::table::Column;

/// Some rows, and what is known of them.
pub(super) struct Block {
    pub(super) content: Content,
    pub(super) rows: u64,
    pub(super) types: Types,
}

/// Rows in the form of their file.
pub(super) enum Content {
    Text(Vec<u8>),
    Columns(RecordBatch),
}

/// Gathers rows into blocks.
pub(super) struct Gatherer {
    form: Form,
    rows: u64,
    types: Types,
    none: Types,
}

enum Form {
    Text(TextRows),
    Columns(ColumnRows),
}

impl Gatherer {
    pub(super) fn new(shape: &Shape<'_>) -> Gatherer {
        let form = match &shape.schema {
            Some(schema) => Form::Columns(ColumnRows::new(schema)),
            None => Form::Text(TextRows::new(shape)),
        };
        let none = Types::of(&shape.columns, shape.schema.is_some());
        Gatherer { form, rows: 0, types: none.clone(), none }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// A value does not fit the type of its column.
    pub(super) fn push(&mut self, values: &[ValueRef<'_>]) -> io::Result<()> {
        self.types.add(values);
        self.rows += 1;
        match &mut self.form {
            Form::Text(rows) => {
                rows.push(values);
                Ok(())
            }
            Form::Columns(rows) => rows.push(values),
        }
    }

    /// Returns whether the rows since the last block are enough for another one.
    pub(super) fn is_full(&self) -> bool {
        match &self.form {
            Form::Text(rows) => rows.is_full(),
            Form::Columns(rows) => rows.is_full(),
        }
    }

    /// Returns the rows since the last block, if there are any, for a file of this path.
    ///
    /// # Errors
    /// The values of a column are of another type than its own.
    pub(super) fn take(&mut self, path: &Path) -> Result<Option<Block>> {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return Ok(None);
        }
        let content = match &mut self.form {
            Form::Text(text) => Content::Text(text.take()),
            Form::Columns(columns) => {
                let of_other_type = |error| io::Error::new(io::ErrorKind::InvalidData, error);
                let columns = columns.take().map_err(of_other_type);
                Content::Columns(columns.map_err(LoadError::write(path))?)
            }
        };
        let types = std::mem::replace(&mut self.types, self.none.clone());
        Ok(Some(Block { content, rows, types }))
    }
}

/// Calls a function with each row of a statement, and returns the number of rows.
///
/// # Errors
/// SQLite's or the function's; a text is not valid UTF-8.
pub(super) fn each_row(
    statement: &mut Statement<'_, '_>,
    columns: &[Column],
    mut row: impl FnMut(&Statement<'_, '_>, &[ValueRef<'_>]) -> Result<()>,
) -> Result<u64, Refusal> {
    let mut number = 0;
    while statement.step()? == Step::Row {
        number += 1;
        let mut values = Vec::with_capacity(columns.len());
        for (at, column) in (0..).zip(columns) {
            let no_text = |_| Refusal::NoText { row: number, column: column.name.clone() };
            values.push(statement.column_value_ref(at).map_err(no_text)?);
        }
        row(statement, &values)?;
    }
    Ok(number)
}

/// Why rows cannot be written.
pub(super) enum Refusal {
    /// A text is not valid UTF-8, in the row of this number in the answer to one statement.
    NoText {
        row: u64,
        column: String,
    },
    Other(LoadError),
}

impl Refusal {
    /// Returns the error. The rows of the statement follow `before` others.
    pub(super) fn error(self, input: &str, before: u64) -> LoadError {
        match self {
            Refusal::NoText { row, column } => {
                let row = before + row;
                let reason = format!("row {row}, column {column}: its text is not valid UTF-8");
                LoadError::form(input, reason)
            }
            Refusal::Other(error) => error,
        }
    }
}

impl<E: Into<LoadError>> From<E> for Refusal {
    fn from(error: E) -> Refusal {
        Refusal::Other(error.into())
    }
}
