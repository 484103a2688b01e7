//! One database for each of many securities, written by one thread each or by a few, with charts read meanwhile: the
//! workload of an application that gives each customer, device or instrument a database of its own.
//!
//! The cost of opening and closing a database is measured one by one, and so is the number of its file handles. Then
//! transactions go round the databases for a fixed time. Every quote that was acknowledged must be in its database.

mod client;
mod counters;
mod parameters;
mod quotes;
mod session;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::pragma::{self, PragmaError};
use engine::{Connection, EngineError};
use lab::level::Settings;
use lab::needs::Needs;
use lab::seed::Seed;
use lab::trial::Measured;

use self::client::{Client, Job, Opener, Work};
use self::parameters::Parameters;
use self::quotes::{Quotes, Sums};
use self::session::Session;
use super::common::{refuse_single_threaded, set_peak_memory};
use super::{Declared, Trial};
use crate::descriptors::open_files;
use crate::error::{Result, TrialError};
use crate::target::sqlite::{self, Counts, Opening};

/// The workload `many-databases`.
pub(super) struct ManyDatabases;

const CREATE_TABLE: &str = "CREATE TABLE quotes(ts INTEGER PRIMARY KEY, bid REAL, ask REAL, last REAL, volume INTEGER, venue TEXT)";

/// Databases in one directory at most: some file systems slow down with more.
const PER_DIRECTORY: usize = 1_000;

impl Declared for ManyDatabases {
    const NAME: &'static str = "many-databases";
    const ABOUT: &'static str = "One database per security, all written at the same time: each transaction adds quotes to quotes(ts INTEGER PRIMARY KEY, bid REAL, ask REAL, last REAL, volume INTEGER, venue TEXT) of one of them. Charts of the latest quotes may be read meanwhile.";
    const PHASES: &'static [&'static str] = &["open", "close", "write", "read"];
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        parameters.check(settings)
    }

    fn needs(parameters: &Parameters, settings: &Settings) -> Needs {
        parameters.needs(settings)
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        refuse_single_threaded(trial)?;
        (trial.phase)("create");
        let history = Sums::default().with(history(trial, parameters));
        let session = Session::create(trial, parameters)?;
        let mut measured = Measured::default();
        let before = open_files();
        let mut counts = Counts::begin_all(trial, &[])?;

        (trial.phase)("open");
        let clients = session.open(clients(trial, parameters, &history), &mut measured)?;
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
fn history(trial: &Trial<'_>, parameters: &Parameters) -> impl Iterator<Item = quotes::Quote> {
    Quotes::new(trial.seed.child("history"), 0).take(parameters.history)
}

/// Returns the quotes that are added to one database.
fn coming(seed: Seed, history: &Sums, database: usize) -> Quotes {
    Quotes::new(seed.child("quotes").nth(database as u64), history.latest)
}

/// Creates one database with every setting proved, and copies its file for all, because creating them is not measured.
/// Returns the settings as they read.
fn create(
    trial: &Trial<'_>,
    parameters: &Parameters,
) -> Result<(BTreeMap<String, String>, Opener)> {
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
    let opener = Opener {
        opening: Opening::of(trial)?,
        paths,
        begin: sqlite::begin_statement(trial.settings),
    };
    Ok((proof, opener))
}

fn fill(trial: &Trial<'_>, parameters: &Parameters, connection: &Connection) -> Result<()> {
    connection.execute(CREATE_TABLE)?;
    connection.execute("BEGIN")?;
    let mut insert = connection.prepare(quotes::INSERT)?;
    for quote in history(trial, parameters) {
        quote.insert(&mut insert)?;
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
    let mut values = BTreeMap::new();
    for name in settings.keys().filter(|name| pragma::find(name).is_some()) {
        match pragma::read(connection, name) {
            Ok(value) => {
                values.insert(name.clone(), value);
            }
            Err(EngineError::Pragma(PragmaError::NotReadable(_))) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(values)
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
        measured.metrics.extend(counts.finish());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
