//! Whether the database holds what was inserted: fast but wrong is a failed trial.

use engine::{Connection, Value};

use super::pages;
use super::parameters::{Index, Parameters, Target};
use super::table::Table;
use crate::error::TrialError;
use crate::workload::common::expect;

/// Checks the table, and through the index where there is one, against the data.
pub(super) fn check(
    connection: &Connection,
    data: &[i64],
    parameters: &Parameters,
) -> Result<(), TrialError> {
    let wanted = Sums::of(data);
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
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    count: i64,
    upper: i64,
    lower: i64,
    squares: i64,
}

/// A prime below 2^16, so that the squares of 2^31 residues sum up within 64 bits.
const MODULUS: i64 = 65_521;

impl Sums {
    fn of(data: &[i64]) -> Sums {
        data.iter().fold(Sums::default(), |sums, value| {
            let residue = value % MODULUS;
            Sums {
                count: sums.count + 1,
                upper: sums.upper + (value >> 32),
                lower: sums.lower + (value & 0xffff_ffff),
                squares: sums.squares + residue * residue,
            }
        })
    }

    /// The same of the table, read once.
    fn of_table(connection: &Connection, through: &str) -> Result<Sums, TrialError> {
        let sql = format!(
            "SELECT count(*), sum(value >> 32), sum(value & 4294967295), \
             sum((value % {MODULUS}) * (value % {MODULUS})) \
             FROM integers {through} WHERE value IS NOT NULL"
        );
        let rows = connection.query_all(&sql)?;
        let sum = |column: usize| match rows.first().and_then(|row| row.get(column)) {
            Some(Value::Integer(sum)) => Ok(*sum),
            Some(Value::Null) => Ok(0),
            other => Err(TrialError::WrongResult {
                what: "the type of a sum over the rows".to_owned(),
                found: format!("{other:?}"),
                wanted: "an integer".to_owned(),
            }),
        };
        Ok(Sums {
            count: sum(0)?,
            upper: sum(1)?,
            lower: sum(2)?,
            squares: sum(3)?,
        })
    }
}

fn compare(connection: &Connection, through: &str, wanted: &Sums) -> Result<(), TrialError> {
    let found = Sums::of_table(connection, through)?;
    let what = |what: &str| format!("{what} of the rows ({through})");
    expect(&what("the count"), found.count, wanted.count)?;
    let (found_upper, wanted_upper) = (found.upper, wanted.upper);
    expect(
        &what("the sum of the upper halves"),
        found_upper,
        wanted_upper,
    )?;
    let (found_lower, wanted_lower) = (found.lower, wanted.lower);
    expect(
        &what("the sum of the lower halves"),
        found_lower,
        wanted_lower,
    )?;
    expect(
        &what("the sum of squared residues"),
        found.squares,
        wanted.squares,
    )
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
        let wanted = Sums::of(data);
        let wrong = compare(&table_of(values), "NOT INDEXED", &wanted).unwrap_err();
        wrong.to_string()
    }

    #[test]
    fn rows_missing_changed_or_exchanged_are_noticed() {
        let data = [i64::MIN, -7, 0, 3, 1 << 40, i64::MAX];
        assert!(compare(&table_of(&data), "NOT INDEXED", &Sums::of(&data)).is_ok());
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
