//! Other forms of tables as a change of the application: WITHOUT ROWID and STRICT, where the rows of a copy allow them.

use engine::{Connection, EngineError};
use lab::level::Level;
use lab::tuning_plan::Advice;

use super::{texts, words};
use script::effect::quoted;

/// The name of a table while it is rebuilt.
const REBUILT: &str = "pragmark_rebuilt";

/// Statements before those that rebuild the user's tables, by SQLite's procedure
/// (<https://sqlite.org/lang_altertable.html#otheralter>). With foreign keys enforced, DROP TABLE deletes the rows of a
/// table and the rows of other tables that refer to it. Without the transaction, writes of other connections in between
/// would be lost.
const BEFORE: &str =
    "-- Carry it out as a file that stops at the first error: sqlite3 -bail app.db < rebuild.sql
PRAGMA foreign_keys = OFF;
BEGIN IMMEDIATE;";

/// Statements after them.
const AFTER: &str = "-- Each row that this returns breaks a foreign key.
PRAGMA foreign_key_check;
COMMIT;
PRAGMA foreign_keys = ON;";

/// A form of tables.
struct Form {
    /// End of the statement that creates such a table.
    option: &'static str,
    /// Query for the names and statements of the tables that could have it if their rows allow it.
    tables: &'static str,
}

/// A table whose rows are stored by a primary key of its own, and one whose columns have the types that STRICT knows. A
/// statement that ends in another way has an option already. A rebuilt table with AUTOINCREMENT would use keys of deleted rows
/// again.
const FORMS: [Form; 2] = [
    Form {
        option: "WITHOUT ROWID",
        tables: "SELECT t.name, t.sql FROM sqlite_schema AS t WHERE t.type = 'table' AND t.sql LIKE 'CREATE TABLE %)'
            AND t.sql NOT LIKE '%AUTOINCREMENT%'
            AND EXISTS (SELECT 1 FROM pragma_index_list(t.name) AS i WHERE i.origin = 'pk') ORDER BY t.name",
    },
    Form {
        option: "STRICT",
        tables: "SELECT t.name, t.sql FROM sqlite_schema AS t WHERE t.type = 'table' AND t.sql LIKE 'CREATE TABLE %)'
            AND t.sql NOT LIKE '%AUTOINCREMENT%'
            AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name) AS c
                WHERE upper(c.type) NOT IN ('INT', 'INTEGER', 'REAL', 'TEXT', 'BLOB', 'ANY')) ORDER BY t.name",
    },
];

/// Returns the tables that the statements name in another form, all of them in one change for each form. Nothing where
/// triggers or views depend on tables, since rebuilding a table would change them.
pub(super) fn forms(
    connection: &Connection,
    statements: &[String],
) -> Result<Vec<Advice>, EngineError> {
    let dependent = "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')";
    if connection.query_i64(dependent)? > 0 {
        return Ok(Vec::new());
    }
    let all = FORMS.iter().map(|form| advice(connection, statements, form));
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
        let is_named = |sql: &String| words(sql).contains(&name.to_lowercase());
        if !statements.iter().any(is_named) {
            continue;
        }
        let Some(statements) = rebuilt(connection, &name, &sql, form.option)? else { continue };
        if is_possible(connection, &statements.join(" "))? {
            names.push(name);
            rebuilding.extend(statements);
        }
    }
    // The statements as users carry them out on their database.
    Ok((!names.is_empty()).then(|| Advice {
        counted: None,
        change: format!("{} for {}", form.option, names.join(", ")),
        settings: [("schema_change".to_owned(), Level::Text(rebuilding.join(" ")))].into(),
        sql: Some(format!("{BEFORE}\n{}\n{AFTER}", rebuilding.join("\n"))),
    }))
}

/// Returns the statements that rebuild a table with an option, with its indexes, or `None` if its statement has no
/// columns in parentheses.
fn rebuilt(
    connection: &Connection,
    name: &str,
    sql: &str,
    option: &str,
) -> Result<Option<Vec<String>>, EngineError> {
    let Some(columns) = sql.find('(').map(|at| &sql[at..]) else { return Ok(None) };
    let (own, new) = (quoted(name), quoted(REBUILT));
    let indexes =
        "SELECT tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL";
    let indexes = texts(connection, indexes)?.into_iter().filter(|[table, _]| table == name);
    let indexes = indexes.map(|[_, sql]| format!("{sql};"));
    let table = [
        format!("CREATE TABLE {new} {columns} {option};"),
        format!("INSERT INTO {new} SELECT * FROM {own};"),
        format!("DROP TABLE {own};"),
        format!("ALTER TABLE {new} RENAME TO {own};"),
    ];
    Ok(Some(table.into_iter().chain(indexes).collect()))
}

/// Returns whether the rows and the schema allow it: tried, and taken back.
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

    /// A database with this schema.
    fn database(schema: &str) -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let path = folder.path().join("app.db");
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        connection.execute(schema).unwrap();
        (folder, connection)
    }

    fn advice_for(schema: &str) -> Vec<Advice> {
        let (_folder, connection) = database(schema);
        forms(&connection, &["SELECT * FROM word WHERE name = ?".to_owned()]).unwrap()
    }

    /// What is proposed, after it was carried out and has kept rows and indexes.
    fn changes(schema: &str) -> Vec<(String, String)> {
        let carried_out = |advice: Advice| {
            let (_folder, connection) = database(schema);
            let sql = advice.sql.unwrap();
            connection.execute(&sql).unwrap();
            let count = |sql: &str| connection.query_i64(sql).unwrap();
            assert_eq!(count("SELECT count(*) FROM word"), 2);
            let indexes = "SELECT count(*) FROM sqlite_schema WHERE name = 'by_n'";
            assert_eq!(count(indexes), 1);
            (advice.change, sql)
        };
        advice_for(schema).into_iter().map(carried_out).collect()
    }

    const ROWS: &str = "INSERT INTO word VALUES ('a', 1), ('b', 2); CREATE INDEX by_n ON word(n);";

    #[test]
    fn a_table_gets_the_forms_that_its_rows_and_columns_allow() {
        let both = changes(&format!("CREATE TABLE word(name TEXT PRIMARY KEY, n INTEGER); {ROWS}"));
        let names: Vec<&str> = both.iter().map(|(change, _)| change.as_str()).collect();
        assert_eq!(names, ["WITHOUT ROWID for word", "STRICT for word"]);
        let typed = changes(&format!("CREATE TABLE word(name VARCHAR(9), n INTEGER); {ROWS}"));
        assert!(typed.is_empty(), "{typed:?}");
        let wrong = format!("CREATE TABLE word(name INTEGER, n INTEGER); {ROWS}");
        assert!(changes(&wrong).is_empty(), "text in a column of numbers");
        let null = "INSERT INTO word VALUES (NULL, 1), ('b', 2); CREATE INDEX by_n ON word(n);";
        let null = changes(&format!("CREATE TABLE word(name TEXT PRIMARY KEY, n INTEGER); {null}"));
        assert!(null.is_empty(), "a key that is NULL: {null:?}");
    }

    #[test]
    fn nothing_is_rebuilt_on_which_a_view_or_a_trigger_depends() {
        let schema = "CREATE TABLE word(name TEXT PRIMARY KEY, n INTEGER); CREATE VIEW v AS SELECT n FROM word;";
        assert!(changes(&format!("{schema} {ROWS}")).is_empty());
    }

    const REFERENCED: &str = "CREATE TABLE word(name TEXT PRIMARY KEY, n INTEGER); CREATE INDEX by_n ON word(n);
        CREATE TABLE use(id INTEGER PRIMARY KEY, name TEXT REFERENCES word(name) ON DELETE CASCADE);
        INSERT INTO word VALUES ('a', 1), ('b', 2); INSERT INTO use VALUES (1, 'a'), (2, 'b'), (3, 'b');";

    #[test]
    fn rows_that_refer_to_a_rebuilt_table_stay_where_foreign_keys_are_enforced() {
        let all = advice_for(REFERENCED);
        assert_eq!(all.len(), 2, "{all:?}");
        for advice in all {
            let (_folder, connection) = database(REFERENCED);
            connection.execute("PRAGMA foreign_keys = ON").unwrap();
            connection.execute(&advice.sql.unwrap()).unwrap();
            let count = |sql: &str| connection.query_i64(sql).unwrap();
            assert_eq!(count("SELECT count(*) FROM use"), 3, "{}", advice.change);
            assert_eq!(count("PRAGMA foreign_keys"), 1);
            connection.execute("DELETE FROM word WHERE name = 'b'").unwrap();
            assert_eq!(count("SELECT count(*) FROM use"), 1, "it still refers to it");
        }
    }

    #[test]
    fn a_change_that_fails_by_then_takes_nothing() {
        let strict = advice_for(REFERENCED).into_iter();
        let strict = strict.filter(|it| it.change.starts_with("STRICT"));
        let sql: Vec<String> = strict.filter_map(|it| it.sql).collect();
        let (_folder, connection) = database(REFERENCED);
        connection.execute("INSERT INTO word VALUES ('c', 'text')").unwrap();
        assert!(connection.execute(&sql[0]).is_err());
        // As the connection of a program that stops at the error.
        connection.execute("ROLLBACK").unwrap();
        let count = |sql: &str| connection.query_i64(sql).unwrap();
        assert_eq!(count("SELECT count(*) FROM word"), 3);
        assert_eq!(count("SELECT count(*) FROM sqlite_schema"), 4);
    }

    #[test]
    fn a_table_that_never_uses_a_key_again_is_not_rebuilt() {
        let schema =
            "CREATE TABLE word(id INTEGER PRIMARY KEY autoincrement, name TEXT, n INTEGER);";
        let rows = "INSERT INTO word(name, n) VALUES ('a', 1), ('b', 2);";
        let all = advice_for(&format!("{schema} {rows}"));
        assert!(all.is_empty(), "{all:?}");
    }
}
