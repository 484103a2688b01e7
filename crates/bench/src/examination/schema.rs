//! Tables, indexes and foreign keys, as SQLite describes them.
//!
//! Space by table and index, from the virtual table dbstat, which reads every page.

use engine::{Connection, EngineError};
use script::effect::literal;
use serde::Serialize;

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
    let tables = connection.query_rows(
        "SELECT l.name, coalesce(m.sql, ''), l.wr FROM pragma_table_list AS l \
         JOIN sqlite_master AS m ON m.name = l.name AND m.type = 'table' \
         WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY l.name",
        |row| {
            let name = row.column_text(0)?.to_owned();
            let of_table = literal(&name);
            Ok(Table {
                sql: row.column_text(1)?.to_owned(),
                without_rowid: row.column_i64(2) == 1,
                columns: columns(connection, &of_table)?,
                indexes: indexes(connection, &of_table)?,
                foreign_keys: foreign_keys(connection, &of_table)?,
                name,
            })
        },
    )?;
    Ok(Schema { tables })
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<Column>, EngineError> {
    let sql = format!("SELECT name, upper(type), pk FROM pragma_table_info({table}) ORDER BY cid");
    connection.query_rows(&sql, |row| {
        Ok(Column {
            name: row.column_text(0)?.to_owned(),
            kind: row.column_text(1)?.to_owned(),
            in_key: row.column_i64(2),
        })
    })
}

fn indexes(connection: &Connection, table: &str) -> Result<Vec<Index>, EngineError> {
    let sql = format!(
        "SELECT name, \"unique\", origin, partial FROM pragma_index_list({table}) ORDER BY name"
    );
    connection.query_rows(&sql, |row| {
        let name = row.column_text(0)?.to_owned();
        let origin = row.column_text(2)?;
        Ok(Index {
            columns: index_columns(connection, &literal(&name))?,
            unique: row.column_i64(1) == 1,
            created: origin == "c",
            is_key: origin == "pk",
            partial: row.column_i64(3) == 1,
            name,
        })
    })
}

/// Returns the columns of an index; `None` for an expression.
fn index_columns(
    connection: &Connection,
    index: &str,
) -> Result<Vec<Option<IndexColumn>>, EngineError> {
    let sql = format!(
        "SELECT name, desc, coll FROM pragma_index_xinfo({index}) WHERE key = 1 ORDER BY seqno"
    );
    connection.query_rows(&sql, |row| {
        if row.column_is_null(0) {
            return Ok(None);
        }
        Ok(Some(IndexColumn {
            name: row.column_text(0)?.to_owned(),
            descending: row.column_i64(1) == 1,
            collation: row.column_text(2)?.to_owned(),
        }))
    })
}

fn foreign_keys(connection: &Connection, table: &str) -> Result<Vec<ForeignKey>, EngineError> {
    let sql = format!(
        "SELECT id, \"table\", \"from\" FROM pragma_foreign_key_list({table}) ORDER BY id, seq"
    );
    let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
    connection.for_each_row(&sql, |row| {
        let (id, parent) = (row.column_i64(0), row.column_text(1)?.to_owned());
        let column = row.column_text(2)?.to_owned();
        match keys.last_mut().filter(|(known, _)| *known == id) {
            Some((_, key)) => key.columns.push(column),
            None => keys.push((id, ForeignKey { parent, columns: vec![column] })),
        }
        Ok(())
    })?;
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
    connection.query_rows(
        "SELECT name, count(*), sum(pgsize), sum(unused), sum(payload), sum(gap), \
         sum(iif(pagetype = 'leaf', ncell, 0)), sum(iif(pagetype = 'overflow', 0, ncell)) \
         FROM (SELECT *, pageno <> 1 + lag(pageno, 1, pageno - 1) OVER (PARTITION BY name ORDER BY path) AS gap \
         FROM dbstat('main')) GROUP BY name ORDER BY sum(pgsize) DESC, name",
        |row| {
            Ok(Space {
                name: row.column_text(0)?.to_owned(),
                pages: row.column_i64(1),
                bytes: row.column_i64(2),
                unused_bytes: row.column_i64(3),
                payload_bytes: row.column_i64(4),
                out_of_order: row.column_i64(5),
                leaf_cells: row.column_i64(6),
                cells: row.column_i64(7),
            })
        },
    )
}
