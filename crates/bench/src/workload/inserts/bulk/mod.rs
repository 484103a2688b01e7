//! Integers into one table: how transactions, statements, methods, keys and indexes govern the rate.
//!
//! The clock runs from the first statement after the table was created to the end of the last commit or index build.
//! Connecting, creating the table, preparing reused statements, generating the data or the database to copy from,
//! verifying the result and closing the connection are not timed or, where they take time, reported apart. The target
//! `pages` has no connection before its database is finished: its clock runs from the start of the load until the file
//! is in its place and synced.

mod insert;
mod pages;
mod parameters;
mod source;
#[cfg(test)]
mod tests;

use std::time::Instant;

use arrow_array::RecordBatch;
use engine::Connection;
use lab::level::Settings;
use lab::trial::Measured;

use self::insert::{Inserted, Inserter};
use self::parameters::{Index, Parameters, Table, Target};
use self::source::Source;
use super::writer::Writer;
use crate::error::Result;
use crate::measure::{CpuTime, LatencyHistogram, Windows};
use crate::target::sqlite::{self, Counts};
use crate::trial::Trial;
use crate::workload::common::{expect, set, set_counts, set_cpu, set_latency, set_peak_memory};
use crate::workload::declared::Declared;
use crate::workload::sums::{Sum, check_sums, sums};

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
        parameters.check(settings)
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
    let loaded = load(connection, trial.settings, parameters, data)?;
    set_counts(measured, counts, connection)?;
    if let Some(source) = source {
        source.detach(connection)?;
    }
    Ok((writer, loaded))
}

/// Does the measured work.
fn load(
    connection: &Connection,
    settings: &Settings,
    parameters: &Parameters,
    data: &mut [i64],
) -> Result<Loaded> {
    let mut histogram = LatencyHistogram::new();
    let piece = parameters.rows_per_statement();
    let mut windows = Windows::new(data.len(), piece, parameters.stop_after);
    let begin = sqlite::begin_statement(settings);
    let mut inserter = Inserter::prepare(connection, parameters, begin)?;
    let cpu_before = CpuTime::now()?;

    let start = Instant::now();
    if parameters.index == Index::BeforeSorted {
        data.sort_unstable();
    }
    windows.start(Instant::now());
    let inserted = inserter.insert_all(data, start, &mut histogram, &mut windows)?;
    let loaded = Instant::now();
    let mut index_s = None;
    if parameters.index == Index::After {
        connection.execute(CREATE_INDEX)?;
        index_s = Some(loaded.elapsed().as_secs_f64());
    }
    let cpu = CpuTime::now()?.since(cpu_before);
    let load_s = loaded.duration_since(start).as_secs_f64();
    Ok(Loaded { inserted, load_s, index_s, cpu, histogram, windows })
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
        measured.windows = self.windows.rates();
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
