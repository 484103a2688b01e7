//! Several connections contend for one database: what each of them waits, and what it is refused.
//!
//! SQLite lets many read and one write. What that costs an application depends on how its
//! transactions begin, on how long they wait for the lock, and on whether they read before they
//! write: a transaction that began as a reader is refused the lock at once when waiting could only
//! end in a deadlock or in a lost update, whatever its busy timeout
//! (<https://sqlite.org/lang_transaction.html>, <https://sqlite.org/isolation.html>).
//!
//! Workers are threads or processes, operations come one after another or arrive on a schedule, and
//! every operation that a writer was told is committed must be in the database once.

mod arrivals;
mod client;
pub(super) mod clock;
pub(super) mod crew;
pub(super) mod message;
pub(super) mod pace;
pub(super) mod parameters;
pub(super) mod shift;
mod verify;
pub(super) mod worker;

use engine::Connection;
use lab::level::Settings;
use lab::needs::Needs;
use lab::seed::Seed;
use lab::trial::Measured;

use self::crew::{Crew, engine_name};
use self::message::{Kind, WorkerSpec};
use self::pace::Pace;
use self::parameters::{Arrival, Parameters, Workers};
use self::shift::{Shift, Writers};
use super::common::{add, refuse_single_threaded, set, set_peak_memory};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::target::sqlite;

pub use self::worker::work;

/// The workload `contention`.
pub(super) struct Contention;

/// The file of the database.
const DATABASE: &str = "test.db";

const CREATE_TABLES: &str = "CREATE TABLE item(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL); CREATE TABLE log(writer INTEGER NOT NULL, op INTEGER NOT NULL)";

impl Declared for Contention {
    const NAME: &'static str = "contention";
    const ABOUT: &'static str = "Writers and readers, each with its own connection, contend for one database. A write transaction increments both columns of a random row of item(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL), one in its first and one in its last statement, and logs itself in log(writer INTEGER NOT NULL, op INTEGER NOT NULL) between them. A read sums both columns of consecutive rows; the sums must be equal.";
    const PHASES: &'static [&'static str] = &["write", "read", "capacity"];
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<(), TrialError> {
        parameters.check(settings)
    }

    fn needs(parameters: &Parameters, _: &Settings) -> Needs {
        parameters.needs()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        if parameters.workers == Workers::Threads {
            refuse_single_threaded(trial)?;
        }
        (trial.phase)("load");
        make_database(trial, parameters)?;
        let specs = specs(trial, parameters);
        let mut crew = Crew::start(specs, parameters.workers, &trial.library)?;
        let mut measured = Measured::default();
        let mut writers = Writers::new(parameters.writers);
        let rates = rates(trial, parameters, &mut crew, &mut writers, &mut measured)?;

        (trial.phase)("work");
        let seed = trial.seed;
        let pace = |index: usize| match rates {
            None => Pace::Closed,
            Some(rates) => arrivals(parameters, seed, rates, index),
        };
        let shift = Shift::run(&mut crew, parameters, parameters.duration, pace)?;
        writers.add(&shift);
        shift.note(rates, parameters, &mut measured)?;
        close(crew, trial, &mut measured)?;

        (trial.phase)("verify");
        let path = trial.directory.join(DATABASE);
        let connection = sqlite::open(trial, &path)?;
        verify::check(&connection, &writers.0)?;
        connection.close()?;
        set(&mut measured, "db_bytes", sqlite::size(&path)?);
        Ok(measured)
    }
}

/// Operations per second that arrive for all writers and all readers; none in a closed loop.
fn rates(
    trial: &mut Trial<'_>,
    parameters: &Parameters,
    crew: &mut Crew,
    writers: &mut Writers,
    measured: &mut Measured,
) -> Result<Option<(f64, f64)>, TrialError> {
    Ok(match parameters.arrival {
        Arrival::Closed => None,
        Arrival::Rate => Some((parameters.writes_per_s as f64, parameters.reads_per_s as f64)),
        Arrival::Share => {
            (trial.phase)("capacity");
            let shift = Shift::run(crew, parameters, parameters.capacity, |_| Pace::Closed)?;
            writers.add(&shift);
            shift.note_capacity(measured);
            let share = parameters.capacity_percent as f64 / 100.0;
            let of = |kind| shift.per_s(kind) * share;
            Some((of(Kind::Writer), of(Kind::Reader)))
        }
    })
}

/// Ends the workers, and notes what became of their connections.
fn close(crew: Crew, trial: &Trial<'_>, measured: &mut Measured) -> Result<(), TrialError> {
    let path = trial.directory.join(DATABASE);
    set(measured, "wal_bytes", sqlite::wal_size(&path)?);
    set_peak_memory(measured);
    for closing in crew.finish()? {
        measured.connections.push(closing.read_back);
        if let Some(bytes) = closing.peak_memory {
            add(measured, "peak_memory_bytes", bytes);
        }
    }
    Ok(())
}

fn make_database(trial: &Trial<'_>, parameters: &Parameters) -> Result<(), TrialError> {
    let connection = sqlite::open(trial, &trial.directory.join(DATABASE))?;
    connection.execute(CREATE_TABLES)?;
    fill(&connection, parameters.items)?;
    Ok(connection.close()?)
}

fn fill(connection: &Connection, items: usize) -> Result<(), TrialError> {
    connection.execute("BEGIN")?;
    let mut insert = connection.prepare("INSERT INTO item VALUES (?1, 0, 0)")?;
    for id in 1..=items {
        insert.bind_i64(1, id as i64)?;
        insert.run()?;
    }
    Ok(connection.execute("COMMIT")?)
}

/// The workers: writers first, then readers.
fn specs(trial: &Trial<'_>, parameters: &Parameters) -> Vec<WorkerSpec> {
    let parent = match parameters.workers {
        Workers::Threads => None,
        Workers::Processes => Some(std::process::id()),
    };
    let of = |kind: Kind, name: &str, number: u32| WorkerSpec {
        settings: trial.settings.clone(),
        engine: engine_name(&trial.library),
        directory: trial.directory.to_owned(),
        seed: trial.seed.child(name).nth(u64::from(number)),
        kind,
        number,
        parent,
        counting: trial.counter.is_some(),
    };
    let writers = (0..parameters.writers).map(|number| of(Kind::Writer, "writers", number));
    let readers = (0..parameters.readers).map(|number| of(Kind::Reader, "readers", number));
    writers.chain(readers).collect()
}

/// The arrivals of worker `index`: its even share of the rate of all writers or all readers. Several
/// independent Poisson processes together are one with the sum of their rates.
fn arrivals(parameters: &Parameters, seed: Seed, rates: (f64, f64), index: usize) -> Pace {
    let writers = parameters.writers as usize;
    let (per_s, workers) = match index < writers {
        true => (rates.0, parameters.writers),
        false => (rates.1, parameters.readers),
    };
    Pace::Arrivals {
        per_s: per_s / f64::from(workers.max(1)),
        seed: seed.child("arrivals").nth(index as u64),
    }
}

#[cfg(test)]
mod tests;
