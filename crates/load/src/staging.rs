//! Files that take their place when they are complete.
//!
//! A new database is built in a file beside its place, so that a load which is stopped at any point
//! leaves nothing under its name. A load that is killed leaves that file, whose name tells what it was.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::LoadError;

/// A new file in the directory of `path`, removed unless it is kept.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    tempfile::Builder::new()
        .prefix(&format!("{name}.unfinished-"))
        // As SQLite makes databases; the process's mask is taken off.
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(directory(path))
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A database in the making.
#[derive(Debug)]
pub(crate) struct Staging {
    file: NamedTempFile,
    place: PathBuf,
}

impl Staging {
    /// Begins a database that is to be at `place`, where nothing is yet.
    ///
    /// # Errors
    /// A journal lies there, or no file can be made there.
    pub(crate) fn new(place: &Path) -> Result<Staging, LoadError> {
        for suffix in ["-journal", "-wal"] {
            let mut journal = place.as_os_str().to_owned();
            journal.push(suffix);
            if Path::new(&journal).exists() {
                return Err(LoadError::LeftoverJournal {
                    journal: journal.into(),
                });
            }
        }
        let file = beside(place).map_err(|source| LoadError::Write {
            path: place.to_owned(),
            source,
        })?;
        Ok(Staging {
            file,
            place: place.to_owned(),
        })
    }

    /// Where the database is until it is complete.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Syncs the database and puts it in its place, which must still be empty; then syncs the
    /// directory, after which it survives a loss of power.
    ///
    /// # Errors
    /// Something is at the place by now, or the system refuses.
    pub(crate) fn publish(self) -> Result<(), LoadError> {
        let place = self.place;
        let unwritable = |source| LoadError::Write {
            path: place.clone(),
            source,
        };
        self.file.as_file().sync_all().map_err(unwritable)?;
        self.file
            .persist_noclobber(&place)
            .map_err(|error| unwritable(error.error))?;
        File::open(directory(&place))
            .and_then(|directory| directory.sync_all())
            .map_err(unwritable)
    }
}
