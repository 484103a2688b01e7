//! The inserting: each database by a connection, and where there are several a thread, of its own.

use std::sync::Barrier;
use std::time::Instant;

use engine::{Connection, Statement};

use super::Parameters;
use crate::error::TrialError;
use crate::generate::Quote;
use crate::generate::quotes::price;
use crate::measure::Windows;

/// The index is not unique, because later rounds insert the same keys again.
pub(super) const SCHEMA: &str = "\
    CREATE TABLE quotes(security_id INTEGER NOT NULL, ts INTEGER NOT NULL, bid REAL, ask REAL, \
    last REAL, volume INTEGER, venue TEXT); \
    CREATE INDEX quotes_sec_ts ON quotes(security_id, ts)";

/// How the rows are inserted.
pub(super) struct Plan {
    begin: &'static str,
    times: usize,
    rows_per_txn: usize,
}

impl Plan {
    pub(super) fn new(parameters: &Parameters, begin: &'static str) -> Plan {
        Plan {
            begin,
            times: parameters.times,
            rows_per_txn: parameters.rows_per_txn.map_or(parameters.rows, usize::from),
        }
    }
}

/// What the inserting came to.
pub(super) struct Inserted {
    /// From the first BEGIN of any thread to the end of the last COMMIT.
    pub(super) seconds: f64,
    /// Throughput over the course of the work, of the only database where there is one.
    pub(super) windows: Vec<f64>,
}

/// The work of one thread.
struct Done {
    began: Instant,
    ended: Instant,
    windows: Vec<f64>,
}

/// Inserts `data` into the databases of `connections`, one each.
pub(super) fn into_all(
    connections: &mut [Connection],
    data: &[Vec<Quote>],
    plan: &Plan,
) -> Result<Inserted, TrialError> {
    // A process that has once had several threads pays for locks in every allocation from then on,
    // which is no part of the work on one database.
    if let ([connection], [quotes]) = (&mut *connections, data) {
        let done = into_one(connection, quotes, plan, &|| {})?;
        return Ok(Inserted {
            seconds: (done.ended - done.began).as_secs_f64(),
            windows: done.windows,
        });
    }
    let all = on_threads(connections, data, plan)?;
    let began = all.iter().map(|done| done.began).min();
    let ended = all.iter().map(|done| done.ended).max();
    let seconds = began.zip(ended).map(|(began, ended)| (ended - began).as_secs_f64());
    Ok(Inserted { seconds: seconds.unwrap_or_default().max(1e-9), windows: Vec::new() })
}

fn on_threads(
    connections: &mut [Connection],
    data: &[Vec<Quote>],
    plan: &Plan,
) -> Result<Vec<Done>, TrialError> {
    let together = Barrier::new(connections.len());
    let wait = || {
        together.wait();
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = connections
            .iter_mut()
            .zip(data)
            .map(|(connection, quotes)| {
                let wait = &wait;
                scope.spawn(move || into_one(connection, quotes, plan, wait))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}

/// Inserts into one database after `wait` has returned.
fn into_one(
    connection: &mut Connection,
    quotes: &[Quote],
    plan: &Plan,
    wait: &dyn Fn(),
) -> Result<Done, TrialError> {
    let prepared = Inserter::prepare(connection, plan);
    let mut windows = Windows::new(quotes.len() * plan.times, 1, None);
    // Whoever cannot prepare comes to the barrier too, or the others would wait for ever.
    wait();
    let mut inserter = prepared?;
    let began = Instant::now();
    windows.start(began);
    for _ in 0..plan.times {
        for batch in quotes.chunks(plan.rows_per_txn) {
            inserter.transaction(batch, &mut windows)?;
        }
    }
    Ok(Done { began, ended: Instant::now(), windows: windows.rates() })
}

struct Inserter<'c> {
    begin: Statement<'c, 'static>,
    insert: Statement<'c, 'static>,
    commit: Statement<'c, 'static>,
}

impl<'c> Inserter<'c> {
    fn prepare(connection: &'c Connection, plan: &Plan) -> Result<Inserter<'c>, TrialError> {
        Ok(Inserter {
            begin: connection.prepare(plan.begin)?,
            insert: connection.prepare("INSERT INTO quotes VALUES (?, ?, ?, ?, ?, ?, ?)")?,
            commit: connection.prepare("COMMIT")?,
        })
    }

    fn transaction(&mut self, batch: &[Quote], windows: &mut Windows) -> Result<(), TrialError> {
        self.begin.run()?;
        let mut parts = batch.chunks(windows.step()).peekable();
        while let Some(part) = parts.next() {
            for quote in part {
                self.insert(quote)?;
            }
            if parts.peek().is_none() {
                self.commit.run()?;
            }
            windows.tick(part.len(), Instant::now());
        }
        Ok(())
    }

    #[inline]
    fn insert(&mut self, quote: &Quote) -> Result<(), TrialError> {
        let insert = &mut self.insert;
        insert.bind_i64(1, quote.security)?;
        insert.bind_i64(2, quote.ts)?;
        insert.bind_f64(3, price(quote.bid_cents))?;
        insert.bind_f64(4, price(quote.ask_cents))?;
        insert.bind_f64(5, price(quote.last_cents))?;
        insert.bind_i64(6, quote.volume)?;
        insert.bind_text_borrowed(7, quote.venue)?;
        insert.run()?;
        Ok(())
    }
}
