//! A file system in memory that starts from given files, for recovering crash images.
//!
//! It behaves as SQLite's Unix VFS does (`os_unix.c`) in everything a database can observe: an open file
//! outlives its name, an empty file does not "exist" for `xAccess`, locks and the shared memory of
//! write-ahead logs work between connections, and sectors have 4096 bytes. Syncs do nothing. It stands apart
//! from the shims because it stores instead of passing on; a shim may lie over it.
//!
//! The decisions are in `bytes`, `files` and `locks`, which are free of unsafe code and of SQLite; `methods`
//! translates.

mod bytes;
mod files;
mod locks;
mod methods;

use super::shim::registered;
use crate::error::Result;
use crate::ffi;
use crate::library::Library;
use crate::locks::locked;
use crate::text::{VFS_NAME, c_string};
pub use bytes::{BLOCK, Base, Block, Bytes, Changed};
use files::Files;
use std::cell::UnsafeCell;
use std::ffi::{CString, c_int};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The device of a memory VFS and the seed of SQLite's random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryOptions {
    /// `SQLITE_IOCAP_*` bits. SQLite's Unix VFS has the default. The URI parameter `psow=0` takes
    /// powersafe overwrite away.
    pub characteristics: i32,
    /// The sector size in bytes.
    pub sector_size: i32,
    /// Seed of the bytes that `xRandomness` returns.
    pub seed: u64,
    /// Whether to become the library's default VFS, which is the one SQLite's random numbers are seeded
    /// from: journals, logs and the names of super-journals are then the same at every run.
    pub default: bool,
}

impl Default for MemoryOptions {
    fn default() -> MemoryOptions {
        MemoryOptions {
            characteristics: ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | ffi::SQLITE_IOCAP_SUBPAGE_READ,
            sector_size: 4096,
            seed: 0,
            default: false,
        }
    }
}

/// State that the methods find through `pAppData`.
struct Inner {
    /// The record that SQLite knows. SQLite links its list through it, hence the cell.
    vfs: UnsafeCell<ffi::sqlite3_vfs>,
    io_methods: ffi::sqlite3_io_methods,
    options: MemoryOptions,
    /// The promises of the device for files that are opened from now on.
    characteristics: AtomicI32,
    random: AtomicU64,
    files: Mutex<Files>,
    /// The name, to which `vfs.zName` points.
    _name: CString,
}

impl Inner {
    /// No method panics with the lock held but on a broken invariant, after which the process is
    /// aborted at the border to C.
    fn files(&self) -> MutexGuard<'_, Files> {
        locked(&self.files)
    }
}

// SAFETY: the pointers in it are to memory that this value owns; what changes is behind a mutex or
// atomic, except that SQLite keeps its list through `vfs.pNext` under its own mutex.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// A file system in memory: [`load`](Self::load) files, open connections with [`name`](Self::name).
///
/// Names are what SQLite is given, without any notion of a directory: `main.db` and `./main.db` are two
/// files. Connections stay valid when this value is dropped; new ones cannot be opened then.
pub struct MemoryVfs {
    library: Arc<Library>,
    inner: Arc<Inner>,
    name: String,
}

/// Numbers the memory VFSs of the process, so that each has a name of its own.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl MemoryVfs {
    /// Registers an empty file system in memory.
    ///
    /// # Errors
    /// A library with `THREADSAFE=0` that is in use; SQLite refuses.
    pub fn register(library: &Arc<Library>, options: MemoryOptions) -> Result<MemoryVfs> {
        library.within(|| register(library, options))?
    }

    /// Returns the name to open connections with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Replaces all files and returns those that there were, in the order of their names: their
    /// buffers can be used again.
    ///
    /// # Panics
    /// If a file is open.
    pub fn load(&self, files: impl IntoIterator<Item = (String, Bytes)>) -> Vec<(String, Bytes)> {
        let mut all = self.inner.files();
        assert_eq!(all.open_files(), 0, "files in memory are in use");
        all.replace(files)
    }

    /// Returns the number of open files.
    pub fn open_files(&self) -> usize {
        self.inner.files().open_files()
    }

    /// Returns the names of all files, sorted.
    pub fn names(&self) -> Vec<String> {
        self.inner.files().names().map(str::to_owned).collect()
    }

    /// Copies of all files, sorted by name.
    pub fn files(&self) -> Vec<(String, Bytes)> {
        self.inner.files().copies()
    }

    /// Gives `look` the bytes of a file; `None` if the file is missing. `look` must not call SQLite.
    pub fn with_file<R>(&self, name: &str, look: impl FnOnce(&Bytes) -> R) -> Option<R> {
        self.inner.files().bytes(name).map(look)
    }

    /// Sets whether files that are opened from now on are overwritten powersafely, so that a write changes no
    /// byte outside of it (<https://sqlite.org/psow.html>). `SQLITE_POWERSAFE_OVERWRITE=0` does the same in
    /// SQLite's Unix VFS.
    pub fn set_powersafe_overwrite(&self, powersafe: bool) {
        let all = self.inner.options.characteristics & !ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE;
        let bit = i32::from(powersafe) * ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE;
        self.inner.characteristics.store(all | bit, Ordering::Relaxed);
    }

    /// Makes SQLite's random numbers begin anew from `seed`: they are a function of it from here on, if
    /// this is the library's default VFS.
    ///
    /// # Errors
    /// A library with `THREADSAFE=0` that is in use.
    pub fn reseed(&self, seed: u64) -> Result<()> {
        self.library.within(|| {
            self.inner.random.store(seed, Ordering::Relaxed);
            // SAFETY: no bytes are requested, which resets the generator
            // (<https://sqlite.org/c3ref/randomness.html>).
            unsafe { (self.library.api().randomness)(0, std::ptr::null_mut()) };
        })
    }
}

impl Drop for MemoryVfs {
    fn drop(&mut self) {
        // As for the shims: where the library is in use the name stays, and the memory in any case.
        let unregister = self.library.api().vfs_unregister;
        // SAFETY: the record is registered and alive.
        let _ = self.library.within(|| unsafe { unregister(self.inner.vfs.get()) });
    }
}

fn register(library: &Arc<Library>, options: MemoryOptions) -> Result<MemoryVfs> {
    let name = format!("pragmark-memory-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let c_name = c_string(name.as_str(), VFS_NAME)?;
    let inner = Arc::new(Inner {
        vfs: UnsafeCell::new(methods::vfs(c_name.as_ptr())),
        io_methods: methods::io_methods(),
        options,
        characteristics: AtomicI32::new(options.characteristics),
        random: AtomicU64::new(options.seed),
        files: Mutex::new(Files::default()),
        _name: c_name,
    });
    // The library keeps it until it is unloaded, when no file can be open any more.
    library.retain(Box::new(Arc::clone(&inner)));
    // SAFETY: nobody else knows the record yet; it then lives, complete, as long as the library.
    registered(unsafe {
        let api = library.api();
        (*inner.vfs.get()).pAppData = Arc::as_ptr(&inner).cast_mut().cast();
        (api.vfs_register)(inner.vfs.get(), c_int::from(options.default))
    })?;
    // SQLite's own URI function, which the methods cannot reach through their arguments.
    inner.files().uri_boolean = Some(library.api().uri_boolean);
    Ok(MemoryVfs { library: Arc::clone(library), inner, name })
}
