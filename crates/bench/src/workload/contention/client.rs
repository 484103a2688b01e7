//! What a worker does to the database: a write transaction or a read, begun anew where another
//! connection was in the way, as an application would.

use std::time::Duration;

use engine::{Connection, EngineError, Statement, Step};
use lab::seed::{Seed, SplitMix64};

use super::clock::{Clock, Nanos};
use super::message::{BusyCounts, Kind, WorkerSpec};
use super::pace::Ended;
use super::parameters::{Parameters, Work};
use super::worker::Operator;
use crate::error::TrialError;
use crate::target::sqlite;
use crate::workload::common::expect;

/// Does the operations of one worker.
pub(super) struct Client<'c, C> {
    operations: Operations<'c>,
    clock: C,
    choice: SplitMix64,
    /// Apart from the other choices, so that retries do not change what is written.
    pauses: SplitMix64,
    max_retries: usize,
    retry_pause: Duration,
    /// A busy result that comes sooner was not waited for.
    patience: Duration,
    busy: BusyCounts,
}

enum Operations<'c> {
    Write(Box<Writer<'c>>),
    Read(Box<Reader<'c>>),
}

/// Why an attempt did not succeed.
enum Hindered {
    /// Another connection was in the way, since this moment.
    Busy { asked: Nanos, snapshot: bool },
    /// Something is wrong.
    Failed(TrialError),
}

impl<'c, C: Clock + Copy> Client<'c, C> {
    pub(super) fn prepare(
        connection: &'c Connection,
        spec: &WorkerSpec,
        parameters: &Parameters,
        clock: C,
    ) -> Result<Client<'c, C>, TrialError> {
        let operations = match spec.kind {
            Kind::Writer => {
                Operations::Write(Box::new(Writer::prepare(connection, spec, parameters)?))
            }
            // Clients execute scripts of the user's own, which the workload `sql` does.
            Kind::Reader | Kind::Client => {
                Operations::Read(Box::new(Reader::prepare(connection, parameters)?))
            }
        };
        let own = |seed: Seed, name: &str| seed.child(name).generator();
        Ok(Client {
            operations,
            clock,
            choice: own(spec.seed, "items"),
            pauses: own(spec.seed, "pauses"),
            max_retries: parameters.max_retries,
            retry_pause: parameters.retry_pause,
            patience: parameters.busy_timeout.0 / 2,
            busy: BusyCounts::default(),
        })
    }

    fn note(&mut self, asked: Nanos, snapshot: bool) {
        let waited = Duration::from_nanos(self.clock.now().saturating_sub(asked));
        self.busy.errors += 1;
        self.busy.at_once += u64::from(waited < self.patience);
        self.busy.snapshots += u64::from(snapshot);
    }

    fn pause(&mut self) {
        let mean = self.retry_pause.as_nanos() as u64;
        let pause = mean / 2 + self.pauses.below(mean.max(1));
        self.clock.wait_until(self.clock.now() + pause);
    }
}

impl<C: Clock + Copy> Operator for Client<'_, C> {
    fn take_busy(&mut self) -> BusyCounts {
        std::mem::take(&mut self.busy)
    }

    fn operate(&mut self, number: u64, _: Nanos) -> Result<Ended, TrialError> {
        let random = self.choice.next_u64();
        for attempt in 0..=self.max_retries {
            let done = match &mut self.operations {
                Operations::Write(writer) => writer.attempt(&self.clock, random, number),
                Operations::Read(reader) => reader.attempt(&self.clock, random),
            };
            match done {
                Ok(()) => return Ok(true.into()),
                Err(Hindered::Failed(error)) => return Err(error),
                Err(Hindered::Busy { asked, snapshot }) => self.note(asked, snapshot),
            }
            if attempt < self.max_retries {
                self.busy.retries += 1;
                self.pause();
            }
        }
        Ok(false.into())
    }
}

/// Tells a lock in the way from everything else.
fn hindered(asked: Nanos) -> impl FnOnce(EngineError) -> Hindered {
    move |error| match error.is_busy() {
        true => Hindered::Busy { asked, snapshot: error.is_busy_snapshot() },
        false => Hindered::Failed(error.into()),
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
    ) -> Result<Writer<'c>, TrialError> {
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

    /// One transaction; where it is hindered, none is open afterwards.
    fn attempt(&mut self, clock: &impl Clock, random: u64, number: u64) -> Result<(), Hindered> {
        let outcome = self.transaction(clock, random, number);
        if outcome.is_err() && self.connection.in_transaction() {
            self.rollback.run().map_err(|error| Hindered::Failed(error.into()))?;
        }
        outcome
    }

    fn transaction(&mut self, clock: &impl Clock, random: u64, op: u64) -> Result<(), Hindered> {
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

/// A row chosen by 64 random bits, from 1 to `items`.
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
) -> Result<(), Hindered> {
    let asked = clock.now();
    let mut bound = || {
        for (index, value) in (1..).zip(values) {
            statement.bind_i64(index, *value)?;
        }
        statement.run()
    };
    bound().map_err(hindered(asked))
}

/// The integer that a query for one row gives.
fn query(
    clock: &impl Clock,
    statement: &mut Statement<'_, 'static>,
    id: i64,
) -> Result<i64, Hindered> {
    let asked = clock.now();
    let mut first = || {
        statement.bind_i64(1, id)?;
        let stepped = statement.step();
        let value = statement.column_i64(0);
        statement.reset()?;
        Ok((stepped? == Step::Row).then_some(value))
    };
    first().map_err(hindered(asked))?.ok_or_else(|| Hindered::Failed(missing(id)))
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
    fn prepare(
        connection: &'c Connection,
        parameters: &Parameters,
    ) -> Result<Reader<'c>, TrialError> {
        Ok(Reader {
            items: parameters.items as u64,
            read_rows: parameters.read_rows as u64,
            sum: connection.prepare(
                "SELECT count(*), sum(first), sum(last) FROM item WHERE id BETWEEN ?1 AND ?2",
            )?,
        })
    }

    fn attempt(&mut self, clock: &impl Clock, random: u64) -> Result<(), Hindered> {
        let from = below(random, self.items - self.read_rows + 1);
        let to = from + self.read_rows as i64 - 1;
        let asked = clock.now();
        let [rows, first, last] = self.ask(from, to).map_err(hindered(asked))?;
        let wrong = |error| Hindered::Failed(error);
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
