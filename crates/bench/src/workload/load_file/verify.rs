//! Whether the database holds the file: fast but wrong is a failed trial.

use std::path::Path;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags};

use crate::error::TrialError;
use crate::workload::common::expect;
use crate::workload::sums::{Sum, check_sums, sums};

/// Sums that tell the rows of one file from others without holding them: sums of each column, and one over
/// rows that notices values which came into another row.
const SUMS: [Sum; 6] = [
    ("the count of rows of the right types", "count(*)"),
    ("the sum of ids", "sum(id)"),
    ("the sum of areas", "sum(number)"),
    ("the sum of ages", "sum(age)"),
    ("the sum of active", "sum(active)"),
    ("the sum over rows", "sum(id % 997 * (number + 3 * age + active))"),
];

/// Rows of the right types. Values of another type than the column's count as missing.
const TYPED: &str = "(SELECT *, CAST(area AS INTEGER) AS number FROM user) \
     WHERE typeof(id) = 'integer' AND typeof(area) = 'text' AND length(area) = 6 \
     AND typeof(age) = 'integer' AND typeof(active) = 'integer'";

/// A prime that keeps the sum over rows within 64 bits for a thousand million of them.
const MODULUS: i64 = 997;

/// The sums of a file in the order of [`SUMS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums([i64; SUMS.len()]);

impl Sums {
    /// Adds a row; an area is of ASCII digits.
    pub(super) fn add(&mut self, id: i64, area: &[u8], age: u8, active: u8) {
        let digit = |number: i64, byte: &u8| number * 10 + i64::from(byte.wrapping_sub(b'0'));
        let area = area.iter().fold(0, digit);
        let (age, active) = (i64::from(age), i64::from(active));
        let over_row = id % MODULUS * (area + 3 * age + active);
        self.0 = sums([self.0, [1, id, area, age, active, over_row]].into_iter());
    }
}

/// Checks the database that a tool has made.
pub(super) fn check(
    library: &Arc<Library>,
    database: &Path,
    expected: &Sums,
) -> Result<(), TrialError> {
    let connection = Connection::open(library, database, OpenFlags::READ_WRITE, None)?;
    let found = connection.query_text("PRAGMA integrity_check")?;
    expect("the check of integrity", found.as_str(), "ok")?;
    expect("the table", columns(&connection)?.as_str(), COLUMNS)?;
    let count = connection.query_i64("SELECT count(*) FROM user")?;
    expect("the count of rows", count, expected.0[0])?;
    check_sums(&connection, &SUMS, (TYPED, ""), &expected.0)?;
    Ok(connection.close()?)
}

/// The columns that the table must have, with their types and which of them is the key.
const COLUMNS: &str = "id INTEGER key, area CHAR(6), age INTEGER, active INTEGER";

fn columns(connection: &Connection) -> Result<String, TrialError> {
    let mut columns = Vec::new();
    connection.for_each_row("PRAGMA table_info(user)", |row| {
        let key = if row.column_i64(5) > 0 { " key" } else { "" };
        let (name, declared) = (row.column_text(1)?, row.column_text(2)?);
        columns.push(format!("{name} {declared}{key}"));
        Ok(())
    })?;
    Ok(columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Source;

    const CREATE: &str =
        "CREATE TABLE user(id INTEGER PRIMARY KEY, area CHAR(6), age INTEGER, active INTEGER)";

    fn expected() -> Sums {
        let mut sums = Sums::default();
        sums.add(1, b"012345", 5, 1);
        sums.add(2, b"999999", 15, 0);
        sums
    }

    fn problem(create: &str, rows: &str) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made.db");
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        let insert = format!("{create}; INSERT INTO user VALUES {rows}");
        connection.execute(&insert).unwrap();
        connection.close().unwrap();
        let checked = check(&library, &path, &expected());
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn the_rows_of_the_file_are_right_and_all_others_are_noticed() {
        assert_eq!(problem(CREATE, "(1, '012345', 5, 1), (2, '999999', 15, 0)"), None);
        for (rows, named) in [
            ("(1, '012345', 5, 1)", "the count of rows"),
            ("(1, '012345', 5, 1), (2, '999999', 'old', 0)", "right types"),
            ("(1, '12345', 5, 1), (2, '999999', 15, 0)", "right types"),
            ("(1, '012345', 5, 1), (3, '999999', 15, 0)", "sum of ids"),
            ("(1, '012346', 5, 1), (2, '999999', 15, 0)", "sum of areas"),
            ("(1, '012345', 15, 1), (2, '999999', 15, 0)", "sum of ages"),
            ("(1, '012345', 5, 1), (2, '999999', 15, 1)", "sum of active"),
            ("(1, '999999', 5, 1), (2, '012345', 15, 0)", "sum over rows"),
        ] {
            let found = problem(CREATE, rows).unwrap();
            assert!(found.contains(named), "{rows}: {found}");
        }
    }

    #[test]
    fn another_table_is_noticed() {
        let create = CREATE.replace(" PRIMARY KEY", "");
        let rows = "(1, '012345', 5, 1), (2, '999999', 15, 0)";
        let found = problem(&create, rows).unwrap();
        assert!(found.contains("the table is id INTEGER, area"), "{found}");
    }

    #[test]
    fn no_database_is_an_error_that_names_it() {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let missing = Path::new("/no/such/made.db");
        let error = check(&library, missing, &expected()).unwrap_err();
        assert!(error.to_string().contains("/no/such/made.db"), "{error}");
    }
}
