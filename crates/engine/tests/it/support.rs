//! What the tests share: the default engine, and databases in a folder of their own.
use pragmark_engine::{Connection, Library, OpenFlags, Source};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

pub fn engine() -> Arc<Library> {
    Arc::new(Library::load(&Source::Embedded).expect("the default engine loads"))
}

pub fn memory(library: &Arc<Library>) -> Connection {
    open(library, Path::new(":memory:"))
}

pub fn open(library: &Arc<Library>, path: &Path) -> Connection {
    Connection::open(library, path, OpenFlags::default(), None).expect("opens")
}

/// A folder that is deleted at the end, and the path of a database in it.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new() -> Scratch {
        Scratch(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
