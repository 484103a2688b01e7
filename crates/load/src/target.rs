//! The table in the database: made, replaced or found, and what columns it has.

use engine::{Connection, EngineError, Step, Value};

use crate::affinity::Affinity;
use crate::error::LoadError;
use crate::full_text;
use crate::indexes;
use crate::request::{Mode, Request};
use crate::source::SourceInfo;
use crate::table::{quoted, same};

/// A column of the table that is loaded into, in the order of the source's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TargetColumn {
    pub(crate) name: String,
    pub(crate) declared: String,
    pub(crate) affinity: Affinity,
    pub(crate) not_null: bool,
}

/// The table that is loaded into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) table: String,
    pub(crate) columns: Vec<TargetColumn>,
    pub(crate) strict: bool,
    /// Which of the columns is the rowid by another name.
    pub(crate) rowid_alias: Option<usize>,
}

impl Target {
    /// Makes or finds the table as the request says, within the transaction that is open.
    pub(crate) fn prepare(
        connection: &Connection,
        request: &Request,
        info: &SourceInfo,
    ) -> Result<Target, LoadError> {
        let table = &request.table;
        let existing = object(connection, &table.name)?;
        match (request.mode, &existing) {
            (Mode::Create, Some(_)) => Err(LoadError::TableExists(table.name.clone())),
            (Mode::Append, None) => Err(LoadError::NoTable(table.name.clone())),
            (Mode::Append, Some(_)) => Target::find(connection, &table.name, info),
            (Mode::Create, None) | (Mode::Replace, _) => {
                let columns = table.columns(&info.columns)?;
                if let Some(kind) = existing {
                    if request.foreign_keys && is_referred_to(connection, &table.name)? {
                        // Other rows' keys are checked at the end, when the new rows are there.
                        connection.execute("PRAGMA defer_foreign_keys = ON")?;
                    }
                    connection.execute(&format!("DROP {kind} {}", quoted(&table.name)))?;
                }
                if let Some(full_text) = &table.full_text {
                    full_text.make_room(connection, &table.name, request.mode)?;
                }
                connection.execute(&table.create(&columns))?;
                full_text::check(connection, request)?;
                indexes::make(connection, table, |index| request.is_made_before(index))?;
                Target::find(connection, &table.name, info)
            }
        }
    }

    /// Reads what columns the table has.
    fn find(connection: &Connection, table: &str, info: &SourceInfo) -> Result<Target, LoadError> {
        let list = format!("PRAGMA main.table_list({})", quoted(table));
        let strict = any_is_strict(connection, &list);
        let known = columns(connection, table, strict)?;
        let columns = match info.is_named {
            true => by_name(table, known, info),
            false => by_position(table, known, info),
        };
        let alias = rowid_alias(connection, table)?;
        let columns = columns?;
        Ok(Target {
            table: table.to_owned(),
            rowid_alias: alias
                .and_then(|alias| columns.iter().position(|column| column.name == alias)),
            columns,
            strict,
        })
    }

    pub(crate) fn affinities(&self) -> Vec<Affinity> {
        self.columns.iter().map(|column| column.affinity).collect()
    }
}

/// Whether rows of other tables refer to those of a table that refers to none itself: then a missing row is one of
/// this table, and no row of the input is to blame.
pub(crate) fn is_referred_to(connection: &Connection, table: &str) -> Result<bool, EngineError> {
    let own = format!("PRAGMA main.foreign_key_list({})", quoted(table));
    if !connection.query_all(&own)?.is_empty() {
        return Ok(false);
    }
    let mut query = connection.prepare(
        "SELECT 1 FROM main.sqlite_schema AS other, pragma_foreign_key_list(other.name, 'main') AS key \
         WHERE other.type = 'table' AND key.\"table\" = ?1 COLLATE NOCASE",
    )?;
    query.bind_text(1, table)?;
    Ok(query.step()? == Step::Row)
}

/// The columns of a table that have the names of a source's.
fn by_name(
    table: &str,
    known: Vec<TargetColumn>,
    info: &SourceInfo,
) -> Result<Vec<TargetColumn>, LoadError> {
    let find = |name: &String| {
        let column = known.iter().find(|known| same(&known.name, name)).cloned();
        column.ok_or_else(|| LoadError::NoColumn {
            table: table.to_owned(),
            column: name.clone(),
            known: known.iter().map(|known| known.name.clone()).collect(),
        })
    };
    info.columns.iter().map(|column| find(&column.name)).collect()
}

/// All columns of a table, for a source of as many that have no names.
fn by_position(
    table: &str,
    known: Vec<TargetColumn>,
    info: &SourceInfo,
) -> Result<Vec<TargetColumn>, LoadError> {
    let count = info.columns.len();
    let names = |known: &[TargetColumn]| {
        let names: Vec<&str> = known.iter().map(|column| &*column.name).collect();
        names.join(", ")
    };
    match known.len() == count {
        true => Ok(known),
        false => Err(LoadError::Definition(format!(
            "{} has {count} columns without names; {table} has {}: {}",
            info.name,
            known.len(),
            names(&known)
        ))),
    }
}

/// Whether there is a table or view of this name: its kind.
pub(crate) fn object(connection: &Connection, name: &str) -> Result<Option<String>, EngineError> {
    let mut query = connection.prepare(
        "SELECT type FROM sqlite_master WHERE lower(name) = lower(?1) AND type IN ('table', 'view')",
    )?;
    query.bind_text(1, name)?;
    Ok(match query.step()? {
        Step::Row => Some(query.column_text(0)?.to_owned()),
        Step::Done => None,
    })
}

/// Whether any of the tables that `PRAGMA main.table_list` gives for this SQL is STRICT; engines before
/// 3.37 have neither such tables nor the PRAGMA.
pub(crate) fn any_is_strict(connection: &Connection, table_list: &str) -> bool {
    let is_strict = |table: &Vec<Value>| table.get(5) == Some(&Value::Integer(1));
    let tables = connection.query_all(table_list);
    tables.is_ok_and(|tables| tables.iter().any(is_strict))
}

/// The column that is the rowid by another name: the only one of the primary key, declared `INTEGER`,
/// in a table that keeps no index for that key (<https://sqlite.org/lang_createtable.html#rowid>).
pub(crate) fn rowid_alias(
    connection: &Connection,
    table: &str,
) -> Result<Option<String>, EngineError> {
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

/// The columns into which can be inserted: not the generated ones.
fn columns(
    connection: &Connection,
    table: &str,
    strict: bool,
) -> Result<Vec<TargetColumn>, EngineError> {
    let mut columns = Vec::new();
    let sql = format!("PRAGMA table_xinfo({})", quoted(table));
    connection.for_each_row(&sql, |row| {
        if row.column_i64(6) == 0 {
            let declared = row.column_text(2).unwrap_or_default().to_owned();
            columns.push(TargetColumn {
                name: row.column_text(1)?.to_owned(),
                affinity: if strict {
                    Affinity::of_strict(&declared)
                } else {
                    Affinity::of(&declared)
                },
                declared,
                not_null: row.column_i64(3) != 0,
            });
        }
        Ok(())
    })?;
    Ok(columns)
}
