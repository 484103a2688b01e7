//! Settings that have no effect on some statements, by the programs that SQLite compiles them to.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source, Value};

use super::has_plan;
use crate::error::TrialError;
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
pub fn idle_settings(copy: &Path, statements: &[String]) -> Result<Vec<&'static str>, TrialError> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let connection = Connection::open(&library, copy, OpenFlags::default(), None)?;
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
pub fn idle_settings_of_pgbench(statements: &[String]) -> Result<Vec<&'static str>, TrialError> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let memory = Path::new(":memory:");
    let connection = Connection::open(&library, memory, OpenFlags::default(), None)?;
    connection.execute(PGBENCH_TABLES)?;
    Ok(idle(&connection, statements))
}

fn idle(connection: &Connection, statements: &[String]) -> Vec<&'static str> {
    let (mut operations, mut writes) = (BTreeSet::new(), false);
    for sql in statements.iter().filter(|sql| has_plan(sql)) {
        let explained = || connection.query_all(&format!("EXPLAIN {sql}"));
        let planned = connection.prepare(sql).and_then(|statement| {
            writes |= !statement.is_read_only();
            explained()
        });
        let Ok(program) = planned else { return Vec::new() };
        operations.extend(program.iter().filter_map(|row| operation(row)));
    }
    let is_idle = |needed: &[&str]| !needed.iter().any(|operation| operations.contains(*operation));
    let of_operations = OF_OPERATIONS.iter().filter(|(_, needed)| is_idle(needed));
    let of_operations = of_operations.map(|(name, _)| *name);
    let of_writes = OF_WRITES.into_iter().filter(|_| !writes);
    of_operations.chain(of_writes).collect()
}

/// Returns the operation of a row of EXPLAIN.
fn operation(row: &[Value]) -> Option<String> {
    row.get(1).map(Value::to_string)
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
}
