//! Parts that several workloads share: reading the clocks, adding figures, checking results, and closing a database with
//! its last figures.
//!
//! Sums over the columns of a table: computed of the data and by SQLite, they must be equal.

use std::array::from_fn;
use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;
use std::time::Instant;

use engine::{Connection, Value};
use lab::trial::Measured;

use crate::error::{Result, TrialError};
use crate::measure::{CpuTime, LatencyHistogram, peak_memory_bytes};
use crate::target::sqlite::{self, Counts};
use crate::trial::Trial;

/// Names of statements that were given none.
#[derive(Default)]
pub(crate) struct StatementNames(HashMap<String, u32>);

impl StatementNames {
    /// Returns a unique name for a statement: its label, with a number if other statements have the same label.
    pub(crate) fn name(&mut self, sql: &str) -> String {
        let label = script::effect::label(sql);
        let count = self.0.entry(label.clone()).or_default();
        *count += 1;
        match count {
            1 => label,
            count => format!("{label}_{count}"),
        }
    }
}

/// Host parameters that one statement may have in every SQLite since 3.32
/// (<https://sqlite.org/limits.html>, section 9).
pub(crate) const MAX_HOST_PARAMETERS: usize = 32_766;

/// Refuses a statement of more host parameters than there can be.
pub(crate) fn check_host_parameters(values: usize, rows: &str) -> Result<()> {
    if values > MAX_HOST_PARAMETERS {
        Err(TrialError::cannot_run(format!(
            "{rows} need {values} parameters, but a statement can have {MAX_HOST_PARAMETERS}"
        )))
    } else {
        Ok(())
    }
}

/// Bytes in a mebibyte.
pub(crate) const MIB: f64 = 1_048_576.0;

/// Wall-clock and CPU time of the measured work.
pub(crate) struct Stopwatch {
    cpu: CpuTime,
    start: Instant,
}

/// Times measured by a [`Stopwatch`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Elapsed {
    pub(crate) seconds: f64,
    cpu: CpuTime,
}

impl Stopwatch {
    /// Starts; the clock is read last.
    pub(crate) fn start() -> Result<Stopwatch> {
        let cpu = CpuTime::now()?;
        Ok(Stopwatch { cpu, start: Instant::now() })
    }

    /// Returns the moment at which the clock was started.
    pub(crate) fn started(&self) -> Instant {
        self.start
    }

    /// Stops; the clock is read first.
    pub(crate) fn stop(self) -> Result<Elapsed> {
        // Work shorter than the clock can tell has no rate; a nanosecond keeps it finite.
        let seconds = self.start.elapsed().as_secs_f64().max(1e-9);
        Ok(Elapsed { seconds, cpu: CpuTime::now()?.since(self.cpu) })
    }
}

impl Elapsed {
    /// Adds another part of the work.
    pub(crate) fn add(&mut self, other: Elapsed) {
        self.seconds += other.seconds;
        self.cpu = self.cpu.plus(other.cpu);
    }

    /// Returns the times, and the rate for this number of rows.
    pub(crate) fn measured(&self, rows: usize) -> Measured {
        let mut measured = self.times();
        set(&mut measured, "rows_per_s", rows as f64 / self.seconds);
        measured
    }

    /// Returns the times alone.
    pub(crate) fn times(&self) -> Measured {
        let mut measured = Measured::default();
        set(&mut measured, "seconds", self.seconds);
        set_cpu(&mut measured, self.cpu);
        measured
    }

    /// Returns the rate for this number of bytes, in mebibytes a second.
    pub(crate) fn mib_per_s(&self, bytes: f64) -> f64 {
        bytes / MIB / self.seconds
    }
}

/// Notes a figure.
pub(crate) fn set(measured: &mut Measured, metric: &str, value: f64) {
    measured.metrics.insert(metric.to_owned(), value);
}

/// Notes CPU time.
pub(crate) fn set_cpu(measured: &mut Measured, cpu: CpuTime) {
    set(measured, "cpu_user_s", cpu.user);
    set(measured, "cpu_system_s", cpu.system);
}

/// Adds to a figure.
pub(crate) fn add(measured: &mut Measured, metric: &str, value: f64) {
    *measured.metrics.entry(metric.to_owned()).or_default() += value;
}

/// Notes the largest resident set so far, if the system reports it. Call it before the result is verified, which may take
/// memory of its own.
pub(crate) fn set_peak_memory(measured: &mut Measured) {
    if let Some(bytes) = peak_memory_bytes() {
        set(measured, "peak_memory_bytes", bytes);
    }
}

/// Notes the size of a database in a file per row, once it is closed.
pub(crate) fn set_bytes_per_row(measured: &mut Measured, rows: usize) {
    if let Some(bytes) = measured.metrics.get("db_bytes").copied() {
        set(measured, "bytes_per_row", bytes / rows as f64);
    }
}

/// Notes the counts of the work of one connection so far, in a counting trial.
pub(crate) fn set_counts(
    measured: &mut Measured,
    counts: Option<Counts>,
    connection: &Connection,
) -> Result<()> {
    if let Some(counts) = counts {
        measured.metrics.extend(counts.end(connection)?);
    }
    Ok(())
}

/// Notes latencies: percentiles, and the whole distribution.
pub(crate) fn set_latency(measured: &mut Measured, histogram: &LatencyHistogram) -> Result<()> {
    measured.metrics.extend(histogram.metrics());
    measured.latency = Some(histogram.latency()?);
    Ok(())
}

/// Checks a part of the result: fast but wrong is a failed trial.
pub(crate) fn expect<T: PartialEq + Display>(what: &str, found: T, wanted: T) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(TrialError::wrong(what, found.to_string(), wanted.to_string()))
}

/// Reads back the PRAGMAs, closes the connection, and notes how long closing took and how large the files are. `file` is `None`
/// for a database in memory.
pub(crate) fn close(
    connection: Connection,
    file: Option<&Path>,
    measured: &mut Measured,
) -> Result<()> {
    measured.connections.push(sqlite::read_back("writer", &connection)?);
    if let Some(path) = file {
        set(measured, "wal_bytes", sqlite::wal_size(path)?);
    }
    let closing = Instant::now();
    connection.close()?;
    set(measured, "close_s", closing.elapsed().as_secs_f64());
    if let Some(path) = file {
        set(measured, "db_bytes", sqlite::size(path)?);
    }
    Ok(())
}

/// As [`close`] for several databases, whose times and sizes are added up. Connections are named `name`, or `name 1`, `name 2`
/// and so on.
pub(crate) fn close_all(
    name: &str,
    connections: Vec<Connection>,
    files: &[impl AsRef<Path>],
    measured: &mut Measured,
) -> Result<()> {
    let several = connections.len() > 1;
    let mut sums: [(&str, f64); 3] = [("wal_bytes", 0.0), ("close_s", 0.0), ("db_bytes", 0.0)];
    for (number, (connection, file)) in connections.into_iter().zip(files).enumerate() {
        let mut one = Measured::default();
        close(connection, Some(file.as_ref()), &mut one)?;
        for mut read_back in one.connections {
            read_back.connection =
                if several { format!("{name} {}", number + 1) } else { name.to_owned() };
            measured.connections.push(read_back);
        }
        for (metric, sum) in &mut sums {
            *sum += one.metrics[*metric];
        }
    }
    for (metric, sum) in sums {
        set(measured, metric, sum);
    }
    Ok(())
}

/// Refuses a counting trial of work that does not go through SQLite's file system.
pub(crate) fn refuse_counting(trial: &Trial<'_>, why: &str) -> Result<()> {
    if trial.counter.is_some() { Err(TrialError::cannot_run(why)) } else { Ok(()) }
}

/// Refuses an engine that allows one connection at a time.
pub(crate) fn refuse_single_threaded(trial: &Trial<'_>) -> Result<()> {
    match trial.library.identity().threadsafe {
        0 => Err(TrialError::cannot_run(
            "this engine was compiled with THREADSAFE=0, which allows one connection per process at a time",
        )),
        _ => Ok(()),
    }
}

/// The name of a sum, and SQLite's expression for it.
pub(super) type Sum = (&'static str, &'static str);

/// Returns the sums of rows, column by column.
pub(super) fn sums<const N: usize>(rows: impl Iterator<Item = [i64; N]>) -> [i64; N] {
    rows.fold([0; N], |sums, row| from_fn(|column| sums[column] + row[column]))
}

/// Checks the sums of a table. `from` follows FROM, and `ending` ends the name of each sum. A sum over no row, which is NULL in
/// SQLite, counts as 0.
pub(super) fn check_sums(
    connection: &Connection,
    sums: &[Sum],
    (from, ending): (&str, &str),
    wanted: &[i64],
) -> Result<()> {
    let columns: Vec<&str> = sums.iter().map(|(_, sql)| *sql).collect();
    let sql = format!("SELECT {} FROM {from}", columns.join(", "));
    let found = connection.query_all(&sql)?.into_iter().flatten();
    for (((what, _), wanted), found) in sums.iter().zip(wanted).zip(found) {
        let what = format!("{what}{ending}");
        match found {
            Value::Integer(found) => expect(&what, found, *wanted)?,
            Value::Null => expect(&what, 0, *wanted)?,
            other => return Err(TrialError::wrong(what, format!("{other:?}"), "an integer")),
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::catalogue;
    use crate::workload;
    use engine::vfs::CountingVfs;
    use engine::{Library, OpenFlags, Source};
    use lab::level::Level;
    use lab::seed::Seed;
    use std::sync::Arc;

    /// Runs a workload with its defaults and these settings on top.
    pub(in crate::workload) fn run(workload: &str, over: &[(&str, Level)]) -> Result<Measured> {
        run_in(tempfile::tempdir().unwrap().path(), workload, over)
    }

    /// As [`run`], in this directory.
    pub(in crate::workload) fn run_in(
        directory: &Path,
        workload: &str,
        over: &[(&str, Level)],
    ) -> Result<Measured> {
        run_with(directory, workload, over, |_| None)
    }

    /// As [`run`], seen through the counters of a counting trial.
    pub(in crate::workload) fn run_counting(
        workload: &str,
        over: &[(&str, Level)],
    ) -> Result<Measured> {
        run_with(tempfile::tempdir().unwrap().path(), workload, over, |library| {
            Some(Arc::new(CountingVfs::register(library, None).unwrap()))
        })
    }

    fn run_with(
        directory: &Path,
        workload: &str,
        over: &[(&str, Level)],
        counter: impl Fn(&Arc<Library>) -> Option<Arc<CountingVfs>>,
    ) -> Result<Measured> {
        let catalogue = catalogue();
        let mut settings = catalogue.defaults(catalogue.workload(workload).unwrap());
        for (name, level) in over {
            settings.insert((*name).to_owned(), level.clone());
        }
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let mut trial = Trial {
            settings: &settings,
            counter: counter(&library),
            library,
            directory,
            seed: Seed(11),
            postgres: None,
            artifacts: None,
            tests_open: true,
            phase: &mut |_| {},
        };
        workload::find(workload).unwrap().run(&mut trial)
    }

    /// Returns a database in memory with this schema.
    pub(in crate::workload) fn memory_database(schema: &str) -> Connection {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let path = Path::new(":memory:");
        let connection = Connection::open(&library, path, OpenFlags::default(), None).unwrap();
        connection.execute(schema).unwrap();
        connection
    }

    /// Returns why the workload cannot be run with these settings, or what went wrong.
    pub(in crate::workload) fn problem(workload: &str, over: &[(&str, Level)]) -> String {
        run(workload, over).expect_err("a problem").to_string()
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        assert!(expect("the count", 3, 3).is_ok());
        let error = expect("the count", 2, 3).unwrap_err().to_string();
        assert_eq!(error, "wrong result: the count is 2 instead of 3");
    }

    #[test]
    fn a_stopwatch_measures_the_time_between() {
        let watch = Stopwatch::start().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let elapsed = watch.stop().unwrap();
        assert!(elapsed.seconds >= 0.005);
        assert!(elapsed.measured(10).metrics["rows_per_s"] <= 2_000.0);
        assert!((elapsed.mib_per_s(MIB) - 1.0 / elapsed.seconds).abs() < 1e-9);
    }
}
