//! The constants of `sqlite3.h` that the crate uses, under their own names
//! (<https://sqlite.org/c3ref/constlist.html>).
#![allow(missing_docs)]

use super::types::Destructor;
use std::ffi::{c_int, c_uchar};

// Results of calls (https://sqlite.org/rescode.html); the extended code is in the higher bytes.
pub const SQLITE_OK: c_int = 0;
pub const SQLITE_ERROR: c_int = 1;
pub const SQLITE_BUSY: c_int = 5;
pub const SQLITE_LOCKED: c_int = 6;
pub const SQLITE_NOMEM: c_int = 7;
pub const SQLITE_READONLY: c_int = 8;
pub const SQLITE_INTERRUPT: c_int = 9;
pub const SQLITE_IOERR: c_int = 10;
pub const SQLITE_CORRUPT: c_int = 11;
pub const SQLITE_NOTFOUND: c_int = 12;
pub const SQLITE_FULL: c_int = 13;
pub const SQLITE_CANTOPEN: c_int = 14;
pub const SQLITE_TOOBIG: c_int = 18;
pub const SQLITE_CONSTRAINT: c_int = 19;
pub const SQLITE_MISMATCH: c_int = 20;
pub const SQLITE_MISUSE: c_int = 21;
pub const SQLITE_AUTH: c_int = 23;
pub const SQLITE_NOTADB: c_int = 26;
pub const SQLITE_BUSY_SNAPSHOT: c_int = SQLITE_BUSY | (2 << 8);
pub const SQLITE_CONSTRAINT_PRIMARYKEY: c_int = SQLITE_CONSTRAINT | (6 << 8);
pub const SQLITE_CONSTRAINT_UNIQUE: c_int = SQLITE_CONSTRAINT | (8 << 8);
pub const SQLITE_CONSTRAINT_ROWID: c_int = SQLITE_CONSTRAINT | (10 << 8);
pub const SQLITE_ROW: c_int = 100;
pub const SQLITE_DONE: c_int = 101;

// What an authorizer answers, and the actions that it is asked about (https://sqlite.org/c3ref/c_alter_table.html).
pub const SQLITE_DENY: c_int = 1;
pub const SQLITE_PRAGMA: c_int = 19;
pub const SQLITE_ATTACH: c_int = 24;
pub const SQLITE_FUNCTION: c_int = 31;

// Types of values.
pub const SQLITE_INTEGER: c_int = 1;
pub const SQLITE_FLOAT: c_int = 2;
pub const SQLITE_TEXT: c_int = 3;
pub const SQLITE_BLOB: c_int = 4;
pub const SQLITE_NULL: c_int = 5;

/// The encoding argument of `sqlite3_bind_text64`.
pub const SQLITE_UTF8: c_uchar = 1;
/// The text representation argument of `sqlite3_create_function_v2`.
pub const SQLITE_DETERMINISTIC: c_int = 0x800;
/// The memory bound stays unchanged until the binding is gone.
pub const SQLITE_STATIC: Destructor = std::ptr::null();
/// SQLite copies the memory before the call returns.
pub const SQLITE_TRANSIENT: Destructor = std::ptr::without_provenance(usize::MAX);

// Opening (https://sqlite.org/c3ref/c_open_autoproxy.html).
pub const SQLITE_OPEN_READONLY: c_int = 0x0000_0001;
pub const SQLITE_OPEN_READWRITE: c_int = 0x0000_0002;
pub const SQLITE_OPEN_CREATE: c_int = 0x0000_0004;
pub const SQLITE_OPEN_DELETEONCLOSE: c_int = 0x0000_0008;
pub const SQLITE_OPEN_EXCLUSIVE: c_int = 0x0000_0010;
pub const SQLITE_OPEN_URI: c_int = 0x0000_0040;
pub const SQLITE_OPEN_MAIN_DB: c_int = 0x0000_0100;
pub const SQLITE_OPEN_MAIN_JOURNAL: c_int = 0x0000_0800;
pub const SQLITE_OPEN_SUPER_JOURNAL: c_int = 0x0000_4000;
pub const SQLITE_OPEN_NOMUTEX: c_int = 0x0000_8000;
pub const SQLITE_OPEN_FULLMUTEX: c_int = 0x0001_0000;
pub const SQLITE_OPEN_WAL: c_int = 0x0008_0000;

// Flags of xSync (https://sqlite.org/c3ref/c_sync_dataonly.html).
pub const SQLITE_SYNC_FULL: c_int = 0x03;
pub const SQLITE_SYNC_DATAONLY: c_int = 0x10;

// Levels of file locks (https://sqlite.org/c3ref/c_lock_exclusive.html).
pub const SQLITE_LOCK_NONE: c_int = 0;
pub const SQLITE_LOCK_SHARED: c_int = 1;
pub const SQLITE_LOCK_RESERVED: c_int = 2;
pub const SQLITE_LOCK_PENDING: c_int = 3;
pub const SQLITE_LOCK_EXCLUSIVE: c_int = 4;

// Locks of shared memory (https://sqlite.org/c3ref/c_shm_exclusive.html).
pub const SQLITE_SHM_UNLOCK: c_int = 1;
pub const SQLITE_SHM_LOCK: c_int = 2;
pub const SQLITE_SHM_SHARED: c_int = 4;
pub const SQLITE_SHM_EXCLUSIVE: c_int = 8;

// Flags of xAccess (https://sqlite.org/c3ref/c_access_exists.html).
pub const SQLITE_ACCESS_EXISTS: c_int = 0;

// Device characteristics (https://sqlite.org/c3ref/c_iocap_atomic.html).
pub const SQLITE_IOCAP_POWERSAFE_OVERWRITE: c_int = 0x0000_1000;
pub const SQLITE_IOCAP_SUBPAGE_READ: c_int = 0x0000_8000;

// Extended results of a VFS (https://sqlite.org/rescode.html).
pub const SQLITE_IOERR_SHORT_READ: c_int = SQLITE_IOERR | (2 << 8);
pub const SQLITE_IOERR_DELETE_NOENT: c_int = SQLITE_IOERR | (23 << 8);

// Checkpoints (https://sqlite.org/c3ref/c_checkpoint_full.html).
pub const SQLITE_CHECKPOINT_PASSIVE: c_int = 0;
pub const SQLITE_CHECKPOINT_FULL: c_int = 1;
pub const SQLITE_CHECKPOINT_RESTART: c_int = 2;
pub const SQLITE_CHECKPOINT_TRUNCATE: c_int = 3;

// File controls (https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html).
pub const SQLITE_FCNTL_SIZE_HINT: c_int = 5;
pub const SQLITE_FCNTL_FILE_POINTER: c_int = 7;

// Element types of carray (https://sqlite.org/carray.html).
pub const CARRAY_INT32: c_int = 0;
pub const CARRAY_INT64: c_int = 1;
pub const CARRAY_DOUBLE: c_int = 2;
pub const CARRAY_TEXT: c_int = 3;
pub const CARRAY_BLOB: c_int = 4;

/// The operator `=` among the constraints of `xBestIndex`
/// (<https://sqlite.org/c3ref/c_index_constraint_eq.html>).
pub const SQLITE_INDEX_CONSTRAINT_EQ: c_uchar = 2;

/// The limit on the number of columns (<https://sqlite.org/c3ref/c_limit_attached.html>).
pub const SQLITE_LIMIT_COLUMN: c_int = 2;
