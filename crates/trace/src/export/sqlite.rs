//! A plain SQLite database with one table.

use std::path::Path;

use engine::{Connection, EngineError, OpenFlags};

use super::columns::COLUMNS;
use super::{database, for_each_row};
use crate::{Trace, TraceError};

pub fn write(trace: &Trace, path: &Path) -> Result<u64, TraceError> {
    let failed = database(path);
    let connection = create(trace, path).map_err(&failed)?;
    let parameters = vec!["?"; COLUMNS.len()].join(", ");
    let insert = format!("INSERT INTO event VALUES ({parameters})");
    let mut insert = connection.prepare(&insert).map_err(&failed)?;
    let count = for_each_row(trace, |row| {
        let mut write = || {
            for (index, value) in (1..).zip(row) {
                insert.bind_value(index, value)?;
            }
            insert.run()
        };
        write().map_err(&failed)
    })?;
    drop(insert);
    connection.execute("COMMIT").map_err(&failed)?;
    connection.close().map_err(&failed)?;
    Ok(count)
}

fn create(trace: &Trace, path: &Path) -> Result<Connection, EngineError> {
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE;
    let connection = Connection::open(trace.library(), path, flags, None)?;
    // Until it is whole, the file does not have its name, so nothing has to survive a crash.
    connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
    let columns = COLUMNS.iter().map(|(name, kind)| {
        let kind = kind.of_sqlite();
        let key = if *name == "id" { " PRIMARY KEY" } else { "" };
        format!("\"{name}\" {kind}{key}")
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    connection.execute(&format!("CREATE TABLE event({columns})"))?;
    Ok(connection)
}
