//! The parameters of `many-databases`, and what they need of the operating system.

use lab::level::{Level, Settings};
use lab::needs::Needs;

use crate::error::{Result, TrialError};
use crate::parameters::{Limit, Rows};

choice! {
    /// How long a connection is kept.
    enum Connections {
        /// All are opened before the work and closed after it.
        Kept = "kept",
        /// Opened for each transaction or chart, and closed after it.
        EachTime = "each-time",
    }
}

choice! {
    /// Whether something is done.
    enum YesNo {
        /// It is done.
        Yes = "yes",
        /// It is not done.
        No = "no",
    }
}

/// Files and mappings that the process has besides, generously.
const OTHER_FILES: u64 = 64;
const OTHER_MAPPINGS: u64 = 1_000;

/// The size of the shared-memory file of a small write-ahead log, and of one mapping of it.
const SHARED_MEMORY_BYTES: u64 = 32_768;

/// Pages of a database in which a few quotes have been written: header and schema, and the table.
const LEAST_PAGES: u64 = 2;

/// Bytes that a quote takes in its table, about.
const QUOTE_BYTES: u64 = 48;

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Databases, one for each security.
        databases: usize = 100, 1..=1_000_000;
        /// Threads that write, each to its own databases in turn; 0: one thread per database.
        writer_threads as "writers": usize = 8, 0..=1_000_000;
        /// How long a connection is kept.
        connections: Connections = Connections::Kept;
        /// Quotes in each database before the work.
        history: Rows = 500, 1..;
        /// Quotes that one transaction adds to one database.
        rows_per_txn: Rows = 10, 1..;
        /// Threads that read charts meanwhile, each from its own databases.
        chart_threads as "chart_readers": usize = 0, 0..=1_024;
        /// Latest quotes in one chart.
        chart_rows: Rows = 100, 1..;
        /// Whether each database that is kept open gets one transaction before the clock starts, which
        /// in WAL mode creates its log and syncs the log's header.
        warm_up: YesNo = YesNo::Yes;
        /// Time of the work; 0: databases are only opened and closed.
        stop_after as "stop_after_ms": Limit = 500;
    }
}

fn text<'a>(settings: &'a Settings, name: &str) -> Option<&'a str> {
    settings.get(name).and_then(Level::as_text)
}

impl Parameters {
    /// Returns the number of threads that write.
    pub(super) fn writers(&self) -> usize {
        match self.writer_threads {
            0 => self.databases,
            writers => writers.min(self.databases),
        }
    }

    /// Returns the number of threads that read charts.
    pub(super) fn chart_readers(&self) -> usize {
        self.chart_threads.min(self.databases)
    }

    /// Checks the rules between parameters.
    pub(super) fn check(&self, settings: &Settings) -> Result<()> {
        let why = if self.chart_rows > self.history {
            "chart_rows cannot exceed history"
        } else if self.stop_after.is_none() && self.connections == Connections::EachTime {
            "connections = each-time opens connections only during the work: stop_after_ms cannot be 0"
        } else if self.chart_readers() > 0 && text(settings, "locking_mode") == Some("exclusive") {
            "locking_mode = exclusive locks readers out: chart_readers must be 0"
        } else {
            return Ok(());
        };
        Err(TrialError::cannot_run(why))
    }

    /// Returns the needs of a trial with these settings from the operating system.
    pub(super) fn needs(&self, settings: &Settings) -> Needs {
        let databases = self.databases as u64;
        let threads = (self.writers() + self.chart_readers()) as u64;
        let charts = u64::from(self.chart_readers() > 0);
        let (open, connections) = match self.connections {
            Connections::Kept => (databases, databases * (1 + charts)),
            Connections::EachTime => (threads, threads),
        };
        let wal = text(settings, "journal_mode") == Some("wal");
        let number = |name: &str| settings.get(name).and_then(Level::as_int);
        let mapped = u64::from(number("mmap_size").is_some_and(|bytes| bytes > 0));
        let page = number("page_size").map_or(4_096, |bytes| bytes.max(512) as u64);
        let file = (LEAST_PAGES * page).max(self.history as u64 * QUOTE_BYTES);
        let shared_memory = if wal { SHARED_MEMORY_BYTES } else { 0 };
        Needs {
            // Database and log of each connection, and shared memory of each database; or the
            // database, and journals while transactions are open.
            open_files: OTHER_FILES
                + if wal { 2 * connections + open } else { connections + 2 * threads },
            threads: threads + 1,
            // Besides, the stack of a thread and its guard page.
            mappings: u64::from(wal) * open + mapped * connections + 2 * threads + OTHER_MAPPINGS,
            disk_bytes: databases * (file + shared_memory + 2 * page),
            files: databases * if wal { 3 } else { 2 },
        }
    }
}

#[cfg(test)]
mod tests {
    use lab::level::Level;
    use lab::needs::Needs;

    use crate::catalogue;

    fn needed(over: &[(&str, Level)]) -> Needs {
        let catalogue = catalogue();
        let mut settings = catalogue.defaults(catalogue.workload("many-databases").unwrap());
        for (name, level) in over {
            settings.insert((*name).to_owned(), level.clone());
        }
        crate::needs("many-databases", &settings)
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
