//! Findings in an input that its reader should know of: printed with the result of a load.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::number_form::NumberForm;

/// Something found in an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// How a text is written.
    Form(String),
    /// Lines before the header that are no rows were skipped, of which this is the first.
    Preamble {
        /// How many.
        lines: usize,
        /// The first of them.
        first: String,
    },
    /// Excel's line that names the delimiter was skipped.
    DelimiterLine,
    /// A last line that counts the rows was skipped.
    RowCount(String),
    /// The last row looks like a total.
    Total(String),
    /// The names of all columns are numbers.
    NumericHeader,
    /// Every delimiter stands next to a blank.
    Blanks,
    /// A column of texts has numbers in one of these forms.
    Numbers {
        /// The column.
        column: String,
        /// Its first value.
        value: String,
        /// The forms.
        forms: Vec<NumberForm>,
    },
    /// Values of a column that was declared as one of numbers are no numbers.
    Texts {
        /// The column.
        column: String,
        /// How many.
        values: u64,
    },
    /// A key differs from another one only in case, and its column has another name.
    Renamed {
        /// The key.
        key: String,
        /// The column.
        column: String,
    },
    /// The rows are a list in one JSON document.
    List(String),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Form(form) => write!(f, "input: {form}"),
            Note::Preamble { lines: 1, first } => {
                write!(f, "skipped: the line before the header, `{first}`")
            }
            Note::Preamble { lines, first } => {
                write!(f, "skipped: {lines} lines before the header, from `{first}` on")
            }
            Note::DelimiterLine => f.write_str("skipped: the first line, which names the delimiter"),
            Note::RowCount(line) => write!(f, "skipped: the last line, `{line}`"),
            Note::Total(line) => write!(
                f,
                "warning: the last row, `{line}`, looks like a total; leave it out with --skip-lines 0,1"
            ),
            Note::NumericHeader => f.write_str(
                "warning: the first line has only numbers and was read as the header; --header 0 reads it as a row",
            ),
            Note::Blanks => f.write_str(
                "warning: blanks stand next to every delimiter and are part of the values; --trim takes them away",
            ),
            Note::Numbers { column, value, forms } => {
                let forms: Vec<String> = forms.iter().map(|form| format!("--number {form}")).collect();
                write!(
                    f,
                    "warning: column {column} has texts such as `{value}`, which {} reads as numbers",
                    forms.join(" or ")
                )
            }
            Note::Texts { column, values: 1 } => {
                write!(f, "warning: a value of column {column} is no number and stayed text")
            }
            Note::Texts { column, values } => {
                write!(f, "warning: {values} values of column {column} are no numbers and stayed text")
            }
            Note::Renamed { key, column } => {
                write!(f, "keys: {key}, which differs from another one only in case, is column {column}")
            }
            Note::List(path) if path.is_empty() => {
                f.write_str("rows: the members of an object; column _key has their keys")
            }
            Note::List(path) => write!(f, "rows: the list {path}"),
        }
    }
}

/// The notes of a source; they grow while it is read.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<Note>>>);

impl Notes {
    /// Adds a note, unless it is there already; counts of the same column are added.
    pub(crate) fn add(&self, note: Note) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Note::Texts { column, values: more } = &note {
            for known in notes.iter_mut() {
                if let Note::Texts { column: known, values } = known
                    && known == column
                {
                    *values += more;
                    return;
                }
            }
        }
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Returns all of them.
    pub fn all(&self) -> Vec<Note> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
