//! Databases in memory: one for each connection, or one that several connections share under a name.

use std::path::Path;

use engine::{Connection, EngineError, Library, OpenFlags};

use super::source::Recording;
use crate::target::sqlite::Opening;

/// SQLite's VFS for databases in memory, which shares those whose names begin with a slash within a process.
const VFS: &str = "memdb";

/// The first version whose VFS shares them.
const SHARES_SINCE: (u32, u32) = (3, 36);

/// Opens the database in memory of a recorded connection. Connections wait for one another as those to a file do.
///
/// # Errors
/// SQLite's.
pub(super) fn open(
    opening: &Opening,
    recording: &Recording,
    connection: i64,
) -> Result<Connection, EngineError> {
    let library = opening.library();
    match recording.shared_memory(connection) {
        Some(name) if shares(library) => open_shared(opening, &name),
        _ => Connection::open(library, Path::new(":memory:"), OpenFlags::default(), None),
    }
}

/// It waits as long as a connection to a file: an open read keeps commits waiting that the application's did not.
fn open_shared(opening: &Opening, name: &Path) -> Result<Connection, EngineError> {
    let connection = Connection::open(opening.library(), name, OpenFlags::default(), Some(VFS))?;
    if let Some(patience) = opening.setting("busy_timeout") {
        connection.execute(&format!("PRAGMA busy_timeout = {patience}"))?;
    }
    Ok(connection)
}

/// A connection to each database in memory that is shared: it lasts as long as one is open.
///
/// # Errors
/// SQLite's.
pub(super) fn hold(
    opening: &Opening,
    recording: &Recording,
) -> Result<Vec<Connection>, EngineError> {
    let names = recording.shared_memories();
    let names = names.iter().filter(|_| shares(opening.library()));
    names.map(|name| open_shared(opening, name)).collect()
}

fn shares(library: &Library) -> bool {
    let mut numbers = library.identity().version.split('.').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= SHARES_SINCE,
        _ => false,
    }
}
