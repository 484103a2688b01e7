//! The parameters of `many-databases`, and what they need of the operating system.

use std::time::Duration;

use lab::catalogue::{Accepts, WorkloadInfo};
use lab::level::{Level, Settings};
use lab::needs::Needs;

use crate::error::TrialError;
use crate::settings::Reader;
use crate::workload::common::{by_name, from, names, parameter};

/// How long a connection is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connections {
    /// All are opened before the work and closed after it.
    Kept,
    /// Opened for each transaction or chart, and closed after it.
    EachTime,
}

const CONNECTIONS: &[(&str, Connections)] = &[
    ("kept", Connections::Kept),
    ("each-time", Connections::EachTime),
];

const YES_NO: &[(&str, bool)] = &[("yes", true), ("no", false)];

/// Files and mappings that the process has besides, generously.
const OTHER_FILES: u64 = 64;
const OTHER_MAPPINGS: u64 = 1_000;

/// The size of the shared-memory file of a small write-ahead log, and of one mapping of it.
const SHARED_MEMORY_BYTES: u64 = 32_768;

/// Pages of a database in which a few quotes have been written: header and schema, and the table.
const LEAST_PAGES: u64 = 2;

/// Bytes that a quote takes in its table, about.
const QUOTE_BYTES: u64 = 48;

/// The parameters of one trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    pub(super) databases: usize,
    pub(super) writers: usize,
    pub(super) chart_readers: usize,
    pub(super) connections: Connections,
    pub(super) history: usize,
    pub(super) rows_per_txn: usize,
    pub(super) chart_rows: usize,
    pub(super) warm_up: bool,
    pub(super) stop_after: Option<Duration>,
}

impl Parameters {
    /// # Errors
    /// A setting is missing or of the wrong kind, or the settings do not go together.
    pub(super) fn read(settings: &Settings) -> Result<Parameters, TrialError> {
        let reader = Reader(settings);
        let databases = reader.count("databases")?;
        let writers = match reader.count("writers")? {
            0 => databases,
            writers => writers.min(databases),
        };
        let stop_after = reader.count("stop_after_ms")? as u64;
        let parameters = Parameters {
            databases,
            writers,
            chart_readers: reader.count("chart_readers")?.min(databases),
            connections: reader.name("connections", |name| by_name(CONNECTIONS, name))?,
            history: reader.count("history")?,
            rows_per_txn: reader.count("rows_per_txn")?,
            chart_rows: reader.count("chart_rows")?,
            warm_up: reader.name("warm_up", |name| by_name(YES_NO, name))?,
            stop_after: (stop_after > 0).then(|| Duration::from_millis(stop_after)),
        };
        parameters.check(settings)?;
        Ok(parameters)
    }

    fn check(&self, settings: &Settings) -> Result<(), TrialError> {
        let cannot = |why: &str| Err(TrialError::CannotRun(why.to_owned()));
        if self.chart_rows > self.history {
            return cannot("a chart cannot show more rows than the history has from the beginning");
        }
        if self.stop_after.is_none() && self.connections == Connections::EachTime {
            return cannot(
                "without work (stop_after_ms = 0) no connection would be opened: keep them",
            );
        }
        if self.chart_readers > 0 && text(settings, "locking_mode") == Some("exclusive") {
            return cannot("locking_mode = exclusive lets no reader in beside the writer");
        }
        Ok(())
    }
}

fn text<'a>(settings: &'a Settings, name: &str) -> Option<&'a str> {
    settings.get(name).and_then(Level::as_text)
}

/// What a trial with these settings needs of the operating system.
pub(super) fn needs(settings: &Settings) -> Needs {
    // Settings that cannot be read are an outcome of the trial, which says so.
    let Ok(parameters) = Parameters::read(settings) else {
        return Needs::default();
    };
    let databases = parameters.databases as u64;
    let threads = (parameters.writers + parameters.chart_readers) as u64;
    let charts = u64::from(parameters.chart_readers > 0);
    let (open, connections) = match parameters.connections {
        Connections::Kept => (databases, databases * (1 + charts)),
        Connections::EachTime => (threads, threads),
    };
    let wal = text(settings, "journal_mode") == Some("wal");
    let mapped = settings.get("mmap_size").and_then(Level::as_int);
    let mapped = u64::from(mapped.is_some_and(|bytes| bytes > 0));
    let page = settings.get("page_size").and_then(Level::as_int);
    let page = page.map_or(4_096, |bytes| bytes.max(512) as u64);
    let file = (LEAST_PAGES * page).max(parameters.history as u64 * QUOTE_BYTES);
    let shared_memory = if wal { SHARED_MEMORY_BYTES } else { 0 };
    Needs {
        // Database and log of each connection, and shared memory of each database; or the database,
        // and journals while transactions are open.
        open_files: match wal {
            true => 2 * connections + open,
            false => connections + 2 * threads,
        } + OTHER_FILES,
        threads: threads + 1,
        // Besides, the stack of a thread and its guard page.
        mappings: u64::from(wal) * open + mapped * connections + 2 * threads + OTHER_MAPPINGS,
        disk_bytes: databases * (file + shared_memory + 2 * page),
        files: databases * if wal { 3 } else { 2 },
    }
}

/// The description of the workload.
pub(super) fn info() -> WorkloadInfo {
    let up_to = |min, max| Accepts::Int { min, max };
    WorkloadInfo {
        name: "many-databases".to_owned(),
        about: "one database for each security, all written at the same time: each transaction adds quotes to quotes(ts INTEGER PRIMARY KEY, bid REAL, ask REAL, last REAL, volume INTEGER, venue TEXT) of one of them; charts of the latest quotes may be read meanwhile".to_owned(),
        parameters: vec![
            parameter("databases", up_to(1, 1_000_000), 100.into(), "databases, one for each security"),
            parameter(
                "writers",
                up_to(0, 1_000_000),
                8.into(),
                "threads that write, each to databases of its own in turn; 0: one thread for each database",
            ),
            parameter(
                "connections",
                names(CONNECTIONS),
                "kept".into(),
                "whether connections are opened before the work and kept, or opened for each transaction or chart and closed after it",
            ),
            parameter("history", from(1), 500.into(), "quotes that each database holds before the work"),
            parameter("rows_per_txn", from(1), 10.into(), "quotes that one transaction adds to one database"),
            parameter("chart_readers", up_to(0, 1_024), 0.into(), "threads that read charts meanwhile, each of databases of its own"),
            parameter("chart_rows", from(1), 100.into(), "latest quotes in one chart"),
            parameter(
                "warm_up",
                names(YES_NO),
                "yes".into(),
                "whether each database that is kept open gets a first transaction before the clock starts: in WAL mode that makes its log and syncs the header of it, once",
            ),
            parameter(
                "stop_after_ms",
                from(0),
                500.into(),
                "milliseconds of work; 0: the databases are opened and closed only",
            ),
        ],
        phases: ["open", "close", "write", "read"].map(str::to_owned).to_vec(),
        counts: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    fn needed(over: &[(&str, Level)]) -> Needs {
        let catalogue = catalogue();
        let mut settings = catalogue.defaults(catalogue.workload("many-databases").unwrap());
        for (name, level) in over {
            settings.insert((*name).to_owned(), level.clone());
        }
        needs(&settings)
    }

    #[test]
    fn a_database_in_wal_mode_needs_three_files_and_one_mapping() {
        let wal = ("journal_mode", Level::from("wal"));
        let few = needed(&[("databases", 100.into()), wal.clone()]);
        let many = needed(&[("databases", 55_000.into()), wal.clone()]);
        assert_eq!(many.open_files - few.open_files, 3 * 54_900);
        assert_eq!(many.mappings - few.mappings, 54_900);
        assert!(many.disk_bytes > 55_000 * 32_768);
        let charts = needed(&[("databases", 100.into()), wal, ("chart_readers", 2.into())]);
        assert_eq!(charts.open_files - few.open_files, 200);
        assert_eq!(charts.mappings - few.mappings, 2 * 2);
    }

    #[test]
    fn connections_that_are_not_kept_need_files_for_the_threads_alone() {
        let each_time = ("connections", Level::from("each-time"));
        let few = needed(&[("databases", 100.into()), each_time.clone()]);
        let many = needed(&[("databases", 55_000.into()), each_time]);
        assert_eq!(few.open_files, many.open_files);
    }

    #[test]
    fn a_thread_for_each_database_is_counted() {
        let needs = needed(&[("databases", 3_000.into()), ("writers", 0.into())]);
        assert_eq!(needs.threads, 3_001);
    }
}
