//! Databases of the user's own that cannot be used: refused with the reason, and not changed by one byte.

use std::sync::Arc;
use std::time::Duration;

use engine::{Connection, Library, OpenFlags, Source};

use crate::examination::state;
use crate::laboratory::{Answer, Laboratory, wait_until};

/// A laboratory with a database of so many rows of a kilobyte, in a folder of its own, and statements on it.
fn shop(rows: u32) -> (Laboratory, Connection) {
    let laboratory = Laboratory::new();
    std::fs::create_dir(laboratory.path().join("shop")).unwrap();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("shop/app.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection
        .execute(&format!(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, v TEXT);
             WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
                 INSERT INTO item SELECT i, printf('%01000d', i) FROM n"
        ))
        .unwrap();
    laboratory.write("mine.sql", "UPDATE item SET v = 'new' WHERE id = 5;\n");
    (laboratory, connection)
}

/// What is done with a database of the user's, each with few trials.
const COMMANDS: [&[&str]; 3] = [
    &["measure", "mine.sql", "--rounds", "2", "--set", "transactions=5", "--out", "run"],
    &[
        "crash", "--script", "mine.sql", "--set", "journal_mode=wal", "--images", "20", "--out",
        "run",
    ],
    &["explain", "SELECT 1"],
];

/// Each command refuses the database with these words, and leaves everything as it is.
fn refused(laboratory: &Laboratory, database: &str, words: &str) {
    let folder = laboratory.path().join("shop");
    let before = state(&folder);
    for command in COMMANDS {
        let with = [command, &["--db", database]].concat();
        laboratory.pragmark(&with).exits(3).complains(&[words]);
        assert_eq!(state(&folder), before, "{command:?}");
        let _ = std::fs::remove_dir_all(laboratory.path().join("run"));
        assert!(laboratory.left_over().is_empty());
    }
}

#[test]
fn databases_that_are_empty_encrypted_or_missing_are_refused() {
    let (laboratory, connection) = shop(1_000);
    connection.close().unwrap();
    laboratory.write("shop/empty.db", "");
    laboratory.write("shop/encrypted.db", &"no header of a database ".repeat(400));
    refused(&laboratory, "shop/empty.db", "the file is empty");
    refused(&laboratory, "shop/encrypted.db", "not an SQLite database, or it is encrypted");
    refused(&laboratory, "shop/absent.db", "shop/absent.db");
}

#[test]
fn a_database_that_stays_locked_is_refused_after_some_seconds() {
    let (laboratory, connection) = shop(1_000);
    let before = state(&laboratory.path().join("shop"));
    // Reading the file in this process would end the lock.
    connection.execute("BEGIN EXCLUSIVE").unwrap();
    for command in COMMANDS {
        let with = [command, &["--db", "shop/app.db"]].concat();
        let answer = laboratory.pragmark(&with).exits(3);
        answer.complains(&["shop/app.db", "database is locked"]);
        let _ = std::fs::remove_dir_all(laboratory.path().join("run"));
    }
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(state(&laboratory.path().join("shop")), before);
    connection.close().unwrap();
}

#[test]
fn a_damaged_database_is_reported_with_the_statement_that_meets_the_damage() {
    let (laboratory, connection) = shop(1_000);
    connection.close().unwrap();
    let path = laboratory.path().join("shop/app.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // Every page but the first, which holds the schema.
    bytes[4096..].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    let before = state(&laboratory.path().join("shop"));
    for command in &COMMANDS[..2] {
        let with = [command, &["--db", "shop/app.db"][..]].concat();
        let answer = laboratory.pragmark(&with).exits(3);
        answer.complains(&["database disk image is malformed", "mine.sql:1"]);
        let _ = std::fs::remove_dir_all(laboratory.path().join("run"));
    }
    let check = ["inspect", "shop/app.db", "--quick-check"];
    laboratory.pragmark(&check).exits(3);
    assert_eq!(state(&laboratory.path().join("shop")), before);
}

/// A shell whose files cannot grow beyond so many blocks of 512 bytes, as on a full disk.
fn on_a_full_disk(laboratory: &Laboratory, blocks: u32, command: &[&str]) -> Answer {
    let limit = format!("-f {blocks} && trap '' XFSZ");
    laboratory.pragmark_with_limit(&limit, command)
}

#[test]
fn on_a_full_disk_the_reason_is_given_and_nothing_is_left() {
    let (laboratory, connection) = shop(16_000);
    connection.close().unwrap();
    let folder = laboratory.path().join("shop");
    let before = state(&folder);
    for command in COMMANDS {
        let with = [command, &["--db", "shop/app.db"]].concat();
        let answer = on_a_full_disk(&laboratory, 24_000, &with).exits(3);
        answer.complains(&["cannot copy", "shop/app.db", "File too large"]);
        assert_eq!(state(&folder), before, "{command:?}");
        let _ = std::fs::remove_dir_all(laboratory.path().join("run"));
        assert!(laboratory.left_over().is_empty(), "{command:?}");
    }
}

#[test]
fn a_database_that_changes_during_a_run_is_warned_of() {
    let (laboratory, connection) = shop(1_000);
    let measure = ["measure", "mine.sql", "--db", "shop/app.db", "--rounds", "5"];
    let run = laboratory.start(&[&measure[..], &["--seconds", "0.5", "--out", "run"]].concat());
    wait_until(|| {
        let record = std::fs::read_to_string(laboratory.path().join("run/outcomes.jsonl"));
        record.is_ok_and(|record| record.contains("measured"))
    });
    // Pragmark may be copying the database just then.
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    connection.execute("UPDATE item SET v = 'changed'").unwrap();
    let answer = Answer(run.wait_with_output().unwrap()).exits(0);
    let said = answer.stderr();
    assert!(said.contains("app.db was changed during the run"), "{said}");
    let still = laboratory
        .pragmark(&[&COMMANDS[0][..6], &["--db", "shop/app.db", "--out", "again"]].concat());
    assert!(!still.stderr().contains("was changed"), "{}", still.stderr());
    connection.close().unwrap();
}

#[test]
fn a_key_that_is_given_twice_is_an_error_that_says_why() {
    let (laboratory, connection) = shop(10);
    connection.close().unwrap();
    let insert = "INSERT INTO item VALUES (77, 'x')";
    laboratory
        .pragmark(&["measure", "--db", "shop/app.db", "-c", insert])
        .exits(2)
        .complains(&["UNIQUE constraint failed", "executed many times"]);
}

#[test]
fn a_mistake_in_sql_has_the_same_exit_code_in_every_command() {
    let (laboratory, connection) = shop(10);
    connection.close().unwrap();
    let database = ["--db", "shop/app.db"];
    for (sql, part) in [
        ("SELEC 1;\n", "syntax error"),
        ("SELECT * FROM nowhere;\n", "no such table"),
        ("INSERT INTO item VALUES (5, 'x');\n", "UNIQUE constraint failed"),
        ("-- nothing\n", ""),
    ] {
        laboratory.write("wrong.sql", sql);
        let refused = |command: &[&str]| {
            let command = [command, &database].concat();
            laboratory.pragmark(&command).exits(2).complains(&[part]);
        };
        refused(&["measure", "wrong.sql", "--rounds", "3"]);
        refused(&["tune", "wrong.sql", "--time-limit", "20s"]);
        refused(&["crash", "--script", "wrong.sql", "--quick", "--set", "journal_mode=wal"]);
        refused(&["compare", "wrong.sql", "--vary", "cache_size=-1000,-2000"]);
    }
    // An experiment file with such a statement is invalid, too; the record of its run is kept.
    laboratory.write("wrong.sql", "SELECT * FROM nowhere;\n");
    let write = ["measure", "wrong.sql", "--rounds", "3", "--write", "wrong.toml"];
    laboratory.pragmark(&[&write[..], &database].concat()).exits(0);
    laboratory.pragmark(&["run", "wrong.toml", "--probe", "0", "--out", "run"]).exits(2);
    assert!(laboratory.path().join("run/run.json").exists());
}

#[test]
fn a_script_that_changed_since_the_run_began_is_named_when_it_goes_on() {
    let (laboratory, connection) = shop(10);
    connection.close().unwrap();
    let measure = [COMMANDS[0], &["--db", "shop/app.db"]].concat();
    laboratory.pragmark(&measure).exits(0);
    let resume = ["run", "--resume", "run"];
    let unchanged = laboratory.pragmark(&resume).exits(0);
    assert!(!unchanged.stderr().contains("was changed"));
    laboratory.write("mine.sql", "SELECT 1;\n");
    laboratory.pragmark(&resume).complains(&["mine.sql was changed after the run began"]);
}

#[test]
fn a_database_is_no_place_for_an_answer_and_one_value_is_no_comparison() {
    let (laboratory, connection) = shop(10);
    connection.close().unwrap();
    let before = state(&laboratory.path().join("shop"));
    let measure = [
        "measure", "mine.sql", "--db", "shop/app.db", "--out", "run", "--rounds", "2", "--set",
        "transactions=5",
    ];
    let one = [&measure[..], &["--vary", "journal_mode=wal"]].concat();
    laboratory.pragmark(&one).exits(2).complains(&["only one value", "--set journal_mode=wal"]);
    let engine = [&measure[..], &["--vary", "engine=default"]].concat();
    laboratory.pragmark(&engine).exits(2).complains(&["for all variants with --engine default"]);
    laboratory.pragmark(&measure).exits(0);
    for command in
        [&["report", "run", "--format", "json"][..], &["report", "run", "--format", "html"]]
    {
        let over = [command, &["--out", "shop/app.db"]].concat();
        laboratory
            .pragmark(&over)
            .exits(3)
            .complains(&["shop/app.db is a SQLite database, and stays as it is"]);
    }
    assert_eq!(state(&laboratory.path().join("shop")), before);
}

#[test]
fn statements_that_reach_files_which_are_no_copies_are_refused() {
    let (laboratory, connection) = shop(1_000);
    connection.close().unwrap();
    let other = laboratory.path().join("shop/other.db");
    std::fs::copy(laboratory.path().join("shop/app.db"), &other).unwrap();
    let before = state(&laboratory.path().join("shop"));
    let attach = format!("ATTACH '{}' AS o;", other.display());
    let insert = "INSERT INTO o.users(email) VALUES ('x');";
    laboratory.write("attach.sql", &format!("SELECT 1;\n{attach}\n{insert}\n"));
    let copy = other.with_file_name("copy.db");
    let copy = format!("VACUUM INTO '{}'", copy.display());
    for (options, words) in [
        (&["attach.sql"][..], "attach.sql:2: ATTACH and VACUUM INTO"),
        (&["-c", &copy], "sql:1: ATTACH and VACUUM INTO"),
        (&["-c", "SELECT 1", "--setup", "attach.sql"], "attach.sql:2: ATTACH and VACUUM INTO"),
        (
            &["-c", "SELECT 1", "--set", &format!("schema_change={attach}")],
            "schema_change:1: ATTACH and VACUUM INTO",
        ),
    ] {
        let measure = [&["measure", "--db", "shop/app.db", "--out", "run"], options].concat();
        laboratory.pragmark(&measure).exits(2).complains(&[words]);
        assert_eq!(state(&laboratory.path().join("shop")), before, "{options:?}");
        assert!(laboratory.left_over().is_empty(), "{options:?}");
    }
}
