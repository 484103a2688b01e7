//! A user examines a database of their own, which is not changed by one byte.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};

use crate::laboratory::Laboratory;

/// A database in WAL mode with several things to find, and a connection that has it open.
fn shop(laboratory: &Laboratory) -> Connection {
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = laboratory.path().join("app.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection
        .execute(
            "PRAGMA journal_mode = wal; CREATE TABLE users(id INTEGER PRIMARY KEY, name);
             CREATE TABLE orders(id INTEGER PRIMARY KEY, user_id REFERENCES users(id), cents);
             CREATE INDEX by_cents ON orders(cents); CREATE INDEX by_cents_user ON orders(cents, user_id);
             INSERT INTO users VALUES (1, 'a'); INSERT INTO orders VALUES (1, 1, 500);",
        )
        .unwrap();
    connection
}

/// The content and the times of every file of a folder.
pub fn state(folder: &Path) -> Vec<(String, Vec<u8>, [i64; 5])> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let it = path.metadata().unwrap();
            let times = [it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec(), it.ino() as i64];
            (path.display().to_string(), std::fs::read(&path).unwrap(), times)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_database_in_use_is_examined_and_neither_it_nor_its_wal_changes() {
    let laboratory = Laboratory::new();
    let connection = shop(&laboratory);
    let before = state(laboratory.path());
    assert!(before.iter().any(|(name, bytes, _)| name.ends_with("-wal") && !bytes.is_empty()));
    laboratory
        .pragmark(&["inspect", "app.db", "--quick-check", "--engine", "default"])
        .exits(0)
        .says(&[
            "WAL mode, 2 tables, 2 indexes",
            "SQLite 3.54.1: the engine default",
            "busy_timeout 0",
            "WAL-reset bug: not present",
            "quick_check: no problems",
            "index by_cents: the index by_cents_user begins with the same columns",
            "DROP INDEX \"by_cents\";",
            "the foreign key (user_id) has no index",
            "ANALYZE has never run",
            "pragmark run contention-busy-timeout",
        ]);
    assert_eq!(state(laboratory.path()), before);
    assert!(laboratory.left_over().is_empty());
    connection.close().unwrap();
}

#[test]
fn the_copy_that_a_killed_examination_left_is_removed_by_the_next() {
    let laboratory = Laboratory::new();
    shop(&laboratory).close().unwrap();
    let left = laboratory.path().join("pragmark-work-1-0");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("owner.lock"), "").unwrap();
    std::fs::write(left.join("copy.db"), [0; 4096]).unwrap();
    laboratory.pragmark(&["inspect", "app.db", "--engine", "default"]).exits(0);
    assert!(!left.exists());
}

#[test]
fn the_findings_are_data_with_json_and_the_defaults_of_a_binding_replace_those_of_the_engine() {
    if !testing::has_python() {
        return;
    }
    let laboratory = Laboratory::new();
    shop(&laboratory).close().unwrap();
    let answer = laboratory
        .pragmark(&["inspect", "app.db", "--json", "--through", "python-sqlite3"])
        .exits(0);
    let all: serde_json::Value = serde_json::from_str(&answer.stdout()).unwrap();
    assert_eq!(all["application"]["settings"]["busy_timeout"], "5000");
    assert!(all["application"]["name"].as_str().unwrap().starts_with("Python"));
    let findings = all["database"]["findings"].as_array().unwrap();
    let has = |subject: &str| findings.iter().any(|finding| finding["subject"] == subject);
    assert!(has("foreign_keys") && !has("busy_timeout"), "{all:#}");
}

#[test]
fn what_is_no_database_is_refused_with_the_reason() {
    let laboratory = Laboratory::new();
    laboratory.write("empty.db", "");
    laboratory.write("text.db", "This is no database, but a text that is longer than a header.");
    shop(&laboratory).close().unwrap();
    let mut damaged = std::fs::read(laboratory.path().join("app.db")).unwrap();
    damaged[100..4_000].fill(0xff);
    std::fs::write(laboratory.path().join("damaged.db"), damaged).unwrap();
    let before = state(laboratory.path());
    for (file, why) in [
        ("empty.db", "the file is empty"),
        ("text.db", "not an SQLite database, or it is encrypted"),
        ("damaged.db", "cannot read damaged.db: database disk image is malformed"),
        ("nowhere.db", "No such file"),
    ] {
        laboratory.pragmark(&["inspect", file]).exits(3).complains(&[why]);
    }
    laboratory
        .pragmark(&["inspect", "app.db", "--through", "perl"])
        .exits(2)
        .complains(&["no driver `perl`"]);
    assert_eq!(state(laboratory.path()), before);
}

#[test]
fn a_database_in_use_is_anonymized_for_sharing_and_does_not_change() {
    let laboratory = Laboratory::new();
    let connection = shop(&laboratory);
    let users =
        "UPDATE users SET name = 'Augusta'; INSERT INTO users VALUES (2, 'ada@example.com')";
    connection.execute(users).unwrap();
    let before = state(laboratory.path());
    let out = ["anonymize", "app.db", "--out", "shared.db"];
    laboratory
        .pragmark(&out)
        .exits(0)
        .says(&["shared.db: 2 tables, 3 rows", "users: 2 rows, replaced 2 in name"]);
    let shared = std::fs::read(laboratory.path().join("shared.db")).unwrap();
    assert!(!shared.windows(3).any(|it| it == b"ada"));
    laboratory.pragmark(&out).exits(3).complains(&["shared.db", "the file exists"]);
    std::fs::remove_file(laboratory.path().join("shared.db")).unwrap();
    let keep = [&out[..], &["--keep", "users.nam"]].concat();
    laboratory.pragmark(&keep).exits(3).complains(&["no column users.nam", "users.name"]);
    assert_eq!(state(laboratory.path()), before);
}
