//! Registering a shim: the record of a VFS that passes everything on to another.

use super::event::Observer;
use super::{file, methods};
use crate::error::{During, EngineError, SqliteError};
use crate::ffi;
use crate::library::Library;
use crate::text::{VFS_NAME, c_string};
use std::cell::UnsafeCell;
use std::ffi::{CString, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the methods of a shim find through `pAppData`.
pub(super) struct Shim<O> {
    /// The record that SQLite knows, with a pointer back to this. SQLite links its list through it
    /// while methods may be reading the rest, hence the cell.
    vfs: UnsafeCell<ffi::sqlite3_vfs>,
    pub(super) real: *mut ffi::sqlite3_vfs,
    pub(super) observer: Arc<O>,
    pub(super) next_file: AtomicU64,
    /// The methods of files whose real methods have version 1, 2 and 3.
    pub(super) io_methods: [ffi::sqlite3_io_methods; 3],
    /// The name, to which `vfs.zName` points.
    _name: CString,
}

// SAFETY: the pointers are to SQLite's records, which may be used from any thread, and to memory that
// this value owns; nothing but `next_file` and the observer changes after registration, except that
// SQLite keeps its list through `vfs.pNext` under its own mutex.
unsafe impl<O: Observer> Send for Shim<O> {}

/// A shim's pointer, of which the library takes ownership at registration.
struct Registered<O>(*mut Shim<O>);

// SAFETY: it is the only owner of a shim, which is `Send`.
unsafe impl<O: Observer> Send for Registered<O> {}

impl<O> Drop for Registered<O> {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` and freed here only, when the library is unloaded: every
        // connection, and with it every open file, is gone before.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// A VFS that passes every call on to another and reports it to an observer.
///
/// It can be opened by its name as long as this value lives. Connections that use it are not affected
/// when it is dropped: its memory belongs to the library and stays until that is unloaded.
pub struct ObservedVfs<O: Observer> {
    library: Arc<Library>,
    shim: *mut Shim<O>,
    name: String,
    observer: Arc<O>,
}

// SAFETY: the pointer is used to unregister only, which SQLite does under its own mutex; libraries
// without mutexes are entered first.
unsafe impl<O: Observer> Send for ObservedVfs<O> {}
// SAFETY: a shared reference gives the name and the observer, which is `Sync`.
unsafe impl<O: Observer> Sync for ObservedVfs<O> {}

/// Numbers the shims of the process, so that each has a name of its own.
static NEXT_SHIM: AtomicU64 = AtomicU64::new(1);

impl<O: Observer> ObservedVfs<O> {
    /// Registers a shim over the VFS called `base`, or over the default one. `label` is the beginning
    /// of the shim's name, for example `pragmark-counting`.
    ///
    /// # Errors
    /// No such VFS; a NUL byte in a name; a library with `THREADSAFE=0` that is in use.
    pub fn register(
        library: &Arc<Library>,
        base: Option<&str>,
        label: &str,
        observer: Arc<O>,
    ) -> Result<ObservedVfs<O>, EngineError> {
        library.enter()?;
        let registered = register(library, base, label, Arc::clone(&observer));
        library.leave();
        let (shim, name) = registered?;
        Ok(ObservedVfs { library: Arc::clone(library), shim, name, observer })
    }

    /// The name to open connections with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The observer.
    pub fn observer(&self) -> &Arc<O> {
        &self.observer
    }
}

impl<O: Observer> Drop for ObservedVfs<O> {
    fn drop(&mut self) {
        // A single-threaded library that is in use may be in use by another thread; the name then stays
        // registered, which is harmless, because the memory stays too.
        if self.library.enter().is_ok() {
            // SAFETY: the record is registered and alive.
            unsafe { (self.library.api().vfs_unregister)((*self.shim).vfs.get()) };
            self.library.leave();
        }
    }
}

fn register<O: Observer>(
    library: &Arc<Library>,
    base: Option<&str>,
    label: &str,
    observer: Arc<O>,
) -> Result<(*mut Shim<O>, String), EngineError> {
    let real = find(library, base)?;
    let name = format!("{label}-{}", NEXT_SHIM.fetch_add(1, Ordering::Relaxed));
    let shim = Box::into_raw(Box::new(shim_over(real, &name, observer)?));
    // SAFETY: `shim` was just made and is owned by the library from here on, at its final address.
    unsafe { (*(*shim).vfs.get()).pAppData = shim.cast() };
    library.retain(Box::new(Registered(shim)));
    // SAFETY: the record is complete and lives as long as the library.
    registered(unsafe { (library.api().vfs_register)((*shim).vfs.get(), 0) })?;
    Ok((shim, name))
}

/// Turns the result of registering a VFS into an error.
pub(super) fn registered(code: c_int) -> Result<(), EngineError> {
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    let during = During::Call("registering a VFS");
    Err(SqliteError::new(code, "SQLite refused it".to_owned(), during).into())
}

fn find(library: &Library, name: Option<&str>) -> Result<*mut ffi::sqlite3_vfs, EngineError> {
    let c_name = name.map(|name| c_string(name, VFS_NAME)).transpose()?;
    let pointer = c_name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
    // SAFETY: the name is null or a C string.
    let vfs = unsafe { (library.api().vfs_find)(pointer) };
    if vfs.is_null() {
        return Err(EngineError::NoSuchVfs(name.unwrap_or("(default)").to_owned()));
    }
    Ok(vfs)
}

fn shim_over<O: Observer>(
    real: *mut ffi::sqlite3_vfs,
    name: &str,
    observer: Arc<O>,
) -> Result<Shim<O>, EngineError> {
    let name = c_string(name, VFS_NAME)?;
    // SAFETY: SQLite's list holds valid records only; numbers and names in them do not change.
    let (version, file_size, path_length) =
        unsafe { ((*real).iVersion, (*real).szOsFile, (*real).mxPathname) };
    let vfs = ffi::sqlite3_vfs {
        iVersion: version.min(3),
        szOsFile: file::HEADER_SIZE as c_int + file_size,
        mxPathname: path_length,
        zName: name.as_ptr(),
        // SAFETY: `real` is valid, as above.
        ..unsafe { methods::of::<O>(real) }
    };
    Ok(Shim {
        vfs: UnsafeCell::new(vfs),
        real,
        observer,
        next_file: AtomicU64::new(1),
        io_methods: file::io_methods::<O>(),
        _name: name,
    })
}
