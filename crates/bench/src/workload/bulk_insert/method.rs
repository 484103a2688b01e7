//! The methods of inserting: the SQL of each, and how values get into a statement.

use engine::{Array, Columns, Connection, EngineError, Library, Statement, ValueRef};

use super::source;
use crate::error::TrialError;

choice! {
    /// How rows get into SQLite.
    enum Method {
        /// Each value is bound to the VALUES list.
        Values = "values",
        /// The values are bound as one array (<https://sqlite.org/carray.html>).
        Carray = "carray",
        /// The same through pragmark load's table-valued function over any number of arrays.
        Columns = "columns",
        /// SELECT value from an attached database prepared before the clock starts.
        AttachValue = "attach-value",
        /// SELECT * from it, which SQLite may do by copying records as they are.
        AttachStar = "attach-star",
    }
}

impl Method {
    /// Whether one statement copies all rows from an attached database.
    pub(super) fn copies(self) -> bool {
        matches!(self, Method::AttachValue | Method::AttachStar)
    }

    /// Makes sure that the engine has what the method needs.
    pub(super) fn check_engine(self, library: &Library) -> Result<(), TrialError> {
        if self == Method::Carray && !library.has_carray() {
            let why = "this engine lacks carray (sqlite3_carray_bind)";
            return Err(TrialError::cannot_run(why));
        }
        if self == Method::Columns && !library.has_columns_function() {
            let why = "this engine lacks virtual tables or sqlite3_bind_pointer";
            return Err(TrialError::cannot_run(why));
        }
        Ok(())
    }

    /// Gives the connection what the method's SQL needs.
    pub(super) fn prepare(self, connection: &Connection) -> Result<(), EngineError> {
        match self {
            Method::Columns => connection.create_columns_function(COLUMNS, 1),
            _ => Ok(()),
        }
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
            Method::Columns => {
                format!("INSERT INTO integers(value) SELECT c0 FROM {COLUMNS}(?1)")
            }
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
            Method::Columns => {
                let column = Integers(values);
                return statement.with_borrowed(|statement| {
                    statement.bind_columns(1, &column)?;
                    statement.run()
                });
            }
            Method::AttachValue | Method::AttachStar => {}
        }
        statement.run()
    }
}

/// The table-valued function of the method `columns`.
const COLUMNS: &str = "bulk_columns";

/// The values as the one column of a table.
struct Integers<'d>(&'d [i64]);

impl Columns for Integers<'_> {
    fn rows(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn value(&self, row: usize, _column: usize) -> ValueRef<'_> {
        ValueRef::Integer(self.0[row])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_values_list_has_a_place_for_every_row() {
        assert_eq!(Method::Values.sql(3), "INSERT INTO integers(value) VALUES (?),(?),(?)");
        assert!(Method::Values.takes(3, 3) && !Method::Values.takes(3, 2));
        assert!(Method::Carray.takes(3, 2));
    }
}
