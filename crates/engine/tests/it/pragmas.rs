//! Every setting of the catalogue takes effect on the default engine, and what does not take effect is
//! noticed.

use crate::support::{Scratch, engine, memory, open};
use pragmark_engine::pragma::{self, Access, CATALOGUE, PragmaError, Scope};
use pragmark_engine::{Connection, EngineError, Library};
use std::path::Path;
use std::sync::Arc;

fn did_not_take_effect(result: Result<String, EngineError>) -> String {
    match result {
        Err(EngineError::Pragma(PragmaError::Setting(what))) => {
            let (effect, why) = what.split_once("): ").expect("a reason");
            assert!(effect.contains("did not take effect"), "{effect}");
            why.to_owned()
        }
        other => panic!("expected a setting without effect, got {other:?}"),
    }
}

fn fresh(library: &Arc<Library>, scratch: &Scratch, name: &str) -> Connection {
    open(library, &scratch.file(name))
}

#[test]
fn the_catalogue_holds_forty_settings_in_order() {
    let names: Vec<_> = CATALOGUE.iter().map(|pragma| pragma.name).collect();
    assert_eq!(names.len(), 40);
    assert!(names.is_sorted_by(|a, b| a < b));
}

#[test]
fn every_pragma_of_the_catalogue_is_known_to_the_engine() {
    let connection = memory(&engine());
    let known = connection.query_all("PRAGMA pragma_list").expect("a list");
    for pragma in CATALOGUE {
        assert!(known.iter().any(|row| row[0].to_string() == pragma.name), "{}", pragma.name);
    }
}

#[test]
fn defaults_are_what_a_fresh_database_reports() {
    let (library, scratch) = (engine(), Scratch::new());
    let values = pragma::read_back(&fresh(&library, &scratch, "db")).expect("reads");
    for pragma in CATALOGUE {
        match (pragma.access, pragma.default) {
            // cache_spill reports a number of pages while it is on.
            (Access::ReadWrite, Some("on")) if pragma.name == "cache_spill" => {
                assert_eq!(values["cache_spill"], "483");
            }
            (Access::ReadWrite, default) => {
                assert_eq!(Some(values[pragma.name].as_str()), default, "{}", pragma.name);
            }
            (Access::ReadOnly, _) => assert!(values.contains_key(pragma.name), "{}", pragma.name),
            (Access::WriteOnly | Access::Work, _) => {
                assert!(!values.contains_key(pragma.name), "{}", pragma.name);
            }
        }
    }
    assert_eq!(values.len(), 37);
}

#[test]
fn every_level_of_every_setting_takes_effect() {
    let (shared, scratch) = (engine(), Scratch::new());
    let mut applied = 0;
    for pragma in CATALOGUE {
        for level in pragma.levels.iter().copied().chain(pragma.default) {
            // Settings of the process would reach the next test.
            let library =
                if pragma.scope == Scope::Process { engine() } else { Arc::clone(&shared) };
            let connection = fresh(&library, &scratch, &format!("{}-{applied}", pragma.name));
            let value = pragma::apply(&connection, pragma.name, level)
                .unwrap_or_else(|error| panic!("{} = {level}: {error}", pragma.name));
            assert_eq!(value, level, "levels are in their normal spelling");
            applied += 1;
        }
    }
    assert!(applied > 100, "{applied}");
}

#[test]
fn numbers_without_levels_take_effect() {
    let (library, scratch) = (engine(), Scratch::new());
    for (name, value) in [
        ("application_id", "-7"),
        ("user_version", "2147483647"),
        ("max_page_count", "1000"),
        ("hard_heap_limit", "100000000"),
        ("cache_spill", "100000"),
        ("cache_size", "0"),
        ("cache_size", "1000000"),
    ] {
        let connection = fresh(&library, &scratch, name);
        assert_eq!(pragma::apply(&connection, name, value).expect(name), value);
    }
}

#[test]
fn a_page_size_set_in_time_is_that_of_the_file() {
    let (library, scratch) = (engine(), Scratch::new());
    let path = scratch.file("db");
    let connection = open(&library, &path);
    pragma::apply(&connection, "page_size", "16384").expect("in time");
    pragma::apply(&connection, "encoding", "UTF-16be").expect("in time");
    pragma::apply(&connection, "auto_vacuum", "incremental").expect("in time");
    pragma::apply(&connection, "journal_mode", "wal").expect("possible");
    connection.execute("CREATE TABLE t(x)").expect("creates");
    connection.close().expect("closes");

    let header = std::fs::read(&path).expect("the file");
    assert_eq!(u16::from_be_bytes([header[16], header[17]]), 16384);
    let again = open(&library, &path);
    for (name, value) in
        [("page_size", "16384"), ("encoding", "UTF-16be"), ("auto_vacuum", "incremental")]
    {
        assert_eq!(pragma::read(&again, name).expect(name), value);
    }
}

#[test]
fn a_late_page_size_is_noticed() {
    let (library, scratch) = (engine(), Scratch::new());
    let path = scratch.file("db");
    open(&library, &path).execute("CREATE TABLE t(x)").expect("creates");
    // A new connection has not read the header yet, and SQLite would repeat the wish.
    let connection = open(&library, &path);
    let why = did_not_take_effect(pragma::apply(&connection, "page_size", "8192"));
    assert!(why.contains("before the first write"), "{why}");
    assert_eq!(pragma::read(&connection, "page_size").expect("reads"), "4096");
}

#[test]
fn a_page_size_in_wal_mode_is_noticed() {
    let (library, scratch) = (engine(), Scratch::new());
    let connection = fresh(&library, &scratch, "db");
    pragma::apply(&connection, "journal_mode", "wal").expect("possible");
    let why = did_not_take_effect(pragma::apply(&connection, "page_size", "8192"));
    assert!(why.contains("WAL mode"), "{why}");
}

#[test]
fn wal_in_memory_is_noticed() {
    let connection = memory(&engine());
    let why = did_not_take_effect(pragma::apply(&connection, "journal_mode", "wal"));
    assert!(why.contains("in memory"), "{why}");
}

#[test]
fn settings_that_come_too_late_or_go_too_far_are_noticed_with_their_reason() {
    let (library, scratch) = (engine(), Scratch::new());
    let connection = fresh(&library, &scratch, "db");
    connection.execute("CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(100000))").expect("runs");
    for (name, value, reason) in [
        ("auto_vacuum", "full", "VACUUM"),
        ("encoding", "UTF-16le", "never changes"),
        ("max_page_count", "3", "already has"),
        ("mmap_size", "4294967296", "limit is 2147418112 bytes"),
    ] {
        let why = did_not_take_effect(pragma::apply(&connection, name, value));
        assert!(why.contains(reason), "{name}: {why}");
    }
    pragma::apply(&connection, "hard_heap_limit", "50000000").expect("lowers");
    let why = did_not_take_effect(pragma::apply(&connection, "hard_heap_limit", "60000000"));
    assert!(why.contains("lowered"), "{why}");
}

#[test]
fn foreign_keys_within_a_transaction_are_noticed() {
    let connection = memory(&engine());
    connection.execute("BEGIN").expect("begins");
    let why = did_not_take_effect(pragma::apply(&connection, "foreign_keys", "on"));
    assert!(why.contains("transaction"), "{why}");
}

#[test]
fn exclusive_locking_before_wal_cannot_be_left_in_wal() {
    let (library, scratch) = (engine(), Scratch::new());
    let connection = fresh(&library, &scratch, "db");
    pragma::apply(&connection, "locking_mode", "exclusive").expect("possible");
    pragma::apply(&connection, "journal_mode", "wal").expect("possible");
    connection.execute("CREATE TABLE t(x)").expect("creates");
    assert!(!Path::new(&scratch.file("db-shm")).exists(), "no shared memory");
    let why = did_not_take_effect(pragma::apply(&connection, "locking_mode", "normal"));
    assert!(why.contains("WAL"), "{why}");
}

#[test]
fn a_setting_that_meets_a_lock_is_busy() {
    let (library, scratch) = (engine(), Scratch::new());
    let path = scratch.file("db");
    let (first, second) = (open(&library, &path), open(&library, &path));
    first.execute("CREATE TABLE t(x); BEGIN EXCLUSIVE").expect("locks");
    let error = pragma::apply(&second, "journal_mode", "wal").expect_err("locked");
    assert!(error.is_busy(), "{error}");
}

#[test]
fn leaving_wal_while_another_connection_is_open_is_busy_and_wal_stays() {
    let (library, scratch) = (engine(), Scratch::new());
    let path = scratch.file("db");
    let (first, second) = (open(&library, &path), open(&library, &path));
    pragma::apply(&first, "journal_mode", "wal").expect("possible");
    second.execute("CREATE TABLE t(x)").expect("the second connection takes part");
    let error = pragma::apply(&first, "journal_mode", "delete").expect_err("shared");
    assert!(error.is_busy(), "{error}");
    assert!(error.to_string().contains("journal_mode"), "{error}");
    for connection in [&first, &second] {
        let mode = pragma::read(connection, "journal_mode").expect("reads");
        assert_eq!(mode, "wal");
    }
}

#[test]
fn rollback_journals_of_a_database_in_memory_are_noticed() {
    let connection = memory(&engine());
    for mode in ["delete", "truncate", "persist", "wal"] {
        let why = did_not_take_effect(pragma::apply(&connection, "journal_mode", mode));
        assert!(why.contains("in memory"), "{mode}: {why}");
    }
    for mode in ["off", "memory"] {
        let set = pragma::apply(&connection, "journal_mode", mode);
        assert_eq!(set.expect("possible"), mode);
    }
}

#[test]
fn unknown_and_unsettable_pragmas_are_errors() {
    let connection = memory(&engine());
    let failure = |name| match pragma::apply(&connection, name, "1") {
        Err(EngineError::Pragma(error)) => error,
        other => panic!("{name}: {other:?}"),
    };
    assert!(failure("jurnal_mode").to_string().contains("no configuration PRAGMA"));
    assert!(failure("page_count").to_string().contains("cannot be set"));
    assert!(failure("quick_check").to_string().contains("cannot be set"));
    assert!(matches!(failure("mmap_size"), PragmaError::NotInEngine(..)), "in memory");
    assert!(matches!(
        pragma::read(&connection, "case_sensitive_like"),
        Err(EngineError::Pragma(PragmaError::NotReadable(_)))
    ));
}
