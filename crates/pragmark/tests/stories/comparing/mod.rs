//! A user compares two sides of the same work by what is counted, two runs, and many runs.

mod history;
mod runs;

use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};
use serde_json::Value;

use crate::laboratory::Laboratory;

/// A laboratory with a database of users, the same without an index, and a file of queries.
fn shop() -> Laboratory {
    let laboratory = Laboratory::new();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    for (name, index) in [("app.db", "CREATE INDEX by_age ON users(age)"), ("migrated.db", "")] {
        let path = laboratory.path().join(name);
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        connection
            .execute(&format!("CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, age INTEGER); INSERT INTO users SELECT value, 'user ' || value, value % 90 FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 2000) SELECT value FROM n); {index}"))
            .unwrap();
        connection.close().unwrap();
    }
    laboratory.write(
        "queries.sql",
        "-- name: find_user\nSELECT * FROM users WHERE id = :id;\n-- name: same_age\nSELECT name FROM users WHERE age = :age ORDER BY name;\n-- name: touch\nUPDATE users SET age = age + 1 WHERE id = :id;\n",
    );
    laboratory
}

fn compare<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["compare"].iter().chain(more).copied().collect()
}

/// The statement of this name in the comparison as JSON.
fn statement(json: &Value, name: &str) -> Value {
    let all = json[0]["statements"].as_array().unwrap();
    all.iter().find(|it| it["name"] == name).unwrap().clone()
}

#[test]
fn a_dropped_index_is_named_with_its_statement_and_both_plans_and_nothing_is_left_behind() {
    let laboratory = shop();
    let sides = ["queries.sql", "--db", "app.db", "--db", "migrated.db"];
    let before = std::fs::read(laboratory.path().join("app.db")).unwrap();
    laboratory.pragmark(&compare(&sides)).exits(0).says(&[
        "same_age",
        "now SCAN users",
        "SEARCH users USING INDEX by_age (age=?)",
        "needs less work: touch",
    ]);
    let json = laboratory.pragmark(&compare(&[&sides[..], &["--format", "json"]].concat()));
    let json = json.exits(0).json();
    let same_age = statement(&json, "same_age");
    assert_eq!(same_age["plan"]["scans"][0], "users");
    assert_eq!(same_age["answer"], "same");
    let scan_steps = same_age["figures"].as_array().unwrap();
    let scan_steps = scan_steps.iter().find(|it| it["metric"] == "scan_steps");
    assert_eq!(scan_steps.unwrap()["new"]["exact"], 1_999.0);
    assert!(statement(&json, "find_user")["plan"].is_null());
    let after = std::fs::read(laboratory.path().join("app.db")).unwrap();
    assert_eq!(before, after);
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn the_rows_that_differ_are_shown_in_every_form() {
    let laboratory = shop();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("migrated.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection
        .execute("UPDATE users SET name = 'Bob' WHERE id = 7; DELETE FROM users WHERE id = 9")
        .unwrap();
    connection.close().unwrap();
    laboratory.write(
        "few.sql",
        "-- name: few\nSELECT id, name FROM users WHERE id < 12;\n-- name: touch\nUPDATE users SET age = 1 WHERE id = 3;\n",
    );
    let sides = ["few.sql", "--db", "app.db", "--db", "migrated.db", "--format"];
    let in_form =
        |form: &str| laboratory.pragmark(&compare(&[&sides[..], &[form]].concat())).exits(0);
    for form in ["terminal", "markdown"] {
        in_form(form).says(&[
            "id = 7",
            "'user 7'",
            "'Bob'",
            "no such row",
            "1 row changed, 1 row missing",
        ]);
    }
    in_form("html").says(&["id = 7", "no such row"]);
    in_form("terminal").says(&["table users is different afterwards: 1,999 rows instead of 2,000"]);
    let json = in_form("json").json();
    let rows = &statement(&json, "few")["rows"];
    assert_eq!((&rows["changed"], &rows["missing"]), (&1.into(), &1.into()), "{rows}");
    assert_eq!(rows["rows"][0]["new"][0], "'Bob'");
    assert_eq!(json[0]["written_rows"]["users"]["missing"], 1);
}

#[test]
fn two_forms_of_a_query_are_compared_with_one_another() {
    let laboratory = shop();
    let forms = ["SELECT name FROM users WHERE id = 5", "SELECT name FROM users WHERE id + 0 = 5"];
    laboratory.write("one.sql", forms[0]);
    laboratory.write("two.sql", forms[1]);
    for both in [&["-c", forms[0], "-c", forms[1]][..], &["one.sql", "two.sql"]] {
        let json = [&["--db", "app.db", "--format", "json"], both].concat();
        let json = laboratory.pragmark(&compare(&json)).exits(0).json();
        assert_eq!(json[0]["only_base"].as_array().unwrap().len(), 0, "{json}");
        assert_eq!(json[0]["statements"][0]["plan"]["scans"][0], "users");
        assert_eq!(json[0]["statements"][0]["answer"], "same");
    }
}

#[test]
fn a_query_keeps_its_values_in_a_database_of_other_rows_behind_another_query_and_in_another_form() {
    let laboratory = shop();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("migrated.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    let more = "INSERT INTO users SELECT id + 2000, name, age + 90 FROM users";
    connection.execute(more).unwrap();
    connection.close().unwrap();
    let of = "-- name: of\nSELECT name FROM users WHERE age = :age AND id > :id ORDER BY id;\n";
    let touch = "-- name: touch\nUPDATE users SET age = 1 WHERE id = :id;\n";
    laboratory.write("one.sql", &format!("{of}{touch}"));
    let other = of.replace("age = :age AND id > :id", "id > :id AND age = :age");
    let first = "-- name: first\nSELECT age FROM users WHERE name = :name;\n";
    laboratory.write("two.sql", &format!("{first}{other}{touch}"));
    let answers = |both: &[&str]| {
        let json = laboratory.pragmark(&compare(&[both, &["--format", "json"]].concat())).json();
        ["of", "touch"].map(|name| statement(&json, name)["answer"].clone())
    };
    let databases = ["one.sql", "--db", "app.db", "--db", "migrated.db"];
    assert_eq!(answers(&databases), ["same", "same"]);
    assert_eq!(answers(&["one.sql", "two.sql", "--db", "app.db"]), ["same", "same"]);
}

#[test]
fn settings_are_compared_by_syncs_and_bytes() {
    let laboratory = shop();
    let vary = ["queries.sql", "--db", "app.db", "--vary", "journal_mode=delete,wal"];
    let answer = laboratory.pragmark(&compare(&[&vary[..], &["--format", "markdown"]].concat()));
    answer.exits(0).says(&["3 of 3 statements have the same plan", "| Syncs | 40 | 12 | ▲ ×0.3 |"]);
    let answer = laboratory.pragmark(&compare(&vary));
    answer.says(&["base: journal_mode=delete (", "new: journal_mode=wal ("]);
}

#[test]
fn two_libraries_are_compared_on_recorded_traffic() {
    let laboratory = Laboratory::new();
    if !testing::has_python() {
        return;
    }
    laboratory.write(
        "app.py",
        "import sqlite3\nc = sqlite3.connect('a.db', isolation_level=None)\nc.execute('CREATE TABLE t(a, b)')\nfor i in range(50): c.execute('INSERT INTO t VALUES (?, ?)', (i, i % 7))\nfor i in range(9): c.execute('SELECT a FROM t WHERE b = ? ORDER BY a', (i,)).fetchall()\n",
    );
    laboratory.pragmark(&["record", "--out", "app.trace", "--", "python3", "app.py"]).exits(0);
    let engines = ["app.trace", "--engine", "system", "--engine", "default"];
    let json = laboratory.pragmark(&compare(&[&engines[..], &["--format", "json"]].concat()));
    let json = json.exits(0).json();
    assert_eq!(json[0]["only_base"].as_array().unwrap().len(), 0);
    let select = statement(&json, "select_t");
    assert!(select["plan"].is_null(), "{select}");
    assert_eq!(select["answer"], "same");
    let executions = &select["figures"][0];
    assert_eq!(
        (&executions["metric"], &executions["new"]["exact"]),
        (&"executions".into(), &9.0.into())
    );
}

#[test]
fn a_side_that_cannot_be_measured_says_why() {
    let laboratory = shop();
    let sql = "SELECT count(*) FROM users";
    let dbs = ["-c", sql, "--db", "app.db", "--db", "queries.sql"];
    laboratory
        .pragmark(&compare(&dbs))
        .exits(1)
        .says(&["cannot use the database", "A side could not be measured"]);
}

#[test]
fn one_side_or_databases_alone_are_refused_with_what_to_do() {
    let laboratory = shop();
    let one = laboratory.pragmark(&compare(&["queries.sql", "--db", "app.db"])).exits(2);
    one.complains(&["nothing to compare", "--engine system"]);
    let unknown =
        laboratory.pragmark(&compare(&["queries.sql", "--engine", "9.9.9", "--engine", "default"]));
    unknown.exits(2).complains(&["9.9.9"]);
    let set =
        ["queries.sql", "--db", "app.db", "--vary", "cache_size=1,2", "--set", "executions=1"];
    laboratory.pragmark(&compare(&set)).exits(2).complains(&["use --executions 1"]);
    laboratory
        .pragmark(&compare(&["app.db", "migrated.db"]))
        .exits(2)
        .complains(&["databases are compared by the answers of statements", "--db"]);
}
