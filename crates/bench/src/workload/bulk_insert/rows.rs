//! Some rows into the table, within whatever transaction there is.

use engine::{Connection, Statement};

use super::method::Method;
use super::parameters::{Parameters, Statement as Preparing};
use crate::error::TrialError;

/// Everything prepared for inserting some rows; arrays are borrowed for `'d`.
pub(super) struct Rows<'c, 'd> {
    method: Method,
    rows_per_statement: usize,
    way: Way<'c, 'd>,
}

/// Whether statements are used again.
enum Way<'c, 'd> {
    /// One row a statement, which makes the shortest loop.
    OneByOne(Statement<'c, 'd>),
    /// Statements of as many rows as one may have, and one-row statements for the rest.
    Reused {
        whole: Statement<'c, 'd>,
        single: Statement<'c, 'd>,
    },
    PreparedEachTime {
        connection: &'c Connection,
        whole: String,
        single: String,
    },
}

impl<'c, 'd> Rows<'c, 'd> {
    /// Prepares what is reused.
    pub(super) fn prepare(
        connection: &'c Connection,
        parameters: &Parameters,
    ) -> Result<Rows<'c, 'd>, TrialError> {
        let Parameters { method, statement, .. } = *parameters;
        let rows_per_statement = parameters.rows_per_statement();
        method.prepare(connection)?;
        let (whole, single) = (method.sql(rows_per_statement), method.sql(1));
        let way = match statement {
            Preparing::PreparedEachTime => Way::PreparedEachTime { connection, whole, single },
            Preparing::Reused if method == Method::Values && rows_per_statement == 1 => {
                Way::OneByOne(connection.prepare(&single)?)
            }
            Preparing::Reused => Way::Reused {
                whole: connection.prepare(&whole)?,
                single: connection.prepare(&single)?,
            },
        };
        Ok(Rows { method, rows_per_statement, way })
    }

    /// Inserts the values. A method that copies takes its rows from the attached database and
    /// must be given all of them at once.
    #[inline]
    pub(super) fn insert(&mut self, values: &'d [i64]) -> Result<(), TrialError> {
        let (method, rows) = (self.method, self.rows_per_statement);
        match &mut self.way {
            Way::OneByOne(single) => one_by_one(single, values),
            Way::Reused { whole, single } => {
                for chunk in values.chunks(rows) {
                    if method.takes(rows, chunk.len()) {
                        method.run(whole, chunk)?;
                    } else {
                        one_by_one(single, chunk)?;
                    }
                }
                Ok(())
            }
            Way::PreparedEachTime { connection, whole, single } => {
                for chunk in values.chunks(rows) {
                    if method.takes(rows, chunk.len()) {
                        method.run(&mut connection.prepare(whole)?, chunk)?;
                    } else {
                        for value in chunk {
                            let value = std::slice::from_ref(value);
                            method.run(&mut connection.prepare(single)?, value)?;
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

#[inline]
fn one_by_one(statement: &mut Statement<'_, '_>, values: &[i64]) -> Result<(), TrialError> {
    for value in values {
        statement.bind_i64(1, *value)?;
        statement.run()?;
    }
    Ok(())
}
