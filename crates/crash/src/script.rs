//! The actions on the databases while they are recorded: statements, and reopening in between.

use crate::error::{CrashError, Result};
use crate::settings::{CrashSettings, JournalMode};
use engine::{Connection, EngineError, Library, Step, Value};
use std::path::{Path, PathBuf};

/// One act of a workload.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // Variants describe their fields.
pub enum Action {
    /// Runs statements, which are whole transactions or parts of one, and begin on this line of the script; 0 in the built-in
    /// workload.
    Sql { sql: String, line: usize },
    /// Closes the connection and opens another one, with the same settings.
    Reopen,
    /// Ends the process in the middle of its work: files stay as they are, and a connection of another one opens them.
    Kill,
    /// Runs statements on another connection, by its number, to the same database, which is opened with the same settings first;
    /// `None` closes the connection.
    Other { who: u8, sql: Option<String> },
    /// Copies the database page by page over `copy.db`.
    Backup,
    /// Executes a recorded statement with its values.
    Execution(Execution),
    /// Overwrites bytes of a value, from this offset on, through a handle, without a statement.
    Blob { table: &'static str, column: &'static str, row: i64, offset: usize, bytes: Vec<u8> },
}

impl Action {
    /// Returns whether it is one of the built-in workload.
    pub(crate) fn is_built_in(&self) -> bool {
        !matches!(self, Action::Sql { line: 1.., .. } | Action::Execution(_))
    }

    /// Where it is in its script or trace.
    pub(crate) fn location(&self) -> String {
        match self {
            Action::Sql { line, .. } => format!("line {line}"),
            Action::Execution(execution) => execution.location.clone(),
            Action::Reopen => "reopening".to_owned(),
            Action::Kill => "the end of the process".to_owned(),
            Action::Backup => "a backup".to_owned(),
            Action::Other { who, sql } => {
                format!("connection {who}: {}", sql.as_deref().unwrap_or("closing"))
            }
            Action::Blob { table, row, .. } => format!("row {row} of {table}"),
        }
    }
}

/// An execution of a statement that was recorded, or of a script that was carried out before.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// The statement.
    pub sql: String,
    /// The values of its parameters, in order.
    pub values: Vec<Value>,
    /// The event of the trace (`event 12`) or the line of the script (`pay.sql:3`), for messages.
    pub location: String,
    /// Whether it failed before.
    pub fails: bool,
    /// The rows that it changed before.
    pub changes: i64,
}

impl Execution {
    /// Executes it to the end. Returns whether it changed as many rows as before.
    pub(crate) fn carry_out(&self, connection: &Connection) -> Result<bool, EngineError> {
        let before = connection.total_changes();
        let mut statement = connection.prepare(&self.sql)?;
        for (index, value) in (1..).zip(&self.values) {
            statement.bind_value(index, value)?;
        }
        while let Step::Row = statement.step()? {}
        Ok(connection.total_changes() - before == self.changes)
    }
}

/// A workload to record: its actions and their source.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The file, for messages; `None` for the built-in workload.
    pub path: Option<PathBuf>,
    /// The actions, in order.
    pub actions: Vec<Action>,
}

impl Script {
    /// Splits a script into statements where SQLite ends them.
    ///
    /// # Errors
    /// [`CrashError::Script`]; an engine without `sqlite3_complete`.
    pub fn parse(library: &Library, path: &Path, text: &str) -> Result<Script> {
        let mut actions = Vec::new();
        let (mut begin, mut from, mut line) = (0, 0, 1);
        while let Some(semicolon) = text[from..].find(';') {
            let end = from + semicolon + 1;
            if library.is_complete(&text[begin..end])? {
                actions.push(action(&text[begin..end], line));
                line += line_ends(&text[begin..end]);
                begin = end;
            }
            from = end;
        }
        let rest = &text[begin..];
        // A semicolon completes white space and comments, but no statement that has begun, unless it is
        // whole but for the semicolon.
        if !is_blank(rest) {
            if !library.is_complete(&format!("{rest}\n;"))? {
                return Err(CrashError::Script(format!(
                    "{}:{}: the statement that begins here is incomplete",
                    path.display(),
                    first_line(rest, line)
                )));
            }
            actions.push(action(rest, line));
        }
        Ok(Script { path: Some(path.to_owned()), actions })
    }

    /// Returns the built-in workload: creation, first commits, reopening, a transaction larger than the
    /// cache, ROLLBACK and savepoints, checkpoints of each mode, VACUUM, changes of the journal mode,
    /// transactions over attached databases, and a value of many pages. Every transaction leaves a content
    /// that none before it had.
    pub fn built_in(settings: &CrashSettings) -> Script {
        let mut script = Script { path: None, actions: Vec::new() };
        script.create();
        script.ordinary();
        script.actions.push(Action::Reopen);
        script.rollback(settings);
        script.larger_than_the_cache(settings);
        script.large_value();
        script.checkpoints(settings);
        script.vacuum();
        script.switch_modes(settings);
        script.actions.push(Action::Reopen);
        script.attached(settings);
        script.transaction("DELETE FROM item WHERE id > 20");
        script
    }

    fn sql(&mut self, sql: impl Into<String>) {
        self.actions.push(Action::Sql { sql: sql.into(), line: 0 });
    }

    /// One transaction of its own, which counts on.
    fn transaction(&mut self, sql: &str) {
        self.sql(format!("BEGIN; UPDATE state SET n = n + 1; {sql}; COMMIT"));
    }

    fn create(&mut self) {
        self.sql(
            "BEGIN;
             CREATE TABLE state(n INTEGER); INSERT INTO state VALUES (1);
             CREATE TABLE item(id INTEGER PRIMARY KEY, k INTEGER, v TEXT);
             CREATE INDEX item_k ON item(k);
             COMMIT",
        );
    }

    fn ordinary(&mut self) {
        self.transaction(&insert(1, 12, 60));
        self.transaction("INSERT INTO item(k, v) VALUES (7, 'one')");
        self.sql("UPDATE state SET n = n + 1");
        self.transaction(&insert(20, 40, 150));
        self.transaction("UPDATE item SET k = k + 1 WHERE id % 4 = 0");
        self.transaction("DELETE FROM item WHERE id BETWEEN 5 AND 8");
    }

    /// A transaction that is rolled back. Without a journal there is nothing to roll back from, and ROLLBACK
    /// is undefined (<https://sqlite.org/pragma.html#pragma_journal_mode>): even without a crash, no state
    /// would be a committed one.
    fn rolled_back(&mut self, settings: &CrashSettings, sql: &str) {
        if settings.journal_mode != JournalMode::Off {
            self.sql(format!("BEGIN; {sql}; ROLLBACK"));
        }
    }

    fn rollback(&mut self, settings: &CrashSettings) {
        self.rolled_back(settings, "DELETE FROM item; INSERT INTO item VALUES (9999, 1, 'never')");
        let back = match settings.journal_mode {
            JournalMode::Off => "",
            _ => "ROLLBACK TO s;",
        };
        self.transaction(&format!(
            "SAVEPOINT s; DELETE FROM item WHERE id % 2 = 0; {back}
             INSERT INTO item(k, v) VALUES (8, 'kept'); RELEASE s"
        ));
    }

    /// Ten thousand bytes are changed with a cache of three pages, in one transaction that is committed
    /// and one that is not.
    fn larger_than_the_cache(&mut self, settings: &CrashSettings) {
        self.sql("PRAGMA cache_size = 3");
        self.transaction(&insert(100, 170, 200));
        self.rolled_back(settings, "UPDATE item SET v = v || 'x', k = -k");
        self.transaction("UPDATE item SET v = substr(v, 1, 120), k = k + 100");
        self.sql("PRAGMA cache_size = 100");
    }

    fn large_value(&mut self) {
        self.transaction("INSERT INTO item VALUES (5000, 3, hex(zeroblob(9000)))");
        self.transaction("UPDATE item SET v = replace(v, '00', 'ab') WHERE id = 5000");
        self.transaction("DELETE FROM item WHERE id = 5000");
    }

    /// Checkpoints of each mode, with commits between them that begin the log anew, and then automatic
    /// ones. Without a write-ahead log only the commits are left.
    fn checkpoints(&mut self, settings: &CrashSettings) {
        for (number, mode) in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"].iter().enumerate() {
            if settings.journal_mode == JournalMode::Wal {
                self.sql(format!("PRAGMA wal_checkpoint({mode})"));
            }
            self.transaction(&format!("UPDATE item SET k = {number} WHERE id < 12"));
            self.transaction(&insert(200 + 10 * number, 204 + 10 * number, 90));
        }
        if settings.journal_mode == JournalMode::Wal {
            self.sql("PRAGMA wal_autocheckpoint = 6");
            for id in 120..124 {
                self.transaction(&format!("UPDATE item SET v = 'auto' WHERE id = {id}"));
            }
            self.sql("PRAGMA wal_autocheckpoint = 1000");
        }
    }

    fn vacuum(&mut self) {
        self.transaction("DELETE FROM item WHERE id BETWEEN 100 AND 150");
        self.sql("VACUUM");
        self.transaction("INSERT INTO item(k, v) VALUES (9, 'after VACUUM')");
    }

    /// Switches into the write-ahead log and back, or out of it and back. Transactions are committed only in
    /// the mode under test, because their promise depends on it.
    fn switch_modes(&mut self, settings: &CrashSettings) {
        let other = match settings.journal_mode {
            JournalMode::Wal => "delete",
            _ => "wal",
        };
        self.sql(format!("PRAGMA journal_mode = {other}"));
        self.sql(format!("PRAGMA journal_mode = {}", settings.journal_mode));
        self.transaction("INSERT INTO item(k, v) VALUES (10, 'after a change of mode')");
    }

    fn attached(&mut self, settings: &CrashSettings) {
        self.sql("ATTACH 'aux.db' AS aux");
        self.sql(format!("PRAGMA aux.page_size = {}", settings.page_size));
        self.sql(format!("PRAGMA aux.journal_mode = {}", settings.journal_mode));
        self.sql(format!("PRAGMA aux.synchronous = {}", settings.synchronous));
        self.transaction("CREATE TABLE aux.other(id INTEGER PRIMARY KEY, v TEXT)");
        for id in 1..4 {
            self.transaction(&format!(
                "INSERT INTO aux.other VALUES ({id}, 'both'); UPDATE item SET k = k + 1 WHERE id < 4"
            ));
        }
        self.rolled_back(settings, "DELETE FROM aux.other; DELETE FROM item");
        self.sql("DETACH aux");
    }
}

/// Inserts rows of `length` bytes with these ids.
fn insert(first: usize, last: usize, length: usize) -> String {
    format!(
        "WITH RECURSIVE n(i) AS (VALUES ({first}) UNION ALL SELECT i + 1 FROM n WHERE i < {last})
         INSERT INTO item SELECT i, i * 7919 % 101, printf('%0{length}d', i) FROM n"
    )
}

/// Returns a statement with the white space around it, which begins on that line.
fn action(text: &str, line: usize) -> Action {
    Action::Sql { sql: text.trim().to_owned(), line: first_line(text, line) }
}

/// Returns the line of the first word of a text that begins on that line.
fn first_line(text: &str, line: usize) -> usize {
    let blank = text.len() - text.trim_start().len();
    line + line_ends(&text[..blank])
}

fn line_ends(text: &str) -> usize {
    text.matches('\n').count()
}

/// Returns whether there is nothing but white space and comments.
fn is_blank(text: &str) -> bool {
    let text = text.trim_start();
    for (start, end) in [("--", "\n"), ("/*", "*/")] {
        if let Some(comment) = text.strip_prefix(start) {
            return comment.split_once(end).is_none_or(|(_, rest)| is_blank(rest));
        }
    }
    text.is_empty()
}
