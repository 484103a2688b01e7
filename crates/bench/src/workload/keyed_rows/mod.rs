//! Rows found by a key: what kinds of keys and tables cost when rows are inserted and when they are read.
//!
//! The phase `insert` runs from the BEGIN to the end of the COMMIT, `read` looks up single keys at random,
//! and `scan` reads runs of rows in the order of the key. Every row that is read has its payload summed
//! and checked. The database has just been written, so it is in the kernel's memory, and in part in SQLite's
//! page cache.

mod keys;

use engine::{Connection, Statement, Step};
use lab::level::Settings;
use lab::seed::Seed;
use lab::trial::Measured;

use self::keys::{Key, Keys};
use super::common::{
    Elapsed, Stopwatch, close, expect, set, set_bytes_per_row, set_counts, set_peak_memory,
};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::parameters::Rows;
use crate::target::sqlite;

/// The workload `keyed-rows`.
pub(super) struct KeyedRows;

/// Rows of a scan.
const SCANNED: usize = 100;

choice! {
    /// How the table stores its rows.
    enum Table {
        /// By a hidden rowid, with an index on the key.
        Rowid = "rowid",
        /// By the key, which is the rowid.
        IntegerPrimaryKey = "integer-primary-key",
        /// By the key, without a rowid.
        WithoutRowid = "without-rowid",
    }
}

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Rows to insert.
        rows: Rows = 100_000, 1..;
        /// The keys.
        key: Key = Key::Integer;
        /// How the table stores its rows.
        table: Table = Table::WithoutRowid;
        /// Bytes of each row besides its key.
        payload_bytes: usize = 100, 1..=1_000_000;
        /// Single keys that are looked up.
        reads: usize = 10_000, 0..;
        /// Runs of 100 rows that are read in the order of the key.
        scans: usize = 100, 0..;
    }
}

impl Declared for KeyedRows {
    const NAME: &'static str = "keyed-rows";
    const ABOUT: &'static str = "Inserts rows with a key into one table, in one transaction, then looks up single keys and reads runs of rows in the order of the key.";
    const PHASES: &'static [&'static str] = &["insert", "read", "scan"];
    type Parameters = Parameters;

    fn check(parameters: &Parameters, _: &Settings) -> Result<(), TrialError> {
        let is_alias = parameters.table == Table::IntegerPrimaryKey;
        match is_alias && !parameters.key.is_integer() {
            true => Err(TrialError::cannot_run("an INTEGER PRIMARY KEY holds integers only")),
            false => Ok(()),
        }
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        (trial.phase)("generate");
        let keys = Keys::generate(parameters.key, parameters.rows, trial.seed);
        let work = Work { parameters, keys: &keys, order: keys.order(), seed: trial.seed };
        let path = trial.directory.join("test.db");
        let connection = sqlite::open(trial, &path)?;
        connection.execute(&parameters.schema())?;

        (trial.phase)("insert");
        let counts = sqlite::Counts::begin(trial, &connection)?;
        let inserted = work.insert(&connection, sqlite::begin_statement(trial.settings))?;
        let mut measured = inserted.measured(parameters.rows);
        set(&mut measured, "seconds.insert", inserted.seconds);
        set_counts(&mut measured, counts, &connection)?;
        (trial.phase)("read");
        let read = work.read(&connection)?;
        note_reading("read", &read, parameters.reads, &mut measured);
        (trial.phase)("scan");
        let scanned = work.scan(&connection)?;
        let rows = parameters.scans * parameters.scanned();
        note_reading("scan", &scanned, rows, &mut measured);
        set_peak_memory(&mut measured);

        (trial.phase)("verify");
        work.verify(&connection)?;
        close(connection, Some(&path), &mut measured)?;
        set_bytes_per_row(&mut measured, parameters.rows);
        Ok(measured)
    }
}

/// Notes the time of a phase, and that of each row; nothing of a phase without rows.
fn note_reading(phase: &str, elapsed: &Elapsed, rows: usize, measured: &mut Measured) {
    if rows > 0 {
        set(measured, &format!("seconds.{phase}"), elapsed.seconds);
        let each = elapsed.seconds * 1e9 / rows as f64;
        set(measured, &format!("ns_per_row.{phase}"), each);
    }
}

impl Parameters {
    fn schema(&self) -> String {
        let (declaration, ending) = match self.table {
            Table::IntegerPrimaryKey => ("INTEGER", ""),
            Table::Rowid => (self.key.declaration(), ""),
            Table::WithoutRowid => (self.key.declaration(), " WITHOUT ROWID"),
        };
        format!(
            "CREATE TABLE items(key {declaration} NOT NULL PRIMARY KEY, number INTEGER NOT NULL, payload BLOB NOT NULL){ending}"
        )
    }

    /// Rows of each scan.
    fn scanned(&self) -> usize {
        SCANNED.min(self.rows)
    }
}

/// What is done with the table.
struct Work<'w> {
    parameters: &'w Parameters,
    keys: &'w Keys,
    /// The numbers of the rows in the order of their keys.
    order: Vec<usize>,
    seed: Seed,
}

impl Work<'_> {
    fn insert(&self, connection: &Connection, begin: &str) -> Result<Elapsed, TrialError> {
        let payload = vec![0x5a; self.parameters.payload_bytes];
        let mut insert = connection.prepare("INSERT INTO items VALUES (?, ?, ?)")?;
        let watch = Stopwatch::start()?;
        connection.execute(begin)?;
        for row in 0..self.parameters.rows {
            self.keys.bind(&mut insert, row)?;
            insert.bind_i64(2, row as i64)?;
            insert.bind_blob_borrowed(3, &payload)?;
            insert.run()?;
        }
        connection.execute("COMMIT")?;
        watch.stop()
    }

    /// Looks up keys at random; each must be found with its own row.
    fn read(&self, connection: &Connection) -> Result<Elapsed, TrialError> {
        let mut generator = self.seed.child("reads").generator();
        let mut row = || generator.below(self.parameters.rows as u64) as usize;
        let rows: Vec<usize> = (0..self.parameters.reads).map(|_| row()).collect();
        let mut select = connection.prepare("SELECT number, payload FROM items WHERE key = ?")?;
        let mut sum = 0;
        let watch = Stopwatch::start()?;
        for row in &rows {
            self.keys.bind(&mut select, *row)?;
            sum += summed(&mut select)?;
        }
        let elapsed = watch.stop()?;
        expect("the sum of the rows looked up", sum, self.sum(&rows))?;
        Ok(elapsed)
    }

    /// Reads runs of rows from random places on.
    fn scan(&self, connection: &Connection) -> Result<Elapsed, TrialError> {
        let mut generator = self.seed.child("scans").generator();
        let count = self.parameters.scanned();
        let places = (self.parameters.rows - count + 1) as u64;
        let starts = (0..self.parameters.scans).map(|_| generator.below(places) as usize);
        let starts: Vec<usize> = starts.collect();
        let sql =
            format!("SELECT number, payload FROM items WHERE key >= ? ORDER BY key LIMIT {count}");
        let mut select = connection.prepare(&sql)?;
        let mut sum = 0;
        let watch = Stopwatch::start()?;
        for start in &starts {
            self.keys.bind(&mut select, self.order[*start])?;
            sum += summed(&mut select)?;
        }
        let elapsed = watch.stop()?;
        let runs = starts.iter().map(|start| &self.order[*start..start + count]);
        let wanted: i64 = runs.map(|rows| self.sum(rows)).sum();
        expect("the sum of the rows scanned", sum, wanted)?;
        Ok(elapsed)
    }

    /// What [`summed`] gives for these rows.
    fn sum(&self, rows: &[usize]) -> i64 {
        let each = self.parameters.payload_bytes as i64;
        rows.iter().map(|row| *row as i64 + each).sum()
    }

    fn verify(&self, connection: &Connection) -> Result<(), TrialError> {
        let rows = self.parameters.rows as i64;
        let found = connection.query_i64("SELECT count(DISTINCT key) FROM items")?;
        expect("the count of keys", found, rows)?;
        let sum = connection.query_i64("SELECT sum(number) FROM items")?;
        expect("the sum of numbers", sum, rows * (rows - 1) / 2)?;
        let checked = connection.query_value("PRAGMA integrity_check")?;
        let sound = matches!(&checked, engine::Value::Text(text) if text == "ok");
        expect("the check of the database", sound, true)
    }
}

/// The numbers of all rows of a query with the lengths of their payloads.
fn summed(select: &mut Statement<'_, '_>) -> Result<i64, TrialError> {
    let mut sum = 0;
    while select.step()? == Step::Row {
        sum += select.column_i64(0) + select.column_blob(1)?.len() as i64;
    }
    select.reset()?;
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::super::common::tests::{problem, run};
    use crate::parameters::Choice;
    use lab::level::Level;

    fn settings(key: &str, table: &str) -> Vec<(&'static str, Level)> {
        vec![
            ("key", key.into()),
            ("table", table.into()),
            ("rows", 700.into()),
            ("reads", 90.into()),
            ("scans", 8.into()),
            ("synchronous", "off".into()),
        ]
    }

    #[test]
    fn every_key_is_found_in_every_table_that_can_hold_it() {
        for (key, name, _) in super::Key::ALL {
            for table in ["rowid", "without-rowid", "integer-primary-key"] {
                let settings = settings(name, table);
                if table == "integer-primary-key" && !key.is_integer() {
                    assert!(problem("keyed-rows", &settings).contains("integers only"));
                    continue;
                }
                let metrics = run("keyed-rows", &settings).unwrap().metrics;
                let read = metrics["ns_per_row.read"] * 90.0 / 1e9;
                assert!((read - metrics["seconds.read"]).abs() < 1e-9);
                let scanned = metrics["ns_per_row.scan"] * 800.0 / 1e9;
                assert!((scanned - metrics["seconds.scan"]).abs() < 1e-9);
                assert_eq!(metrics["seconds"], metrics["seconds.insert"]);
            }
        }
    }

    #[test]
    fn a_table_smaller_than_a_scan_is_read_whole() {
        let mut few = settings("hash", "rowid");
        few.extend([("rows", 7.into())]);
        let metrics = run("keyed-rows", &few).unwrap().metrics;
        assert!(metrics["ns_per_row.scan"] > 0.0);
    }
}
