//! The record of a VFS that passes every call on to another, and its registration.

use super::event::{Event, FileId, FileKind, Observer, Operation, Query};
use super::file::{self, Shim};
use crate::error::{During, EngineError, Result, SqliteError};
use crate::ffi::{self, AnyFunction, sqlite3_file, sqlite3_vfs};
use crate::library::Library;
use crate::text::{VFS_NAME, c_string};
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_double, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
    ) -> Result<ObservedVfs<O>> {
        library.within(|| {
            let real = find(library, base)?;
            let name = format!("{label}-{}", NEXT_SHIM.fetch_add(1, Ordering::Relaxed));
            let shim = Box::into_raw(Box::new(shim_over(real, &name, Arc::clone(&observer))?));
            // SAFETY: `shim` was just made and is owned by the library from here on, at its final address.
            unsafe { (*(*shim).vfs.get()).pAppData = shim.cast() };
            library.retain(Box::new(Registered(shim)));
            // SAFETY: the record is complete and lives as long as the library.
            registered(unsafe { (library.api().vfs_register)((*shim).vfs.get(), 0) })?;
            Ok(ObservedVfs { library: Arc::clone(library), shim, name, observer })
        })?
    }

    /// Returns the name to open connections with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the observer.
    pub fn observer(&self) -> &Arc<O> {
        &self.observer
    }
}

impl<O: Observer> Drop for ObservedVfs<O> {
    fn drop(&mut self) {
        // A single-threaded library that is in use may be in use by another thread; the name then stays
        // registered, which is harmless, because the memory stays too.
        let unregister = self.library.api().vfs_unregister;
        // SAFETY: the record is registered and alive.
        let _ = self.library.within(|| unsafe { unregister((*self.shim).vfs.get()) });
    }
}

/// Turns the result of registering a VFS into an error.
pub(super) fn registered(code: c_int) -> Result<()> {
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    let during = During::Call("registering a VFS");
    Err(SqliteError::new(code, "SQLite refused it".to_owned(), during).into())
}

fn find(library: &Library, name: Option<&str>) -> Result<*mut ffi::sqlite3_vfs> {
    let c_name = name.map(|name| c_string(name, VFS_NAME)).transpose()?;
    let pointer = c_name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
    // SAFETY: the name is null or a C string.
    let vfs = unsafe { (library.api().vfs_find)(pointer) };
    if vfs.is_null() {
        let name = name.unwrap_or("(default)");
        return Err(EngineError::Usage(format!("this engine has no VFS called {name}")));
    }
    Ok(vfs)
}

/// Returns a shim over `real`. Optional methods are there only where `real` has them.
fn shim_over<O: Observer>(
    real: *mut ffi::sqlite3_vfs,
    name: &str,
    observer: Arc<O>,
) -> Result<Shim<O>> {
    let name = c_string(name, VFS_NAME)?;
    // SAFETY: SQLite's list holds valid records only, in which nothing changes; fields of a later version are
    // read only where it has them.
    let vfs = unsafe {
        let has_last_error = (*real).xGetLastError.is_some();
        let has_time_int64 = (*real).iVersion >= 2 && (*real).xCurrentTimeInt64.is_some();
        let has_system_calls = (*real).iVersion >= 3 && (*real).xSetSystemCall.is_some();
        sqlite3_vfs {
            iVersion: (*real).iVersion.min(3),
            szOsFile: file::HEADER_SIZE as c_int + (*real).szOsFile,
            mxPathname: (*real).mxPathname,
            zName: name.as_ptr(),
            xOpen: Some(open::<O>),
            xDelete: Some(delete::<O>),
            xAccess: Some(access::<O>),
            xFullPathname: Some(full_pathname::<O>),
            xDlOpen: Some(dl_open::<O>),
            xDlError: Some(dl_error::<O>),
            xDlSym: Some(dl_sym::<O>),
            xDlClose: Some(dl_close::<O>),
            xRandomness: Some(randomness::<O>),
            xSleep: Some(sleep::<O>),
            xCurrentTime: Some(current_time::<O>),
            xGetLastError: has_last_error.then_some(get_last_error::<O>),
            xCurrentTimeInt64: has_time_int64.then_some(current_time_int64::<O>),
            xSetSystemCall: has_system_calls.then_some(set_system_call::<O>),
            xGetSystemCall: has_system_calls.then_some(get_system_call::<O>),
            xNextSystemCall: has_system_calls.then_some(next_system_call::<O>),
            ..sqlite3_vfs::EMPTY
        }
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

/// Returns the shim behind the record that SQLite gives to a method.
///
/// # Safety
/// `vfs` must be the record of a registered `Shim<O>`, which then lives as long as the library.
unsafe fn shim<'a, O>(vfs: *mut sqlite3_vfs) -> &'a Shim<O> {
    // SAFETY: registration made pAppData point to the shim that holds the record.
    unsafe { &*(*vfs).pAppData.cast() }
}

/// Defines methods that pass the call on to the real VFS; `else` gives the answer of a VFS without the
/// method.
macro_rules! pass_on {
    ($(fn $function:ident = $field:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, else $missing:expr;)*) => {$(
        unsafe extern "C" fn $function<O: Observer>(
            vfs: *mut sqlite3_vfs, $($argument: $type),*
        ) $(-> $result)? {
            // SAFETY: SQLite calls this with the shim's record, and with arguments that the contract of
            // the method allows, which go on unchanged.
            unsafe {
                let real = shim::<O>(vfs).real;
                match (*real).$field {
                    Some(method) => method(real, $($argument),*),
                    None => $missing,
                }
            }
        }
    )*};
}

pass_on! {
    fn full_pathname = xFullPathname(name: *const c_char, length: c_int, result: *mut c_char) -> c_int, else ffi::SQLITE_ERROR;
    fn dl_open = xDlOpen(name: *const c_char) -> *mut c_void, else std::ptr::null_mut();
    fn dl_error = xDlError(length: c_int, message: *mut c_char), else ();
    fn dl_sym = xDlSym(library: *mut c_void, name: *const c_char) -> Option<AnyFunction>, else None;
    fn dl_close = xDlClose(library: *mut c_void), else ();
    fn randomness = xRandomness(length: c_int, result: *mut c_char) -> c_int, else 0;
    fn current_time = xCurrentTime(result: *mut c_double) -> c_int, else ffi::SQLITE_ERROR;
    fn get_last_error = xGetLastError(length: c_int, message: *mut c_char) -> c_int, else 0;
    fn set_system_call = xSetSystemCall(name: *const c_char, function: Option<AnyFunction>) -> c_int, else ffi::SQLITE_NOTFOUND;
    fn get_system_call = xGetSystemCall(name: *const c_char) -> Option<AnyFunction>, else None;
    fn next_system_call = xNextSystemCall(name: *const c_char) -> *const c_char, else std::ptr::null();
}

/// The clock, which is ahead of the real one by the observer's milliseconds.
unsafe extern "C" fn current_time_int64<O: Observer>(
    vfs: *mut sqlite3_vfs,
    result: *mut i64,
) -> c_int {
    // SAFETY: SQLite gives the shim's record and a place for the time, which the real method fills.
    unsafe {
        let shim = shim::<O>(vfs);
        let Some(method) = (*shim.real).xCurrentTimeInt64 else { return ffi::SQLITE_ERROR };
        let code = method(shim.real, result);
        *result += shim.observer.clock_ahead();
        code
    }
}

unsafe extern "C" fn open<O: Observer>(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives the shim's record, memory of szOsFile bytes, and a name that is null or
    // lives until the file is closed.
    unsafe { file::open(shim::<O>(vfs), name, file, flags, out_flags) }
}

unsafe extern "C" fn delete<O: Observer>(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    with_directory: c_int,
) -> c_int {
    // SAFETY: SQLite gives the shim's record and a name, a C string.
    unsafe {
        let shim = shim::<O>(vfs);
        let Some(method) = (*shim.real).xDelete else { return ffi::SQLITE_ERROR };
        let syncs = with_directory != 0 && shim.observer.syncs();
        let code = method(shim.real, name, c_int::from(syncs));
        if code == ffi::SQLITE_OK {
            let name = CStr::from_ptr(name);
            shim.observer.observe(&Event {
                file: FileId::NONE,
                kind: FileKind::of_name(name),
                operation: Operation::Delete { name, with_directory: with_directory != 0 },
            });
        }
        code
    }
}

unsafe extern "C" fn access<O: Observer>(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    result: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives the shim's record and a name, a C string; the arguments go on unchanged.
    unsafe {
        let shim = shim::<O>(vfs);
        let Some(method) = (*shim.real).xAccess else { return ffi::SQLITE_ERROR };
        let code = method(shim.real, name, flags, result);
        if code == ffi::SQLITE_OK {
            shim.observer.observe(&Event {
                file: FileId::NONE,
                kind: FileKind::of_name(CStr::from_ptr(name)),
                operation: Operation::Query(Query::Access),
            });
        }
        code
    }
}

unsafe extern "C" fn sleep<O: Observer>(vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    // SAFETY: SQLite gives the shim's record.
    unsafe {
        let shim = shim::<O>(vfs);
        match (*shim.real).xSleep {
            Some(method) if shim.observer.sleeps() => method(shim.real, microseconds),
            _ => microseconds,
        }
    }
}
