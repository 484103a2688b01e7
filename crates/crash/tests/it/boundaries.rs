//! What few workloads reach: counters that wrap, the page of the lock bytes, other page sizes, vacuums of every kind. SQLite
//! keeps its promises there, and the laboratory must not say otherwise.

use engine::{Connection, Library, OpenFlags, Source};
use lab::tier::Loss;
use pragmark_crash::{
    CrashSettings, InitialDatabases, JournalMode, Matrix, Model, Plan, Script, Synchronous, measure,
};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Settings that lose nothing.
const SAFE: [(JournalMode, Synchronous); 2] =
    [(JournalMode::Delete, Synchronous::Extra), (JournalMode::Wal, Synchronous::Full)];

fn crashed(
    text: &str,
    initial: Option<&Path>,
    (journal_mode, synchronous): (JournalMode, Synchronous),
) -> Matrix {
    let library = Library::load(&Source::Embedded).unwrap();
    let plan = Plan {
        interruptions: 2,
        script: Some(Script::parse(&library, Path::new("mine.sql"), text).unwrap()),
        initial: initial.map(|path| InitialDatabases::of(&[path], 50).unwrap()),
        threads: 2,
        ..Plan::new(
            vec![CrashSettings::new(journal_mode, synchronous)],
            vec![Model::Kill, Model::Ext4Ordered, Model::Reorder, Model::Torn],
            200,
        )
    };
    measure(&plan).unwrap()
}

fn assert_nothing_lost(matrix: &Matrix, what: &str) {
    for cell in &matrix.cells {
        let losses = cell.safety.whole();
        let place = format!("{what}, {} under {}", cell.variant, cell.model);
        assert_eq!(losses.loss(), Some(Loss::Nothing), "{place}: {losses}");
    }
}

/// A database with pages of this size, in whose first bytes these are changed.
fn database(folder: &Path, page_size: u32, changes: &[(u64, u32)], size: Option<u64>) -> PathBuf {
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = folder.join("app.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection
        .execute(&format!(
            "PRAGMA page_size = {page_size}; CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'one')"
        ))
        .unwrap();
    connection.close().unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    for (offset, value) in changes {
        file.write_all_at(&value.to_be_bytes(), *offset).unwrap();
    }
    if let Some(size) = size {
        file.set_len(size).unwrap();
    }
    path
}

/// The change counter, and the counter for which the size in the header is valid (<https://sqlite.org/fileformat2.html>).
const COUNTERS: [u64; 2] = [24, 92];
/// The number of pages.
const COUNT: u64 = 28;

#[test]
fn a_change_counter_that_wraps_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let wrapping = COUNTERS.map(|offset| (offset, u32::MAX - 1));
    let path = database(folder.path(), 4096, &wrapping, None);
    let commits: String =
        (2..8).map(|id| format!("INSERT INTO t VALUES ({id}, hex(zeroblob(3000)));")).collect();
    for settings in SAFE {
        let matrix = crashed(&commits, Some(&path), settings);
        assert_nothing_lost(&matrix, "a counter that wraps");
    }
}

/// The database ends right before the page of the lock bytes, which SQLite leaves out when it grows; what lies between is
/// never read. The file is sparse.
#[test]
fn a_database_that_grows_over_the_page_of_the_lock_bytes_loses_nothing() {
    const PAGE: u32 = 65_536;
    const LOCKS: u64 = 1 << 30;
    let folder = tempfile::tempdir().unwrap();
    let pages = (LOCKS / u64::from(PAGE)) as u32;
    let path = database(folder.path(), PAGE, &[(COUNT, pages)], Some(LOCKS));
    let text = "INSERT INTO t VALUES (2, zeroblob(200000)); UPDATE t SET v = randomblob(150000) WHERE id = 2; \
        BEGIN; INSERT INTO t VALUES (3, zeroblob(90000)); ROLLBACK; DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (4, 'four');";
    for settings in SAFE {
        let matrix = crashed(text, Some(&path), settings);
        assert_nothing_lost(&matrix, "the page of the lock bytes");
        assert!(matrix.largest_database as u64 > LOCKS + u64::from(PAGE));
    }
}

#[test]
fn page_sizes_vacuums_and_mapped_memory_lose_nothing() {
    let rows = "CREATE TABLE t(id INTEGER PRIMARY KEY, v); \
        INSERT INTO t WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT i, hex(randomblob(200)) FROM n;";
    for (what, text) in [
        (
            "another page size",
            "PRAGMA page_size = 8192; VACUUM; UPDATE t SET v = 'new' WHERE id % 7 = 0;",
        ),
        (
            "incremental vacuum",
            "PRAGMA auto_vacuum = INCREMENTAL; VACUUM; DELETE FROM t WHERE id > 20; PRAGMA incremental_vacuum(3); UPDATE t SET v = 'new' WHERE id = 3;",
        ),
        (
            "a vacuum into another file",
            "VACUUM INTO 'copy.db'; UPDATE t SET v = 'new' WHERE id = 3;",
        ),
        (
            "mapped memory",
            "PRAGMA mmap_size = 1000000; UPDATE t SET v = v || 'x'; DELETE FROM t WHERE id > 30; VACUUM; UPDATE t SET v = 'new' WHERE id = 3;",
        ),
    ] {
        for settings in SAFE {
            let matrix = crashed(&format!("{rows} {text}"), None, settings);
            assert_nothing_lost(&matrix, what);
        }
    }
}
