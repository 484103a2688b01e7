//! Indexes that repeat another, and foreign keys without an index.
//!
//! Keys that experiments compare with others: stored twice, in random order, or assigned by AUTOINCREMENT.

use engine::schema::{Column, ForeignKey, Index, Part, PartOf, Schema, Table};
use engine::{Connection, EngineError, Value};
use script::effect::quoted;

use super::{Finding, Space};

/// Indexes that another index, or the table itself, can replace.
pub(super) fn redundant(schema: &Schema) -> Vec<Finding> {
    let findings = schema.tables.iter().flat_map(|table| {
        table.indexes.iter().filter_map(move |index| {
            let by = replaced_by(table, index)?;
            Some(Finding {
                subject: format!("index {}", index.name),
                what: format!(
                    "{by} begins with the same columns, so it can answer the same queries"
                ),
                remedy: format!("DROP INDEX {};", quoted(&index.name)),
                ..Finding::default()
            })
        })
    });
    findings.collect()
}

/// Returns what replaces an index, or `None` if the index is needed.
fn replaced_by(table: &Table, index: &Index) -> Option<String> {
    let is_expression = |part: &Part| matches!(part.of, PartOf::Expression(_));
    if index.is_of_constraint || index.is_partial || index.parts.iter().any(is_expression) {
        return None;
    }
    if let [only] = index.parts.as_slice()
        && column(table, only).is_some_and(|column| column.is_rowid)
    {
        return Some(format!("the table {}, by its rowid,", table.name));
    }
    let other = table.indexes.iter().find(|other| repeats(index, other))?;
    Some(if other.is_key {
        format!("the primary key of {}", table.name)
    } else if other.is_of_constraint {
        format!("a UNIQUE constraint of {}", table.name)
    } else {
        format!("the index {}", other.name)
    })
}

/// Returns whether an index is the beginning of another. Of two that are the same, the one that a constraint made
/// stays, then the first by name. A unique index is also a constraint: only the same one with the same constraint
/// replaces it.
fn repeats(index: &Index, other: &Index) -> bool {
    if other.is_partial || other.name == index.name || !other.parts.starts_with(&index.parts) {
        return false;
    }
    let is_same = other.parts == index.parts;
    match (is_same, index.is_unique) {
        (false, is_unique) => !is_unique,
        (true, true) if !other.is_unique => false,
        (true, false) if other.is_unique => true,
        (true, _) => other.is_of_constraint || other.name < index.name,
    }
}

/// Returns the column of a term of an index; `None` for an expression.
fn column<'t>(table: &'t Table, part: &Part) -> Option<&'t Column> {
    match part.of {
        PartOf::Column(number) => table.columns.get(number),
        PartOf::Expression(_) => None,
    }
}

/// Returns the column that is the rowid, if one is.
fn rowid(table: &Table) -> Option<&str> {
    table.columns.iter().find(|column| column.is_rowid).map(|column| &*column.name)
}

/// Foreign keys whose rows cannot be found by an index.
pub(super) fn foreign_keys_without(schema: &Schema) -> Vec<Finding> {
    let findings = schema.tables.iter().flat_map(|table| {
        table.foreign_keys.iter().filter(|key| !is_indexed(table, key)).map(move |key| Finding {
            subject: format!("table {}", table.name),
            what: format!(
                "the foreign key ({}) has no index: deleting a row of {} or changing its key scans all of {} if foreign_keys is on",
                key.columns.join(", "),
                key.parent,
                table.name
            ),
            remedy: create_index(table, key),
            missing: Some((table.name.clone(), key.columns.clone())),
            ..Finding::default()
        })
    });
    findings.collect()
}

/// Returns whether an index begins with the columns of a foreign key, in any order.
fn is_indexed(table: &Table, key: &ForeignKey) -> bool {
    let count = key.columns.len();
    let is_in = |name: &str| key.columns.iter().any(|column| column.eq_ignore_ascii_case(name));
    if count == 1 && rowid(table).is_some_and(is_in) {
        return true;
    }
    table.indexes.iter().filter(|index| !index.is_partial).any(|index| {
        let first = index.parts.iter().take(count);
        let all =
            first.filter(|part| column(table, part).is_some_and(|column| is_in(&column.name)));
        all.count() == count
    })
}

fn create_index(table: &Table, key: &ForeignKey) -> String {
    let name = format!("{}_by_{}", table.name, key.columns.join("_"));
    let columns: Vec<String> = key.columns.iter().map(|column| quoted(column)).collect();
    format!("CREATE INDEX {} ON {}({});", quoted(&name), quoted(&table.name), columns.join(", "))
}

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
    let mut findings: Vec<_> = autoincrement(schema).into_iter().collect();
    for table in &schema.tables {
        findings.extend(stored_twice(table, space, page_bytes));
        findings.extend(in_random_order(connection, table)?);
    }
    Ok(findings)
}

fn autoincrement(schema: &Schema) -> Option<Finding> {
    let uses = |table: &&Table| {
        let sql = table.sql.to_ascii_uppercase();
        rowid(table).is_some()
            && sql.split(|c: char| !c.is_alphanumeric()).any(|word| word == "AUTOINCREMENT")
    };
    let tables: Vec<&str> = schema.tables.iter().filter(uses).map(|table| &*table.name).collect();
    (!tables.is_empty()).then(|| Finding {
        subject: format!("{} {}", if tables.len() == 1 { "table" } else { "tables" }, tables.join(", ")),
        what: "AUTOINCREMENT writes the largest key into a second table with every INSERT".to_owned(),
        remedy: "leave AUTOINCREMENT out, unless a key must never be used again after its row was deleted".to_owned(),
        experiment: Some("insert-auto-keys"),
        ..Finding::default()
    })
}

/// Returns a finding if a key is stored twice: a key other than the rowid is in the table and in an index.
fn stored_twice(table: &Table, space: &[Space], page_bytes: i64) -> Option<Finding> {
    let index =
        table.indexes.iter().find(|index| index.is_key).filter(|_| !table.is_without_rowid)?;
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
        ..Finding::default()
    })
}

/// Keys that come in random order go to random pages.
fn in_random_order(connection: &Connection, table: &Table) -> Result<Option<Finding>, EngineError> {
    // A key that is the rowid has no index. Without a rowid, nothing shows in which order rows came.
    let mut keys = table.indexes.iter().filter(|index| index.is_key && !table.is_without_rowid);
    let Some([part]) = keys.next().map(|index| &index.parts[..]) else { return Ok(None) };
    let Some(column) = column(table, part) else { return Ok(None) };
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
        ..Finding::default()
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
