//! The phases of a trial: opening, working, closing and verifying all databases.

use std::time::{Duration, Instant};

use engine::{Connection, pragma};

use super::client::{Client, Databases, Job, Part, Visitor, Work};
use super::quotes::Sums;
use super::{Connections, ManyDatabases, coming};
use crate::platform::open_files;
use crate::target::sqlite::Counts;
use crate::workload::prelude::*;

/// Threads that verify the databases, which mostly wait until files are created and removed.
const VERIFIERS: usize = 8;

impl Databases {
    /// Opens the databases of each thread if connections are kept, and proves their settings afterwards, so that the proof
    /// is not timed.
    pub(super) fn open_all(
        &self,
        clients: Vec<Client>,
        measured: &mut Measured,
    ) -> Result<Vec<Client>> {
        if self.parameters.connections == Connections::EachTime {
            return Ok(clients);
        }
        let open = |mut client: Client, gate: &Gate| {
            gate.pass();
            for database in &client.databases {
                if gate.is_cancelled() {
                    break;
                }
                let open = || self.open(*database);
                client.connections.push(self.time(Part::Open, client.number, open)?);
            }
            Ok((client, Instant::now()))
        };
        let (opened, start) = run_threads(clients, Gate::begin, open)?;
        let last = opened.iter().map(|(_, ended)| *ended).max();
        note_time("seconds.open", start, last, measured);
        let clients: Vec<Client> = opened.into_iter().map(|(client, _)| client).collect();
        for client in &clients {
            for (connection, database) in client.connections.iter().zip(&client.databases) {
                self.prove(connection, *database)?;
            }
        }
        Ok(clients)
    }

    /// Checks that a connection has the settings that were proved on the first database.
    fn prove(&self, connection: &Connection, database: usize) -> Result<()> {
        for (name, wanted) in &self.proof {
            let found = pragma::read(connection, name)?;
            expect(&format!("{name} of database {database}"), &found, wanted)?;
        }
        Ok(())
    }

    pub(super) fn work(
        &self,
        clients: Vec<Client>,
        time: Duration,
        counts: Option<&mut Counts>,
        measured: &mut Measured,
    ) -> Result<Vec<Work>> {
        let work = |client: Client, gate: &Gate| Visitor { shared: self, gate, time }.work(client);
        let start = |gate: &Gate| {
            gate.wait_until_ready();
            // Opening and warming up are not part of the work.
            if let Some(counts) = counts {
                counts.resume();
            }
            gate.start_clock()
        };
        let (worked, watch) = run_threads(clients, start, work)?;
        let started = watch.started();
        let mut elapsed = watch.stop()?;
        // Threads give their statements back when they end, which is not part of the work.
        if let Some(ended) = worked.iter().map(|work| work.ended).max() {
            elapsed.seconds = ended.duration_since(started).as_secs_f64().max(1e-9);
        }
        measured.metrics.extend(elapsed.times().metrics);
        self.note_work(&worked, elapsed.seconds, measured);
        Ok(worked)
    }

    /// Adds the rates of the work, which took this time.
    fn note_work(&self, worked: &[Work], seconds: f64, measured: &mut Measured) {
        let done = |of: fn(&Job) -> bool| -> f64 {
            let chosen = worked.iter().filter(|work| of(&work.client.job));
            let timed = |work: &Work| work.done.iter().sum::<u64>() - work.ahead;
            chosen.map(timed).sum::<u64>() as f64
        };
        let txns = done(|job| matches!(job, Job::Write(_)));
        let charts = done(|job| matches!(job, Job::Read(_)));
        let rows = txns * self.parameters.rows_per_txn as f64;
        set(measured, "txns_per_s", txns / seconds);
        set(measured, "rows_per_s", rows / seconds);
        if self.parameters.chart_readers() > 0 {
            set(measured, "queries_per_s", charts / seconds);
        }
        let busy: u64 = worked.iter().map(|work| work.busy).sum();
        set(measured, "busy_errors", busy as f64);
        measured.windows = self.throughput.rates();
    }

    /// Adds the number of files that are open in addition to the number `before`, unless connections are not kept.
    pub(super) fn note_files(&self, before: Option<u64>, measured: &mut Measured) {
        let Some((before, now)) = before.zip(open_files()) else { return };
        if self.parameters.connections == Connections::EachTime {
            return;
        }
        let connections = match self.parameters.chart_readers() {
            0 => self.parameters.databases,
            _ => 2 * self.parameters.databases,
        };
        let most = measured.metrics.get("open_files").copied().unwrap_or_default().max(now as f64);
        set(measured, "open_files", most);
        let each = now.saturating_sub(before) as f64 / connections as f64;
        set(measured, "files_per_database", each);
    }

    /// Reads all settings back from a connection of the first writer and of the first reader, and only the settings of
    /// the variant from the others: thousands of full answers would repeat them.
    pub(super) fn read_back(&self, worked: &[Work], measured: &mut Measured) -> Result<()> {
        let mut names = vec!["first writer", "first reader"];
        if self.parameters.chart_readers() == 0 {
            names.pop();
        }
        for (name, client) in names.iter().zip([0, self.parameters.writers()]) {
            let database = worked[client].client.databases[0];
            let read_back = match worked[client].client.connections.first() {
                Some(connection) => sqlite::read_back(name, connection)?,
                None => {
                    let connection = self.open(database)?;
                    self.prove(&connection, database)?;
                    let read_back = sqlite::read_back(name, &connection)?;
                    connection.close()?;
                    read_back
                }
            };
            measured.connections.push(read_back);
        }
        for work in worked {
            for (connection, database) in work.client.connections.iter().zip(&work.client.databases)
            {
                self.prove(connection, *database)?;
            }
        }
        Ok(())
    }

    /// Closes the databases of each thread. Returns the number of transactions of each database.
    pub(super) fn close(&self, worked: Vec<Work>, measured: &mut Measured) -> Result<Vec<u64>> {
        let mut txns = vec![0; self.parameters.databases];
        for work in worked.iter().filter(|work| matches!(work.client.job, Job::Write(_))) {
            for (database, done) in work.client.databases.iter().zip(&work.done) {
                txns[*database] = *done;
            }
        }
        let close = |work: Work, gate: &Gate| -> Result<Instant> {
            gate.pass();
            let number = work.client.number;
            for connection in work.client.connections {
                self.time(Part::Close, number, || Ok(connection.close()?))?;
            }
            Ok(Instant::now())
        };
        let (ended, start) = run_threads(worked, Gate::begin, close)?;
        if self.parameters.connections == Connections::Kept {
            note_time("seconds.close", start, ended.into_iter().max(), measured);
        }
        Ok(txns)
    }

    /// Checks that every database holds its history and all quotes that it was given since.
    pub(super) fn verify(&self, trial: &Trial<'_>, history: &Sums, txns: &[u64]) -> Result<()> {
        let seed = trial.seed;
        let parts: Vec<usize> = (0..VERIFIERS.min(txns.len())).collect();
        let verify = |first: usize, gate: &Gate| -> Result<()> {
            gate.pass();
            for database in (first..txns.len()).step_by(VERIFIERS) {
                if gate.is_cancelled() {
                    break;
                }
                let rows = txns[database] as usize * self.parameters.rows_per_txn;
                let wanted = history.with(coming(seed, history, database).take(rows));
                let connection = self.open(database)?;
                let found = sums(&connection)?;
                connection.close()?;
                let what = |of: &str| format!("the {of} of database {database}");
                expect(&what("count of quotes"), found.rows, wanted.rows)?;
                expect(&what("sum of volumes"), found.volume, wanted.volume)?;
                expect(&what("latest moment"), found.latest, wanted.latest)?;
            }
            Ok(())
        };
        run_threads(parts, Gate::begin, verify).map(drop)
    }

    pub(super) fn note_sizes(&self, measured: &mut Measured) -> Result<()> {
        let bytes = self.paths.iter().map(|path| sqlite::size(path)).sum::<Result<f64>>();
        set(measured, "db_bytes", bytes?);
        Ok(())
    }

    pub(super) fn note_latencies(&self, measured: &mut Measured) -> Result<()> {
        let phases = ManyDatabases::PHASES.iter().zip(&self.latencies);
        let histograms = phases.map(|(phase, latencies)| (*phase, latencies.collect()));
        let histograms: Vec<(&str, LatencyHistogram)> = histograms.collect();
        for (phase, histogram) in &histograms {
            measured.metrics.extend(histogram.metrics_of_phase(phase));
            if histogram.count() > 0 && matches!(*phase, "open" | "close") {
                set(measured, &format!("{phase}_us"), histogram.mean_us());
            }
        }
        let writes = Some(&histograms[Part::Write as usize].1).filter(|writes| writes.count() > 0);
        measured.latency = Some(writes.unwrap_or(&histograms[Part::Open as usize].1).latency()?);
        Ok(())
    }
}

fn note_time(metric: &str, start: Instant, end: Option<Instant>, measured: &mut Measured) {
    let end = end.unwrap_or(start);
    set(measured, metric, end.duration_since(start).as_secs_f64());
}

pub(super) fn sums(connection: &Connection) -> Result<Sums> {
    let one = |what: &str| connection.query_i64(&format!("SELECT {what} FROM quotes"));
    Ok(Sums {
        rows: one("count(*)")?,
        volume: one("ifnull(sum(volume), 0)")?,
        latest: one("ifnull(max(ts), 0)")?,
    })
}
