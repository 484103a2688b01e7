//! Copies of the databases that statements are tried on.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::explain::{Needs, Subject};
use engine::vfs::Overlay;
use engine::{EngineError, Source};
use runner::workdir::WorkDir;

use crate::error::Error;
use crate::files::{built_in_library, work_folder};

/// Copies, which go with this value.
pub(super) struct Copies {
    folder: WorkDir,
    /// The most bytes of a database that is copied as a whole.
    most: u64,
    made: Cell<u32>,
    originals: RefCell<Vec<Arc<Overlay>>>,
}

/// A copy of a database, or its changes.
#[derive(Clone)]
pub(super) struct Copy {
    pub(super) path: PathBuf,
    /// The database if this is not a copy of all of it.
    original: Option<Arc<Overlay>>,
}

impl Copies {
    /// Returns a place for copies. Of databases of more than `most` bytes, it only holds the changes.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub(super) fn new(directory: &Path, most: u64) -> Result<Copies, Error> {
        Ok(Copies {
            folder: work_folder(directory)?,
            most,
            made: Cell::new(0),
            originals: RefCell::default(),
        })
    }

    /// Returns the place of a copy that is made by others.
    pub(super) fn empty(&self) -> Copy {
        self.made.update(|made| made + 1);
        let path = self.folder.path.join(format!("{}.db", self.made.get()));
        Copy { path, original: None }
    }

    /// Copies a database.
    ///
    /// # Errors
    /// It cannot be read, or the disk is full.
    pub(super) fn of(&self, database: &Path) -> Result<Copy, Error> {
        self.made(database, self.most)
    }

    /// Copies a copy of a database once more, as it was: not what others have written since.
    ///
    /// # Errors
    /// As for [`Copies::of`].
    pub(super) fn again(&self, copy: &Copy, database: Option<&PathBuf>) -> Result<Copy, Error> {
        match (&copy.original, database) {
            (Some(_), Some(database)) => self.of(database),
            _ => self.made(&copy.path, u64::MAX),
        }
    }

    fn made(&self, database: &Path, most: u64) -> Result<Copy, Error> {
        let mut copy = self.empty();
        let original = bench::copy_or_cover(&built_in_library()?, database, &copy.path, most);
        copy.original = original.map_err(Error::unusable)?.map(Arc::new);
        self.originals.borrow_mut().extend(copy.original.clone());
        Ok(copy)
    }

    /// Returns whether a database that was not copied as a whole has been written since.
    ///
    /// # Errors
    /// Its metadata cannot be read.
    pub(super) fn are_outdated(&self) -> Result<bool, Error> {
        let changed =
            self.originals.borrow().iter().map(|original| original.has_changed()).collect();
        let changed: Result<Vec<bool>, _> = changed;
        Ok(changed.map_err(Error::unusable)?.contains(&true))
    }
}

impl Copy {
    /// Opens the copy with an engine.
    ///
    /// # Errors
    /// It is not a database, or an extension or the engine cannot be loaded.
    pub(super) fn open(&self, engine: &Source, needs: Needs<'_>) -> Result<Subject, EngineError> {
        Subject::with_engine(engine, &self.path, self.original.clone(), needs)
    }
}

#[cfg(test)]
mod tests {
    use engine::{Connection, OpenFlags};

    use super::*;

    #[test]
    fn only_a_database_that_is_written_while_it_is_not_copied_makes_its_copy_outdated() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("app.db");
        let library = built_in_library().unwrap();
        let open = || Connection::open(&library, &database, OpenFlags::default(), None).unwrap();
        open().execute("CREATE TABLE t AS SELECT 1 AS a").unwrap();
        for (most, is_outdated) in [(0, true), (u64::MAX, false)] {
            let copies = Copies::new(folder.path(), most).unwrap();
            let copy = copies.of(&database).unwrap();
            let subject = copy.open(&Source::Embedded, Needs::default()).unwrap();
            subject.connect().unwrap().execute("INSERT INTO t VALUES (2)").unwrap();
            let count = "SELECT count(*) FROM t WHERE a = 2";
            assert_eq!(subject.connect().unwrap().query_i64(count).unwrap(), 1);
            assert_eq!(open().query_i64(count).unwrap(), 0);
            assert!(!copies.are_outdated().unwrap());
            open().execute("INSERT INTO t VALUES (3)").unwrap();
            assert_eq!(copies.are_outdated().unwrap(), is_outdated);
        }
    }
}
