//! Database connections.

mod backup;
mod blob;
mod busy;
mod extension;
mod file_control;
mod flags;
mod function;
mod plan;
mod status;
mod wal_commit;

pub use blob::BlobAt;
pub use flags::OpenFlags;
pub use status::{Checkpoint, CheckpointMode, DbStatus, Status};

use self::busy::Installed;
use crate::columns;
use crate::error::{EngineError, shortened, unsupported};
use crate::ffi;
use crate::handle::DatabaseHandle;
use crate::library::Library;
use crate::statement::{Statement, Step};
use crate::text::{SQL, VFS_NAME, c_string};
use crate::value::Value;
use std::ffi::{CStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// An open connection to a database, through one library.
///
/// A connection may move between threads (`Send`) but be used by one at a time (not `Sync`); its
/// statements stay on the thread that borrowed it. So the flags `NO_MUTEX` and `FULL_MUTEX` change what
/// a connection costs, never what is safe. Dropping it closes it; [`close`](Self::close) reports errors.
pub struct Connection {
    handle: DatabaseHandle,
    /// After the handle, because fields are dropped in order: SQLite may call it until it is closed.
    busy: Option<Installed>,
    /// The same.
    wal_commit: Option<wal_commit::Installed>,
}

impl Connection {
    /// Opens the database at `path`; `:memory:` is a database in memory, and an empty path one in a
    /// temporary file (<https://sqlite.org/c3ref/open.html>). `vfs` is the name of a VFS, SQLite's
    /// default otherwise.
    ///
    /// # Errors
    /// SQLite cannot open the file or does not know the VFS; a NUL byte in a name; a second connection
    /// to a library with `THREADSAFE=0`.
    pub fn open(
        library: &Arc<Library>,
        path: &Path,
        flags: OpenFlags,
        vfs: Option<&str>,
    ) -> Result<Connection, EngineError> {
        let name = c_string(path.as_os_str().as_bytes(), "path of the database")?;
        let vfs = vfs.map(|vfs| c_string(vfs, VFS_NAME)).transpose()?;
        let handle = DatabaseHandle::open(library, &name, path, flags.bits(), vfs.as_deref())?;
        Ok(Connection { handle, busy: None, wal_commit: None })
    }

    /// The library that the connection runs on.
    pub fn library(&self) -> &Arc<Library> {
        self.handle.library()
    }

    /// Runs every statement of `sql` in turn; rows are ignored.
    ///
    /// # Errors
    /// The first failing statement's, naming `sql`; the statements before it took effect.
    pub fn execute(&self, sql: &str) -> Result<(), EngineError> {
        self.handle.exec(&c_string(sql, SQL)?)
    }

    /// Prepares the one statement in `sql`.
    ///
    /// # Errors
    /// SQLite's, or [`EngineError::NotOneStatement`].
    pub fn prepare<'d>(&self, sql: &str) -> Result<Statement<'_, 'd>, EngineError> {
        let not_one = |found| EngineError::NotOneStatement { found, sql: shortened(sql) };
        let text = c_string(sql, SQL)?;
        let (statement, tail) = self.handle.prepare(&text)?;
        let statement = statement.ok_or_else(|| not_one("none"))?;
        if !is_blank(tail) && self.handle.prepare(tail).map_or(true, |(more, _)| more.is_some()) {
            return Err(not_one("several"));
        }
        Ok(statement)
    }

    /// The first column of the first row.
    ///
    /// # Errors
    /// SQLite's, or [`EngineError::NoRow`].
    pub fn query_value(&self, sql: &str) -> Result<Value, EngineError> {
        self.query_first(sql, |row| Ok(row.column_value(0)))
    }

    /// The integer in the first column of the first row.
    ///
    /// # Errors
    /// As [`query_value`](Self::query_value), or [`EngineError::WrongType`].
    pub fn query_i64(&self, sql: &str) -> Result<i64, EngineError> {
        match self.query_value(sql)? {
            Value::Integer(value) => Ok(value),
            other => Err(wrong_type("integer", &other)),
        }
    }

    /// The text in the first column of the first row.
    ///
    /// # Errors
    /// As [`query_i64`](Self::query_i64).
    pub fn query_text(&self, sql: &str) -> Result<String, EngineError> {
        match self.query_value(sql)? {
            Value::Text(text) => Ok(text),
            other => Err(wrong_type("text", &other)),
        }
    }

    /// Every row, as values.
    ///
    /// # Errors
    /// SQLite's.
    pub fn query_all(&self, sql: &str) -> Result<Vec<Vec<Value>>, EngineError> {
        let mut rows = Vec::new();
        self.for_each_row(sql, |row| {
            let columns = 0..row.column_count();
            rows.push(columns.map(|column| row.column_value(column)).collect());
            Ok(())
        })?;
        Ok(rows)
    }

    /// Calls `visit` on every row and returns their number; the row is the statement, standing on it.
    ///
    /// # Errors
    /// SQLite's, or the first that `visit` returns, which ends the query.
    pub fn for_each_row(
        &self,
        sql: &str,
        mut visit: impl FnMut(&Statement<'_, '_>) -> Result<(), EngineError>,
    ) -> Result<u64, EngineError> {
        let mut statement = self.prepare(sql)?;
        let mut rows = 0;
        while statement.step()? == Step::Row {
            visit(&statement)?;
            rows += 1;
        }
        Ok(rows)
    }

    fn query_first<R>(
        &self,
        sql: &str,
        read: impl FnOnce(&Statement<'_, '_>) -> Result<R, EngineError>,
    ) -> Result<R, EngineError> {
        let mut statement = self.prepare(sql)?;
        match statement.step()? {
            Step::Row => read(&statement),
            Step::Done => Err(EngineError::NoRow(shortened(sql))),
        }
    }

    /// Interrupts every statement that takes more than about `steps` instructions of SQLite's virtual
    /// machine: a damaged database may hold a tree without an end
    /// (<https://sqlite.org/c3ref/progress_handler.html>).
    ///
    /// # Errors
    /// The engine was compiled without progress handlers.
    pub fn limit_steps(&self, steps: u32) -> Result<(), EngineError> {
        unsafe extern "C" fn interrupt(_: *mut c_void) -> c_int {
            1
        }
        let handler = self.handle.api().progress_handler;
        let handler = handler.ok_or(unsupported("progress handler", "sqlite3_progress_handler"))?;
        let steps = c_int::try_from(steps).unwrap_or(c_int::MAX);
        // SAFETY: the handle is open; the handler needs no data and touches nothing.
        unsafe { handler(self.as_ptr(), steps, Some(interrupt), std::ptr::null_mut()) };
        Ok(())
    }

    /// Makes a table-valued function of this connection that walks over rows of the program:
    /// `SELECT c0, c1 FROM name(?1)` gives the rows bound to the parameter by
    /// [`Statement::bind_columns`], whose columns are called `c0` to `c{columns - 1}`. Nothing bound,
    /// no rows.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where the engine has no virtual tables or cannot bind pointers
    /// (before SQLite 3.20); SQLite's, above all more columns than it allows.
    pub fn create_columns_function(&self, name: &str, columns: usize) -> Result<(), EngineError> {
        columns::create_function(&self.handle, name, columns)
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE to finish
    /// (<https://sqlite.org/c3ref/changes.html>); before SQLite 3.37 modulo 2³².
    pub fn changes(&self) -> i64 {
        let api = self.handle.api();
        // SAFETY: the handle is open.
        unsafe {
            match api.changes64 {
                Some(changes64) => changes64(self.as_ptr()),
                None => i64::from((api.changes)(self.as_ptr())),
            }
        }
    }

    /// Rows changed since the connection was opened; otherwise as [`changes`](Self::changes).
    pub fn total_changes(&self) -> i64 {
        let api = self.handle.api();
        // SAFETY: the handle is open.
        unsafe {
            match api.total_changes64 {
                Some(total_changes64) => total_changes64(self.as_ptr()),
                None => i64::from((api.total_changes)(self.as_ptr())),
            }
        }
    }

    /// The rowid of the last row inserted (<https://sqlite.org/c3ref/last_insert_rowid.html>).
    pub fn last_insert_rowid(&self) -> i64 {
        // SAFETY: the handle is open.
        unsafe { (self.handle.api().last_insert_rowid)(self.as_ptr()) }
    }

    /// Whether a transaction begun with BEGIN is open.
    pub fn in_transaction(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { (self.handle.api().get_autocommit)(self.as_ptr()) == 0 }
    }

    /// Whether every call takes the connection's mutex (serialised mode, `SQLITE_OPEN_FULLMUTEX`), as
    /// the connection was opened in fact: a library with `THREADSAFE=0` ignores the flags
    /// (<https://sqlite.org/c3ref/db_mutex.html>). `None` where the library cannot say.
    pub fn is_serialised(&self) -> Option<bool> {
        let db_mutex = self.handle.api().db_mutex?;
        // SAFETY: the handle is open; the mutex is only compared with null.
        Some(unsafe { !db_mutex(self.as_ptr()).is_null() })
    }

    /// Closes the connection.
    ///
    /// # Errors
    /// SQLite's, if a statement was leaked or a backup runs; the connection is then closed as soon as
    /// that ends.
    pub fn close(self) -> Result<(), EngineError> {
        self.handle.close()
    }

    /// The raw handle, for code which must call SQLite itself.
    #[inline]
    pub fn as_ptr(&self) -> *mut ffi::sqlite3 {
        self.handle.as_ptr()
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("version", &self.library().identity().version)
            .finish_non_exhaustive()
    }
}

fn is_blank(text: &CStr) -> bool {
    text.to_bytes().iter().all(|byte| byte.is_ascii_whitespace() || *byte == b';')
}

fn wrong_type(wanted: &'static str, found: &Value) -> EngineError {
    EngineError::WrongType { column: 0, wanted, found: found.type_name() }
}
