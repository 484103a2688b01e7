//! A loadable SQLite extension (<https://sqlite.org/loadext.html>): rows of Arrow record batches as a
//! table-valued function, so that programs in any language insert columns without a call for each value.
//!
//! ```sql
//! INSERT INTO people(id, name, age) SELECT c0, c1, c2 FROM pragmark_columns(?1)
//! ```
//!
//! The parameter is a pointer (<https://sqlite.org/bindptr.html>) to structures of the Arrow C data
//! interface (<https://arrow.apache.org/docs/format/CDataInterface.html>): a [`RecordBatch`], bound under
//! the type name `pragmark_record_batch`, or an `ArrowArrayStream`, under `arrow_array_stream`.
//!
//! It stands apart from the loader because it is a library of its own, which shares a process with any
//! SQLite from 3.20 on and brings nothing along. Unsafe code is its nature: everything comes and goes
//! through C interfaces. Each block states their guarantees; the caller guarantees:
//! - the bound structures live, unchanged, until the parameter is bound again or the statement is finalised;
//! - the structures are valid by the rules of the Arrow C data interface.

mod api;
mod arrow;
mod column;
mod rows;
mod table;
#[cfg(test)]
mod tests;

use std::ffi::{c_char, c_int};

pub use arrow::RecordBatch;

use api::{Api, OK, Routines, sqlite3};

/// Returns the entry point that SQLite finds by the name of the library, `libpragmark_columns`.
///
/// # Safety
/// SQLite calls it, with an open connection and its table of functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_pragmarkcolumns_init(
    database: *mut sqlite3,
    message: *mut *mut c_char,
    routines: *const Routines,
) -> c_int {
    // SAFETY: SQLite gives its own table, which has these functions since version 3.20.
    let api = match unsafe { Api::new(routines) } {
        Ok(api) => api,
        Err(code) => return code,
    };
    // SAFETY: the connection is open, and the functions belong to its library.
    let code = unsafe { table::register(database, api) };
    if code != OK && !message.is_null() {
        // SAFETY: SQLite gives a pointer for a message, which it frees by its own function.
        unsafe { *message = api.text("the module pragmark_columns cannot be registered") };
    }
    code
}

/// Returns the entry point that SQLite tries first, whatever the name of the library.
///
/// # Safety
/// As [`sqlite3_pragmarkcolumns_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_extension_init(
    database: *mut sqlite3,
    message: *mut *mut c_char,
    routines: *const Routines,
) -> c_int {
    // SAFETY: the caller guarantees it.
    unsafe { sqlite3_pragmarkcolumns_init(database, message, routines) }
}
