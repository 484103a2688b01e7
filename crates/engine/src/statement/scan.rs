//! The work of each loop of a statement, where the engine counts it (`SQLITE_ENABLE_STMT_SCANSTATUS`).

use super::Statement;
use crate::error::{Result, unsupported};
use crate::ffi;
use crate::text::copied;
use std::ffi::{c_char, c_int, c_void};

/// A node of the plan of a statement, with its work since the statement was prepared
/// (<https://sqlite.org/c3ref/c_scanstat_est.html>).
#[derive(Clone, Debug, PartialEq)]
pub struct ScanNode {
    /// Its number, as in the first column of `EXPLAIN QUERY PLAN`.
    pub id: i32,
    /// The number of the node that it belongs to; 0 for none.
    pub parent: i32,
    /// Its description, as in the last column of `EXPLAIN QUERY PLAN`.
    pub detail: String,
    /// The index, or else the table that it reads.
    pub object: Option<String>,
    /// The number of times that its loop was begun.
    pub loops: Option<i64>,
    /// Rows that its loop has visited, before conditions on columns that its index does not cover.
    pub visited: Option<i64>,
    /// Rows that the planner expects each time.
    pub expected: Option<f64>,
    /// Cycles of the processor for this node alone.
    pub cycles: Option<i64>,
}

// https://sqlite.org/c3ref/c_scanstat_est.html
const LOOPS: c_int = 0;
const VISITED: c_int = 1;
const EXPECTED: c_int = 2;
const NAME: c_int = 3;
const DETAIL: c_int = 4;
const ID: c_int = 5;
const PARENT: c_int = 6;
const CYCLES: c_int = 7;
/// Asks for every node of the plan and not for loops alone.
const COMPLEX: c_int = 1;

impl Statement<'_, '_> {
    /// Returns the nodes of the plan with their work, in the order of the program.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`](crate::EngineError::Unsupported) where the engine does not count.
    pub fn scan_nodes(&self) -> Result<Vec<ScanNode>> {
        let status = self.api.stmt_scanstatus_v2;
        let status =
            status.ok_or(unsupported("counting of loops", "sqlite3_stmt_scanstatus_v2"))?;
        let read = |node: c_int, what: c_int, out: *mut c_void| {
            // SAFETY: the statement is alive, and `out` has the type of this figure. An unknown node is an error.
            unsafe { status(self.as_ptr(), node, what, COMPLEX, out) == ffi::SQLITE_OK }
        };
        let number = |node, what| {
            let mut number: c_int = 0;
            read(node, what, (&raw mut number).cast()).then_some(number)
        };
        let count = |node, what| {
            let mut count: i64 = -1;
            read(node, what, (&raw mut count).cast());
            (count >= 0).then_some(count)
        };
        let text = |node, what| {
            let mut text: *const c_char = std::ptr::null();
            read(node, what, (&raw mut text).cast());
            // SAFETY: null, or a C string that lives as long as the statement.
            unsafe { copied(text) }
        };
        let nodes = (0..).map_while(|node| {
            let id = number(node, ID)?;
            let (mut expected, loops) = (0.0, count(node, LOOPS));
            read(node, EXPECTED, (&raw mut expected).cast());
            Some(ScanNode {
                id,
                parent: number(node, PARENT)?,
                detail: text(node, DETAIL).unwrap_or_default(),
                object: text(node, NAME),
                loops,
                visited: count(node, VISITED),
                expected: loops.map(|_| expected),
                cycles: count(node, CYCLES),
            })
        });
        Ok(nodes.filter(|node| !node.detail.is_empty()).collect())
    }

    /// Returns the cycles of the processor in this statement since it was prepared.
    pub fn cycles(&self) -> Option<i64> {
        let (status, mut cycles): (_, i64) = (self.api.stmt_scanstatus_v2?, 0);
        let out = (&raw mut cycles).cast();
        // SAFETY: the statement is alive, and cycles are 64-bit integers; -1 stands for the whole statement.
        let code = unsafe { status(self.as_ptr(), -1, CYCLES, COMPLEX, out) };
        (code == ffi::SQLITE_OK).then_some(cycles)
    }
}
