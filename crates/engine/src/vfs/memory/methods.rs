//! The methods through which SQLite reaches the files in memory.

use super::Inner;
use super::bytes::Bytes;
use super::files::{FileNumber, Files};
use super::locks::{Busy, Owner};
use crate::ffi::{self, AnyFunction, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};
use std::ffi::{CStr, c_char, c_double, c_int, c_void};
use std::sync::atomic::Ordering;

/// An open file, in the memory that SQLite allots.
#[repr(C)]
struct MemoryFile {
    /// First, because SQLite knows this memory as a `sqlite3_file`.
    base: sqlite3_file,
    inner: *const Inner,
    number: FileNumber,
    owner: Owner,
    characteristics: c_int,
    /// The name, which SQLite keeps until the file is closed, if the file is to be deleted then.
    delete_on_close: *const c_char,
}

/// The longest name, in bytes.
const LONGEST_NAME: c_int = 512;

/// The moment that every clock of this file system shows, so that written bytes do not depend on the time:
/// the beginning of 2026 in milliseconds of the Julian day.
const NOW_MS: i64 = 2_461_041 * 86_400_000 + 43_200_000;

/// Returns the record of a VFS; its name and application data are for the caller to complete.
pub(super) fn vfs(name: *const c_char) -> sqlite3_vfs {
    sqlite3_vfs {
        iVersion: 2,
        szOsFile: size_of::<MemoryFile>() as c_int,
        mxPathname: LONGEST_NAME,
        zName: name,
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: Some(dl_open),
        xDlError: Some(dl_error),
        xDlSym: Some(dl_sym),
        xDlClose: Some(dl_close),
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(get_last_error),
        xCurrentTimeInt64: Some(current_time_int64),
        ..sqlite3_vfs::EMPTY
    }
}

/// Returns the methods of files. A memory map is missing, so SQLite reads.
pub(super) fn io_methods() -> sqlite3_io_methods {
    sqlite3_io_methods {
        iVersion: 2,
        xClose: close,
        xRead: read,
        xWrite: write,
        xTruncate: truncate,
        xSync: sync,
        xFileSize: file_size,
        xLock: lock,
        xUnlock: unlock,
        xCheckReservedLock: check_reserved_lock,
        xFileControl: file_control,
        xSectorSize: sector_size,
        xDeviceCharacteristics: device_characteristics,
        xShmMap: Some(shm_map),
        xShmLock: Some(shm_lock),
        xShmBarrier: Some(shm_barrier),
        xShmUnmap: Some(shm_unmap),
        xFetch: None,
        xUnfetch: None,
    }
}

/// Returns the file system behind the record that SQLite gives to a method.
///
/// # Safety
/// `vfs` must be the record of a registered memory VFS, which then lives as long as the library.
unsafe fn inner<'a>(vfs: *mut sqlite3_vfs) -> &'a Inner {
    // SAFETY: registration made pAppData point to it.
    unsafe { &*(*vfs).pAppData.cast_const().cast() }
}

/// Returns the name as text; SQLite gives UTF-8, and a name that is not is one no file has.
///
/// # Safety
/// `name` must be a C string that outlives the use of the result.
unsafe fn text<'a>(name: *const c_char) -> Option<&'a str> {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(name) }.to_str().ok()
}

fn code(result: Result<(), Busy>) -> c_int {
    result.map_or(ffi::SQLITE_BUSY, |()| ffi::SQLITE_OK)
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives the record, memory of szOsFile bytes, a name that is null or lives until
    // the file is closed, and an out pointer that may be null.
    unsafe {
        (*file).pMethods = std::ptr::null();
        let inner = inner(vfs);
        let mut files = inner.files();
        let known = if name.is_null() {
            None
        } else {
            match text(name) {
                Some(name) => Some(name),
                None => return ffi::SQLITE_CANTOPEN,
            }
        };
        let new_only = flags & ffi::SQLITE_OPEN_EXCLUSIVE != 0;
        if new_only && known.is_some_and(|name| files.exists(name)) {
            return ffi::SQLITE_CANTOPEN;
        }
        let Some((number, owner)) = files.open(known, flags & ffi::SQLITE_OPEN_CREATE != 0) else {
            return ffi::SQLITE_CANTOPEN;
        };
        let temporary = flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0 && known.is_some();
        file.cast::<MemoryFile>().write(MemoryFile {
            base: sqlite3_file { pMethods: &inner.io_methods },
            inner,
            number,
            owner,
            characteristics: characteristics(inner, &files, name, flags),
            delete_on_close: if temporary { name } else { std::ptr::null() },
        });
        if !out_flags.is_null() {
            *out_flags = flags;
        }
        ffi::SQLITE_OK
    }
}

/// Returns the promises of the device for a file: the URI of a database may take powersafe overwrite away, as
/// it may in SQLite's Unix VFS.
///
/// # Safety
/// `name` must be null or a name that SQLite gave to `xOpen`.
unsafe fn characteristics(
    inner: &Inner,
    files: &Files,
    name: *const c_char,
    flags: c_int,
) -> c_int {
    let has_uri = flags & ffi::SQLITE_OPEN_MAIN_DB != 0;
    let all = inner.characteristics.load(Ordering::Relaxed);
    let Some(uri_boolean) = files.uri_boolean.filter(|_| has_uri && !name.is_null()) else {
        return all;
    };
    // SAFETY: the name is one that SQLite gave for a file of those kinds, as the function demands.
    let powersafe = unsafe { uri_boolean(name, c"psow".as_ptr(), 1) } != 0;
    if powersafe { all } else { all & !ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE }
}

/// Returns the next number of a splitmix64 generator (Steele, Lea and Flood, 2014).
fn next_random(state: u64) -> u64 {
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Defines methods of the file system, whose results are codes of SQLite, sizes or durations.
macro_rules! vfs_methods {
    ($($(#[$doc:meta])* fn $function:ident($vfs:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)? = $work:expr;)*) => {$(
        $(#[$doc])*
        #[allow(unused_unsafe)] // Some methods only give a constant.
        unsafe extern "C" fn $function($vfs: *mut sqlite3_vfs, $($argument: $type),*) $(-> $result)? {
            // SAFETY: SQLite gives the record of this VFS and arguments that the method's contract
            // allows: names are C strings, results valid pointers, and memory has `length` bytes.
            unsafe { $work }
        }
    )*};
}

vfs_methods! {
    fn delete(vfs, name: *const c_char, _with_directory: c_int) -> c_int = {
        if text(name).is_some_and(|name| inner(vfs).files().delete(name)) { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_DELETE_NOENT }
    };
    fn access(vfs, name: *const c_char, flags: c_int, result: *mut c_int) -> c_int = {
        let files = inner(vfs).files();
        let size = text(name).and_then(|name| files.bytes(name)).map(Bytes::len);
        // As in SQLite's Unix VFS: an empty file is as good as none.
        let yes = match flags {
            ffi::SQLITE_ACCESS_EXISTS => size.is_some_and(|size| size > 0),
            _ => size.is_some(),
        };
        *result = c_int::from(yes);
        ffi::SQLITE_OK
    };
    fn full_pathname(_vfs, name: *const c_char, length: c_int, result: *mut c_char) -> c_int = {
        let bytes = CStr::from_ptr(name).to_bytes_with_nul();
        if bytes.len() > length as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), result, bytes.len());
        ffi::SQLITE_OK
    };
    fn dl_open(_vfs, _name: *const c_char) -> *mut c_void = std::ptr::null_mut();
    fn dl_error(_vfs, length: c_int, message: *mut c_char) = {
        if length > 0 {
            *message = 0;
        }
    };
    fn dl_sym(_vfs, _library: *mut c_void, _name: *const c_char) -> Option<AnyFunction> = None;
    fn dl_close(_vfs, _library: *mut c_void) = ();
    fn randomness(vfs, length: c_int, result: *mut c_char) -> c_int = {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let random = &inner(vfs).random;
        let bytes = std::slice::from_raw_parts_mut(result.cast::<u8>(), length as usize);
        for chunk in bytes.chunks_mut(8) {
            let state = random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
            chunk.copy_from_slice(&next_random(state).to_le_bytes()[..chunk.len()]);
        }
        length
    };
    /// Time does not pass here, so there is nothing to wait for.
    fn sleep(_vfs, microseconds: c_int) -> c_int = microseconds;
    fn current_time(_vfs, result: *mut c_double) -> c_int = {
        *result = NOW_MS as f64 / 86_400_000.0;
        ffi::SQLITE_OK
    };
    fn current_time_int64(_vfs, result: *mut i64) -> c_int = {
        *result = NOW_MS;
        ffi::SQLITE_OK
    };
    fn get_last_error(_vfs, _length: c_int, _message: *mut c_char) -> c_int = 0;
}

/// Runs `work` on the open file and on all files.
///
/// # Safety
/// `file` must be an open file of a memory VFS, which keeps `inner` alive.
unsafe fn with<R>(file: *mut sqlite3_file, work: impl FnOnce(&MemoryFile, &mut Files) -> R) -> R {
    // SAFETY: the caller's promise; the file is written at opening only.
    unsafe {
        let file = &*file.cast::<MemoryFile>();
        work(file, &mut (*file.inner).files())
    }
}

/// Defines methods of files by their effect on the open file and on all files.
macro_rules! methods {
    ($(fn $function:ident($($argument:ident: $type:ty),*) = |$file:ident, $files:ident| $work:expr;)*) => {$(
        unsafe extern "C" fn $function(file: *mut sqlite3_file, $($argument: $type),*) -> c_int {
            // SAFETY: here and in every method below, SQLite calls with an open file of this VFS and
            // with arguments that the method's contract allows: results are valid pointers, and
            // buffers have `length` bytes.
            unsafe { with(file, |$file, $files| $work) }
        }
    )*};
}

methods! {
    fn close() = |file, files| {
        files.close(file.number, file.owner);
        if !file.delete_on_close.is_null() && let Some(name) = text(file.delete_on_close) {
            files.delete(name);
        }
        ffi::SQLITE_OK
    };
    fn truncate(size: i64) = |file, files| {
        files.at(file.number).bytes.resize(size as usize);
        ffi::SQLITE_OK
    };
    fn file_size(result: *mut i64) = |file, files| {
        *result = files.at(file.number).bytes.len() as i64;
        ffi::SQLITE_OK
    };
    fn lock(level: c_int) = |file, files| code(files.at(file.number).locks.lock(file.owner, level));
    fn unlock(level: c_int) = |file, files| {
        files.at(file.number).locks.unlock(file.owner, level);
        ffi::SQLITE_OK
    };
    fn check_reserved_lock(result: *mut c_int) = |file, files| {
        *result = c_int::from(files.at(file.number).locks.is_reserved());
        ffi::SQLITE_OK
    };
    fn sector_size() = |file, _files| (*file.inner).options.sector_size;
    fn device_characteristics() = |file, _files| file.characteristics;
    fn shm_map(region: c_int, _size: c_int, extend: c_int, result: *mut *mut c_void) = |file, files| {
        // SQLite requests regions of its own size only.
        let memory = files.map(file.number, file.owner, region as usize, extend != 0);
        *result = memory.map_or(std::ptr::null_mut(), |memory| memory.cast());
        ffi::SQLITE_OK
    };
    fn shm_lock(offset: c_int, count: c_int, flags: c_int) = |file, files| {
        let locks = files.shared_memory_locks(file.number);
        code(locks.change(file.owner, offset, count, flags))
    };
    fn shm_unmap(_delete: c_int) = |file, files| {
        files.unmap(file.number, file.owner);
        ffi::SQLITE_OK
    };
    fn read(buffer: *mut c_void, length: c_int, offset: i64) = |file, files| {
        let buffer = std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length as usize);
        let there = files.at(file.number).bytes.read(offset as u64, buffer);
        if there == buffer.len() {
            return ffi::SQLITE_OK;
        }
        // Missing bytes read as zeros, which SQLite relies on.
        buffer[there..].fill(0);
        ffi::SQLITE_IOERR_SHORT_READ
    };
    fn write(buffer: *const c_void, length: c_int, offset: i64) = |file, files| {
        let written = std::slice::from_raw_parts(buffer.cast::<u8>(), length as usize);
        files.at(file.number).bytes.write(offset as u64, written);
        ffi::SQLITE_OK
    };
}

unsafe extern "C" fn sync(_file: *mut sqlite3_file, _flags: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(
    _file: *mut sqlite3_file,
    _operation: c_int,
    _argument: *mut c_void,
) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn shm_barrier(_file: *mut sqlite3_file) {
    std::sync::atomic::fence(Ordering::SeqCst);
}
