//! The operations of a worker: a write transaction or a read, retried as an application would if another connection is in the
//! way.

use super::{Parameters, Work};
use crate::drive::messages::{BusyCounts, Role, WorkerSpec};
use crate::drive::pacing::{Clock, Ended, Monotonic, Nanos};
use crate::drive::retry::{AttemptError, Retries};
use crate::parameters::Parameters as _;
use crate::workload::prelude::*;

/// Prepares the client of a worker.
///
/// # Errors
/// SQLite refuses a statement.
pub(in crate::workload) fn client<'c>(
    connection: &'c Connection,
    spec: &WorkerSpec,
) -> Result<Box<dyn Client + 'c>> {
    let parameters = Parameters::read(&overlaid(&Parameters::defaults(), &spec.settings))?;
    let attempt = match spec.role {
        Role::Writer => writer(connection, spec, &parameters)?,
        _ => reader(connection, &parameters)?,
    };
    Ok(Box::new(Contender {
        attempt,
        choice: spec.seed.child("items").generator(),
        retries: Retries::new(&parameters.retrying, spec.seed),
    }))
}

/// Carries out an operation once, which 64 random bits choose and which has a number.
type Attempt<'c> = Box<dyn FnMut(u64, u64) -> Result<(), AttemptError> + 'c>;

/// Carries out the operations of one worker.
struct Contender<'c> {
    attempt: Attempt<'c>,
    choice: SplitMix64,
    retries: Retries,
}

impl Client for Contender<'_> {
    fn take_busy(&mut self) -> BusyCounts {
        self.retries.take_busy()
    }

    fn operate(&mut self, number: u64, _: Nanos) -> Result<Ended> {
        let random = self.choice.next_u64();
        let mut failures = 0;
        loop {
            let Err(error) = (self.attempt)(random, number) else { return Ok(true.into()) };
            failures += 1;
            if !self.retries.pause_after(error, failures, &Monotonic)? {
                return Ok(false.into());
            }
        }
    }
}

/// Prepares write transactions. If one fails, no transaction is open afterwards.
fn writer<'c>(
    connection: &'c Connection,
    spec: &WorkerSpec,
    parameters: &Parameters,
) -> Result<Attempt<'c>> {
    let mut begin = connection.prepare(sqlite::begin_statement(&spec.settings))?;
    let mut read = connection.prepare("SELECT first FROM item WHERE id = ?1")?;
    let mut set_first = connection.prepare("UPDATE item SET first = ?2 WHERE id = ?1")?;
    let mut add_first = connection.prepare("UPDATE item SET first = first + 1 WHERE id = ?1")?;
    let mut log = connection.prepare("INSERT INTO log(writer, op) VALUES (?1, ?2)")?;
    let mut add_last = connection.prepare("UPDATE item SET last = last + 1 WHERE id = ?1")?;
    let mut commit = connection.prepare("COMMIT")?;
    let mut rollback = connection.prepare("ROLLBACK")?;
    let (number, parameters) = (i64::from(spec.number), *parameters);
    let mut transaction = move |random, op: u64| {
        let id = below(random, parameters.items as u64);
        run(&mut begin, &[])?;
        match parameters.work {
            Work::Write => {
                hold(&parameters);
                run(&mut add_first, &[id])?;
            }
            Work::ReadThenWrite => {
                let first = query(&mut read, id)?;
                hold(&parameters);
                run(&mut set_first, &[id, first + 1])?;
            }
        }
        run(&mut log, &[number, op as i64])?;
        run(&mut add_last, &[id])?;
        run(&mut commit, &[])
    };
    Ok(Box::new(move |random, op| {
        let outcome = transaction(random, op);
        if outcome.is_err() && connection.in_transaction() {
            rollback.run().map_err(|error| AttemptError::Failed(error.into()))?;
        }
        outcome
    }))
}

/// Returns the row that 64 random bits choose, from 1 to `items`.
fn below(random: u64, items: u64) -> i64 {
    ((u128::from(random) * u128::from(items)) >> 64) as i64 + 1
}

fn hold(parameters: &Parameters) {
    if !parameters.hold.is_zero() {
        Monotonic.wait_until(Monotonic.now() + parameters.hold.as_nanos() as u64);
    }
}

fn run(statement: &mut Statement<'_, 'static>, values: &[i64]) -> Result<(), AttemptError> {
    let asked = Monotonic.now();
    let mut bound = || {
        for (index, value) in (1..).zip(values) {
            statement.bind_i64(index, *value)?;
        }
        statement.run()
    };
    bound().map_err(AttemptError::of(asked))
}

/// Returns the integer of a query for one row.
fn query(statement: &mut Statement<'_, 'static>, id: i64) -> Result<i64, AttemptError> {
    let asked = Monotonic.now();
    let mut first = || {
        statement.bind_i64(1, id)?;
        let stepped = statement.step();
        let value = statement.column_i64(0);
        statement.reset()?;
        Ok((stepped? == Step::Row).then_some(value))
    };
    let missing = || TrialError::wrong(format!("the item {id}"), "missing", "there");
    first().map_err(AttemptError::of(asked))?.ok_or_else(|| AttemptError::Failed(missing()))
}

/// Prepares reads.
fn reader<'c>(connection: &'c Connection, parameters: &Parameters) -> Result<Attempt<'c>> {
    let (items, read_rows) = (parameters.items as u64, parameters.read_rows as u64);
    let mut sum = connection
        .prepare("SELECT count(*), sum(first), sum(last) FROM item WHERE id BETWEEN ?1 AND ?2")?;
    Ok(Box::new(move |random, _| {
        let from = below(random, items - read_rows + 1);
        let asked = Monotonic.now();
        let mut ask = || {
            sum.bind_i64(1, from)?;
            sum.bind_i64(2, from + read_rows as i64 - 1)?;
            let stepped = sum.step();
            let answer = [0, 1, 2].map(|column| sum.column_i64(column));
            sum.reset()?;
            stepped.map(|_| answer)
        };
        let [rows, first, last] = ask().map_err(AttemptError::of(asked))?;
        let same = expect("the count of rows read", rows, read_rows as i64).and_then(|()| {
            // A transaction adds to one column at its beginning and to the other at its end.
            let what = "the sum of `last` compared with that of `first`, which must be equal,";
            expect(what, last, first)
        });
        same.map_err(AttemptError::Failed)
    }))
}
