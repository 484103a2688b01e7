//! Full-text indexes over columns of the table: FTS5 with the table as its external content
//! (<https://sqlite.org/fts5.html#external_content_tables>), so that no text is stored twice. Such an index
//! does not notice that the table changes, so what is there already is brought up to date or reported.

mod definition;
mod tokens;

use engine::{Connection, Value};

use crate::error::LoadError;
use crate::feed::{Feed, Phase};
use crate::request::{Mode, Request};
use crate::table::{list, quoted, same};
use crate::target::{object, rowid_alias};
use definition::{VirtualTable, inserts_into};

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
        rebuild(&self.name(table))
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
        if mode == Mode::Replace && is_fts5(connection, &name)? {
            connection.execute(&format!("DROP TABLE {}", quoted(&name)))?;
            return Ok(());
        }
        Err(LoadError::TableExists(name))
    }

    /// Makes and fills it.
    pub(crate) fn make(&self, connection: &Connection, table: &str) -> Result<(), LoadError> {
        let name = quoted(&self.name(table));
        connection.execute(&format!(
            "CREATE VIRTUAL TABLE {name} USING fts5({}, content = {}, content_rowid = {})",
            list(&self.columns),
            quoted(table),
            quoted(&rowid_name(connection, table)?),
        ))?;
        let set = |(option, value): (&str, u32)| {
            connection
                .execute(&format!("INSERT INTO {name}({name}, rank) VALUES ('{option}', {value})"))
        };
        FILLING.into_iter().try_for_each(set)?;
        connection.execute(&self.rebuild(table))?;
        connection.execute(&format!("INSERT INTO {name}({name}) VALUES ('optimize')"))?;
        USUAL.into_iter().try_for_each(set)?;
        Ok(())
    }

    /// Checks that it says what the table says.
    pub(crate) fn check(&self, connection: &Connection, table: &str) -> Result<(), LoadError> {
        let name = quoted(&self.name(table));
        connection
            .execute(&format!("INSERT INTO {name}({name}, rank) VALUES ('integrity-check', 1)"))
            .map_err(|error| LoadError::Check(format!("the full-text index: {error}")))
    }
}

/// How a new index is filled: a hash table that stays in the processor's cache, and no merging of what it gives
/// until all is there, so that each entry is merged once or twice, and searches find a single segment.
const FILLING: [(&str, u32); 3] = [("hashsize", 256 << 10), ("automerge", 0), ("crisismerge", 64)];
/// The same options as FTS5 has them by itself, for what is changed later.
const USUAL: [(&str, u32); 3] = [("hashsize", 1 << 20), ("automerge", 4), ("crisismerge", 16)];

/// The statement that brings a full-text index up to date with its table.
pub fn rebuild(index: &str) -> String {
    let name = quoted(index);
    format!("INSERT INTO {name}({name}) VALUES ('rebuild')")
}

/// The names by which SQL knows the rowid, as far as no column has them.
const ROWID: [&str; 3] = ["rowid", "_rowid_", "oid"];

/// A name of the rowid of a table.
///
/// # Errors
/// It has none: columns have all of them, and none is the rowid.
fn rowid_name(connection: &Connection, table: &str) -> Result<String, LoadError> {
    let columns = columns(connection, table)?;
    let is_free = |name: &&str| !columns.iter().any(|column| same(column, name));
    if let Some(name) = ROWID.iter().copied().find(is_free) {
        return Ok(name.to_owned());
    }
    rowid_alias(connection, table)?.ok_or_else(|| {
        LoadError::Definition(format!(
            "a full-text index cannot refer to the rows of {table}: {}, {} and {} are all columns; \
             make an INTEGER column the primary key",
            ROWID[0], ROWID[1], ROWID[2]
        ))
    })
}

/// The names of the columns of a table.
fn columns(connection: &Connection, table: &str) -> Result<Vec<String>, LoadError> {
    let mut names = Vec::new();
    connection.for_each_row(&format!("PRAGMA table_info({})", quoted(table)), |row| {
        names.push(row.column_text(1)?.to_owned());
        Ok(())
    })?;
    Ok(names)
}

/// Checks before any row is loaded that indexes can be filled from the table that has just been made: the
/// one requested, and those that an earlier table of its name has left.
pub(crate) fn check(connection: &Connection, request: &Request) -> Result<(), LoadError> {
    let table = &request.table.name;
    if request.table.full_text.is_some() {
        rowid_name(connection, table)?;
    }
    let known = columns(connection, table)?;
    for index in over(connection, table)? {
        let needed = columns(connection, &index)?;
        let is_known = |name: &&String| known.iter().any(|known| same(known, name));
        let lacks = match needed.iter().find(|name| !is_known(name)) {
            Some(lacking) => format!("no column {lacking}"),
            None if request.table.without_rowid => "no rowids".to_owned(),
            None => continue,
        };
        return Err(LoadError::Definition(format!(
            "the full-text index {index} reads its text from {table}, which is to have {lacks}; \
             drop it first, or recreate it with --fts"
        )));
    }
    Ok(())
}

/// What became of the full-text indexes that were there.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Filled again from the new table.
    pub(crate) rebuilt: Vec<String>,
    /// Lacking the rows that were appended.
    pub(crate) stale: Vec<String>,
}

/// Makes the index requested, and sees to those that are there already.
pub(crate) fn fill(
    connection: &Connection,
    request: &Request,
    feed: &mut Feed<'_>,
) -> Result<Kept, LoadError> {
    let table = &request.table.name;
    let there = over(connection, table)?;
    if request.mode == Mode::Append {
        let mut stale = Vec::new();
        for index in there {
            if !is_kept_up(connection, table, &index)? {
                stale.push(index);
            }
        }
        return Ok(Kept { rebuilt: Vec::new(), stale });
    }
    for index in &there {
        feed.tell(Phase::FullText)?;
        connection.execute(&rebuild(index))?;
    }
    if let Some(full_text) = &request.table.full_text {
        feed.tell(Phase::FullText)?;
        full_text.make(connection, table)?;
    }
    Ok(Kept { rebuilt: there, stale: Vec::new() })
}

/// Whether a trigger inserts into an index what is inserted into the table.
fn is_kept_up(connection: &Connection, table: &str, index: &str) -> Result<bool, LoadError> {
    let sql = "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'trigger'";
    Ok(pairs(connection, sql)?.iter().any(|(of, sql)| same(of, table) && inserts_into(sql, index)))
}

/// The full-text indexes that read their text from this table.
///
/// # Errors
/// The definition of a table that may be one has an unknown form.
fn over(connection: &Connection, table: &str) -> Result<Vec<String>, LoadError> {
    let mut indexes = Vec::new();
    for (name, sql) in virtual_tables(connection)? {
        let definition = VirtualTable::of(&sql).ok_or_else(|| {
            LoadError::Definition(format!(
                "the definition of {name} cannot be understood, which may be a full-text index over {table}; \
                 drop it first, and create it again after the load: {sql}"
            ))
        })?;
        let reads = |content: &String| same(content, table);
        if definition.is_full_text() && definition.content.as_ref().is_some_and(reads) {
            indexes.push(name);
        }
    }
    Ok(indexes)
}

/// Names and definitions of the virtual tables that may be full-text indexes.
fn virtual_tables(connection: &Connection) -> Result<Vec<(String, String)>, LoadError> {
    let sql = "SELECT name, sql FROM sqlite_master WHERE type = 'table' \
               AND sql LIKE 'CREATE VIRTUAL TABLE%USING%fts%' ORDER BY rowid";
    pairs(connection, sql)
}

/// Rows of two texts.
fn pairs(connection: &Connection, sql: &str) -> Result<Vec<(String, String)>, LoadError> {
    let text = |value: Option<&Value>| value.map(ToString::to_string).unwrap_or_default();
    let rows = connection.query_all(sql)?;
    Ok(rows.iter().map(|row| (text(row.first()), text(row.get(1)))).collect())
}

/// Whether a table is an index of FTS5.
fn is_fts5(connection: &Connection, name: &str) -> Result<bool, LoadError> {
    let is_index = |(known, sql): &(String, String)| {
        same(known, name) && VirtualTable::of(sql).is_some_and(|definition| definition.is_fts5())
    };
    Ok(virtual_tables(connection)?.iter().any(is_index))
}
