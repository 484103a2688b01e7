//! Tables that say themselves which rows they ignore.

use pragmark_load::{Mode, Summary};

use crate::faults::{Workspace, run};

/// What SQLite stores of these rows, one INSERT for each, and what a load stores, with its summary.
fn appended(definition: &str, rows: &[(&str, &str)]) -> (Vec<String>, Vec<String>, Summary) {
    let (own, workspace) = (Workspace::new(), Workspace::new());
    for workspace in [&own, &workspace] {
        workspace.connection().execute(definition).unwrap();
    }
    let values = |(id, text): &(&str, &str)| match *text {
        "" => format!("({id}, NULL)"),
        text => format!("({id}, '{text}')"),
    };
    let mut csv = "id,a\n".to_owned();
    for row in rows {
        let sql = format!("INSERT INTO t(id, a) VALUES {}", values(row));
        own.connection().execute(&sql).unwrap();
        csv += &format!("{},{}\n", row.0, row.1);
    }
    let mut request = workspace.request();
    request.mode = Mode::Append;
    let summary = run(&workspace.write("a.csv", csv), &request).unwrap();
    let sql = "SELECT id, a FROM t ORDER BY id";
    (own.rows(sql), workspace.rows(sql), summary)
}

#[test]
fn a_row_that_the_table_ignores_leaves_its_key_and_is_counted() {
    for (constraint, double) in
        [("TEXT UNIQUE ON CONFLICT IGNORE", "x"), ("TEXT NOT NULL ON CONFLICT IGNORE", "")]
    {
        let definition = format!("CREATE TABLE t(id INTEGER PRIMARY KEY, a {constraint})");
        let rows = [("1", "x"), ("2", double), ("3", "y"), ("4", "z")];
        let (expected, stored, summary) = appended(&definition, &rows);
        assert_eq!(expected, ["1|x", "3|y", "4|z"]);
        assert_eq!(stored, expected, "{constraint}");
        assert_eq!((summary.rows, summary.ignored), (3, 1), "{constraint}");
    }
}

#[test]
fn rows_that_a_trigger_ignores_are_counted_and_those_that_a_view_takes_are_loaded() {
    let ignoring = "CREATE TABLE t(id INTEGER PRIMARY KEY, a);
        CREATE TRIGGER t_bi BEFORE INSERT ON t WHEN new.a = 'x' BEGIN SELECT RAISE(IGNORE); END";
    let (expected, stored, summary) = appended(ignoring, &[("1", "x"), ("2", "y")]);
    assert_eq!(stored, expected);
    assert_eq!((summary.rows, summary.ignored), (1, 1));
    let view = "CREATE TABLE u(id, a); CREATE VIEW t AS SELECT * FROM u;
        CREATE TRIGGER t_ii INSTEAD OF INSERT ON t BEGIN INSERT INTO u VALUES (new.id, new.a); END";
    let (expected, stored, summary) = appended(view, &[("1", "x"), ("2", "y")]);
    assert_eq!(stored.len(), 2);
    assert_eq!((summary.rows, summary.ignored), (2, 0));
    assert_eq!(stored, expected);
}
