//! The methods of the shim's file system. Most only pass the call on.

use super::event::{Event, FileId, FileKind, Observer, Operation, Query};
use super::shim::Shim;
use crate::ffi::{self, AnyFunction, sqlite3_file, sqlite3_vfs};
use std::ffi::{CStr, c_char, c_double, c_int, c_void};

/// The shim behind the record that SQLite gives to a method.
///
/// # Safety
/// `vfs` must be the record of a registered `Shim<O>`, whose life then is that of the library.
unsafe fn shim<'a, O>(vfs: *mut sqlite3_vfs) -> &'a Shim<O> {
    // SAFETY: registration made pAppData point to the shim that holds the record.
    unsafe { &*(*vfs).pAppData.cast() }
}

/// Defines methods that pass the call on to the real VFS, with what a VFS without the method answers.
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
    fn current_time_int64 = xCurrentTimeInt64(result: *mut i64) -> c_int, else ffi::SQLITE_ERROR;
    fn set_system_call = xSetSystemCall(name: *const c_char, function: Option<AnyFunction>) -> c_int, else ffi::SQLITE_NOTFOUND;
    fn get_system_call = xGetSystemCall(name: *const c_char) -> Option<AnyFunction>, else None;
    fn next_system_call = xNextSystemCall(name: *const c_char) -> *const c_char, else std::ptr::null();
}

/// A record with the methods of a shim over `real`; numbers and names are for the caller to fill in.
/// Optional methods are there only where `real` has them.
///
/// # Safety
/// `real` must be a valid VFS record.
pub(super) unsafe fn of<O: Observer>(real: *const sqlite3_vfs) -> sqlite3_vfs {
    // SAFETY: the record is valid; fields of a later version are read only where it has them.
    let (has_last_error, has_time_int64, has_system_calls) = unsafe {
        (
            (*real).xGetLastError.is_some(),
            (*real).iVersion >= 2 && (*real).xCurrentTimeInt64.is_some(),
            (*real).iVersion >= 3 && (*real).xSetSystemCall.is_some(),
        )
    };
    sqlite3_vfs {
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
    unsafe { super::file::open(shim::<O>(vfs), name, file, flags, out_flags) }
}

unsafe extern "C" fn delete<O: Observer>(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    with_directory: c_int,
) -> c_int {
    // SAFETY: SQLite gives the shim's record and a name, a C string.
    unsafe {
        let shim = shim::<O>(vfs);
        let Some(method) = (*shim.real).xDelete else {
            return ffi::SQLITE_ERROR;
        };
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
        let Some(method) = (*shim.real).xAccess else {
            return ffi::SQLITE_ERROR;
        };
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
