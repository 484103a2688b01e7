//! Other forms of tables as a change of the application: WITHOUT ROWID and STRICT, where the rows of a copy allow them.

use engine::{Connection, EngineError};
use lab::level::Level;
use lab::tuning::Advice;

use super::indexes::{texts, words};
use crate::examination::quoted;

/// The name of a table while it is rebuilt.
const REBUILT: &str = "pragmark_rebuilt";

/// A form of tables.
struct Form {
    /// What ends the statement that creates such a table.
    option: &'static str,
    /// Names and statements of the tables that could have it, but for their rows.
    tables: &'static str,
}

/// A table whose rows are stored by a primary key of its own, and one whose columns have the types that STRICT knows. A
/// statement that ends in another way has an option already.
const FORMS: [Form; 2] = [
    Form {
        option: "WITHOUT ROWID",
        tables: "SELECT t.name, t.sql FROM sqlite_schema AS t WHERE t.type = 'table' AND t.sql LIKE 'CREATE TABLE %)'
            AND EXISTS (SELECT 1 FROM pragma_index_list(t.name) AS i WHERE i.origin = 'pk') ORDER BY t.name",
    },
    Form {
        option: "STRICT",
        tables: "SELECT t.name, t.sql FROM sqlite_schema AS t WHERE t.type = 'table' AND t.sql LIKE 'CREATE TABLE %)'
            AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name) AS c
                WHERE upper(c.type) NOT IN ('INT', 'INTEGER', 'REAL', 'TEXT', 'BLOB', 'ANY')) ORDER BY t.name",
    },
];

/// The tables that the statements name in another form, all of them in one change for each form. Nothing where triggers or
/// views depend on tables, since rebuilding a table would change them.
pub(super) fn forms(
    connection: &Connection,
    statements: &[String],
) -> Result<Vec<Advice>, EngineError> {
    let dependent = "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')";
    if connection.query_i64(dependent)? > 0 {
        return Ok(Vec::new());
    }
    let all = FORMS
        .iter()
        .map(|form| advice(connection, statements, form));
    let all: Result<Vec<Option<Advice>>, EngineError> = all.collect();
    Ok(all?.into_iter().flatten().collect())
}

fn advice(
    connection: &Connection,
    statements: &[String],
    form: &Form,
) -> Result<Option<Advice>, EngineError> {
    let (mut names, mut rebuilding) = (Vec::new(), Vec::new());
    for [name, sql] in texts(connection, form.tables)? {
        let is_named = |it: &String| words(it).contains(&name.to_lowercase());
        if !statements.iter().any(is_named) {
            continue;
        }
        let Some(sql) = rebuilt(connection, &name, &sql, form.option)? else {
            continue;
        };
        if is_possible(connection, &sql)? {
            names.push(name);
            rebuilding.push(sql);
        }
    }
    Ok((!names.is_empty()).then(|| Advice {
        change: format!("{} for {}", form.option, names.join(", ")),
        settings: [(
            "schema_change".to_owned(),
            Level::Text(rebuilding.join(" ")),
        )]
        .into(),
        sql: Some(rebuilding.join("\n")),
    }))
}

/// The statements that rebuild a table with an option, with its indexes; none where its statement has no columns in
/// parentheses.
fn rebuilt(
    connection: &Connection,
    name: &str,
    sql: &str,
    option: &str,
) -> Result<Option<String>, EngineError> {
    let Some(columns) = sql.find('(').map(|at| &sql[at..]) else {
        return Ok(None);
    };
    let (own, new) = (quoted(name), quoted(REBUILT));
    let indexes =
        "SELECT tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL";
    let indexes = texts(connection, indexes)?.into_iter();
    let indexes = indexes.filter(|[table, _]| table == name);
    let indexes: Vec<String> = indexes.map(|[_, sql]| format!(" {sql};")).collect();
    Ok(Some(format!(
        "CREATE TABLE {new} {columns} {option}; INSERT INTO {new} SELECT * FROM {own}; DROP TABLE {own}; ALTER TABLE {new} RENAME TO {own};{}",
        indexes.concat()
    )))
}

/// Whether the rows and the schema allow it: tried, and taken back.
fn is_possible(connection: &Connection, sql: &str) -> Result<bool, EngineError> {
    connection.execute("SAVEPOINT form")?;
    let tried = connection.execute(sql);
    connection.execute("ROLLBACK TO form; RELEASE form")?;
    Ok(tried.is_ok())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engine::{Library, OpenFlags, Source};

    use super::*;

    fn changes(schema: &str) -> Vec<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let path = folder.path().join("app.db");
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        connection.execute(schema).unwrap();
        let statements = ["SELECT * FROM word WHERE name = ?".to_owned()];
        let all = forms(&connection, &statements).unwrap();
        for advice in &all {
            // What is proposed can be carried out, and keeps rows and indexes.
            connection
                .execute(&format!("SAVEPOINT a; {}", advice.sql.as_ref().unwrap()))
                .unwrap();
            assert_eq!(
                connection.query_i64("SELECT count(*) FROM word").unwrap(),
                2
            );
            let indexes = "SELECT count(*) FROM sqlite_schema WHERE name = 'by_n'";
            assert_eq!(connection.query_i64(indexes).unwrap(), 1);
            connection.execute("ROLLBACK TO a; RELEASE a").unwrap();
        }
        let all = all.into_iter();
        all.map(|it| (it.change, it.sql.unwrap())).collect()
    }

    const ROWS: &str = "INSERT INTO word VALUES ('a', 1), ('b', 2); CREATE INDEX by_n ON word(n);";

    #[test]
    fn a_table_gets_the_forms_that_its_rows_and_columns_allow() {
        let both = changes(&format!(
            "CREATE TABLE word(name TEXT PRIMARY KEY, n INTEGER); {ROWS}"
        ));
        let names: Vec<&str> = both.iter().map(|(change, _)| change.as_str()).collect();
        assert_eq!(names, ["WITHOUT ROWID for word", "STRICT for word"]);
        let typed = changes(&format!(
            "CREATE TABLE word(name VARCHAR(9), n INTEGER); {ROWS}"
        ));
        assert!(typed.is_empty(), "{typed:?}");
        let wrong = format!("CREATE TABLE word(name INTEGER, n INTEGER); {ROWS}");
        assert!(changes(&wrong).is_empty(), "text in a column of numbers");
        let null = "INSERT INTO word VALUES (NULL, 1), ('b', 2); CREATE INDEX by_n ON word(n);";
        let null = changes(&format!(
            "CREATE TABLE word(name TEXT PRIMARY KEY, n INTEGER); {null}"
        ));
        assert!(null.is_empty(), "a key that is NULL: {null:?}");
    }

    #[test]
    fn nothing_is_rebuilt_on_which_a_view_or_a_trigger_depends() {
        let schema = "CREATE TABLE word(name TEXT PRIMARY KEY, n INTEGER); CREATE VIEW v AS SELECT n FROM word;";
        assert!(changes(&format!("{schema} {ROWS}")).is_empty());
    }
}
