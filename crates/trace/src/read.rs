//! Reads a trace.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{
    Connection as Database, EngineError, Library, OpenFlags, SqliteError, Statement, Step, Value,
    ffi,
};
use twox_hash::XxHash3_64;

use crate::analysis::{Analyser, Analysis, ConnectionSettings, Event, Holders, Normalised, Pins};
use crate::content::Table;
use crate::schema::{APPLICATION_ID, FORMAT, is_in_memory, state as bits};
use crate::{Result, TraceError};

/// A trace.
pub struct Trace {
    pub(crate) database: Database,
    path: PathBuf,
}

/// Facts about the whole trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// When recording began, in nanoseconds since 1970.
    pub started_ns: i64,
    /// From the beginning to the end of the last statement, in microseconds.
    pub duration_us: i64,
    /// Whether texts and blobs were hashed.
    pub redacted: bool,
    /// Statements.
    pub events: i64,
    /// Commits that were begun.
    pub tickets: i64,
    /// Bytes of the recording that could not be read.
    pub unreadable_bytes: i64,
    /// Whether some process stopped recording before it ended.
    pub lost: bool,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number in the trace.
    pub id: i64,
    /// Its id in the system.
    pub pid: i64,
    /// Its program.
    pub program: String,
    /// Its arguments, as a JSON array.
    pub arguments: String,
    /// Whether its end was recorded: a process that is killed has none.
    pub ended: bool,
    /// The versions of SQLite that it used.
    pub versions: String,
    /// Whether all bound values were recorded exactly.
    pub exact_values: bool,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its number.
    pub id: i64,
    /// Its process.
    pub process: i64,
    /// Its database; empty for one in memory.
    pub database: String,
    /// Whether it cannot write.
    pub readonly: bool,
    /// When it was opened, in microseconds since recording began.
    pub opened_us: i64,
    /// When it was closed.
    pub closed_us: Option<i64>,
}

/// A setting as read back when a connection was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The PRAGMA.
    pub name: String,
    /// Its value.
    pub value: String,
    /// How many connections had it.
    pub connections: i64,
}

/// Something to know about a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The kind of note: 1 a library that cannot be recorded, 2 a callback that the program replaced, 3 a key was set,
    /// 4 a library that is too old.
    pub code: i64,
    /// The file that it is about.
    pub words: String,
}

impl Note {
    /// The program has replaced the recorder's callback, so statements are missing.
    pub const REPLACED: i64 = 2;
}

/// The state of a database when it was first opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its number.
    pub id: i64,
    /// The database.
    pub database: String,
    /// `taken`, `empty` for a new database, `failed` or `skipped`.
    pub state: String,
    /// SQLite's result code if it failed.
    pub result: Option<i64>,
}

/// The text of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The number of the statement.
    pub id: i64,
    /// The number of its normalised text.
    pub normalised: i64,
    /// The SQL.
    pub sql: String,
}

/// A database at the end of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndOfDatabase {
    /// The database.
    pub database: String,
    /// Its tables, or why they are not known.
    pub tables: Result<Vec<Table>, String>,
}

impl Trace {
    /// Opens a trace for reading.
    ///
    /// # Errors
    /// When the file cannot be read, is not a trace, has another format, or was not sealed to the end.
    pub fn open(library: &Arc<Library>, path: &Path) -> Result<Trace> {
        let exists = std::fs::metadata(path);
        exists.map_err(|source| TraceError::File { path: path.to_owned(), source })?;
        let not_a_trace = |error: EngineError| match error.as_sqlite().map(SqliteError::primary) {
            Some(ffi::SQLITE_CORRUPT) => TraceError::Damaged(path.to_owned()),
            _ => TraceError::NotATrace(path.to_owned()),
        };
        let database =
            Database::open(library, path, OpenFlags::READ_ONLY, None).map_err(not_a_trace)?;
        let number = |sql| database.query_i64(sql).map_err(not_a_trace);
        if number("PRAGMA application_id")? != APPLICATION_ID {
            return Err(TraceError::NotATrace(path.to_owned()));
        }
        let found = number("PRAGMA user_version")?;
        if found != FORMAT {
            return Err(TraceError::Format { path: path.to_owned(), found });
        }
        let is_whole = database.query_i64("SELECT count(*) FROM meta").is_ok_and(|facts| facts > 0);
        if !is_whole {
            return Err(TraceError::Incomplete(path.to_owned()));
        }
        Ok(Trace { database, path: path.to_owned() })
    }

    pub(crate) fn named<T>(&self, result: Result<T, EngineError>) -> Result<T> {
        result.map_err(|source| TraceError::Database { path: self.path.clone(), source })
    }

    pub(crate) fn rows<T>(&self, sql: &str, row: impl Fn(&[Value]) -> T) -> Result<Vec<T>> {
        let rows = self.named(self.database.query_all(sql))?;
        Ok(rows.iter().map(|values| row(values)).collect())
    }

    /// Returns facts about the whole trace.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn meta(&self) -> Result<Meta> {
        let facts =
            self.rows("SELECT name, value FROM meta", |row| (text(&row[0]), integer(&row[1])))?;
        let fact = |name: &str| {
            facts.iter().find(|(known, _)| known == name).map_or(0, |(_, value)| *value)
        };
        Ok(Meta {
            started_ns: fact("started_ns"),
            duration_us: fact("duration_us"),
            redacted: fact("redacted") != 0,
            events: fact("events"),
            unreadable_bytes: fact("unreadable_bytes"),
            tickets: fact("tickets"),
            lost: facts.iter().any(|(name, value)| name.starts_with("lost_") && *value != 0),
        })
    }

    /// Returns the processes that used SQLite.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn processes(&self) -> Result<Vec<Process>> {
        let sql = "SELECT id, pid, program, arguments, ended, \
                   (SELECT group_concat(DISTINCT version) FROM library WHERE process = process.id), \
                   (SELECT min(exact_values) FROM library WHERE process = process.id) FROM process ORDER BY id";
        self.rows(sql, |row| Process {
            id: integer(&row[0]),
            pid: integer(&row[1]),
            program: text(&row[2]),
            arguments: text(&row[3]),
            ended: integer(&row[4]) != 0,
            versions: text(&row[5]),
            exact_values: integer(&row[6]) != 0,
        })
    }

    /// Returns the connections.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn connections(&self) -> Result<Vec<Connection>> {
        let sql = "SELECT id, process, database, readonly, opened_us, closed_us FROM connection ORDER BY id";
        self.rows(sql, |row| Connection {
            id: integer(&row[0]),
            process: integer(&row[1]),
            database: text(&row[2]),
            readonly: integer(&row[3]) != 0,
            opened_us: integer(&row[4]),
            closed_us: optional(&row[5]),
        })
    }

    /// Returns the settings of connections when they were closed, by how many had them.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn settings(&self) -> Result<Vec<Setting>> {
        self.settings_of("true")
    }

    /// Returns the value of each setting that most connections to a database in a file had when they were closed; of
    /// values that equally many had, the first by name. These are the current settings of an application.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn most_common_settings_of_files(&self) -> Result<Vec<Setting>> {
        let mut settings = self.settings_of(
            "connection IN (SELECT id FROM connection WHERE database <> '' AND database NOT LIKE ':memory:%')",
        )?;
        settings.dedup_by(|later, first| later.name == first.name);
        Ok(settings)
    }

    fn settings_of(&self, which: &str) -> Result<Vec<Setting>> {
        let sql = format!(
            "SELECT name, value, count(*) FROM setting WHERE {which} AND name <> 'log_bytes' GROUP BY name, value
             ORDER BY name, count(*) DESC, value"
        );
        self.rows(&sql, |row| Setting {
            name: text(&row[0]),
            value: text(&row[1]),
            connections: integer(&row[2]),
        })
    }

    /// Returns the notes about processes, each once.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn notes(&self) -> Result<Vec<Note>> {
        self.rows("SELECT DISTINCT code, words FROM note ORDER BY code, words", |row| Note {
            code: integer(&row[0]),
            words: text(&row[1]),
        })
    }

    /// Returns the states of databases when they were first opened.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        self.rows("SELECT id, database, state, result FROM snapshot ORDER BY abs(id)", |row| {
            Snapshot {
                id: integer(&row[0]),
                database: text(&row[1]),
                state: text(&row[2]),
                result: optional(&row[3]),
            }
        })
    }

    /// Returns the snapshot that holds the contents of a database when recording began; `None` if it was new or in memory.
    ///
    /// # Errors
    /// When the trace cannot be read or lacks the contents.
    pub(crate) fn contents(&self, database: &str) -> Result<Option<i64>> {
        let snapshots = self.snapshots()?;
        let snapshot = snapshots.iter().find(|snapshot| snapshot.database == database);
        match snapshot.map(|snapshot| (snapshot.id, snapshot.state.as_str())) {
            Some((id, "taken")) => Ok(Some(id)),
            Some((_, "empty")) => Ok(None),
            None if is_in_memory(database) => Ok(None),
            _ => Err(TraceError::NoSnapshot(database.to_owned())),
        }
    }

    /// Returns the database of each connection.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn databases(&self) -> Result<HashMap<i64, String>> {
        let connections = self.connections()?.into_iter();
        Ok(connections.map(|connection| (connection.id, connection.database)).collect())
    }

    /// Writes a snapshot that was taken to a new file.
    ///
    /// # Errors
    /// When the trace cannot be read or its snapshot is not whole, or the file exists or cannot be written.
    pub fn restore(&self, snapshot: i64, path: &Path) -> Result<()> {
        let failed = |source| TraceError::File { path: path.to_owned(), source };
        let mut file = File::create_new(path).map_err(failed)?;
        let mut parts = self.named(
            self.database
                .prepare("SELECT content FROM snapshot_part WHERE snapshot = ? ORDER BY part"),
        )?;
        self.named(parts.bind_i64(1, snapshot))?;
        while self.named(parts.step())? == Step::Row {
            if let Value::Blob(content) = parts.column_value(0) {
                file.write_all(&content).map_err(failed)?;
            }
        }
        if is_whole(path).map_err(failed)? {
            Ok(())
        } else {
            Err(TraceError::TornSnapshot(self.path.clone()))
        }
    }

    /// Returns the text of a statement as the application wrote it; empty if the trace lacks it.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn statement(&self, id: i64) -> Result<String> {
        self.text_of("SELECT sql FROM statement WHERE id = ?", id)
    }

    /// Returns the values of an event as a JSON array; empty if it has none.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn values(&self, event: i64) -> Result<String> {
        self.text_of("SELECT \"values\" FROM event WHERE id = ?", event)
    }

    /// Returns a long value, to which the values of events refer by its number; NULL if the trace lacks it.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn long_value(&self, number: i64) -> Result<Value> {
        self.value_of(LONG_VALUE, number)
    }

    fn text_of(&self, sql: &str, id: i64) -> Result<String> {
        self.value_of(sql, id).map(|value| text(&value))
    }

    fn value_of(&self, sql: &str, id: i64) -> Result<Value> {
        self.named(self.read_value(sql, id))
    }

    pub(crate) fn read_value(&self, sql: &str, id: i64) -> Result<Value, EngineError> {
        let mut statement = self.database.prepare(sql)?;
        statement.bind_i64(1, id)?;
        Ok(match statement.step()? {
            Step::Row => statement.column_value(0),
            Step::Done => Value::Null,
        })
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Returns the library that reads the trace.
    pub fn library(&self) -> &Arc<Library> {
        self.database.library()
    }

    /// Returns the normalised texts with their numbers, and to which one each statement belongs.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn normalised(&self) -> Result<Normalised> {
        let mut texts = Normalised::default();
        for (id, sql) in
            self.rows("SELECT id, sql FROM normalised", |row| (integer(&row[0]), text(&row[1])))?
        {
            texts.add_text(id, sql);
        }
        let sql = "SELECT id, normalised, readonly FROM statement";
        for (id, form, readonly) in
            self.rows(sql, |row| (integer(&row[0]), integer(&row[1]), integer(&row[2])))?
        {
            texts.add_statement(id, form, readonly != 0);
        }
        Ok(texts)
    }

    /// Returns what the application did.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn analysed(&self) -> Result<Analysis> {
        let duration = self.meta()?.duration_us;
        let mut analyser = Analyser::new(duration, self.normalised()?, self.connection_settings()?);
        self.for_each_event(|event| analyser.take(event))?;
        let (mut holders, mut pins) = (analyser.holders(), analyser.pins());
        if holders.is_some() || pins.is_some() {
            self.for_each_event(|event| {
                holders.iter_mut().for_each(|holders| holders.take(event));
                pins.iter_mut().for_each(|pins| pins.take(event));
            })?;
        }
        let holders = holders.map(Holders::finish).unwrap_or_default();
        let pins = pins.map(Pins::finish).unwrap_or_default();
        analyser.add_holders(holders);
        analyser.add_pins(pins);
        Ok(analyser.finish())
    }

    /// Returns the settings of each connection that explain failures or protect data.
    fn connection_settings(&self) -> Result<hashbrown::HashMap<i64, ConnectionSettings>> {
        let value = |name: &str| {
            format!("(SELECT value FROM setting WHERE connection = id AND name = '{name}')")
        };
        let number = |name: &str| format!("CAST({} AS INTEGER)", value(name));
        let sql = format!(
            "SELECT id, database, {}, {}, {}, {} = 'exclusive', {mode} = 'wal', {mode} IN ('delete', 'truncate', 'persist'), {}
             FROM connection",
            number("busy_timeout"),
            number("foreign_keys"),
            number("synchronous"),
            value("locking_mode"),
            number("log_bytes"),
            mode = value("journal_mode"),
        );
        let settings = self.rows(&sql, |row| {
            let settings = ConnectionSettings {
                database: text(&row[1]),
                busy_timeout_ms: optional(&row[2]),
                foreign_keys: optional(&row[3]),
                synchronous: optional(&row[4]),
                is_exclusive: integer(&row[5]) != 0,
                is_wal: integer(&row[6]) != 0,
                has_journal: integer(&row[7]) != 0,
                log_bytes: optional(&row[8]),
            };
            (integer(&row[0]), settings)
        })?;
        Ok(settings.into_iter().collect())
    }

    /// Passes all events; within a connection in the order of their starts.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub fn for_each_event(&self, mut visit: impl FnMut(&Event)) -> Result<()> {
        let sql = "SELECT id, connection, statement, start_us, duration_ns, rows, changes, result, vm_steps, \
                   scan_steps, sorts, automatic_index_rows, ticket, state, \"values\", waited_ns FROM event ORDER BY id";
        let mut read = || {
            let mut statement = self.database.prepare(sql)?;
            while statement.step()? == Step::Row {
                visit(&event(&statement)?);
            }
            Ok(())
        };
        self.named(read())
    }
}

/// The beginning of a value that the recorder or `redact` left out.
const OMITTED: &[u8] = b"{\"omitted\"";

fn event(row: &Statement<'_, '_>) -> Result<Event, EngineError> {
    let optional = |column| (!row.column_is_null(column)).then(|| row.column_i64(column));
    let state = row.column_i64(13);
    let is_bound = !row.column_is_null(14);
    let values = if is_bound { row.column_text_bytes(14)? } else { &[] };
    // Whether values that were omitted are the same is not known.
    let is_known = !values.windows(OMITTED.len()).any(|part| part == OMITTED);
    let values = match (is_bound, is_known) {
        (false, _) => 0,
        (true, true) => XxHash3_64::oneshot(values),
        (true, false) => row.column_i64(0) as u64,
    };
    Ok(Event {
        id: row.column_i64(0),
        connection: row.column_i64(1),
        statement: row.column_i64(2),
        start_us: row.column_i64(3),
        duration_ns: optional(4),
        rows: row.column_i64(5),
        changes: row.column_i64(6),
        result: optional(7),
        vm_steps: row.column_i64(8),
        scan_steps: row.column_i64(9),
        sorts: row.column_i64(10),
        automatic_index_rows: row.column_i64(11),
        committed: !row.column_is_null(12),
        prepared: state & bits::PREPARED != 0,
        early: state & bits::EARLY != 0,
        autocommit: state & bits::AUTOCOMMIT != 0,
        transaction: (state & bits::TRANSACTION) >> bits::TRANSACTION_SHIFT,
        waited_ns: optional(15),
        values,
    })
}

pub(crate) fn integer(value: &Value) -> i64 {
    optional(value).unwrap_or(0)
}

pub(crate) fn optional(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    }
}

pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        _ => String::new(),
    }
}

/// The first bytes of a database that is not encrypted.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The bytes of the header of a database.
const HEADER: usize = 100;

/// The query for a long value by its number.
pub(crate) const LONG_VALUE: &str = "SELECT content FROM blob WHERE id = ?";

/// Returns whether a database is whole, as far as its size can show it. Of an encrypted one it cannot.
pub fn is_whole(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut header = [0; HEADER];
    match length {
        0..100 => Ok(false),
        _ => {
            file.read_exact(&mut header)?;
            Ok(fits(&header, length))
        }
    }
}

/// Returns whether a database of this length has the pages of its header.
/// <https://sqlite.org/fileformat2.html#the_database_header>
fn fits(header: &[u8; HEADER], length: u64) -> bool {
    let number = |at: usize| {
        header[at..at + 4].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let page_size = match number(16) >> 16 {
        1 => 65_536,
        size => size,
    };
    // The number of pages is right where the version that wrote the file last knew it.
    let is_known = number(24) == number(92);
    !header.starts_with(MAGIC)
        || (page_size > 0 && length.is_multiple_of(page_size))
            && (!is_known || length == page_size * number(28))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_values_are_not_taken_for_the_same() {
        let library = Arc::new(Library::load(&engine::Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let database = Database::open(&library, memory, OpenFlags::default(), None).unwrap();
        let hashes = |values: &str| {
            let row = |id: i64| {
                format!("SELECT {id}, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, '{values}', 0")
            };
            let sql = format!("{} UNION ALL {}", row(1), row(2));
            let mut rows = database.prepare(&sql).unwrap();
            [(); 2].map(|()| {
                assert_eq!(rows.step().unwrap(), Step::Row);
                event(&rows).unwrap().values
            })
        };
        let [one, other] = hashes("[1,\"a\"]");
        assert_eq!(one, other);
        let [one, other] = hashes("[1,{\"omitted\":true}]");
        assert_ne!(one, other);
    }

    #[test]
    fn the_length_has_to_be_that_of_the_header() {
        let mut header = [0; HEADER];
        header[..16].copy_from_slice(MAGIC);
        header[16] = 0x10;
        header[31] = 2;
        assert!(fits(&header, 8192));
        assert!(!fits(&header, 4096) && !fits(&header, 8191));
        header[95] = 1;
        assert!(fits(&header, 4096), "an old version does not count pages");
        assert!(fits(&[7; HEADER], 5000), "encrypted");
    }
}
