//! One database for each of many securities, written by one thread each or by a few, with charts read meanwhile: the
//! workload of an application that gives each customer, device or instrument a database of its own.
//!
//! The cost of opening and closing a database is measured one by one, and so is the number of its file handles. Then
//! transactions go round the databases for a fixed time. Every quote that was acknowledged must be in its database.
//!
//! The parameters of `many-databases`, and what they need of the operating system.

mod client;
mod quotes;
mod session;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::pragma::{self, PragmaError};

use self::client::{Client, Databases, Job, Latencies, Throughput, Work};
use self::quotes::{Quotes, Sums};
use crate::generate::Quote;
use crate::parameters::Limit;
use crate::platform::open_files;
use crate::target::sqlite::{Counts, Opening};
use crate::workload::prelude::*;

/// The workload `many-databases`.
pub(super) struct ManyDatabases;

const CREATE_TABLE: &str = "CREATE TABLE quotes(ts INTEGER PRIMARY KEY, bid REAL, ask REAL, last REAL, volume INTEGER, venue TEXT)";

/// Parts of the time for the throughput over time.
const SLOTS: u32 = 100;

/// Databases in one directory at most: some file systems slow down with more.
const PER_DIRECTORY: usize = 1_000;

impl Declared for ManyDatabases {
    const NAME: &'static str = "many-databases";
    const ABOUT: &'static str = "One database per security, all written at the same time: each transaction adds quotes to quotes(ts INTEGER PRIMARY KEY, bid REAL, ask REAL, last REAL, volume INTEGER, venue TEXT) of one of them. Charts of the latest quotes may be read meanwhile.";
    const PHASES: &'static [&'static str] = &["open", "close", "write", "read"];
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        let why = if parameters.chart_rows > parameters.history {
            "chart_rows cannot exceed history"
        } else if parameters.stop_after.is_none() && parameters.connections == Connections::EachTime
        {
            "connections = each-time opens connections only during the work: stop_after_ms cannot be 0"
        } else if parameters.chart_readers() > 0
            && text(settings, "locking_mode") == Some("exclusive")
        {
            "locking_mode = exclusive locks readers out: chart_readers must be 0"
        } else {
            return Ok(());
        };
        Err(TrialError::cannot_run(why))
    }

    fn needs(parameters: &Parameters, settings: &Settings) -> Needs {
        let databases = parameters.databases as u64;
        let threads = (parameters.writers() + parameters.chart_readers()) as u64;
        let charts = u64::from(parameters.chart_readers() > 0);
        let (open, connections) = match parameters.connections {
            Connections::Kept => (databases, databases * (1 + charts)),
            Connections::EachTime => (threads, threads),
        };
        let wal = text(settings, "journal_mode") == Some("wal");
        let number = |name: &str| settings.get(name).and_then(Level::as_int);
        let mapped = u64::from(number("mmap_size").is_some_and(|bytes| bytes > 0));
        let page = number("page_size").map_or(4_096, |bytes| bytes.max(512) as u64);
        let file = (LEAST_PAGES * page).max(parameters.history as u64 * QUOTE_BYTES);
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

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        refuse_single_threaded(trial)?;
        (trial.phase)("create");
        let history = Sums::default().with(history(trial, parameters));
        let session = create(trial, parameters)?;
        let mut measured = Measured::default();
        let before = open_files();
        let mut counts = Counts::of(trial.counter.as_ref(), &[])?;

        (trial.phase)("open");
        let clients = session.open_all(clients(trial, parameters, &history), &mut measured)?;
        session.note_files(before, &mut measured);
        let worked = match parameters.stop_after {
            Some(time) => {
                (trial.phase)("work");
                let worked = session.work(clients, time, counts.as_mut(), &mut measured)?;
                note_counts(counts.take(), &mut measured)?;
                worked
            }
            None => clients.into_iter().map(Work::idle).collect(),
        };
        session.note_files(before, &mut measured);
        set_peak_memory(&mut measured);
        session.read_back(&worked, &mut measured)?;

        (trial.phase)("close");
        let done = session.close(worked, &mut measured)?;
        note_counts(counts.take(), &mut measured)?;
        (trial.phase)("verify");
        session.verify(trial, &history, &done)?;
        session.note_sizes(&mut measured)?;
        session.note_latencies(&mut measured)?;
        Ok(measured)
    }
}

/// Returns the quotes that every database holds before the work.
fn history(trial: &Trial<'_>, parameters: &Parameters) -> impl Iterator<Item = Quote> {
    Quotes::new(trial.seed.child("history"), 0).take(parameters.history)
}

/// Returns the quotes that are added to one database.
fn coming(seed: Seed, history: &Sums, database: usize) -> Quotes {
    Quotes::new(seed.child("quotes").nth(database as u64), history.latest)
}

/// Creates one database with every setting proved, and copies its file for all, because creating them is not measured.
fn create(trial: &Trial<'_>, parameters: &Parameters) -> Result<Databases> {
    let template = trial.directory.join("template.db");
    let connection = sqlite::open(trial, &template)?;
    fill(trial, parameters, &connection)?;
    let proof = named_settings(trial.settings, &connection)?;
    connection.close()?;
    let paths: Vec<PathBuf> =
        (0..parameters.databases).map(|number| path_of(trial.directory, number)).collect();
    for path in &paths {
        copy(&template, path)?;
    }
    Ok(Databases {
        parameters: *parameters,
        opening: Opening::of(trial)?,
        paths,
        begin: sqlite::begin_statement(trial.settings),
        proof,
        latencies: std::array::from_fn(|_| Latencies::new()),
        throughput: Throughput::new(parameters.stop_after.unwrap_or_default(), SLOTS),
    })
}

fn fill(trial: &Trial<'_>, parameters: &Parameters, connection: &Connection) -> Result<()> {
    connection.execute(CREATE_TABLE)?;
    connection.execute("BEGIN")?;
    let mut insert = connection.prepare(quotes::INSERT)?;
    for quote in history(trial, parameters) {
        quotes::insert(&quote, &mut insert)?;
    }
    Ok(connection.execute("COMMIT")?)
}

fn path_of(directory: &Path, number: usize) -> PathBuf {
    directory.join(format!("{:04}", number / PER_DIRECTORY)).join(format!("{number:07}.db"))
}

fn copy(template: &Path, path: &Path) -> Result<()> {
    let io = TrialError::io("create the database", path);
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(&io)?;
    }
    std::fs::copy(template, path).map_err(&io)?;
    Ok(())
}

/// Returns the PRAGMAs that the settings name, as the connection answers them, without those that cannot be read.
fn named_settings(
    settings: &Settings,
    connection: &Connection,
) -> Result<BTreeMap<String, String>> {
    let read = |name: &String| match pragma::read(connection, name) {
        Ok(value) => Some(Ok((name.clone(), value))),
        Err(EngineError::Pragma(PragmaError::NotReadable(_))) => None,
        Err(error) => Some(Err(error.into())),
    };
    settings.keys().filter(|name| pragma::find(name).is_some()).filter_map(read).collect()
}

/// Returns the threads: each database has one writer and, if charts are read, one reader.
fn clients(trial: &Trial<'_>, parameters: &Parameters, history: &Sums) -> Vec<Client> {
    let (writers, readers) = (parameters.writers(), parameters.chart_readers());
    let share = |number: usize, of: usize| -> Vec<usize> {
        (number..parameters.databases).step_by(of).collect()
    };
    let writer = |number: usize| {
        let databases = share(number, writers);
        let coming = databases.iter().map(|database| coming(trial.seed, history, *database));
        Client { number, job: Job::Write(coming.collect()), databases, connections: Vec::new() }
    };
    let charts = trial.seed.child("charts");
    let reader = |number: usize| Client {
        number: writers + number,
        job: Job::Read(charts.nth(number as u64).generator()),
        databases: share(number, readers),
        connections: Vec::new(),
    };
    (0..writers).map(writer).chain((0..readers).map(reader)).collect()
}

/// Adds the counts of a counting trial: of the work or, if only opening and closing are measured, from the first opening
/// to the last closing.
fn note_counts(counts: Option<Counts>, measured: &mut Measured) -> Result<()> {
    if let Some(mut counts) = counts {
        counts.pause(&[])?;
        measured.metrics.extend(counts.metrics);
    }
    Ok(())
}

choice! {
    /// How long a connection is kept.
    enum Connections {
        /// All are opened before the work and closed after it.
        Kept = "kept",
        /// Opened for each transaction or chart, and closed after it.
        EachTime = "each-time",
    }

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
}

#[cfg(test)]
mod tests;
