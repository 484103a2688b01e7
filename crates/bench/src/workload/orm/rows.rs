//! Tables and the rows that are there before an operation.

use engine::Connection;

use crate::error::TrialError;

const TABLES: [&str; 3] = ["people", "parties", "json_parties"];

/// The article's schema, which has no index besides the keys.
pub(super) fn create_tables(connection: &Connection) -> Result<(), TrialError> {
    connection.execute(
        "CREATE TABLE parties(id INTEGER PRIMARY KEY AUTOINCREMENT, theme VARCHAR);
         CREATE TABLE people(id INTEGER PRIMARY KEY AUTOINCREMENT, party_id INTEGER, other_party_id INTEGER, name VARCHAR, address VARCHAR);
         CREATE TABLE json_parties(id INTEGER PRIMARY KEY AUTOINCREMENT, stuff TEXT)",
    )?;
    Ok(())
}

pub(super) fn empty_tables(connection: &Connection) -> Result<(), TrialError> {
    connection.execute("BEGIN")?;
    for table in TABLES {
        connection.execute(&format!("DELETE FROM {table}"))?;
    }
    connection.execute("COMMIT")?;
    Ok(())
}

/// Returns the numbers from 1 to `count` as a table `n(i)`.
fn numbers(count: usize) -> String {
    format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})")
}

/// Makes parties; returns their ids.
pub(super) fn make_parties(connection: &Connection, count: usize) -> Result<Vec<i64>, TrialError> {
    connection.execute(&format!(
        "INSERT INTO parties(theme) {} SELECT 'Party ' || i FROM n",
        numbers(count)
    ))?;
    ids(connection, "parties")
}

/// Makes this number of people for each party, tied to it by this column.
pub(super) fn make_people(
    connection: &Connection,
    each: usize,
    column: &str,
) -> Result<(), TrialError> {
    connection.execute(&format!(
        "INSERT INTO people({column}, name) {} SELECT p.id, 'Person ' || i FROM parties p, n ORDER BY p.id, i",
        numbers(each)
    ))?;
    Ok(())
}

/// Makes parties of JSON; returns their ids.
pub(super) fn make_json(connection: &Connection, count: usize) -> Result<Vec<i64>, TrialError> {
    connection.execute(&format!(
        r#"INSERT INTO json_parties(stuff) {} SELECT '{{"pumpkin":1,"candy":1}}' FROM n"#,
        numbers(count)
    ))?;
    ids(connection, "json_parties")
}

fn ids(connection: &Connection, table: &str) -> Result<Vec<i64>, TrialError> {
    let mut ids = Vec::new();
    connection.for_each_row(&format!("SELECT id FROM {table} ORDER BY id"), |row| {
        ids.push(row.column_i64(0));
        Ok(())
    })?;
    Ok(ids)
}
