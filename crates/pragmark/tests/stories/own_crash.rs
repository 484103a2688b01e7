//! A user crashes SQL of their own on a database of their own, and what an application has done to one.

use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};

use crate::examination::state;
use crate::laboratory::Laboratory;

/// A laboratory with a database of two megabytes that is in use, with a write-ahead log, and a script.
fn shop() -> (Laboratory, Connection) {
    let laboratory = Laboratory::new();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    std::fs::create_dir(laboratory.path().join("shop")).unwrap();
    let path = laboratory.path().join("shop/app.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection
        .execute(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = wal;
             CREATE TABLE item(id INTEGER PRIMARY KEY, v TEXT);
             WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                 INSERT INTO item SELECT i, printf('%01000d', i) FROM n;
             PRAGMA wal_checkpoint; UPDATE item SET v = 'in the log' WHERE id = 7",
        )
        .unwrap();
    let updates = (1..=20).map(|id| format!("UPDATE item SET v = 'new' WHERE id = {}; ", id * 90));
    laboratory.write("mine.sql", &updates.collect::<String>());
    (laboratory, connection)
}

fn crash<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let settings = ["--set", "journal_mode=wal", "--set", "synchronous=normal,full"];
    let few = ["--set", "locking_mode=normal", "--images", "200", "--out", "crashes"];
    [&["crash"], more, &settings, &few].concat()
}

#[test]
fn the_first_transactions_are_crashed_on_a_copy_and_the_database_in_use_stays_as_it_is() {
    let (laboratory, connection) = shop();
    let before = state(&laboratory.path().join("shop"));
    let own = ["--script", "mine.sql", "--db", "shop/app.db", "--transactions", "12"];
    laboratory.pragmark(&crash(&own)).exits(0).says(&[
        "transactions: the first 12; statements: 12 of 20",
        "shop/app.db",
        "Losses with the current settings, synchronous=full:",
        "● nothing     ◐ recent transactions     1  synchronous=normal",
    ]);
    assert_eq!(state(&laboratory.path().join("shop")), before);
    let losses = laboratory.trials("crashes").into_iter().map(|trial| {
        let models = &trial["outcome"]["measured"]["safety"];
        let torn = models.as_array().unwrap().iter().find(|it| it["model"] == "torn");
        torn.unwrap()["ordinary"].to_string()
    });
    let losses: Vec<String> = losses.collect();
    assert!(losses.iter().any(|it| it.contains("\"losing\":0")), "{losses:?}");
    assert!(losses.iter().all(|it| it.contains("\"corrupt\":0")), "{losses:?}");
    assert!(laboratory.left_over().is_empty());
    connection.close().unwrap();
}

#[test]
fn scripts_with_meta_commands_and_weights_are_crashed_with_the_values_that_they_draw() {
    let (laboratory, connection) = shop();
    let before = state(&laboratory.path().join("shop"));
    laboratory.write(
        "pay.sql",
        "\\set id random(1, 2000)\nBEGIN;\nUPDATE item SET v = 'paid' WHERE id = :id;\nEND;\n",
    );
    laboratory.write("read.sql", "SELECT v FROM item WHERE id = :id;\n");
    let own = |script| ["--script", script, "--db", "shop/app.db", "--transactions", "12"];
    let answer = laboratory.pragmark(&crash(&own("read.sql@3, pay.sql")));
    answer.exits(0).says(&["transactions: all 12; statements: 36 of 36", "shop/app.db"]);
    assert_eq!(state(&laboratory.path().join("shop")), before);
    std::fs::remove_dir_all(laboratory.path().join("crashes")).unwrap();
    laboratory.write("wrong.sql", "SELECT 1;\n\\sett id 1\n");
    laboratory.write("refused.sql", "\\set v 1\nUPDATE itme SET v = :v;\n");
    for (script, words) in [("wrong.sql", "wrong.sql:2"), ("refused.sql", "no such table: itme")] {
        let answer = laboratory.pragmark(&crash(&own(script)));
        answer.exits(2).complains(&[words]);
    }
    let answer = laboratory.pragmark(&crash(&["--script", "pay.sql"]));
    answer.exits(2).complains(&["require a database"]);
    assert!(laboratory.left_over().is_empty());
    connection.close().unwrap();
}

#[test]
fn what_cannot_be_crashed_is_named_and_nothing_is_written() {
    let (laboratory, connection) = shop();
    laboratory.write("bad.sql", "UPDATE item SET v = 1;\nUPDATE itme SET v = 2;\n");
    laboratory.write(
        "other.sql",
        "\\set id 1\nATTACH 'other.db' AS o;\nCREATE TABLE o.t AS SELECT :id;\n",
    );
    laboratory.write("copy.sql", "\\set id 1\nVACUUM INTO'copied.db';\n");
    laboratory.write("empty.db", "");
    laboratory.write("text.db", "This is no database, but a text of some length.\n");
    for (options, code, words) in [
        (&["--script", "bad.sql", "--db", "shop/app.db"][..], 2, "bad.sql:2: no such table: itme"),
        (
            &["--script", "other.sql", "--db", "shop/app.db"],
            2,
            "other.sql:2: ATTACH and VACUUM INTO reach files that are no copies",
        ),
        (
            &["--script", "copy.sql", "--db", "shop/app.db"],
            2,
            "copy.sql:2: ATTACH and VACUUM INTO reach files that are no copies",
        ),
        (&["--script", "mine.sql", "--db", "empty.db"], 3, "the file is empty"),
        (
            &["--script", "mine.sql", "--db", "text.db"],
            3,
            "not an SQLite database, or it is encrypted",
        ),
        (&["--script", "mine.sql", "--db", "absent.db"], 3, "absent.db"),
        (&["--script", "absent.sql"], 3, "absent.sql"),
        (&["--db", "shop/app.db"], 2, "--db requires --script or --trace"),
        (
            &["--script", "mine.sql", "--transactions", "5"],
            2,
            "--transactions requires --db or --trace",
        ),
        (&["--trace", "mine.sql"], 3, "mine.sql is not a trace"),
    ] {
        laboratory.pragmark(&crash(options)).exits(code).complains(&[words]);
        for made in ["crashes", "other.db", "copied.db"] {
            assert!(!laboratory.path().join(made).exists(), "{made}: {options:?}");
        }
    }
    assert!(laboratory.left_over().is_empty());
    connection.close().unwrap();
}

#[test]
fn a_script_that_changes_a_setting_or_leaves_a_transaction_open_is_told_at_once() {
    let laboratory = Laboratory::new();
    let off = "CREATE TABLE t(x);\nPRAGMA synchronous = OFF;\nINSERT INTO t VALUES (1);\n";
    laboratory.write("off.sql", &format!("{off}BEGIN;\nINSERT INTO t VALUES (2);\n"));
    let answer = laboratory.pragmark(&crash(&["--script", "off.sql"])).exits(0);
    let said = answer.stderr();
    assert!(said.contains("off.sql: from line 3 on, main.db has settings of its own"), "{said}");
    assert!(said.contains("the transaction that begins at line 4 is never committed"), "{said}");
    let answer = answer.says(&["wal/off/normal instead of", "never committed"]);
    assert!(!answer.stdout().contains("less safe than documented:"), "{}", answer.stdout());
}

/// Two connections that write in turn, and a database that is attached.
const APPLICATION: &str = r#"
import sqlite3
def connect():
    connection = sqlite3.connect("app.db", isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("ATTACH 'log.db' AS log")
    return connection
one = connect()
one.execute("PRAGMA journal_mode = WAL").fetchall()
one.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
one.execute("CREATE TABLE log.entry(v)")
two = connect()
for number in range(30):
    for connection in (one, two):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t(v) VALUES (?)", (number,))
        connection.execute("UPDATE t SET v = v + (SELECT count(*) FROM t)")
        connection.execute("INSERT INTO log.entry VALUES (?)", (b"x" * 50,))
        connection.execute("ROLLBACK" if number % 5 == 0 else "COMMIT")
        connection.execute("SELECT sum(v) FROM t").fetchall()
"#;

#[test]
fn the_transactions_of_an_application_are_crashed_with_the_settings_of_the_variant() {
    if !testing::has_python() {
        return;
    }
    let laboratory = Laboratory::new();
    laboratory.write("app.py", APPLICATION);
    let record = ["record", "--out", "app.trace", "--", "python3", "app.py"];
    laboratory.pragmark(&record).exits(0);
    let trace = ["--trace", "app.trace", "--transactions", "40"];
    laboratory.pragmark(&crash(&trace)).exits(0).says(&[
        "transactions: the first 40 of 50",
        "app.db",
        "statements unlike the recording: 0",
    ]);
    let ordinary = laboratory.trials("crashes").into_iter().flat_map(|trial| {
        let models = trial["outcome"]["measured"]["safety"].clone();
        let models = models.as_array().unwrap().clone().into_iter();
        models.filter(|model| model["assumed"] == true)
    });
    for model in ordinary {
        assert!(model["ordinary"].to_string().contains("\"corrupt\":0"), "{model}");
    }
    let page = laboratory.pragmark(&["report", "crashes", "--format", "markdown"]).exits(0);
    let page = page.says(&["delete/full/normal instead of wal/full/normal for "]);
    assert!(!page.stdout().contains("less safe than documented: "), "{}", page.stdout());
}
