//! The two operations with threads. In the article each thread is waited for before the next one
//! begins, so that there is one at a time; corrected, they work at the same time, each on a connection
//! of the pool.

use std::thread;

use engine::{Connection, Step};

use super::{Mode, Suite};
use crate::error::TrialError;

/// Writes for each party: made, renamed, removed.
pub(super) const WRITES: usize = 3;

/// Runs the work in this number of threads. Returns the number of parties that they have renamed.
pub(super) fn work(suite: &Suite, threads: usize) -> Result<i64, TrialError> {
    let n = suite.parameters.n;
    match suite.parameters.mode {
        // One at a time on one connection: also an engine without mutexes can do that.
        Mode::Faithful => (0..threads).map(|_| live(&suite.connection, n)).sum(),
        Mode::Corrected => at_once(suite, threads, n),
    }
}

fn at_once(suite: &Suite, threads: usize, n: usize) -> Result<i64, TrialError> {
    let pool = &suite.pool;
    let one = || pool.lend(|connection| live(connection, n));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        workers
            .into_iter()
            .enumerate()
            .map(|(number, worker)| {
                let worker_failed =
                    |why: String| TrialError::Worker { who: format!("thread {}", number + 1), why };
                match worker.join() {
                    Ok(done) => done.map_err(|error| worker_failed(error.to_string())),
                    Err(_) => Err(worker_failed("it panicked".to_owned())),
                }
            })
            .sum()
    })
}

/// Makes parties, then finds, renames and removes each.
fn live(connection: &Connection, parties: usize) -> Result<i64, TrialError> {
    let mut insert = connection.prepare("INSERT INTO parties(theme) VALUES (?)")?;
    let mut find =
        connection.prepare("SELECT id, theme FROM parties WHERE id = ? ORDER BY id LIMIT 1")?;
    let mut rename = connection.prepare("UPDATE parties SET theme = 'Christmas' WHERE id = ?")?;
    let mut delete = connection.prepare("DELETE FROM parties WHERE id = ?")?;
    let mut ids = Vec::with_capacity(parties);
    for number in 0..parties {
        insert.bind_text(1, &format!("Party {number}"))?;
        insert.run()?;
        ids.push(connection.last_insert_rowid());
    }
    let mut renamed = 0;
    for id in ids {
        find.bind_i64(1, id)?;
        let found = find.step()? == Step::Row;
        find.reset()?;
        rename.bind_i64(1, id)?;
        rename.run()?;
        renamed += i64::from(found) * connection.changes();
        delete.bind_i64(1, id)?;
        delete.run()?;
    }
    Ok(renamed)
}
