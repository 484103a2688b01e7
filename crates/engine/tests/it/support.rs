//! What the tests share: the default engine, and databases in a folder of their own.
use pragmark_engine::{Connection, Library, OpenFlags, Source, ffi};
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

/// Returns the promises of the device under the main database, as SQLite's `SQLITE_IOCAP_*` bits
/// (<https://sqlite.org/c3ref/c_iocap_atomic.html>).
pub fn device_characteristics(connection: &Connection) -> i32 {
    let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
    let control = connection.library().api().file_control;
    let (main, which) = (c"main".as_ptr(), ffi::SQLITE_FCNTL_FILE_POINTER);
    // SAFETY: the handle is open; this control writes one pointer, to a file that lives as long as the connection.
    unsafe {
        assert_eq!(
            control(connection.as_ptr(), main, which, (&raw mut file).cast()),
            ffi::SQLITE_OK
        );
        ((*(*file).pMethods).xDeviceCharacteristics)(file)
    }
}
