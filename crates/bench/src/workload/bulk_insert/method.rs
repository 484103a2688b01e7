//! The methods of inserting: the SQL of each, and how values get into a statement.

use engine::{Array, EngineError, Library, Statement};

use super::source;
use crate::error::TrialError;

/// How rows come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Each value is bound to its place in the VALUES list.
    Values,
    /// The values are bound as one array, which is a table in SQL
    /// (<https://sqlite.org/carray.html>).
    Carray,
    /// The column is selected from an attached database.
    AttachValue,
    /// All columns are selected by `*` from an attached database, which SQLite may do by copying
    /// records as they are (the transfer optimisation, `xferOptimization` in its `insert.c`).
    AttachStar,
}

impl Method {
    pub(super) const NAMES: &[(&str, Method)] = &[
        ("values", Method::Values),
        ("carray", Method::Carray),
        ("attach-value", Method::AttachValue),
        ("attach-star", Method::AttachStar),
    ];

    /// Whether one statement copies all rows from an attached database.
    pub(super) fn copies(self) -> bool {
        matches!(self, Method::AttachValue | Method::AttachStar)
    }

    /// Makes sure that the engine has what the method needs.
    pub(super) fn check_engine(self, library: &Library) -> Result<(), TrialError> {
        if self == Method::Carray && !library.has_carray() {
            let why = "this engine has no carray (sqlite3_carray_bind is missing)";
            return Err(TrialError::CannotRun(why.to_owned()));
        }
        Ok(())
    }

    /// The INSERT of so many rows; only a VALUES list depends on their number.
    pub(super) fn sql(self, rows: usize) -> String {
        let from = source::NAME;
        match self {
            Method::Values => {
                let places = vec!["(?)"; rows].join(",");
                format!("INSERT INTO integers(value) VALUES {places}")
            }
            Method::Carray => "INSERT INTO integers(value) SELECT value FROM carray(?1)".to_owned(),
            Method::AttachValue => {
                format!("INSERT INTO integers(value) SELECT value FROM {from}.integers")
            }
            Method::AttachStar => format!("INSERT INTO integers SELECT * FROM {from}.integers"),
        }
    }

    /// Rows that a statement made for `rows` rows takes: as many or none by a VALUES list, any
    /// number else.
    pub(super) fn takes(self, rows: usize, given: usize) -> bool {
        self != Method::Values || rows == given
    }

    /// Binds the values and runs the statement once.
    #[inline]
    pub(super) fn run<'d>(
        self,
        statement: &mut Statement<'_, 'd>,
        values: &'d [i64],
    ) -> Result<(), EngineError> {
        match self {
            Method::Values => {
                for (index, value) in values.iter().enumerate() {
                    statement.bind_i64(index as i32 + 1, *value)?;
                }
            }
            Method::Carray => statement.bind_array(1, Array::I64(values))?,
            Method::AttachValue | Method::AttachStar => {}
        }
        statement.run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_values_list_has_a_place_for_every_row() {
        assert_eq!(
            Method::Values.sql(3),
            "INSERT INTO integers(value) VALUES (?),(?),(?)"
        );
        assert!(Method::Values.takes(3, 3) && !Method::Values.takes(3, 2));
        assert!(Method::Carray.takes(3, 2));
    }
}
