//! A user asks why a statement is slow.

use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};
use rustix::process::{Pid, Signal, kill_process};

use crate::laboratory::{Laboratory, wait_until};
use crate::recording::{RECORD, with_program};

const SLOW: &str =
    "SELECT id, total FROM orders WHERE user_id = :user_id ORDER BY day DESC LIMIT 20";

fn shop(laboratory: &Laboratory) {
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("app.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection
        .execute(
            "CREATE TABLE users(id INTEGER PRIMARY KEY);
             CREATE TABLE visits(user_id INTEGER REFERENCES users(id));
             CREATE TABLE orders(id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users(id), day TEXT, total INTEGER);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
             INSERT INTO orders SELECT i, i * 7919 % 900, date('2024-01-01', (i % 700) || ' days'), i FROM n;",
        )
        .unwrap();
    connection.close().unwrap();
}

#[test]
fn a_slow_statement_gets_its_plan_its_fault_and_the_index_by_name() {
    let laboratory = Laboratory::new();
    shop(&laboratory);
    laboratory.pragmark(&["explain", "--db", "app.db", SLOW]).exits(0).says(&[
        "9,000 rows of orders are read to find 10.",
        "CREATE INDEX orders_by_user_id_day ON orders(user_id, day);",
        "SCAN orders",
        "With :user_id = ",
        " from the data.",
    ]);
    laboratory
        .pragmark(&["explain", "--db", "app.db", SLOW, "--set", "user_id=-1"])
        .exits(0)
        .says(&["With :user_id = -1.", "for 0 rows"]);
    let as_json = ["explain", "--db", "app.db", SLOW, "--format", "json"];
    let answer = laboratory.pragmark(&as_json).exits(0).json();
    let plan = answer["sections"].to_string();
    assert!(plan.contains("\"rows read\":9000.0"), "{answer:#}");
}

#[test]
fn sql_that_begins_with_a_comment_is_no_option() {
    let laboratory = Laboratory::new();
    shop(&laboratory);
    for comment in ["-- the slow one\n", "--slow = yes\n", "--slow\n"] {
        let sql = format!("{comment}{SLOW}");
        let explain = ["explain", "--db", "app.db", &sql, "--set", "user_id=-1"];
        laboratory.pragmark(&explain).exits(0).says(&["With :user_id = -1."]);
    }
    let unknown = ["explain", "--db", "app.db", "--slow=\n", SLOW];
    laboratory.pragmark(&unknown).exits(2).complains(&["unexpected argument '--slow'"]);
}

#[test]
fn a_write_that_takes_too_long_gets_an_index_by_a_few_of_its_rows() {
    let laboratory = Laboratory::new();
    shop(&laboratory);
    let counted = "(SELECT count(*) FROM orders o WHERE o.user_id = orders.user_id)";
    for sql in [
        format!("UPDATE orders SET total = {counted}"),
        format!("DELETE FROM orders WHERE {counted} = 0"),
        format!("INSERT INTO visits SELECT {counted} FROM orders"),
    ] {
        let explained = laboratory.pragmark(&["explain", "--db", "app.db", &sql]).exits(0);
        explained.says(&[", then stopped", "orders(user_id)", "for at most 20 of its rows"]);
    }
}

const DELETES: &str = r#"
import sqlite3
c = sqlite3.connect("app.db", isolation_level=None)
for day in range(3):
    c.execute("DELETE FROM orders WHERE day = ?", (f"2024-01-0{day + 1}",))
c.execute("DELETE FROM orders WHERE id = ?", (-1,))
"#;

#[test]
fn a_recorded_deletion_is_explained_with_rows_that_are_still_there() {
    let Some(laboratory) = with_program(DELETES) else { return };
    shop(&laboratory);
    laboratory.pragmark(&RECORD).exits(0);
    let explained = laboratory.pragmark(&["explain", "app.trace", "1"]).exits(0);
    explained.says(&["from the data.", "orders(day)", "rows changed"]);
    let explained = laboratory.pragmark(&["explain", "app.trace", "2"]).exits(0);
    explained.says(&["0 rows changed", "It changed no row here"]);
}

#[test]
fn several_statements_get_indexes_for_all_of_them() {
    let laboratory = Laboratory::new();
    shop(&laboratory);
    laboratory.write(
        "queries.sql",
        &format!("-- name: mine\n{SLOW};\n-- name: one\nSELECT * FROM orders WHERE id = :id;\n-- name: gone\nDELETE FROM orders WHERE id = :id;\n"),
    );
    let says = [
        "orders(user_id, day)",
        "mine",
        "×1.00",
        "Other statements",
        "SELECT * FROM orders WHERE id = :id",
        "searched by its key",
        "DELETE FROM orders WHERE id = :id",
    ];
    laboratory.pragmark(&["explain", "--db", "app.db", "queries.sql"]).exits(0).says(&says);
    let of_key = "CREATE INDEX \"orders_by_user_id\"";
    laboratory.pragmark(&["inspect", "app.db"]).exits(0).says(&[of_key]);
    let inspected =
        laboratory.pragmark(&["inspect", "app.db", "--queries", "queries.sql"]).exits(0);
    let inspected = inspected.says(&["orders(user_id, day)", "busy_timeout", "visits_by_user_id"]);
    assert!(!inspected.stdout().contains(of_key), "the index for statements serves the key, too");
    laboratory.write("wrong.sql", "SELECT nothing FROM nowhere;");
    laboratory.pragmark(&["inspect", "app.db", "--queries", "wrong.sql"]).exits(2).says(&[of_key]);
    let inspected = ["inspect", "app.db", "--queries", "queries.sql", "--json"];
    let answer = laboratory.pragmark(&inspected).exits(0).json();
    let statements = answer["statements"].to_string();
    assert!(statements.contains("orders(user_id, day)"), "{answer:#}");
    assert!(answer["database"].is_object());
}

#[test]
fn statistics_that_would_make_a_statement_slower_are_not_recommended_by_themselves() {
    let laboratory = Laboratory::new();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("app.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection
        .execute(
            "CREATE TABLE issues(id INTEGER PRIMARY KEY, project INT, deleted_at TEXT, body TEXT);
             CREATE INDEX by_project ON issues(project); CREATE INDEX by_deleted ON issues(deleted_at);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
             INSERT INTO issues SELECT i, i % 300, iif(i % 10 = 0, '2024-01-01 ' || i, NULL), 'a body' FROM n;",
        )
        .unwrap();
    connection.close().unwrap();
    let slower = "SELECT count(body) FROM issues WHERE project = 7 AND deleted_at IS NULL;";
    let explained = laboratory.pragmark(&["explain", "--db", "app.db", slower]).exits(0);
    explained.says(&["ANALYZE alone would make the statement slower:", "by_deleted it would not"]);
    laboratory.write("slower.sql", slower);
    laboratory.write("same.sql", "SELECT body FROM issues WHERE body = 'none';");
    let inspect = ["inspect", "app.db"];
    laboratory.pragmark(&inspect).exits(0).says(&["ANALYZE; (it can make a plan worse, too"]);
    for (queries, says) in [
        ("slower.sql", "not ANALYZE; alone, which makes 1 statement slower: see above"),
        ("same.sql", "it makes none of these statements slower)"),
    ] {
        let inspect = [&inspect[..], &["--queries", queries]].concat();
        laboratory.pragmark(&inspect).exits(0).says(&[says]);
    }
}

#[test]
fn indexes_that_serve_instead_of_others_share_a_sentence_and_values_are_counted_in_the_first_one() {
    let laboratory = Laboratory::new();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("app.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    for table in ["posts", "notes"] {
        let schema = format!(
            "CREATE TABLE {table}(id INTEGER PRIMARY KEY, author INT, day INT, text TEXT); CREATE INDEX {table}_author ON {table}(author);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
             INSERT INTO {table} SELECT i, i * 7919 % 20, i * 104729 % 20011, 'a text' FROM n;"
        );
        connection.execute(&schema).unwrap();
    }
    connection.close().unwrap();
    let latest = |table: &str| {
        format!("SELECT * FROM {table} WHERE author = :author ORDER BY day DESC LIMIT 10;")
    };
    laboratory.write("latest.sql", &(latest("posts") + &latest("notes")));
    let both = laboratory.pragmark(&["explain", "--db", "app.db", "latest.sql"]).exits(0);
    let words = both.stdout().split_whitespace().collect::<Vec<_>>().join(" ");
    let once = "can replace posts_author, notes(author, day) can replace notes_author, except for";
    assert!(words.contains(once) && words.matches("except for").count() == 1, "{words}");
    let one = laboratory.pragmark(&["explain", "--db", "app.db", &latest("posts")]).exits(0);
    one.says(&["for 10 rows with the first of 2 sets of values: "]);
    let set = ["explain", "--db", "app.db", &latest("posts"), "--set", "author=7"];
    laboratory.pragmark(&set).exits(0).says(&["for 10 rows: "]);
    let read = "SELECT sum(length(text)) FROM posts WHERE author < 15";
    let covering = laboratory.pragmark(&["explain", "--db", "app.db", read]).exits(0);
    covering.says(&["column only spares look-ups; each write of it updates the index."]);
}

const CARDS: &str = r#"
import sqlite3
c = sqlite3.connect("cards.db", isolation_level=None)
c.execute("CREATE TABLE cards(id INTEGER PRIMARY KEY, deck INT, queue INT, due INT, ord INT)")
c.execute("CREATE INDEX by_queue ON cards(deck, queue, due)")
c.execute("BEGIN")
for i in range(9000):
    c.execute("INSERT INTO cards(deck, queue, due, ord) VALUES (?, ?, ?, ?)", (i % 3, i % 4, i * 7919 % 3000, i % 5))
c.execute("COMMIT")
for i in range(30):
    c.execute("SELECT id FROM cards WHERE deck = ? AND queue IN (1, 2) ORDER BY due, ord LIMIT 50", (i % 3,)).fetchall()
    c.execute("SELECT count(*) FROM cards WHERE deck = ? AND queue = ? AND due <= ?", (i % 3, i % 4, 10)).fetchall()
c.create_function("own", 1, lambda x: x)
c.execute("SELECT own(deck) FROM cards").fetchall()
"#;

#[test]
fn a_trace_that_began_with_an_empty_database_gets_the_index_that_extends_the_one_it_has() {
    let Some(laboratory) = with_program(CARDS) else { return };
    laboratory.pragmark(&RECORD).exits(0);
    laboratory.pragmark(&["trace", "app.trace"]).exits(0).says(&[
        "CREATE INDEX cards_by_deck_queue_due_ord ON cards(deck, queue, due, ord);",
        "DROP INDEX by_queue;",
        "can replace by_queue",
        "INSERT INTO cards(deck, queue, due,",
        "SELECT own(deck) FROM cards was left out: no such function: own",
    ]);
    laboratory.pragmark(&["explain", "app.trace"]).exits(0).says(&["cards(deck, queue, due, ord)"]);
    // What only the application can execute is named, the rest compared.
    laboratory
        .pragmark(&["explain", "app.trace", "--vary", "analyze=false,true"])
        .exits(0)
        .says(&["Statements that were left out", "no such function: own", "With ANALYZE"]);
}

const READS: &str = r#"
import sqlite3
c = sqlite3.connect("app.db")
for user in range(5):
    c.execute("SELECT id, total FROM orders WHERE user_id = ? ORDER BY day DESC LIMIT 20", (user,)).fetchall()
c.execute("SELECT id FROM orders WHERE day = ?", ("x" * 100,)).fetchall()
c.close()
"#;

#[test]
fn a_recorded_statement_is_explained_with_its_values() {
    let Some(laboratory) = with_program(READS) else { return };
    shop(&laboratory);
    laboratory.pragmark(&RECORD).exits(0);
    laboratory
        .pragmark(&["explain", "app.trace"])
        .exits(0)
        .says(&["orders(user_id, day)", "statement 1", "With ?1 = 4.", "With ?1 = 'xxxxx"]);
    laboratory
        .pragmark(&["explain", "app.trace", "1"])
        .exits(0)
        .says(&["statement 1 on app.trace"]);
    let named = ["explain", "app.trace", "--statement", "1"];
    laboratory.pragmark(&named).exits(0).says(&["statement 1 on app.trace"]);
    let one = ["explain", "app.trace", "99"];
    laboratory.pragmark(&one).exits(2).complains(&["2 statements, numbered from 1"]);
}

#[test]
fn two_plans_stand_side_by_side_with_what_changed_in_one_sentence() {
    let laboratory = Laboratory::new();
    shop(&laboratory);
    let of = |name: &str, sql: &str| {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let path = laboratory.path().join(name);
        std::fs::copy(laboratory.path().join("app.db"), &path).unwrap();
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        connection.execute(sql).unwrap();
        connection.close().unwrap();
    };
    of("indexed.db", "CREATE INDEX by_user ON orders(user_id, day)");
    of("less.db", "DELETE FROM orders WHERE user_id = 7 AND id > 4000");
    let on = |more: &[&str]| {
        let always = ["explain", "--db", "app.db", SLOW, "--set", "user_id=7"];
        laboratory.pragmark(&[&always[..], more].concat())
    };
    on(&["--db", "indexed.db"]).exits(0).says(&[
        "With indexed.db, orders is searched by by_user instead of scanned; ORDER BY needs no sort",
        // Several orders have one day.
        "The answer differs: 10 rows as before, with another order",
        "SCAN orders",
        "SEARCH orders USING INDEX by_user (user_id=?)",
    ]);
    on(&["--db", "less.db"])
        .exits(0)
        .says(&["With less.db, the plan is the same: ", "The answer differs: ", "less.db: "])
        .says(&["missing.", "no such row"]);
    on(&["--db", "indexed.db", "--format", "markdown"]).exits(0).says(&["| ≠ |"]);
    on(&["--vary", "analyze=none,true"]).exits(0).says(&["With ANALYZE, the plan is the same"]);
    if Library::load(&Source::System).is_ok() {
        on(&["--vary", "engine=default,system"]).exits(0).says(&["Times are left out"]);
        let count = ["explain", "--db", "app.db", "SELECT count(*) FROM orders", "--vary"];
        let engines = [&count[..], &["engine=default,system"]].concat();
        laboratory.pragmark(&engines).exits(0).says(&["the plan is the same"]);
    }
    // The same plan elsewhere, by a file that is named like a part of the other side's name.
    std::fs::copy(laboratory.path().join("app.db"), laboratory.path().join("ANALYZE.db")).unwrap();
    let statements = "BEGIN; SELECT id FROM orders WHERE id = 3; SELECT random(); COMMIT";
    let always = ["explain", "--db", "app.db", "--db", "ANALYZE.db", statements];
    laboratory.pragmark(&always).exits(0).says(&[
        "With ANALYZE.db, the plan is the same: both take",
        "As many rows; their content depends",
        "The same plan and the same answer",
        "Statements that were left out",
        "COMMIT has no plan",
    ]);
    on(&["--vary", "cache_size=1,2"]).exits(2).complains(&["engine=… and analyze=…"]);
    on(&["--vary", "analyze=true"]).exits(0).says(&["statistics as they are | ANALYZE"]);
    on(&["--vary", "engine=default"]).exits(2).complains(&["has only one value"]);
    on(&["--vary", "engine=3.99"]).exits(2).complains(&["3.99"]);
    on(&["--vary", "analyze=false,perhaps"]).exits(2).complains(&["analyze=perhaps"]);
}

const COLLATED: &str = r#"
import sqlite3
c = sqlite3.connect("collated.db")
c.create_collation("german", lambda a, b: (a > b) - (a < b))
c.execute("CREATE TABLE words(id INTEGER PRIMARY KEY, word TEXT COLLATE german, length INT)")
c.execute("CREATE INDEX by_word ON words(word)")
c.executemany("INSERT INTO words(word, length) VALUES (?, ?)", [(str(i), i % 2000) for i in range(4000)])
c.commit()
"#;

#[test]
fn a_collation_that_is_missing_is_named_and_concerns_only_statements_that_need_it() {
    let Some(laboratory) = with_program(COLLATED) else { return };
    let mut program = std::process::Command::new("python3");
    assert!(program.arg("app.py").current_dir(laboratory.path()).status().unwrap().success());
    let explain = |sql: &str| laboratory.pragmark(&["explain", "--db", "collated.db", sql]);
    explain("SELECT word FROM words WHERE length = 3").exits(0).says(&[
        "SCAN words",
        "ANALYZE of words was left out: no such collation sequence: german",
        "CREATE INDEX words_by_length ON words(length);",
    ]);
    explain("SELECT length FROM words WHERE word = '3'").exits(2).complains(&[
        "no such collation sequence: german",
        "--load-extension",
        "--stand-in",
    ]);
    let stand_in = ["explain", "--db", "collated.db", "--stand-in", "german=nocase"];
    laboratory
        .pragmark(&[&stand_in[..], &["SELECT length FROM words WHERE word = '3'"]].concat())
        .exits(0)
        .says(&["With stand-ins, which may give other answers and plans: german=nocase."]);
}

#[test]
fn a_damaged_database_is_named_with_the_command_that_lists_its_damage() {
    let laboratory = Laboratory::new();
    shop(&laboratory);
    let path = laboratory.path().join("app.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    laboratory
        .pragmark(&["explain", "--db", "app.db", SLOW, "--set", "user_id=7"])
        .exits(3)
        .complains(&["database disk image is malformed", "--quick-check"]);
}

#[test]
fn a_statement_that_fails_keeps_none_of_the_others_from_being_explained() {
    let laboratory = Laboratory::new();
    shop(&laboratory);
    let fails =
        "-- name: rate\nSELECT total * :rate FROM orders;\n-- name: gone\nSELECT * FROM nowhere;\n";
    laboratory.write("some.sql", &format!("{fails}-- name: mine\n{SLOW};\n"));
    laboratory.write("none.sql", fails);
    let left_out =
        ["rate was left out: the parameter :rate", "gone was left out: no such table: nowhere"];
    let some = laboratory.pragmark(&["explain", "--db", "app.db", "some.sql"]).exits(2);
    some.says(&left_out).says(&["orders(user_id, day)"]).complains(&["rate: the parameter :rate"]);
    let inspected = laboratory.pragmark(&["inspect", "app.db", "--queries", "some.sql"]).exits(2);
    inspected.says(&left_out).says(&["orders(user_id, day)", "visits_by_user_id"]);
    let vary = ["explain", "--db", "app.db", "some.sql", "--vary", "analyze=false,true"];
    laboratory.pragmark(&vary).exits(2).says(&["gone: no such table: nowhere", "With ANALYZE"]);
    let none = laboratory.pragmark(&["explain", "--db", "app.db", "none.sql"]).exits(2);
    assert!(none.complains(&["rate: the parameter :rate"]).stdout().is_empty());
}

#[test]
fn a_mistake_names_what_is_wrong_and_what_to_do() {
    let laboratory = Laboratory::new();
    shop(&laboratory);
    let explain = |sql: &str| laboratory.pragmark(&["explain", "--db", "app.db", sql]);
    explain("SELECT * FROM order").exits(2).complains(&["syntax error"]);
    let django = explain("SELECT * FROM orders WHERE id = %s").exits(2);
    django.complains(&["near \"%\": syntax error", "? and :name"]);
    explain("SELECT * FROM odrers")
        .exits(2)
        .complains(&["no such table: odrers", "did you mean `orders`?"]);
    explain("SELECT o.totl FROM orders o").exits(2).complains(&["did you mean `total`?"]);
    for before in ["EXPLAIN QUERY PLAN", "explain analyze", "EXPLAIN"] {
        let sql = format!("{before} SELECT * FROM orders WHERE total = 7");
        explain(&sql).exits(0).says(&["CREATE INDEX orders_by_total"]);
    }
    explain("SELECT mean(total) FROM orders")
        .exits(2)
        .complains(&["no such function", "--load-extension"]);
    explain("SELECT total + :x FROM orders").exits(2).complains(&["--set x="]);
    let two = "BEGIN; UPDATE orders SET total = 1 WHERE id = 3; SELECT * FROM orders WHERE id = 3; COMMIT";
    explain(two).exits(0).says(&[
        "statement 2",
        "statement 3",
        "statement 4 was left out: COMMIT has no plan",
    ]);
    for (sql, word) in [("ATTACH 'other.db' AS o", "ATTACH"), ("/* so */ VACUUM", "VACUUM")] {
        explain(sql).exits(2).complains(&[&format!("the statement: {word} has no plan")]);
    }
    explain("SELCT 1").exits(2).complains(&["near \"SELCT\": syntax error"]);
    assert!(!laboratory.path().join("other.db").exists());
    explain("queries.sql").exits(2).complains(&["no such file"]);
    laboratory.write("app.py", "\nQ = 'SELECT 1'");
    explain("app.py").exits(2).complains(&["app.py:2: near \"Q\": syntax error"]);
    let by_id = "SELECT * FROM orders WHERE id = :id";
    laboratory
        .pragmark(&["explain", "--db", "app.db", by_id, "--set", "idd=5"])
        .exits(2)
        .complains(&["no statement has a parameter idd", "they have id"]);
    laboratory
        .pragmark(&["inspect", "app.db", "--queries", "gone.sql"])
        .exits(2)
        .complains(&["gone.sql: no such file"]);
    laboratory
        .pragmark(&["explain", "gone.trace"])
        .exits(2)
        .complains(&["gone.trace: no such file"]);
    laboratory.write("weights.sql", "-- weight: 3\nSELECT 1;");
    explain("weights.sql").exits(2).complains(&["weights.sql:1: a weight belongs between"]);
    laboratory.pragmark(&["explain", "SELECT 1"]).exits(2).complains(&["--db"]);
    laboratory.write("no.db", "this is a text and no database at all, as long as a header ..............................................");
    laboratory.pragmark(&["explain", "--db", "no.db", "SELECT 1"]).exits(3).complains(&["no.db"]);
}

#[test]
fn ctrl_c_leaves_no_copy_behind() {
    let laboratory = Laboratory::new();
    shop(&laboratory);
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n, orders";
    for signal in [Signal::INT, Signal::TERM] {
        let mut explain = laboratory.command(&["explain", "--db", "app.db", endless]);
        let mut child = explain.env("TMPDIR", laboratory.path()).spawn().unwrap();
        wait_until(|| !laboratory.left_over().is_empty());
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(laboratory.left_over().is_empty());
    }
}

#[test]
fn an_engine_is_not_taken_for_a_parameter_of_the_statement() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&["explain", "--db", "app.db", "SELECT 1", "--engine", "3.46.0"])
        .exits(2)
        .complains(&["`explain` takes it as `--vary engine=…`"]);
}
