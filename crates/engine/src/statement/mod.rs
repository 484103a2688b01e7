//! Prepared statements and how they run. Binding values is in `bind`, reading rows in `columns`, what they did in
//! `scan`.

mod bind;
mod columns;
mod scan;

pub use scan::ScanNode;

use crate::array::Array;
use crate::error::{During, EngineError, Result};
use crate::ffi::{self, Api};
use crate::handle::DatabaseHandle;
use crate::text::copied;
use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// There is a row to read.
    Row,
    /// The statement has finished.
    Done,
}

/// A counter of a statement (<https://sqlite.org/c3ref/c_stmtstatus_counter.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum StatementCounter {
    /// Steps forward in scans of whole tables.
    FullScanSteps = 1,
    /// Sorts.
    Sorts = 2,
    /// Rows inserted into indexes that were made for one execution.
    AutoIndexRows = 3,
    /// Instructions of SQLite's virtual machine.
    VmSteps = 4,
}

/// A prepared statement of the connection borrowed for `'c`.
///
/// `'d` is the life of memory bound without a copy (`bind_*_borrowed`, [`bind_array`]): it must
/// outlive the statement. For memory which lives shorter, such as a batch buffer that is filled again,
/// bind within [`with_borrowed`] or [`with_array`].
///
/// Parameters are numbered from 1, columns from 0. A parameter keeps its value over [`reset`]; binding
/// is allowed only on a statement that has not been stepped since it was prepared or reset.
///
/// ```compile_fail,E0597
/// # use pragmark_engine::{Connection, EngineError};
/// # fn bind(connection: &Connection) -> Result<(), EngineError> {
/// let mut statement = connection.prepare("SELECT ?")?;
/// {
///     let text = String::from("too short a life");
///     statement.bind_text_borrowed(1, &text)?; // error: `text` does not live long enough
/// }
/// statement.step()?;
/// # Ok(())
/// # }
/// ```
///
/// [`bind_array`]: Statement::bind_array
/// [`with_borrowed`]: Statement::with_borrowed
/// [`with_array`]: Statement::with_array
/// [`reset`]: Statement::reset
pub struct Statement<'c, 'd> {
    raw: NonNull<ffi::sqlite3_stmt>,
    /// Also in the database, but a call loads its function through one pointer from here.
    api: &'c Api,
    database: &'c DatabaseHandle,
    /// Whether the last step failed, in which case resetting reports the same error again.
    failed: bool,
    borrowed: PhantomData<&'d [u8]>,
}

// `Statement` must not be usable after 'd has ended, not even by being dropped: `Drop` makes the borrow
// checker demand that 'd outlives the statement.
impl Drop for Statement<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: the statement is alive and not used again. The result repeats the last step's error.
        unsafe { (self.api.finalize)(self.as_ptr()) };
    }
}

impl<'c, 'd> Statement<'c, 'd> {
    /// # Safety
    /// `raw` must be a statement of `database` that nothing else owns.
    pub(crate) unsafe fn new(
        raw: NonNull<ffi::sqlite3_stmt>,
        database: &'c DatabaseHandle,
    ) -> Statement<'c, 'd> {
        Statement { raw, api: database.api(), database, failed: false, borrowed: PhantomData }
    }

    /// Prepares the first statement of `sql`; `None` if `sql` holds only white space or comments. The second
    /// value is the text after the statement.
    pub(crate) fn first_of<'s>(
        database: &'c DatabaseHandle,
        sql: &'s CStr,
    ) -> Result<(Option<Self>, &'s CStr)> {
        let mut raw = std::ptr::null_mut();
        let mut tail: *const c_char = sql.as_ptr();
        // SAFETY: the handle is open and `sql` is a C string, which the length −1 announces; a length
        // would make SQLite copy the text first.
        let code = unsafe {
            (database.api().prepare_v2)(database.as_ptr(), sql.as_ptr(), -1, &mut raw, &mut tail)
        };
        if code != ffi::SQLITE_OK {
            return Err(database.error(|| During::Sql(sql.to_string_lossy().into_owned())));
        }
        // SAFETY: SQLite sets the tail to a position within `sql`, which ends in the same NUL.
        let tail = unsafe { CStr::from_ptr(tail) };
        // SAFETY: `raw` was just prepared on this connection and is handed to nobody else.
        let statement = NonNull::new(raw).map(|raw| unsafe { Statement::new(raw, database) });
        Ok((statement, tail))
    }

    #[inline]
    fn check(&self, code: c_int) -> Result<()> {
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(self.error()) }
    }

    #[cold]
    fn error(&self) -> EngineError {
        self.database.error(|| During::Sql(self.sql()))
    }

    #[cold]
    fn step_error(&mut self) -> EngineError {
        self.failed = true;
        self.error()
    }

    /// Runs to the next row or to the end.
    ///
    /// # Errors
    /// SQLite's, naming the statement; [`EngineError::is_busy`] distinguishes a lock. The
    /// statement can be reset and stepped again.
    #[inline]
    pub fn step(&mut self) -> Result<Step> {
        // SAFETY: the statement is alive.
        match unsafe { (self.api.step)(self.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(Step::Row),
            ffi::SQLITE_DONE => Ok(Step::Done),
            _ => Err(self.step_error()),
        }
    }

    /// Returns to the start; bindings stay.
    ///
    /// # Errors
    /// Only an error that resetting itself brought about, such as a failing commit of an unfinished
    /// `INSERT … RETURNING`; one that the last step reported is not reported again.
    #[inline]
    pub fn reset(&mut self) -> Result<()> {
        // SAFETY: the statement is alive.
        let code = unsafe { (self.api.reset)(self.as_ptr()) };
        let failed = std::mem::take(&mut self.failed);
        if code == ffi::SQLITE_OK { Ok(()) } else { self.reset_failed(failed) }
    }

    /// An error of the step before was reported by the step; another one is new.
    #[cold]
    fn reset_failed(&self, step_failed: bool) -> Result<()> {
        if step_failed { Ok(()) } else { Err(self.error()) }
    }

    /// Runs to the end, without looking at rows, and resets.
    ///
    /// # Errors
    /// As [`step`](Self::step); the statement is reset then too.
    #[inline]
    pub fn run(&mut self) -> Result<()> {
        loop {
            match self.step() {
                Ok(Step::Row) => {}
                Ok(Step::Done) => return self.reset(),
                Err(error) => return self.reset().and(Err(error)),
            }
        }
    }

    /// Resets and sets every parameter to NULL.
    ///
    /// # Errors
    /// As [`reset`](Self::reset).
    pub fn clear_bindings(&mut self) -> Result<()> {
        // Resetting comes first, because SQLite frees a bound array even while the statement reads it.
        let reset = self.reset();
        // SAFETY: the statement is alive and not running; the result is always SQLITE_OK.
        unsafe { (self.api.clear_bindings)(self.as_ptr()) };
        reset
    }

    /// Lends the statement to `work` for bindings that borrow memory of a shorter life, `'short`.
    /// When `work` ends, even by a panic, the statement is reset and all its bindings are cleared.
    ///
    /// ```
    /// # use pragmark_engine::{Connection, EngineError};
    /// # fn insert(connection: &Connection, mut fill: impl FnMut(&mut Vec<String>)) -> Result<(), EngineError> {
    /// let mut insert = connection.prepare("INSERT INTO t VALUES (?)")?;
    /// let mut batch = Vec::new();
    /// for _ in 0..10 {
    ///     fill(&mut batch); // changes what the batch before was bound from
    ///     insert.with_borrowed(|insert| {
    ///         for text in &batch {
    ///             insert.bind_text_borrowed(1, text)?;
    ///             insert.run()?;
    ///         }
    ///         Ok(())
    ///     })?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What `work` returns, or else an error of resetting.
    pub fn with_borrowed<'short, R>(
        &mut self,
        work: impl FnOnce(&mut Statement<'c, 'short>) -> Result<R>,
    ) -> Result<R>
    where
        'd: 'short,
    {
        let guard = ClearOnDrop { statement: self };
        let lender: *mut Statement<'c, 'd> = &mut *guard.statement;
        // SAFETY: the two types differ in a lifetime only. Memory of 'short may end after this
        // function, not before; until then the guard clears whichever statement is at this address. If
        // `work` swapped another one in, that one is cleared, and the original is where its type says
        // 'short, which is no longer than the 'd of what it borrowed before. The guard does not use its
        // reference while this one lives.
        let lent = unsafe { &mut *lender.cast::<Statement<'c, 'short>>() };
        let result = work(lent);
        let cleared = guard.statement.clear_bindings();
        std::mem::forget(guard);
        result.and_then(|value| cleared.map(|()| value))
    }

    /// Binds an array for the time of `work`; see [`with_borrowed`](Self::with_borrowed).
    ///
    /// # Errors
    /// As [`bind_array`](Self::bind_array), then what `work` returns.
    pub fn with_array<'short, R>(
        &mut self,
        index: i32,
        array: Array<'short>,
        work: impl FnOnce(&mut Statement<'c, 'short>) -> Result<R>,
    ) -> Result<R>
    where
        'd: 'short,
    {
        self.with_borrowed(|statement: &mut Statement<'c, 'short>| {
            statement.bind_array(index, array)?;
            work(statement)
        })
    }

    /// Returns whether the statement makes no direct change to the database file
    /// (<https://sqlite.org/c3ref/stmt_readonly.html>).
    pub fn is_read_only(&self) -> bool {
        // SAFETY: the statement is alive.
        unsafe { (self.api.stmt_readonly)(self.as_ptr()) != 0 }
    }

    /// Returns the value of a counter since the statement was prepared; 0 if the engine is too old to know
    /// it.
    #[inline]
    pub fn counter(&self, counter: StatementCounter) -> i64 {
        // SAFETY: the statement is alive; unknown counters are 0.
        i64::from(unsafe { (self.api.stmt_status)(self.as_ptr(), counter as c_int, 0) })
    }

    /// Returns the SQL the statement was prepared from.
    pub fn sql(&self) -> String {
        // SAFETY: the statement is alive, and its text ends in NUL.
        unsafe { copied((self.api.sql)(self.as_ptr())) }.unwrap_or_default()
    }

    /// Returns the raw handle, for code which must call SQLite itself.
    #[inline]
    pub fn as_ptr(&self) -> *mut ffi::sqlite3_stmt {
        self.raw.as_ptr()
    }
}

/// Clears the bindings of a statement when `with_borrowed` is left by a panic.
struct ClearOnDrop<'a, 'c, 'd> {
    statement: &'a mut Statement<'c, 'd>,
}

impl Drop for ClearOnDrop<'_, '_, '_> {
    fn drop(&mut self) {
        // An error can only be one of resetting, which the regular way out has reported.
        let _ = self.statement.clear_bindings();
    }
}
