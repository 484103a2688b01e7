//! Rows of the program as a table in SQL: one cursor that walks over several columns at once.
//!
//! `carray` knows one column; this table-valued function knows any number, which is what bulk loading
//! needs (`INSERT INTO t SELECT c0, c1 FROM name(?1)`). It stands apart because it is a virtual table
//! (<https://sqlite.org/vtab.html>) with callbacks from SQLite into the program.
//!
//! The rows reach the cursor as a pointer value bound to the parameter
//! (<https://sqlite.org/bindptr.html>): the type name of the pointer is this crate's own, so no other
//! pointer can be taken for one. [`Statement`](crate::Statement) keeps the rows borrowed as long as
//! they are bound, and resets before it clears a binding, so a cursor never outlives them.

use crate::error::{During, Result, SqliteError, unsupported};
use crate::ffi::{self, Api};
use crate::handle::DatabaseHandle;
use crate::text::c_string;
use crate::value::ValueRef;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Write;

/// Rows that SQL can read, column by column.
///
/// SQLite reads them while a statement runs, in the middle of its own work: a panic in here aborts the
/// process.
pub trait Columns {
    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Returns the value in a row below [`rows`](Self::rows); NULL for a column that does not exist.
    fn value(&self, row: usize, column: usize) -> ValueRef<'_>;
}

/// The value bound to a parameter: a thin pointer, as C needs it, to the fat pointer of the rows.
pub(crate) struct BoundColumns(*const dyn Columns);

impl BoundColumns {
    /// The type name of the pointer value.
    pub(crate) const TYPE: &CStr = c"pragmark columns";

    /// # Safety
    /// The rows must stay borrowed as long as this value is used.
    pub(crate) unsafe fn new(columns: &dyn Columns) -> BoundColumns {
        // SAFETY: only the lifetime changes, for which the caller vouches.
        let columns = unsafe { std::mem::transmute::<&dyn Columns, &'static dyn Columns>(columns) };
        BoundColumns(columns)
    }

    pub(crate) fn into_raw(self) -> *mut c_void {
        Box::into_raw(Box::new(self)).cast()
    }

    /// # Safety
    /// `bound` must come from [`into_raw`](Self::into_raw) and not be used again.
    pub(crate) unsafe extern "C" fn destroy(bound: *mut c_void) {
        // SAFETY: by the caller's word.
        drop(unsafe { Box::from_raw(bound.cast::<BoundColumns>()) });
    }
}

/// Data of the module, owned by SQLite from registration until the connection closes.
struct Module {
    methods: ffi::sqlite3_module,
    /// The functions of the library, which stays as long as its connections.
    api: *const Api,
    /// The statement that declares the table's columns.
    declaration: CString,
    /// The number of columns; the hidden parameter comes behind them.
    columns: c_int,
}

#[repr(C)]
struct Table {
    base: ffi::sqlite3_vtab,
    module: *const Module,
}

#[repr(C)]
struct Cursor {
    base: ffi::sqlite3_vtab_cursor,
    module: *const Module,
    bound: Option<*const dyn Columns>,
    row: usize,
    rows: usize,
}

/// Registers the function; see [`Connection::create_columns_function`](crate::Connection).
pub(crate) fn create_function(database: &DatabaseHandle, name: &str, columns: usize) -> Result<()> {
    let api = database.api();
    let no_tables = unsupported("virtual tables", "sqlite3_create_module_v2");
    let (Some(create), Some(_)) = (api.create_module_v2, api.declare_vtab) else {
        return Err(no_tables);
    };
    (api.value_pointer).ok_or(unsupported("binding of pointers", "sqlite3_value_pointer"))?;
    check_number(database, columns)?;
    let name = c_string(name, "name of the function")?;
    let module = Box::into_raw(Box::new(Module {
        methods: METHODS,
        api,
        declaration: declaration(columns),
        columns: c_int::try_from(columns).unwrap_or(c_int::MAX),
    }));
    // SAFETY: the handle is open, the name a C string; SQLite owns the module from here on and frees
    // it by `destroy_module`, even if registering fails. The methods are part of the module.
    let code = unsafe {
        let methods = &raw const (*module).methods;
        create(database.as_ptr(), name.as_ptr(), methods, module.cast(), Some(destroy_module))
    };
    database.check(code, "making a table-valued function")
}

/// SQLite would only say that the table cannot be made.
fn check_number(database: &DatabaseHandle, columns: usize) -> Result<()> {
    // SAFETY: the handle is open; a negative value leaves the limit as it is.
    let limit = unsafe { (database.api().limit)(database.as_ptr(), ffi::SQLITE_LIMIT_COLUMN, -1) };
    // The hidden parameter is a column too.
    if columns < usize::try_from(limit).unwrap_or(0) {
        return Ok(());
    }
    let message =
        format!("{columns} columns are too many: SQLite allows {limit}, one of them hidden");
    let during = During::Call("making a table-valued function");
    Err(SqliteError::new(ffi::SQLITE_ERROR, message, during).into())
}

fn declaration(columns: usize) -> CString {
    let mut sql = String::from("CREATE TABLE x(");
    for column in 0..columns {
        // Writing to a string cannot fail.
        let _ = write!(sql, "c{column}, ");
    }
    sql += "rows HIDDEN)";
    CString::new(sql).unwrap_or_default()
}

/// The methods of an eponymous, read-only table: without `xCreate` it exists in every database by the
/// name of its module, and nothing can be made of it by `CREATE VIRTUAL TABLE`.
const METHODS: ffi::sqlite3_module = ffi::sqlite3_module {
    xConnect: Some(connect),
    xBestIndex: Some(best_index),
    xDisconnect: Some(disconnect),
    xOpen: Some(open),
    xClose: Some(close),
    xFilter: Some(filter),
    xNext: Some(next),
    xEof: Some(eof),
    xColumn: Some(column),
    xRowid: Some(rowid),
    ..ffi::sqlite3_module::EMPTY
};

unsafe extern "C" fn destroy_module(module: *mut c_void) {
    // SAFETY: made by `Box::into_raw` at registration; SQLite calls this once, as the last.
    drop(unsafe { Box::from_raw(module.cast::<Module>()) });
}

unsafe extern "C" fn connect(
    database: *mut ffi::sqlite3,
    module: *mut c_void,
    _arguments: c_int,
    _argument: *const *const c_char,
    table: *mut *mut ffi::sqlite3_vtab,
    _message: *mut *mut c_char,
) -> c_int {
    let module: *const Module = module.cast();
    // SAFETY: SQLite gives the module registered, which lives as long as the connection, and the library longer.
    let code = unsafe {
        let declare = (*(*module).api).declare_vtab;
        declare.map_or(ffi::SQLITE_ERROR, |call| call(database, (*module).declaration.as_ptr()))
    };
    if code != ffi::SQLITE_OK {
        return code;
    }
    let made = Box::new(Table {
        base: ffi::sqlite3_vtab {
            pModule: std::ptr::null(),
            nRef: 0,
            zErrMsg: std::ptr::null_mut(),
        },
        module,
    });
    // SAFETY: SQLite gives a valid pointer; the record begins with the base, and SQLite fills it in.
    unsafe { *table = Box::into_raw(made).cast() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn disconnect(table: *mut ffi::sqlite3_vtab) -> c_int {
    // SAFETY: made by `connect` and not used again.
    drop(unsafe { Box::from_raw(table.cast::<Table>()) });
    ffi::SQLITE_OK
}

/// Requests the parameter. Refuses a plan in which its value is not known yet; without a parameter there are
/// no rows.
unsafe extern "C" fn best_index(
    table: *mut ffi::sqlite3_vtab,
    info: *mut ffi::sqlite3_index_info,
) -> c_int {
    // SAFETY: the table is one of `connect`'s, and SQLite gives a valid record for the call.
    let (info, parameter) = unsafe { (&mut *info, (*(*table.cast::<Table>()).module).columns) };
    info.estimatedCost = 1.0;
    info.estimatedRows = 0;
    for number in 0..info.nConstraint as usize {
        // SAFETY: there are `nConstraint` constraints, and as many usages.
        let (constraint, usage) =
            unsafe { (&*info.aConstraint.add(number), &mut *info.aConstraintUsage.add(number)) };
        if constraint.iColumn != parameter || constraint.op != ffi::SQLITE_INDEX_CONSTRAINT_EQ {
            continue;
        }
        if constraint.usable == 0 {
            return ffi::SQLITE_CONSTRAINT;
        }
        usage.argvIndex = 1;
        usage.omit = 1;
        info.idxNum = 1;
        info.estimatedCost = 1e5;
        info.estimatedRows = 100_000;
        break;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn open(
    table: *mut ffi::sqlite3_vtab,
    cursor: *mut *mut ffi::sqlite3_vtab_cursor,
) -> c_int {
    let made = Box::new(Cursor {
        base: ffi::sqlite3_vtab_cursor { pVtab: table },
        // SAFETY: the table is one of `connect`'s.
        module: unsafe { (*table.cast::<Table>()).module },
        bound: None,
        row: 0,
        rows: 0,
    });
    // SAFETY: SQLite gives a valid pointer; the record begins with the base.
    unsafe { *cursor = Box::into_raw(made).cast() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(cursor: *mut ffi::sqlite3_vtab_cursor) -> c_int {
    // SAFETY: made by `open` and not used again.
    drop(unsafe { Box::from_raw(cursor.cast::<Cursor>()) });
    ffi::SQLITE_OK
}

unsafe extern "C" fn filter(
    cursor: *mut ffi::sqlite3_vtab_cursor,
    plan: c_int,
    _text: *const c_char,
    arguments: c_int,
    argument: *mut *mut ffi::sqlite3_value,
) -> c_int {
    // SAFETY: the cursor is one of `open`'s, which SQLite uses from one thread at a time.
    let cursor = unsafe { &mut *cursor.cast::<Cursor>() };
    cursor.bound = None;
    cursor.row = 0;
    cursor.rows = 0;
    if plan == 1 && arguments == 1 {
        // SAFETY: there is one argument. The pointer is null unless it was bound by `bind_columns`,
        // for only that uses this type name.
        let bound = unsafe {
            let pointer = (*(*cursor.module).api).value_pointer;
            pointer
                .map_or(std::ptr::null_mut(), |call| call(*argument, BoundColumns::TYPE.as_ptr()))
        };
        if !bound.is_null() {
            // SAFETY: a box of `bind_columns`, which stays as long as it is bound.
            let columns = unsafe { (*bound.cast::<BoundColumns>()).0 };
            cursor.bound = Some(columns);
            // SAFETY: the rows are borrowed as long as they are bound.
            cursor.rows = unsafe { (*columns).rows() };
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn next(cursor: *mut ffi::sqlite3_vtab_cursor) -> c_int {
    // SAFETY: as in `filter`, here and below.
    unsafe { (*cursor.cast::<Cursor>()).row += 1 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn eof(cursor: *mut ffi::sqlite3_vtab_cursor) -> c_int {
    // SAFETY: as in `filter`.
    let cursor = unsafe { &*cursor.cast::<Cursor>() };
    c_int::from(cursor.row >= cursor.rows)
}

unsafe extern "C" fn column(
    cursor: *mut ffi::sqlite3_vtab_cursor,
    context: *mut ffi::sqlite3_context,
    number: c_int,
) -> c_int {
    // SAFETY: as in `filter`; the module lives as long as the connection, and the library longer.
    let (cursor, module, api) = unsafe {
        let cursor = &*cursor.cast::<Cursor>();
        let module = &*cursor.module;
        (cursor, module, &*module.api)
    };
    let value = match cursor.bound {
        // The hidden parameter is not for reading.
        Some(columns) if number < module.columns && cursor.row < cursor.rows => {
            // SAFETY: the rows are borrowed as long as they are bound, and the cursor is gone before.
            unsafe { (*columns).value(cursor.row, number as usize) }
        }
        _ => ValueRef::Null,
    };
    // SAFETY: SQLite gives a valid context. Texts and blobs are borrowed from the rows, which stay
    // borrowed until the statement is reset, by when SQLite has let go of every value of it.
    unsafe {
        match value {
            ValueRef::Null => (api.result_null)(context),
            ValueRef::Integer(value) => (api.result_int64)(context, value),
            ValueRef::Real(value) => (api.result_double)(context, value),
            ValueRef::Text(text) => {
                let (start, length) = (text.as_ptr().cast(), text.len() as u64);
                (api.result_text64)(context, start, length, ffi::SQLITE_STATIC, ffi::SQLITE_UTF8);
            }
            ValueRef::Blob(bytes) => {
                let (start, length) = (bytes.as_ptr().cast(), bytes.len() as u64);
                (api.result_blob64)(context, start, length, ffi::SQLITE_STATIC);
            }
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn rowid(cursor: *mut ffi::sqlite3_vtab_cursor, rowid: *mut i64) -> c_int {
    // SAFETY: as in `filter`; SQLite gives a valid pointer.
    unsafe { *rowid = (*cursor.cast::<Cursor>()).row as i64 + 1 };
    ffi::SQLITE_OK
}
