//! Settings that have no effect on some statements, by the programs that SQLite compiles them to.
//!
//! Indexes that no statement of a workload uses.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Source};
use lab::level::Level;
use lab::tuning_plan::Advice;
use script::effect::quoted;

use super::tables::forms;
use super::{has_plan, texts};
use crate::error::Result;
use crate::workload::sql::PGBENCH_TABLES;

/// Settings that have an effect only with one of these operations (<https://sqlite.org/opcode.html>): threads share only
/// sorting, and automatic indexes have an operation of their own. Virtual tables run statements of their own; those of
/// FTS5 sort for `ORDER BY rank`.
const OF_OPERATIONS: [(&str, &[&str]); 2] = [
    ("threads", &["SorterOpen", "VOpen", "VUpdate"]),
    ("automatic_index", &["OpenAutoindex", "VOpen", "VUpdate"]),
];

/// Settings that have an effect only if something is written.
const OF_WRITES: [&str; 3] = ["cache_spill", "journal_size_limit", "wal_autocheckpoint"];

/// Returns the settings that have no effect on these statements on a copy of their database, by the plans of the built-in
/// SQLite both before and after ANALYZE, which this function runs on the copy. Returns none if a statement cannot be
/// planned.
///
/// # Errors
/// The copy is not a database, or the disk is full.
pub fn idle_settings(copy: &Path, statements: &[String]) -> Result<Vec<&'static str>> {
    let connection = open(copy)?;
    let before = idle(&connection, statements);
    connection.execute("ANALYZE")?;
    let mut both = idle(&connection, statements);
    both.retain(|name| before.contains(name));
    connection.close()?;
    Ok(both)
}

/// As [`idle_settings`], on the empty tables of pgbench.
///
/// # Errors
/// Memory is exhausted.
pub fn idle_settings_of_pgbench(statements: &[String]) -> Result<Vec<&'static str>> {
    let connection = open(Path::new(":memory:"))?;
    connection.execute(PGBENCH_TABLES)?;
    Ok(idle(&connection, statements))
}

fn open(path: &Path) -> Result<Connection, EngineError> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    Connection::open(&library, path, OpenFlags::default(), None)
}

fn idle(connection: &Connection, statements: &[String]) -> Vec<&'static str> {
    let (mut operations, mut writes) = (BTreeSet::new(), false);
    for sql in statements.iter().filter(|sql| has_plan(sql)) {
        let planned = connection.prepare(sql).and_then(|statement| {
            writes |= !statement.is_read_only();
            let explain = format!("EXPLAIN {sql}");
            connection.query_rows(&explain, |row| Ok(row.column_value(1).to_string()))
        });
        let Ok(program) = planned else { return Vec::new() };
        operations.extend(program);
    }
    let is_idle = |needed: &[&str]| !needed.iter().any(|operation| operations.contains(*operation));
    let of_operations = OF_OPERATIONS.iter().filter(|(_, needed)| is_idle(needed));
    let of_operations = of_operations.map(|(name, _)| *name);
    let of_writes = OF_WRITES.into_iter().filter(|_| !writes);
    of_operations.chain(of_writes).collect()
}

/// Returns changes of the schema that may help these statements, from a copy of the database, which is changed: the removal
/// of indexes that no statement uses, and other forms of the tables.
///
/// # Errors
/// The copy is not a database, or the disk is full.
pub fn schema_advice(copy: &Path, statements: &[String]) -> Result<Vec<Advice>> {
    let connection = open(copy)?;
    connection.execute("ANALYZE")?;
    let statements = statements.iter().filter(|sql| has_plan(sql));
    let statements: &[String] = &statements.cloned().collect::<Vec<_>>();
    let drop = unused(&connection, statements)?;
    let forms = forms(&connection, statements)?;
    connection.close()?;
    Ok(drop.into_iter().chain(forms).collect())
}

/// Returns the removal of the indexes that no statement uses, unless triggers run statements that are not known here.
/// Indexes that a constraint needs, or that begin with a column of a foreign key, stay.
fn unused(connection: &Connection, statements: &[String]) -> Result<Option<Advice>, EngineError> {
    let triggers = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'";
    if connection.query_i64(triggers)? > 0 {
        return Ok(None);
    }
    let mut plans = Vec::new();
    for statement in statements {
        match connection.query_plan(statement) {
            Ok(plan) => plans.extend(plan),
            // What a statement uses that cannot be planned is not known.
            Err(_) => return Ok(None),
        }
    }
    let sql = "SELECT i.name, i.tbl_name FROM sqlite_schema AS i WHERE i.type = 'index' AND i.sql IS NOT NULL
        AND (SELECT \"unique\" = 0 FROM pragma_index_list(i.tbl_name) AS list WHERE list.name = i.name)
        AND NOT EXISTS (SELECT 1 FROM pragma_foreign_key_list(i.tbl_name) AS k
            JOIN pragma_index_info(i.name) AS c ON c.seqno = 0 AND c.name = k.\"from\" COLLATE NOCASE)";
    let is_used = |name: &str| {
        let uses = |line: &String| {
            line.split_once(" INDEX ")
                .is_some_and(|(_, rest)| rest == name || rest.starts_with(&format!("{name} (")))
        };
        plans.iter().any(uses)
    };
    let all = texts(connection, sql)?.into_iter().map(|[name, _]| name);
    let names: Vec<String> = all.filter(|name| !is_used(name)).collect();
    let drops: Vec<String> =
        names.iter().map(|name| format!("DROP INDEX {};", quoted(name))).collect();
    Ok((!names.is_empty()).then(|| Advice {
        counted: None,
        change: format!(
            "without the indexes that no statement of the workload uses: {}",
            names.join(", ")
        ),
        settings: [("schema_change".to_owned(), Level::Text(drops.join(" ")))].into(),
        sql: Some(drops.join("\n")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle_for(statements: &[&str]) -> Vec<&'static str> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        connection
            .execute(
                "CREATE TABLE t(a, b); CREATE TABLE u(a, b); CREATE VIRTUAL TABLE f USING fts5(x)",
            )
            .unwrap();
        connection.close().unwrap();
        let statements: Vec<String> = statements.iter().map(|it| (*it).to_owned()).collect();
        idle_settings(&path, &statements).unwrap()
    }

    #[test]
    fn a_setting_is_idle_where_no_plan_of_any_statement_uses_it() {
        let of_writes = ["threads", "automatic_index"];
        assert_eq!(idle_for(&["UPDATE t SET a = ?1 WHERE b = ?2"]), of_writes);
        let sorts = idle_for(&["SELECT a FROM t ORDER BY b", "DELETE FROM t"]);
        assert_eq!(sorts, ["automatic_index"]);
        let joins = idle_for(&["SELECT * FROM t JOIN u ON t.a = u.a"]);
        assert!(!joins.contains(&"automatic_index"), "{joins:?}");
        assert!(joins.contains(&"wal_autocheckpoint"), "{joins:?}");
    }

    #[test]
    fn what_a_virtual_table_does_is_not_known() {
        let search = "SELECT * FROM f WHERE f MATCH 'x' ORDER BY rank";
        assert!(!idle_for(&[search]).contains(&"threads"));
        assert!(!idle_for(&["INSERT INTO f VALUES ('x')"]).contains(&"automatic_index"));
    }

    #[test]
    fn a_pragma_changes_nothing_of_the_plans_and_what_is_explained_has_none() {
        let join = "SELECT * FROM t JOIN u ON t.a = u.a";
        let without = idle_for(&[join]);
        for other in [
            "PRAGMA query_only = ON",
            "pragma automatic_index=off",
            "-- plan\nEXPLAIN SELECT 1",
            "EXPLAIN QUERY PLAN SELECT 1",
        ] {
            assert_eq!(idle_for(&[other, join]), without, "{other}");
        }
    }

    #[test]
    fn nothing_is_idle_where_a_statement_cannot_be_planned() {
        assert!(idle_for(&["SELECT a FROM t", "SELECT x FROM later"]).is_empty());
    }

    #[test]
    fn pgbench_joins_and_sorts_nothing() {
        let update = "UPDATE pgbench_accounts SET abalance = abalance + ?1 WHERE aid = ?2";
        let idle = idle_settings_of_pgbench(&[update.to_owned()]).unwrap();
        assert_eq!(idle, ["threads", "automatic_index"]);
    }

    /// A database of orders and the statements of a shop.
    fn advice(schema: &str, statements: &[&str]) -> Vec<Advice> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        connection
            .execute(
                "CREATE TABLE orders(id INTEGER PRIMARY KEY, user INTEGER, day INTEGER, note TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO orders SELECT i, i % 100, i % 365, 'note' FROM n",
            )
            .unwrap();
        connection.execute(schema).unwrap();
        connection.close().unwrap();
        let statements: Vec<String> = statements.iter().map(|it| (*it).to_owned()).collect();
        let all = schema_advice(&path, &statements).unwrap().into_iter();
        // Other forms of tables have tests of their own.
        all.filter(|it| !it.change.ends_with(" for orders")).collect()
    }

    fn sql(advice: &[Advice]) -> Vec<&str> {
        advice.iter().filter_map(|it| it.sql.as_deref()).collect()
    }

    #[test]
    fn an_index_that_nothing_uses_is_dropped() {
        let by_user = "CREATE INDEX by_user ON orders(user); ";
        let statement = "SELECT note FROM orders WHERE user = 3";
        assert!(advice(by_user, &[statement]).is_empty());
        let both = format!("{by_user} CREATE INDEX by_note ON orders(note)");
        let found = advice(&both, &[statement]);
        assert_eq!(sql(&found), ["DROP INDEX \"by_note\";"]);
        let unknown = advice(&both, &[statement, "SELECT missing FROM nowhere"]);
        assert!(unknown.is_empty(), "what a statement without a plan uses is not known");
        let settings = ["PRAGMA query_only = 1", "EXPLAIN SELECT 1", statement];
        let found = advice(&both, &settings);
        assert_eq!(sql(&found), ["DROP INDEX \"by_note\";"]);
        let unique = "CREATE UNIQUE INDEX only ON orders(id, note)";
        assert!(advice(unique, &["SELECT 1"]).is_empty());
    }
}
