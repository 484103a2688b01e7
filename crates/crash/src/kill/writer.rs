//! The process that is killed: it writes numbered transactions until then.

use super::content::writes;
use crate::error::{CrashError, Result};
use crate::settings::CrashSettings;
use engine::{CheckpointMode, Connection, EngineError, Library, OpenFlags, Source, pragma};
use lab::seed::Seed;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Applies the settings that decide what survives, and proves each by reading it back.
pub(super) fn apply(settings: &CrashSettings, connection: &Connection) -> Result<()> {
    // Exclusive locking comes first: in WAL mode it then needs no shared memory
    // (https://sqlite.org/wal.html#noshm).
    for (name, value) in [
        ("locking_mode", settings.locking_mode.name()),
        ("journal_mode", settings.journal_mode.name()),
        ("synchronous", settings.synchronous.name()),
    ] {
        pragma::apply(connection, name, value)
            .map_err(CrashError::engine(format!("setting {}", in_words(settings))))?;
    }
    Ok(())
}

/// Returns the settings that decide what survives.
pub(super) fn in_words(settings: &CrashSettings) -> String {
    let CrashSettings { journal_mode, synchronous, locking_mode, .. } = settings;
    format!("journal_mode={journal_mode} synchronous={synchronous} locking_mode={locking_mode}")
}

/// The task of a writing process, as JSON on standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriterSpec {
    /// The engine.
    pub engine: Source,
    /// The database, which need not exist.
    pub database: PathBuf,
    /// The settings.
    pub settings: CrashSettings,
    /// The seed of the rows.
    pub seed: u64,
}

/// Pages in the writer's cache: fewer than a large transaction changes, so that some are spilled into
/// the database before the commit.
const CACHE_PAGES: u32 = 8;

/// Every how many transactions one is rolled back before it is made, the log is checkpointed, and the
/// database is vacuumed.
const ROLLED_BACK: u64 = 5;
const CHECKPOINTED: u64 = 11;
const VACUUMED: u64 = 101;

/// Reads a [`WriterSpec`] and writes transactions until `output` is closed, or the process is killed. It
/// writes `ready` before it opens the database, `at N` for the last transaction that it finds there, or `at
/// none`, and `N` for each transaction that SQLite has acknowledged.
///
/// # Errors
/// A specification that is not valid; any error of SQLite.
pub fn write_until_killed(
    mut input: impl Read,
    output: impl Write,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    let spec: WriterSpec = serde_json::from_str(&text)?;
    let library = Arc::new(Library::load(&spec.engine)?);
    let mut report = Report(output);
    if report.line("ready").is_err() {
        return Ok(());
    }
    let connection = Connection::open(&library, &spec.database, OpenFlags::default(), None)?;
    prepare(&connection, &spec.settings)?;
    let seed = Seed(spec.seed);
    // Without a journal ROLLBACK itself leaves an undefined state (<https://sqlite.org/pragma.html#pragma_journal_mode>),
    // and no kill is to blame for that.
    let rolls_back = connection.query_text("PRAGMA journal_mode")? != "off";
    let found = last_transaction(&connection)?;
    let found_text = found.map_or("none".to_owned(), |last| last.to_string());
    if report.line(&format!("at {found_text}")).is_err() {
        return Ok(());
    }
    let mut last = match found {
        Some(last) => last,
        None => {
            make_tables(&connection)?;
            if report.acknowledged(0).is_err() {
                return Ok(());
            }
            0
        }
    };
    loop {
        last += 1;
        if rolls_back && last.is_multiple_of(ROLLED_BACK) {
            roll_back(&connection, seed, last)?;
        }
        write_one(&connection, seed, last)?;
        // The parent is gone: nothing that was started stays behind.
        if report.acknowledged(last).is_err() {
            return Ok(());
        }
        maintain(&connection, last)?;
    }
}

/// Lines to the parent, each in one call, so that none is lost in a buffer when the process dies.
struct Report<W>(W);

impl<W: Write> Report<W> {
    fn line(&mut self, line: &str) -> std::io::Result<()> {
        self.0.write_all(format!("{line}\n").as_bytes())?;
        self.0.flush()
    }

    fn acknowledged(&mut self, transaction: u64) -> std::io::Result<()> {
        self.line(&transaction.to_string())
    }
}

fn prepare(connection: &Connection, settings: &CrashSettings) -> Result<()> {
    apply(settings, connection)?;
    connection
        .execute(&format!("PRAGMA cache_size = {CACHE_PAGES}"))
        .map_err(CrashError::engine("setting the size of the cache"))
}

/// Returns the last transaction in the database, or `None` if it has no tables yet.
pub(super) fn last_transaction(connection: &Connection) -> Result<Option<u64>, EngineError> {
    let tables = connection.query_i64("SELECT count(*) FROM sqlite_master WHERE name = 'state'")?;
    if tables == 0 {
        return Ok(None);
    }
    let last = connection.query_i64("SELECT last FROM state")?;
    Ok(u64::try_from(last).ok())
}

/// Transaction 0.
pub(super) fn make_tables(connection: &Connection) -> Result<(), EngineError> {
    connection.execute(
        "BEGIN IMMEDIATE;
         CREATE TABLE state(id INTEGER PRIMARY KEY, last INTEGER NOT NULL);
         CREATE TABLE item(slot INTEGER PRIMARY KEY, txn INTEGER NOT NULL, body BLOB NOT NULL);
         CREATE INDEX item_txn ON item(txn, slot);
         INSERT INTO state VALUES (1, 0);
         COMMIT",
    )
}

/// Rolls back what another transaction would write: it must leave no trace.
fn roll_back(connection: &Connection, seed: Seed, number: u64) -> Result<(), EngineError> {
    connection.execute("BEGIN IMMEDIATE")?;
    put(connection, seed.child("rolled back"), number)?;
    connection.execute("ROLLBACK")
}

fn write_one(connection: &Connection, seed: Seed, number: u64) -> Result<(), EngineError> {
    connection.execute("BEGIN IMMEDIATE")?;
    put(connection, seed, number)?;
    connection.execute("COMMIT")
}

fn put(connection: &Connection, seed: Seed, number: u64) -> Result<(), EngineError> {
    let mut insert = connection.prepare("INSERT OR REPLACE INTO item VALUES (?, ?, ?)")?;
    for write in writes(seed, number) {
        insert.bind_i64(1, write.slot as i64)?;
        insert.bind_i64(2, number as i64)?;
        insert.bind_blob(3, &write.body)?;
        insert.run()?;
    }
    connection.execute(&format!("UPDATE state SET last = {number}"))
}

/// Maintenance between transactions, which must change nothing.
fn maintain(connection: &Connection, number: u64) -> Result<(), EngineError> {
    if number.is_multiple_of(CHECKPOINTED) {
        let mode = match number / CHECKPOINTED % 3 {
            0 => CheckpointMode::Passive,
            1 => CheckpointMode::Restart,
            _ => CheckpointMode::Truncate,
        };
        connection.checkpoint(mode)?;
    }
    if number.is_multiple_of(VACUUMED) {
        connection.execute("VACUUM")?;
    }
    Ok(())
}
