//! Rows found by a key: the cost of kinds of keys and tables when rows are inserted and when they are read.
//!
//! The phase `insert` runs from the BEGIN to the end of the COMMIT, `read` looks up single keys at random,
//! and `scan` reads runs of rows in the order of the key. Every row that is read has its payload summed
//! and checked. The database has just been written, so it is in the kernel's memory, and in part in SQLite's
//! page cache.

use super::writer::{Transaction, Writer};
use crate::workload::prelude::*;

/// The workload `keyed-rows`.
pub(in crate::workload) struct KeyedRows;

/// Rows of a scan.
const SCANNED: usize = 100;

choice! {
    /// The kind of the keys.
    enum Key {
        /// Integers in ascending order.
        Integer = "integer",
        /// Random 63-bit integers.
        RandomInteger = "random-integer",
        /// Random UUIDs (version 4) as texts of 36 characters.
        Uuid4Text = "uuid4-text",
        /// Random UUIDs (version 4) as blobs of 16 bytes.
        Uuid4 = "uuid4",
        /// UUIDs that begin with the time (version 7) as blobs of 16 bytes, in ascending order.
        Uuid7 = "uuid7",
        /// Hashes as blobs of 32 bytes, as long as SHA-256.
        Hash = "hash",
    }

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

    fn check(parameters: &Parameters, _: &Settings) -> Result<()> {
        let is_alias = parameters.table == Table::IntegerPrimaryKey;
        if is_alias && !parameters.key.is_integer() {
            return Err(TrialError::cannot_run("an INTEGER PRIMARY KEY holds integers only"));
        }
        Ok(())
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        (trial.phase)("generate");
        let keys = Keys::generate(parameters.key, parameters.rows, trial.seed);
        let work = Work { parameters, keys: &keys, order: keys.order(), seed: trial.seed };
        let writer = Writer::open(trial, Some("test.db"), &parameters.schema())?;
        let connection = &writer.connection;

        (trial.phase)("insert");
        let mut measured = work.insert(&writer, trial)?;
        let inserted_s = measured.metrics["seconds"];
        set(&mut measured, "seconds.insert", inserted_s);
        (trial.phase)("read");
        let read = work.read(connection)?;
        note_reading("read", &read, parameters.reads, &mut measured);
        (trial.phase)("scan");
        let scanned = work.scan(connection)?;
        let rows = parameters.scans * parameters.scanned();
        note_reading("scan", &scanned, rows, &mut measured);
        set_peak_memory(&mut measured);

        (trial.phase)("verify");
        work.verify(connection)?;
        writer.close(parameters.rows, &mut measured)?;
        Ok(measured)
    }
}

/// Adds the time of a phase and of each of its rows; adds nothing for a phase without rows.
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

    /// Returns rows of each scan.
    fn scanned(&self) -> usize {
        SCANNED.min(self.rows)
    }
}

/// The work on the table.
struct Work<'w> {
    parameters: &'w Parameters,
    keys: &'w Keys,
    /// The numbers of the rows in the order of their keys.
    order: Vec<usize>,
    seed: Seed,
}

impl Work<'_> {
    fn insert(&self, writer: &Writer, trial: &Trial<'_>) -> Result<Measured> {
        let payload = vec![0x5a; self.parameters.payload_bytes];
        let begin = sqlite::begin_statement(trial.settings);
        let mut transaction = Transaction::prepare(&writer.connection, begin)?;
        let mut insert = writer.connection.prepare("INSERT INTO items VALUES (?, ?, ?)")?;
        writer.time(trial, self.parameters.rows, |_| {
            transaction.begin()?;
            for row in 0..self.parameters.rows {
                self.keys.bind(&mut insert, row)?;
                insert.bind_i64(2, row as i64)?;
                insert.bind_blob_borrowed(3, &payload)?;
                insert.run()?;
            }
            transaction.commit()
        })
    }

    /// Looks up keys at random; each must be found with its own row.
    fn read(&self, connection: &Connection) -> Result<Elapsed> {
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
    fn scan(&self, connection: &Connection) -> Result<Elapsed> {
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

    /// Returns the result of [`summed`] for these rows.
    fn sum(&self, rows: &[usize]) -> i64 {
        let each = self.parameters.payload_bytes as i64;
        rows.iter().map(|row| *row as i64 + each).sum()
    }

    fn verify(&self, connection: &Connection) -> Result<()> {
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

/// Returns the sum of the numbers of all rows of a query and of the lengths of their payloads.
fn summed(select: &mut Statement<'_, '_>) -> Result<i64> {
    let mut sum = 0;
    while select.step()? == Step::Row {
        sum += select.column_i64(0) + select.column_blob(1)?.len() as i64;
    }
    select.reset()?;
    Ok(sum)
}

/// Milliseconds since 1970 of the first UUID of version 7: 2024-01-01.
const FIRST_MS: u64 = 1_704_067_200_000;

impl Key {
    fn is_integer(self) -> bool {
        matches!(self, Key::Integer | Key::RandomInteger)
    }

    /// Returns the type in SQL. `INT` makes no rowid of a primary key, as `INTEGER` does.
    fn declaration(self) -> &'static str {
        match self {
            Key::Integer | Key::RandomInteger => "INT",
            Key::Uuid4Text => "TEXT",
            Key::Uuid4 | Key::Uuid7 | Key::Hash => "BLOB",
        }
    }
}

/// The keys of a table, row by row; all are different.
enum Keys {
    Integers(Vec<i64>),
    Texts(Vec<String>),
    Uuids(Vec<[u8; 16]>),
    Hashes(Vec<[u8; 32]>),
}

impl Keys {
    fn generate(kind: Key, rows: usize, seed: Seed) -> Keys {
        let mut generator = seed.child("keys").generator();
        let generator = &mut generator;
        let rows = 0..rows as u64;
        match kind {
            Key::Integer => Keys::Integers(rows.map(|row| row as i64 + 1).collect()),
            // A number of 63 bits comes twice among a hundred million rows once in 1,800 trials; SQLite refuses it.
            Key::RandomInteger => {
                Keys::Integers(rows.map(|_| (generator.next_u64() >> 1) as i64).collect())
            }
            Key::Uuid4Text => Keys::Texts(rows.map(|_| text(uuid(4, random(generator)))).collect()),
            Key::Uuid4 => Keys::Uuids(rows.map(|_| uuid(4, random(generator))).collect()),
            Key::Uuid7 => Keys::Uuids(rows.map(|row| uuid(7, timed(row, generator))).collect()),
            Key::Hash => Keys::Hashes(rows.map(|_| hash(generator)).collect()),
        }
    }

    /// Returns the numbers of the rows in the order of their keys, as SQLite compares them.
    fn order(&self) -> Vec<usize> {
        match self {
            Keys::Integers(keys) => sorted(keys),
            Keys::Texts(keys) => sorted(keys),
            Keys::Uuids(keys) => sorted(keys),
            Keys::Hashes(keys) => sorted(keys),
        }
    }

    /// Binds the key of a row to the first parameter.
    #[inline]
    fn bind<'d>(&'d self, statement: &mut Statement<'_, 'd>, row: usize) -> Result<()> {
        Ok(match self {
            Keys::Integers(keys) => statement.bind_i64(1, keys[row]),
            Keys::Texts(keys) => statement.bind_text_borrowed(1, &keys[row]),
            Keys::Uuids(keys) => statement.bind_blob_borrowed(1, &keys[row]),
            Keys::Hashes(keys) => statement.bind_blob_borrowed(1, &keys[row]),
        }?)
    }
}

fn sorted<K: Ord>(keys: &[K]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|row| &keys[*row]);
    order
}

fn random(generator: &mut SplitMix64) -> u128 {
    u128::from(generator.next_u64()) << 64 | u128::from(generator.next_u64())
}

/// Returns a time, one millisecond later for each row, and random bits.
fn timed(row: u64, generator: &mut SplitMix64) -> u128 {
    let random = random(generator) >> 48;
    u128::from(FIRST_MS + row) << 80 | random
}

/// Version and variant in their places (RFC 9562).
fn uuid(version: u128, bits: u128) -> [u8; 16] {
    let cleared = bits & !(0xf << 76) & !(0x3 << 62);
    (cleared | version << 76 | 0x2 << 62).to_be_bytes()
}

fn text(uuid: [u8; 16]) -> String {
    let digits: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    format!("{a}-{b}-{c}-{d}-{e}")
}

fn hash(generator: &mut SplitMix64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&generator.next_u64().to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Choice;
    use crate::workload::common::tests::{problem, run};
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
        for (key, name, _) in Key::ALL {
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

    #[test]
    fn uuids_have_their_version_and_those_of_version_7_ascend() {
        let Keys::Texts(texts) = Keys::generate(Key::Uuid4Text, 50, Seed(1)) else {
            panic!("texts");
        };
        for text in &texts {
            assert_eq!((text.len(), &text[14..15]), (36, "4"), "{text}");
            assert!("89ab".contains(&text[19..20]), "{text}");
        }
        let Keys::Uuids(uuids) = Keys::generate(Key::Uuid7, 50, Seed(1)) else {
            panic!("blobs");
        };
        assert!(uuids.is_sorted() && uuids.iter().all(|uuid| uuid[6] >> 4 == 7));
    }

    #[test]
    fn the_order_is_that_of_the_keys() {
        for (kind, ..) in Key::ALL {
            let order = Keys::generate(*kind, 100, Seed(5)).order();
            let ascends = matches!(kind, Key::Integer | Key::Uuid7);
            assert_eq!(order.is_sorted(), ascends, "{kind:?}");
        }
    }
}
