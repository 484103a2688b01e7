//! The compile options of the default engine: the one list from which both the compile command and
//! the documentation come.
//!
//! It stands apart because the build script includes this file too; it may therefore use nothing but
//! the standard library. Everything not listed keeps the value a stock build of SQLite has
//! (<https://sqlite.org/compile.html>).

/// One option given to the C compiler when the default engine is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileOption {
    /// The name with its `SQLITE_` prefix, as `-D` takes it.
    pub name: &'static str,
    /// The value after `=`, where the option takes one.
    pub value: Option<&'static str>,
    /// What it brings, in one line.
    pub meaning: &'static str,
}

impl CompileOption {
    /// The argument for the C compiler, for example `-DSQLITE_THREADSAFE=1`.
    pub fn define(&self) -> String {
        match self.value {
            Some(value) => format!("-D{}={value}", self.name),
            None => format!("-D{}", self.name),
        }
    }
}

const fn on(name: &'static str, meaning: &'static str) -> CompileOption {
    CompileOption {
        name,
        value: None,
        meaning,
    }
}

/// The optimisation level of the default engine, whatever the profile pragmark itself is built with:
/// what is measured must not depend on how the laboratory was built.
pub const OPTIMISATION: &str = "-O2";

/// The options of the default engine (<https://sqlite.org/compile.html>).
pub const COMPILE_OPTIONS: &[CompileOption] = &[
    CompileOption {
        name: "SQLITE_THREADSAFE",
        value: Some("1"),
        meaning: "serialised threading mode, which is SQLite's own default",
    },
    on(
        "SQLITE_ENABLE_CARRAY",
        "carray(): arrays of the program as tables",
    ),
    on("SQLITE_ENABLE_FTS5", "full-text search, version 5"),
    on("SQLITE_ENABLE_RTREE", "R*Tree index"),
    on(
        "SQLITE_ENABLE_MATH_FUNCTIONS",
        "sqrt(), ln(), pow() and the like in SQL",
    ),
    on(
        "SQLITE_ENABLE_COLUMN_METADATA",
        "origin of result columns; some bindings need it",
    ),
    on(
        "SQLITE_ENABLE_DBPAGE_VTAB",
        "sqlite_dbpage: raw pages as a table",
    ),
    on("SQLITE_ENABLE_DBSTAT_VTAB", "dbstat: space used, by page"),
    on(
        "SQLITE_ENABLE_STMTVTAB",
        "sqlite_stmt: prepared statements as a table",
    ),
    on(
        "SQLITE_ENABLE_BYTECODE_VTAB",
        "bytecode(): the program of a statement as a table",
    ),
];
