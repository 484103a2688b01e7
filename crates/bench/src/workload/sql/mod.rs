//! SQL of the user's own: scripts in pgbench's language, named queries or plain statements, on a copy of the user's
//! database or on one that a script makes.
//!
//! Clients are the workers of `contention`, threads or processes. Between the reading of the clocks they evaluate meta
//! commands, bind, step and reset. After the work every script is executed several times more with values that depend
//! on the seed alone, and what its statements answer is handed over to be compared with the answers of other variants.

pub(in crate::workload) mod answers;
mod client;
mod draw;
mod figures;
mod parameters;
mod pgbench;
mod prompt;
pub(crate) mod snapshot;
mod stage;
mod suite;
pub(super) mod unroll;

pub(crate) use self::pgbench::TABLES as PGBENCH_TABLES;

use std::path::Path;
use std::time::Duration;

use engine::Connection;
use lab::level::{Settings, overlaid};
use lab::needs::Needs;
use lab::seed::Seed;
use lab::trial::{Measured, StatementRecord};

use self::client::{Client, Job};
use self::draw::Pools;
use self::parameters::Parameters;
use self::stage::Stage;
use self::suite::Suite;
use super::common::{add, refuse_single_threaded, set, set_peak_memory};
use super::contention::clock::{Clock, Monotonic};
use super::contention::crew::{Crew, engine_name};
use super::contention::message::{Kind, WorkerSpec};
use super::contention::pace::{Pace, Task};
use super::contention::parameters::Workers;
use super::contention::shift::{LEAD, Shift};
use super::contention::worker;
use super::durability;
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::parameters::Parameters as _;
use crate::target::sqlite;

/// The workload `sql`.
pub(super) struct Sql;

/// The file of the database.
const DATABASE: &str = "test.db";

/// The time after which a number of transactions that takes longer is cut off.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl Declared for Sql {
    const NAME: &'static str = "sql";
    const ABOUT: &'static str = "Your own SQL on a copy of your own database: scripts in the language of pgbench, lists of named queries, or plain statements. Parameters without a value are drawn from the columns that they are compared with. Without scripts, it is the workload of pgbench.";
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<(), TrialError> {
        parameters.check(settings)
    }

    fn needs(parameters: &Parameters, _: &Settings) -> Needs {
        parameters.needs()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        if parameters.workers == Workers::Threads && parameters.clients > 1 {
            refuse_single_threaded(trial)?;
        }
        (trial.phase)("load");
        let stage = stage::make(trial, parameters, trial.directory)?;
        let (suite, statements) = look_at(trial, parameters, &stage)?;
        stage::prepare_cache(&stage.path, parameters.page_cache)?;
        let before = sqlite::size(&stage.path)?;

        let mut crew = Crew::start(specs(trial, parameters), parameters.workers, &trial.library)?;
        let texts = statements.iter().map(|it| (it.name.as_str(), it.sql.as_str()));
        let mut measured =
            Measured { sets_itself: durability::set_by(texts), statements, ..Measured::default() };
        (trial.phase)("work");
        let shift = Shift::carry_out(
            &mut crew,
            &tasks(parameters, &suite, trial.seed),
            0,
            parameters.time(),
        )?;
        figures::note(&shift, parameters, &mut measured)?;
        close(crew, &stage, before, &mut measured)?;

        // Other counting trials are an addition to timed ones, which have compared answers.
        let is_alone = parameters.executions > 0;
        if parameters.answers > 0 && (trial.counter.is_none() || is_alone) {
            (trial.phase)("verify");
            note_answers(trial, parameters, &stage, &suite, &mut measured)?;
        }
        Ok(measured)
    }
}

/// Reads the scripts, draws values for them, and looks at their plans.
fn look_at(
    trial: &Trial<'_>,
    parameters: &Parameters,
    stage: &Stage,
) -> Result<(Suite, Vec<StatementRecord>), TrialError> {
    let connection = sqlite::open(trial, &stage.path)?;
    let mut suite = Suite::read(parameters)?;
    suite.resolve(&connection)?;
    let set = suite.set_by_gset();
    Pools::of(&connection, &suite, parameters, &set, trial.seed)?.write(trial.directory)?;
    let statements = suite.scripts.iter().flat_map(|script| &script.statements);
    let records = statements.map(|statement| StatementRecord {
        name: statement.name.clone(),
        sql: statement.sql.clone(),
        // A statement without a plan is reported by its execution.
        plan: connection.query_plan(&statement.sql).unwrap_or_default(),
        answer: None,
    });
    let records = records.collect();
    // Mistakes show here and not in the middle of the work.
    let job = job(&connection, trial.settings, trial.directory, trial.seed, 0)?;
    drop(Client::prepare(&connection, job)?);
    connection.close()?;
    Ok((suite, records))
}

/// What a client works on; its scripts and values are those of the trial.
fn job(
    connection: &Connection,
    settings: &Settings,
    directory: &Path,
    seed: Seed,
    number: u32,
) -> Result<Job, TrialError> {
    let parameters = Parameters::read(&overlaid(&Parameters::defaults(), settings))?;
    let mut suite = Suite::read(&parameters)?;
    suite.resolve(connection)?;
    let begin = sqlite::begin_statement(settings);
    suite.begin_with(begin);
    Ok(Job { suite, pools: Pools::read(directory)?, parameters, begin, seed, number })
}

/// Whether the scripts of these settings, as far as they can be read, leave to the setting `transaction` how transactions
/// begin.
pub(crate) fn leaves_begin_open(settings: &Settings) -> bool {
    let parameters = Parameters::read(&overlaid(&Parameters::defaults(), settings));
    parameters.is_ok_and(|parameters| {
        let suite = Suite::read(&parameters);
        parameters.group > 0 || suite.is_ok_and(|suite| suite.leaves_begin_open())
    })
}

/// The statements of the scripts of these settings.
///
/// # Errors
/// A script cannot be read, or has a mistake.
pub fn statements(settings: &Settings) -> Result<Vec<String>, TrialError> {
    let parameters = Parameters::read(&overlaid(&Parameters::defaults(), settings))?;
    let suite = Suite::read(&parameters)?;
    let statements = suite.scripts.into_iter().flat_map(|it| it.statements);
    Ok(statements.map(|it| it.sql).collect())
}

/// Whether the scripts of these settings, as far as they can be read, write, and every statement is a transaction of its own.
pub(crate) fn commits_by_itself(settings: &Settings) -> bool {
    let parameters = Parameters::read(&overlaid(&Parameters::defaults(), settings));
    parameters.is_ok_and(|parameters| {
        let can_group = parameters.group + parameters.executions == 0;
        can_group && Suite::read(&parameters).is_ok_and(|suite| suite.commits_by_itself())
    })
}

/// The client that a worker is.
///
/// # Errors
/// As [`Client::prepare`].
pub(super) fn client<'c>(
    connection: &'c Connection,
    spec: &WorkerSpec,
) -> Result<Client<'c>, TrialError> {
    let job = job(connection, &spec.settings, &spec.directory, spec.seed, spec.number)?;
    Client::prepare(connection, job)
}

fn specs(trial: &Trial<'_>, parameters: &Parameters) -> Vec<WorkerSpec> {
    let parent = match parameters.workers {
        Workers::Threads => None,
        Workers::Processes => Some(std::process::id()),
    };
    let of = |number: u32| WorkerSpec {
        settings: trial.settings.clone(),
        engine: engine_name(&trial.library),
        directory: trial.directory.to_owned(),
        seed: trial.seed.child("clients").nth(u64::from(number)),
        kind: Kind::Client,
        number,
        parent,
        counting: trial.counter.is_some(),
    };
    (0..parameters.clients).map(of).collect()
}

/// What each client does from the same moment on.
fn tasks(parameters: &Parameters, suite: &Suite, seed: Seed) -> Vec<Task> {
    let start = Monotonic.now() + LEAD.as_nanos() as u64;
    let limit = match parameters.is_timed() {
        true => parameters.duration,
        false => LONGEST,
    };
    let most = match parameters.executions {
        0 => parameters.transactions,
        each => each * suite.in_use().count(),
    };
    let pace = |client: u32| match parameters.rate {
        0 => Pace::Closed,
        rate => Pace::Arrivals {
            per_s: rate as f64 / f64::from(parameters.clients),
            seed: seed.child("arrivals").nth(u64::from(client)),
        },
    };
    let task = |client| Task {
        most: most as u64,
        think: parameters.think.as_nanos() as u64,
        ..worker::task(pace(client), start, limit)
    };
    (0..parameters.clients).map(task).collect()
}

/// Ends the clients, and notes what became of their connections and of the file.
fn close(
    crew: Crew,
    stage: &Stage,
    before: f64,
    measured: &mut Measured,
) -> Result<(), TrialError> {
    set(measured, "wal_bytes", sqlite::wal_size(&stage.path)?);
    set_peak_memory(measured);
    for closing in crew.finish()? {
        measured.connections.push(closing.read_back);
        if let Some(bytes) = closing.peak_memory {
            add(measured, "peak_memory_bytes", bytes);
        }
    }
    let after = sqlite::size(&stage.path)?;
    set(measured, "db_bytes", after);
    set(measured, "growth_bytes", after - before);
    Ok(())
}

/// Notes what each statement answers, and of what it was asked.
fn note_answers(
    trial: &Trial<'_>,
    parameters: &Parameters,
    stage: &Stage,
    suite: &Suite,
    measured: &mut Measured,
) -> Result<(), TrialError> {
    let mut answers = answers::of(trial, parameters, stage)?;
    for statement in &mut measured.statements {
        statement.answer = answers.remove(&statement.name);
    }
    let asked = trial.seed.child(&stage.origin).nth(suite.checksum);
    let asked = asked.nth(parameters.answers as u64);
    measured.asked = Some(format!("{:016x}", asked.0));
    Ok(())
}

#[cfg(test)]
mod tests;
