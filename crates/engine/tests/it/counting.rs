//! The counting VFS against what SQLite's documentation says of its I/O.
//!
//! The sync counts of a commit are those of <https://sqlite.org/atomiccommit.html> (sections 3.7 to
//! 3.11) and <https://sqlite.org/pragma.html#pragma_synchronous>.

use crate::support::{Scratch, device_characteristics, engine};
use pragmark_engine::vfs::{CountingVfs, IoCounts};
use pragmark_engine::{CheckpointMode, Connection, EngineError, Library, OpenFlags, pragma};
use std::path::Path;
use std::sync::Arc;

const PAGE: u64 = 4096;

fn open_with(library: &Arc<Library>, vfs: &CountingVfs, path: &Path) -> Connection {
    Connection::open(library, path, OpenFlags::default(), Some(vfs.name())).expect("opens")
}

/// The counts of ten commits of one row each, in a database with these settings.
fn ten_commits(journal_mode: &str, synchronous: &str) -> IoCounts {
    let (library, scratch) = (engine(), Scratch::new());
    let vfs = CountingVfs::register(&library, None).expect("registers");
    let connection = open_with(&library, &vfs, &scratch.file("db"));
    pragma::apply(&connection, "journal_mode", journal_mode).expect("applies");
    pragma::apply(&connection, "synchronous", synchronous).expect("applies");
    connection.execute("CREATE TABLE t(x); INSERT INTO t VALUES (0)").expect("creates");
    let before = vfs.counts();
    let mut insert = connection.prepare("INSERT INTO t VALUES (1)").expect("prepares");
    for _ in 0..10 {
        insert.run().expect("inserts");
    }
    vfs.counts() - before
}

#[test]
fn a_commit_with_a_rollback_journal_syncs_as_documented() {
    for (synchronous, journal, database, directory) in [
        // The journal twice (its content, then its header), then the database.
        ("full", 20, 10, 10),
        // As full, and the directory once more after the journal is deleted.
        ("extra", 20, 10, 20),
        // Content and header of the journal in one.
        ("normal", 10, 10, 10),
        ("off", 0, 0, 0),
    ] {
        let counts = ten_commits("delete", synchronous);
        assert_eq!(counts.journal.syncs, journal, "{synchronous}");
        assert_eq!(counts.database.syncs, database, "{synchronous}");
        assert_eq!(counts.journal.directory_syncs, directory, "{synchronous}");
        assert_eq!((counts.journal.opens, counts.journal.deletes), (10, 10), "{synchronous}");
        // Each commit changes the page of the table and the change counter on the first page.
        assert_eq!((counts.database.writes, counts.database.bytes_written), (20, 20 * PAGE));
        assert_eq!(counts.wal, Default::default());
        assert_eq!(counts.syncs(), journal + database);
    }
}

#[test]
fn truncated_and_persistent_journals_are_not_deleted() {
    let truncate = ten_commits("truncate", "full");
    assert_eq!((truncate.journal.deletes, truncate.journal.truncates), (0, 10));
    let persist = ten_commits("persist", "full");
    assert_eq!((persist.journal.deletes, persist.journal.truncates), (0, 0));
    let off = ten_commits("off", "full");
    assert_eq!((off.journal, off.database.syncs), (Default::default(), 10));
}

#[test]
fn a_commit_in_wal_mode_syncs_the_log_only_and_only_with_full() {
    const FRAME: u64 = PAGE + 24;
    for (synchronous, syncs) in [("full", 10), ("normal", 0), ("off", 0)] {
        let counts = ten_commits("wal", synchronous);
        assert_eq!(counts.wal.syncs, syncs, "{synchronous}");
        assert_eq!((counts.database.syncs, counts.database.writes), (0, 0), "{synchronous}");
        assert_eq!(counts.journal, Default::default());
        // One page changes each time; each frame is a header of 24 bytes and a page.
        assert_eq!(counts.wal.bytes_written, 10 * FRAME, "{synchronous}");
        assert!(counts.shared_memory.locks > 0);
    }
}

#[test]
fn a_checkpoint_copies_each_page_once_and_syncs_log_and_database() {
    let (library, scratch) = (engine(), Scratch::new());
    let vfs = CountingVfs::register(&library, None).expect("registers");
    let connection = open_with(&library, &vfs, &scratch.file("db"));
    connection
        .execute(
            "PRAGMA journal_mode = wal; PRAGMA synchronous = normal; CREATE TABLE t(x);
             INSERT INTO t VALUES (zeroblob(100000))",
        )
        .expect("fills");
    let pages = connection.query_i64("PRAGMA page_count").expect("a number") as u64;
    let before = vfs.counts();
    connection.checkpoint(CheckpointMode::Passive).expect("runs").expect("WAL");
    let counts = vfs.counts() - before;
    assert_eq!(counts.database.bytes_written, pages * PAGE);
    assert_eq!((counts.wal.syncs, counts.database.syncs), (1, 1));
}

#[test]
fn what_is_written_is_what_the_file_holds() {
    let (library, scratch) = (engine(), Scratch::new());
    let vfs = CountingVfs::register(&library, None).expect("registers");
    let path = scratch.file("db");
    let connection = open_with(&library, &vfs, &path);
    connection
        .execute("BEGIN; CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(1000000)); COMMIT")
        .expect("fills");
    // A new database within the cache: every page is written exactly once.
    let counts = vfs.counts();
    assert_eq!(counts.database.bytes_written, std::fs::metadata(&path).expect("the file").len());
    assert_eq!(counts.database.bytes_written % PAGE, 0);
    assert_eq!(counts.database.opens, 1);
}

#[test]
fn reads_through_the_memory_map_are_told_from_others() {
    let (library, scratch) = (engine(), Scratch::new());
    let path = scratch.file("db");
    crate::support::open(&library, &path)
        .execute(
            "CREATE TABLE t(x); INSERT INTO t
             SELECT zeroblob(3000) FROM (WITH RECURSIVE n(i) AS
                 (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i FROM n)",
        )
        .expect("fills");
    let read_all = |mmap_size| {
        let vfs = CountingVfs::register(&library, None).expect("registers");
        let connection = open_with(&library, &vfs, &path);
        pragma::apply(&connection, "mmap_size", mmap_size).expect("applies");
        connection.query_i64("SELECT sum(length(hex(x))) FROM t").expect("reads");
        vfs.counts().database
    };
    let (plain, mapped) = (read_all("0"), read_all("268435456"));
    assert_eq!(plain.mapped_reads, 0);
    assert!(plain.reads > 240, "{plain:?}");
    assert!(mapped.mapped_reads > 0 && mapped.bytes_read < plain.bytes_read / 10, "{mapped:?}");
}

#[test]
fn attached_databases_commit_through_a_super_journal() {
    let (library, scratch) = (engine(), Scratch::new());
    let vfs = CountingVfs::register(&library, None).expect("registers");
    let connection = open_with(&library, &vfs, &scratch.file("one"));
    let two = scratch.file("two");
    connection
        .execute(&format!(
            "ATTACH '{}' AS two; CREATE TABLE main.a(x); CREATE TABLE two.b(x);
             BEGIN; INSERT INTO a VALUES (1); INSERT INTO b VALUES (1); COMMIT",
            two.display()
        ))
        .expect("runs");
    let counts = vfs.counts();
    assert_eq!(counts.database.opens, 2);
    assert_eq!((counts.super_journal.opens, counts.super_journal.deletes), (1, 1));
}

#[test]
fn temporary_files_are_counted_apart() {
    let (library, scratch) = (engine(), Scratch::new());
    let vfs = CountingVfs::register(&library, None).expect("registers");
    let connection = open_with(&library, &vfs, &scratch.file("db"));
    pragma::apply(&connection, "temp_store", "file").expect("applies");
    connection
        .execute("CREATE TEMP TABLE t(x); INSERT INTO t VALUES (zeroblob(10000000))")
        .expect("fills");
    let counts = vfs.counts();
    assert!(counts.temporary.bytes_written > 1_000_000, "{counts:?}");
    assert_eq!(counts.database.bytes_written, 0);
}

#[test]
fn a_shim_changes_nothing_that_sqlite_sees_of_the_device() {
    let (library, scratch) = (engine(), Scratch::new());
    let vfs = CountingVfs::register(&library, None).expect("registers");
    let shimmed = open_with(&library, &vfs, &scratch.file("one"));
    let plain = crate::support::open(&library, &scratch.file("two"));
    assert_eq!(device_characteristics(&shimmed), device_characteristics(&plain));
    assert_eq!(
        pragma::read_back(&shimmed).expect("reads"),
        pragma::read_back(&plain).expect("reads")
    );
}

#[test]
fn a_dropped_shim_keeps_serving_open_connections_but_no_new_ones() {
    let (library, scratch) = (engine(), Scratch::new());
    let vfs = CountingVfs::register(&library, None).expect("registers");
    let (first, name) = (open_with(&library, &vfs, &scratch.file("db")), vfs.name().to_owned());
    let other = CountingVfs::register(&library, None).expect("registers");
    assert_ne!(name, other.name());
    drop(vfs);
    first.execute("CREATE TABLE t(x)").expect("still works");
    let error = Connection::open(&library, &scratch.file("db"), OpenFlags::default(), Some(&name))
        .expect_err("unregistered");
    assert!(error.to_string().contains("no such vfs"), "{error}");
    drop(library);
    drop(other);
    first.execute("INSERT INTO t VALUES (1)").expect("the connection keeps its library");
}

#[test]
fn a_shim_over_an_unknown_vfs_is_an_error() {
    let library = engine();
    assert!(matches!(
        CountingVfs::register(&library, Some("absent")),
        Err(EngineError::Usage(what)) if what == "this engine has no VFS called absent"
    ));
    CountingVfs::register(&library, Some("unix-dotfile")).expect("a VFS of SQLite");
}

#[test]
fn counts_survive_json() {
    let counts = ten_commits("delete", "full");
    let json = serde_json::to_string(&counts).expect("JSON");
    assert_eq!(serde_json::from_str::<IoCounts>(&json).expect("counts"), counts);
}
