//! The table in the database and its indexes: made, replaced or found.

use engine::{Connection, SqliteError, Step, ffi};

use crate::affinity::Affinity;
use crate::as_text::{self, AsText};
use crate::error::{LoadError, Result};
use crate::full_text;
use crate::request::{Mode, Request};
use crate::schema::{any_is_strict, object, rowid_alias, texts};
use crate::source::SourceInfo;
use crate::sql::{list, quoted, same};
use crate::table::{Index, Table};

/// A column of the table that is loaded into, in the order of the source's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TargetColumn {
    pub(crate) name: String,
    pub(crate) declared: String,
    pub(crate) affinity: Affinity,
    pub(crate) not_null: bool,
    /// How the texts of the input were written, if the SQL of the table says so.
    pub(crate) written: Option<AsText>,
}

/// The table that is loaded into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) table: String,
    pub(crate) columns: Vec<TargetColumn>,
    pub(crate) strict: bool,
    /// The column that is an alias of the rowid.
    pub(crate) rowid_alias: Option<usize>,
    /// Columns that the table did not have.
    pub(crate) added: Vec<String>,
    /// Triggers to be made after the rows.
    pub(crate) triggers: Vec<String>,
}

impl Target {
    /// Creates or finds the table as the request says, within the open transaction.
    pub(crate) fn prepare(
        connection: &Connection,
        request: &Request,
        info: &SourceInfo,
    ) -> Result<Target> {
        let table = &request.table;
        let existing = object(connection, &table.name)?;
        match (request.mode, &existing) {
            (Mode::Create, Some(_)) => Err(LoadError::TableExists(table.name.clone())),
            (Mode::Append, None) => Err(LoadError::NoTable(table.name.clone())),
            (Mode::Append, Some(_)) => {
                let is_wanted = request.adds_columns && info.is_named;
                let added =
                    if is_wanted { add_columns(connection, table, info)? } else { Vec::new() };
                Ok(Target { added, ..Target::find(connection, table, info)? })
            }
            (Mode::Create, None) | (Mode::Replace, _) => {
                let sql = match &table.sql {
                    Some(sql) => sql.clone(),
                    None => table.create(&table.columns(&info.columns)?),
                };
                let mut dependants = Vec::new();
                if let Some(kind) = existing {
                    dependants = find_dependants(connection, request, info)?;
                    if request.foreign_keys && is_referred_to(connection, &table.name)? {
                        // Other rows' keys are checked at the end, when the new rows are there.
                        connection.execute("PRAGMA defer_foreign_keys = ON")?;
                    }
                    connection.execute(&format!("DROP {kind} {}", quoted(&table.name)))?;
                }
                if let Some(full_text) = &table.full_text {
                    full_text.make_room(connection, &table.name, request.mode)?;
                }
                connection.execute(&sql)?;
                full_text::check(connection, request)?;
                make_indexes(connection, table, |index| request.is_made_before(index))?;
                let (triggers, indexes): (Vec<_>, Vec<_>) =
                    dependants.into_iter().partition(|(kind, _)| kind == "trigger");
                for (_, sql) in indexes {
                    connection.execute(&sql)?;
                }
                let triggers = triggers.into_iter().map(|(_, sql)| sql).collect();
                Ok(Target { triggers, ..Target::find(connection, table, info)? })
            }
        }
    }

    /// Reads the columns of the table.
    fn find(connection: &Connection, table: &Table, info: &SourceInfo) -> Result<Target> {
        let strict = is_strict(connection, &table.name);
        let mut known = columns(connection, &table.name, strict)?;
        let written = as_text::read(table.sql.as_deref().unwrap_or_default());
        known.iter_mut().zip(written).for_each(|(column, written)| column.written = written);
        let table = &*table.name;
        let columns = if info.is_named {
            by_name(connection, table, known, info)
        } else {
            by_position(table, known, info)
        };
        let alias = rowid_alias(connection, table)?;
        let columns = columns?;
        Ok(Target {
            table: table.to_owned(),
            rowid_alias: alias
                .and_then(|alias| columns.iter().position(|column| column.name == alias)),
            columns,
            strict,
            added: Vec::new(),
            triggers: Vec::new(),
        })
    }
}

fn is_strict(connection: &Connection, table: &str) -> bool {
    any_is_strict(connection, &format!("PRAGMA main.table_list({})", quoted(table)))
}

/// Adds the columns of the source that the table lacks, and returns their names.
fn add_columns(connection: &Connection, table: &Table, info: &SourceInfo) -> Result<Vec<String>> {
    let strict = is_strict(connection, &table.name);
    let known = columns(connection, &table.name, strict)?;
    let mut added = Vec::new();
    for column in (Table { strict, ..table.clone() }).columns(&info.columns)? {
        if !known.iter().any(|known| same(&known.name, &column.name)) {
            let (name, declared) = (column.name, column.declared);
            let (table, quoted_name) = (quoted(&table.name), quoted(&name));
            connection
                .execute(&format!("ALTER TABLE {table} ADD COLUMN {quoted_name} {declared}"))?;
            info.notes
                .fact(format!("columns: {name} {declared} was added; earlier rows have NULL"));
            added.push(name);
        }
    }
    Ok(added)
}

/// Returns the indexes and triggers of a table that is replaced, each with its kind and SQL, if they are kept; notes what
/// becomes of them.
fn find_dependants(
    connection: &Connection,
    request: &Request,
    info: &SourceInfo,
) -> Result<Vec<(String, String)>> {
    let mut query = connection.prepare(
        "SELECT type, name, sql FROM main.sqlite_schema WHERE lower(tbl_name) = lower(?1) \
         AND type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY type, name",
    )?;
    query.bind_text(1, &request.table.name)?;
    let (mut found, mut names) = (Vec::new(), Vec::new());
    while query.step()? == Step::Row {
        let kind = query.column_text(0)?.to_owned();
        names.push(format!("{kind} {}", query.column_text(1)?));
        found.push((kind, query.column_text(2)?.to_owned()));
    }
    let names = names.join(", ");
    match (names.is_empty(), request.keeps_indexes) {
        (true, _) => {}
        (false, true) => info.notes.fact(format!("kept: {names}")),
        (false, false) => {
            found.clear();
            info.notes.fact(format!("dropped: {names}; --replace=keep-indexes keeps them"));
        }
    }
    Ok(found)
}

/// Returns whether rows of other tables refer to rows of a table that refers to none itself: then a missing row belongs to
/// this table, and no row of the input is at fault.
pub(crate) fn is_referred_to(connection: &Connection, table: &str) -> Result<bool> {
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

/// Returns the columns of a table that have the names of a source's.
fn by_name(
    connection: &Connection,
    table: &str,
    known: Vec<TargetColumn>,
    info: &SourceInfo,
) -> Result<Vec<TargetColumn>> {
    let all = texts(connection, &format!("PRAGMA table_xinfo({})", quoted(table)), 1)?;
    let find = |(name, number): (&String, usize)| {
        let called = |name: &String| known.iter().find(|known| same(&known.name, name));
        // The names in a header lose the blanks around them.
        let trimmed = || known.iter().find(|known| same(known.name.trim(), name));
        // A header cannot have an empty name.
        let nameless = || {
            known.iter().find(|known| *name == format!("column{number}") && known.name.is_empty())
        };
        let column = called(name).or_else(trimmed).or_else(nameless).cloned();
        column.ok_or_else(|| {
            if all.iter().any(|column| same(column, name)) {
                let reason =
                    format!("{table} computes its column {name}; leave it out with --select");
                return LoadError::Definition(reason);
            }
            let known: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
            let known = known.join(", ");
            LoadError::NoColumn(format!("table {table} has no column {name}; it has {known}"))
        })
    };
    info.columns.iter().map(|column| &column.name).zip(1..).map(find).collect()
}

/// Returns all columns of a table, for a source with the same number of columns without names.
fn by_position(
    table: &str,
    known: Vec<TargetColumn>,
    info: &SourceInfo,
) -> Result<Vec<TargetColumn>> {
    let count = info.columns.len();
    if known.len() == count {
        return Ok(known);
    }
    let names: Vec<&str> = known.iter().map(|column| &*column.name).collect();
    let choice =
        if count > known.len() { "; choose columns with --select column1,column2" } else { "" };
    Err(LoadError::Definition(format!(
        "{} has {count} columns without names; {table} has {}: {}{choice}",
        info.name,
        names.len(),
        names.join(", ")
    )))
}

/// Returns the columns into which can be inserted: not the generated ones.
fn columns(connection: &Connection, table: &str, strict: bool) -> Result<Vec<TargetColumn>> {
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
                written: None,
            });
        }
        Ok(())
    })?;
    Ok(columns)
}

/// Makes the indexes that `which` chooses, and returns their names.
///
/// # Errors
/// Rows have the same values where an index is to be unique.
pub(crate) fn make_indexes(
    connection: &Connection,
    table: &Table,
    which: impl Fn(&Index) -> bool,
) -> Result<Vec<String>> {
    let indexes = table.indexes.iter().filter(|index| which(index));
    indexes.map(|index| make_index(connection, table, index)).collect()
}

fn make_index(connection: &Connection, table: &Table, index: &Index) -> Result<String> {
    let name = free_name(connection, &index.name(&table.name))?;
    let sql = format!(
        "CREATE {}INDEX {} ON {} ({})",
        if index.unique { "UNIQUE " } else { "" },
        quoted(&name),
        quoted(&table.name),
        list(&index.columns)
    );
    match connection.execute(&sql) {
        Ok(()) => Ok(name),
        Err(error) => {
            let code = error.as_sqlite().map(SqliteError::primary);
            let may_be_duplicate = index.unique && code == Some(ffi::SQLITE_CONSTRAINT);
            let known = if may_be_duplicate { duplicate(connection, table, index)? } else { None };
            Err(known.unwrap_or(error.into()))
        }
    }
}

/// Returns this name, with a number if it is taken: columns `a` and `b` give the same name as a column
/// `a_b`.
fn free_name(connection: &Connection, wanted: &str) -> Result<String> {
    let taken = texts(connection, "SELECT name FROM sqlite_master", 0)?;
    let is_free = |name: &String| !taken.iter().any(|taken| same(taken, name));
    let numbered = (2_u64..).map(|number| format!("{wanted}_{number}"));
    Ok(std::iter::once(wanted.to_owned()).chain(numbered).find(is_free).unwrap_or_default())
}

/// Returns the error of values that two rows have.
fn duplicate(connection: &Connection, table: &Table, index: &Index) -> Result<Option<LoadError>> {
    let columns = list(&index.columns);
    let not_null = index.columns.iter();
    let not_null: Vec<String> =
        not_null.map(|name| format!("{} IS NOT NULL", quoted(name))).collect();
    let literals = index.columns.iter().map(|name| format!("quote({})", quoted(name)));
    let sql = format!(
        "SELECT {} FROM {} WHERE {} GROUP BY {columns} HAVING count(*) > 1 LIMIT 1",
        literals.collect::<Vec<_>>().join(" || ', ' || "),
        quoted(&table.name),
        not_null.join(" AND "),
    );
    let mut query = connection.prepare(&sql)?;
    Ok(match query.step()? {
        Step::Done => None,
        Step::Row => Some(LoadError::Duplicate {
            input: String::new(),
            columns: called(table, index),
            values: query.column_text(0)?.to_owned(),
            rowids: None,
            rows: None,
        }),
    })
}

/// Returns the columns as SQLite's messages name them.
fn called(table: &Table, index: &Index) -> String {
    let columns = index.columns.iter();
    let columns: Vec<String> = columns.map(|name| format!("{}.{name}", table.name)).collect();
    columns.join(", ")
}
