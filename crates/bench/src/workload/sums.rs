//! Sums over the columns of a table: computed of the data and by SQLite, they must be equal.

use std::array::from_fn;

use engine::{Connection, Value};

use super::common::expect;
use crate::error::{Result, TrialError};

/// The name of a sum, and SQLite's expression for it.
pub(super) type Sum = (&'static str, &'static str);

/// Returns the sums of rows, column by column.
pub(super) fn sums<const N: usize>(rows: impl Iterator<Item = [i64; N]>) -> [i64; N] {
    rows.fold([0; N], |sums, row| from_fn(|column| sums[column] + row[column]))
}

/// Checks the sums of a table. `from` follows FROM, and `ending` ends the name of each sum. A sum over no row, which is NULL in
/// SQLite, counts as 0.
pub(super) fn check_sums(
    connection: &Connection,
    sums: &[Sum],
    (from, ending): (&str, &str),
    wanted: &[i64],
) -> Result<()> {
    let columns: Vec<&str> = sums.iter().map(|(_, sql)| *sql).collect();
    let sql = format!("SELECT {} FROM {from}", columns.join(", "));
    let found = connection.query_all(&sql)?.into_iter().flatten();
    for (((what, _), wanted), found) in sums.iter().zip(wanted).zip(found) {
        let what = format!("{what}{ending}");
        match found {
            Value::Integer(found) => expect(&what, found, *wanted)?,
            Value::Null => expect(&what, 0, *wanted)?,
            other => return Err(TrialError::wrong(what, format!("{other:?}"), "an integer")),
        }
    }
    Ok(())
}
