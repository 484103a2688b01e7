//! What one thread has before it: databases of its own, and what it does to them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::vfs::CountingVfs;
use engine::{Connection, EngineError, Library, OpenFlags, Statement, Step};
use lab::seed::SplitMix64;

use super::parameters::{Connections, Parameters};
use super::quotes::Quotes;
use super::tally::{Course, Latencies};
use super::team::{Gate, Ticket};
use crate::error::TrialError;
use crate::workload::common::expect;

/// How databases are opened: as an application does, without proving every setting, which takes
/// longer than the opening.
pub(super) struct Opener {
    pub(super) library: Arc<Library>,
    pub(super) flags: OpenFlags,
    /// The file system seen through counters, in a counting trial.
    pub(super) vfs: Option<Arc<CountingVfs>>,
    /// The PRAGMAs of the variant, as one script.
    pub(super) script: String,
    pub(super) paths: Vec<PathBuf>,
    pub(super) begin: &'static str,
}

impl Opener {
    /// Opens a database and looks at its schema: until then SQLite has not read the file.
    pub(super) fn open(&self, database: usize) -> Result<Connection, EngineError> {
        let vfs = self.vfs.as_deref().map(CountingVfs::name);
        let connection = Connection::open(&self.library, &self.paths[database], self.flags, vfs)?;
        if !self.script.is_empty() {
            connection.execute(&self.script)?;
        }
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
    ) -> Result<Connection, EngineError> {
        let asked = Instant::now();
        let connection = opener.open(database)?;
        self.open.record(thread, asked.elapsed());
        Ok(connection)
    }

    pub(super) fn close(&self, thread: usize, connection: Connection) -> Result<(), EngineError> {
        let asked = Instant::now();
        connection.close()?;
        self.close.record(thread, asked.elapsed());
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

/// Does the work of one thread, from the gate on, for the time given.
pub(super) fn work(
    mut desk: Desk,
    ticket: Ticket<'_>,
    gate: &Gate,
    opener: &Opener,
    ledger: &Ledger,
    parameters: &Parameters,
    time: Duration,
) -> Result<Work, TrialError> {
    let kept = std::mem::take(&mut desk.connections);
    let visitor = Visitor {
        opener,
        ledger,
        parameters,
        thread: desk.number,
    };
    let mut done = vec![0; desk.databases.len()];
    let mut busy = 0;
    let ended = {
        let mut prepared = kept
            .iter()
            .map(|connection| Statements::prepare(connection, opener.begin, &desk.job))
            .collect::<Result<Vec<_>, _>>()?;
        if parameters.warm_up && matches!(desk.job, Job::Write(_)) {
            for (place, statements) in prepared.iter_mut().enumerate() {
                visitor.act(&mut desk.job, place, statements)?;
                done[place] += 1;
            }
        }
        ticket.pass();
        let start = Instant::now();
        let mut visits = 0;
        loop {
            let began = Instant::now();
            if began.duration_since(start) >= time || gate.is_cancelled() {
                break began;
            }
            let place = desk.job.next_place(visits, done.len());
            visits += 1;
            let statements = prepared.get_mut(place);
            match visitor.visit(&mut desk.job, place, desk.databases[place], statements) {
                Ok(()) => {
                    done[place] += 1;
                    desk.job
                        .latencies(ledger)
                        .record(desk.number, began.elapsed());
                    if let Job::Write(_) = desk.job {
                        ledger
                            .course
                            .note(start.elapsed(), parameters.rows_per_txn as u64);
                    }
                }
                Err(TrialError::Engine(error)) if error.is_busy() => busy += 1,
                Err(error) => return Err(error),
            }
        }
    };
    // A warm-up visits each database that is kept open once.
    let ahead = match parameters.warm_up && matches!(desk.job, Job::Write(_)) {
        true => kept.len() as u64,
        false => 0,
    };
    desk.connections = kept;
    Ok(Work {
        desk,
        done,
        ahead,
        busy,
        ended,
    })
}

impl Job {
    /// Writers go round their databases, readers choose at random.
    fn next_place(&mut self, visits: usize, places: usize) -> usize {
        match self {
            Job::Write(_) => visits % places,
            Job::Read(random) => random.below(places as u64) as usize,
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
    /// One transaction, or one chart; through a connection of its own where none is kept.
    fn visit(
        &self,
        job: &mut Job,
        place: usize,
        database: usize,
        kept: Option<&mut Statements<'_>>,
    ) -> Result<(), TrialError> {
        match (kept, self.parameters.connections) {
            (Some(statements), Connections::Kept) => self.act(job, place, statements),
            _ => {
                let connection = self.ledger.open(self.thread, self.opener, database)?;
                let acted = Statements::prepare(&connection, self.opener.begin, job)
                    .map_err(TrialError::from)
                    .and_then(|mut statements| self.act(job, place, &mut statements));
                let closed = self.ledger.close(self.thread, connection);
                acted?;
                Ok(closed?)
            }
        }
    }

    fn act(
        &self,
        job: &mut Job,
        place: usize,
        statements: &mut Statements<'_>,
    ) -> Result<(), TrialError> {
        match (job, statements) {
            (Job::Write(quotes), Statements::Write(writer)) => {
                // What is not committed comes again.
                let mut ahead = quotes[place].clone();
                writer.transaction(&mut ahead, self.parameters.rows_per_txn)?;
                quotes[place] = ahead;
                Ok(())
            }
            (Job::Read(_), Statements::Read(chart)) => chart.read(self.parameters.chart_rows),
            // Statements are prepared for the job of the same desk.
            _ => Err(TrialError::Measuring("a desk has two jobs".to_owned())),
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
                insert: connection.prepare("INSERT INTO quotes VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?,
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
            self.insert.bind_i64(1, quote.ts)?;
            self.insert.bind_f64(2, quote.bid)?;
            self.insert.bind_f64(3, quote.ask)?;
            self.insert.bind_f64(4, quote.last)?;
            self.insert.bind_i64(5, quote.volume)?;
            self.insert.bind_text_borrowed(6, quote.venue)?;
            self.insert.run()?;
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
