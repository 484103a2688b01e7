//! Indexes that repeat another, and foreign keys without an index.

use super::Finding;
use super::schema::{ForeignKey, Index, Schema, Table};
use script::effect::quoted;

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
                experiment: None,
            })
        })
    });
    findings.collect()
}

/// Returns what replaces an index, or `None` if the index is needed.
fn replaced_by(table: &Table, index: &Index) -> Option<String> {
    if !index.created || index.partial || index.columns.contains(&None) {
        return None;
    }
    let is_rowid = |name: &str| table.rowid() == Some(name);
    if let [Some(only)] = index.columns.as_slice()
        && is_rowid(&only.name)
    {
        return Some(format!("the table {}, by its rowid,", table.name));
    }
    let other = table.indexes.iter().find(|other| repeats(index, other))?;
    Some(if other.is_key {
        format!("the primary key of {}", table.name)
    } else {
        format!("the index {}", other.name)
    })
}

/// Returns whether an index is the beginning of another. Of two that are the same, the one that a constraint made
/// stays, then the first by name. A unique index is also a constraint: only the same one with the same constraint
/// replaces it.
fn repeats(index: &Index, other: &Index) -> bool {
    if other.partial || other.name == index.name || !other.columns.starts_with(&index.columns) {
        return false;
    }
    let is_same = other.columns == index.columns;
    match (is_same, index.unique) {
        (false, unique) => !unique,
        (true, true) if !other.unique => false,
        (true, false) if other.unique => true,
        (true, _) => !other.created || other.name < index.name,
    }
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
            experiment: None,
        })
    });
    findings.collect()
}

/// Returns whether an index begins with the columns of a foreign key, in any order.
fn is_indexed(table: &Table, key: &ForeignKey) -> bool {
    let count = key.columns.len();
    let is_in = |name: &str| key.columns.iter().any(|column| column.eq_ignore_ascii_case(name));
    if count == 1 && table.rowid().is_some_and(is_in) {
        return true;
    }
    table.indexes.iter().filter(|index| !index.partial).any(|index| {
        let first = index.columns.iter().take(count);
        let all = first.filter(|column| column.as_ref().is_some_and(|column| is_in(&column.name)));
        all.count() == count
    })
}

fn create_index(table: &Table, key: &ForeignKey) -> String {
    let name = format!("{}_{}", table.name, key.columns.join("_"));
    let columns: Vec<String> = key.columns.iter().map(|column| quoted(column)).collect();
    format!("CREATE INDEX {} ON {}({});", quoted(&name), quoted(&table.name), columns.join(", "))
}
