//! The structures of `sqlite3.h`: opaque handles, and the records of the VFS interface
//! (<https://sqlite.org/c3ref/vfs.html>, <https://sqlite.org/c3ref/io_methods.html>) and of virtual
//! tables (<https://sqlite.org/vtab.html>).
#![allow(non_camel_case_types, non_snake_case)]

use std::ffi::{c_char, c_double, c_int, c_uchar, c_void};
use std::marker::{PhantomData, PhantomPinned};

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
            _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )*};
}

opaque! {
    /// A database connection.
    sqlite3;
    /// A prepared statement.
    sqlite3_stmt;
    /// A running backup.
    sqlite3_backup;
    /// A handle of a value.
    sqlite3_blob;
    /// A value given to an SQL function.
    sqlite3_value;
    /// The call in which an SQL function is run.
    sqlite3_context;
}

/// A destructor argument: the address of a [`DestroyFunction`], or one of the two special values
/// [`SQLITE_STATIC`](super::SQLITE_STATIC) and [`SQLITE_TRANSIENT`](super::SQLITE_TRANSIENT), hence a
/// plain pointer.
pub type Destructor = *const c_void;

/// Compares two texts of a collation.
pub type Compare =
    unsafe extern "C" fn(*mut c_void, c_int, *const c_void, c_int, *const c_void) -> c_int;
/// The signature of an SQL scalar function.
pub type ScalarFunction =
    unsafe extern "C" fn(*mut sqlite3_context, c_int, *mut *mut sqlite3_value);
/// The signature of the last call of an SQL aggregate function.
pub type FinalFunction = unsafe extern "C" fn(*mut sqlite3_context);
/// The signature of a destructor of application data.
pub type DestroyFunction = unsafe extern "C" fn(*mut c_void);
/// A busy handler: not zero to try once more.
pub type BusyCallback = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// Callback after a commit in WAL mode (<https://sqlite.org/c3ref/wal_hook.html>).
pub type WalCallback =
    unsafe extern "C" fn(*mut c_void, *mut sqlite3, *const c_char, c_int) -> c_int;

/// `xAuth` of `sqlite3_set_authorizer`.
pub type Authorizer = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    *const c_char,
    *const c_char,
    *const c_char,
    *const c_char,
) -> c_int;

/// `sqlite3_wal_checkpoint_v2` (<https://sqlite.org/c3ref/wal_checkpoint_v2.html>).
pub type WalCheckpoint =
    unsafe extern "C" fn(*mut sqlite3, *const c_char, c_int, *mut c_int, *mut c_int) -> c_int;
/// The row callback of `sqlite3_exec`.
pub type ExecCallback =
    unsafe extern "C" fn(*mut c_void, c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
/// The signature of a progress handler; a result other than 0 interrupts the statement.
pub type ProgressHandler = unsafe extern "C" fn(*mut c_void) -> c_int;
/// A function found by name in a loadable extension or among the system calls of a VFS.
pub type AnyFunction = unsafe extern "C" fn();

/// An open file of a VFS; every implementation begins with this record.
#[repr(C)]
pub struct sqlite3_file {
    /// The methods, or null where opening failed and `xClose` must not be called.
    pub pMethods: *const sqlite3_io_methods,
}

/// The methods of an open file. For the fields see
/// <https://sqlite.org/c3ref/io_methods.html>.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct sqlite3_io_methods {
    pub iVersion: c_int,
    pub xClose: unsafe extern "C" fn(*mut sqlite3_file) -> c_int,
    pub xRead: unsafe extern "C" fn(*mut sqlite3_file, *mut c_void, c_int, i64) -> c_int,
    pub xWrite: unsafe extern "C" fn(*mut sqlite3_file, *const c_void, c_int, i64) -> c_int,
    pub xTruncate: unsafe extern "C" fn(*mut sqlite3_file, i64) -> c_int,
    pub xSync: unsafe extern "C" fn(*mut sqlite3_file, c_int) -> c_int,
    pub xFileSize: unsafe extern "C" fn(*mut sqlite3_file, *mut i64) -> c_int,
    pub xLock: unsafe extern "C" fn(*mut sqlite3_file, c_int) -> c_int,
    pub xUnlock: unsafe extern "C" fn(*mut sqlite3_file, c_int) -> c_int,
    pub xCheckReservedLock: unsafe extern "C" fn(*mut sqlite3_file, *mut c_int) -> c_int,
    pub xFileControl: unsafe extern "C" fn(*mut sqlite3_file, c_int, *mut c_void) -> c_int,
    pub xSectorSize: unsafe extern "C" fn(*mut sqlite3_file) -> c_int,
    pub xDeviceCharacteristics: unsafe extern "C" fn(*mut sqlite3_file) -> c_int,
    pub xShmMap: Option<
        unsafe extern "C" fn(*mut sqlite3_file, c_int, c_int, c_int, *mut *mut c_void) -> c_int,
    >,
    pub xShmLock: Option<unsafe extern "C" fn(*mut sqlite3_file, c_int, c_int, c_int) -> c_int>,
    pub xShmBarrier: Option<unsafe extern "C" fn(*mut sqlite3_file)>,
    pub xShmUnmap: Option<unsafe extern "C" fn(*mut sqlite3_file, c_int) -> c_int>,
    pub xFetch:
        Option<unsafe extern "C" fn(*mut sqlite3_file, i64, c_int, *mut *mut c_void) -> c_int>,
    pub xUnfetch: Option<unsafe extern "C" fn(*mut sqlite3_file, i64, *mut c_void) -> c_int>,
}

/// A virtual file system. For the fields see <https://sqlite.org/c3ref/vfs.html>.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct sqlite3_vfs {
    pub iVersion: c_int,
    pub szOsFile: c_int,
    pub mxPathname: c_int,
    pub pNext: *mut sqlite3_vfs,
    pub zName: *const c_char,
    pub pAppData: *mut c_void,
    pub xOpen: Option<
        unsafe extern "C" fn(
            *mut sqlite3_vfs,
            *const c_char,
            *mut sqlite3_file,
            c_int,
            *mut c_int,
        ) -> c_int,
    >,
    pub xDelete: Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char, c_int) -> c_int>,
    pub xAccess:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char, c_int, *mut c_int) -> c_int>,
    pub xFullPathname:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char, c_int, *mut c_char) -> c_int>,
    pub xDlOpen: Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char) -> *mut c_void>,
    pub xDlError: Option<unsafe extern "C" fn(*mut sqlite3_vfs, c_int, *mut c_char)>,
    pub xDlSym: Option<
        unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_void, *const c_char) -> Option<AnyFunction>,
    >,
    pub xDlClose: Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_void)>,
    pub xRandomness: Option<unsafe extern "C" fn(*mut sqlite3_vfs, c_int, *mut c_char) -> c_int>,
    pub xSleep: Option<unsafe extern "C" fn(*mut sqlite3_vfs, c_int) -> c_int>,
    pub xCurrentTime: Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_double) -> c_int>,
    pub xGetLastError: Option<unsafe extern "C" fn(*mut sqlite3_vfs, c_int, *mut c_char) -> c_int>,
    pub xCurrentTimeInt64: Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut i64) -> c_int>,
    pub xSetSystemCall:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char, Option<AnyFunction>) -> c_int>,
    pub xGetSystemCall:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char) -> Option<AnyFunction>>,
    pub xNextSystemCall:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char) -> *const c_char>,
}

/// The methods of a virtual table. For the fields see
/// <https://sqlite.org/c3ref/module.html>; those that this project never implements are plain addresses.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct sqlite3_module {
    pub iVersion: c_int,
    pub xCreate: Option<ConnectFunction>,
    pub xConnect: Option<ConnectFunction>,
    pub xBestIndex:
        Option<unsafe extern "C" fn(*mut sqlite3_vtab, *mut sqlite3_index_info) -> c_int>,
    pub xDisconnect: Option<unsafe extern "C" fn(*mut sqlite3_vtab) -> c_int>,
    pub xDestroy: Option<unsafe extern "C" fn(*mut sqlite3_vtab) -> c_int>,
    pub xOpen:
        Option<unsafe extern "C" fn(*mut sqlite3_vtab, *mut *mut sqlite3_vtab_cursor) -> c_int>,
    pub xClose: Option<unsafe extern "C" fn(*mut sqlite3_vtab_cursor) -> c_int>,
    pub xFilter: Option<
        unsafe extern "C" fn(
            *mut sqlite3_vtab_cursor,
            c_int,
            *const c_char,
            c_int,
            *mut *mut sqlite3_value,
        ) -> c_int,
    >,
    pub xNext: Option<unsafe extern "C" fn(*mut sqlite3_vtab_cursor) -> c_int>,
    pub xEof: Option<unsafe extern "C" fn(*mut sqlite3_vtab_cursor) -> c_int>,
    pub xColumn: Option<
        unsafe extern "C" fn(*mut sqlite3_vtab_cursor, *mut sqlite3_context, c_int) -> c_int,
    >,
    pub xRowid: Option<unsafe extern "C" fn(*mut sqlite3_vtab_cursor, *mut i64) -> c_int>,
    /// `xUpdate` to `xIntegrity`, which pragmark never defines.
    pub others: [Option<AnyFunction>; 12],
}

impl sqlite3_vfs {
    /// A record without a name or methods.
    // SAFETY: null pointers, zeros and `None` are all zero bytes.
    pub const EMPTY: sqlite3_vfs = unsafe { std::mem::zeroed() };
}

impl sqlite3_module {
    /// A module without methods, of version 0.
    // SAFETY: zeros and `None` are all zero bytes.
    pub const EMPTY: sqlite3_module = unsafe { std::mem::zeroed() };
}

/// The signature with which a virtual table is made or connected.
pub type ConnectFunction = unsafe extern "C" fn(
    *mut sqlite3,
    *mut c_void,
    c_int,
    *const *const c_char,
    *mut *mut sqlite3_vtab,
    *mut *mut c_char,
) -> c_int;

/// A virtual table; every implementation begins with this record.
#[repr(C)]
#[allow(missing_docs)]
pub struct sqlite3_vtab {
    pub pModule: *const sqlite3_module,
    pub nRef: c_int,
    pub zErrMsg: *mut c_char,
}

/// A cursor of a virtual table; every implementation begins with this record.
#[repr(C)]
#[allow(missing_docs)]
pub struct sqlite3_vtab_cursor {
    pub pVtab: *mut sqlite3_vtab,
}

/// A term of the WHERE clause, as `xBestIndex` sees it.
#[repr(C)]
#[allow(missing_docs)]
pub struct sqlite3_index_constraint {
    pub iColumn: c_int,
    pub op: c_uchar,
    pub usable: c_uchar,
    pub iTermOffset: c_int,
}

/// The use that `xBestIndex` makes of a term.
#[repr(C)]
#[allow(missing_docs)]
pub struct sqlite3_index_constraint_usage {
    pub argvIndex: c_int,
    pub omit: c_uchar,
}

/// Question and answer of `xBestIndex`, as far as SQLite 3.8.2 had it; later versions have further
/// fields behind, which are never touched (<https://sqlite.org/c3ref/index_info.html>).
#[repr(C)]
#[allow(missing_docs)]
pub struct sqlite3_index_info {
    pub nConstraint: c_int,
    pub aConstraint: *const sqlite3_index_constraint,
    pub nOrderBy: c_int,
    pub aOrderBy: *const c_void,
    pub aConstraintUsage: *mut sqlite3_index_constraint_usage,
    pub idxNum: c_int,
    pub idxStr: *mut c_char,
    pub needToFreeIdxStr: c_int,
    pub orderByConsumed: c_int,
    pub estimatedCost: c_double,
    pub estimatedRows: i64,
}

/// One buffer of bytes, as `carray` takes arrays of blobs (POSIX `struct iovec`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct iovec {
    /// Where the bytes begin.
    pub iov_base: *const c_void,
    /// How many there are.
    pub iov_len: usize,
}
