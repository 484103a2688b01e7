//! The program that SQLite compiles a statement to.

use super::Connection;
use crate::error::{Result, unsupported};
use crate::ffi;
use crate::statement::{Statement, Step};
use crate::value::Value;

/// An instruction of the program of a statement, with its executions (<https://sqlite.org/bytecodevtab.html>).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its address in its program.
    pub address: i64,
    /// Its name.
    pub opcode: String,
    /// Its first and second operand.
    pub operands: [i64; 2],
    /// Its part of the program unless that is the statement itself: a trigger by its name, or the action of a foreign key.
    pub part: Option<String>,
    /// Executions since the statement was prepared.
    pub executions: i64,
}

impl Connection {
    /// Returns the program of a statement with how often each instruction was executed.
    ///
    /// # Errors
    /// SQLite's; [`EngineError::Unsupported`](crate::EngineError::Unsupported) where pointers cannot be bound.
    pub fn program(&self, statement: &Statement<'_, '_>) -> Result<Vec<Instruction>> {
        let bind = self.handle.api().bind_pointer;
        let bind = bind.ok_or(unsupported("binding of pointers", "sqlite3_bind_pointer"))?;
        let sql = "SELECT addr, opcode, p1, p2, subprog, nexec FROM bytecode(?1)";
        let mut rows = self.prepare(sql)?;
        // SAFETY: both statements are alive until the end of this function, and the type of the pointer is that which
        // bytecode() demands.
        let code = unsafe {
            let kind = c"stmt-pointer".as_ptr();
            bind(rows.as_ptr(), 1, statement.as_ptr().cast(), kind, ffi::SQLITE_STATIC)
        };
        self.handle.check(code, "reading the program of a statement")?;
        let mut program = Vec::new();
        while rows.step()? == Step::Row {
            program.push(Instruction {
                address: rows.column_i64(0),
                opcode: rows.column_value(1).to_string(),
                operands: [rows.column_i64(2), rows.column_i64(3)],
                part: match rows.column_value(4) {
                    Value::Text(name) => Some(name),
                    _ => None,
                },
                executions: rows.column_i64(5),
            });
        }
        Ok(program)
    }
}
