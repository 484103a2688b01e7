//! Whether the database holds what was inserted: fast but wrong is a failed trial.

use engine::Connection;

use super::parameters::Index;
use crate::error::TrialError;

/// Checks the table, and through the index where there is one, against the data.
pub(super) fn check(connection: &Connection, data: &[i64], index: Index) -> Result<(), TrialError> {
    check_through(connection, "NOT INDEXED", data)?;
    if index != Index::None {
        check_through(connection, "INDEXED BY idx_integers_value", data)?;
    }
    Ok(())
}

/// Sums of the halves of each value cannot overflow, and tell most wrong values from right ones;
/// the sum of products with a modulus notices values that were exchanged for others of equal sum.
fn check_through(connection: &Connection, through: &str, data: &[i64]) -> Result<(), TrialError> {
    let sum = |query: &str, what: &str, wanted: i64| -> Result<(), TrialError> {
        let sql = format!("SELECT {query} FROM integers {through} WHERE value IS NOT NULL");
        let found = connection.query_i64(&sql)?;
        if found == wanted {
            return Ok(());
        }
        let (what, found, wanted) = (
            format!("{what} of the rows ({through})"),
            found.to_string(),
            wanted.to_string(),
        );
        Err(TrialError::WrongResult {
            what,
            found,
            wanted,
        })
    };
    sum("count(*)", "the count", data.len() as i64)?;
    sum(
        "ifnull(sum(value >> 32), 0)",
        "the sum of the upper halves",
        data.iter().map(|value| value >> 32).sum(),
    )?;
    sum(
        "ifnull(sum(value & 4294967295), 0)",
        "the sum of the lower halves",
        data.iter().map(|value| value & 0xffff_ffff).sum(),
    )?;
    let residue = |value: &i64| (value % 65_521) * (value % 65_521);
    sum(
        "ifnull(sum((value % 65521) * (value % 65521)), 0)",
        "the sum of squared residues",
        data.iter().map(residue).sum(),
    )
}
