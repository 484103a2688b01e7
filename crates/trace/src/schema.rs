//! The tables of a trace.
//!
//! A column is left at 0 or NULL where there is nothing to say, because that takes no space. Executions that did the
//! same share a row of `counters`, and an array of values is stored without its brackets, a single whole number as
//! a number: a fifth of the size. Readers use the view `event`, where an execution has all its columns. The document
//! on recording (`docs/recording.md`) describes them for users.

use engine::{EngineError, Statement, Value};

/// The format of traces that this version writes and reads.
pub const FORMAT: i64 = 5;

/// SQLite's `application_id` of a trace: `prgt`.
pub const APPLICATION_ID: i64 = 0x7072_6774;

/// The bits of `event.state`.
pub mod state {
    /// The first execution since the statement was prepared.
    pub const PREPARED: i64 = 1;
    /// The application stopped before the last row.
    pub const EARLY: i64 = 2;
    /// The connection was outside of `BEGIN` and `COMMIT` afterwards.
    pub const AUTOCOMMIT: i64 = 4;
    /// Two bits: after the statement the transaction had 0 no lock, 1 read, 2 written, 3 not known.
    pub const TRANSACTION: i64 = 24;
    /// By how many bits they are shifted.
    pub const TRANSACTION_SHIFT: u32 = 3;
}

/// The beginning of the name of an in-memory database that several connections share; the connection that opened it
/// follows.
const SHARED_MEMORY: &str = ":memory:";

/// Returns the name of the database in memory that a connection has opened and others share.
pub(crate) fn shared_memory(opened_by: i64) -> String {
    format!("{SHARED_MEMORY}{opened_by}")
}

/// Returns whether a database of a trace was in memory, or temporary: it has no name, or the name of a shared one.
pub fn is_in_memory(database: &str) -> bool {
    database.is_empty() || database.starts_with(SHARED_MEMORY)
}

/// Returns the name of the database that has a path in a trace, after this many others that had it before.
pub(crate) fn later_database(path: &str, before: usize) -> String {
    if before == 0 { path.to_owned() } else { format!("{path} ({})", before + 1) }
}

/// Returns the path of a database of a trace, without the number of one whose path others had before.
pub fn path_of(database: &str) -> &str {
    let numbered = database.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    let is_number = |text: &str| text.parse::<usize>().is_ok();
    numbered.filter(|(_, number)| is_number(number)).map_or(database, |(path, _)| path)
}

/// Creates the tables.
pub(crate) const TABLES: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE process(id INTEGER PRIMARY KEY, pid INTEGER, parent_pid INTEGER, program TEXT, arguments TEXT,
  ended INTEGER NOT NULL DEFAULT 0);
CREATE TABLE library(process INTEGER, number INTEGER, version TEXT, source_id TEXT, path TEXT, door TEXT,
  exact_values INTEGER, results INTEGER, PRIMARY KEY (process, number)) WITHOUT ROWID;
CREATE TABLE note(process INTEGER, code INTEGER, words TEXT);
CREATE TABLE connection(id INTEGER PRIMARY KEY, process INTEGER, library INTEGER, database TEXT, vfs TEXT,
  readonly INTEGER, inherited INTEGER, opened_us INTEGER, closed_us INTEGER);
CREATE TABLE setting(connection INTEGER, name TEXT, value TEXT, PRIMARY KEY (connection, name)) WITHOUT ROWID;
CREATE TABLE normalised(id INTEGER PRIMARY KEY, sql TEXT);
CREATE TABLE statement(id INTEGER PRIMARY KEY, normalised INTEGER, readonly INTEGER, sql TEXT);
CREATE TABLE execution(id INTEGER PRIMARY KEY, connection INTEGER, statement INTEGER, start_us INTEGER,
  duration_ns INTEGER, ticket INTEGER, counters INTEGER, \"values\");
CREATE TABLE counters(id INTEGER PRIMARY KEY, rows INTEGER, changes INTEGER, result INTEGER, vm_steps INTEGER,
  scan_steps INTEGER, sorts INTEGER, automatic_index_rows INTEGER, waited_ns INTEGER, state INTEGER);
CREATE VIEW event AS SELECT execution.id, connection, statement, start_us, duration_ns, rows, changes, result,
  vm_steps, scan_steps, sorts, automatic_index_rows, waited_ns, ticket, state, '[' || \"values\" || ']' AS \"values\"
  FROM execution LEFT JOIN counters ON counters.id = execution.counters;
CREATE TABLE further_commit(ticket INTEGER PRIMARY KEY, event INTEGER);
CREATE TABLE blob(id INTEGER PRIMARY KEY, content);
CREATE TABLE snapshot(id INTEGER PRIMARY KEY, database TEXT, state TEXT, result INTEGER);
CREATE TABLE snapshot_part(snapshot INTEGER, part INTEGER, content BLOB, PRIMARY KEY (snapshot, part));
CREATE TABLE end_state(database TEXT, name TEXT, rows INTEGER, checksum TEXT, problem TEXT);
";

/// Executes a prepared statement with these values.
pub(crate) fn run(statement: &mut Statement<'_, '_>, values: &[Value]) -> Result<(), EngineError> {
    for (index, value) in (1..).zip(values) {
        statement.bind_value(index, value)?;
    }
    statement.run()
}
