//! The part of one thread: its databases, and what it does to them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::{Connection, EngineError, Statement, Step};
use lab::seed::SplitMix64;

use super::parameters::{Connections, Parameters, YesNo};
use super::quotes::{INSERT, Quotes};
use super::stage::Stage;
use super::tally::{Course, Latencies};
use crate::error::TrialError;
use crate::target::sqlite::Opening;
use crate::workload::common::expect;
use crate::workload::team::Gate;

/// How databases are opened: as an application does, without proving every setting, which takes
/// longer than the opening.
pub(super) struct Opener {
    pub(super) opening: Opening,
    pub(super) paths: Vec<PathBuf>,
    pub(super) begin: &'static str,
}

impl Opener {
    /// Opens a database and looks at its schema: until then SQLite has not read the file.
    pub(super) fn open(&self, database: usize) -> Result<Connection, TrialError> {
        let connection = self.opening.open_unproved(&self.paths[database])?;
        connection.execute("SELECT 1 FROM quotes LIMIT 1")?;
        Ok(connection)
    }
}

/// What threads note in common.
pub(super) struct Ledger {
    pub(super) open: Latencies,
    pub(super) close: Latencies,
    pub(super) write: Latencies,
    pub(super) read: Latencies,
    pub(super) course: Course,
}

impl Ledger {
    pub(super) fn open(
        &self,
        thread: usize,
        opener: &Opener,
        database: usize,
    ) -> Result<Connection, TrialError> {
        let start = Instant::now();
        let connection = opener.open(database)?;
        self.open.record(thread, start.elapsed());
        Ok(connection)
    }

    pub(super) fn close(&self, thread: usize, connection: Connection) -> Result<(), EngineError> {
        let start = Instant::now();
        connection.close()?;
        self.close.record(thread, start.elapsed());
        Ok(())
    }
}

/// The part of one thread.
pub(super) struct Desk {
    pub(super) number: usize,
    pub(super) databases: Vec<usize>,
    /// A connection for each database, where they are kept.
    pub(super) connections: Vec<Connection>,
    pub(super) job: Job,
}

/// What is done.
pub(super) enum Job {
    /// Quotes are added; those to come, of each database.
    Write(Vec<Quotes>),
    /// Charts are read of databases chosen at random.
    Read(SplitMix64),
}

/// What a thread did.
pub(super) struct Work {
    /// Its part, to be closed.
    pub(super) desk: Desk,
    /// Transactions that were committed, of each database; charts that were read.
    pub(super) done: Vec<u64>,
    /// How many of them were done before the clock started.
    pub(super) ahead: u64,
    /// `SQLITE_BUSY` results.
    pub(super) busy: u64,
    /// When it ended.
    pub(super) ended: Instant,
}

impl Work {
    /// Of a thread that has done nothing.
    pub(super) fn idle(desk: Desk) -> Work {
        Work { done: vec![0; desk.databases.len()], desk, ahead: 0, busy: 0, ended: Instant::now() }
    }
}

/// Does the work of one thread, from the gate on, for the time given.
pub(super) fn work(
    mut desk: Desk,
    gate: &Gate,
    stage: &Stage,
    time: Duration,
) -> Result<Work, TrialError> {
    let kept = std::mem::take(&mut desk.connections);
    let mut work = Work::idle(desk);
    let visitor = Visitor {
        opener: &stage.opener,
        ledger: &stage.ledger,
        parameters: &stage.parameters,
        thread: work.desk.number,
    };
    let mut prepared = kept
        .iter()
        .map(|connection| Statements::prepare(connection, stage.opener.begin, &work.desk.job))
        .collect::<Result<Vec<_>, _>>()?;
    if stage.parameters.warm_up == YesNo::Yes && matches!(work.desk.job, Job::Write(_)) {
        for (index, statements) in prepared.iter_mut().enumerate() {
            visitor.act(&mut work.desk.job, index, statements)?;
            work.done[index] += 1;
        }
        work.ahead = prepared.len() as u64;
    }
    gate.pass();
    visitor.go_round(&mut work, &mut prepared, gate, time)?;
    drop(prepared);
    work.desk.connections = kept;
    Ok(work)
}

impl Job {
    /// Writers go round their databases, readers choose at random.
    fn next_database(&mut self, visits: usize, databases: usize) -> usize {
        match self {
            Job::Write(_) => visits % databases,
            Job::Read(random) => random.below(databases as u64) as usize,
        }
    }

    fn latencies<'l>(&self, ledger: &'l Ledger) -> &'l Latencies {
        match self {
            Job::Write(_) => &ledger.write,
            Job::Read(_) => &ledger.read,
        }
    }
}

struct Visitor<'a> {
    opener: &'a Opener,
    ledger: &'a Ledger,
    parameters: &'a Parameters,
    thread: usize,
}

impl Visitor<'_> {
    /// Visits databases until the time is up or another thread has failed.
    fn go_round(
        &self,
        work: &mut Work,
        prepared: &mut [Statements<'_>],
        gate: &Gate,
        time: Duration,
    ) -> Result<(), TrialError> {
        let Work { desk, done, busy, .. } = work;
        let start = Instant::now();
        let mut visits = 0;
        work.ended = loop {
            let began = Instant::now();
            if began.duration_since(start) >= time || gate.is_cancelled() {
                break began;
            }
            let index = desk.job.next_database(visits, done.len());
            visits += 1;
            let statements = prepared.get_mut(index);
            match self.visit(&mut desk.job, index, desk.databases[index], statements) {
                Ok(()) => {
                    done[index] += 1;
                    let latencies = desk.job.latencies(self.ledger);
                    latencies.record(desk.number, began.elapsed());
                    if let Job::Write(_) = desk.job {
                        let rows = self.parameters.rows_per_txn as u64;
                        self.ledger.course.note(start.elapsed(), rows);
                    }
                }
                Err(TrialError::Engine(error)) if error.is_busy() => *busy += 1,
                Err(error) => return Err(error),
            }
        };
        Ok(())
    }

    /// One transaction, or one chart; through a connection of its own where none is kept.
    fn visit(
        &self,
        job: &mut Job,
        index: usize,
        database: usize,
        kept: Option<&mut Statements<'_>>,
    ) -> Result<(), TrialError> {
        match (kept, self.parameters.connections) {
            (Some(statements), Connections::Kept) => self.act(job, index, statements),
            _ => {
                let connection = self.ledger.open(self.thread, self.opener, database)?;
                let acted = Statements::prepare(&connection, self.opener.begin, job)
                    .map_err(TrialError::from)
                    .and_then(|mut statements| self.act(job, index, &mut statements));
                let closed = self.ledger.close(self.thread, connection);
                acted?;
                Ok(closed?)
            }
        }
    }

    fn act(
        &self,
        job: &mut Job,
        index: usize,
        statements: &mut Statements<'_>,
    ) -> Result<(), TrialError> {
        match (job, statements) {
            (Job::Write(quotes), Statements::Write(writer)) => {
                // What is not committed comes again.
                let mut ahead = quotes[index].clone();
                writer.transaction(&mut ahead, self.parameters.rows_per_txn)?;
                quotes[index] = ahead;
                Ok(())
            }
            (Job::Read(_), Statements::Read(chart)) => chart.read(self.parameters.chart_rows),
            // Statements are prepared for the job of the same desk.
            _ => Err(TrialError::Measuring("a thread has statements of another job".to_owned())),
        }
    }
}

/// The statements of a connection.
enum Statements<'c> {
    Write(Box<Writer<'c>>),
    Read(Chart<'c>),
}

struct Writer<'c> {
    connection: &'c Connection,
    begin: Statement<'c, 'static>,
    insert: Statement<'c, 'static>,
    commit: Statement<'c, 'static>,
}

struct Chart<'c>(Statement<'c, 'static>);

impl<'c> Statements<'c> {
    fn prepare(
        connection: &'c Connection,
        begin: &str,
        job: &Job,
    ) -> Result<Statements<'c>, EngineError> {
        Ok(match job {
            Job::Write(_) => Statements::Write(Box::new(Writer {
                connection,
                begin: connection.prepare(begin)?,
                insert: connection.prepare(INSERT)?,
                commit: connection.prepare("COMMIT")?,
            })),
            Job::Read(_) => Statements::Read(Chart(
                connection.prepare("SELECT ts, bid, ask FROM quotes ORDER BY ts DESC LIMIT ?1")?,
            )),
        })
    }
}

impl Writer<'_> {
    /// Adds so many of the quotes; where that fails, none, and no transaction is open.
    fn transaction(&mut self, quotes: &mut Quotes, rows: usize) -> Result<(), EngineError> {
        let added = self.add(quotes, rows);
        if added.is_err() && self.connection.in_transaction() {
            self.connection.execute("ROLLBACK")?;
        }
        added
    }

    fn add(&mut self, quotes: &mut Quotes, rows: usize) -> Result<(), EngineError> {
        self.begin.run()?;
        for quote in quotes.take(rows) {
            quote.insert(&mut self.insert)?;
        }
        self.commit.run()
    }
}

impl Chart<'_> {
    /// Reads the latest quotes, which must be as many as asked for, go back in time, and be quotes.
    fn read(&mut self, rows: usize) -> Result<(), TrialError> {
        self.0.bind_i64(1, rows as i64)?;
        let read = self.go_back();
        self.0.reset()?;
        let (found, wrong) = read?;
        expect("the count of quotes in a chart", found, rows)?;
        expect("the count of quotes out of order in a chart", wrong, 0)
    }

    fn go_back(&mut self) -> Result<(usize, usize), EngineError> {
        let (mut found, mut wrong, mut before) = (0, 0, i64::MAX);
        while self.0.step()? == Step::Row {
            let ts = self.0.column_i64(0);
            let crossed = self.0.column_f64(1) >= self.0.column_f64(2);
            found += 1;
            wrong += usize::from(ts >= before || crossed);
            before = ts;
        }
        Ok((found, wrong))
    }
}
