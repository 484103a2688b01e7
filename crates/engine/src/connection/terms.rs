//! The terms that SQLite's planner offers to an index, learned from the planner itself: every table is declared a virtual
//! one, whose `xBestIndex` notes the questions that it is asked (<https://sqlite.org/vtab.html#xbestindex>). SQLite's shell
//! learns them the same way for `.expert`. Names, aliases, views and subqueries are so resolved by SQLite's own rules.

use super::Connection;
use crate::error::{Result, unsupported};
use crate::ffi::{self, Api};
use crate::handle::DatabaseHandle;
use crate::text::{c_string, copied};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::rc::Rc;

/// A question of the planner: what an index of the table could be used for, in one of the orders of the tables.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// The table.
    pub table: String,
    /// Terms of the form `column operator value` whose value is known by then.
    pub terms: Vec<Term>,
    /// The columns of the order that is wanted, each with whether it is descending.
    pub order: Vec<(usize, bool)>,
    /// The columns that the statement reads, a bit for each; the last bit stands for all from the 64th on.
    pub read: u64,
}

/// A comparison of a column with a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// The number of the column, from 0.
    pub column: usize,
    /// Its kind.
    pub kind: TermKind,
    /// The collation of the comparison.
    pub collation: String,
}

/// Kinds of comparisons that an index can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermKind {
    /// `=`, `IN`, `IS` or `IS NULL`.
    Equal,
    /// `<`, `<=`, `>` or `>=`.
    Range,
    /// `LIKE` or `GLOB`.
    Pattern,
}

/// The name of the module.
const MODULE: &str = "pragmark_terms";

/// `sqlite3_index_info` with the fields that came with SQLite 3.10.
#[repr(C)]
struct IndexInfo {
    base: ffi::sqlite3_index_info,
    flags: c_int,
    read: u64,
}

/// A term of the wanted order (`struct sqlite3_index_orderby`).
#[repr(C)]
struct OrderBy {
    column: c_int,
    descending: u8,
}

/// Data of the module, owned by SQLite from registration until the connection closes.
struct Module {
    methods: ffi::sqlite3_module,
    declare: unsafe extern "C" fn(*mut ffi::sqlite3, *const c_char) -> c_int,
    collation: unsafe extern "C" fn(*mut ffi::sqlite3_index_info, c_int) -> *const c_char,
    notes: Rc<RefCell<Vec<Question>>>,
}

#[repr(C)]
struct Table {
    base: ffi::sqlite3_vtab,
    module: *const Module,
    name: String,
}

/// A schema without rows whose tables note the planner's questions.
pub struct Questions {
    connection: Connection,
    notes: Rc<RefCell<Vec<Question>>>,
}

impl Questions {
    /// Begins a schema in a connection that serves nothing else.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`](crate::EngineError::Unsupported) for SQLite before 3.22.
    pub fn new(connection: Connection) -> Result<Questions> {
        let notes = Rc::new(RefCell::new(Vec::new()));
        register(&connection.handle, Rc::clone(&notes))?;
        Ok(Questions { connection, notes })
    }

    /// Adds a table with these columns, each as in `CREATE TABLE`: name, type and collation.
    ///
    /// # Errors
    /// SQLite's.
    pub fn add_table(&self, name: &str, columns: &[String]) -> Result<()> {
        let name = name.replace('"', "\"\"");
        let columns = columns.join(", ");
        self.connection
            .execute(&format!("CREATE VIRTUAL TABLE \"{name}\" USING {MODULE}({columns})"))
    }

    /// Adds a view or a trigger.
    ///
    /// # Errors
    /// SQLite's.
    pub fn add(&self, sql: &str) -> Result<()> {
        self.connection.execute(sql)
    }

    /// Returns the questions that the planner asks for a statement, each once.
    ///
    /// # Errors
    /// SQLite's, such as for a function that only the application has.
    pub fn of(&self, sql: &str) -> Result<Vec<Question>> {
        self.notes.borrow_mut().clear();
        self.connection.prepare(sql)?;
        let mut questions = self.notes.take();
        questions.sort();
        questions.dedup();
        Ok(questions)
    }
}

fn register(database: &DatabaseHandle, notes: Rc<RefCell<Vec<Question>>>) -> Result<()> {
    let api: &Api = database.api();
    let missing = || unsupported("questions of the planner", "sqlite3_vtab_collation");
    let create = api.create_module_v2.ok_or(missing())?;
    let module = Box::into_raw(Box::new(Module {
        methods: METHODS,
        declare: api.declare_vtab.ok_or(missing())?,
        collation: api.vtab_collation.ok_or(missing())?,
        notes,
    }));
    let name = c_string(MODULE, "name of the module")?;
    // SAFETY: the handle is open, the name a C string; SQLite owns the module from here on and frees it by `destroy_module`,
    // even if registering fails. The methods are part of the module.
    let code = unsafe {
        let methods = &raw const (*module).methods;
        create(database.as_ptr(), name.as_ptr(), methods, module.cast(), Some(destroy_module))
    };
    database.check(code, "making a virtual table")
}

/// The methods of a table that can be planned with and written to, and has no rows: its cursors are never opened.
const METHODS: ffi::sqlite3_module = {
    let mut methods = ffi::sqlite3_module {
        xCreate: Some(connect),
        xConnect: Some(connect),
        xBestIndex: Some(best_index),
        xDisconnect: Some(disconnect),
        xDestroy: Some(disconnect),
        ..ffi::sqlite3_module::EMPTY
    };
    // `xUpdate`: the planner refuses to write to a table without it, and nothing calls it.
    methods.others[0] = Some(never_called);
    methods
};

unsafe extern "C" fn never_called() {}

unsafe extern "C" fn destroy_module(module: *mut c_void) {
    // SAFETY: made by `Box::into_raw` at registration; SQLite calls this once, as the last.
    drop(unsafe { Box::from_raw(module.cast::<Module>()) });
}

/// Declares the table: the arguments are the names of module, database and table, then the columns.
unsafe extern "C" fn connect(
    database: *mut ffi::sqlite3,
    module: *mut c_void,
    arguments: c_int,
    argument: *const *const c_char,
    table: *mut *mut ffi::sqlite3_vtab,
    _message: *mut *mut c_char,
) -> c_int {
    let module: *const Module = module.cast();
    let text = |number: usize| {
        // SAFETY: there are `arguments` C strings.
        unsafe { copied(*argument.add(number)) }.unwrap_or_default()
    };
    let columns: Vec<String> = (3..arguments as usize).map(text).collect();
    let declaration = CString::new(format!("CREATE TABLE x({})", columns.join(", ")));
    let declaration = declaration.unwrap_or_default();
    // SAFETY: SQLite gives the module registered, which lives as long as the connection.
    let code = unsafe { ((*module).declare)(database, declaration.as_ptr()) };
    if code != ffi::SQLITE_OK {
        return code;
    }
    let base =
        ffi::sqlite3_vtab { pModule: std::ptr::null(), nRef: 0, zErrMsg: std::ptr::null_mut() };
    let made = Box::new(Table { base, module, name: text(2) });
    // SAFETY: SQLite gives a valid pointer; the record begins with the base, and SQLite fills it in.
    unsafe { *table = Box::into_raw(made).cast() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn disconnect(table: *mut ffi::sqlite3_vtab) -> c_int {
    // SAFETY: made by `connect` and not used again.
    drop(unsafe { Box::from_raw(table.cast::<Table>()) });
    ffi::SQLITE_OK
}

/// Notes the question, and answers as an index of the equal terms would.
unsafe extern "C" fn best_index(
    table: *mut ffi::sqlite3_vtab,
    info: *mut ffi::sqlite3_index_info,
) -> c_int {
    // SAFETY: the table is one of `connect`'s, its module lives as long as the connection, and SQLite of at least 3.22,
    // which `register` demands, gives a record with the later fields.
    let (table, module, info) = unsafe {
        let table = &*table.cast::<Table>();
        (table, &*table.module, &mut *info.cast::<IndexInfo>())
    };
    let mut terms = Vec::new();
    let mut equal = 0;
    for number in 0..info.base.nConstraint as usize {
        // SAFETY: there are `nConstraint` constraints, and as many usages.
        let (constraint, usage) = unsafe {
            (&*info.base.aConstraint.add(number), &mut *info.base.aConstraintUsage.add(number))
        };
        let (Some(kind), Ok(column)) = (kind(constraint.op), usize::try_from(constraint.iColumn))
        else {
            continue;
        };
        if constraint.usable == 0 {
            continue;
        }
        if kind == TermKind::Equal {
            equal += 1;
            usage.argvIndex = equal;
        }
        // SAFETY: SQLite gives a C string for each of its constraints.
        let collation = unsafe { copied((module.collation)(&raw mut info.base, number as c_int)) };
        terms.push(Term { column, kind, collation: collation.unwrap_or_default() });
    }
    terms.sort();
    terms.dedup();
    let order = (0..info.base.nOrderBy as usize).filter_map(|number| {
        // SAFETY: there are `nOrderBy` terms.
        let term = unsafe { &*info.base.aOrderBy.cast::<OrderBy>().add(number) };
        Some((usize::try_from(term.column).ok()?, term.descending != 0))
    });
    let order = order.collect();
    info.base.estimatedCost = 1e6 / f64::from(equal + 1);
    info.base.estimatedRows = 1_000_000 >> (3 * equal).min(20);
    let question = Question { table: table.name.clone(), terms, order, read: info.read };
    module.notes.borrow_mut().push(question);
    ffi::SQLITE_OK
}

/// Returns the kind of an operator (<https://sqlite.org/c3ref/c_index_constraint_eq.html>).
fn kind(operator: u8) -> Option<TermKind> {
    match operator {
        // EQ, IS, ISNULL.
        2 | 71 | 72 => Some(TermKind::Equal),
        // GT, LE, LT, GE.
        4 | 8 | 16 | 32 => Some(TermKind::Range),
        // LIKE, GLOB.
        65 | 66 => Some(TermKind::Pattern),
        _ => None,
    }
}
