//! Copies of a database that has a little of everything.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;

const SCHEMA: &str = "
PRAGMA page_size = 8192; PRAGMA user_version = 7; PRAGMA journal_mode = WAL;
CREATE TABLE users(id INTEGER PRIMARY KEY AUTOINCREMENT, email TEXT UNIQUE, born TEXT, photo BLOB,
  domain TEXT GENERATED ALWAYS AS (substr(email, instr(email, '@') + 1)) VIRTUAL, CHECK (email LIKE '%@%.%'));
CREATE TABLE codes(code TEXT PRIMARY KEY, meaning) WITHOUT ROWID;
CREATE TABLE bare(a, b);
CREATE VIRTUAL TABLE notes USING fts5(body);
CREATE VIRTUAL TABLE found USING fts5(email, content = users, content_rowid = id);
CREATE VIRTUAL TABLE apart USING fts5(body, content = '');
CREATE INDEX users_born ON users(born);
CREATE VIEW adults AS SELECT * FROM users WHERE born < '2006';
CREATE TRIGGER noted AFTER INSERT ON users BEGIN INSERT INTO bare VALUES ('noted', new.email); END;
INSERT INTO users(email, born, photo) VALUES ('ada@example.com', '1815-12-10', x'0102'), ('bob@example.com', NULL, NULL);
INSERT INTO codes VALUES ('DE', 'Germany'), ('FR', 'France');
INSERT INTO bare(rowid, a, b) VALUES (40, 1.5, 'DE');
INSERT INTO notes VALUES ('secret words of Ada'), ('of Bob');
INSERT INTO found(found) VALUES ('rebuild');
INSERT INTO apart(rowid, body) VALUES (1, 'secret');
DELETE FROM users WHERE id = 2;
ANALYZE;";

struct Laboratory {
    folder: TempDir,
    library: Arc<Library>,
}

impl Laboratory {
    fn new() -> Laboratory {
        let laboratory = Laboratory {
            folder: tempfile::tempdir().unwrap(),
            library: Arc::new(Library::load(&Source::Embedded).unwrap()),
        };
        laboratory.open("app.db").execute(SCHEMA).unwrap();
        laboratory
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self, name: &str) -> Connection {
        Connection::open(&self.library, &self.path(name), OpenFlags::default(), None).unwrap()
    }

    fn anonymize(&self, keep: &[&str]) -> Result<Anonymized, TrialError> {
        let keep: Vec<String> = keep.iter().map(|it| (*it).to_owned()).collect();
        let temporary = tempfile::tempdir().unwrap();
        let (from, to) = (self.path("app.db"), self.path("new.db"));
        anonymize(&from, &keep, temporary.path(), &to)
    }
}

fn contains(path: &Path, word: &[u8]) -> bool {
    let bytes = std::fs::read(path).unwrap();
    bytes.windows(word.len()).any(|it| it == word)
}

#[test]
fn a_copy_has_the_same_schema_numbers_and_dates_and_none_of_the_words() {
    let laboratory = Laboratory::new();
    let done = laboratory.anonymize(&[]).unwrap();
    let (old, new) = (laboratory.open("app.db"), laboratory.open("new.db"));
    for same in [
        "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name)",
        "SELECT group_concat(rowid || born || length(email) || length(photo)) FROM users",
        "SELECT group_concat(rowid || ' ' || length(b)) FROM bare",
        "SELECT group_concat(length(code)) FROM codes",
        "SELECT group_concat(tbl || stat) FROM (SELECT * FROM sqlite_stat1 ORDER BY 1, 2)",
        "SELECT seq FROM sqlite_sequence",
        "PRAGMA page_size",
        "PRAGMA journal_mode",
        "PRAGMA user_version",
    ] {
        let [before, after] = [&old, &new].map(|it| it.query_value(same).unwrap());
        assert_eq!(before, after, "{same}");
    }
    assert_eq!(new.query_text("PRAGMA integrity_check").unwrap(), "ok");
    assert_eq!(done.left_out[0].0, "apart");
    assert_eq!(done.with_texts, ["users", "apart", "adults", "noted"]);
    let users = &done.tables[0];
    assert_eq!((users.name.as_str(), users.rows), ("users", 1));
    assert_eq!(users.replaced, [("email".to_owned(), 1), ("photo".to_owned(), 1)]);
    new.close().unwrap();
    // Chance writes shorter ones.
    for word in ["@example", "Germany", "secret", "words"] {
        assert!(!contains(&laboratory.path("new.db"), word.as_bytes()), "{word}");
    }
}

#[test]
fn equal_words_stay_equal_and_are_searched_under_their_new_names() {
    let laboratory = Laboratory::new();
    laboratory.anonymize(&["codes.meaning"]).unwrap();
    let new = laboratory.open("new.db");
    let germany = "SELECT meaning FROM bare JOIN codes ON code = b";
    assert_eq!(new.query_text(germany).unwrap(), "Germany");
    let of = "SELECT lower(substr(body, 1, 2)) FROM notes WHERE rowid = 2";
    let of = new.query_text(of).unwrap();
    let both = format!("SELECT count(*) FROM notes WHERE notes MATCH '{of}'");
    assert_eq!(new.query_i64(&both).unwrap(), 2);
    let email = new.query_text("SELECT substr(email, 1, 3) FROM users").unwrap();
    let found = format!("SELECT count(*) FROM found WHERE found MATCH '{email}'");
    assert_eq!(new.query_i64(&found).unwrap(), 1);
}

#[test]
fn the_original_stays_as_it_is_and_unknown_columns_have_a_hint() {
    let laboratory = Laboratory::new();
    let before = std::fs::read(laboratory.path("app.db")).unwrap();
    let error = laboratory.anonymize(&["users.emial"]).unwrap_err();
    assert!(error.to_string().contains("did you mean users.email?"), "{error}");
    laboratory.anonymize(&["USERS.Email"]).unwrap();
    assert!(contains(&laboratory.path("new.db"), b"ada@"));
    assert_eq!(std::fs::read(laboratory.path("app.db")).unwrap(), before);
}
