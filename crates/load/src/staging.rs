//! Files that are renamed to their path when they are complete.
//!
//! A new database is built in a file next to its path, so that a load which is stopped at any point
//! leaves nothing under its name. A load that is killed leaves that file, which is recognised by its name;
//! the next load to the same path removes it. A lock shows whether its maker is alive: on the file
//! (`flock`), which the system lets go of with the process, however it ended.

use std::fs::{File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::error::{LoadError, Result};

/// The part of the name between the file's path and its unique ending.
const MARK: &str = ".unfinished-";

/// A new file in the directory of a path, locked, and removed unless it is kept.
pub(crate) struct Unfinished(NamedTempFile);

impl Unfinished {
    /// Creates one, after removing files that killed loads have left.
    pub(crate) fn next_to(path: &Path) -> io::Result<Unfinished> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!("{name}{MARK}");
        remove_leftovers(directory(path), &prefix);
        loop {
            let file = tempfile::Builder::new()
                .prefix(&prefix)
                // The permissions of SQLite's databases; the umask applies.
                .permissions(Permissions::from_mode(0o644))
                .tempfile_in(directory(path))
                .map_err(without_path)?;
            match file.as_file().try_lock() {
                // The file system has no such locks, so no other load can lock and remove the file.
                Ok(()) | Err(TryLockError::Error(_)) => {}
                Err(TryLockError::WouldBlock) => continue,
            }
            // Another load may have taken it for a leftover before it was locked.
            if file.as_file().metadata()?.nlink() > 0 {
                return Ok(Unfinished(file));
            }
        }
    }

    /// Returns its path for now.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Syncs it and renames it to its path, which must still be free; then syncs the
    /// directory, after which it survives a loss of power.
    ///
    /// # Errors
    /// The path is taken by now, or the system refuses.
    pub(crate) fn publish(self, path: &Path) -> Result<()> {
        let unwritable = LoadError::write(path);
        self.sync().map_err(&unwritable)?;
        // From here on, it is a file like any other.
        drop(self.0.persist_noclobber(path).map_err(|error| unwritable(error.error))?);
        File::open(directory(path)).and_then(|directory| directory.sync_all()).map_err(unwritable)
    }

    /// Returns another handle of the file, past `tempfile`'s own writer, whose errors add the name that the file has for now.
    ///
    /// # Errors
    /// The system has no more handles.
    pub(crate) fn writer(&self) -> io::Result<File> {
        self.0.as_file().try_clone()
    }

    /// Waits until it is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.0.as_file().sync_all()
    }

    /// Closes it; it is removed if it is not moved.
    pub(crate) fn closed(self) -> TempPath {
        self.0.into_temp_path()
    }
}

/// Removes files with this prefix that no load is writing. A file that cannot be listed, opened, locked or
/// removed is left alone: it may be in use, and a directory that cannot be used at all is reported when the
/// new file is made.
fn remove_leftovers(directory: &Path, prefix: &str) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        let is_ours =
            entry.file_name().to_string_lossy().strip_prefix(prefix).is_some_and(|rest| {
                rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_alphanumeric())
            });
        if is_ours
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The longest chain of links that is followed, as in the kernel.
const MOST_LINKS: usize = 40;

/// Returns the file that a path means, which need not exist: links are followed as the system follows them. A circle
/// of links is left to the function that opens it.
pub(crate) fn destination(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&at) {
            Ok(target) => at = directory(&at).join(target),
            Err(_) => return at,
        }
    }
    path.to_owned()
}

/// Returns the directory of a file.
pub(crate) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Returns the journal of a database, of the kind with this suffix.
pub(crate) fn journal(database: &Path, suffix: &str) -> PathBuf {
    let mut journal = database.as_os_str().to_owned();
    journal.push(suffix);
    journal.into()
}

/// Begins a database for `path`, where no file exists yet.
///
/// # Errors
/// A journal lies there, or no file can be made there.
pub(crate) fn new_database(path: &Path) -> Result<Unfinished> {
    for suffix in ["-journal", "-wal"] {
        let journal = journal(path, suffix);
        if journal.exists() {
            return Err(LoadError::LeftoverJournal(journal));
        }
    }
    Unfinished::next_to(path).map_err(LoadError::write(path))
}

/// Returns an error without the path that was tried, which nobody named.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    let reason = text.split(" at path ").next().unwrap_or_default();
    io::Error::new(error.kind(), reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_load_left_is_removed_and_what_is_in_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let in_use = Unfinished::next_to(&path).unwrap();
        for left in ["a.db.unfinished-AbC123", "a.db.unfinished-notes", "b.db.unfinished-AbC123"] {
            std::fs::write(folder.path().join(left), "").unwrap();
        }
        let new = Unfinished::next_to(&path).unwrap();
        let name =
            |file: &Unfinished| file.path().file_name().unwrap().to_string_lossy().into_owned();
        let mut expected = vec![
            name(&in_use),
            name(&new),
            "a.db.unfinished-notes".to_owned(),
            "b.db.unfinished-AbC123".to_owned(),
        ];
        expected.sort();
        assert_eq!(names(folder.path()), expected);
        drop((in_use, new));
        assert_eq!(names(folder.path()).len(), 2);
    }
}
