//! Keys that experiments compare with others: stored twice, in random order, or assigned by AUTOINCREMENT.

use engine::{Connection, EngineError, Value};

use super::schema::{Schema, Table};
use super::{Finding, Space};
use script::effect::quoted;

/// Rows that are looked at to see in which order keys came.
const SAMPLE: usize = 1_000;

/// Fewer rows say nothing of an order.
const LEAST: usize = 100;

/// An order is called random if this part of all pairs ascends; half of them do in a random one.
const RANDOM: std::ops::RangeInclusive<f64> = 0.3..=0.7;

/// The rows that WITHOUT ROWID suits are smaller than this part of a page (<https://sqlite.org/withoutrowid.html>).
const SMALL: i64 = 20;

/// # Errors
/// A table cannot be read.
pub(super) fn of(
    connection: &Connection,
    schema: &Schema,
    space: &[Space],
    page_bytes: i64,
) -> Result<Vec<Finding>, EngineError> {
    let mut findings = Vec::new();
    for table in &schema.tables {
        findings.extend(autoincrement(table));
        findings.extend(stored_twice(table, space, page_bytes));
        findings.extend(in_random_order(connection, table)?);
    }
    Ok(findings)
}

fn autoincrement(table: &Table) -> Option<Finding> {
    let sql = table.sql.to_ascii_uppercase();
    let uses = table.rowid().is_some()
        && sql.split(|c: char| !c.is_alphanumeric()).any(|word| word == "AUTOINCREMENT");
    uses.then(|| Finding {
        subject: format!("table {}", table.name),
        what: "AUTOINCREMENT writes the largest key into a second table with every INSERT".to_owned(),
        remedy: "leave AUTOINCREMENT out, unless a key must never be used again after its row was deleted".to_owned(),
        experiment: Some("insert-auto-keys"),
    })
}

/// Returns a finding if a key is stored twice: a key other than the rowid is in the table and in an index.
fn stored_twice(table: &Table, space: &[Space], page_bytes: i64) -> Option<Finding> {
    let index = table.indexes.iter().find(|index| index.is_key).filter(|_| !table.without_rowid)?;
    let of = |name: &str| space.iter().find(|object| object.name == name);
    let (of_table, of_index) = (of(&table.name)?, of(&index.name)?);
    let row_bytes = of_table.payload_bytes / of_table.leaf_cells.max(1);
    let is_small = row_bytes < page_bytes / SMALL;
    (is_small && of_table.leaf_cells >= LEAST as i64).then(|| Finding {
        subject: format!("table {}", table.name),
        what: format!(
            "its primary key is stored twice, in the table and in an index of {} bytes, and its rows have {row_bytes} bytes on average",
            of_index.bytes
        ),
        remedy: "consider WITHOUT ROWID, which stores each row under its key".to_owned(),
        experiment: Some("keys-tables"),
    })
}

/// Keys that come in random order go to random pages.
fn in_random_order(connection: &Connection, table: &Table) -> Result<Option<Finding>, EngineError> {
    let mut key = table.columns.iter().filter(|column| column.in_key > 0);
    let (Some(column), None) = (key.next(), key.next()) else { return Ok(None) };
    // Without a rowid, nothing shows in which order rows came.
    if table.without_rowid || table.rowid().is_some() {
        return Ok(None);
    }
    let rows = connection.query_all(&format!(
        "SELECT {} FROM {} ORDER BY rowid DESC LIMIT {SAMPLE}",
        quoted(&column.name),
        quoted(&table.name)
    ))?;
    let keys: Vec<Value> = rows.into_iter().flatten().rev().collect();
    let pairs = keys.len().saturating_sub(1);
    let ascending = keys.windows(2).filter(|pair| is_ascending(&pair[0], &pair[1]));
    let share = ascending.count() as f64 / pairs.max(1) as f64;
    Ok((keys.len() >= LEAST && RANDOM.contains(&share)).then(|| Finding {
        subject: format!("table {}", table.name),
        what: format!(
            "its keys come in random order ({:.0} % of the last {} follow the one before), so each insert changes another page of the index",
            share * 100.0,
            keys.len()
        ),
        remedy: "use an INTEGER PRIMARY KEY, or keys that ascend, such as UUIDs of version 7".to_owned(),
        experiment: Some("keys-types"),
    }))
}

fn is_ascending(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => a <= b,
        (Value::Text(a), Value::Text(b)) => a <= b,
        (Value::Blob(a), Value::Blob(b)) => a <= b,
        _ => true,
    }
}
