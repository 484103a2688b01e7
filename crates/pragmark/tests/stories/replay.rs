//! A user records an application and replays its traffic with other settings.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::laboratory::Laboratory;

/// An application of four processes: transactions whose writes depend on what they read, rollbacks, full-text search,
/// errors. Its settings and tables are made by a first connection.
const APPLICATION: &str = r#"
import multiprocessing, random, sqlite3, sys
def work(seed):
    r = random.Random(seed)
    c = sqlite3.connect("app.db", timeout=60, isolation_level=None)
    c.execute("PRAGMA synchronous = NORMAL")
    for i in range(150):
        kind, key = r.randrange(6), r.randrange(100)
        if kind == 0:
            c.execute("BEGIN IMMEDIATE")
            balance, = c.execute("SELECT balance FROM accounts WHERE id = ?", (key,)).fetchone()
            c.execute("UPDATE accounts SET balance = ? WHERE id = ?", (balance - 1, key))
            c.execute("INSERT INTO log(what) SELECT 'total ' || sum(balance) FROM accounts")
            c.execute("ROLLBACK" if i % 5 == 0 else "COMMIT")
        elif kind == 1: c.execute("INSERT INTO notes VALUES (?)", (f"note {i} red",))
        elif kind == 2: c.execute("SELECT count(*) FROM log").fetchall()
        elif kind == 3: c.execute("SELECT rowid FROM notes WHERE notes MATCH 'red'").fetchone()
        elif kind == 4:
            try: c.execute("INSERT INTO accounts VALUES (?, 1)", (key,))
            except sqlite3.IntegrityError: pass
        else: c.execute("UPDATE accounts SET balance = balance + 1 WHERE id = ?", (key,))
    c.close()
c = sqlite3.connect("app.db", isolation_level=None)
c.execute("PRAGMA journal_mode = WAL").fetchall()
if "before" not in sys.argv:
    c.execute("CREATE TABLE log(id INTEGER PRIMARY KEY AUTOINCREMENT, what)")
    c.execute("CREATE VIRTUAL TABLE notes USING fts5(words)")
    c.execute("CREATE TABLE accounts(id INTEGER PRIMARY KEY, balance INTEGER)")
    c.executemany("INSERT INTO accounts VALUES (?, 100)", [(k,) for k in range(100)])
c.close()
workers = [multiprocessing.Process(target=work, args=(seed,)) for seed in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
"#;

/// A laboratory in which a program was recorded; none without Python.
fn recorded(program: &str, options: &[&str]) -> Option<Laboratory> {
    if !testing::has_python() {
        return None;
    }
    let laboratory = Laboratory::new();
    laboratory.write("app.py", program);
    let record = ["record", "--out", "app.trace"];
    let command = ["--", "python3", "app.py"];
    let record = record.iter().chain(options).chain(&command).copied();
    laboratory.pragmark(&record.collect::<Vec<_>>()).exits(0);
    Some(laboratory)
}

/// Replays the trace with few rounds.
fn replay<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let measure =
        ["measure", "--trace", "app.trace", "--rounds", "2", "--out", "run", "--no-tiers"];
    measure.iter().chain(more).copied().collect()
}

/// What a file is, with the time of its last change.
fn state(path: &Path) -> (Vec<u8>, std::time::SystemTime) {
    let changed = path.metadata().unwrap().modified().unwrap();
    (std::fs::read(path).unwrap(), changed)
}

fn metric(trial: &Value, name: &str) -> f64 {
    let value = &trial["outcome"]["measured"]["metrics"][name];
    value.as_f64().unwrap_or_else(|| panic!("{name}: {trial}"))
}

#[test]
fn each_process_of_an_application_is_a_process_of_the_replay() {
    let Some(laboratory) = recorded(APPLICATION, &[]) else {
        return;
    };
    let varied = ["--set", "workers=processes", "--vary", "journal_mode=wal,delete"];
    let answer = laboratory.pragmark(&replay(&varied));
    answer.exits(0).says(&["Replay", "9 equal"]);
    let trials = laboratory.trials("run");
    assert!(trials.len() >= 6);
    for trial in &trials {
        assert_eq!(metric(trial, "differing_tables"), 0.0);
        assert!(metric(trial, "agreement_percent") > 99.0, "{trial}");
    }
}

#[test]
fn an_application_of_four_processes_is_replayed_with_two_journal_modes() {
    let Some(laboratory) = recorded(APPLICATION, &[]) else {
        return;
    };
    let files = ["app.db", "app.trace"].map(|name| laboratory.path().join(name));
    let before = [&files[0], &files[1]].map(|file| std::fs::read(file).unwrap());
    let answer = laboratory.pragmark(&replay(&["--vary", "journal_mode=wal,delete"]));
    answer
        .exits(0)
        .says(&["Replay", "9 equal", "The recording lasted", "journal_mode", "update_accounts"]);
    let trials = laboratory.trials("run");
    assert!(trials.len() >= 6);
    for trial in &trials {
        assert_eq!(metric(trial, "differing_tables"), 0.0, "{trial}");
        assert_eq!(metric(trial, "coverage_percent"), 100.0);
    }
    let after = [&files[0], &files[1]].map(|file| std::fs::read(file).unwrap());
    assert!(before == after, "the user's files are as they were");
    assert!(!laboratory.path().join("app.db-wal").exists());
    assert!(laboratory.left_over().is_empty());
}

/// Threads that share a database in memory: one writes, others read, and a transaction is long.
const IN_MEMORY: &str = r#"
import sqlite3, threading
def connect():
    return sqlite3.connect("file:cache?mode=memory&cache=shared", uri=True, isolation_level=None, check_same_thread=False)
keeper = connect()
keeper.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, name)")
keeper.execute("CREATE TABLE other(a)")
lock = threading.Lock()
def work(number):
    c = connect()
    for i in range(60):
        with lock:
            c.execute("INSERT INTO item(name) VALUES (?)", (f"{number} {i}",))
            c.execute("SELECT count(*) FROM item").fetchall()
    c.close()
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for t in threads: t.start()
for t in threads: t.join()
keeper.execute("BEGIN"); keeper.execute("SELECT * FROM item WHERE id < 5").fetchall()
keeper.execute("INSERT INTO other VALUES (1)"); keeper.execute("COMMIT")
own = sqlite3.connect(":memory:")
own.execute("CREATE TABLE item(a)")
own.execute("SELECT * FROM item").fetchall()
"#;

#[test]
fn a_database_in_memory_that_connections_share_is_shared_in_the_replay() {
    for workers in ["workers=threads", "workers=processes"] {
        let Some(laboratory) = recorded(IN_MEMORY, &[]) else {
            return;
        };
        laboratory
            .pragmark(&replay(&["--set", workers]))
            .exits(0)
            .says(&["p99_us", "replay of a longer recording may"]);
        for trial in laboratory.trials("run") {
            let metric = |name| metric(&trial, name);
            assert_eq!(metric("agreement_percent"), 100.0, "{trial}");
            assert_eq!(metric("coverage_percent"), 100.0, "{trial}");
        }
    }
}

#[test]
fn a_database_that_was_there_is_replayed_from_its_snapshot_and_never_changed() {
    let Some(laboratory) = recorded(APPLICATION, &[]) else {
        return;
    };
    std::fs::remove_file(laboratory.path().join("app.trace")).unwrap();
    let again = ["record", "--out", "app.trace", "--", "python3", "app.py", "before"];
    laboratory.pragmark(&again).exits(0);
    let before = state(&laboratory.path().join("app.db"));
    laboratory.pragmark(&replay(&[])).exits(0);
    assert!(before == state(&laboratory.path().join("app.db")));
    for trial in laboratory.trials("run") {
        assert_eq!(metric(&trial, "differing_tables"), 0.0, "{trial}");
    }
}

#[test]
fn a_program_that_was_killed_is_replayed_as_far_as_it_came() {
    if !testing::has_python() {
        return;
    }
    let laboratory = Laboratory::new();
    // No worker comes to its end by itself, however late the signal is.
    let endless = APPLICATION.replace("range(150)", "range(10**9)");
    let killed = endless.replace("c.close()\nworkers", "workers").replace(
        "for worker in workers: worker.join()",
        "import os, time\ntime.sleep(0.05)\nfor worker in workers: os.kill(worker.pid, 9)\nfor worker in workers: worker.join()",
    );
    laboratory.write("app.py", &killed);
    let record = ["record", "--out", "app.trace", "--", "python3", "app.py"];
    laboratory.pragmark(&record).exits(0);
    let answer = laboratory.pragmark(&replay(&[])).exits(0);
    answer.says(&["Replay"]);
    for trial in laboratory.trials("run") {
        let measured = &trial["outcome"]["measured"];
        // A read that ran while another process committed may see the table before or after.
        assert!(metric(&trial, "agreement_percent") >= 98.0, "{measured}");
        // Known and equal, or not known and said so.
        let end = measured["tables"][0]["rows"].to_string();
        match measured["metrics"]["differing_tables"].as_f64() {
            Some(differing) => assert_eq!(differing, 0.0, "{measured}"),
            None => assert!(end.contains("not compared"), "{end}"),
        }
    }
}

#[test]
fn functions_of_the_application_are_listed_and_refused_below_the_wanted_share() {
    let django = "import sqlite3\nc = sqlite3.connect('app.db', isolation_level=None)\nc.create_function('django_date_trunc', 2, lambda kind, value: value)\nc.execute('CREATE TABLE t(a, b)')\nfor i in range(30): c.execute('INSERT INTO t VALUES (?, ?)', (i, 'x'))\nfor i in range(10): c.execute(\"SELECT django_date_trunc('day', a) FROM t\").fetchall()\nc.close()\n";
    let Some(laboratory) = recorded(django, &[]) else {
        return;
    };
    laboratory.pragmark(&replay(&[])).exits(3).complains(&[
        "warning: cannot be replayed: function django_date_trunc, 10 statements",
        "function django_date_trunc (10 statements)",
        "min_coverage",
    ]);
    assert!(!laboratory.path().join("run").exists());
    laboratory
        .pragmark(&replay(&["--set", "min_coverage=10"]))
        .exits(0)
        .says(&["Not replayed: function django_date_trunc, 10 statements"]);
}

#[test]
fn what_cannot_be_replayed_is_said_before_anything_is_measured() {
    let program = "import sqlite3\nc = sqlite3.connect('app.db')\nc.execute('CREATE TABLE t(a)')\nc.close()\n";
    let Some(redacted) = recorded(program, &["--redact"]) else {
        return;
    };
    let refused = |laboratory: &Laboratory, words: &str| {
        laboratory.pragmark(&replay(&[])).exits(3).complains(&[words]);
        assert!(!laboratory.path().join("run").exists());
    };
    refused(&redacted, "it is redacted");
    redacted.write("app.trace", "no trace");
    refused(&redacted, "is not a trace");
    std::fs::remove_file(redacted.path().join("app.trace")).unwrap();
    refused(&redacted, "cannot read app.trace");
    let Some(laboratory) = recorded(program, &[]) else {
        return;
    };
    let change = "import sqlite3\nc = sqlite3.connect('app.trace')\nc.execute(\"UPDATE snapshot SET state = 'failed', result = 11\")\nc.commit()\nc.execute('PRAGMA user_version = 1')\n";
    let (snapshot, version) = change.split_at(change.find("c.execute('PRAGMA").unwrap());
    let python = |program: &str| {
        let status =
            Command::new("python3").args(["-c", program]).current_dir(laboratory.path()).status();
        assert!(status.unwrap().success());
    };
    python(snapshot);
    refused(&laboratory, "it has no snapshot of");
    python(&format!("import sqlite3\nc = sqlite3.connect('app.trace')\n{version}"));
    refused(&laboratory, "has trace format 1");
    laboratory.pragmark(&replay(&["--mode", "free"])).exits(3);
}

#[test]
fn a_replay_is_written_as_an_experiment_that_runs() {
    let Some(laboratory) = recorded(APPLICATION, &[]) else {
        return;
    };
    let write = [
        "--vary", "synchronous=normal,off", "--mode", "paced", "--set", "speed_percent=400",
        "--write", "my.toml",
    ];
    laboratory.pragmark(&replay(&write)).exits(0);
    let text = laboratory.read("my.toml");
    for words in ["workload = \"replay\"", "mode = \"paced\"", "speed_percent = 400"] {
        assert!(text.contains(words), "{text}");
    }
    laboratory
        .pragmark(&["run", "my.toml", "--out", "run"])
        .exits(0)
        .says(&["Replay", "synchronous"]);
}
