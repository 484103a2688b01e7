//! The database of a load: opening it, new or as others use it, and cleaning up after a failure.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::{Connection, Library, OpenFlags};

use crate::error::{LoadError, Result};
use crate::request::{LoadStrategy, Request};
use crate::source::Source;
use crate::staging::{directory, journal};

/// How long another connection's lock is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of the page cache of a new database, into which SQL adds rows in order.
const CACHE_OF_NEW: usize = 64 << 20;
/// The share of the memory that is available, which the page cache may take: others need some of it.
const SHARE: usize = 4;

/// Opens an unfinished database. It is thrown away if anything fails, so it is neither synced before its end nor
/// journalled on the disk; a journal in memory keeps statements atomic.
pub(crate) fn open_new(
    library: &Arc<Library>,
    path: &Path,
    request: &Request,
) -> Result<Connection> {
    let connection = Connection::open(library, path, OpenFlags::READ_WRITE, None)?;
    if let Some(size) = request.page_size {
        connection.execute(&format!("PRAGMA page_size = {size}"))?;
    }
    connection.execute(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE",
    )?;
    set_cache(&connection, CACHE_OF_NEW)?;
    set_foreign_keys(&connection, request)?;
    Ok(connection)
}

/// Opens a database that others use. Rows that go through SQL change pages all over its indexes, and a page is
/// written again whenever it has left the cache; so the cache may take as much memory as sorting indexes.
pub(crate) fn open(library: &Arc<Library>, request: &Request) -> Result<Connection> {
    let (path, vfs) = (&request.database, request.vfs.as_deref());
    let connection = Connection::open(library, path, OpenFlags::READ_WRITE, vfs)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let most = available_memory().map_or(CACHE_OF_NEW, |bytes| bytes / SHARE);
    set_cache(&connection, request.index_memory.min(most))?;
    set_foreign_keys(&connection, request)?;
    Ok(connection)
}

/// How long readers that keep the write-ahead log in use are waited for; without an empty log, rows go through SQL.
const BUSY_TIMEOUT_OF_LOG: Duration = Duration::from_secs(1);

/// Moves what a write-ahead log holds into the database, before a transaction begins. Pages can be added behind the
/// end of the database only while the log is empty: whoever moves frames from it cuts the file where the last of them
/// says that the database ends.
pub(crate) fn empty_log(connection: &Connection, request: &Request) -> Result<()> {
    let is_wanted = request.strategy != Some(LoadStrategy::Arrays);
    if is_wanted && connection.query_text("PRAGMA main.journal_mode")? == "wal" {
        connection.busy_timeout(BUSY_TIMEOUT_OF_LOG)?;
        // Whether the log is empty is checked later, under the lock of a writer.
        let _ = connection.query_all("PRAGMA main.wal_checkpoint(TRUNCATE)");
        connection.busy_timeout(BUSY_TIMEOUT)?;
    }
    Ok(())
}

/// Returns whether a write-ahead log holds anything. Within a write transaction, no other connection adds to it.
pub(crate) fn has_log(request: &Request) -> bool {
    let log = journal(&request.database, "-wal");
    log.metadata().is_ok_and(|log| log.len() > 0)
}

/// Turns foreign keys on or off, whatever the library's default is. SQLite ignores this within a transaction.
pub(crate) fn set_foreign_keys(connection: &Connection, request: &Request) -> Result<()> {
    let enforced = i32::from(request.foreign_keys);
    Ok(connection.execute(&format!("PRAGMA foreign_keys = {enforced}"))?)
}

/// Sets how much memory pages may take, in bytes; SQLite takes it as it needs it.
fn set_cache(connection: &Connection, bytes: usize) -> Result<()> {
    let kib = (bytes >> 10).max(LEAST_CACHE_KIB);
    Ok(connection.execute(&format!("PRAGMA cache_size = -{kib}"))?)
}

/// SQLite's default.
const LEAST_CACHE_KIB: usize = 2_000;

/// Returns the memory that is available without swapping, in bytes, if the system reports it.
fn available_memory() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// A database keeps the page size that it has.
pub(crate) fn check_page_size(connection: &Connection, request: &Request) -> Result<()> {
    let Some(wanted) = request.page_size else { return Ok(()) };
    match connection.query_i64("PRAGMA main.page_size")? {
        size if size == i64::from(wanted) => Ok(()),
        size => Err(LoadError::Definition(format!(
            "the database has pages of {size} bytes; only a new database can have another page size"
        ))),
    }
}

/// Lets SQLite take back what it could not take back when it failed: on a full disk it may leave its journal to
/// whoever opens the database next. Where it cannot do it now either, the journal is still there for the next one.
pub(crate) fn roll_back_leftovers(library: &Arc<Library>, request: &Request) {
    let database = &request.database;
    if !journal(database, "-journal").exists() {
        return;
    }
    let vfs = request.vfs.as_deref();
    let opened = Connection::open(library, database, OpenFlags::READ_WRITE, vfs);
    let _ = opened.and_then(|connection| {
        connection.query_i64("SELECT count(*) FROM sqlite_master")?;
        connection.close()
    });
}

/// No file that is read can be written at the same time, and none be both database and rejected rows.
pub(crate) fn refuse_own_input(source: &dyn Source, request: &Request) -> Result<()> {
    let same = LoadError::same_file;
    for input in &source.info().files {
        if is_same_file(input, &request.database) {
            return Err(same(input, INPUT, DATABASE));
        }
        if request.rejects.as_deref().is_some_and(|path| is_same_file(input, path)) {
            return Err(same(input, INPUT, REJECTS));
        }
    }
    match &request.rejects {
        Some(rejects) if rejects.is_dir() => Err(LoadError::Definition(format!(
            "{} is a directory; name a file for rejected rows",
            rejects.display()
        ))),
        Some(rejects) if is_same_path(rejects, &request.database) => {
            Err(same(rejects, DATABASE, REJECTS))
        }
        _ => Ok(()),
    }
}

const INPUT: &str = "an input";
const DATABASE: &str = "the database to load into";
const REJECTS: &str = "the file of rejected rows";

/// Returns whether two paths are, or would be, the same file.
fn is_same_path(one: &Path, other: &Path) -> bool {
    one == other
        || is_same_file(one, other)
        || location(one).is_some_and(|at| Some(at) == location(other))
}

/// Returns the true path of a directory and the name of a file in it, which need not be there yet.
fn location(path: &Path) -> Option<(PathBuf, &OsStr)> {
    Some((directory(path).canonicalize().ok()?, path.file_name()?))
}

/// Returns whether two paths are the same file, by whatever links; false where one of them is none.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    #[test]
    fn what_sqlite_has_not_taken_back_when_it_failed_is_taken_back() {
        let library = Arc::new(Library::load(&engine::Source::Embedded).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let [live, left] = ["live.db", "left.db"].map(|name| folder.path().join(name));
        let connection = Connection::open(&library, &live, OpenFlags::default(), None).unwrap();
        connection
            .execute(
                "CREATE TABLE t(a); WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000)
                 INSERT INTO t SELECT printf('%0100d', i) FROM n",
            )
            .unwrap();
        let before = std::fs::read(&live).unwrap();
        // Far more pages than the cache holds: they are in the file before the transaction ends.
        connection.execute("PRAGMA cache_size = 5; BEGIN; UPDATE t SET a = a || a").unwrap();
        std::fs::copy(&live, &left).unwrap();
        std::fs::copy(journal(&live, "-journal"), journal(&left, "-journal")).unwrap();
        assert!(std::fs::read(&left).unwrap() != before);

        roll_back_leftovers(&library, &Request::new(&left, Table::new("t")));
        assert!(!journal(&left, "-journal").exists());
        assert!(std::fs::read(&left).unwrap() == before);
    }

    #[test]
    fn the_cache_of_a_database_that_exists_takes_what_sorting_may_take() {
        let library = Arc::new(Library::load(&engine::Source::Embedded).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let mut request = Request::new(folder.path().join("a.db"), Table::new("t"));
        std::fs::write(&request.database, "").unwrap();
        for (index_memory, expected) in [(8 << 20, -8_192), (0, -2_000)] {
            request.index_memory = index_memory;
            let connection = open(&library, &request).unwrap();
            assert_eq!(connection.query_i64("PRAGMA cache_size").unwrap(), expected);
        }
    }

    #[test]
    fn a_file_is_known_by_any_path_before_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        assert!(is_same_path(&at("new.db"), &at("./sub/../new.db")));
        assert!(!is_same_path(&at("new.db"), &at("sub/new.db")));
        assert!(!is_same_path(&at("new.db"), &at("missing/new.db")));
    }
}
