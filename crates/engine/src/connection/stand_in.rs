//! Stand-ins on connections.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::Arc;

use super::{Connection, OpenFlags};
use crate::error::{EngineError, Result};
use crate::ffi::{self, Api};
use crate::library::Library;
use crate::stand_in::{Compare, StandIn};
use crate::statement::{Statement, Step};
use crate::text::c_string;

impl Library {
    /// Gives each connection that is opened from now on the stand-ins of a text, as [`StandIn::parse`] reads them.
    /// Later calls change nothing.
    ///
    /// # Errors
    /// Those of [`StandIn::parse`]; an expression is invalid.
    pub fn stand_in(self: &Arc<Library>, text: &str) -> Result<()> {
        let all = StandIn::parse(text)?;
        for stand_in in all.iter().filter(|stand_in| !stand_in.is_collation()) {
            Evaluator::new(self, &stand_in.by).map_err(|error| {
                EngineError::Usage(format!("the stand-in {stand_in}: {}", error.message()))
            })?;
        }
        self.stand_ins.get_or_init(|| all);
        Ok(())
    }

    /// Returns the stand-ins.
    pub fn stand_ins(&self) -> &[StandIn] {
        self.stand_ins.get().map_or(&[], Vec::as_slice)
    }
}

impl Connection {
    pub(super) fn add(&self, stand_in: &StandIn) -> Result<()> {
        let Some(by) = stand_in.compare() else {
            let (library, expression) = (Arc::clone(self.library()), stand_in.by.clone());
            let evaluator: RefCell<Option<Evaluator>> = RefCell::default();
            let evaluate = move |api: &Api, context, values: &[*mut ffi::sqlite3_value]| {
                let mut evaluator =
                    evaluator.try_borrow_mut().map_err(|error| error.to_string())?;
                let evaluator = match &mut *evaluator {
                    Some(evaluator) => evaluator,
                    none => none.insert(
                        Evaluator::new(&library, &expression).map_err(|error| error.message())?,
                    ),
                };
                evaluator.evaluate(api, context, values).map_err(|error| error.message())
            };
            let is_fixed = Evaluator::is_fixed(self.library(), &stand_in.by)?;
            return self.create_function(&stand_in.name, -1, is_fixed, Box::new(evaluate));
        };
        let name = c_string(stand_in.name.as_str(), "name of the collation")?;
        let utf8 = c_int::from(ffi::SQLITE_UTF8);
        let by = std::ptr::from_ref(by).cast_mut().cast();
        let create = self.handle.api().create_collation;
        // SAFETY: the handle is open, the name is a C string, and the comparison is a constant.
        let code = unsafe { create(self.as_ptr(), name.as_ptr(), utf8, by, Some(compare)) };
        self.handle.check(code, "making a collation")
    }
}

/// # Safety
/// SQLite calls this with the comparison that it got, and two texts with their lengths.
unsafe extern "C" fn compare(
    by: *mut c_void,
    one: c_int,
    at_one: *const c_void,
    other: c_int,
    at_other: *const c_void,
) -> c_int {
    // SAFETY: it is a constant of this type.
    let by = unsafe { *by.cast::<Compare>() };
    let text = |length: c_int, start: *const c_void| match usize::try_from(length) {
        // SAFETY: the text has `length` bytes and lives until the call ends; only an empty one may have no pointer.
        Ok(length) if length > 0 => unsafe { std::slice::from_raw_parts(start.cast(), length) },
        _ => &[],
    };
    by(text(one, at_one), text(other, at_other)) as c_int
}

/// An expression on a connection of its own, which has no stand-ins, so that an expression may use what it replaces.
struct Evaluator {
    /// Before its connection, because fields are dropped in order.
    statement: Statement<'static, 'static>,
    connection: Box<Connection>,
}

// SAFETY: the statement moves with its connection, which may move, and only the thread of the connection that calls uses them.
unsafe impl Send for Evaluator {}

impl Evaluator {
    fn new(library: &Arc<Library>, expression: &str) -> Result<Evaluator> {
        let (memory, flags) = (Path::new(":memory:"), OpenFlags::default());
        let connection = Box::new(Connection::without_stand_ins(library, memory, flags, None)?);
        // The line ends a comment.
        let statement = connection.prepare(&format!("SELECT ({expression}\n)"))?;
        // SAFETY: the connection stays where it is in its box, and lives longer than the statement.
        let statement = unsafe {
            std::mem::transmute::<Statement<'_, '_>, Statement<'static, 'static>>(statement)
        };
        Ok(Evaluator { statement, connection })
    }

    /// Returns whether SQLite takes an expression for one with the same value each time, which an index may have.
    fn is_fixed(library: &Arc<Library>, expression: &str) -> Result<bool> {
        let (memory, flags) = (Path::new(":memory:"), OpenFlags::default());
        let connection = Connection::without_stand_ins(library, memory, flags, None)?;
        let mut parts = expression.split('?');
        let mut of_column = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            of_column += "a";
            of_column += part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        }
        // Dates are found to depend on the present time only when they are computed.
        let index = format!(
            "CREATE TABLE t(a); CREATE INDEX i ON t(({of_column}\n)); INSERT INTO t VALUES (NULL)"
        );
        Ok(connection.execute(&index).is_ok())
    }

    /// Sets the result of a call to the value of the expression.
    fn evaluate(
        &mut self,
        api: &Api,
        context: *mut ffi::sqlite3_context,
        values: &[*mut ffi::sqlite3_value],
    ) -> Result<()> {
        let statement = self.statement.as_ptr();
        let mut values = values.iter();
        for index in 1..=self.statement.parameter_count() {
            // SAFETY: the statement is alive and reset, and SQLite copies the value, which is valid during the call. Arguments that
            // a call leaves out are NULL.
            let code = unsafe {
                match values.next() {
                    Some(value) => (api.bind_value)(statement, index, *value),
                    None => (api.bind_null)(statement, index),
                }
            };
            self.connection.handle.check(code, "binding an argument")?;
        }
        let stepped = self.statement.step();
        if stepped.as_ref().is_ok_and(|step| *step == Step::Row) {
            // SAFETY: the statement stands on a row with a column, whose value SQLite copies.
            unsafe { (api.result_value)(context, (api.column_value)(self.statement.as_ptr(), 0)) };
        }
        let reset = self.statement.reset();
        stepped.and(reset)
    }
}
