//! What SQLite counts of each statement.

use super::Statement;
use std::ffi::c_int;

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

impl Statement<'_, '_> {
    /// The value of a counter since the statement was prepared; an engine too old to know it says 0.
    #[inline]
    pub fn counter(&self, counter: StatementCounter) -> i64 {
        // SAFETY: the statement is alive; unknown counters are 0.
        i64::from(unsafe { (self.api.stmt_status)(self.as_ptr(), counter as c_int, 0) })
    }
}
