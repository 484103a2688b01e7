//! Checks whether an engine's own VFS syncs, by comparing SQLite's requests with the syncs that reach the
//! system.
//!
//! Crash images come from a VFS of the laboratory, which replaces the engine's own: an engine that is
//! compiled with `SQLITE_NO_SYNC`, or whose sync does nothing, would look as safe as any other. So each
//! engine commits once under its own VFS, in a process whose system calls are observed.

#[cfg(target_os = "linux")]
mod observe;

use engine::vfs::CountingVfs;
use engine::{Connection, Library, OpenFlags, Source};
use lab::record::SyncCheck;
use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;

/// The first argument with which the program calls [`make_synced_commits`].
pub const COMMAND: &str = "make-synced-commits";

/// Has `program` commit with an engine and counts the syncs, those that SQLite requests and those that reach the
/// system. Where that cannot be observed, the reason is the result.
pub fn check(program: &Path, engine: &str) -> SyncCheck {
    #[cfg(target_os = "linux")]
    let checked = observe::check(program, engine);
    #[cfg(not(target_os = "linux"))]
    let checked = {
        let _ = (program, engine);
        Err("system calls can be observed on Linux only".to_owned())
    };
    checked.unwrap_or_else(|why| SyncCheck::NotChecked { why })
}

/// Transactions in each journal mode.
const COMMITS: usize = 5;

/// Loads the engine, waits for a line, commits in both kinds of journal with `synchronous=FULL`, and writes the
/// number of syncs that SQLite requested of the engine's default VFS.
///
/// # Errors
/// The engine cannot be loaded; any error of SQLite.
pub fn make_synced_commits(
    engine: &str,
    mut input: impl BufRead,
    mut output: impl Write,
) -> Result<(), Box<dyn Error>> {
    let library = Arc::new(Library::load(&engine.parse::<Source>()?)?);
    let vfs = CountingVfs::register(&library)?;
    let folder = tempfile::tempdir()?;
    input.read_line(&mut String::new())?;
    for mode in ["delete", "wal"] {
        commit(&library, &vfs, mode, &folder.path().join(mode))?;
    }
    writeln!(output, "{}", vfs.counts().syncs())?;
    Ok(())
}

fn commit(
    library: &Arc<Library>,
    vfs: &CountingVfs,
    mode: &str,
    database: &Path,
) -> Result<(), Box<dyn Error>> {
    let connection = Connection::open(library, database, OpenFlags::default(), Some(vfs.name()))?;
    connection.execute(&format!("PRAGMA journal_mode = {mode}"))?;
    connection.execute("PRAGMA synchronous = full")?;
    connection.execute("CREATE TABLE t(x)")?;
    for _ in 0..COMMITS {
        connection.execute("INSERT INTO t VALUES (1)")?;
    }
    Ok(())
}
