//! The file system in memory, and recording over it and over the disk.

use crate::support::{Scratch, device_characteristics, engine};
use pragmark_engine::vfs::{Call, FileKind, MemoryOptions, MemoryVfs, RecordingVfs};
use pragmark_engine::{CheckpointMode, Connection, Library, OpenFlags};
use std::path::Path;
use std::sync::Arc;

const SCRIPT: &str = "
    CREATE TABLE t(id INTEGER PRIMARY KEY, x);
    WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO t(x) SELECT hex(zeroblob(i % 50)) FROM n;
    DELETE FROM t WHERE id % 3 = 0;
    BEGIN; UPDATE t SET x = 'lost'; ROLLBACK;
    VACUUM;";

fn memory(library: &Arc<Library>) -> MemoryVfs {
    let options = MemoryOptions { default: true, ..MemoryOptions::default() };
    MemoryVfs::register(library, options).expect("registers")
}

fn open(library: &Arc<Library>, vfs: &str, path: impl AsRef<Path>) -> Connection {
    Connection::open(library, path.as_ref(), OpenFlags::default(), Some(vfs)).expect("opens")
}

fn work(connection: &Connection, mode: &str) {
    connection.execute(&format!("PRAGMA journal_mode = {mode}")).expect("sets the mode");
    connection.execute(SCRIPT).expect("works");
    connection.checkpoint(CheckpointMode::Truncate).expect("checkpoints");
}

#[test]
fn a_database_in_memory_has_the_bytes_it_would_have_on_a_disk() {
    for mode in ["delete", "truncate", "persist", "memory", "off", "wal"] {
        let (library, scratch) = (engine(), Scratch::new());
        let vfs = MemoryVfs::register(&library, MemoryOptions::default()).expect("registers");
        let in_memory = open(&library, vfs.name(), "main.db");
        work(&in_memory, mode);
        let path = scratch.file("main.db");
        let on_disk = crate::support::open(&library, &path);
        work(&on_disk, mode);
        drop((in_memory, on_disk));
        let disk = std::fs::read(&path).expect("the file");
        assert!(disk.len() > 8192);
        assert_eq!(vfs.with_file("main.db", |bytes| bytes.to_vec() == disk), Some(true), "{mode}");
        assert_eq!(vfs.open_files(), 0, "{mode}");
        let left = scratch.file("main.db-journal").exists();
        let journals = vfs.names().contains(&"main.db-journal".to_owned());
        assert_eq!(journals, left, "{mode}");
    }
}

#[test]
fn two_connections_share_locks_and_the_write_ahead_log() {
    let library = engine();
    let vfs = memory(&library);
    let (one, two) = (open(&library, vfs.name(), "main.db"), open(&library, vfs.name(), "main.db"));
    one.execute("CREATE TABLE t(x); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)").expect("begins");
    assert!(two.execute("BEGIN IMMEDIATE").expect_err("locked").is_busy());
    one.execute("COMMIT; PRAGMA journal_mode = wal; BEGIN IMMEDIATE; INSERT INTO t VALUES (2)")
        .expect("goes on");
    assert_eq!(two.query_i64("SELECT count(*) FROM t").expect("reads"), 1);
    assert!(two.execute("BEGIN IMMEDIATE").expect_err("locked").is_busy());
    one.execute("COMMIT").expect("commits");
    assert_eq!(two.query_i64("SELECT count(*) FROM t").expect("reads"), 2);
}

#[test]
fn a_hot_journal_that_was_loaded_is_rolled_back() {
    let library = engine();
    let vfs = memory(&library);
    let connection = open(&library, vfs.name(), "main.db");
    connection
        .execute(
            "CREATE TABLE t(x); INSERT INTO t VALUES ('before'); PRAGMA cache_size = 1;
             BEGIN; UPDATE t SET x = 'after'; CREATE TABLE big(x);
             WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                 INSERT INTO big SELECT zeroblob(100) FROM n;",
        )
        .expect("spills");
    let crashed = vfs.files();
    assert_eq!(crashed.len(), 2, "a database and its journal");
    drop(connection);
    let before = vfs.load(crashed);
    assert_eq!(before.len(), 1);
    let recovered = open(&library, vfs.name(), "main.db");
    assert_eq!(recovered.query_text("SELECT x FROM t").expect("reads"), "before");
    assert_eq!(vfs.names(), ["main.db"]);
}

#[test]
fn the_same_seed_gives_the_same_journal() {
    let record = |library: &Arc<Library>, vfs: &MemoryVfs, seed| {
        vfs.reseed(seed).expect("not in use");
        let recording = RecordingVfs::register(library, Some(vfs.name())).expect("registers");
        let connection = open(library, recording.name(), "main.db");
        work(&connection, "wal");
        drop(connection);
        vfs.load([]);
        recording.take()
    };
    let library = engine();
    let vfs = memory(&library);
    let first = record(&library, &vfs, 7);
    assert!(first.len() > 50);
    assert!(first == record(&library, &vfs, 7));
    assert!(first != record(&library, &vfs, 8));
    let other = engine();
    assert!(first == record(&other, &memory(&other), 7));
}

#[test]
fn powersafe_overwrite_can_be_taken_away_by_a_uri_and_for_all_files() {
    let library = engine();
    let vfs = memory(&library);
    let characteristics = |path: &str| {
        let flags = OpenFlags::default() | OpenFlags::URI;
        let connection = Connection::open(&library, Path::new(path), flags, Some(vfs.name()));
        device_characteristics(&connection.expect("opens"))
    };
    let psow = pragmark_engine::ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE;
    assert_ne!(characteristics("main.db") & psow, 0);
    assert_eq!(characteristics("file:main.db?psow=0") & psow, 0);
    vfs.set_powersafe_overwrite(false);
    assert_eq!(characteristics("main.db") & psow, 0);
    vfs.set_powersafe_overwrite(true);
    assert_ne!(characteristics("main.db") & psow, 0);
}

/// What a record says a file holds in the end.
fn replayed(calls: &[Call], wanted: FileKind) -> Vec<u8> {
    let mut bytes = Vec::new();
    for call in calls {
        match call {
            Call::Write { kind, offset, bytes: written, .. } if *kind == wanted => {
                let end = *offset as usize + written.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*offset as usize..end].copy_from_slice(written);
            }
            Call::Truncate { kind, size, .. } if *kind == wanted => {
                bytes.resize(*size as usize, 0);
            }
            _ => {}
        }
    }
    bytes
}

#[test]
fn a_record_holds_what_the_disk_holds_in_the_end() {
    for mode in ["delete", "persist", "wal"] {
        let (library, scratch) = (engine(), Scratch::new());
        let recording = RecordingVfs::register(&library, None).expect("registers");
        let path = scratch.file("main.db");
        let connection = open(&library, recording.name(), &path);
        work(&connection, mode);
        drop(connection);
        let calls = recording.take();
        assert_eq!(
            replayed(&calls, FileKind::Database),
            std::fs::read(&path).expect("the file"),
            "{mode}"
        );
        assert!(
            matches!(&calls[0], Call::Open { kind: FileKind::Database, name: Some(name), sector_size: 4096, .. } if *name == path)
        );
        let has = |wanted: fn(&Call) -> bool| calls.iter().any(wanted);
        assert!(has(|call| matches!(call, Call::Sync { with_directory: true, .. })));
        assert_eq!(recording.position(), 0);
    }
}
