//! Prepared statements: running them and binding values. Reading rows is in `columns`.

mod columns;

use crate::array::Array;
use crate::columns::Columns;
use crate::error::EngineError;
use crate::ffi;
use crate::handle::StatementHandle;
use crate::value::Value;
use std::marker::PhantomData;

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// There is a row to read.
    Row,
    /// The statement has finished.
    Done,
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
    handle: StatementHandle<'c>,
    borrowed: PhantomData<&'d [u8]>,
}

// `Statement` must not be usable after 'd has ended, not even by being dropped: `Drop` (of the handle)
// makes the borrow checker demand that 'd outlives the statement.
impl Drop for Statement<'_, '_> {
    fn drop(&mut self) {}
}

impl<'c, 'd> Statement<'c, 'd> {
    pub(crate) fn new(handle: StatementHandle<'c>) -> Statement<'c, 'd> {
        Statement {
            handle,
            borrowed: PhantomData,
        }
    }

    /// Runs to the next row or to the end.
    ///
    /// # Errors
    /// SQLite's, naming the statement; [`EngineError::is_busy`] distinguishes a lock. The
    /// statement can be reset and stepped again.
    #[inline]
    pub fn step(&mut self) -> Result<Step, EngineError> {
        Ok(if self.handle.step()? {
            Step::Row
        } else {
            Step::Done
        })
    }

    /// Returns to the start; bindings stay.
    ///
    /// # Errors
    /// Only an error that resetting itself brought about, such as a failing commit of an unfinished
    /// `INSERT … RETURNING`; one that the last step reported is not reported again.
    #[inline]
    pub fn reset(&mut self) -> Result<(), EngineError> {
        self.handle.reset()
    }

    /// Runs to the end, without looking at rows, and resets.
    ///
    /// # Errors
    /// As [`step`](Self::step); the statement is reset then too.
    #[inline]
    pub fn run(&mut self) -> Result<(), EngineError> {
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
    pub fn clear_bindings(&mut self) -> Result<(), EngineError> {
        self.handle.clear_bindings()
    }

    /// The number of the highest parameter.
    pub fn parameter_count(&self) -> i32 {
        // SAFETY: the statement is alive.
        unsafe { (self.handle.api().bind_parameter_count)(self.handle.as_ptr()) }
    }

    /// Binds an integer.
    ///
    /// # Errors
    /// No such parameter, or the statement is running; so for every binding.
    #[inline]
    pub fn bind_i64(&mut self, index: i32, value: i64) -> Result<(), EngineError> {
        self.handle.bind_i64(index, value)
    }

    /// Binds a floating point number; NaN becomes NULL, as always in SQLite.
    ///
    /// # Errors
    /// As [`bind_i64`](Self::bind_i64).
    #[inline]
    pub fn bind_f64(&mut self, index: i32, value: f64) -> Result<(), EngineError> {
        self.handle.bind_f64(index, value)
    }

    /// Binds NULL.
    ///
    /// # Errors
    /// As [`bind_i64`](Self::bind_i64).
    #[inline]
    pub fn bind_null(&mut self, index: i32) -> Result<(), EngineError> {
        self.handle.bind_null(index)
    }

    /// Binds a text, which SQLite copies.
    ///
    /// # Errors
    /// As [`bind_i64`](Self::bind_i64), or the text is longer than the engine allows.
    #[inline]
    pub fn bind_text(&mut self, index: i32, text: &str) -> Result<(), EngineError> {
        // SAFETY: SQLite copies the text before the call returns.
        unsafe { self.handle.bind_text(index, text, ffi::SQLITE_TRANSIENT) }
    }

    /// Binds bytes, which SQLite copies.
    ///
    /// # Errors
    /// As [`bind_text`](Self::bind_text).
    #[inline]
    pub fn bind_blob(&mut self, index: i32, bytes: &[u8]) -> Result<(), EngineError> {
        // SAFETY: SQLite copies the bytes before the call returns.
        unsafe { self.handle.bind_blob(index, bytes, ffi::SQLITE_TRANSIENT) }
    }

    /// Binds a text without copying it.
    ///
    /// # Errors
    /// As [`bind_text`](Self::bind_text).
    #[inline]
    pub fn bind_text_borrowed(&mut self, index: i32, text: &'d str) -> Result<(), EngineError> {
        // SAFETY: 'd outlives the statement, or `with_borrowed` clears the binding before 'd ends.
        unsafe { self.handle.bind_text(index, text, ffi::SQLITE_STATIC) }
    }

    /// Binds bytes without copying them.
    ///
    /// # Errors
    /// As [`bind_text`](Self::bind_text).
    #[inline]
    pub fn bind_blob_borrowed(&mut self, index: i32, bytes: &'d [u8]) -> Result<(), EngineError> {
        // SAFETY: as in `bind_text_borrowed`.
        unsafe { self.handle.bind_blob(index, bytes, ffi::SQLITE_STATIC) }
    }

    /// Binds a value, which SQLite copies.
    ///
    /// # Errors
    /// As [`bind_text`](Self::bind_text).
    pub fn bind_value(&mut self, index: i32, value: &Value) -> Result<(), EngineError> {
        match value {
            Value::Null => self.bind_null(index),
            Value::Integer(value) => self.bind_i64(index, *value),
            Value::Real(value) => self.bind_f64(index, *value),
            Value::Text(text) => self.bind_text(index, text),
            Value::Blob(bytes) => self.bind_blob(index, bytes),
        }
    }

    /// Binds an array, without copying it, to a parameter used as `carray(?)`.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where the engine has no carray,
    /// [`EngineError::ArrayTooLong`], and as [`bind_i64`](Self::bind_i64).
    pub fn bind_array(&mut self, index: i32, array: Array<'d>) -> Result<(), EngineError> {
        // SAFETY: as in `bind_text_borrowed`.
        unsafe { self.handle.bind_array(index, array.raw()) }
    }

    /// Binds rows of the program, without copying them, to the parameter of a table-valued function
    /// made by [`create_columns_function`](crate::Connection::create_columns_function).
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where the engine cannot bind pointers (before SQLite 3.20), and as
    /// [`bind_i64`](Self::bind_i64).
    pub fn bind_columns(
        &mut self,
        index: i32,
        columns: &'d dyn Columns,
    ) -> Result<(), EngineError> {
        // SAFETY: as in `bind_text_borrowed`.
        unsafe { self.handle.bind_columns(index, columns) }
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
        work: impl FnOnce(&mut Statement<'c, 'short>) -> Result<R, EngineError>,
    ) -> Result<R, EngineError>
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
        work: impl FnOnce(&mut Statement<'c, 'short>) -> Result<R, EngineError>,
    ) -> Result<R, EngineError>
    where
        'd: 'short,
    {
        self.with_borrowed(|statement: &mut Statement<'c, 'short>| {
            statement.bind_array(index, array)?;
            work(statement)
        })
    }

    /// Whether the statement makes no direct change to the database file
    /// (<https://sqlite.org/c3ref/stmt_readonly.html>).
    pub fn is_read_only(&self) -> bool {
        // SAFETY: the statement is alive.
        unsafe { (self.handle.api().stmt_readonly)(self.handle.as_ptr()) != 0 }
    }

    /// The SQL the statement was prepared from.
    pub fn sql(&self) -> String {
        self.handle.sql()
    }

    /// The raw handle, for code which must call SQLite itself.
    #[inline]
    pub fn as_ptr(&self) -> *mut ffi::sqlite3_stmt {
        self.handle.as_ptr()
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
