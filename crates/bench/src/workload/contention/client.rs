//! The operations of a worker: a write transaction or a read, retried as an application would if another connection is in the
//! way.

use std::time::Duration;

use engine::{Connection, EngineError, Statement, Step};
use lab::level::overlaid;
use lab::seed::SplitMix64;

use super::{Parameters, Work};
use crate::drive::messages::{BusyCounts, Role, WorkerSpec};
use crate::drive::pacing::{Clock, Ended, Monotonic, Nanos};
use crate::drive::retry::{AttemptError, Retries};
use crate::drive::worker::Client;
use crate::error::{Result, TrialError};
use crate::parameters::Parameters as _;
use crate::target::sqlite;
use crate::workload::common::expect;

/// Prepares the client of a worker.
///
/// # Errors
/// SQLite refuses a statement.
pub(in crate::workload) fn client<'c>(
    connection: &'c Connection,
    spec: &WorkerSpec,
) -> Result<Box<dyn Client + 'c>> {
    let parameters = Parameters::read(&overlaid(&Parameters::defaults(), &spec.settings))?;
    let operations = match spec.role {
        Role::Writer => {
            Operations::Write(Box::new(Writer::prepare(connection, spec, &parameters)?))
        }
        _ => Operations::Read(Box::new(Reader::prepare(connection, &parameters)?)),
    };
    Ok(Box::new(Contender {
        operations,
        clock: Monotonic,
        choice: spec.seed.child("items").generator(),
        retries: Retries::new(
            parameters.max_retries,
            parameters.retry_pause,
            parameters.busy_timeout.0,
            spec.seed,
        ),
    }))
}

/// Carries out the operations of one worker.
struct Contender<'c> {
    operations: Operations<'c>,
    clock: Monotonic,
    choice: SplitMix64,
    retries: Retries,
}

enum Operations<'c> {
    Write(Box<Writer<'c>>),
    Read(Box<Reader<'c>>),
}

impl Client for Contender<'_> {
    fn take_busy(&mut self) -> BusyCounts {
        self.retries.take_busy()
    }

    fn operate(&mut self, number: u64, _: Nanos) -> Result<Ended> {
        let random = self.choice.next_u64();
        let mut failures = 0;
        loop {
            let attempt = match &mut self.operations {
                Operations::Write(writer) => writer.attempt(&self.clock, random, number),
                Operations::Read(reader) => reader.attempt(&self.clock, random),
            };
            let Err(error) = attempt else { return Ok(true.into()) };
            failures += 1;
            if !self.retries.pause_after(error, failures, &self.clock)? {
                return Ok(false.into());
            }
        }
    }
}

/// The statements of a write transaction.
struct Writer<'c> {
    connection: &'c Connection,
    number: i64,
    items: u64,
    work: Work,
    hold: Duration,
    begin: Statement<'c, 'static>,
    read: Statement<'c, 'static>,
    set_first: Statement<'c, 'static>,
    add_first: Statement<'c, 'static>,
    log: Statement<'c, 'static>,
    add_last: Statement<'c, 'static>,
    commit: Statement<'c, 'static>,
    rollback: Statement<'c, 'static>,
}

impl<'c> Writer<'c> {
    fn prepare(
        connection: &'c Connection,
        spec: &WorkerSpec,
        parameters: &Parameters,
    ) -> Result<Writer<'c>> {
        Ok(Writer {
            connection,
            number: i64::from(spec.number),
            items: parameters.items as u64,
            work: parameters.work,
            hold: parameters.hold,
            begin: connection.prepare(sqlite::begin_statement(&spec.settings))?,
            read: connection.prepare("SELECT first FROM item WHERE id = ?1")?,
            set_first: connection.prepare("UPDATE item SET first = ?2 WHERE id = ?1")?,
            add_first: connection.prepare("UPDATE item SET first = first + 1 WHERE id = ?1")?,
            log: connection.prepare("INSERT INTO log(writer, op) VALUES (?1, ?2)")?,
            add_last: connection.prepare("UPDATE item SET last = last + 1 WHERE id = ?1")?,
            commit: connection.prepare("COMMIT")?,
            rollback: connection.prepare("ROLLBACK")?,
        })
    }

    /// Carries out one transaction. If it fails, no transaction is open afterwards.
    fn attempt(
        &mut self,
        clock: &impl Clock,
        random: u64,
        number: u64,
    ) -> Result<(), AttemptError> {
        let outcome = self.transaction(clock, random, number);
        if outcome.is_err() && self.connection.in_transaction() {
            self.rollback.run().map_err(|error| AttemptError::Failed(error.into()))?;
        }
        outcome
    }

    fn transaction(
        &mut self,
        clock: &impl Clock,
        random: u64,
        op: u64,
    ) -> Result<(), AttemptError> {
        let id = below(random, self.items);
        run(clock, &mut self.begin, &[])?;
        match self.work {
            Work::Write => {
                hold(clock, self.hold);
                run(clock, &mut self.add_first, &[id])?;
            }
            Work::ReadThenWrite => {
                let first = query(clock, &mut self.read, id)?;
                hold(clock, self.hold);
                run(clock, &mut self.set_first, &[id, first + 1])?;
            }
        }
        run(clock, &mut self.log, &[self.number, op as i64])?;
        run(clock, &mut self.add_last, &[id])?;
        run(clock, &mut self.commit, &[])
    }
}

/// Returns the row that 64 random bits choose, from 1 to `items`.
fn below(random: u64, items: u64) -> i64 {
    ((u128::from(random) * u128::from(items)) >> 64) as i64 + 1
}

fn hold(clock: &impl Clock, time: Duration) {
    if !time.is_zero() {
        clock.wait_until(clock.now() + time.as_nanos() as u64);
    }
}

fn run(
    clock: &impl Clock,
    statement: &mut Statement<'_, 'static>,
    values: &[i64],
) -> Result<(), AttemptError> {
    let asked = clock.now();
    let mut bound = || {
        for (index, value) in (1..).zip(values) {
            statement.bind_i64(index, *value)?;
        }
        statement.run()
    };
    bound().map_err(AttemptError::of(asked))
}

/// Returns the integer of a query for one row.
fn query(
    clock: &impl Clock,
    statement: &mut Statement<'_, 'static>,
    id: i64,
) -> Result<i64, AttemptError> {
    let asked = clock.now();
    let mut first = || {
        statement.bind_i64(1, id)?;
        let stepped = statement.step();
        let value = statement.column_i64(0);
        statement.reset()?;
        Ok((stepped? == Step::Row).then_some(value))
    };
    first().map_err(AttemptError::of(asked))?.ok_or_else(|| AttemptError::Failed(missing(id)))
}

fn missing(id: i64) -> TrialError {
    TrialError::wrong(format!("the item {id}"), "missing", "there")
}

/// The statement of a read.
struct Reader<'c> {
    items: u64,
    read_rows: u64,
    sum: Statement<'c, 'static>,
}

impl<'c> Reader<'c> {
    fn prepare(connection: &'c Connection, parameters: &Parameters) -> Result<Reader<'c>> {
        Ok(Reader {
            items: parameters.items as u64,
            read_rows: parameters.read_rows as u64,
            sum: connection.prepare(
                "SELECT count(*), sum(first), sum(last) FROM item WHERE id BETWEEN ?1 AND ?2",
            )?,
        })
    }

    fn attempt(&mut self, clock: &impl Clock, random: u64) -> Result<(), AttemptError> {
        let from = below(random, self.items - self.read_rows + 1);
        let to = from + self.read_rows as i64 - 1;
        let asked = clock.now();
        let [rows, first, last] = self.ask(from, to).map_err(AttemptError::of(asked))?;
        let wrong = |error| AttemptError::Failed(error);
        expect("the count of rows read", rows, self.read_rows as i64).map_err(wrong)?;
        // A transaction adds to one column at its beginning and to the other at its end.
        expect("the sum of `last` compared with that of `first`, which must be equal,", last, first)
            .map_err(wrong)
    }

    fn ask(&mut self, from: i64, to: i64) -> Result<[i64; 3], EngineError> {
        self.sum.bind_i64(1, from)?;
        self.sum.bind_i64(2, to)?;
        let stepped = self.sum.step();
        let answer = [0, 1, 2].map(|column| self.sum.column_i64(column));
        self.sum.reset()?;
        stepped.map(|_| answer)
    }
}
