//! Making indexes: under names that are free, and with the values to blame where one cannot be unique.

use engine::{Connection, EngineError, ErrorKind, Step};

use crate::error::LoadError;
use crate::table::{Index, Table, list, quoted, same};

/// Makes the indexes of which `which` is true, and returns their names.
///
/// # Errors
/// Rows have the same values where an index is to be unique.
pub(crate) fn make(
    connection: &Connection,
    table: &Table,
    which: impl Fn(&Index) -> bool,
) -> Result<Vec<String>, LoadError> {
    let indexes = table.indexes.iter().filter(|index| which(index));
    indexes.map(|index| make_one(connection, table, index)).collect()
}

fn make_one(connection: &Connection, table: &Table, index: &Index) -> Result<String, LoadError> {
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
        Err(error) if index.unique && is_constraint(&error) => {
            Err(duplicate(connection, table, index)?.unwrap_or(error.into()))
        }
        Err(error) => Err(error.into()),
    }
}

fn is_constraint(error: &EngineError) -> bool {
    let sqlite = error.as_sqlite();
    sqlite.is_some_and(|error| error.kind() == ErrorKind::Constraint)
}

/// This name, with a number if something has it: two columns `a` and `b` make the same name as one column
/// `a_b`.
fn free_name(connection: &Connection, wanted: &str) -> Result<String, EngineError> {
    let mut taken = Vec::new();
    connection.for_each_row("SELECT name FROM sqlite_master", |row| {
        taken.push(row.column_text(0)?.to_owned());
        Ok(())
    })?;
    let is_free = |name: &String| !taken.iter().any(|taken| same(taken, name));
    let numbered = (2_u64..).map(|number| format!("{wanted}_{number}"));
    let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
    Ok(names.find(is_free).unwrap_or_default())
}

/// The error of values that two rows have.
fn duplicate(
    connection: &Connection,
    table: &Table,
    index: &Index,
) -> Result<Option<LoadError>, EngineError> {
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
        Step::Row => Some(LoadError::DuplicateKey {
            input: String::new(),
            columns: called(table, index),
            values: query.column_text(0)?.to_owned(),
        }),
    })
}

/// The columns as SQLite's messages name them.
fn called(table: &Table, index: &Index) -> String {
    let columns = index.columns.iter();
    let columns: Vec<String> = columns.map(|name| format!("{}.{name}", table.name)).collect();
    columns.join(", ")
}
