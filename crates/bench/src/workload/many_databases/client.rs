//! One thread: its databases and its work on them.
//!
//! Counters that many threads share while they work.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::quotes::{INSERT, Quotes, insert};
use super::{Connections, Parameters, YesNo};
use crate::target::sqlite::Opening;
use crate::workload::prelude::*;

/// The measured parts of the work, in the order of the phases.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Open,
    Close,
    Write,
    Read,
}

/// All databases of a trial, and everything that its threads share.
pub(super) struct Databases {
    pub(super) parameters: Parameters,
    pub(super) opening: Opening,
    pub(super) paths: Vec<PathBuf>,
    pub(super) begin: &'static str,
    /// The settings that every connection must have.
    pub(super) proof: BTreeMap<String, String>,
    /// The latencies of each [`Part`].
    pub(super) latencies: [Latencies; 4],
    pub(super) throughput: Throughput,
}

impl Databases {
    /// Opens a database as an application does, without proving every setting, which takes longer than the opening, and looks at
    /// its schema: until then SQLite has not read the file.
    pub(super) fn open(&self, database: usize) -> Result<Connection> {
        let connection = self.opening.open_unproved(&self.paths[database])?;
        connection.execute("SELECT 1 FROM quotes LIMIT 1")?;
        Ok(connection)
    }

    /// Does a part of the work of a thread and records its latency.
    pub(super) fn time<T>(
        &self,
        part: Part,
        thread: usize,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let start = Instant::now();
        let done = work()?;
        self.latencies[part as usize].record(thread, start.elapsed());
        Ok(done)
    }
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

impl Job {
    /// Writers go round their databases, readers choose at random.
    fn next_database(&mut self, visits: usize, databases: usize) -> usize {
        match self {
            Job::Write(_) => visits % databases,
            Job::Read(random) => random.below(databases as u64) as usize,
        }
    }

    fn part(&self) -> Part {
        match self {
            Job::Write(_) => Part::Write,
            Job::Read(_) => Part::Read,
        }
    }
}

/// The work of all threads, from the gate on, for the time given.
pub(super) struct Visitor<'a> {
    pub(super) shared: &'a Databases,
    pub(super) gate: &'a Gate,
    pub(super) time: Duration,
}

impl Visitor<'_> {
    /// Does the work of one thread, from the gate on, for the time given.
    pub(super) fn work(&self, mut client: Client) -> Result<Work> {
        let shared = self.shared;
        let kept = std::mem::take(&mut client.connections);
        let mut work = Work::idle(client);
        let prepared = kept.iter().map(|connection| prepare(connection, shared, &work.client.job));
        let mut prepared = prepared.collect::<Result<Vec<Act<'_>>, _>>()?;
        if shared.parameters.warm_up == YesNo::Yes && matches!(work.client.job, Job::Write(_)) {
            for (index, act) in prepared.iter_mut().enumerate() {
                act(&mut work.client.job, index)?;
                work.done[index] += 1;
            }
            work.ahead = prepared.len() as u64;
        }
        self.gate.pass();
        self.go_round(&mut work, &mut prepared)?;
        drop(prepared);
        work.client.connections = kept;
        Ok(work)
    }

    /// Visits databases until the time is up or another thread has failed.
    fn go_round(&self, work: &mut Work, prepared: &mut [Act<'_>]) -> Result<()> {
        let Work { client, done, busy, .. } = work;
        let start = Instant::now();
        let mut visits = 0;
        work.ended = loop {
            let began = Instant::now();
            if began.duration_since(start) >= self.time || self.gate.is_cancelled() {
                break began;
            }
            let index = client.job.next_database(visits, done.len());
            visits += 1;
            let kept = prepared.get_mut(index);
            match self.visit(client, index, kept) {
                Ok(()) => {
                    done[index] += 1;
                    let latencies = &self.shared.latencies[client.job.part() as usize];
                    latencies.record(client.number, began.elapsed());
                    if let Job::Write(_) = client.job {
                        let rows = self.shared.parameters.rows_per_txn as u64;
                        self.shared.throughput.note(start.elapsed(), rows);
                    }
                }
                Err(TrialError::Engine(error)) if error.is_busy() => *busy += 1,
                Err(error) => return Err(error),
            }
        };
        Ok(())
    }

    /// Does one transaction or reads one chart, through a connection of its own if none is kept.
    fn visit(&self, client: &mut Client, index: usize, kept: Option<&mut Act<'_>>) -> Result<()> {
        let Client { number: thread, databases, job, .. } = client;
        let (shared, thread) = (self.shared, *thread);
        match (kept, shared.parameters.connections) {
            (Some(act), Connections::Kept) => act(job, index),
            _ => {
                let connection =
                    shared.time(Part::Open, thread, || shared.open(databases[index]))?;
                let acted = prepare(&connection, shared, job).and_then(|mut act| act(job, index));
                let closed = shared.time(Part::Close, thread, || Ok(connection.close()?));
                acted?;
                closed
            }
        }
    }
}

/// Does one transaction or reads one chart for a job, on the database of this index.
type Act<'c> = Box<dyn FnMut(&mut Job, usize) -> Result<()> + 'c>;

/// Prepares the statements of a job on a connection.
fn prepare<'c>(connection: &'c Connection, shared: &Databases, job: &Job) -> Result<Act<'c>> {
    let Parameters { rows_per_txn, chart_rows, .. } = shared.parameters;
    if let Job::Read(_) = job {
        let sql = "SELECT ts, bid, ask FROM quotes ORDER BY ts DESC LIMIT ?1";
        let mut chart = connection.prepare(sql)?;
        return Ok(Box::new(move |_, _| read_chart(&mut chart, chart_rows)));
    }
    let mut begin = connection.prepare(shared.begin)?;
    let mut insert_quote = connection.prepare(INSERT)?;
    let mut commit = connection.prepare("COMMIT")?;
    Ok(Box::new(move |job, index| {
        let Job::Write(quotes) = job else {
            return Err(TrialError::Measuring("a thread has statements of another job".to_owned()));
        };
        // Quotes that are not committed come again.
        let mut ahead = quotes[index].clone();
        let mut add = || -> Result<()> {
            begin.run()?;
            for quote in ahead.by_ref().take(rows_per_txn) {
                insert(&quote, &mut insert_quote)?;
            }
            Ok(commit.run()?)
        };
        // On failure none is added, and no transaction is open.
        let added = add();
        if added.is_err() && connection.in_transaction() {
            connection.execute("ROLLBACK")?;
        }
        added?;
        quotes[index] = ahead;
        Ok(())
    }))
}

/// Reads the latest quotes and checks their number, order and prices.
fn read_chart(chart: &mut Statement<'_, 'static>, rows: usize) -> Result<()> {
    chart.bind_i64(1, rows as i64)?;
    let read = go_back(chart);
    chart.reset()?;
    let (found, wrong) = read?;
    expect("the count of quotes in a chart", found, rows)?;
    expect("the count of quotes out of order in a chart", wrong, 0)
}

fn go_back(chart: &mut Statement<'_, 'static>) -> Result<(usize, usize), EngineError> {
    let (mut found, mut wrong, mut before) = (0, 0, i64::MAX);
    while chart.step()? == Step::Row {
        let ts = chart.column_i64(0);
        let crossed = chart.column_f64(1) >= chart.column_f64(2);
        found += 1;
        wrong += usize::from(ts >= before || crossed);
        before = ts;
    }
    Ok((found, wrong))
}

/// Histograms that threads share: one for each of thousands of threads would take hundreds of megabytes, and one for all
/// would be contended.
const SHARES: usize = 16;

/// Latencies of many threads.
pub(super) struct Latencies(Vec<Mutex<LatencyHistogram>>);

impl Latencies {
    pub(super) fn new() -> Latencies {
        let shares = (0..SHARES).map(|_| Mutex::new(LatencyHistogram::default()));
        Latencies(shares.collect())
    }

    /// Records a latency of the thread of this number.
    pub(super) fn record(&self, thread: usize, latency: Duration) {
        let share = &self.0[thread % SHARES];
        locked(share).record(latency);
    }

    /// Returns all of them together.
    pub(super) fn collect(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::default();
        self.0.iter().for_each(|share| all.add(&locked(share)));
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
