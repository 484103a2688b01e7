//! The harness in which databases crash and recover: one engine, one file system in memory, one record.
//!
//! It stands apart because only the harness runs the engine. A harness belongs to one thread; each loads a
//! library of its own, so that they share no lock.

use crate::content::Content;
use crate::error::{CrashError, Result};
use crate::pages;
use crate::trace::File;
use engine::vfs::{Bytes, Call, MemoryOptions, MemoryVfs, RecordingVfs};
use engine::{Connection, EngineError, Library, OpenFlags, Source};
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use twox_hash::XxHash3_128;

/// The most instructions that a statement may take on a recovered database.
pub(crate) const STEPS: u32 = 5_000_000;

/// Observes recoveries. It is called before each one, so that another process knows which one ended this
/// process.
pub trait RecoveryObserver: Debug + Send + Sync {
    /// The recovery of this number, counted from 1 on each thread, begins.
    fn begins(&self, number: u64);
}

/// The recovery in which the engine ended an earlier process that did the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedAt {
    /// Its number.
    pub recovery: u64,
    /// How the process ended, in words.
    pub how: String,
}

/// Connects recoveries with other processes.
#[derive(Debug, Clone, Default)]
pub struct Isolation {
    /// Hears of recoveries.
    pub watch: Option<Arc<dyn RecoveryObserver>>,
    /// A recovery that is not tried again: its image is a violation, and the last of its cell.
    pub ended: Option<EndedAt>,
}

/// A problem of a recovered database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// SQLite refuses to open it; its message.
    Unopenable(String),
    /// `integrity_check` finds fault, or reading the rows fails; the first message.
    Corrupt(String),
    /// The engine ended the process, or hung; how.
    Ended(String),
}

/// The content of a recovered database, or its problem.
pub type Recovered = Result<Content, Problem>;

/// An engine with its file system in memory.
pub struct Harness {
    /// The engine.
    pub library: Arc<Library>,
    pub(crate) memory: MemoryVfs,
    pub(crate) recording: RecordingVfs,
    /// The connection that recovers databases by attaching them.
    recovering: Option<Connection>,
    isolation: Isolation,
    /// The recoveries begun.
    recoveries: u64,
    /// Whether one of them was the one that ended a process.
    pub has_ended: bool,
}

impl Harness {
    /// Loads an engine of its own.
    ///
    /// # Errors
    /// The engine cannot be loaded.
    pub fn new(source: &Source) -> Result<Harness> {
        let library = Arc::new(Library::load(source)?);
        let options = MemoryOptions { default: true, ..MemoryOptions::default() };
        let memory = MemoryVfs::register(&library, options)?;
        let recording = RecordingVfs::register(&library, Some(memory.name()))?;
        Ok(Harness {
            library,
            memory,
            recording,
            recovering: None,
            isolation: Isolation::default(),
            recoveries: 0,
            has_ended: false,
        })
    }

    /// Returns the same, connected with the world outside of the process.
    #[must_use]
    pub fn isolated(self, isolation: Isolation) -> Harness {
        Harness { isolation, ..self }
    }

    /// Empties the file system and makes the engine's random numbers a function of `seed`.
    ///
    /// # Errors
    /// The engine is in use, which would be a defect.
    pub fn reset(&mut self, seed: u64) -> Result<()> {
        self.recovering = None;
        self.memory.load([]);
        self.memory.reseed(seed)?;
        self.recording.take();
        Ok(())
    }

    /// Adds files to the empty file system.
    pub fn load(&self, files: Vec<File>) {
        self.memory.load(files);
    }

    /// Returns a file; empty if it does not exist. Large files are shared, not copied.
    pub fn file(&self, name: &str) -> Bytes {
        let file = self.memory.with_file(name, Bytes::clone);
        file.unwrap_or_default()
    }

    /// Opens a database in memory, recorded.
    ///
    /// # Errors
    /// SQLite's.
    pub fn open(&self, name: &str) -> Result<Connection> {
        self.open_through(self.recording.name(), name)
    }

    fn open_through(&self, vfs: &str, name: &str) -> Result<Connection> {
        let flags = OpenFlags::default() | OpenFlags::NO_MUTEX;
        Ok(Connection::open(&self.library, Path::new(name), flags, Some(vfs))?)
    }

    /// Returns the size of a file in bytes; 0 if it does not exist.
    pub fn size(&self, name: &str) -> usize {
        self.memory.with_file(name, Bytes::len).unwrap_or_default()
    }

    /// Closes connections as the end of their process does: files stay as they are, whatever closing does to them.
    ///
    /// # Errors
    /// SQLite's.
    pub fn kill(&self, connections: impl IntoIterator<Item = Connection>) -> Result<()> {
        let (files, position) = (self.memory.files(), self.recording.position());
        for connection in connections {
            connection.close()?;
        }
        self.memory.load(files);
        self.recording.forget_since(position);
        Ok(())
    }

    /// Lets the engine recover `databases` among `files`, all of them open at the same time, and returns the
    /// problem of each. The calls of the engine are not recorded, which would take time.
    ///
    /// # Errors
    /// A failure that no crash explains: a defect of this crate.
    pub fn recover(
        &mut self,
        files: Vec<File>,
        databases: &[&str],
    ) -> Result<Vec<Option<Problem>>> {
        let connection = self.connection()?;
        let problems = self.recover_with(&connection, files, databases)?;
        self.give_back(connection)?;
        Ok(problems)
    }

    /// Recovers as [`recover`](Self::recover) does, with random numbers that begin again, and returns the
    /// calls of the engine.
    ///
    /// # Errors
    /// As [`recover`](Self::recover).
    pub fn record_recovery(&mut self, files: Vec<File>, databases: &[&str]) -> Result<Vec<Call>> {
        self.reset(0)?;
        let connection = limited(self.open(":memory:")?)?;
        self.recover_with(&connection, files, databases)?;
        Ok(self.recording.take())
    }

    fn recover_with(
        &mut self,
        connection: &Connection,
        files: Vec<File>,
        databases: &[&str],
    ) -> Result<Vec<Option<Problem>>> {
        if let Some(how) = self.begins_recovery() {
            return Ok(vec![Some(Problem::Ended(how)); databases.len()]);
        }
        self.memory.load(files);
        let mut problems = Vec::with_capacity(databases.len());
        for group in databases.chunks(MOST_ATTACHED) {
            let first = problems.len();
            for (number, name) in group.iter().enumerate() {
                // Attaching reads the schema, which recovers the database.
                let attached = attach(connection, name, number);
                problems.push(attached.err().map(unopenable));
            }
            for (number, problem) in problems[first..].iter().enumerate() {
                if problem.is_none() {
                    connection.execute(&format!("DETACH d{number}"))?;
                }
            }
        }
        Ok(problems)
    }

    /// Counts a recovery; how the engine ended in it, if it is the one in which it did.
    fn begins_recovery(&mut self) -> Option<String> {
        self.recoveries += 1;
        if let Some(watch) = &self.isolation.watch {
            watch.begins(self.recoveries);
        }
        let ended = self.isolation.ended.as_ref();
        let ended = ended.filter(|ended| ended.recovery == self.recoveries)?;
        self.has_ended = true;
        Some(ended.how.clone())
    }

    /// Checks a recovered database in full.
    ///
    /// # Errors
    /// As [`recover`](Self::recover).
    pub fn examine(&mut self, database: &str) -> Result<Recovered> {
        let connection = self.connection()?;
        if let Err(error) = attach(&connection, database, 0) {
            self.give_back(connection)?;
            return Ok(Err(unopenable(error)));
        }
        let content = contents(&connection, "d0");
        connection.execute("DETACH d0")?;
        self.give_back(connection)?;
        Ok(content)
    }

    /// Returns the content of a recovered database, by its pages.
    ///
    /// # Errors
    /// The engine has left a log that it did not write back.
    pub fn recovered_pages(&self, database: &str) -> Result<Content> {
        match self.size(&format!("{database}-wal")) {
            0 => Ok(pages::content(&self.file(database))),
            _ => Err(CrashError::defect(format_args!(
                "the engine has left the log of {database} after it closed it"
            ))),
        }
    }

    /// Returns a hash of a database, its journal and its log.
    pub fn fingerprint(&self, database: &str) -> u128 {
        let mut hashed = Vec::new();
        for suffix in ["", "-journal", "-wal"] {
            let name = format!("{database}{suffix}");
            self.memory.with_file(&name, |bytes| {
                hashed.extend(suffix.as_bytes());
                hashed.extend(bytes.digest().to_le_bytes());
            });
        }
        XxHash3_128::oneshot(&hashed)
    }

    fn connection(&mut self) -> Result<Connection> {
        if let Some(connection) = self.recovering.take() {
            return Ok(connection);
        }
        limited(self.open_through(self.memory.name(), ":memory:")?)
    }

    /// Keeps the connection for the next recovery.
    fn give_back(&mut self, connection: Connection) -> Result<()> {
        let open = self.memory.open_files();
        if open > 0 {
            let defect = format!("{open} files stayed open after a recovery");
            return Err(CrashError::defect(defect));
        }
        self.recovering = Some(connection);
        Ok(())
    }
}

/// Databases that a connection attaches at a time: SQLite's own limit, unless it was compiled with another
/// (<https://sqlite.org/limits.html>).
const MOST_ATTACHED: usize = 10;

/// Limits each statement of a connection to [`STEPS`] instructions.
fn limited(connection: Connection) -> Result<Connection> {
    connection.limit_steps(STEPS)?;
    Ok(connection)
}

/// Attaches a database as `d0`, `d1` and so on.
fn attach(connection: &Connection, name: &str, number: usize) -> Result<(), EngineError> {
    let quoted = name.replace('\'', "''");
    connection.execute(&format!("ATTACH '{quoted}' AS d{number}"))
}

/// Returns the name of a schema in SQL.
pub(crate) fn quoted(schema: &str) -> String {
    format!("\"{}\"", schema.replace('"', "\"\""))
}

fn unopenable(error: EngineError) -> Problem {
    Problem::Unopenable(error.message())
}

fn contents(connection: &Connection, schema: &str) -> Recovered {
    let corrupt = |error: EngineError| Problem::Corrupt(error.message());
    let check =
        connection.query_text(&format!("PRAGMA {schema}.integrity_check(1)")).map_err(corrupt)?;
    if check != "ok" {
        return Err(Problem::Corrupt(check));
    }
    Content::read(connection, schema).map_err(corrupt)
}
