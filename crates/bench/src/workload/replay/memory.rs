//! Databases in memory: one for each connection, or one that several connections share under a name.

use std::path::Path;
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags};

use super::source::Recording;

/// SQLite's VFS for databases in memory, which shares those whose names begin with a slash within a process.
const VFS: &str = "memdb";

/// The first version whose VFS shares them.
const SHARES_SINCE: (u32, u32) = (3, 36);

/// Opens the database in memory of a recorded connection. Connections wait for one another as those to a file do.
///
/// # Errors
/// SQLite's.
pub(super) fn open(
    library: &Arc<Library>,
    recording: &Recording,
    connection: i64,
) -> Result<Connection, EngineError> {
    match recording.shared_memory(connection) {
        Some(name) if shares(library) => open_shared(library, &name),
        _ => Connection::open(library, Path::new(":memory:"), OpenFlags::default(), None),
    }
}

fn open_shared(library: &Arc<Library>, name: &Path) -> Result<Connection, EngineError> {
    let connection = Connection::open(library, name, OpenFlags::default(), Some(VFS))?;
    connection.execute("PRAGMA busy_timeout = 60000")?;
    Ok(connection)
}

/// A connection to each database in memory that is shared: it lasts as long as one is open.
///
/// # Errors
/// SQLite's.
pub(super) fn hold(
    library: &Arc<Library>,
    recording: &Recording,
) -> Result<Vec<Connection>, EngineError> {
    let names = recording.shared_memories();
    let names = names.iter().filter(|_| shares(library));
    names.map(|name| open_shared(library, name)).collect()
}

fn shares(library: &Library) -> bool {
    let mut numbers = library.identity().version.split('.').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= SHARES_SINCE,
        _ => false,
    }
}
