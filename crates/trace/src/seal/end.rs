//! The databases of a recording when it has ended.
//!
//! Their contents are known only when nothing writes any more: while a recorded process is still running, the reason is
//! written instead.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Value};
use recorder::Folder;

use super::Copier;
use super::files::DatabaseFile;
use super::write::{AsInteger, Writer};
use crate::Result;
use crate::content::{self, Table};

/// Writes what is in each database, or why that is not known.
pub fn write(
    library: &Arc<Library>,
    folder: &Folder,
    writer: &Writer<'_>,
    files: &[DatabaseFile],
    copy: Copier<'_>,
) -> Result<()> {
    let running = writer.unended()?.into_iter().find(|pid| is_running(pid));
    for database in writer.databases()? {
        let file = files.iter().find(|file| file.name == database);
        let path = file.map_or_else(|| Ok(PathBuf::from(&database)), DatabaseFile::path);
        let tables = match &running {
            Some(pid) => Err(format!("process {pid} was still running")),
            None => path.and_then(|path| tables_of(library, folder, &path, copy)),
        };
        match tables {
            Ok(tables) => tables.iter().try_for_each(|table| writer.end_state(&database, table))?,
            Err(why) => writer.end_unknown(&database, &why)?,
        }
    }
    Ok(())
}

/// Returns whether a process with this id is there; one that has ended and waits for its parent is not.
fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|status| {
        let after_name = status.rsplit(')').next().unwrap_or_default();
        !after_name.trim_start().starts_with('Z')
    })
}

/// Returns the tables of a copy of the database.
fn tables_of(
    library: &Arc<Library>,
    folder: &Folder,
    database: &Path,
    copy: Copier<'_>,
) -> Result<Vec<Table>, String> {
    let place = folder.path().join("end");
    // One is left where sealing was killed; the error of what cannot be removed follows.
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir(&place).map_err(|error| error.to_string())?;
    let file = place.join("copy.db");
    let tables = copy(database, &file).and_then(|()| {
        let tables = read(library, &file);
        tables.map_err(|error| error.to_string())
    });
    std::fs::remove_dir_all(&place).map_err(|error| error.to_string())?;
    tables
}

fn read(library: &Arc<Library>, file: &Path) -> Result<Vec<Table>, EngineError> {
    let connection = Connection::open(library, file, OpenFlags::READ_WRITE, None)?;
    let tables = content::tables(&connection)?;
    connection.close()?;
    Ok(tables)
}

/// The end of processes and databases.
impl Writer<'_> {
    /// The process ended by itself.
    pub fn exit(&self, process: u32) -> Result<()> {
        self.run("UPDATE process SET ended = 1 WHERE id = ?", &[i64::from(process).integer()])
    }

    /// Returns the databases that have a beginning.
    fn databases(&self) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT database FROM snapshot WHERE state IN ('taken', 'empty') ORDER BY database";
        let rows = self.named(self.connection.query_all(sql))?;
        Ok(rows.iter().flatten().map(ToString::to_string).collect())
    }

    /// Returns the ids in the system of processes whose end was not recorded.
    fn unended(&self) -> Result<Vec<String>> {
        let rows =
            self.named(self.connection.query_all("SELECT pid FROM process WHERE ended = 0"))?;
        Ok(rows.iter().flatten().map(ToString::to_string).collect())
    }

    /// Writes the state of a table at the end of the recording.
    fn end_state(&self, database: &str, table: &Table) -> Result<()> {
        let (rows, checksum, problem) = match &table.content {
            Ok(content) => (
                (content.rows as i64).integer(),
                Value::Text(content.checksum.clone()),
                Value::Null,
            ),
            Err(why) => (Value::Null, Value::Null, Value::Text(why.clone())),
        };
        let values = [
            Value::Text(database.to_owned()),
            Value::Text(table.name.clone()),
            rows,
            checksum,
            problem,
        ];
        self.run("INSERT INTO end_state VALUES (?, ?, ?, ?, ?)", &values)
    }

    /// Why the end of a database is not known.
    fn end_unknown(&self, database: &str, why: &str) -> Result<()> {
        let values = [Value::Text(database.to_owned()), Value::Text(why.to_owned())];
        self.run("INSERT INTO end_state VALUES (?, NULL, NULL, NULL, ?)", &values)
    }
}
