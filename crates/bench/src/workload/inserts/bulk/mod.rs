//! Integers into one table: how transactions, statements, methods, keys and indexes govern the rate.
//!
//! The clock runs from the first statement after the table was created to the end of the last commit or index build.
//! Connecting, creating the table, preparing reused statements, generating the data or the database to copy from,
//! verifying the result and closing the connection are not timed or, where they take time, reported apart. The target
//! `pages` has no connection before its database is finished: its clock runs from the start of the load until the file
//! is in its place and synced.
//!
//! The parameters of `bulk-insert`, and the rules between them.

mod insert;
mod pages;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::time::Instant;

use arrow_array::RecordBatch;
use lab::catalogue::Accepts;

use self::insert::{Inserted, Inserter, Source};
use super::writer::Writer;
use crate::generate::{Integers, Order, Values};
use crate::measure::CpuTime;
use crate::parameters::{Bounds, Kind, Limit, RowsOrAll, meaning};
use crate::target::sqlite::{self, Counts};
use crate::workload::common::MAX_HOST_PARAMETERS;
use crate::workload::prelude::*;

/// The workload `bulk-insert`.
pub(in crate::workload) struct BulkInsert;

/// Name of the database file.
const FILE: &str = "test.db";

const CREATE_INDEX: &str = "CREATE INDEX idx_integers_value ON integers(value)";

/// The name of the index that it creates.
const INDEX: &str = "idx_integers_value";

impl Declared for BulkInsert {
    const NAME: &'static str = "bulk-insert";
    const ABOUT: &'static str = "Inserts integers into one table.";
    const PHASES: &'static [&'static str] = &["load", "index"];
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        let wrong =
            |name: &str, wanted: &str| TrialError::setting(name, settings.get(name), wanted);
        let rows = parameters.rows_per_statement();
        match parameters.method {
            _ if parameters.target == Target::Pages => parameters.check_all_at_once(&wrong),
            Method::Values if rows > MAX_HOST_PARAMETERS => Err(wrong(
                "rows_per_statement",
                "from 1 to 32766 with the method `values`, which binds each row",
            )),
            Method::Carray if rows > MAX_ARRAY_ELEMENTS as usize => {
                Err(wrong("rows_per_statement", "at most 2147483647 with the method `carray`"))
            }
            method if method.copies() => parameters.check_all_at_once(&wrong),
            _ => Ok(()),
        }?;
        if matches!(parameters.table, Table::IntegerPrimaryKey | Table::WithoutRowid)
            && parameters.order.is_none()
        {
            let wanted = "an order of keys, since the values of this table must be distinct";
            return Err(wrong("order", wanted));
        }
        Ok(())
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        match parameters.target {
            Target::Sqlite => parameters.method.check_engine(&trial.library)?,
            Target::Pages => pages::check(trial, parameters)?,
        }
        (trial.phase)("generate");
        let generating = Instant::now();
        let mut data = parameters.generate(trial.seed)?;
        let prepared = match parameters.target {
            Target::Sqlite => Prepared::Sql(Source::of(trial, parameters, &data)?),
            Target::Pages => Prepared::Pages(pages::batches(&data)?),
        };
        let generate_s = generating.elapsed().as_secs_f64();

        (trial.phase)("load");
        let mut measured = Measured::default();
        let (writer, loaded) = match prepared {
            Prepared::Sql(source) => {
                load_by_sql(trial, parameters, source, &mut data, &mut measured)?
            }
            Prepared::Pages(batches) => {
                let path = trial.directory.join(FILE);
                let loaded = pages::load_pages(trial, parameters, batches, &path)?;
                (Writer::open(trial, Some(FILE), "")?, loaded)
            }
        };
        let rows = loaded.inserted.rows;
        loaded.report(parameters, &mut measured)?;
        set(&mut measured, "generate_s", generate_s);
        set_peak_memory(&mut measured);

        (trial.phase)("verify");
        verify(&writer.connection, &data[..rows], parameters)?;
        writer.close(rows, &mut measured)?;
        Ok(measured)
    }
}

/// Input of a target, made before the clock starts.
enum Prepared {
    /// For SQLite: the database to copy from, for methods that copy.
    Sql(Option<Source>),
    /// For the page writer: the rows in batches.
    Pages(Vec<RecordBatch>),
}

/// The work between the start and the stop of the clock.
struct Loaded {
    inserted: Inserted,
    load_s: f64,
    index_s: Option<f64>,
    cpu: CpuTime,
    histogram: LatencyHistogram,
    windows: Windows,
}

/// Creates the database with the table, and with the index and the source that the parameters ask for, and inserts.
fn load_by_sql(
    trial: &Trial<'_>,
    parameters: &Parameters,
    source: Option<Source>,
    data: &mut [i64],
    measured: &mut Measured,
) -> Result<(Writer, Loaded)> {
    let writer = Writer::open(trial, Some(FILE), parameters.table.create())?;
    let connection = &writer.connection;
    if parameters.index.is_before() {
        connection.execute(CREATE_INDEX)?;
    }
    if let Some(source) = &source {
        source.attach(connection)?;
    }
    let counts = Counts::begin(trial, connection)?;
    let loaded = parameters.load(connection, trial.settings, data)?;
    set_counts(measured, counts, connection)?;
    if let Some(source) = source {
        source.detach(connection)?;
    }
    Ok((writer, loaded))
}

impl Loaded {
    fn report(self, parameters: &Parameters, measured: &mut Measured) -> Result<()> {
        let seconds = self.load_s + self.index_s.unwrap_or_default();
        set(measured, "seconds", seconds);
        set(measured, "seconds.load", self.load_s);
        set(measured, "rows_per_s", self.inserted.rows as f64 / seconds);
        set(measured, "txns_per_s", self.inserted.transactions as f64 / self.load_s);
        set_cpu(measured, self.cpu);
        if let Some(index_s) = self.index_s {
            set(measured, "seconds.index", index_s);
        }
        // One transaction has a duration, but no distribution of latencies.
        if parameters.rows_per_txn.is_some() {
            set_latency(measured, &self.histogram)?;
        }
        measured.windows = self.windows.rates;
        Ok(())
    }
}

/// Compares the table, also through its index if it has one, with the data.
fn verify(connection: &Connection, data: &[i64], parameters: &Parameters) -> Result<()> {
    let wanted = sums_of(data);
    compare(connection, "NOT INDEXED", &wanted)?;
    if parameters.index != Index::None {
        let index = match parameters.target {
            Target::Sqlite => INDEX,
            Target::Pages => pages::INDEX,
        };
        let through = format!("INDEXED BY {index}");
        compare(connection, &through, &wanted)?;
    }
    check_keys(connection, parameters.table, data.len())
}

/// Sums that tell two sets of values apart without a second copy of either. Sums of the halves of each value cannot
/// overflow and notice most wrong values; the sum of squared residues notices values that were exchanged for others of
/// equal sum.
const SUMS: [Sum; 4] = [
    ("the count", "count(*)"),
    ("the sum of the upper halves", "sum(value >> 32)"),
    ("the sum of the lower halves", "sum(value & 4294967295)"),
    ("the sum of squared residues", "sum((value % 65521) * (value % 65521))"),
];

/// A prime below 2^16, so that the squares of 2^31 residues sum up within 64 bits.
const MODULUS: i64 = 65_521;

/// Returns the sums in the order of [`SUMS`].
fn sums_of(data: &[i64]) -> [i64; SUMS.len()] {
    sums(data.iter().map(|value| {
        let residue = value % MODULUS;
        [1, value >> 32, value & 0xffff_ffff, residue * residue]
    }))
}

fn compare(connection: &Connection, through: &str, wanted: &[i64; SUMS.len()]) -> Result<()> {
    let from = format!("integers {through} WHERE value IS NOT NULL");
    let ending = format!(" of the rows ({through})");
    check_sums(connection, &SUMS, (&from, &ending), wanted)
}

/// Checks that the keys that SQLite counted begin at 1 and have no gaps.
fn check_keys(connection: &Connection, table: Table, rows: usize) -> Result<()> {
    let Some(key) = table.counted_key().filter(|_| rows > 0) else { return Ok(()) };
    let smallest = connection.query_i64(&format!("SELECT min({key}) FROM integers"))?;
    expect("the smallest key", smallest, 1)?;
    let largest = connection.query_i64(&format!("SELECT max({key}) FROM integers"))?;
    expect("the largest key", largest, rows as i64)
}

/// Elements that one array bound to carray may have: a C `int` counts them
/// (<https://sqlite.org/carray.html>).
const MAX_ARRAY_ELEMENTS: i64 = i32::MAX as i64;

choice! {
    /// Way of writing the rows.
    enum Target {
        /// SQL, by one of the methods.
        Sqlite = "sqlite",
        /// Pragmark load, which writes the B-tree pages of a new database without SQLite; its time
        /// includes creating and syncing the database.
        Pages = "pages",
    }

    /// When the index is created.
    enum Index {
        /// Never.
        None = "none",
        /// Before the rows.
        Before = "before",
        /// After the rows, within the measured time.
        After = "after",
        /// Before the rows, which the application sorts first, within the measured time.
        BeforeSorted = "before-sorted",
    }
}

impl Index {
    pub(super) fn is_before(self) -> bool {
        matches!(self, Index::Before | Index::BeforeSorted)
    }
}

choice! {
    /// Whether a statement is reused.
    enum Statement {
        /// Prepared once.
        Reused = "reused",
        /// Prepared and finalised for each use.
        PreparedEachTime = "prepared-each-time",
    }

    /// How rows get into SQLite.
    enum Method {
        /// Each value is bound to the VALUES list.
        Values = "values",
        /// The values are bound as one array (<https://sqlite.org/carray.html>).
        Carray = "carray",
        /// The same through pragmark load's table-valued function over any number of arrays.
        Columns = "columns",
        /// SELECT value from an attached database prepared before the clock starts.
        AttachValue = "attach-value",
        /// SELECT * from it, which SQLite may do by copying records as they are.
        AttachStar = "attach-star",
    }
}

impl Method {
    /// Returns whether one statement copies all rows from an attached database.
    pub(super) fn copies(self) -> bool {
        matches!(self, Method::AttachValue | Method::AttachStar)
    }
}

choice! {
    /// One table called `integers` with the column `value`.
    enum Table {
        /// `value INTEGER`.
        Rowid = "rowid",
        /// `value INTEGER PRIMARY KEY`.
        IntegerPrimaryKey = "integer-primary-key",
        /// `value INT PRIMARY KEY`, WITHOUT ROWID.
        WithoutRowid = "without-rowid",
        /// `key INTEGER PRIMARY KEY` generated by SQLite, and `value`.
        AutoKey = "auto-key",
        /// The same with AUTOINCREMENT (<https://sqlite.org/autoinc.html>).
        Autoincrement = "autoincrement",
    }
}

impl Table {
    /// Returns the statement that creates it.
    pub(super) fn create(self) -> &'static str {
        match self {
            Table::Rowid => "CREATE TABLE integers(value INTEGER)",
            Table::IntegerPrimaryKey => "CREATE TABLE integers(value INTEGER PRIMARY KEY)",
            Table::WithoutRowid => "CREATE TABLE integers(value INT PRIMARY KEY) WITHOUT ROWID",
            Table::AutoKey => "CREATE TABLE integers(key INTEGER PRIMARY KEY, value INTEGER)",
            Table::Autoincrement => {
                "CREATE TABLE integers(key INTEGER PRIMARY KEY AUTOINCREMENT, value INTEGER)"
            }
        }
    }

    /// Returns the column of keys that SQLite counts from 1, where one can be read.
    pub(super) fn counted_key(self) -> Option<&'static str> {
        match self {
            Table::Rowid => Some("rowid"),
            Table::AutoKey | Table::Autoincrement => Some("key"),
            Table::IntegerPrimaryKey | Table::WithoutRowid => None,
        }
    }
}

/// An order of keys, or none for the values as they were generated.
pub(crate) enum KeyOrder {}

const NO_ORDER: &str = "none";

impl Kind for KeyOrder {
    type Value = Option<Order>;
    type Default = &'static str;

    fn accepts(_: Bounds) -> Accepts {
        Accepts::Choice(KeyOrder::meanings().into_iter().map(|(name, _)| name.to_owned()).collect())
    }

    fn level(default: &'static str) -> Option<Level> {
        Some(default.into())
    }

    fn value(level: Option<&Level>) -> Option<Option<Order>> {
        match level?.as_text()? {
            NO_ORDER => Some(None),
            name => Order::named(name).map(Some),
        }
    }

    fn meanings() -> Vec<(&'static str, String)> {
        let orders = Order::ALL.iter().map(|(_, name, lines)| (*name, meaning(lines)));
        [(NO_ORDER, "the values as generated".to_owned())].into_iter().chain(orders).collect()
    }
}

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Rows to insert.
        rows: Rows = 100_000, 1..;
        /// Values to insert where no order is given.
        values: Values = Values::Int32;
        /// Order in which the keys 0 to rows-1 arrive instead of values.
        order: KeyOrder = NO_ORDER;
        /// Table to insert into.
        table: Table = Table::Rowid;
        /// When an index on the value is created.
        index: Index = Index::None;
        /// What the rows are written with.
        target: Target = Target::Sqlite;
        /// How rows get into SQLite.
        method: Method = Method::Values;
        /// Whether the INSERT is reused.
        statement: Statement = Statement::Reused;
        /// Rows in the VALUES list or the array of one INSERT; 0: all rows.
        per_statement as "rows_per_statement": RowsOrAll = 1, 0..=MAX_ARRAY_ELEMENTS;
        /// Rows per transaction; 0: all rows; 1: no BEGIN, each INSERT commits by itself.
        rows_per_txn: RowsOrAll = 0;
        /// Time after which no further transaction begins; 0: no limit. For variants whose speeds
        /// differ a hundredfold.
        stop_after as "stop_after_ms": Limit = 0;
    }
}

impl Parameters {
    /// Does the measured work.
    fn load(
        &self,
        connection: &Connection,
        settings: &Settings,
        data: &mut [i64],
    ) -> Result<Loaded> {
        let mut histogram = LatencyHistogram::default();
        let piece = self.rows_per_statement();
        let mut windows = Windows::new(data.len(), piece, self.stop_after);
        let begin = sqlite::begin_statement(settings);
        let mut inserter = Inserter::prepare(connection, self, begin)?;
        let cpu_before = CpuTime::now()?;

        let start = Instant::now();
        if self.index == Index::BeforeSorted {
            data.sort_unstable();
        }
        windows.start(Instant::now());
        let inserted = inserter.insert_all(data, start, &mut histogram, &mut windows)?;
        let loaded = Instant::now();
        let mut index_s = None;
        if self.index == Index::After {
            connection.execute(CREATE_INDEX)?;
            index_s = Some(loaded.elapsed().as_secs_f64());
        }
        let cpu = CpuTime::now()?.since(cpu_before);
        let load_s = loaded.duration_since(start).as_secs_f64();
        Ok(Loaded { inserted, load_s, index_s, cpu, histogram, windows })
    }

    /// Returns the number of rows in one statement.
    pub(super) fn rows_per_statement(&self) -> usize {
        self.per_statement.map_or(self.rows, NonZeroUsize::get)
    }

    /// Returns the values to insert, in the order of their arrival.
    ///
    /// # Errors
    /// The memory is exhausted.
    pub(super) fn generate(&self, seed: Seed) -> Result<Integers> {
        let mut data = Integers::zeroed(self.rows)?;
        match self.order {
            Some(order) => order.fill(&mut data, seed),
            None => self.values.fill(&mut data, seed),
        }
        Ok(data)
    }

    /// Checks a method that inserts all rows at once, in the order in which they arrive.
    fn check_all_at_once(&self, wrong: &dyn Fn(&str, &str) -> TrialError) -> Result<()> {
        let wanted = "0 where a method inserts all rows at once";
        if self.rows_per_statement() != self.rows {
            return Err(wrong("rows_per_statement", wanted));
        }
        if self.rows_per_txn.is_some() {
            return Err(wrong("rows_per_txn", wanted));
        }
        if self.index == Index::BeforeSorted {
            let wanted = "none, before or after where the application does not sort the rows";
            return Err(wrong("index", wanted));
        }
        Ok(())
    }
}
