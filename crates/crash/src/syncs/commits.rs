//! The process that is observed: it commits under an engine's own VFS and counts what SQLite requests of it.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use engine::vfs::CountingVfs;
use engine::{Connection, Library, OpenFlags, Source};

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
