//! The inserting itself: nothing here but what an application would do, and clock readings.

use std::time::{Duration, Instant};

use engine::{Connection, Statement};

use super::parameters::Parameters;
use super::rows::Rows;
use crate::error::TrialError;
use crate::measure::{LatencyHistogram, Windows};

/// How much was inserted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inserted {
    pub(super) rows: usize,
    pub(super) transactions: usize,
}

/// Everything prepared for inserting; arrays are borrowed for `'d`.
pub(super) struct Inserter<'c, 'd> {
    rows: Rows<'c, 'd>,
    transaction: Option<Transaction<'c>>,
    rows_per_txn: Option<usize>,
    stop_after: Option<Duration>,
}

/// BEGIN and COMMIT, for transactions of more than one statement.
struct Transaction<'c> {
    begin: Statement<'c, 'static>,
    commit: Statement<'c, 'static>,
}

impl<'c, 'd> Inserter<'c, 'd> {
    /// Prepares what is reused.
    pub(super) fn prepare(
        connection: &'c Connection,
        parameters: &Parameters,
        begin: &str,
    ) -> Result<Inserter<'c, 'd>, TrialError> {
        let rows_per_txn = parameters.rows_per_txn.map(usize::from);
        let transaction = if rows_per_txn == Some(1) {
            None
        } else {
            Some(Transaction {
                begin: connection.prepare(begin)?,
                commit: connection.prepare("COMMIT")?,
            })
        };
        Ok(Inserter {
            rows: Rows::prepare(connection, parameters)?,
            transaction,
            rows_per_txn,
            stop_after: parameters.stop_after,
        })
    }

    /// Inserts the data, transaction by transaction, until it ends or the time is up.
    pub(super) fn insert_all(
        &mut self,
        data: &'d [i64],
        start: Instant,
        histogram: &mut LatencyHistogram,
        windows: &mut Windows,
    ) -> Result<Inserted, TrialError> {
        let mut inserted = Inserted::default();
        let mut last = Instant::now();
        for rows in data.chunks(self.rows_per_txn.unwrap_or(data.len()).max(1)) {
            self.insert_transaction(rows, windows)?;
            let now = Instant::now();
            histogram.record(now.duration_since(last));
            last = now;
            inserted.rows += rows.len();
            inserted.transactions += 1;
            if self.stop_after.is_some_and(|limit| now.duration_since(start) >= limit) {
                break;
            }
        }
        Ok(inserted)
    }

    #[inline]
    fn insert_transaction(
        &mut self,
        rows: &'d [i64],
        windows: &mut Windows,
    ) -> Result<(), TrialError> {
        if let Some(transaction) = &mut self.transaction {
            transaction.begin.run()?;
        }
        // A transaction longer than a window is watched while it runs; its commit counts to the
        // last window.
        let (last, before) = split_last_window(rows, windows.step());
        for window in before.chunks(windows.step()) {
            self.rows.insert(window)?;
            windows.tick(window.len(), Instant::now());
        }
        self.rows.insert(last)?;
        if let Some(transaction) = &mut self.transaction {
            transaction.commit.run()?;
        }
        windows.tick(last.len(), Instant::now());
        Ok(())
    }
}

/// The last `step` rows or fewer, and those before them in whole steps.
#[inline]
fn split_last_window(rows: &[i64], step: usize) -> (&[i64], &[i64]) {
    let before = rows.len().saturating_sub(1) / step * step;
    (&rows[before..], &rows[..before])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_the_last_part_make_up_a_transaction() {
        for (rows, step, last) in [(10, 3, 1), (9, 3, 3), (2, 5, 2), (1, 1, 1), (0, 4, 0)] {
            let data = vec![0; rows];
            let (tail, before) = split_last_window(&data, step);
            assert_eq!(
                (tail.len(), before.len() + tail.len(), before.len() % step),
                (last, rows, 0)
            );
        }
    }
}
