//! A full-text index over columns of the table: FTS5 with the table as its external content
//! (<https://sqlite.org/fts5.html#external_content_tables>), so that no text is stored twice.

use engine::Connection;

use crate::error::LoadError;
use crate::request::Mode;
use crate::table::{list, quoted};
use crate::target::object;

/// A full-text index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullText {
    /// The columns that can be searched.
    pub columns: Vec<String>,
    /// Its name; `TABLE_fts` where none is given.
    pub name: Option<String>,
}

impl FullText {
    /// The name it gets.
    pub fn name(&self, table: &str) -> String {
        self.name.clone().unwrap_or_else(|| format!("{table}_fts"))
    }

    /// The statement that brings it up to date with the table.
    pub fn rebuild(&self, table: &str) -> String {
        let name = quoted(&self.name(table));
        format!("INSERT INTO {name}({name}) VALUES ('rebuild')")
    }

    /// Checks that nothing is in its place; where the table is replaced, so is an index of that name.
    pub(crate) fn make_room(
        &self,
        connection: &Connection,
        table: &str,
        mode: Mode,
    ) -> Result<(), LoadError> {
        let name = self.name(table);
        if object(connection, &name)?.is_none() {
            return Ok(());
        }
        if mode == Mode::Replace && is_full_text(connection, &name)? {
            connection.execute(&format!("DROP TABLE {}", quoted(&name)))?;
            return Ok(());
        }
        Err(LoadError::TableExists(name))
    }

    /// Makes and fills it.
    pub(crate) fn make(&self, connection: &Connection, table: &str) -> Result<(), LoadError> {
        let name = quoted(&self.name(table));
        connection.execute(&format!(
            "CREATE VIRTUAL TABLE {name} USING fts5({}, content = {}); {}",
            list(&self.columns),
            quoted(table),
            self.rebuild(table),
        ))?;
        Ok(())
    }

    /// Checks that it says what the table says.
    pub(crate) fn check(&self, connection: &Connection, table: &str) -> Result<(), LoadError> {
        let name = quoted(&self.name(table));
        connection
            .execute(&format!(
                "INSERT INTO {name}({name}, rank) VALUES ('integrity-check', 1)"
            ))
            .map_err(|error| LoadError::Check(format!("the full-text index: {error}")))
    }
}

/// Whether a table is a full-text index.
fn is_full_text(connection: &Connection, name: &str) -> Result<bool, LoadError> {
    let sql = format!(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND lower(name) = lower('{}') \
         AND sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'",
        name.replace('\'', "''")
    );
    Ok(connection.query_i64(&sql)? > 0)
}
