//! Whether two databases hold the same.

use std::path::Path;

use engine::{Connection, Step, Value, ValueRef};

use crate::strategies::open;

/// Compares schemas, and all tables row by row, and checks the integrity of the first.
///
/// # Errors
/// The first difference.
pub(super) fn compare(one: &Path, other: &Path, order: &str) -> Result<(), String> {
    let (one, other) = (open(one), open(other));
    let check = one.query_all("PRAGMA integrity_check").unwrap();
    if check != [[Value::Text("ok".to_owned())]] {
        return Err(format!("the check of integrity says {check:?}"));
    }
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name";
    let objects = one.query_all(schema).unwrap();
    if objects != other.query_all(schema).unwrap() {
        return Err("the schemas differ".to_owned());
    }
    for object in objects {
        if object[0] == Value::Text("table".to_owned()) {
            let table = object[1].to_string();
            let order = if table == "t" { order } else { "rowid" };
            same_rows(&one, &other, &table, order)?;
        }
    }
    Ok(())
}

fn same_rows(one: &Connection, other: &Connection, table: &str, order: &str) -> Result<(), String> {
    let sql = format!("SELECT {order}, * FROM {table} ORDER BY {order}");
    let (mut one, mut other) = (one.prepare(&sql).unwrap(), other.prepare(&sql).unwrap());
    for row in 1_u64.. {
        match (one.step().unwrap(), other.step().unwrap()) {
            (Step::Row, Step::Row) => {}
            (Step::Done, Step::Done) => break,
            (found, wanted) => {
                return Err(format!("row {row} of {table}: {found:?}, not {wanted:?}"));
            }
        }
        for column in 0..one.column_count() {
            let found = one.column_value_ref(column).unwrap();
            let wanted = other.column_value_ref(column).unwrap();
            if !is_same(found, wanted) {
                let name = one.column_name(column).unwrap_or_default();
                let place = format!("row {row} of {table}, column {name}");
                return Err(format!("{place}: {found:?}, not {wanted:?}"));
            }
        }
    }
    Ok(())
}

/// Bit for bit, and of the same storage class.
fn is_same(found: ValueRef<'_>, wanted: ValueRef<'_>) -> bool {
    match (found, wanted) {
        (ValueRef::Real(found), ValueRef::Real(wanted)) => found.to_bits() == wanted.to_bits(),
        (found, wanted) => found == wanted,
    }
}

#[test]
fn differences_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str, sql: &str| {
        let path = folder.path().join(name);
        let create = "CREATE TABLE t(c0, c1); CREATE TABLE log(a)";
        open(&path).execute(&format!("{create}; {sql}")).unwrap();
        path
    };
    let rows = "INSERT INTO t VALUES (1, 'a'), (2, 0.0); INSERT INTO log VALUES (x'00')";
    let wanted = made("wanted", rows);
    assert_eq!(compare(&made("same", rows), &wanted, "rowid"), Ok(()));
    for (number, (from, to, named)) in [
        ("(1, 'a')", "('1', 'a')", "row 1 of t, column c0"),
        ("0.0", "-0.0", "row 2 of t, column c1"),
        ("x'00'", "x'01'", "row 1 of log, column a"),
        (", (2, 0.0)", "", "row 2 of t"),
        ("INSERT INTO log", "CREATE INDEX i ON t(c0); INSERT INTO log", "schemas"),
    ]
    .into_iter()
    .enumerate()
    {
        let other = made(&number.to_string(), &rows.replace(from, to));
        let difference = compare(&other, &wanted, "rowid").unwrap_err();
        assert!(difference.contains(named), "{difference}");
    }
}
