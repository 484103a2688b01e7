//! Settings that mean nothing for some statements, by the programs that SQLite makes of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Source, Value};

use crate::error::TrialError;
use crate::workload::sql::PGBENCH_TABLES;

/// Each setting with the operations without which it means nothing (<https://sqlite.org/opcode.html>): sorting is all that
/// several threads share, and automatic indexes have an operation of their own.
const OF_OPERATIONS: [(&str, &[&str]); 2] = [
    ("threads", &["SorterOpen"]),
    ("automatic_index", &["OpenAutoindex"]),
];

/// Settings that mean nothing where nothing is written.
const OF_WRITES: [&str; 3] = ["cache_spill", "journal_size_limit", "wal_autocheckpoint"];

/// The settings that mean nothing for these statements on a copy of their database, which gets statistics: with the plans
/// before, and with those after. None where a statement cannot be planned.
///
/// # Errors
/// The copy is no database, or the disk is full.
pub fn idle_settings(copy: &Path, statements: &[String]) -> Result<Vec<&'static str>, TrialError> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let connection = Connection::open(&library, copy, OpenFlags::default(), None)?;
    let before = idle(&connection, statements)?;
    connection.execute("ANALYZE")?;
    let mut both = idle(&connection, statements)?;
    both.retain(|name| before.contains(name));
    connection.close()?;
    Ok(both)
}

/// As [`idle_settings`], on the empty tables of pgbench.
///
/// # Errors
/// There is no memory.
pub fn idle_settings_of_pgbench(statements: &[String]) -> Result<Vec<&'static str>, TrialError> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let memory = Path::new(":memory:");
    let connection = Connection::open(&library, memory, OpenFlags::default(), None)?;
    connection.execute(PGBENCH_TABLES)?;
    Ok(idle(&connection, statements)?)
}

fn idle(connection: &Connection, statements: &[String]) -> Result<Vec<&'static str>, EngineError> {
    let (mut operations, mut writes) = (BTreeSet::new(), false);
    for sql in statements {
        match connection.prepare(sql) {
            Ok(statement) => writes |= !statement.is_read_only(),
            Err(_) => return Ok(Vec::new()),
        }
        let program = connection.query_all(&format!("EXPLAIN {sql}"))?;
        operations.extend(program.iter().filter_map(|row| operation(row)));
    }
    let is_idle = |needed: &[&str]| !needed.iter().any(|it| operations.contains(*it));
    let of_operations = OF_OPERATIONS.iter().filter(|(_, needed)| is_idle(needed));
    let of_operations = of_operations.map(|(name, _)| *name);
    let of_writes = OF_WRITES.into_iter().filter(|_| !writes);
    Ok(of_operations.chain(of_writes).collect())
}

/// The operation of a row of EXPLAIN.
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
            .execute("CREATE TABLE t(a, b); CREATE TABLE u(a, b)")
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
