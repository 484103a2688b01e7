//! The databases that connections opened: a file that is deleted, replaced and created again under one name is several
//! databases, and a file that is renamed stays one.
//!
//! Databases in memory that several connections of a process share.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use engine::Value;
use recorder::read::{FileIdentity, FileRecord};

use super::write::{AsInteger, Writer};
use crate::Result;
use crate::read::{integer, text};
use crate::schema::{later_database, shared_memory};

/// A file that a connection opened or attached.
struct Opened {
    at_us: i64,
    connection: u32,
    /// Whether it is the connection's main database.
    is_main: bool,
    identity: FileIdentity,
    is_empty: bool,
    path: String,
}

/// A database, in the order in which they were first opened.
pub struct DatabaseFile {
    /// Its name in the trace: its first path, with a number if other databases had that path before.
    pub name: String,
    identity: FileIdentity,
    paths: Vec<String>,
    first_us: i64,
    /// The start of its first commit, in microseconds.
    written_us: i64,
}

impl DatabaseFile {
    /// Returns the path that the file has now.
    ///
    /// # Errors
    /// It is gone.
    pub fn path(&self) -> Result<PathBuf, String> {
        let mut paths = self.paths.iter().map(PathBuf::from);
        let found = paths.find(|path| identity(path) == Some(self.identity));
        found.ok_or_else(|| "its file was deleted or replaced before recording ended".to_owned())
    }

    /// Returns whether a connection has opened this file, and not one that has its number after it. A new file may have
    /// the number and the time of one that was just deleted, but no content.
    fn is(&self, opened: &Opened) -> bool {
        let (same_path, written) =
            (self.paths.contains(&opened.path), self.written_us < opened.at_us);
        !opened.is_empty || (same_path && !written)
    }
}

fn identity(path: &Path) -> Option<FileIdentity> {
    let file = std::fs::metadata(path).ok()?;
    let since = file.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let created = since.map_or(0, |since| since.as_nanos() as u64);
    Some(FileIdentity(file.dev(), file.ino(), created))
}

/// The files and snapshots of a recording.
#[derive(Default)]
pub struct Files {
    opened: Vec<Opened>,
    /// Connections to files that have not told which file it is.
    untold: HashSet<u32>,
    /// Connection, path and row of each snapshot.
    snapshots: Vec<(u32, String, i64)>,
}

impl Files {
    /// Notes that there is a connection to a file.
    pub fn connect(&mut self, connection: u32) {
        self.untold.insert(connection);
    }

    /// Notes that a connection has opened or attached a file.
    pub fn open(&mut self, connection: u32, at_us: i64, file: &FileRecord<'_>) {
        self.opened.push(Opened {
            at_us,
            connection,
            is_main: self.untold.remove(&connection),
            identity: file.identity,
            is_empty: file.is_empty,
            path: String::from_utf8_lossy(file.name).into_owned(),
        });
    }

    /// Notes the row of a snapshot that a connection has taken.
    pub fn snapshot(&mut self, connection: u32, path: &[u8], row: i64) {
        self.snapshots.push((connection, String::from_utf8_lossy(path).into_owned(), row));
    }

    /// Gives databases their names, in connections and snapshots.
    pub fn finish(mut self, writer: &Writer<'_>) -> Result<Vec<DatabaseFile>> {
        self.opened.sort_by_key(|opened| (opened.at_us, opened.connection));
        let (files, numbers) = self.told_apart(&writer.first_commits()?);
        let mut missing = HashSet::new();
        let mut of_connections = HashMap::new();
        for (opened, number) in self.opened.iter().zip(numbers) {
            let is_first = opened.at_us == files[number].first_us;
            missing.extend((is_first && opened.is_empty).then_some(number));
            of_connections.insert((opened.connection, opened.path.as_str()), number);
            if opened.is_main {
                writer.rename("connection", opened.connection.into(), &files[number].name)?;
            }
        }
        for (connection, path, row) in &self.snapshots {
            if let Some(number) = of_connections.get(&(*connection, path.as_str())) {
                missing.remove(number);
                writer.rename("snapshot", *row, &files[*number].name)?;
            }
        }
        for number in missing {
            writer.snapshot(EMPTY, 0, files[number].name.as_bytes(), b"")?;
        }
        inherit(&files, writer)?;
        Ok(files)
    }

    /// Returns the databases, and the number of the one that was opened each time.
    fn told_apart(&self, commits: &HashMap<u32, i64>) -> (Vec<DatabaseFile>, Vec<usize>) {
        let (mut files, mut names) = (Vec::<DatabaseFile>::new(), HashSet::new());
        let mut latest: HashMap<FileIdentity, usize> = HashMap::new();
        let number = |opened: &Opened| {
            let known = latest.get(&opened.identity).copied();
            let number = known.filter(|number| files[*number].is(opened)).unwrap_or(files.len());
            if number == files.len() {
                latest.insert(opened.identity, number);
                files.push(new(opened, &mut names));
            }
            let file = &mut files[number];
            if !file.paths.contains(&opened.path) {
                file.paths.push(opened.path.clone());
            }
            let written = commits.get(&opened.connection).filter(|_| opened.is_main);
            file.written_us = file.written_us.min(written.copied().unwrap_or(i64::MAX));
            number
        };
        let numbers = self.opened.iter().map(number).collect();
        (files, numbers)
    }
}

/// The state of a snapshot of a new database.
const EMPTY: u8 = 2;

/// Returns a database with a name that no other has.
fn new(opened: &Opened, names: &mut HashSet<String>) -> DatabaseFile {
    let path = &opened.path;
    let mut all = (0..).map(|before| later_database(path, before));
    let name = all.find(|name| names.insert(name.clone())).unwrap_or_default();
    DatabaseFile {
        name,
        identity: opened.identity,
        paths: vec![path.clone()],
        first_us: opened.at_us,
        written_us: i64::MAX,
    }
}

/// Gives connections that came with a fork the database that their path had then.
fn inherit(files: &[DatabaseFile], writer: &Writer<'_>) -> Result<()> {
    let inherited =
        "SELECT id, database, opened_us FROM connection WHERE inherited AND database <> ''";
    for row in writer.rows(inherited)? {
        let (path, at_us) = (text(&row[1]), integer(&row[2]));
        let of_path = files.iter().filter(|file| file.paths.contains(&path));
        let (earlier, later): (Vec<_>, Vec<_>) = of_path.partition(|file| file.first_us <= at_us);
        if let Some(file) = earlier.last().or(later.first()) {
            writer.rename("connection", integer(&row[0]), &file.name)?;
        }
    }
    Ok(())
}

impl Writer<'_> {
    fn rows(&self, sql: &str) -> Result<Vec<Vec<Value>>> {
        self.named(self.connection.query_all(sql))
    }

    /// Returns when each connection began its first statement that committed.
    fn first_commits(&self) -> Result<HashMap<u32, i64>> {
        let sql = "SELECT connection, min(start_us) FROM execution WHERE ticket > 0 GROUP BY 1";
        let rows = self.rows(sql)?;
        Ok(rows.iter().map(|row| (integer(&row[0]) as u32, integer(&row[1]))).collect())
    }

    fn rename(&self, table: &str, id: i64, database: &str) -> Result<()> {
        let sql = format!("UPDATE {table} SET database = ?1 WHERE id = ?2 AND database <> ?1");
        self.run(&sql, &[Value::Text(database.to_owned()), id.integer()])
    }
}

/// The VFS whose databases are in memory, under names.
const MEMORY_VFS: &[u8] = b"memdb";

/// Returns the file of a database; empty for one in memory.
pub fn file_of<'a>(file: &'a [u8], vfs: &[u8]) -> &'a [u8] {
    if vfs == MEMORY_VFS { b"" } else { file }
}

impl Writer<'_> {
    /// Gives the database of a connection, and of the one that opened it, a name of its own.
    pub fn share(&self, connection: u32, opened_by: u32) -> Result<()> {
        let values = [
            Value::Text(shared_memory(opened_by.into())),
            i64::from(connection).integer(),
            i64::from(opened_by).integer(),
        ];
        self.run("UPDATE connection SET database = ? WHERE id IN (?, ?)", &values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the databases that connections open; each has its number, and when it opens which file (device, path,
    /// whether it is empty).
    fn names(opened: &[(i64, u64, &str, bool)], commits: &[(u32, i64)]) -> Vec<String> {
        let mut all = Files::default();
        for ((at_us, inode, path, is_empty), connection) in opened.iter().zip(1..) {
            let identity = FileIdentity(1, *inode, 0);
            let file = FileRecord { identity, is_empty: *is_empty, name: path.as_bytes() };
            all.connect(connection);
            all.open(connection, *at_us, &file);
        }
        let (files, numbers) = all.told_apart(&commits.iter().copied().collect());
        numbers.into_iter().map(|number| files[number].name.clone()).collect()
    }

    #[test]
    fn a_new_file_with_the_number_of_a_deleted_one_is_another_database() {
        let opened = [(0, 7, "a", true), (5, 7, "a", true), (9, 7, "a", true), (12, 7, "a", false)];
        assert_eq!(names(&opened, &[(2, 6)]), ["a", "a", "a (2)", "a (2)"]);
        assert_eq!(names(&[(0, 7, "a", true), (1, 7, "b", true)], &[]), ["a", "b"]);
    }

    #[test]
    fn a_file_is_one_database_whatever_its_paths() {
        let opened =
            [(0, 7, "new", true), (1, 8, "a", false), (2, 7, "a", false), (3, 9, "new", true)];
        assert_eq!(names(&opened, &[(1, 0)]), ["new", "a", "new", "new (2)"]);
    }

    #[test]
    fn a_number_is_not_given_twice() {
        let opened = [(0, 7, "a (2)", true), (1, 8, "a", true), (2, 9, "a", true)];
        assert_eq!(names(&opened, &[]), ["a (2)", "a", "a (3)"]);
    }
}
