//! Questions about the schema of a database.

use engine::{Connection, Step, Value};

use crate::error::Result;
use crate::sql::{quoted, same};

/// Returns whether there is a table or view of this name: its kind.
pub(crate) fn object(connection: &Connection, name: &str) -> Result<Option<String>> {
    let mut query = connection.prepare(
        "SELECT type FROM sqlite_master WHERE lower(name) = lower(?1) AND type IN ('table', 'view')",
    )?;
    query.bind_text(1, name)?;
    Ok(match query.step()? {
        Step::Row => Some(query.column_text(0)?.to_owned()),
        Step::Done => None,
    })
}

/// Returns the SQL of a table or view and of its indexes.
pub(crate) fn statements(connection: &Connection, table: &str) -> Result<Vec<String>> {
    let mut query = connection.prepare(
        "SELECT sql FROM sqlite_master WHERE lower(tbl_name) = lower(?1) AND sql IS NOT NULL \
         AND type IN ('table', 'view', 'index') ORDER BY type = 'index', name",
    )?;
    query.bind_text(1, table)?;
    let mut statements = Vec::new();
    while query.step()? == Step::Row {
        statements.push(query.column_text(0)?.to_owned());
    }
    Ok(statements)
}

/// Returns whether any of the tables that `PRAGMA main.table_list` gives for this SQL is STRICT; engines before
/// 3.37 have neither such tables nor the PRAGMA.
pub(crate) fn any_is_strict(connection: &Connection, table_list: &str) -> bool {
    let is_strict = |table: &Vec<Value>| table.get(5) == Some(&Value::Integer(1));
    let tables = connection.query_all(table_list);
    tables.is_ok_and(|tables| tables.iter().any(is_strict))
}

/// Returns the column that is the rowid by another name: the only one of the primary key, declared `INTEGER`,
/// in a table that keeps no index for that key (<https://sqlite.org/lang_createtable.html#rowid>).
pub(crate) fn rowid_alias(connection: &Connection, table: &str) -> Result<Option<String>> {
    let indexes = connection.query_all(&format!("PRAGMA index_list({})", quoted(table)))?;
    let has_index = indexes.iter().any(|index| index.get(3) == Some(&Value::Text("pk".to_owned())));
    let (mut keys, mut alias) = (0, None);
    connection.for_each_row(&format!("PRAGMA table_xinfo({})", quoted(table)), |row| {
        if row.column_i64(5) > 0 {
            keys += 1;
            alias = Some(row.column_text(1)?.to_owned());
        }
        Ok(())
    })?;
    Ok(alias.filter(|_| keys == 1 && !has_index))
}

/// SQL's names of the rowid, unless columns have them.
pub(crate) const ROWID: [&str; 3] = ["rowid", "_rowid_", "oid"];

/// Returns a name of the rowid of a table with rowids; none if columns have all of them, and none is the rowid.
pub(crate) fn rowid_name(connection: &Connection, table: &str) -> Result<Option<String>> {
    let columns = texts(connection, &format!("PRAGMA table_xinfo({})", quoted(table)), 1)?;
    let is_free = |name: &&str| !columns.iter().any(|column| same(column, name));
    match ROWID.iter().copied().find(is_free) {
        Some(name) => Ok(Some(name.to_owned())),
        None => rowid_alias(connection, table),
    }
}

/// Returns the texts in a column of the rows of a query.
pub(crate) fn texts(connection: &Connection, sql: &str, column: i32) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    connection.for_each_row(sql, |row| {
        texts.push(row.column_text(column)?.to_owned());
        Ok(())
    })?;
    Ok(texts)
}
