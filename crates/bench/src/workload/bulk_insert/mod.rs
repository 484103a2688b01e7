//! Integers into one table: how transactions, statements, methods, keys and indexes govern the
//! rate.
//!
//! The clock runs from the first statement after the table was made to the end of the last commit
//! or index build; connecting, making the table, preparing what is reused, generating the data or
//! the database to copy from, verifying the result and closing the connection are outside and,
//! where they take time, reported apart. For the target `pages`, whose database has no connection
//! before it is finished, the clock runs from its making to its being in place, synced.

mod insert;
mod method;
mod pages;
mod parameters;
mod rows;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod verify;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use arrow_array::RecordBatch;
use engine::Connection;
use lab::level::Settings;
use lab::trial::Measured;

use self::insert::Inserted;
use self::parameters::{Index, Parameters, Target};
use self::source::Source;
use super::common::{close, set, set_bytes_per_row, set_cpu, set_latency, set_peak_memory};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::measure::{CpuTime, LatencyHistogram, Windows};
use crate::target::sqlite;

/// The workload `bulk-insert`.
pub(super) struct BulkInsert;

const CREATE_INDEX: &str = "CREATE INDEX idx_integers_value ON integers(value)";

/// The name that it makes.
const INDEX: &str = "idx_integers_value";

impl Declared for BulkInsert {
    const NAME: &'static str = "bulk-insert";
    const ABOUT: &'static str = "Inserts integers into one table.";
    const PHASES: &'static [&'static str] = &["load", "index"];
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<(), TrialError> {
        parameters.check(settings)
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        match parameters.target {
            Target::Sqlite => parameters.method.check_engine(&trial.library)?,
            Target::Pages => pages::check(trial, parameters)?,
        }
        (trial.phase)("generate");
        let generating = Instant::now();
        let mut data = parameters.generate(trial.seed)?;
        let prepared = Prepared::of(trial, parameters, &data)?;
        let generate_s = generating.elapsed().as_secs_f64();

        (trial.phase)("load");
        let path = trial.directory.join("test.db");
        let loaded = prepared.load(trial, parameters, &mut data, &path)?;
        let rows = loaded.work.inserted.rows;
        let mut measured = loaded.work.measured(parameters)?;
        set(&mut measured, "generate_s", generate_s);
        set_peak_memory(&mut measured);
        measured.metrics.extend(loaded.counts);

        (trial.phase)("verify");
        verify::check(&loaded.connection, &data[..rows], parameters)?;
        close(loaded.connection, Some(&path), &mut measured)?;
        set_bytes_per_row(&mut measured, rows);
        Ok(measured)
    }
}

/// What is made for a target before the clock starts.
enum Prepared {
    /// For SQLite: the database to copy from, where the method does.
    Sql(Option<Source>),
    /// For the page writer: the rows in batches.
    Pages(Vec<RecordBatch>),
}

/// A database with its rows, and what it took.
struct Loaded {
    connection: Connection,
    work: Work,
    counts: BTreeMap<String, f64>,
}

impl Prepared {
    fn of(
        trial: &Trial<'_>,
        parameters: &Parameters,
        data: &[i64],
    ) -> Result<Prepared, TrialError> {
        match parameters.target {
            Target::Sqlite => Source::of(trial, parameters, data).map(Prepared::Sql),
            Target::Pages => pages::batches(data).map(Prepared::Pages),
        }
    }

    fn load(
        self,
        trial: &Trial<'_>,
        parameters: &Parameters,
        data: &mut [i64],
        path: &Path,
    ) -> Result<Loaded, TrialError> {
        match self {
            Prepared::Sql(source) => load_by_sql(trial, parameters, source, data, path),
            Prepared::Pages(batches) => {
                let work = pages::work(trial, parameters, batches, path)?;
                Ok(Loaded { connection: sqlite::open(trial, path)?, work, counts: BTreeMap::new() })
            }
        }
    }
}

fn load_by_sql(
    trial: &Trial<'_>,
    parameters: &Parameters,
    source: Option<Source>,
    data: &mut [i64],
    path: &Path,
) -> Result<Loaded, TrialError> {
    let connection = open(trial, parameters, path, source.as_ref())?;
    let counts = sqlite::Counts::begin(trial, &connection)?;
    let work = work(&connection, trial, parameters, data)?;
    let counts = counts.map(|counts| counts.end(&connection)).transpose()?;
    source.map_or(Ok(()), |source| source.detach(&connection))?;
    Ok(Loaded { connection, work, counts: counts.unwrap_or_default() })
}

/// A connection to a new database with the table, and with the index and the source that the
/// parameters ask for.
fn open(
    trial: &Trial<'_>,
    parameters: &Parameters,
    path: &Path,
    source: Option<&Source>,
) -> Result<Connection, TrialError> {
    let connection = sqlite::open(trial, path)?;
    connection.execute(parameters.table.create())?;
    if parameters.index.is_before() {
        connection.execute(CREATE_INDEX)?;
    }
    source.map_or(Ok(()), |source| source.attach(&connection))?;
    Ok(connection)
}

/// What was done between the clock's start and stop.
struct Work {
    inserted: Inserted,
    load_s: f64,
    index_s: Option<f64>,
    cpu: CpuTime,
    histogram: LatencyHistogram,
    windows: Windows,
}

/// The measured work.
fn work(
    connection: &Connection,
    trial: &Trial<'_>,
    parameters: &Parameters,
    data: &mut [i64],
) -> Result<Work, TrialError> {
    let mut histogram = LatencyHistogram::new();
    let piece = parameters.rows_per_statement();
    let mut windows = Windows::new(data.len(), piece, parameters.stop_after);
    let begin = sqlite::begin_statement(trial.settings);
    let mut inserter = insert::Inserter::prepare(connection, parameters, begin)?;
    let cpu_before = CpuTime::now()?;

    let start = Instant::now();
    if parameters.index == Index::BeforeSorted {
        data.sort_unstable();
    }
    windows.start(Instant::now());
    let inserted = inserter.insert_all(data, start, &mut histogram, &mut windows)?;
    let loaded = Instant::now();
    let index_s = match parameters.index {
        Index::After => {
            connection.execute(CREATE_INDEX)?;
            Some(loaded.elapsed().as_secs_f64())
        }
        _ => None,
    };
    let cpu = CpuTime::now()?.since(cpu_before);
    let load_s = loaded.duration_since(start).as_secs_f64();
    Ok(Work { inserted, load_s, index_s, cpu, histogram, windows })
}

impl Work {
    fn measured(self, parameters: &Parameters) -> Result<Measured, TrialError> {
        let seconds = self.load_s + self.index_s.unwrap_or_default();
        let mut measured = Measured::default();
        let transactions = self.inserted.transactions as f64;
        for (metric, value) in [
            ("seconds", seconds),
            ("seconds.load", self.load_s),
            ("rows_per_s", self.inserted.rows as f64 / seconds),
            ("txns_per_s", transactions / self.load_s),
        ] {
            set(&mut measured, metric, value);
        }
        set_cpu(&mut measured, self.cpu);
        if let Some(index_s) = self.index_s {
            set(&mut measured, "seconds.index", index_s);
        }
        // One transaction has a duration, but no distribution of latencies.
        if parameters.rows_per_txn.is_some() {
            set_latency(&mut measured, &self.histogram)?;
        }
        measured.windows = self.windows.rates();
        Ok(measured)
    }
}
