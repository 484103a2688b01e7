//! How the default engine is compiled: the one list of options and flags from which the build script,
//! the engines that are built at run time, and the documentation come.
//!
//! It stands apart because build scripts include this file too; it may therefore use nothing but
//! the standard library. Everything not listed keeps the value a stock build of SQLite has
//! (<https://sqlite.org/compile.html>).

/// One option given to the C compiler when an engine is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileOption {
    /// The name with its `SQLITE_` prefix, as `-D` takes it.
    pub name: &'static str,
    /// The value after `=`, where the option takes one.
    pub value: Option<&'static str>,
    /// The effect, in one line.
    pub meaning: &'static str,
}

impl CompileOption {
    /// Returns the argument for the C compiler, for example `-DSQLITE_THREADSAFE=1`.
    pub fn define(&self) -> String {
        match self.value {
            Some(value) => format!("-D{}={value}", self.name),
            None => format!("-D{}", self.name),
        }
    }
}

/// Returns an option without a value.
pub(crate) const fn on(name: &'static str, meaning: &'static str) -> CompileOption {
    CompileOption { name, value: None, meaning }
}

/// The optimisation level of the default engine, whatever the profile pragmark itself is built with: the
/// measured library must not depend on how the laboratory was built.
pub const OPTIMISATION: &str = "-O2";

/// The flags of every engine in addition to its optimisation level: position-independent code, as
/// a shared library needs, and a section for each function and variable, as the build script's compiler
/// wrapper requests.
pub const COMMON_FLAGS: &[&str] = &["-fPIC", "-ffunction-sections", "-fdata-sections"];

/// Flags for compilers that know them. With `-Bsymbolic`, and with a compiler that may assume that no
/// function is replaced from outside and that the C library is called without stubs, inserting through the shared
/// library costs what it costs through a static link (0.997, median of 40 pairs); without these two it
/// was 1.05.
pub const WHERE_SUPPORTED: &[&str] = &["-fno-plt", "-fno-semantic-interposition"];

/// The options that the engine of explanations has besides: it counts rows and cycles of each loop. As compiled in, this
/// costs 7 % of all instructions, so nothing is timed with that engine.
pub const SCAN_STATUS: CompileOption = on(
    "SQLITE_ENABLE_STMT_SCANSTATUS",
    "rows, executions and cycles of each loop of a statement (sqlite3_stmt_scanstatus_v2)",
);

/// The optimisation level of the engine of explanations, which is compiled in a third of the time.
pub const SCAN_STATUS_OPTIMISATION: &str = "-O1";

/// Returns the linker arguments that make a shared library of compiled SQLite on this operating system
/// (`std::env::consts::OS`).
///
/// `-Bsymbolic` keeps SQLite's internal calls inside the library even if another SQLite is already in the
/// process; macOS binds that way by itself (two-level namespaces).
pub fn link_arguments(system: &str) -> &'static [&'static str] {
    match system {
        "macos" => &["-dynamiclib", "-Wl,-x"],
        "linux" => &["-shared", "-Wl,-Bsymbolic", "-s", "-lm", "-lpthread", "-ldl"],
        _ => &["-shared", "-Wl,-Bsymbolic", "-s", "-lm", "-lpthread"],
    }
}

/// The options of the default engine (<https://sqlite.org/compile.html>).
pub const COMPILE_OPTIONS: &[CompileOption] = &[
    CompileOption {
        name: "SQLITE_THREADSAFE",
        value: Some("1"),
        meaning: "serialised threading mode, which is SQLite's own default",
    },
    on("SQLITE_ENABLE_CARRAY", "carray(): arrays of the program as tables"),
    on("SQLITE_ENABLE_FTS5", "full-text search, version 5"),
    on("SQLITE_ENABLE_RTREE", "R*Tree index"),
    on("SQLITE_ENABLE_MATH_FUNCTIONS", "sqrt(), ln(), pow() and the like in SQL"),
    on("SQLITE_ENABLE_COLUMN_METADATA", "origin of result columns; some bindings need it"),
    on("SQLITE_ENABLE_DBPAGE_VTAB", "sqlite_dbpage: raw pages as a table"),
    on("SQLITE_ENABLE_DBSTAT_VTAB", "dbstat: space used, by page"),
    on("SQLITE_ENABLE_STMTVTAB", "sqlite_stmt: prepared statements as a table"),
    on("SQLITE_ENABLE_BYTECODE_VTAB", "bytecode(): the program of a statement as a table"),
];
