//! Whether the database holds what was inserted: fast but wrong is a failed trial.

use engine::Connection;

use super::pages;
use super::parameters::{Index, Parameters, Target};
use super::table::Table;
use crate::error::TrialError;
use crate::workload::common::expect;
use crate::workload::sums::{Sum, check_sums, sums};

/// Checks the table, and through the index where there is one, against the data.
pub(super) fn check(
    connection: &Connection,
    data: &[i64],
    parameters: &Parameters,
) -> Result<(), TrialError> {
    let wanted = sums_of(data);
    compare(connection, "NOT INDEXED", &wanted)?;
    if parameters.index != Index::None {
        let index = match parameters.target {
            Target::Sqlite => super::INDEX,
            Target::Pages => pages::INDEX,
        };
        let through = format!("INDEXED BY {index}");
        compare(connection, &through, &wanted)?;
    }
    check_keys(connection, parameters.table, data.len())
}

/// What tells one set of values from another without holding either a second time. Sums of the
/// halves of each value cannot overflow and tell most wrong values from right ones; the sum of
/// squared residues notices values that were exchanged for others of equal sum.
const SUMS: [Sum; 4] = [
    ("the count", "count(*)"),
    ("the sum of the upper halves", "sum(value >> 32)"),
    ("the sum of the lower halves", "sum(value & 4294967295)"),
    ("the sum of squared residues", "sum((value % 65521) * (value % 65521))"),
];

/// A prime below 2^16, so that the squares of 2^31 residues sum up within 64 bits.
const MODULUS: i64 = 65_521;

/// The sums in the order of [`SUMS`].
fn sums_of(data: &[i64]) -> [i64; SUMS.len()] {
    sums(data.iter().map(|value| {
        let residue = value % MODULUS;
        [1, value >> 32, value & 0xffff_ffff, residue * residue]
    }))
}

fn compare(
    connection: &Connection,
    through: &str,
    wanted: &[i64; SUMS.len()],
) -> Result<(), TrialError> {
    let from = format!("integers {through} WHERE value IS NOT NULL");
    let ending = format!(" of the rows ({through})");
    check_sums(connection, &SUMS, (&from, &ending), wanted)
}

/// Keys that SQLite counted on begin at 1 and have no gaps.
fn check_keys(connection: &Connection, table: Table, rows: usize) -> Result<(), TrialError> {
    let Some(key) = table.counted_key().filter(|_| rows > 0) else {
        return Ok(());
    };
    let smallest = connection.query_i64(&format!("SELECT min({key}) FROM integers"))?;
    expect("the smallest key", smallest, 1)?;
    let largest = connection.query_i64(&format!("SELECT max({key}) FROM integers"))?;
    expect("the largest key", largest, rows as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Library, OpenFlags, Source};
    use std::path::Path;
    use std::sync::Arc;

    fn table_of(values: &[i64]) -> Connection {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let path = Path::new(":memory:");
        let connection = Connection::open(&library, path, OpenFlags::default(), None).unwrap();
        connection.execute(Table::Rowid.create()).unwrap();
        for value in values {
            let insert = format!("INSERT INTO integers VALUES ({value})");
            connection.execute(&insert).unwrap();
        }
        connection
    }

    fn problem(values: &[i64], data: &[i64]) -> String {
        let wanted = sums_of(data);
        let wrong = compare(&table_of(values), "NOT INDEXED", &wanted).unwrap_err();
        wrong.to_string()
    }

    #[test]
    fn rows_missing_changed_or_exchanged_are_noticed() {
        let data = [i64::MIN, -7, 0, 3, 1 << 40, i64::MAX];
        assert!(compare(&table_of(&data), "NOT INDEXED", &sums_of(&data)).is_ok());
        assert!(problem(&data[1..], &data).contains("the count"));
        assert!(problem(&[1 << 40], &[1 << 41]).contains("upper halves"));
        assert!(problem(&[8], &[9]).contains("lower halves"));
        assert!(problem(&[1, 5], &[2, 4]).contains("squared residues"));
    }

    #[test]
    fn a_gap_in_the_counted_keys_is_noticed() {
        let connection = table_of(&[10, 20, 30]);
        assert!(check_keys(&connection, Table::Rowid, 3).is_ok());
        let delete = "DELETE FROM integers WHERE rowid = 1";
        connection.execute(delete).unwrap();
        let error = check_keys(&connection, Table::Rowid, 2).unwrap_err();
        assert!(error.to_string().contains("the smallest key"), "{error}");
    }
}
