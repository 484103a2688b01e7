//! The user's SQL: scripts in pgbench's language, named queries or plain statements, on a copy of the user's database or on one
//! that a script creates.
//!
//! Clients are threads or processes. Between the readings of the clock they evaluate meta commands, bind, step and reset.
//! After the work every script is executed again with values that depend on the seed alone, and the answers of its statements
//! are recorded, to be compared with the answers of other variants.

mod answers;
mod client;
mod database;
mod draw;
pub(crate) mod facets;
mod figures;
mod parameters;
mod pgbench;
pub(crate) mod snapshot;
mod statement;
mod suite;
pub(super) mod unroll;

pub(crate) use self::pgbench::TABLES as PGBENCH_TABLES;

use std::time::Duration;

use lab::trial::StatementRecord;

use self::client::{ScriptClient, Workload};
use self::database::TrialDatabase;
use self::draw::Pools;
use self::parameters::Parameters;
use self::suite::{Suite, refuse_other_files};
use super::durability;
use crate::drive::messages::{Role, WorkerSpec};
use crate::drive::pacing::{Pacing, Task};
use crate::drive::parameters::Workers;
use crate::drive::period::{Period, next_start};
use crate::drive::pool::WorkerPool;
use crate::parameters::Parameters as _;
use crate::workload::prelude::*;

/// The workload `sql`.
pub(super) struct Sql;

/// The time after which a number of transactions is cut off.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl Declared for Sql {
    const NAME: &'static str = "sql";
    const METRIC: &'static str = "txns_per_s";
    const ABOUT: &'static str = "Your own SQL on a copy of your own database: scripts in the language of pgbench, lists of named queries, or plain statements. Parameters without a value are drawn from the columns that they are compared with. Without scripts, it is the workload of pgbench.";
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        parameters.check(settings)?;
        let change = parameters.preparation.schema_change.as_deref().unwrap_or_default();
        refuse_other_files("schema_change", 1, change)?;
        Suite::read(parameters).map(drop)
    }

    fn needs(parameters: &Parameters, _: &Settings) -> Needs {
        parameters.needs()
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        if parameters.workers == Workers::Threads && parameters.clients > 1 {
            refuse_single_threaded(trial)?;
        }
        (trial.phase)("load");
        let database = database::create(trial, parameters)?;
        let (suite, statements) = prepare(trial, parameters, &database)?;
        database::prepare_cache(&database.path, parameters.page_cache)?;
        let before = sqlite::size(&database.path)?;

        let spec = |number| WorkerSpec::new(trial, parameters.workers, Role::Client, number);
        let specs = (0..parameters.clients).map(spec).collect();
        let mut pool = WorkerPool::start(specs, &trial.library, client)?;
        let texts =
            statements.iter().map(|statement| (statement.name.as_str(), statement.sql.as_str()));
        let mut measured =
            Measured { sets_itself: durability::set_by(texts), statements, ..Measured::default() };
        (trial.phase)("work");
        let tasks = tasks(parameters, &suite, trial.seed);
        let period = Period::run(&mut pool, &tasks, parameters.time())?;
        figures::note(&period, parameters, &suite, &mut measured)?;
        close(pool, &database, before, &mut measured)?;

        // Other counting trials are an addition to timed ones, which have compared answers.
        let is_alone = parameters.executions > 0;
        let extent = parameters.extent_of_answers(Duration::from_secs_f64(period.seconds()));
        if extent.executions > 0 && (trial.counter.is_none() || is_alone) {
            (trial.phase)("verify");
            let mut found =
                answers::read(trial, parameters, &database, extent, trial.tests_open || is_alone)?;
            for statement in &mut measured.statements {
                found.complete(statement);
            }
            measured.written = found.written;
            let asked = trial.seed.child(&database.origin).child("in turns").nth(suite.checksum);
            measured.asked = Some(format!("{:016x}", asked.0));
        }
        database.leave(trial, parameters);
        Ok(measured)
    }
}

/// Reads the scripts, draws values for them, and prepares a client: mistakes show here and not in the middle of the work.
fn first_client<'c>(
    trial: &Trial<'_>,
    parameters: &Parameters,
    connection: &'c Connection,
    suite: &mut Suite,
) -> Result<ScriptClient<'c>> {
    suite.resolve(connection)?;
    Pools::of(connection, suite, parameters, trial)?.write(trial.directory)?;
    let workload = Workload::read(connection, trial.settings, trial.directory, trial.seed, 0)?;
    ScriptClient::prepare(connection, workload)
}

/// Prepares the scripts and records the plans of their statements.
fn prepare(
    trial: &Trial<'_>,
    parameters: &Parameters,
    database: &TrialDatabase,
) -> Result<(Suite, Vec<StatementRecord>)> {
    let connection = sqlite::open(trial, &database.path)?;
    let mut suite = Suite::read(parameters)?;
    let mut client = first_client(trial, parameters, &connection, &mut suite)?;
    let records = suite.statements().zip(client.plans()).map(|(statement, plan)| StatementRecord {
        name: statement.name.clone(),
        sql: statement.sql.clone(),
        plan,
        ..StatementRecord::default()
    });
    let records = records.collect();
    drop(client);
    connection.close()?;
    Ok((suite, records))
}

/// Returns whether the scripts of these settings, if they can be read, leave it to the setting `transaction` how transactions
/// begin.
pub(crate) fn leaves_begin_open(settings: &Settings) -> bool {
    read(settings).is_ok_and(|(parameters, suite)| {
        parameters.group > 0 || suite.is_ok_and(|suite| suite.leaves_begin_open())
    })
}

/// Returns the statements of the scripts of these settings, each with its weight.
///
/// # Errors
/// A script cannot be read, or has a mistake.
pub fn statements(settings: &Settings) -> Result<Vec<(script::Statement, u32)>> {
    let (_, suite) = read(settings)?;
    Ok(suite?.weighted().map(|(statement, weight)| (statement.clone(), weight)).collect())
}

/// Returns whether these settings have several scripts, such as statements that are transactions of their own, if they can be read.
pub fn has_several_scripts(settings: &Settings) -> bool {
    read(settings).is_ok_and(|(_, suite)| suite.is_ok_and(|suite| suite.in_use().count() > 1))
}

/// Returns whether the scripts of these settings, if they can be read, write, and every statement is a transaction of its own.
pub(crate) fn commits_by_itself(settings: &Settings) -> bool {
    read(settings).is_ok_and(|(parameters, suite)| {
        let can_group = parameters.group + parameters.executions == 0;
        can_group && suite.is_ok_and(|suite| suite.commits_by_itself())
    })
}

fn read(settings: &Settings) -> Result<(Parameters, Result<Suite, TrialError>)> {
    let parameters = Parameters::read(&overlaid(&Parameters::defaults(), settings))?;
    let suite = Suite::read(&parameters);
    Ok((parameters, suite))
}

/// Prepares the client of a worker.
///
/// # Errors
/// As [`ScriptClient::prepare`].
pub(super) fn client<'c>(
    connection: &'c Connection,
    spec: &WorkerSpec,
) -> Result<Box<dyn Client + 'c>> {
    let workload =
        Workload::read(connection, &spec.settings, &spec.directory, spec.seed, spec.number)?;
    Ok(Box::new(ScriptClient::prepare(connection, workload)?))
}

/// Returns the task of each client; all start at the same moment.
fn tasks(parameters: &Parameters, suite: &Suite, seed: Seed) -> Vec<Task> {
    let start = next_start();
    let limit = if parameters.is_timed() { parameters.duration } else { LONGEST };
    let most = match parameters.executions {
        0 => parameters.transactions,
        each => each * suite.in_use().count(),
    };
    let pacing = |client: u32| match parameters.rate {
        0 => Pacing::Closed,
        rate => Pacing::Arrivals {
            per_s: rate as f64 / f64::from(parameters.clients),
            seed: seed.child("arrivals").nth(u64::from(client)),
        },
    };
    let task = |client| Task {
        most: most as u64,
        least: if most == 0 { suite.first_turns(parameters.group) as u64 } else { 1 },
        think: parameters.think.as_nanos() as u64,
        ..Task::timed(pacing(client), start, limit)
    };
    (0..parameters.clients).map(task).collect()
}

/// Ends the clients, and notes their connections and the size of the file.
fn close(
    pool: WorkerPool,
    database: &TrialDatabase,
    before: f64,
    measured: &mut Measured,
) -> Result<()> {
    set(measured, "wal_bytes", sqlite::wal_size(&database.path)?);
    set_peak_memory(measured);
    pool.finish(measured)?;
    let after = sqlite::size(&database.path)?;
    set(measured, "db_bytes", after);
    set(measured, "growth_bytes", after - before);
    Ok(())
}

#[cfg(test)]
mod tests;
