//! Database connections.
//!
//! The key of databases that an engine encrypts.
//!
//! It comes from the environment, so that it stands in no command line, record or message.

mod backup;
mod blob;
mod busy;
mod function;
mod program;
mod stand_in;
mod status;
mod terms;
mod tokenizer;
mod wal_commit;

use std::env;
use std::ffi::{c_int, c_void};
use std::ops::BitOr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use self::busy::{BusyHandler, Installed};
use crate::error::{During, EngineError, Result, SqliteError, shortened, unsupported};
use crate::handle::DatabaseHandle;
use crate::library::Library;
use crate::statement::{Statement, Step};
use crate::text::{SQL, VFS_NAME, c_string, copied};
use crate::value::Value;
use crate::{columns, ffi};

pub use blob::BlobAt;
pub use program::Instruction;
pub use status::{Checkpoint, CheckpointMode, DbStatus, Status};
pub use terms::{Question, Questions, Term, TermKind};
pub use tokenizer::Tokenizer;

/// How to open a database (<https://sqlite.org/c3ref/open.html>). Flags are joined with `|`.
///
/// The default is to read, write and create, with the threading mode the library was compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFlags(c_int);

impl OpenFlags {
    /// Read only.
    pub const READ_ONLY: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_READONLY);
    /// Read and write; the file must exist.
    pub const READ_WRITE: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_READWRITE);
    /// With `READ_WRITE`: create the file if it is not there.
    pub const CREATE: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_CREATE);
    /// The path may be a URI (`file:…?mode=ro`).
    pub const URI: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_URI);
    /// Multi-thread mode: the connection has no mutex of its own.
    pub const NO_MUTEX: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_NOMUTEX);
    /// Serialised mode: every call takes the connection's mutex.
    pub const FULL_MUTEX: OpenFlags = OpenFlags(ffi::SQLITE_OPEN_FULLMUTEX);

    /// Returns the flags as `sqlite3_open_v2` takes them.
    pub const fn bits(self) -> c_int {
        self.0
    }
}

impl Default for OpenFlags {
    fn default() -> OpenFlags {
        OpenFlags::READ_WRITE | OpenFlags::CREATE
    }
}

impl BitOr for OpenFlags {
    type Output = OpenFlags;

    fn bitor(self, other: OpenFlags) -> OpenFlags {
        OpenFlags(self.0 | other.0)
    }
}

/// An open connection to a database, through one library.
///
/// A connection may move between threads (`Send`) but be used by one at a time (not `Sync`); its
/// statements stay on the thread that borrowed it. So the flags `NO_MUTEX` and `FULL_MUTEX` change what
/// a connection costs, never what is safe. Dropping it closes it; [`close`](Self::close) reports errors.
pub struct Connection {
    handle: DatabaseHandle,
    /// After the handle, because fields are dropped in order: SQLite may call it until it is closed.
    busy: Option<Installed<BusyHandler>>,
    /// The same.
    wal_commit: Option<Installed<wal_commit::Hook>>,
}

impl Connection {
    /// Opens the database at `path`; `:memory:` is a database in memory, and an empty path one in a
    /// temporary file (<https://sqlite.org/c3ref/open.html>). `vfs` is the name of a VFS, SQLite's
    /// default otherwise. It has the stand-ins of the library.
    ///
    /// # Errors
    /// SQLite cannot open the file or does not know the VFS; a NUL byte in a name; a second connection
    /// to a library with `THREADSAFE=0`.
    pub fn open(
        library: &Arc<Library>,
        path: &Path,
        flags: OpenFlags,
        vfs: Option<&str>,
    ) -> Result<Connection> {
        let connection = Connection::without_stand_ins(library, path, flags, vfs)?;
        library.stand_ins().iter().try_for_each(|stand_in| connection.add(stand_in))?;
        Ok(connection)
    }

    /// Opens an empty database in memory.
    ///
    /// # Errors
    /// SQLite's.
    pub fn in_memory(library: &Arc<Library>) -> Result<Connection> {
        Connection::open(library, Path::new(":memory:"), OpenFlags::default(), None)
    }

    fn without_stand_ins(
        library: &Arc<Library>,
        path: &Path,
        flags: OpenFlags,
        vfs: Option<&str>,
    ) -> Result<Connection> {
        let name = c_string(path.as_os_str().as_bytes(), "path of the database")?;
        let vfs = vfs.map(|vfs| c_string(vfs, VFS_NAME)).transpose()?;
        let handle = DatabaseHandle::open(library, &name, path, flags.bits(), vfs.as_deref())?;
        let connection = Connection { handle, busy: None, wal_commit: None };
        if library.encrypts() {
            // The error would quote the statement.
            let refused = |_| EngineError::Usage(format!("the engine refuses the key in {}", KEY));
            connection.execute(&pragma()).map_err(refused)?;
        }
        Ok(connection)
    }

    /// Sets the size of encrypted pages for all databases that this process opens from now on. SQLCipher cannot read it from the file,
    /// and leaves `PRAGMA page_size` aside. Nothing happens on an engine that does not encrypt.
    ///
    /// # Errors
    /// SQLite's.
    pub fn encrypt_pages_of(library: &Arc<Library>, bytes: i64) -> Result<()> {
        if !library.encrypts() {
            return Ok(());
        }
        let any = Connection::in_memory(library)?;
        any.execute(&format!("PRAGMA cipher_default_page_size = {bytes}"))
    }

    /// Returns the library that the connection runs on.
    pub fn library(&self) -> &Arc<Library> {
        self.handle.library()
    }

    /// Runs every statement of `sql` in turn; rows are ignored.
    ///
    /// # Errors
    /// The first failing statement's, naming `sql`; the statements before it took effect.
    pub fn execute(&self, sql: &str) -> Result<()> {
        self.handle.exec(&c_string(sql, SQL)?)
    }

    /// Prepares the one statement in `sql`.
    ///
    /// # Errors
    /// SQLite's, or [`EngineError::Usage`].
    pub fn prepare<'d>(&self, sql: &str) -> Result<Statement<'_, 'd>> {
        let not_one = |found| {
            let sql = shortened(sql);
            EngineError::Usage(format!("expected exactly one SQL statement, found {found}: {sql}"))
        };
        let text = c_string(sql, SQL)?;
        let (statement, tail) = Statement::first_of(&self.handle, &text)?;
        let statement = statement.ok_or_else(|| not_one("none"))?;
        if !tail.to_bytes().iter().all(|byte| byte.is_ascii_whitespace() || *byte == b';')
            && Statement::first_of(&self.handle, tail).map_or(true, |(more, _)| more.is_some())
        {
            return Err(not_one("several"));
        }
        Ok(statement)
    }

    /// Returns the first column of the first row.
    ///
    /// # Errors
    /// SQLite's, or [`EngineError::NoRow`].
    pub fn query_value(&self, sql: &str) -> Result<Value> {
        let mut statement = self.prepare(sql)?;
        match statement.step()? {
            Step::Row => Ok(statement.column_value(0)),
            Step::Done => Err(EngineError::NoRow(shortened(sql))),
        }
    }

    /// Returns the integer in the first column of the first row.
    ///
    /// # Errors
    /// As [`query_value`](Self::query_value), or [`EngineError::Usage`].
    pub fn query_i64(&self, sql: &str) -> Result<i64> {
        match self.query_value(sql)? {
            Value::Integer(value) => Ok(value),
            other => Err(wrong_type("integer", &other)),
        }
    }

    /// Returns the text in the first column of the first row.
    ///
    /// # Errors
    /// As [`query_i64`](Self::query_i64).
    pub fn query_text(&self, sql: &str) -> Result<String> {
        match self.query_value(sql)? {
            Value::Text(text) => Ok(text),
            other => Err(wrong_type("text", &other)),
        }
    }

    /// Returns every row, as values.
    ///
    /// # Errors
    /// SQLite's.
    pub fn query_all(&self, sql: &str) -> Result<Vec<Vec<Value>>> {
        self.query_rows(sql, |row| {
            Ok((0..row.column_count()).map(|column| row.column_value(column)).collect())
        })
    }

    /// Calls `read` for every row and returns the results; the row is the statement, standing on it.
    ///
    /// # Errors
    /// SQLite's, or the first that `read` returns, which ends the query.
    pub fn query_rows<T>(
        &self,
        sql: &str,
        mut read: impl FnMut(&Statement<'_, '_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.for_each_row(sql, |row| {
            rows.push(read(row)?);
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
        mut visit: impl FnMut(&Statement<'_, '_>) -> Result<()>,
    ) -> Result<u64> {
        let mut statement = self.prepare(sql)?;
        let mut rows = 0;
        while statement.step()? == Step::Row {
            visit(&statement)?;
            rows += 1;
        }
        Ok(rows)
    }

    /// Returns the plan of a statement as `EXPLAIN QUERY PLAN` shows it (<https://sqlite.org/eqp.html>): a
    /// line for each node, indented by its depth; nothing where SQLite has no plan for it, such as for
    /// `BEGIN`.
    ///
    /// # Errors
    /// SQLite's, such as for a table that does not exist.
    pub fn query_plan(&self, sql: &str) -> Result<Vec<String>> {
        self.query_plan_with(sql, &[])
    }

    /// Returns the plan of a statement with these values of its parameters, by number: SQLite plans anew for some of them,
    /// such as patterns of LIKE.
    ///
    /// # Errors
    /// As [`query_plan`](Self::query_plan).
    pub fn query_plan_with(&self, sql: &str, values: &[Value]) -> Result<Vec<String>> {
        let mut depths: Vec<(i64, usize)> = vec![(0, 0)];
        let mut lines = Vec::new();
        let mut plan = self.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        (1..).zip(values).try_for_each(|(index, value)| plan.bind_value(index, value))?;
        while plan.step()? == Step::Row {
            let (id, parent) = (plan.column_i64(0), plan.column_i64(1));
            let depth = depths.iter().find(|(id, _)| *id == parent).map_or(0, |(_, depth)| *depth);
            lines.push(format!("{}{}", "  ".repeat(depth), plan.column_value(3)));
            depths.push((id, depth + 1));
        }
        Ok(lines)
    }

    /// Interrupts every statement that takes more than about `steps` instructions of SQLite's virtual
    /// machine: a damaged database may hold a tree without an end
    /// (<https://sqlite.org/c3ref/progress_handler.html>).
    ///
    /// # Errors
    /// The engine was compiled without progress handlers.
    pub fn limit_steps(&self, steps: u32) -> Result<()> {
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
    pub fn create_columns_function(&self, name: &str, columns: usize) -> Result<()> {
        columns::create_function(&self.handle, name, columns)
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE to finish
    /// (<https://sqlite.org/c3ref/changes.html>); before SQLite 3.37 modulo 2³².
    pub fn changes(&self) -> i64 {
        let (api, database) = (self.handle.api(), self.as_ptr());
        // SAFETY: the handle is open.
        let narrow = || i64::from(unsafe { (api.changes)(database) });
        // SAFETY: as above.
        api.changes64.map_or_else(narrow, |changes| unsafe { changes(database) })
    }

    /// Rows changed since the connection was opened; otherwise as [`changes`](Self::changes).
    pub fn total_changes(&self) -> i64 {
        let (api, database) = (self.handle.api(), self.as_ptr());
        // SAFETY: the handle is open.
        let narrow = || i64::from(unsafe { (api.total_changes)(database) });
        // SAFETY: as above.
        api.total_changes64.map_or_else(narrow, |changes| unsafe { changes(database) })
    }

    /// Returns the rowid of the last row inserted (<https://sqlite.org/c3ref/last_insert_rowid.html>).
    pub fn last_insert_rowid(&self) -> i64 {
        // SAFETY: the handle is open.
        unsafe { (self.handle.api().last_insert_rowid)(self.as_ptr()) }
    }

    /// Returns whether a transaction begun with BEGIN is open.
    pub fn in_transaction(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { (self.handle.api().get_autocommit)(self.as_ptr()) == 0 }
    }

    /// Returns whether every call takes the connection's mutex (serialised mode, `SQLITE_OPEN_FULLMUTEX`), as
    /// the connection was opened in fact: a library with `THREADSAFE=0` ignores the flags
    /// (<https://sqlite.org/c3ref/db_mutex.html>). `None` where the library cannot say.
    pub fn is_serialised(&self) -> Option<bool> {
        let db_mutex = self.handle.api().db_mutex?;
        // SAFETY: the handle is open; the mutex is only compared with null.
        Some(unsafe { !db_mutex(self.as_ptr()).is_null() })
    }

    /// Loads the extension at `path` by its own entry point
    /// (<https://sqlite.org/c3ref/load_extension.html>). SQL gets no right to load others.
    ///
    /// # Errors
    /// An engine that cannot load extensions, a file that is not one, or what its entry point says;
    /// each names the path.
    pub fn load_extension(&self, path: &Path) -> Result<()> {
        let api = self.handle.api();
        let (Some(enable), Some(load)) = (api.enable_load_extension, api.load_extension) else {
            return Err(unsupported("loadable extensions", "sqlite3_load_extension"));
        };
        let name = c_string(path.as_os_str().as_bytes(), "path of the extension")?;
        let mut message = std::ptr::null_mut();
        // SAFETY: the handle is open, the name is a C string, a null entry point means the
        // default one, and `message` is a valid pointer. The extension itself is code that the user
        // chose to run. Loading is allowed for the time of the call only.
        let code = unsafe {
            enable(self.as_ptr(), 1);
            let code = load(self.as_ptr(), name.as_ptr(), std::ptr::null(), &mut message);
            enable(self.as_ptr(), 0);
            code
        };
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        // SAFETY: SQLite gives null or a C string of its own memory, which is freed once copied.
        let reason = unsafe {
            let reason = copied(message);
            (api.free)(message.cast());
            reason
        };
        let reason = reason.as_deref().unwrap_or("no reason given");
        let message = format!("{}: {reason}", path.display());
        Err(SqliteError::new(code, message, During::Call("loading the extension")).into())
    }

    /// Returns the collation of a column, such as `NOCASE`; `None` for a column that does not exist, or where the engine cannot
    /// say (<https://sqlite.org/c3ref/table_column_metadata.html>).
    pub fn collation(&self, table: &str, column: &str) -> Option<String> {
        let metadata = self.handle.api().table_column_metadata?;
        let (table, column) = (c_string(table, SQL).ok()?, c_string(column, SQL).ok()?);
        let mut collation = std::ptr::null();
        let none = std::ptr::null_mut;
        // SAFETY: the handle is open, the names are C strings, and SQLite leaves out what has no place to go.
        unsafe {
            metadata(
                self.as_ptr(),
                c"main".as_ptr(),
                table.as_ptr(),
                column.as_ptr(),
                std::ptr::null_mut(),
                &mut collation,
                none(),
                none(),
                none(),
            );
            copied(collation)
        }
    }

    /// Closes the connection.
    ///
    /// # Errors
    /// SQLite's, if a statement was leaked or a backup runs; the connection is then closed as soon as
    /// that ends.
    pub fn close(self) -> Result<()> {
        self.handle.close()
    }

    /// Returns the raw handle, for code which must call SQLite itself.
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

fn wrong_type(wanted: &'static str, found: &Value) -> EngineError {
    EngineError::Usage(format!("column 0 holds {}, not {wanted}", found.type_name()))
}

/// The variable that holds the key: a passphrase, or a key in SQLCipher's form `x'…'`, from which none is derived.
pub(super) const KEY: &str = "PRAGMARK_KEY";

/// The statement that sets the key of a connection. Without the variable it is a fixed key with a fixed salt, for the
/// made-up data of measurements.
pub(super) fn pragma() -> String {
    statement(env::var(KEY).ok())
}

fn statement(given: Option<String>) -> String {
    let key = given.unwrap_or_else(|| format!("x'{}'", "5a".repeat(48)));
    format!("PRAGMA key = '{}'", key.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_text_whatever_it_contains() {
        assert_eq!(statement(Some("it's".to_owned())), "PRAGMA key = 'it''s'");
        assert!(statement(None).starts_with("PRAGMA key = 'x''5a5a"));
    }
}
