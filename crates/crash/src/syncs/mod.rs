//! Checks whether an engine's own VFS syncs, by comparing SQLite's requests with the syncs that reach the
//! system.
//!
//! Crash images come from a VFS of the laboratory, which replaces the engine's own: an engine that is
//! compiled with `SQLITE_NO_SYNC`, or whose sync does nothing, would look as safe as any other. So each
//! engine commits under its own VFS, in a process whose system calls are observed and judged.

#[cfg(target_os = "linux")]
mod ledger;
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

/// Has `program` commit with an engine, counts the syncs, those that SQLite requests and those that reach the
/// system, and judges which files and folders they sync, and when. Where that cannot be observed, the reason is the result.
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

/// Transactions of each database: together they take hundreds of syncs.
const COMMITS: usize = 40;

/// A database and its settings.
struct Work {
    name: &'static str,
    journal_mode: &'static str,
    synchronous: &'static str,
}

/// The databases that are written, in this order. EXTRA syncs the deletion of the journal as well.
const WORK: [Work; 3] = [
    Work { name: "delete", journal_mode: "delete", synchronous: "full" },
    Work { name: "extra", journal_mode: "delete", synchronous: "extra" },
    Work { name: "wal", journal_mode: "wal", synchronous: "full" },
];

/// Loads the engine, waits for a line with a folder, commits to databases in it, writes an empty line after each commit, and
/// at the end the number of syncs that SQLite requested of the engine's default VFS.
///
/// # Errors
/// The engine cannot be loaded; any error of SQLite.
pub fn make_synced_commits(
    engine: &str,
    mut input: impl BufRead,
    mut output: impl Write,
) -> Result<(), Box<dyn Error>> {
    let library = Arc::new(Library::load(&engine.parse::<Source>()?)?);
    let vfs = CountingVfs::register(&library, None)?;
    let mut folder = String::new();
    input.read_line(&mut folder)?;
    for work in &WORK {
        let database = Path::new(folder.trim_end()).join(work.name);
        let connection =
            Connection::open(&library, &database, OpenFlags::default(), Some(vfs.name()))?;
        connection.execute(&format!("PRAGMA journal_mode = {}", work.journal_mode))?;
        connection.execute(&format!("PRAGMA synchronous = {}", work.synchronous))?;
        connection.execute("CREATE TABLE t(x)")?;
        for _ in 0..COMMITS {
            connection.execute("INSERT INTO t VALUES (1)")?;
            writeln!(output)?;
            output.flush()?;
        }
    }
    writeln!(output, "{}", vfs.counts().syncs())?;
    Ok(())
}
