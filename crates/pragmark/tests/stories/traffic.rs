//! A user asks what a recorded application does, and what to change.

use crate::laboratory::Laboratory;
use crate::recording::{RECORD, with_program};

/// A web shop that makes every mistake.
const SHOP: &str = r#"
import sqlite3
c = sqlite3.connect("shop.db", isolation_level=None)
c.executescript("""
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, email TEXT);
CREATE TABLE buy(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer(id), item TEXT);
CREATE INDEX buy_customer ON buy(customer);
CREATE INDEX buy_item ON buy(item);
""")
c.execute("BEGIN")
for i in range(2000): c.execute("INSERT INTO customer(name, email) VALUES (?, ?)", (f"name {i}", f"e{i}@x"))
c.execute("COMMIT")
for i in range(30): c.execute("INSERT INTO buy(customer, item) VALUES (?, ?)", (i, f"item {i % 7}"))
for i in range(30): c.execute("SELECT name FROM customer WHERE email = ?", (f"e{i}@x",)).fetchall(); c.execute("PRAGMA user_version")
for i in range(20): c.execute("SELECT id FROM customer WHERE name LIKE ?", (f"%{i}%",)).fetchall(); c.execute("PRAGMA user_version")
for i in range(40):
    c.execute("SELECT name FROM customer WHERE id = ?", (i,)).fetchall()
    c.execute("SELECT item FROM buy WHERE customer = ?", (i,)).fetchall()
c.execute("BEGIN"); c.execute("SELECT count(*) FROM buy").fetchall()
c.execute("DELETE FROM buy WHERE id = 1"); c.execute("COMMIT")
other = sqlite3.connect("shop.db"); other.execute("DELETE FROM buy WHERE id = 2"); other.commit(); other.close()
c.close()
"#;

fn recorded() -> Option<Laboratory> {
    let laboratory = with_program(SHOP)?;
    laboratory.pragmark(&RECORD).exits(0);
    Some(laboratory)
}

#[test]
fn every_lesson_names_its_experiment() {
    let Some(laboratory) = recorded() else { return };
    let answer = laboratory.pragmark(&["trace", "app.trace"]).exits(0);
    let text = answer.stdout().split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "CREATE INDEX customer_by_email ON customer(email);",
        "searches texts with a wildcard at the beginning",
        "pragmark run fts-baselines",
        "the index buy_item (buy)",
        "pragmark run index-timing",
        "inserted 2,000 rows one by one",
        "pragmark run insert-unroll",
        "were writes in autocommit",
        "pragmark run txn-basics",
        "ran in turn 40 times",
        "pragmark run orm-activerecord",
        "1 transaction read before writing",
        "pragmark run contention-begin-mode",
        "SEARCH buy USING INDEX buy_customer (customer=?)",
        "SCAN customer",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{}", answer.stdout());
    }
    // A constraint may need the index on the column of a foreign key.
    assert!(!text.contains("buy_customer (buy)"), "{text}");
    let known = laboratory.pragmark(&["list"]).exits(0).stdout();
    for word in text.split("pragmark run ").skip(1) {
        let id = word.split(['.', '`', ' ']).next().unwrap();
        assert!(known.contains(id), "{id} is no experiment");
    }
}

/// A server that opens a connection for each request, as web frameworks do.
const REQUESTS: &str = r#"
import sqlite3
sqlite3.connect("site.db").execute("CREATE TABLE page(id INTEGER PRIMARY KEY, title TEXT, body TEXT, seen INTEGER DEFAULT 0)")
for i in range(30):
    c = sqlite3.connect("site.db", isolation_level=None)
    c.execute('SELECT "page"."id", "page"."title", "page"."body", "page"."seen" FROM "page" WHERE "page"."seen" > ?', (i,)).fetchall()
    c.execute("INSERT INTO page(title) VALUES ('new')")
    c.close()
"#;

#[test]
fn a_connection_for_each_request_is_the_lesson_and_not_what_follows_from_it() {
    let Some(laboratory) = with_program(REQUESTS) else {
        return;
    };
    laboratory.pragmark(&RECORD).exits(0);
    let answer = laboratory.pragmark(&["trace", "app.trace"]).exits(0);
    let words = answer.stdout();
    let text = words.split_whitespace().collect::<Vec<&str>>().join(" ");
    let (lesson, table) = text.split_once("Statements no. statement").unwrap();
    assert!(lesson.contains("31 of 31 connections executed fewer than 20 statements"), "{lesson}");
    assert!(lesson.contains("pragmark run databases-open-close"), "{lesson}");
    for wrong in ["prepared again", "in autocommit"] {
        assert!(!lesson.contains(wrong), "{lesson}");
    }
    assert!(table.contains("SELECT … FROM \"page\" WHERE"), "{table}");
}

#[test]
fn plans_come_from_the_snapshot_and_later_changes() {
    let Some(laboratory) = recorded() else { return };
    laboratory.write(
        "app.py",
        "import sqlite3\nc = sqlite3.connect('shop.db', isolation_level=None)\n\
         c.execute('SELECT id FROM customer WHERE email = ?', ('a',)).fetchall()\n\
         c.execute('CREATE INDEX by_email ON customer(email)')\n\
         c.execute('SELECT id FROM customer WHERE email = ? LIMIT 1', ('a',)).fetchall()\n\
         c.create_function('twice', 1, lambda x: 2 * x)\n\
         c.execute('SELECT twice(21)').fetchall()\n",
    );
    let record = ["record", "--out", "later.trace", "--", "python3", "app.py"];
    laboratory.pragmark(&record).exits(0);
    laboratory.pragmark(&["trace", "later.trace"]).exits(0).says(&[
        "SCAN customer",
        "SEARCH customer USING COVERING INDEX by",
        "1 statement without a plan: no such function: twice",
    ]);
}

/// A program with a collation and a function of its own.
const OWN: &str = r#"
import sqlite3
c = sqlite3.connect("own.db", isolation_level=None)
c.create_collation("uni", lambda a, b: (a.lower() > b.lower()) - (a.lower() < b.lower()))
c.create_function("slug", 1, lambda text: text.lower())
c.execute("CREATE TABLE t(name TEXT COLLATE uni, slug)")
c.execute("CREATE INDEX by_name ON t(name)")
for i in range(50):
    c.execute("INSERT INTO t VALUES (?, slug(?))", ("Name%d" % i, "Name%d" % i))
    c.execute("SELECT slug FROM t WHERE name = ?", ("nAME%d" % i,)).fetchall()
"#;

#[test]
fn stand_ins_let_a_trace_be_replayed_and_are_named_with_the_results() {
    let Some(laboratory) = with_program(OWN) else { return };
    laboratory.pragmark(&RECORD).exits(0);
    let run = |arguments: &[&str]| laboratory.pragmark(arguments);
    let measure =
        ["measure", "--trace", "app.trace", "--rounds", "2", "--no-tiers", "--out", "own"];
    run(&measure).exits(3).complains(&[
        "cannot be replayed: collation uni, 1 statement",
        "content of table t, 101 statements",
        "stand-ins help, but answers may differ: --stand-in 'slug=?1' --stand-in 'uni=nocase'",
    ]);
    let given = ["--stand-in", "uni=nocase", "--stand-in", "slug=lower(?1)"];
    let with = |command: &[&str]| laboratory.pragmark(&[command, &given[..]].concat());
    let words = "Replayed with stand-ins, so answers and divergences may come from them";
    with(&[&measure[..], &["--set", "workers=processes"]].concat()).exits(0).says(&[words]);
    run(&["report", "own", "--format", "json"]).exits(0).says(&["slug=lower(?1)"]);
    let compare = ["compare", "app.trace", "--vary", "page_size=4096,1024", "--format", "json"];
    with(&compare).exits(0).says(&["\"stand_ins\": [", "slug=lower(?1)"]);
    run(&["explain", "app.trace"])
        .exits(0)
        .complains(&["--stand-in 'slug=?1' --stand-in 'uni=nocase'"]);
    with(&["explain", "app.trace"]).exits(0).says(&["With stand-ins", "slug=lower(?1)"]);
    let crash = ["crash", "--trace", "app.trace", "--quick", "--images", "200", "--out", "crashed"];
    let settings = ["--set", "journal_mode=wal", "--set", "synchronous=full", "--model", "kill"];
    with(&[&crash[..], &settings].concat()).exits(0).says(&["stand-in:", "slug=lower(?1)"]);
    run(&["tune", "app.trace", "--stand-in", "other=1"])
        .exits(2)
        .complains(&["no stand-in for other; it needs collation uni"]);
    run(&["measure", "-c", "SELECT 1", "--stand-in", "a=1"])
        .exits(2)
        .complains(&["--stand-in applies to traces"]);
}

#[test]
fn a_trace_is_cut_redacted_and_merged() {
    let Some(laboratory) = recorded() else { return };
    let trace = |arguments: &[&str]| {
        let all: Vec<&str> = ["trace"].iter().chain(arguments).copied().collect();
        laboratory.pragmark(&all)
    };
    let parts = [["--from", "1ms", "late"], ["--to", "1h", "early"]];
    for [option, time, out] in parts {
        trace(&["cut", "app.trace", option, time, "--out", out]).exits(0);
        trace(&[out]).exits(0).says(&["What the application does"]);
    }
    trace(&["merge", "early", "app.trace", "--out", "both"])
        .exits(3)
        .complains(&["at the same time", "shop.db"]);
    trace(&["redact", "app.trace", "--out", "safe"])
        .exits(0)
        .complains(&["safe: 2,223 statements"]);
    trace(&["safe"]).exits(0).says(&["Texts and blobs are hashed", "2,000"]);
    trace(&["redact", "app.trace", "--out", "safe"]).exits(3).complains(&["safe exists", "--out"]);
    trace(&["cut", "app.trace", "--out", "all"])
        .exits(2)
        .complains(&["--from, --to or --connection"]);
    let impossible = ["cut", "app.trace", "--from", "2s", "--to", "1s", "--out", "none"];
    trace(&impossible).exits(2).complains(&["--from must be earlier"]);
    assert!(!laboratory.path().join("none").exists());
}

#[test]
fn all_executions_of_a_trace_are_written_for_other_tools() {
    let Some(laboratory) = recorded() else { return };
    for (format, out) in [("jsonl", "app.jsonl"), ("parquet", "app.parquet"), ("sqlite", "app.db")]
    {
        laboratory
            .pragmark(&["trace", "app.trace", "--format", format, "--out", out])
            .exits(0)
            .complains(&["2,223 statements"]);
    }
    assert_eq!(laboratory.read("app.jsonl").lines().count(), 2223);
    laboratory
        .pragmark(&["trace", "app.trace", "--format", "jsonl"])
        .exits(2)
        .complains(&["--out"]);
    laboratory
        .pragmark(&["trace", "shop.db", "--format", "jsonl", "--out", "none.jsonl"])
        .exits(3)
        .complains(&["shop.db is not a trace"]);
    assert!(!laboratory.path().join("none.jsonl").exists());
}

/// Works on a database that exists: reads mostly popular rows, and adds and changes others.
const WORK: &str = r#"
import random, sqlite3
random.seed(1)
c = sqlite3.connect("shop.db", isolation_level=None)
for i in range(600):
    id = min(2000, int(random.paretovariate(1)))
    c.execute("SELECT name FROM customer WHERE id = ?", (id,)).fetchall()
for i in range(200): c.execute(f"SELECT id FROM customer WHERE email = 'e{random.randrange(2000)}@x' LIMIT 1").fetchall()
for i in range(100):
    c.execute("BEGIN IMMEDIATE")
    c.execute("INSERT INTO buy(id, customer, item) VALUES (?, ?, ?)", (1000 + i, random.randrange(1, 2000), random.choice(["pen", "pen", "ink"])))
    c.execute("UPDATE customer SET email = ? WHERE id = ?", (f"new{i}@x", random.randrange(1, 2000)))
    c.execute("COMMIT")
c.execute("CREATE TEMP TABLE mine AS SELECT 1 AS a"); c.execute("SELECT a FROM mine").fetchall()
c.close()
"#;

#[test]
fn a_script_with_the_recorded_distributions_can_be_measured() {
    let Some(laboratory) = recorded() else { return };
    laboratory.write("app.py", WORK);
    let record = ["record", "--out", "work.trace", "--", "python3", "app.py"];
    laboratory.pragmark(&record).exits(0);
    laboratory.write("taken.db", "mine");
    let taken = ["trace", "to-script", "work.trace", "--out", "taken.sql"];
    laboratory
        .pragmark(&taken)
        .exits(3)
        .complains(&["snapshot would be written as taken.db", "another name"]);
    assert_eq!(laboratory.read("taken.db"), "mine");
    let to_script = ["trace", "to-script", "work.trace", "--out", "work.sql"];
    laboratory.pragmark(&to_script).exits(0).complains(&[
        "900 transactions of 1,200 statements",
        "pragmark measure --db work.db work.sql",
    ]);
    let script = laboratory.read("work.sql");
    for part in [
        "\\set shape random(1, 900)",
        "\\draw v1 customer.id zipfian 1",
        "customer.email uniform",
        "LIMIT 1;",
        "random(1100, ",
        "WHEN :v6 <= 100 THEN 'ink' END",
        "BEGIN IMMEDIATE;",
        "\\elif :shape <= 900",
    ] {
        assert!(script.contains(part), "`{part}` is not in:\n{script}");
    }
    let measure = [
        "measure", "--db", "work.db", "work.sql", "--rounds", "2", "--set", "transactions=200",
        "--out", "run",
    ];
    laboratory
        .pragmark(&measure)
        .exits(0)
        .says(&["SEARCH customer USING INTEGER PRIMARY KEY", "4 trials, all measured"]);
    laboratory.pragmark(&to_script).exits(3).complains(&["work.sql exists"]);
}

/// Works on a database that begins empty: sessions with few keys, and rows whose keys it gives.
const SESSIONS: &str = r#"
import sqlite3
c = sqlite3.connect("new.db", isolation_level=None)
c.execute("CREATE TABLE s(sid TEXT PRIMARY KEY, n)")
c.execute("CREATE TABLE row(id INTEGER PRIMARY KEY, n)")
for i in range(300):
    sid = f"session-{i * i % 97 % 23}"
    c.execute("INSERT INTO s VALUES (?, 1) ON CONFLICT(sid) DO UPDATE SET n = n + 1", (sid,))
    c.execute("SELECT n FROM s WHERE sid = ?", (sid,)).fetchall()
c.execute("BEGIN")
for i in range(15): c.execute("INSERT INTO row VALUES (?, 1)", (i,))
for i in range(45): c.execute("SELECT n FROM row WHERE id = ?", (i % 15,)).fetchall()
c.execute("COMMIT")
c.close()
"#;

#[test]
fn a_script_for_an_empty_database_finds_the_rows_that_it_writes() {
    let Some(laboratory) = recorded() else { return };
    laboratory.write("app.py", SESSIONS);
    laboratory.pragmark(&["record", "--out", "s.trace", "--", "python3", "app.py"]).exits(0);
    let to_script = ["trace", "to-script", "s.trace", "--out", "s.sql"];
    laboratory.pragmark(&to_script).exits(0).complains(&["601 transactions of 662 statements"]);
    let script = laboratory.read("s.sql");
    for part in ["\\draw v1 pragmark_texts_", "INSERT OR IGNORE INTO row"] {
        assert!(script.contains(part), "{script}");
    }
    let measure = ["measure", "--db", "s.db", "s.sql", "--rounds", "2", "--no-tiers"];
    let measure = [&measure[..], &["--set", "transactions=900", "--out", "run"]].concat();
    let answer = laboratory.pragmark(&measure).exits(0).stdout();
    let select = script.lines().position(|line| line.starts_with("SELECT n FROM s")).unwrap() + 1;
    let [rows, _] = rows_and_steps(&answer, &format!("s:{select} "));
    assert!(rows > 0.9, "nearly every read finds its row: {answer}");
}

/// Returns the rows and the VM steps of a statement, which follow its median, the smallest and largest one, and the executions.
fn rows_and_steps(answer: &str, statement: &str) -> [f64; 2] {
    let row = answer.lines().find(|line| line.starts_with(statement)).unwrap();
    let figures: Vec<&str> = row.split_whitespace().collect();
    let of = |figure: &str| figure.replace(',', "").parse().unwrap();
    [of(figures[6]), of(figures[7])]
}

/// Fills a new database in a transaction that is too long for a script, and then reads from it.
const FILLED: &str = r#"
import sqlite3
c = sqlite3.connect("filled.db", isolation_level=None)
c.execute("CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT)")
c.execute("BEGIN")
c.executemany("INSERT INTO person(name) VALUES (?)", [(f"person {i}",) for i in range(1000)])
c.execute("COMMIT")
for i in range(60): c.execute("SELECT id FROM person WHERE name = ?", (f"person {i * 16}",)).fetchall()
c.close()
"#;

#[test]
fn a_script_for_a_database_that_was_filled_while_recording_reads_as_many_rows() {
    let Some(laboratory) = with_program(FILLED) else { return };
    laboratory.pragmark(&["record", "--out", "f.trace", "--", "python3", "app.py"]).exits(0);
    let to_script = ["trace", "to-script", "f.trace", "--out", "f.sql"];
    laboratory.pragmark(&to_script).exits(0).complains(&[
        "1 transaction of 1,002 statements (long",
        "f.db: empty when recording began, so it is as at the end",
    ]);
    let measure = ["measure", "--db", "f.db", "f.sql", "--rounds", "2", "--no-tiers"];
    let measure = [&measure[..], &["--set", "transactions=100", "--out", "run"]].concat();
    let answer = laboratory.pragmark(&measure).exits(0).stdout();
    let [rows, steps] = rows_and_steps(&answer, "f:");
    assert!(rows == 1.0 && (2_900.0..3_300.0).contains(&steps), "{answer}");
}

/// Makes a table whose keys are texts, most of them digits, the first time; then reads ranges of them and adds two rows.
const TEXTS: &str = r#"
import os, sqlite3
is_new = not os.path.exists("text.db")
c = sqlite3.connect("text.db", isolation_level=None)
if is_new:
    c.execute("CREATE TABLE phone(no TEXT PRIMARY KEY)")
    for i in range(400): c.execute("INSERT INTO phone VALUES (?)", (str(1000 + i * 20) if i % 9 else f"none {i}",))
else:
    c.execute("WITH more(n) AS (VALUES (1), (2)) INSERT INTO phone SELECT n FROM more")
    for i in range(1, 400):
        if i % 9: c.execute("SELECT * FROM phone WHERE no >= ? AND no < ?", (1000 + i * 20, 1050 + i * 20)).fetchall()
c.close()
"#;

#[test]
fn a_script_calculates_no_ends_of_ranges_from_texts_and_adds_its_rows_again() {
    let Some(laboratory) = with_program(TEXTS) else { return };
    for out in ["first.trace", "t.trace"] {
        laboratory.pragmark(&["record", "--out", out, "--", "python3", "app.py"]).exits(0);
    }
    let to_script = ["trace", "to-script", "t.trace", "--out", "t.sql"];
    laboratory.pragmark(&to_script).exits(0).complains(&["356 transactions of 356 statements"]);
    let script = laboratory.read("t.sql");
    for part in [":v1 + 50", "INSERT OR IGNORE INTO phone SELECT n FROM more"] {
        assert!(script.contains(part), "{script}");
    }
    let measure = ["measure", "--db", "t.db", "t.sql", "--rounds", "2", "--no-tiers"];
    let measure = [&measure[..], &["--set", "transactions=2000", "--out", "run"]].concat();
    laboratory.pragmark(&measure).exits(0);
}

/// Works with a temporary table only, of a database in memory.
const TEMPORARY: &str = r#"
import sqlite3
c = sqlite3.connect(":memory:", isolation_level=None)
c.execute("CREATE TEMP TABLE mine(a)")
for i in range(30): c.execute("INSERT INTO mine VALUES (?)", (i,))
"#;

#[test]
fn no_script_without_a_transaction_is_written() {
    let Some(laboratory) = recorded() else { return };
    laboratory.write("app.py", TEMPORARY);
    laboratory.pragmark(&["record", "--out", "m.trace", "--", "python3", "app.py"]).exits(0);
    let to_script = ["trace", "to-script", "m.trace", "--out", "m.sql"];
    let why = "a script can have none of the 30 transactions";
    laboratory.pragmark(&to_script).exits(3).complains(&[why]);
    for left in ["m.sql", "m.db", "m.db.unfinished"] {
        assert!(!laboratory.path().join(left).exists(), "{left}");
    }
    laboratory.write("app.py", &TEMPORARY.replace("TEMP TABLE", "TABLE"));
    laboratory.pragmark(&["record", "--out", "n.trace", "--", "python3", "app.py"]).exits(0);
    let to_script = ["trace", "to-script", "n.trace", "--out", "n.sql"];
    laboratory.pragmark(&to_script).exits(0).complains(&["30 transactions of 30 statements"]);
}

#[test]
fn no_script_is_written_for_what_is_not_in_the_trace() {
    let Some(laboratory) = recorded() else { return };
    laboratory.write("app.py", WORK);
    let record = ["record", "--out", "work.trace", "--", "python3", "app.py"];
    laboratory.pragmark(&record).exits(0);
    let other = ["trace", "to-script", "work.trace", "--database", "x.db", "--out", "x.sql"];
    laboratory.pragmark(&other).exits(3).complains(&["no statements for a database x.db"]);
    laboratory.pragmark(&["trace", "redact", "work.trace", "--out", "safe.trace"]).exits(0);
    let safe = ["trace", "to-script", "safe.trace", "--out", "x.sql"];
    laboratory.pragmark(&safe).exits(3).complains(&["no snapshot of", "shop.db"]);
    for left in ["x.sql", "x.db", "x.db.unfinished"] {
        assert!(!laboratory.path().join(left).exists(), "{left}");
    }
}
