//! Findings in an input that its reader should know of: printed with the result of a load.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::number_form::NumberForm;

/// Something found in an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// How the input was read, or what was left out.
    Fact(String),
    /// A doubt about how the input was read, with the option that reads it otherwise.
    Warning(String),
    /// A column of texts has numbers in one of these forms.
    Numbers {
        /// The column.
        column: String,
        /// Its first value.
        value: String,
        /// The forms; none if it is the one of SQLite, in which a number would not keep what is written.
        forms: Vec<NumberForm>,
    },
    /// Values of a column of numbers or of truth values are none.
    Texts {
        /// The column.
        column: String,
        /// One of the values that the column should have: `number` or `truth value`.
        wanted: &'static str,
        /// How many.
        values: u64,
        /// One of them.
        value: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Fact(fact) => f.write_str(fact),
            Note::Warning(warning) => write!(f, "warning: {warning}"),
            Note::Numbers { column, value, forms } => {
                let mut forms: Vec<String> =
                    forms.iter().map(|form| format!("--number {form}")).collect();
                if forms.is_empty() {
                    forms.push("--type COLUMN=REAL".to_owned());
                }
                write!(
                    f,
                    "warning: column {column} has texts such as `{value}`, which {} reads as numbers",
                    forms.join(" or ")
                )
            }
            Note::Texts { column, wanted, values: 1, value } => {
                write!(
                    f,
                    "warning: a value of column {column}, `{value}`, is no {wanted} and stayed text"
                )
            }
            Note::Texts { column, wanted, values, value } => {
                write!(
                    f,
                    "warning: {values} values of column {column} are no {wanted}s and stayed text, such as `{value}`"
                )
            }
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
        if let Note::Texts { column, values: more, .. } = &note {
            for known in notes.iter_mut() {
                if let Note::Texts { column: known, values, .. } = known
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

    /// Keeps only these notes.
    pub(crate) fn retain(&self, is_kept: impl FnMut(&Note) -> bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(is_kept);
    }

    pub(crate) fn fact(&self, fact: impl Into<String>) {
        self.add(Note::Fact(fact.into()));
    }

    pub(crate) fn warn(&self, warning: impl Into<String>) {
        self.add(Note::Warning(warning.into()));
    }

    /// Returns all of them.
    pub fn all(&self) -> Vec<Note> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
