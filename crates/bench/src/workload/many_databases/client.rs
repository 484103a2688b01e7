//! One thread: its databases and its work on them.
//!
//! Counters that many threads share while they work.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::{Connection, EngineError, Statement, Step};
use lab::seed::SplitMix64;

use super::quotes::{INSERT, Quotes};
use super::{Connections, Parameters, YesNo};
use crate::drive::gate::Gate;
use crate::error::{Result, TrialError};
use crate::locks::{locked, unlocked};
use crate::measure::LatencyHistogram;
use crate::target::sqlite::Opening;
use crate::workload::common::expect;

/// Opens databases as an application does, without proving every setting, which takes longer than the opening.
pub(super) struct Opener {
    pub(super) opening: Opening,
    pub(super) paths: Vec<PathBuf>,
    pub(super) begin: &'static str,
}

impl Opener {
    /// Opens a database and looks at its schema: until then SQLite has not read the file.
    pub(super) fn open(&self, database: usize) -> Result<Connection> {
        let connection = self.opening.open_unproved(&self.paths[database])?;
        connection.execute("SELECT 1 FROM quotes LIMIT 1")?;
        Ok(connection)
    }
}

/// Latencies and throughput of all threads.
pub(super) struct Measurements {
    pub(super) open: Latencies,
    pub(super) close: Latencies,
    pub(super) write: Latencies,
    pub(super) read: Latencies,
    pub(super) throughput: Throughput,
}

impl Measurements {
    pub(super) fn open(
        &self,
        thread: usize,
        opener: &Opener,
        database: usize,
    ) -> Result<Connection> {
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

/// Everything that threads share.
pub(super) struct Shared {
    pub(super) parameters: Parameters,
    pub(super) opener: Opener,
    pub(super) measurements: Measurements,
}

/// One thread.
pub(super) struct Client {
    pub(super) number: usize,
    pub(super) databases: Vec<usize>,
    /// A connection for each database, where they are kept.
    pub(super) connections: Vec<Connection>,
    pub(super) job: Job,
}

/// The work of a thread.
pub(super) enum Job {
    /// Adds quotes: the next ones of each database.
    Write(Vec<Quotes>),
    /// Reads charts of databases chosen at random.
    Read(SplitMix64),
}

/// The work that a thread has done.
pub(super) struct Work {
    /// The thread, whose connections are still open.
    pub(super) client: Client,
    /// Committed transactions, or charts that were read, by database.
    pub(super) done: Vec<u64>,
    /// Number of them done before the clock started.
    pub(super) ahead: u64,
    /// `SQLITE_BUSY` results.
    pub(super) busy: u64,
    /// End of the work.
    pub(super) ended: Instant,
}

impl Work {
    /// Returns the work of a thread that has done nothing.
    pub(super) fn idle(client: Client) -> Work {
        Work {
            done: vec![0; client.databases.len()],
            client,
            ahead: 0,
            busy: 0,
            ended: Instant::now(),
        }
    }
}

/// Does the work of one thread, from the gate on, for the time given.
pub(super) fn work(
    mut client: Client,
    gate: &Gate,
    shared: &Shared,
    time: Duration,
) -> Result<Work> {
    let kept = std::mem::take(&mut client.connections);
    let mut work = Work::idle(client);
    let visitor = Visitor { shared, thread: work.client.number };
    let mut prepared = kept
        .iter()
        .map(|connection| Statements::prepare(connection, shared.opener.begin, &work.client.job))
        .collect::<Result<Vec<_>, _>>()?;
    if shared.parameters.warm_up == YesNo::Yes && matches!(work.client.job, Job::Write(_)) {
        for (index, statements) in prepared.iter_mut().enumerate() {
            visitor.act(&mut work.client.job, index, statements)?;
            work.done[index] += 1;
        }
        work.ahead = prepared.len() as u64;
    }
    gate.pass();
    visitor.go_round(&mut work, &mut prepared, gate, time)?;
    drop(prepared);
    work.client.connections = kept;
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

    fn latencies<'l>(&self, measurements: &'l Measurements) -> &'l Latencies {
        match self {
            Job::Write(_) => &measurements.write,
            Job::Read(_) => &measurements.read,
        }
    }
}

struct Visitor<'a> {
    shared: &'a Shared,
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
    ) -> Result<()> {
        let Work { client, done, busy, .. } = work;
        let start = Instant::now();
        let mut visits = 0;
        work.ended = loop {
            let began = Instant::now();
            if began.duration_since(start) >= time || gate.is_cancelled() {
                break began;
            }
            let index = client.job.next_database(visits, done.len());
            visits += 1;
            let statements = prepared.get_mut(index);
            match self.visit(&mut client.job, index, client.databases[index], statements) {
                Ok(()) => {
                    done[index] += 1;
                    let latencies = client.job.latencies(&self.shared.measurements);
                    latencies.record(client.number, began.elapsed());
                    if let Job::Write(_) = client.job {
                        let rows = self.shared.parameters.rows_per_txn as u64;
                        self.shared.measurements.throughput.note(start.elapsed(), rows);
                    }
                }
                Err(TrialError::Engine(error)) if error.is_busy() => *busy += 1,
                Err(error) => return Err(error),
            }
        };
        Ok(())
    }

    /// Does one transaction or reads one chart, through a connection of its own if none is kept.
    fn visit(
        &self,
        job: &mut Job,
        index: usize,
        database: usize,
        kept: Option<&mut Statements<'_>>,
    ) -> Result<()> {
        let Shared { parameters, opener, measurements } = self.shared;
        match (kept, parameters.connections) {
            (Some(statements), Connections::Kept) => self.act(job, index, statements),
            _ => {
                let connection = measurements.open(self.thread, opener, database)?;
                let acted = Statements::prepare(&connection, opener.begin, job)
                    .map_err(TrialError::from)
                    .and_then(|mut statements| self.act(job, index, &mut statements));
                let closed = measurements.close(self.thread, connection);
                acted?;
                Ok(closed?)
            }
        }
    }

    fn act(&self, job: &mut Job, index: usize, statements: &mut Statements<'_>) -> Result<()> {
        match (job, statements) {
            (Job::Write(quotes), Statements::Write(writer)) => {
                // Quotes that are not committed come again.
                let mut ahead = quotes[index].clone();
                // Adds the next quotes. On failure none is added, and no transaction is open.
                let added = writer.add(&mut ahead, self.shared.parameters.rows_per_txn);
                if added.is_err() && writer.connection.in_transaction() {
                    writer.connection.execute("ROLLBACK")?;
                }
                added?;
                quotes[index] = ahead;
                Ok(())
            }
            (Job::Read(_), Statements::Read(chart)) => {
                chart.read(self.shared.parameters.chart_rows)
            }
            // Statements are prepared for the job of the same client.
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
    fn add(&mut self, quotes: &mut Quotes, rows: usize) -> Result<(), EngineError> {
        self.begin.run()?;
        for quote in quotes.take(rows) {
            quote.insert(&mut self.insert)?;
        }
        self.commit.run()
    }
}

impl Chart<'_> {
    /// Reads the latest quotes and checks their number, order and prices.
    fn read(&mut self, rows: usize) -> Result<()> {
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

/// Histograms that threads share: one for each of thousands of threads would take hundreds of megabytes, and one for all
/// would be contended.
const SHARES: usize = 16;

/// Latencies of many threads.
pub(super) struct Latencies(Vec<Mutex<LatencyHistogram>>);

impl Latencies {
    pub(super) fn new() -> Latencies {
        let shares = (0..SHARES).map(|_| Mutex::new(LatencyHistogram::new()));
        Latencies(shares.collect())
    }

    /// Records a latency of the thread of this number.
    pub(super) fn record(&self, thread: usize, latency: Duration) {
        let share = &self.0[thread % SHARES];
        locked(share).record(latency);
    }

    /// Returns all of them together.
    pub(super) fn collect(self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        for share in self.0 {
            all.add(&unlocked(share));
        }
        all
    }
}

/// Work done in each part of the time.
pub(super) struct Throughput {
    slot: Duration,
    done: Vec<AtomicU64>,
}

impl Throughput {
    pub(super) fn new(whole: Duration, slots: u32) -> Throughput {
        Throughput {
            slot: (whole / slots).max(Duration::from_nanos(1)),
            done: (0..slots).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Records that `units` were done at this time after the start.
    pub(super) fn note(&self, elapsed: Duration, units: u64) {
        let slot = elapsed.as_nanos() / self.slot.as_nanos();
        if let Some(done) = usize::try_from(slot).ok().and_then(|slot| self.done.get(slot)) {
            done.fetch_add(units, Ordering::Relaxed);
        }
    }

    /// Returns units a second in each part.
    pub(super) fn rates(&self) -> Vec<f64> {
        let slot_s = self.slot.as_secs_f64();
        let rate = |done: &AtomicU64| done.load(Ordering::Relaxed) as f64 / slot_s;
        self.done.iter().map(rate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_note_is_all_there_in_the_end() {
        let latencies = Latencies::new();
        let throughput = Throughput::new(Duration::from_secs(1), 10);
        std::thread::scope(|scope| {
            for thread in 0..40 {
                let (latencies, throughput) = (&latencies, &throughput);
                scope.spawn(move || {
                    for number in 0..100 {
                        latencies.record(thread, Duration::from_micros(number));
                        throughput.note(Duration::from_millis(number * 11), 1);
                    }
                });
            }
        });
        assert_eq!(latencies.collect().count(), 4_000);
        let rates = throughput.rates();
        // 10 ms × 11 = 110 ms: ten numbers in the first tenth; those after the end are left out.
        assert_eq!(rates[0], 40.0 * 10.0 / 0.1);
        assert!(rates.iter().sum::<f64>() * 0.1 < 4_000.0);
    }
}
