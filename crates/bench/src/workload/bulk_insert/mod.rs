//! Rows into one table: how transactions, statements and indexes govern the rate.
//!
//! The clock runs from the first statement after the table was made to the end of the last commit
//! or index build; connecting, making the table, preparing what is reused, generating the data,
//! verifying the result and closing the connection are outside and, where they take time, reported
//! apart.

mod insert;
mod parameters;
mod verify;

use std::time::Instant;

use engine::Connection;
use lab::catalogue::WorkloadInfo;
use lab::trial::Measured;

use self::insert::Inserted;
use self::parameters::{Index, Parameters};
use super::{Trial, Workload};
use crate::error::TrialError;
use crate::measure::{CpuTime, LatencyHistogram, Windows, peak_memory_bytes};
use crate::target::sqlite;

/// The workload `bulk-insert`.
pub(super) struct BulkInsert;

const CREATE_TABLE: &str = "CREATE TABLE integers(value INTEGER)";
const CREATE_INDEX: &str = "CREATE INDEX idx_integers_value ON integers(value)";

impl Workload for BulkInsert {
    fn info(&self) -> WorkloadInfo {
        parameters::info()
    }

    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured, TrialError> {
        let parameters = Parameters::read(trial.settings)?;
        (trial.phase)("generate");
        let generating = Instant::now();
        let mut data = parameters.values.generate(parameters.rows, trial.seed);
        let generate_s = generating.elapsed().as_secs_f64();

        (trial.phase)("load");
        let path = trial.directory.join("test.db");
        let connection = sqlite::open(trial, &path)?;
        connection.execute(CREATE_TABLE)?;
        if parameters.index.is_before() {
            connection.execute(CREATE_INDEX)?;
        }
        let counts = sqlite::Counts::begin(trial, &connection)?;
        let work = work(&connection, trial, &parameters, &mut data)?;
        let counts = counts.map(|counts| counts.end(&connection)).transpose()?;

        (trial.phase)("verify");
        verify::check(&connection, &data[..work.inserted.rows], parameters.index)?;
        let wal_bytes = sqlite::size(&path.with_file_name("test.db-wal"))?;
        let read_back = sqlite::read_back("writer", &connection)?;
        let closing = Instant::now();
        connection.close()?;
        let close_s = closing.elapsed().as_secs_f64();
        let db_bytes = sqlite::size(&path)?;

        let mut measured = work.measured(&parameters)?;
        let rows = work.inserted.rows as f64;
        measured.metrics.extend([
            ("generate_s".to_owned(), generate_s),
            ("close_s".to_owned(), close_s),
            ("db_bytes".to_owned(), db_bytes),
            ("wal_bytes".to_owned(), wal_bytes),
            ("bytes_per_row".to_owned(), db_bytes / rows),
        ]);
        measured
            .metrics
            .extend(peak_memory_bytes().map(|bytes| ("peak_memory_bytes".to_owned(), bytes)));
        measured.metrics.extend(counts.unwrap_or_default());
        measured.connections.push(read_back);
        measured.windows = work.windows.rates();
        Ok(measured)
    }
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
    let mut histogram = LatencyHistogram::new()?;
    let mut windows = Windows::new(
        data.len(),
        parameters.rows_per_statement,
        parameters.stop_after,
    );
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
    Ok(Work {
        inserted,
        load_s,
        index_s,
        cpu,
        histogram,
        windows,
    })
}

impl Work {
    fn measured(&self, parameters: &Parameters) -> Result<Measured, TrialError> {
        let seconds = self.load_s + self.index_s.unwrap_or_default();
        let mut measured = Measured::default();
        measured.metrics.extend([
            ("seconds".to_owned(), seconds),
            ("seconds.load".to_owned(), self.load_s),
            ("rows_per_s".to_owned(), self.inserted.rows as f64 / seconds),
            (
                "txns_per_s".to_owned(),
                self.inserted.transactions as f64 / self.load_s,
            ),
            ("cpu_user_s".to_owned(), self.cpu.user),
            ("cpu_system_s".to_owned(), self.cpu.system),
        ]);
        measured.metrics.extend(
            self.index_s
                .map(|index_s| ("seconds.index".to_owned(), index_s)),
        );
        // One transaction has a duration, but no distribution of latencies.
        if parameters.rows_per_txn.is_some() {
            measured.metrics.extend(self.histogram.metrics());
            measured.latency = Some(self.histogram.latency()?);
        }
        Ok(measured)
    }
}
