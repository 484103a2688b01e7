//! The state of a shim and its open files: a header of ours, followed by the file of the real VFS.

use super::event::{Event, FileId, FileKind, Observer, Operation, Query, SyncKind};
use crate::ffi::{self, sqlite3_file, sqlite3_io_methods};
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// State of a shim, which its methods find through `pAppData`.
pub(super) struct Shim<O> {
    /// The record that SQLite knows, with a pointer back to this. SQLite links its list through it
    /// while methods may be reading the rest, hence the cell.
    pub(super) vfs: UnsafeCell<ffi::sqlite3_vfs>,
    pub(super) real: *mut ffi::sqlite3_vfs,
    pub(super) observer: Arc<O>,
    pub(super) next_file: AtomicU64,
    /// The methods of files whose real methods have version 1, 2 and 3.
    pub(super) io_methods: [ffi::sqlite3_io_methods; 3],
    /// The name, to which `vfs.zName` points.
    pub(super) _name: CString,
}

// SAFETY: the pointers are to SQLite's records, which may be used from any thread, and to memory that
// this value owns; nothing but `next_file` and the observer changes after registration, except that
// SQLite keeps its list through `vfs.pNext` under its own mutex.
unsafe impl<O: Observer> Send for Shim<O> {}

/// The header before the real file, in the memory that SQLite allots.
#[repr(C, align(8))]
struct Header<O> {
    /// First, because SQLite knows this memory as a `sqlite3_file`.
    base: sqlite3_file,
    observer: *const O,
    id: FileId,
    kind: FileKind,
    /// Whether the first sync will also sync the directory.
    directory_pending: bool,
}

/// The bytes before the real file. The observer's type does not matter: only a pointer to it is kept.
pub(super) const HEADER_SIZE: usize = size_of::<Header<()>>();

/// Returns the real file behind the header.
///
/// # Safety
/// `file` must be one of szOsFile bytes that SQLite gave to a shim.
unsafe fn real(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: the file is longer than the header; the header's size is a multiple of 8, the alignment
    // that SQLite gives to files.
    unsafe { file.byte_add(HEADER_SIZE) }
}

/// Calls a method of the real file; `else` gives the answer of a file without the method, for methods of
/// versions 2 and 3.
macro_rules! call_real {
    ($file:expr, $method:ident($($argument:expr),*)) => {{
        let real = real($file);
        ((*(*real).pMethods).$method)(real $(, $argument)*)
    }};
    ($file:expr, $method:ident($($argument:expr),*), else $missing:expr) => {{
        let real = real($file);
        match (*(*real).pMethods).$method {
            Some(method) => method(real $(, $argument)*),
            None => $missing,
        }
    }};
}

/// Opens the real file and sets up the header before it.
///
/// # Safety
/// As for `xOpen`: `file` has szOsFile bytes, `name` is null or a C string.
pub(super) unsafe fn open<O: Observer>(
    shim: &Shim<O>,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise; the arguments go on unchanged.
    unsafe {
        (*file).pMethods = std::ptr::null();
        let real = real(file);
        (*real).pMethods = std::ptr::null();
        let Some(method) = (*shim.real).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = method(shim.real, name, real, flags, out_flags);
        // Without methods the file is not open and is not closed; with them it must be, even if opening
        // failed.
        if (*real).pMethods.is_null() {
            return code;
        }
        let kind = FileKind::of_flags(flags);
        file.cast::<Header<O>>().write(Header {
            base: sqlite3_file { pMethods: methods_for(shim, (*(*real).pMethods).iVersion) },
            observer: Arc::as_ptr(&shim.observer),
            id: FileId(shim.next_file.fetch_add(1, Ordering::Relaxed)),
            kind,
            directory_pending: flags & ffi::SQLITE_OPEN_CREATE != 0
                && matches!(kind, FileKind::Journal | FileKind::Wal | FileKind::SuperJournal),
        });
        if code != ffi::SQLITE_OK {
            return code;
        }
        let name = (!name.is_null()).then(|| CStr::from_ptr(name));
        let operation = Operation::Open {
            name,
            flags,
            characteristics: ((*(*real).pMethods).xDeviceCharacteristics)(real),
            sector_size: ((*(*real).pMethods).xSectorSize)(real),
        };
        report::<O>(file, code, operation)
    }
}

/// Returns the methods for a real file of a version; later versions than 3 are not known and not passed on.
fn methods_for<O>(shim: &Shim<O>, version: c_int) -> *const sqlite3_io_methods {
    &shim.io_methods[version.clamp(1, 3) as usize - 1]
}

/// Returns the methods of the shim's files of versions 1, 2 and 3.
pub(super) fn io_methods<O: Observer>() -> [sqlite3_io_methods; 3] {
    let first = sqlite3_io_methods {
        iVersion: 1,
        xClose: close::<O>,
        xRead: read::<O>,
        xWrite: write::<O>,
        xTruncate: truncate::<O>,
        xSync: sync::<O>,
        xFileSize: file_size::<O>,
        xLock: lock::<O>,
        xUnlock: unlock::<O>,
        xCheckReservedLock: check_reserved_lock::<O>,
        xFileControl: file_control::<O>,
        xSectorSize: sector_size,
        xDeviceCharacteristics: device_characteristics,
        xShmMap: None,
        xShmLock: None,
        xShmBarrier: None,
        xShmUnmap: None,
        xFetch: None,
        xUnfetch: None,
    };
    let second = sqlite3_io_methods {
        iVersion: 2,
        xShmMap: Some(shm_map::<O>),
        xShmLock: Some(shm_lock::<O>),
        xShmBarrier: Some(shm_barrier::<O>),
        xShmUnmap: Some(shm_unmap::<O>),
        ..first
    };
    let third = sqlite3_io_methods {
        iVersion: 3,
        xFetch: Some(fetch::<O>),
        xUnfetch: Some(unfetch::<O>),
        ..second
    };
    [first, second, third]
}

/// Reports what was done to `file`, if the call succeeded, and returns its result.
///
/// # Safety
/// `file` must be an open file of a `Shim<O>`.
unsafe fn report<O: Observer>(
    file: *mut sqlite3_file,
    code: c_int,
    operation: Operation<'_>,
) -> c_int {
    if code == ffi::SQLITE_OK {
        // SAFETY: the header was written when the file was opened; the shim keeps the observer alive
        // until the library is unloaded.
        unsafe {
            let header = file.cast::<Header<O>>();
            (*(*header).observer).observe(&Event {
                file: (*header).id,
                kind: (*header).kind,
                operation,
            });
        }
    }
    code
}

/// Announces to the observer that a lock is about to be taken.
///
/// # Safety
/// `file` must be an open file of a `Shim<O>`.
unsafe fn about_to_lock<O: Observer>(file: *mut sqlite3_file) {
    // SAFETY: as in `report`.
    unsafe { (*(*file.cast::<Header<O>>()).observer).about_to_lock() };
}

/// Defines methods that pass the call on and report it.
macro_rules! reported {
    ($(fn $function:ident = $method:ident($($argument:ident: $type:ty),*) $(, else $missing:expr)? => $operation:expr;)*) => {$(
        unsafe extern "C" fn $function<O: Observer>(file: *mut sqlite3_file, $($argument: $type),*) -> c_int {
            // SAFETY: here and in every method below, SQLite calls with an open file of this shim and
            // with arguments that the method's contract allows, which go on unchanged.
            unsafe {
                let code = call_real!(file, $method($($argument),*) $(, else $missing)?);
                report::<O>(file, code, $operation)
            }
        }
    )*};
}

reported! {
    fn close = xClose() => Operation::Close;
    fn truncate = xTruncate(size: i64) => Operation::Truncate { size };
    fn file_size = xFileSize(result: *mut i64) => Operation::Query(Query::Size);
    fn unlock = xUnlock(level: c_int) => Operation::Unlock { level };
    fn check_reserved_lock = xCheckReservedLock(result: *mut c_int) => Operation::Query(Query::ReservedLock);
    fn shm_map = xShmMap(region: c_int, size: c_int, extend: c_int, result: *mut *mut c_void),
        else ffi::SQLITE_IOERR => Operation::SharedMemoryMap { region };
    fn shm_unmap = xShmUnmap(delete: c_int),
        else ffi::SQLITE_OK => Operation::SharedMemoryUnmap { delete: delete != 0 };
    fn unfetch = xUnfetch(offset: i64, page: *mut c_void),
        else ffi::SQLITE_OK => Operation::Unfetch { offset };
}

/// Defines methods that do more than call and report.
macro_rules! methods {
    ($($(#[$doc:meta])* fn $function:ident($file:ident $(, $argument:ident: $type:ty)*) $work:block)*) => {$(
        $(#[$doc])*
        unsafe extern "C" fn $function<O: Observer>($file: *mut sqlite3_file $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite calls with a file that `open` wrote and with arguments that the method's
            // contract allows.
            unsafe { $work }
        }
    )*};
}

methods! {
    fn read(file, buffer: *mut c_void, length: c_int, offset: i64) {
        // SAFETY: see `reported`; the buffer has `length` bytes.
        let bytes = std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length as usize);
        let header = file.cast::<Header<O>>();
        let code = match (*(*header).observer).read((*header).kind, offset, bytes) {
            Ok(true) => ffi::SQLITE_OK,
            Ok(false) => call_real!(file, xRead(buffer, length, offset)),
            Err(_) => ffi::SQLITE_IOERR,
        };
        // A file that ends before the requested bytes is not a failure.
        let seen = match code {
            ffi::SQLITE_IOERR_SHORT_READ => ffi::SQLITE_OK,
            code => code,
        };
        let length = length as usize;
        report::<O>(file, seen, Operation::Read { offset, length });
        code
    }

    fn write(file, buffer: *const c_void, length: c_int, offset: i64) {
        // SAFETY: see `reported`; the buffer has `length` bytes.
        let code = call_real!(file, xWrite(buffer, length, offset));
        let bytes = match length {
            0 => &[],
            _ => std::slice::from_raw_parts(buffer.cast::<u8>(), length as usize),
        };
        report::<O>(file, code, Operation::Write { offset, bytes })
    }

    fn sync(file, flags: c_int) {
        // SAFETY: see `reported`; SQLite uses a file from one thread at a time.
        let header = file.cast::<Header<O>>();
        let code = if (*(*header).observer).syncs() { call_real!(file, xSync(flags)) } else { ffi::SQLITE_OK };
        let with_directory =
            code == ffi::SQLITE_OK && std::mem::take(&mut (*header).directory_pending);
        let operation = Operation::Sync {
            sync: SyncKind::of_flags(flags),
            with_directory,
        };
        report::<O>(file, code, operation)
    }

    fn lock(file, level: c_int) {
        about_to_lock::<O>(file);
        let code = call_real!(file, xLock(level));
        report::<O>(file, code, Operation::Lock { level })
    }

    fn shm_lock(file, offset: c_int, count: c_int, flags: c_int) {
        if flags & ffi::SQLITE_SHM_LOCK != 0 {
            about_to_lock::<O>(file);
        }
        let code = call_real!(file, xShmLock(offset, count, flags), else ffi::SQLITE_IOERR);
        let operation = Operation::SharedMemoryLock {
            offset,
            count,
            flags,
        };
        report::<O>(file, code, operation)
    }

    fn fetch(file, offset: i64, length: c_int, result: *mut *mut c_void) {
        // SAFETY: see `reported`; `result` is a valid pointer, null in it means that nothing is mapped.
        let code = call_real!(file, xFetch(offset, length, result), else ffi::SQLITE_OK);
        if !(*result).is_null() {
            let length = length as usize;
            report::<O>(file, code, Operation::Fetch { offset, length });
        }
        code
    }

    fn file_control(file, control: c_int, argument: *mut c_void) {
        let hint = control == ffi::SQLITE_FCNTL_SIZE_HINT;
        let before = if hint { size(file) } else { None };
        let code = call_real!(file, xFileControl(control, argument));
        report::<O>(file, code, Operation::FileControl { control });
        // SQLite's Unix VFS extends a mapped file, or one that grows in chunks, when it learns the
        // coming size (`os_unix.c`, `fcntlSizeHint`).
        if hint
            && let Some(size) = size(file)
            && before != Some(size)
        {
            report::<O>(file, code, Operation::Truncate { size });
        }
        code
    }
}

unsafe extern "C" fn shm_barrier<O: Observer>(file: *mut sqlite3_file) {
    // SAFETY: see `reported`.
    unsafe {
        call_real!(file, xShmBarrier(), else ());
        report::<O>(file, ffi::SQLITE_OK, Operation::SharedMemoryBarrier);
    }
}

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    // SAFETY: see `reported`.
    unsafe { call_real!(file, xSectorSize()) }
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: see `reported`.
    unsafe { call_real!(file, xDeviceCharacteristics()) }
}

/// Returns the size of the real file, if available.
///
/// # Safety
/// `file` must be an open file of a shim.
unsafe fn size(file: *mut sqlite3_file) -> Option<i64> {
    let mut size = 0;
    // SAFETY: the caller's promise; the method writes one number.
    let code = unsafe { call_real!(file, xFileSize(&raw mut size)) };
    (code == ffi::SQLITE_OK).then_some(size)
}
