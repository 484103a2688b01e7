//! One database for each of many securities, written by one thread each or by a few, with charts
//! read meanwhile: the workload of an application that gives each customer, device or instrument a
//! database of its own.
//!
//! What it costs to open and close a database is measured one by one, and so is how many file
//! handles it takes; then transactions go round the databases for a fixed time. Every quote that
//! was acknowledged must be in its database.

mod desk;
mod parameters;
mod quotes;
mod tally;
mod team;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::pragma::{self, PragmaError};
use engine::{Connection, EngineError};
use lab::catalogue::WorkloadInfo;
use lab::level::Settings;
use lab::needs::Needs;
use lab::seed::Seed;
use lab::trial::Measured;

use self::desk::{Desk, Job, Ledger, Opener, Work};
use self::parameters::{Connections, Parameters};
use self::quotes::{Quotes, Sums};
use self::tally::{Course, Latencies};
use self::team::together;
use super::common::{Stopwatch, expect, refuse_single_threaded, set, set_peak_memory};
use super::{Trial, Workload};
use crate::descriptors::{allow_open_files, open_files};
use crate::error::TrialError;
use crate::measure::LatencyHistogram;
use crate::target::sqlite::{self, Counts};

/// The workload `many-databases`.
pub(super) struct ManyDatabases;

const CREATE_TABLE: &str = "CREATE TABLE quotes(ts INTEGER PRIMARY KEY, bid REAL, ask REAL, last REAL, volume INTEGER, venue TEXT)";

/// Databases in one directory at most: some file systems slow down with more.
const PER_DIRECTORY: usize = 1_000;

/// Threads that verify the databases, which is mostly waiting for files to be made and removed.
const VERIFIERS: usize = 8;

/// Parts of the time for the throughput over its course.
const SLOTS: u32 = 100;

impl Workload for ManyDatabases {
    fn info(&self) -> WorkloadInfo {
        parameters::info()
    }

    fn needs(&self, settings: &Settings) -> Needs {
        parameters::needs(settings)
    }

    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured, TrialError> {
        let parameters = Parameters::read(trial.settings)?;
        refuse_single_threaded(trial)?;
        allow_open_files(parameters::needs(trial.settings).open_files)?;
        (trial.phase)("create");
        let history = Sums::default().with(history(trial, &parameters));
        let (proof, opener) = create(trial, &parameters)?;
        let stage = Stage {
            parameters,
            opener,
            proof,
            ledger: ledger(&parameters)?,
        };
        let mut measured = Measured::default();
        let before = open_files();
        let mut counts = Counts::begin_all(trial, &[])?;

        (trial.phase)("open");
        let desks = stage.open(desks(trial, &parameters, &history), &mut measured)?;
        stage.note_files(before, &mut measured);
        let worked = match parameters.stop_after {
            Some(time) => {
                (trial.phase)("work");
                let worked = stage.work(desks, time, counts.as_mut(), &mut measured)?;
                note_counts(counts.take(), &mut measured)?;
                worked
            }
            None => desks.into_iter().map(idle).collect(),
        };
        stage.note_files(before, &mut measured);
        set_peak_memory(&mut measured);
        stage.read_back(&worked, &mut measured)?;

        (trial.phase)("close");
        let done = stage.close(worked, &mut measured)?;
        note_counts(counts.take(), &mut measured)?;
        (trial.phase)("verify");
        stage.verify(trial, &history, &done)?;
        stage.note_sizes(&mut measured)?;
        stage.note_latencies(&mut measured)?;
        Ok(measured)
    }
}

fn ledger(parameters: &Parameters) -> Result<Ledger, TrialError> {
    Ok(Ledger {
        open: Latencies::new()?,
        close: Latencies::new()?,
        write: Latencies::new()?,
        read: Latencies::new()?,
        course: Course::new(parameters.stop_after.unwrap_or_default(), SLOTS),
    })
}

/// The quotes that every database holds before the work.
fn history(trial: &Trial<'_>, parameters: &Parameters) -> impl Iterator<Item = quotes::Quote> {
    Quotes::new(trial.seed.child("history"), 0).take(parameters.history)
}

/// The quotes that are added to one database.
fn coming(seed: Seed, history: &Sums, database: usize) -> Quotes {
    Quotes::new(seed.child("quotes").nth(database as u64), history.latest)
}

/// Makes one database, with every setting proved, and copies its file for all: what is measured is
/// not the making. The result says what its settings read as.
fn create(
    trial: &Trial<'_>,
    parameters: &Parameters,
) -> Result<(BTreeMap<String, String>, Opener), TrialError> {
    let template = trial.directory.join("template.db");
    let connection = sqlite::open(trial, &template)?;
    fill(trial, parameters, &connection)?;
    let proof = named_settings(trial.settings, &connection)?;
    connection.close()?;
    let paths: Vec<PathBuf> = (0..parameters.databases)
        .map(|number| path_of(trial.directory, number))
        .collect();
    for path in &paths {
        copy(&template, path)?;
    }
    let opener = Opener {
        library: Arc::clone(&trial.library),
        flags: sqlite::open_flags(trial.settings),
        vfs: trial.counter.clone(),
        script: sqlite::pragma_script(trial.settings),
        paths,
        begin: sqlite::begin_statement(trial.settings),
    };
    Ok((proof, opener))
}

fn fill(
    trial: &Trial<'_>,
    parameters: &Parameters,
    connection: &Connection,
) -> Result<(), TrialError> {
    connection.execute(CREATE_TABLE)?;
    connection.execute("BEGIN")?;
    let mut insert = connection.prepare("INSERT INTO quotes VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for quote in history(trial, parameters) {
        insert.bind_i64(1, quote.ts)?;
        insert.bind_f64(2, quote.bid)?;
        insert.bind_f64(3, quote.ask)?;
        insert.bind_f64(4, quote.last)?;
        insert.bind_i64(5, quote.volume)?;
        insert.bind_text_borrowed(6, quote.venue)?;
        insert.run()?;
    }
    Ok(connection.execute("COMMIT")?)
}

fn path_of(directory: &Path, number: usize) -> PathBuf {
    directory
        .join(format!("{:04}", number / PER_DIRECTORY))
        .join(format!("{number:07}.db"))
}

fn copy(template: &Path, path: &Path) -> Result<(), TrialError> {
    let io = |source| TrialError::Io {
        doing: "make the database",
        path: path.to_owned(),
        source,
    };
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(io)?;
    }
    std::fs::copy(template, path).map_err(io)?;
    Ok(())
}

/// The PRAGMAs that the settings name, as the connection answers them; those that cannot be read
/// are left out.
fn named_settings(
    settings: &Settings,
    connection: &Connection,
) -> Result<BTreeMap<String, String>, TrialError> {
    let mut values = BTreeMap::new();
    for name in settings.keys().filter(|name| pragma::find(name).is_some()) {
        match pragma::read(connection, name) {
            Ok(value) => {
                values.insert(name.clone(), value);
            }
            Err(EngineError::Pragma(PragmaError::NotReadable { .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(values)
}

/// Who does what: each database has one writer and, where charts are read, one reader.
fn desks(trial: &Trial<'_>, parameters: &Parameters, history: &Sums) -> Vec<Desk> {
    let (writers, readers) = (parameters.writers, parameters.chart_readers);
    let share = |number: usize, of: usize| -> Vec<usize> {
        (number..parameters.databases).step_by(of).collect()
    };
    let writer = |number: usize| {
        let databases = share(number, writers);
        let coming = databases
            .iter()
            .map(|database| coming(trial.seed, history, *database));
        Desk {
            number,
            job: Job::Write(coming.collect()),
            databases,
            connections: Vec::new(),
        }
    };
    let charts = trial.seed.child("charts");
    let reader = |number: usize| Desk {
        number: writers + number,
        job: Job::Read(charts.nth(number as u64).generator()),
        databases: share(number, readers),
        connections: Vec::new(),
    };
    (0..writers)
        .map(writer)
        .chain((0..readers).map(reader))
        .collect()
}

fn idle(desk: Desk) -> Work {
    Work {
        done: vec![0; desk.databases.len()],
        desk,
        ahead: 0,
        busy: 0,
        ended: Instant::now(),
    }
}

/// Everything that the parts of a trial share.
struct Stage {
    parameters: Parameters,
    opener: Opener,
    proof: BTreeMap<String, String>,
    ledger: Ledger,
}

impl Stage {
    /// Has each thread open its databases, where connections are kept, and proves their settings
    /// afterwards, so that the proof is not in the time.
    fn open(&self, desks: Vec<Desk>, measured: &mut Measured) -> Result<Vec<Desk>, TrialError> {
        if self.parameters.connections == Connections::EachTime {
            return Ok(desks);
        }
        let open = |mut desk: Desk,
                    ticket: team::Ticket<'_>,
                    gate: &team::Gate|
         -> Result<(Desk, Instant), TrialError> {
            ticket.pass();
            for database in &desk.databases {
                if gate.is_cancelled() {
                    break;
                }
                let connection = self.ledger.open(desk.number, &self.opener, *database)?;
                desk.connections.push(connection);
            }
            Ok((desk, Instant::now()))
        };
        let (opened, start) = together(desks, Instant::now, open)?;
        let last = opened.iter().map(|(_, ended)| *ended).max();
        note_time("seconds.open", start, last, measured);
        let desks: Vec<Desk> = opened.into_iter().map(|(desk, _)| desk).collect();
        for desk in &desks {
            for (connection, database) in desk.connections.iter().zip(&desk.databases) {
                self.prove(connection, *database)?;
            }
        }
        Ok(desks)
    }

    /// The settings of every connection must be those that were proved on the first database.
    fn prove(&self, connection: &Connection, database: usize) -> Result<(), TrialError> {
        for (name, wanted) in &self.proof {
            let found = pragma::read(connection, name)?;
            expect(&format!("{name} of database {database}"), &found, wanted)?;
        }
        Ok(())
    }

    fn work(
        &self,
        desks: Vec<Desk>,
        time: Duration,
        counts: Option<&mut Counts>,
        measured: &mut Measured,
    ) -> Result<Vec<Work>, TrialError> {
        let work = |desk: Desk, ticket: team::Ticket<'_>, gate: &team::Gate| {
            desk::work(
                desk,
                ticket,
                gate,
                &self.opener,
                &self.ledger,
                &self.parameters,
                time,
            )
        };
        let start = || {
            // Opening and warming up are not part of the work.
            if let Some(counts) = counts {
                counts.resume();
            }
            Stopwatch::start()
        };
        let (worked, watch) = together(desks, start, work)?;
        let watch = watch?;
        let started = watch.started();
        let mut elapsed = watch.stop()?;
        // Threads give their statements back when they end, which is not part of the work.
        if let Some(ended) = worked.iter().map(|work| work.ended).max() {
            elapsed.seconds = ended.duration_since(started).as_secs_f64().max(1e-9);
        }
        measured.metrics.extend(elapsed.times().metrics);
        let done = |of: fn(&Job) -> bool| -> f64 {
            let chosen = worked.iter().filter(|work| of(&work.desk.job));
            let timed = |work: &Work| work.done.iter().sum::<u64>() - work.ahead;
            chosen.map(timed).sum::<u64>() as f64
        };
        let txns = done(|job| matches!(job, Job::Write(_)));
        let charts = done(|job| matches!(job, Job::Read(_)));
        let rows = txns * self.parameters.rows_per_txn as f64;
        set(measured, "txns_per_s", txns / elapsed.seconds);
        set(measured, "rows_per_s", rows / elapsed.seconds);
        if self.parameters.chart_readers > 0 {
            set(measured, "queries_per_s", charts / elapsed.seconds);
        }
        let busy: u64 = worked.iter().map(|work| work.busy).sum();
        set(measured, "busy_errors", busy as f64);
        measured.windows = self.ledger.course.rates();
        Ok(worked)
    }

    /// Notes the files that are open beside those `before`; where connections are not kept, their
    /// number tells nothing.
    fn note_files(&self, before: Option<u64>, measured: &mut Measured) {
        let Some((before, now)) = before.zip(open_files()) else {
            return;
        };
        if self.parameters.connections == Connections::EachTime {
            return;
        }
        let connections = match self.parameters.chart_readers {
            0 => self.parameters.databases,
            _ => 2 * self.parameters.databases,
        };
        let most = measured.metrics.get("open_files").copied();
        set(
            measured,
            "open_files",
            (now as f64).max(most.unwrap_or(0.0)),
        );
        let each = now.saturating_sub(before) as f64 / connections as f64;
        set(measured, "files_per_database", each);
    }

    /// Reads everything back from a connection of the first writer and of the first reader, and the
    /// settings of the variant from all others: thousands of full answers would only repeat them.
    fn read_back(&self, worked: &[Work], measured: &mut Measured) -> Result<(), TrialError> {
        let mut names = vec!["first writer", "first reader"];
        if self.parameters.chart_readers == 0 {
            names.pop();
        }
        for (name, desk) in names.iter().zip([0, self.parameters.writers]) {
            let database = worked[desk].desk.databases[0];
            let read_back = match worked[desk].desk.connections.first() {
                Some(connection) => sqlite::read_back(name, connection)?,
                None => {
                    let connection = self.opener.open(database)?;
                    self.prove(&connection, database)?;
                    let read_back = sqlite::read_back(name, &connection)?;
                    connection.close()?;
                    read_back
                }
            };
            measured.connections.push(read_back);
        }
        for work in worked {
            for (connection, database) in work.desk.connections.iter().zip(&work.desk.databases) {
                self.prove(connection, *database)?;
            }
        }
        Ok(())
    }

    /// Has each thread close its databases; how many transactions each database was given.
    fn close(&self, worked: Vec<Work>, measured: &mut Measured) -> Result<Vec<u64>, TrialError> {
        let mut txns = vec![0; self.parameters.databases];
        for work in worked
            .iter()
            .filter(|work| matches!(work.desk.job, Job::Write(_)))
        {
            for (database, done) in work.desk.databases.iter().zip(&work.done) {
                txns[*database] = *done;
            }
        }
        let close =
            |work: Work, ticket: team::Ticket<'_>, _: &team::Gate| -> Result<Instant, TrialError> {
                ticket.pass();
                let number = work.desk.number;
                for connection in work.desk.connections {
                    self.ledger.close(number, connection)?;
                }
                Ok(Instant::now())
            };
        let (ended, start) = together(worked, Instant::now, close)?;
        if self.parameters.connections == Connections::Kept {
            note_time("seconds.close", start, ended.into_iter().max(), measured);
        }
        Ok(txns)
    }

    /// Every database must hold its history and all that it was given since.
    fn verify(&self, trial: &Trial<'_>, history: &Sums, txns: &[u64]) -> Result<(), TrialError> {
        let seed = trial.seed;
        let parts: Vec<usize> = (0..VERIFIERS.min(txns.len())).collect();
        let verify =
            |first: usize, ticket: team::Ticket<'_>, gate: &team::Gate| -> Result<(), TrialError> {
                ticket.pass();
                for database in (first..txns.len()).step_by(VERIFIERS) {
                    if gate.is_cancelled() {
                        break;
                    }
                    let rows = txns[database] as usize * self.parameters.rows_per_txn;
                    let wanted = history.with(coming(seed, history, database).take(rows));
                    self.verify_one(database, wanted)?;
                }
                Ok(())
            };
        together(parts, || (), verify).map(drop)
    }

    fn verify_one(&self, database: usize, wanted: Sums) -> Result<(), TrialError> {
        let connection = self.opener.open(database)?;
        let found = sums(&connection)?;
        connection.close()?;
        let what = |of: &str| format!("the {of} of database {database}");
        expect(&what("count of quotes"), found.rows, wanted.rows)?;
        expect(&what("sum of volumes"), found.volume, wanted.volume)?;
        expect(&what("latest moment"), found.latest, wanted.latest)
    }

    fn note_sizes(&self, measured: &mut Measured) -> Result<(), TrialError> {
        let mut bytes = 0.0;
        for path in &self.opener.paths {
            bytes += sqlite::size(path)?;
        }
        set(measured, "db_bytes", bytes);
        Ok(())
    }

    fn note_latencies(self, measured: &mut Measured) -> Result<(), TrialError> {
        let ledger = self.ledger;
        let [open, close, write, read] =
            [ledger.open, ledger.close, ledger.write, ledger.read].map(Latencies::collect);
        let (open, close, write, read) = (open?, close?, write?, read?);
        for (metric, histogram) in [("open_us", &open), ("close_us", &close)] {
            if histogram.count() > 0 {
                set(measured, metric, histogram.mean_us());
            }
        }
        let phases = [
            ("open", &open),
            ("close", &close),
            ("write", &write),
            ("read", &read),
        ];
        for (phase, histogram) in phases {
            measured.metrics.extend(of_phase(histogram, phase));
        }
        let told = if write.count() > 0 { &write } else { &open };
        measured.latency = Some(told.latency()?);
        Ok(())
    }
}

fn of_phase(histogram: &LatencyHistogram, phase: &str) -> impl Iterator<Item = (String, f64)> {
    let suffix = format!(".{phase}");
    histogram
        .metrics()
        .into_iter()
        .map(move |(name, value)| (name + &suffix, value))
}

/// What was counted, in a counting trial: during the work, or, where only opening and closing are
/// measured, from the first opening to the last closing.
fn note_counts(counts: Option<Counts>, measured: &mut Measured) -> Result<(), TrialError> {
    if let Some(mut counts) = counts {
        counts.pause(&[])?;
        measured.metrics.extend(counts.finish());
    }
    Ok(())
}

fn note_time(metric: &str, start: Instant, end: Option<Instant>, measured: &mut Measured) {
    let end = end.unwrap_or(start);
    set(measured, metric, end.duration_since(start).as_secs_f64());
}

fn sums(connection: &Connection) -> Result<Sums, TrialError> {
    let one = |what: &str| connection.query_i64(&format!("SELECT {what} FROM quotes"));
    Ok(Sums {
        rows: one("count(*)")?,
        volume: one("ifnull(sum(volume), 0)")?,
        latest: one("ifnull(max(ts), 0)")?,
    })
}

#[cfg(test)]
mod tests;
