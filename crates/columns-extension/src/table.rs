//! The virtual table (<https://sqlite.org/vtab.html>): one cursor walks over the rows that are bound.
//!
//! Used as a function, its columns are called `c0` to `c99`. `CREATE VIRTUAL TABLE temp.people USING
//! pragmark_columns(id, name)` makes one whose columns have names: `SELECT id, name FROM people(?1)`.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Write;

use crate::api::{self, Api, Context, sqlite3};
use crate::arrow::{ArrowArrayStream, RecordBatch};
use crate::column::Value;
use crate::rows::{Rows, Stream};

/// The name of module and function.
const NAME: &CStr = c"pragmark_columns";
/// The type names under which pointers are bound.
const BATCH: &CStr = c"pragmark_record_batch";
const STREAM: &CStr = c"arrow_array_stream";
/// The error where neither of them is bound.
const NOTHING: &str = "bind a pointer of the type pragmark_record_batch or arrow_array_stream to its parameter; \
    found a value, NULL or a pointer of another type";
/// The columns of the function.
const COLUMNS: usize = 100;

/// The methods of a virtual table, version 1 of `sqlite3_module`.
#[repr(C)]
#[allow(non_snake_case)]
struct Methods {
    iVersion: c_int,
    xCreate: Option<Connect>,
    xConnect: Option<Connect>,
    xBestIndex: Option<unsafe extern "C" fn(*mut Table, *mut IndexInfo) -> c_int>,
    xDisconnect: Option<unsafe extern "C" fn(*mut Table) -> c_int>,
    xDestroy: Option<unsafe extern "C" fn(*mut Table) -> c_int>,
    xOpen: Option<unsafe extern "C" fn(*mut Table, *mut *mut Cursor) -> c_int>,
    xClose: Option<unsafe extern "C" fn(*mut Cursor) -> c_int>,
    xFilter: Option<
        unsafe extern "C" fn(
            *mut Cursor,
            c_int,
            *const c_char,
            c_int,
            *mut *mut api::Value,
        ) -> c_int,
    >,
    xNext: Option<unsafe extern "C" fn(*mut Cursor) -> c_int>,
    xEof: Option<unsafe extern "C" fn(*mut Cursor) -> c_int>,
    xColumn: Option<unsafe extern "C" fn(*mut Cursor, *mut Context, c_int) -> c_int>,
    xRowid: Option<unsafe extern "C" fn(*mut Cursor, *mut i64) -> c_int>,
    /// xUpdate, xBegin, xSync, xCommit, xRollback, xFindFunction and xRename: there are none.
    none: [Option<unsafe extern "C" fn()>; 7],
}

type Connect = unsafe extern "C" fn(
    *mut sqlite3,
    *mut c_void,
    c_int,
    *const *const c_char,
    *mut *mut Table,
    *mut *mut c_char,
) -> c_int;

/// With the same method to make and to connect, the module is a table of its own name in every
/// database, and tables can be made of it as well.
static METHODS: Methods = Methods {
    iVersion: 0,
    xCreate: Some(connect),
    xConnect: Some(connect),
    xBestIndex: Some(best_index),
    xDisconnect: Some(disconnect),
    xDestroy: Some(disconnect),
    xOpen: Some(open),
    xClose: Some(close),
    xFilter: Some(filter),
    xNext: Some(next),
    xEof: Some(eof),
    xColumn: Some(column),
    xRowid: Some(rowid),
    none: [None; 7],
};

/// A constraint that SQLite offers.
#[repr(C)]
struct IndexConstraint {
    column: c_int,
    operator: u8,
    usable: u8,
    term_offset: c_int,
}

/// How the table uses a constraint.
#[repr(C)]
struct IndexUsage {
    argument: c_int,
    omit: u8,
}

/// The beginning of `sqlite3_index_info`, as far as it was in all versions.
#[repr(C)]
pub(crate) struct IndexInfo {
    constraints: c_int,
    constraint: *const IndexConstraint,
    order_bys: c_int,
    order_by: *const c_void,
    usage: *mut IndexUsage,
    number: c_int,
    text: *mut c_char,
    free_text: c_int,
    ordered: c_int,
    cost: f64,
    rows: i64,
}

/// A table; SQLite's own part comes first.
#[repr(C)]
pub(crate) struct Table {
    module: *const c_void,
    references: c_int,
    message: *mut c_char,
    api: Api,
    columns: usize,
}

/// A cursor; SQLite's own part comes first.
#[repr(C)]
pub(crate) struct Cursor {
    table: *mut Table,
    api: Api,
    columns: usize,
    /// The batch under the cursor, before the stream that owns it, so that it is dropped first.
    batch: Option<Rows>,
    stream: Option<Stream>,
    /// The row within the batch.
    row: usize,
    /// The rows of the batches before.
    before: i64,
}

/// Registers the module with a connection.
///
/// # Safety
/// The connection must be open, and the functions must belong to its library.
pub(crate) unsafe fn register(database: *mut sqlite3, api: Api) -> c_int {
    unsafe extern "C" fn destroy(api: *mut c_void) {
        // SAFETY: made by `into_raw` below; SQLite calls this once, even if registering fails.
        drop(unsafe { Box::from_raw(api.cast::<Api>()) });
    }
    let own = Box::into_raw(Box::new(api));
    // SAFETY: the caller guarantees the connection; the methods are static.
    unsafe {
        (api.create_module)(
            database,
            NAME.as_ptr(),
            (&raw const METHODS).cast(),
            own.cast(),
            Some(destroy),
        )
    }
}

unsafe extern "C" fn connect(
    database: *mut sqlite3,
    own: *mut c_void,
    count: c_int,
    arguments: *const *const c_char,
    table: *mut *mut Table,
    _message: *mut *mut c_char,
) -> c_int {
    // SAFETY: SQLite gives what was registered.
    let api = unsafe { *own.cast::<Api>() };
    // The first three are the names of module, database and table.
    let names: Vec<String> = (3..count as usize)
        // SAFETY: there are `count` arguments, all of them C strings.
        .map(|number| unsafe { CStr::from_ptr(*arguments.add(number)) })
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let columns = if names.is_empty() { COLUMNS } else { names.len() };
    let Ok(sql) = declaration(&names) else { return api::ERROR };
    // SAFETY: the connection is SQLite's own, in the middle of connecting.
    let code = unsafe { (api.declare_vtab)(database, sql.as_ptr()) };
    if code != api::OK {
        return code;
    }
    let made = Box::new(Table {
        module: std::ptr::null(),
        references: 0,
        message: std::ptr::null_mut(),
        api,
        columns,
    });
    // SAFETY: SQLite gives a valid pointer.
    unsafe { *table = Box::into_raw(made) };
    api::OK
}

/// Returns the statement that declares the columns, with the hidden one for the parameter behind them.
fn declaration(names: &[String]) -> Result<CString, std::ffi::NulError> {
    let mut sql = String::from("CREATE TABLE x(");
    if names.is_empty() {
        for number in 0..COLUMNS {
            // Writing to a string cannot fail.
            let _ = write!(sql, "c{number}, ");
        }
    }
    for name in names {
        sql += name;
        sql += ", ";
    }
    sql += "pragmark_source HIDDEN)";
    CString::new(sql)
}

unsafe extern "C" fn disconnect(table: *mut Table) -> c_int {
    // SAFETY: made by `connect` and not used again.
    drop(unsafe { Box::from_raw(table) });
    api::OK
}

/// Asks for the parameter. A plan in which its value is not known yet is refused; a table without a
/// parameter cannot be read.
unsafe extern "C" fn best_index(table: *mut Table, info: *mut IndexInfo) -> c_int {
    // SAFETY: the table is one of `connect`'s, and SQLite gives a valid record for the call.
    let (info, parameter) = unsafe { (&mut *info, (*table).columns) };
    info.cost = 1.0;
    for number in 0..info.constraints as usize {
        // SAFETY: there are as many constraints and usages as it says.
        let (constraint, usage) =
            unsafe { (&*info.constraint.add(number), &mut *info.usage.add(number)) };
        let is_parameter =
            constraint.column as usize == parameter && constraint.operator == api::CONSTRAINT_EQUAL;
        if !is_parameter {
            continue;
        }
        if constraint.usable == 0 {
            return api::CONSTRAINT;
        }
        usage.argument = 1;
        usage.omit = 1;
        info.number = 1;
        info.cost = 1e5;
        break;
    }
    api::OK
}

unsafe extern "C" fn open(table: *mut Table, cursor: *mut *mut Cursor) -> c_int {
    // SAFETY: the table is one of `connect`'s.
    let (api, columns) = unsafe { ((*table).api, (*table).columns) };
    let made =
        Box::new(Cursor { table, api, columns, batch: None, stream: None, row: 0, before: 0 });
    // SAFETY: SQLite gives a valid pointer.
    unsafe { *cursor = Box::into_raw(made) };
    api::OK
}

unsafe extern "C" fn close(cursor: *mut Cursor) -> c_int {
    // SAFETY: made by `open` and not used again.
    drop(unsafe { Box::from_raw(cursor) });
    api::OK
}

unsafe extern "C" fn filter(
    cursor: *mut Cursor,
    plan: c_int,
    _text: *const c_char,
    count: c_int,
    arguments: *mut *mut api::Value,
) -> c_int {
    // SAFETY: the cursor is one of `open`'s, which SQLite uses from one thread at a time.
    let cursor = unsafe { &mut *cursor };
    cursor.batch = None;
    cursor.stream = None;
    cursor.row = 0;
    cursor.before = 0;
    if plan != 1 || count != 1 {
        return cursor.answer(Err(NOTHING.to_owned()));
    }
    // SAFETY: there is one argument, which is the value bound.
    let begun = unsafe { cursor.begin(*arguments) };
    cursor.answer(begun)
}

impl Cursor {
    /// Begins to read what is bound.
    ///
    /// # Safety
    /// What is bound under the two type names must be what they say, as the caller has promised.
    unsafe fn begin(&mut self, bound: *mut api::Value) -> Result<(), String> {
        // SAFETY: the value is valid for the call. By its type name, a pointer is a batch or a stream.
        unsafe {
            let batch = (self.api.value_pointer)(bound, BATCH.as_ptr()).cast::<RecordBatch>();
            if !batch.is_null() {
                if (*batch).schema.is_null() || (*batch).array.is_null() {
                    return Err("the record batch has no schema or no array".to_owned());
                }
                self.batch = Some(Rows::of(&*(*batch).schema, &*(*batch).array)?);
                return Ok(());
            }
            let stream =
                (self.api.value_pointer)(bound, STREAM.as_ptr()).cast::<ArrowArrayStream>();
            if !stream.is_null() {
                self.stream = Some(Stream::open(stream)?);
                return self.next_batch();
            }
        }
        // SQLite does not say whether a pointer of another type is bound, a value, or nothing.
        Err(NOTHING.to_owned())
    }

    /// Advances to the next batch with rows, if there is one.
    fn next_batch(&mut self) -> Result<(), String> {
        loop {
            // It refers to the stream's batch, which is released when the next one comes.
            self.before += self.batch.take().map_or(0, |batch| batch.rows as i64);
            self.row = 0;
            let Some(stream) = &mut self.stream else { return Ok(()) };
            self.batch = stream.next()?;
            if self.batch.as_ref().is_none_or(|batch| batch.rows > 0) {
                return Ok(());
            }
        }
    }

    /// Returns the result code, with the message where SQLite looks for it.
    fn answer(&mut self, result: Result<(), String>) -> c_int {
        let Err(reason) = result else { return api::OK };
        let message = self.api.text(&format!("pragmark_columns: {reason}"));
        // SAFETY: the table outlives its cursors; SQLite frees the message by its own function, and so
        // has to be done with an older one.
        unsafe {
            let table = &mut *self.table;
            (self.api.free)(table.message.cast());
            table.message = message;
        }
        if message.is_null() { api::NO_MEMORY } else { api::ERROR }
    }

    /// Returns the value in the row under the cursor.
    fn value(&self, number: usize) -> Result<Value<'_>, String> {
        let Some(batch) = &self.batch else { return Ok(Value::Null) };
        let column = batch.columns.get(number).ok_or_else(|| {
            format!(
                "pragmark_columns: there is no column {number}; the batch has {}, numbered from 0",
                batch.columns.len()
            )
        })?;
        // SAFETY: the row is within the batch, which is there as long as the cursor has it.
        unsafe { column.value(self.row) }
            .map_err(|reason| format!("pragmark_columns: column {number}: {reason}"))
    }
}

unsafe extern "C" fn next(cursor: *mut Cursor) -> c_int {
    // SAFETY: as in `filter`, here and below.
    let cursor = unsafe { &mut *cursor };
    cursor.row += 1;
    if cursor.batch.as_ref().is_some_and(|batch| cursor.row < batch.rows) {
        return api::OK;
    }
    let moved = cursor.next_batch();
    cursor.answer(moved)
}

unsafe extern "C" fn eof(cursor: *mut Cursor) -> c_int {
    // SAFETY: as in `filter`.
    let cursor = unsafe { &*cursor };
    c_int::from(cursor.batch.as_ref().is_none_or(|batch| cursor.row >= batch.rows))
}

unsafe extern "C" fn column(cursor: *mut Cursor, context: *mut Context, number: c_int) -> c_int {
    // SAFETY: as in `filter`.
    let cursor = unsafe { &*cursor };
    let api = &cursor.api;
    let number = number as usize;
    // The hidden parameter is not for reading.
    let value = if number < cursor.columns { cursor.value(number) } else { Ok(Value::Null) };
    // A batch that is bound stays until the statement lets go of it; one of a stream is released when
    // the next one comes, while SQLite may still hold a value of it.
    let lifetime = if cursor.stream.is_some() { api::TRANSIENT } else { api::STATIC };
    // SAFETY: SQLite gives a valid context, and the bytes live as long as the lifetime says; those written
    // for it are copied.
    unsafe {
        match value {
            Ok(Value::Null) => (api.result_null)(context),
            Ok(Value::Integer(value)) => (api.result_int64)(context, value),
            Ok(Value::Real(value)) => (api.result_double)(context, value),
            Ok(Value::Text(text)) => {
                let length = text.len() as u64;
                (api.result_text)(context, text.as_ptr().cast(), length, lifetime, api::UTF_8);
            }
            Ok(Value::Written(text)) => {
                let (bytes, length) = (text.as_ptr().cast(), text.len() as u64);
                (api.result_text)(context, bytes, length, api::TRANSIENT, api::UTF_8);
            }
            Ok(Value::Blob(bytes)) => {
                let length = bytes.len() as u64;
                (api.result_blob)(context, bytes.as_ptr().cast(), length, lifetime);
            }
            Err(reason) => {
                let length = c_int::try_from(reason.len()).unwrap_or(c_int::MAX);
                (api.result_error)(context, reason.as_ptr().cast(), length);
            }
        }
    }
    api::OK
}

unsafe extern "C" fn rowid(cursor: *mut Cursor, rowid: *mut i64) -> c_int {
    // SAFETY: as in `filter`; SQLite gives a valid pointer.
    unsafe { *rowid = (*cursor).before + (*cursor).row as i64 + 1 };
    api::OK
}
