//! Tables and indexes of the user.
//!
//! Space by table and index, from the virtual table dbstat, which reads every page.

use engine::schema::Schema;
use engine::{Connection, EngineError};
use serde::Serialize;

/// Returns the tables, without virtual ones and their parts, and their indexes, by name.
///
/// # Errors
/// The schema is damaged.
pub(super) fn read(connection: &Connection) -> Result<Schema, EngineError> {
    let mut schema = Schema::read(connection)?;
    schema.tables.retain(|table| !table.is_shadow);
    schema.tables.sort_by(|one, other| one.name.cmp(&other.name));
    for table in &mut schema.tables {
        table.indexes.sort_by(|one, other| one.name.cmp(&other.name));
    }
    Ok(schema)
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
