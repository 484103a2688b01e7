//! Tables, indexes and foreign keys, as SQLite describes them.
//!
//! Space by table and index, from the virtual table dbstat, which reads every page.

use engine::{Connection, EngineError, Value};
use script::effect::literal;
use serde::Serialize;

use super::{number, text};

/// Tables and indexes of the user.
pub(super) struct Schema {
    pub(super) tables: Vec<Table>,
}

/// A table, not a virtual one or part of one.
pub(super) struct Table {
    pub(super) name: String,
    /// Its CREATE TABLE.
    pub(super) sql: String,
    pub(super) without_rowid: bool,
    pub(super) columns: Vec<Column>,
    pub(super) indexes: Vec<Index>,
    pub(super) foreign_keys: Vec<ForeignKey>,
}

pub(super) struct Column {
    pub(super) name: String,
    /// The declared type in upper case.
    pub(super) kind: String,
    /// Its place in the primary key, from one; 0 for no part of it.
    pub(super) in_key: i64,
}

pub(super) struct Index {
    pub(super) name: String,
    pub(super) unique: bool,
    /// Whether CREATE INDEX made it, and not a constraint.
    pub(super) created: bool,
    pub(super) is_key: bool,
    pub(super) partial: bool,
    /// Its columns; none for an expression.
    pub(super) columns: Vec<Option<IndexColumn>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexColumn {
    pub(super) name: String,
    descending: bool,
    collation: String,
}

pub(super) struct ForeignKey {
    pub(super) parent: String,
    pub(super) columns: Vec<String>,
}

impl Table {
    /// Returns the column that is the rowid, if one is.
    pub(super) fn rowid(&self) -> Option<&str> {
        let mut key = self.columns.iter().filter(|column| column.in_key > 0);
        let only = key.next().filter(|column| column.kind == "INTEGER");
        let has_no_index = !self.indexes.iter().any(|index| index.is_key);
        only.filter(|_| key.next().is_none() && has_no_index && !self.without_rowid)
            .map(|column| column.name.as_str())
    }
}

/// # Errors
/// The schema is damaged.
pub(super) fn read(connection: &Connection) -> Result<Schema, EngineError> {
    let rows = connection.query_all(
        "SELECT l.name, coalesce(m.sql, ''), l.wr FROM pragma_table_list AS l \
         JOIN sqlite_master AS m ON m.name = l.name AND m.type = 'table' \
         WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY l.name",
    )?;
    let tables = rows.into_iter().map(|row| table(connection, row));
    Ok(Schema { tables: tables.collect::<Result<_, _>>()? })
}

fn table(connection: &Connection, row: Vec<Value>) -> Result<Table, EngineError> {
    let mut row = row.into_iter();
    let mut next = || row.next().unwrap_or(Value::Null);
    let (name, sql) = (text(next()).unwrap_or_default(), text(next()).unwrap_or_default());
    let of_table = literal(&name);
    Ok(Table {
        without_rowid: number(&next()) == 1,
        columns: columns(connection, &of_table)?,
        indexes: indexes(connection, &of_table)?,
        foreign_keys: foreign_keys(connection, &of_table)?,
        name,
        sql,
    })
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<Column>, EngineError> {
    let rows = connection.query_all(&format!(
        "SELECT pk, upper(type), name FROM pragma_table_info({table}) ORDER BY cid"
    ))?;
    let column = |mut row: Vec<Value>| {
        Some(Column {
            name: text(row.pop()?)?,
            kind: text(row.pop()?)?,
            in_key: number(&row.pop()?),
        })
    };
    Ok(rows.into_iter().filter_map(column).collect())
}

fn indexes(connection: &Connection, table: &str) -> Result<Vec<Index>, EngineError> {
    let rows = connection.query_all(&format!(
        "SELECT \"unique\", origin, partial, name FROM pragma_index_list({table}) ORDER BY name"
    ))?;
    let index = |mut row: Vec<Value>| {
        let mut pop = || row.pop().unwrap_or(Value::Null);
        let name = text(pop()).unwrap_or_default();
        let partial = number(&pop()) == 1;
        let origin = text(pop()).unwrap_or_default();
        Ok(Index {
            columns: index_columns(connection, &literal(&name))?,
            name,
            partial,
            created: origin == "c",
            is_key: origin == "pk",
            unique: number(&pop()) == 1,
        })
    };
    rows.into_iter().map(index).collect()
}

fn index_columns(
    connection: &Connection,
    index: &str,
) -> Result<Vec<Option<IndexColumn>>, EngineError> {
    let rows = connection.query_all(&format!(
        "SELECT desc, coll, name FROM pragma_index_xinfo({index}) WHERE key = 1 ORDER BY seqno"
    ))?;
    let column = |mut row: Vec<Value>| {
        Some(IndexColumn {
            name: text(row.pop()?)?,
            collation: text(row.pop()?)?,
            descending: number(&row.pop()?) == 1,
        })
    };
    Ok(rows.into_iter().map(column).collect())
}

fn foreign_keys(connection: &Connection, table: &str) -> Result<Vec<ForeignKey>, EngineError> {
    let rows = connection.query_all(&format!(
        "SELECT id, \"table\", \"from\" FROM pragma_foreign_key_list({table}) ORDER BY id, seq"
    ))?;
    let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
    for mut row in rows {
        let mut pop = || row.pop().unwrap_or(Value::Null);
        let (column, parent) = (text(pop()).unwrap_or_default(), text(pop()).unwrap_or_default());
        let id = number(&pop());
        match keys.last_mut().filter(|(known, _)| *known == id) {
            Some((_, key)) => key.columns.push(column),
            None => keys.push((id, ForeignKey { parent, columns: vec![column] })),
        }
    }
    Ok(keys.into_iter().map(|(_, key)| key).collect())
}

/// The space of a table or an index.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Space {
    /// Its name.
    pub name: String,
    /// Its pages, including the overflow pages of long rows.
    pub pages: i64,
    /// Bytes of these.
    pub bytes: i64,
    /// Bytes among these that hold nothing.
    pub unused_bytes: i64,
    /// Bytes of its rows or keys.
    pub payload_bytes: i64,
    /// Pages that do not follow the page before them in the order of the key.
    pub out_of_order: i64,
    /// Rows of a table with a rowid, or keys on leaves.
    pub leaf_cells: i64,
    /// Rows of a table WITHOUT ROWID, or keys.
    pub cells: i64,
}

impl Space {
    /// Returns the part of its bytes that holds nothing, from 0 to 1.
    pub fn unused(&self) -> f64 {
        self.unused_bytes as f64 / self.bytes.max(1) as f64
    }

    /// Returns the part of its pages that do not follow the page before them, from 0 to 1.
    pub fn disorder(&self) -> f64 {
        self.out_of_order as f64 / self.pages.max(1) as f64
    }
}

/// # Errors
/// The database is damaged.
pub(super) fn read_space(connection: &Connection) -> Result<Vec<Space>, EngineError> {
    let rows = connection.query_all(
        "SELECT name, count(*), sum(pgsize), sum(unused), sum(payload), sum(gap), \
         sum(iif(pagetype = 'leaf', ncell, 0)), sum(iif(pagetype = 'overflow', 0, ncell)) \
         FROM (SELECT *, pageno <> 1 + lag(pageno, 1, pageno - 1) OVER (PARTITION BY name ORDER BY path) AS gap \
         FROM dbstat('main')) GROUP BY name ORDER BY sum(pgsize) DESC, name",
    )?;
    Ok(rows.into_iter().filter_map(space).collect())
}

fn space(row: Vec<Value>) -> Option<Space> {
    let numbers: Vec<i64> = row.iter().skip(1).map(number).collect();
    let name = text(row.into_iter().next()?)?;
    let [pages, bytes, unused_bytes, payload_bytes, out_of_order, leaf_cells, cells] =
        numbers.try_into().ok()?;
    Some(Space { name, pages, bytes, unused_bytes, payload_bytes, out_of_order, leaf_cells, cells })
}
