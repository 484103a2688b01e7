//! Open files of a shim: a header of ours, followed by the file of the real VFS.

use super::event::{Event, FileId, FileKind, Observer, Question, SyncKind};
use super::shim::Shim;
use crate::ffi::{self, sqlite3_file, sqlite3_io_methods};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What comes before the real file, at the place that SQLite allots.
#[repr(C, align(8))]
struct Header<O> {
    /// First, because SQLite knows the place as a `sqlite3_file`.
    base: sqlite3_file,
    observer: *const O,
    id: FileId,
    kind: FileKind,
    /// Whether the first sync will also sync the directory.
    directory_pending: bool,
}

/// The bytes before the real file. The observer's type does not matter: only a pointer to it is kept.
pub(super) const HEADER_SIZE: usize = size_of::<Header<()>>();

/// The real file behind the header.
///
/// # Safety
/// `place` must be one of szOsFile bytes that SQLite gave to a shim.
unsafe fn real(place: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: the place is longer than the header; its size is a multiple of 8, the alignment that
    // SQLite gives to files.
    unsafe { place.byte_add(HEADER_SIZE) }
}

/// Calls a method of the real file.
macro_rules! real_method {
    ($place:expr, $method:ident $(, $argument:expr)*) => {{
        let real = real($place);
        ((*(*real).pMethods).$method)(real $(, $argument)*)
    }};
}

/// As `real_method`, for methods of versions 2 and 3, which the shim has only where the file has.
macro_rules! real_optional {
    ($place:expr, $method:ident($($argument:expr),*), else $missing:expr) => {{
        let real = real($place);
        match (*(*real).pMethods).$method {
            Some(method) => method(real $(, $argument)*),
            None => $missing,
        }
    }};
}

/// Opens the real file and sets up the header before it.
///
/// # Safety
/// As for `xOpen`: `place` has szOsFile bytes, `name` is null or a C string.
pub(super) unsafe fn open<O: Observer>(
    shim: &Shim<O>,
    name: *const c_char,
    place: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise; the arguments go on unchanged.
    unsafe {
        (*place).pMethods = std::ptr::null();
        let real = real(place);
        (*real).pMethods = std::ptr::null();
        let Some(method) = (*shim.real).xOpen else {
            return ffi::SQLITE_CANTOPEN;
        };
        let code = method(shim.real, name, real, flags, out_flags);
        // Without methods the file is not open and is not closed; with them it must be, even if opening
        // failed.
        if (*real).pMethods.is_null() {
            return code;
        }
        let (id, kind) = (
            FileId(shim.next_file.fetch_add(1, Ordering::Relaxed)),
            FileKind::of_flags(flags),
        );
        place.cast::<Header<O>>().write(Header {
            base: sqlite3_file {
                pMethods: methods_for(shim, (*(*real).pMethods).iVersion),
            },
            observer: Arc::as_ptr(&shim.observer),
            id,
            kind,
            directory_pending: flags & ffi::SQLITE_OPEN_CREATE != 0
                && matches!(
                    kind,
                    FileKind::Journal | FileKind::Wal | FileKind::SuperJournal
                ),
        });
        if code == ffi::SQLITE_OK {
            let name = (!name.is_null()).then(|| CStr::from_ptr(name));
            shim.observer.observe(&Event::Open {
                file: id,
                kind,
                name,
                flags,
                characteristics: ((*(*real).pMethods).xDeviceCharacteristics)(real),
                sector_size: ((*(*real).pMethods).xSectorSize)(real),
            });
        }
        code
    }
}

/// The methods for a real file of a version; later versions than 3 are not known and not passed on.
fn methods_for<O>(shim: &Shim<O>, version: c_int) -> *const sqlite3_io_methods {
    &shim.io_methods[version.clamp(1, 3) as usize - 1]
}

/// The methods of the shim's files of versions 1, 2 and 3.
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

/// Reports an event of the file at `place`, if the call succeeded, and returns its result.
///
/// # Safety
/// `place` must hold an open file of a `Shim<O>`.
unsafe fn report<'a, O: Observer>(
    place: *mut sqlite3_file,
    code: c_int,
    event: impl FnOnce(FileId, FileKind) -> Event<'a>,
) -> c_int {
    if code == ffi::SQLITE_OK {
        // SAFETY: the header was written when the file was opened; the shim keeps the observer alive
        // until the library is unloaded.
        unsafe {
            let header = place.cast::<Header<O>>();
            (*(*header).observer).observe(&event((*header).id, (*header).kind));
        }
    }
    code
}

/// Tells the observer that a lock is about to be taken.
///
/// # Safety
/// `place` must hold an open file of a `Shim<O>`.
unsafe fn about_to_lock<O: Observer>(place: *mut sqlite3_file) {
    // SAFETY: as in `report`.
    unsafe { (*(*place.cast::<Header<O>>()).observer).about_to_lock() };
}

unsafe extern "C" fn close<O: Observer>(place: *mut sqlite3_file) -> c_int {
    // SAFETY: here and in every method below, SQLite calls with an open file of this shim and with
    // arguments that the method's contract allows, which go on unchanged.
    unsafe {
        let code = real_method!(place, xClose);
        report::<O>(place, code, |file, kind| Event::Close { file, kind })
    }
}

unsafe extern "C" fn read<O: Observer>(
    place: *mut sqlite3_file,
    buffer: *mut c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        let code = real_method!(place, xRead, buffer, length, offset);
        // The file ended before the bytes asked for, which is no failure.
        let seen = if code == ffi::SQLITE_IOERR_SHORT_READ {
            ffi::SQLITE_OK
        } else {
            code
        };
        let length = length as usize;
        report::<O>(place, seen, |file, kind| Event::Read {
            file,
            kind,
            offset,
            length,
        });
        code
    }
}

unsafe extern "C" fn write<O: Observer>(
    place: *mut sqlite3_file,
    buffer: *const c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: see `close`; the buffer has `length` bytes.
    unsafe {
        let code = real_method!(place, xWrite, buffer, length, offset);
        let bytes = match length {
            0 => &[],
            _ => std::slice::from_raw_parts(buffer.cast::<u8>(), length as usize),
        };
        report::<O>(place, code, |file, kind| Event::Write {
            file,
            kind,
            offset,
            bytes,
        })
    }
}

unsafe extern "C" fn truncate<O: Observer>(place: *mut sqlite3_file, size: i64) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        let code = real_method!(place, xTruncate, size);
        report::<O>(place, code, |file, kind| Event::Truncate {
            file,
            kind,
            size,
        })
    }
}

unsafe extern "C" fn sync<O: Observer>(place: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: see `close`; SQLite uses a file from one thread at a time.
    unsafe {
        let header = place.cast::<Header<O>>();
        let code = match (*(*header).observer).syncs() {
            true => real_method!(place, xSync, flags),
            false => ffi::SQLITE_OK,
        };
        let with_directory =
            code == ffi::SQLITE_OK && std::mem::take(&mut (*header).directory_pending);
        let sync = SyncKind::of_flags(flags);
        report::<O>(place, code, |file, kind| Event::Sync {
            file,
            kind,
            sync,
            with_directory,
        })
    }
}

unsafe extern "C" fn shm_map<O: Observer>(
    place: *mut sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    result: *mut *mut c_void,
) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        let code = real_optional!(
            place,
            xShmMap(region, size, extend, result),
            else ffi::SQLITE_IOERR
        );
        report::<O>(place, code, |file, _| Event::SharedMemoryMap {
            file,
            region,
        })
    }
}

unsafe extern "C" fn shm_lock<O: Observer>(
    place: *mut sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        if flags & ffi::SQLITE_SHM_LOCK != 0 {
            about_to_lock::<O>(place);
        }
        let code = real_optional!(place, xShmLock(offset, count, flags), else ffi::SQLITE_IOERR);
        let event = |file, _| Event::SharedMemoryLock {
            file,
            offset,
            count,
            flags,
        };
        report::<O>(place, code, event)
    }
}

unsafe extern "C" fn shm_barrier<O: Observer>(place: *mut sqlite3_file) {
    // SAFETY: see `close`.
    unsafe {
        real_optional!(place, xShmBarrier(), else ());
        report::<O>(place, ffi::SQLITE_OK, |file, _| {
            Event::SharedMemoryBarrier { file }
        });
    }
}

unsafe extern "C" fn shm_unmap<O: Observer>(place: *mut sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        let code = real_optional!(place, xShmUnmap(delete), else ffi::SQLITE_OK);
        let delete = delete != 0;
        report::<O>(place, code, |file, _| Event::SharedMemoryUnmap {
            file,
            delete,
        })
    }
}

unsafe extern "C" fn fetch<O: Observer>(
    place: *mut sqlite3_file,
    offset: i64,
    length: c_int,
    result: *mut *mut c_void,
) -> c_int {
    // SAFETY: see `close`; `result` is a valid place, null in it means that nothing is mapped.
    unsafe {
        let code = real_optional!(place, xFetch(offset, length, result), else ffi::SQLITE_OK);
        if !(*result).is_null() {
            let length = length as usize;
            report::<O>(place, code, |file, kind| Event::Fetch {
                file,
                kind,
                offset,
                length,
            });
        }
        code
    }
}

/// Defines methods of files that only pass the call on.
macro_rules! pass_on {
    ($(fn $function:ident = $method:ident($($argument:ident: $type:ty),*);)*) => {$(
        unsafe extern "C" fn $function(place: *mut sqlite3_file, $($argument: $type),*) -> c_int {
            // SAFETY: see `close`.
            unsafe { real_method!(place, $method $(, $argument)*) }
        }
    )*};
}

pass_on! {
    fn sector_size = xSectorSize();
    fn device_characteristics = xDeviceCharacteristics();
}

unsafe extern "C" fn file_size<O: Observer>(place: *mut sqlite3_file, result: *mut i64) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        let code = real_method!(place, xFileSize, result);
        report::<O>(place, code, |_, _| Event::Asked {
            question: Question::Size,
        })
    }
}

unsafe extern "C" fn check_reserved_lock<O: Observer>(
    place: *mut sqlite3_file,
    result: *mut c_int,
) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        let code = real_method!(place, xCheckReservedLock, result);
        report::<O>(place, code, |_, _| Event::Asked {
            question: Question::ReservedLock,
        })
    }
}

unsafe extern "C" fn unfetch<O: Observer>(
    place: *mut sqlite3_file,
    offset: i64,
    page: *mut c_void,
) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        let code = real_optional!(place, xUnfetch(offset, page), else ffi::SQLITE_OK);
        report::<O>(place, code, |file, kind| Event::Unfetch {
            file,
            kind,
            offset,
        })
    }
}

unsafe extern "C" fn lock<O: Observer>(place: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        about_to_lock::<O>(place);
        let code = real_method!(place, xLock, level);
        report::<O>(place, code, |file, kind| Event::Lock { file, kind, level })
    }
}

unsafe extern "C" fn unlock<O: Observer>(place: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        let code = real_method!(place, xUnlock, level);
        report::<O>(place, code, |file, kind| Event::Unlock {
            file,
            kind,
            level,
        })
    }
}

unsafe extern "C" fn file_control<O: Observer>(
    place: *mut sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: see `close`.
    unsafe {
        let hint = operation == ffi::SQLITE_FCNTL_SIZE_HINT;
        let before = if hint { size(place) } else { None };
        let code = real_method!(place, xFileControl, operation, argument);
        report::<O>(place, code, |file, kind| Event::FileControl {
            file,
            kind,
            operation,
        });
        // SQLite's Unix VFS extends a mapped file, or one that grows in chunks, when it is told of its
        // coming size (`os_unix.c`, `fcntlSizeHint`).
        if hint
            && let Some(after) = size(place)
            && before != Some(after)
        {
            report::<O>(place, code, |file, kind| Event::Truncate {
                file,
                kind,
                size: after,
            });
        }
        code
    }
}

/// The size of the real file, if it can be had.
///
/// # Safety
/// `place` must hold an open file of a shim.
unsafe fn size(place: *mut sqlite3_file) -> Option<i64> {
    let mut size = 0;
    // SAFETY: the caller's promise; the method writes one number.
    let code = unsafe { real_method!(place, xFileSize, &raw mut size) };
    (code == ffi::SQLITE_OK).then_some(size)
}
