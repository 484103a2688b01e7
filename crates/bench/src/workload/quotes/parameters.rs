//! The parameters of `quotes`.

use crate::error::TrialError;
use crate::parameters::{Rows, RowsOrAll};

/// Databases at once, each with a thread: enough for "eight or more threads", and few enough for
/// any machine's limits. Thousands of databases are a workload of their own.
const MAX_DATABASES: i64 = 64;

parameters! {
    /// The parameters of one trial.
    struct Parameters {
        /// Quotes inserted each time into each database.
        rows: Rows = 50_000, 1..;
        /// Times that the same quotes are inserted, one after another.
        times: usize = 1, 1..=1_000;
        /// Securities that take turns in the quotes.
        securities: usize = 50, 1..=1_000_000;
        /// Rows per transaction; 0: one transaction each time.
        rows_per_txn: RowsOrAll = 0;
        /// Databases at the same time, each with its own connection and thread.
        databases: usize = 1, 1..=MAX_DATABASES;
        /// Times that the database is then copied: a new database, ATTACH, CREATE TABLE,
        /// INSERT … SELECT *, DETACH.
        copies: usize = 0, 0..=1_000;
    }
}

impl Parameters {
    /// The rules between parameters.
    pub(super) fn check(&self) -> Result<(), TrialError> {
        match self.copies > 0 && self.databases > 1 {
            false => Ok(()),
            true => Err(TrialError::cannot_run(format!(
                "{} databases and {} copies: copies are made of one database only",
                self.databases, self.copies
            ))),
        }
    }

    /// Rows inserted into all databases together.
    pub(super) fn inserted(&self) -> usize {
        self.rows * self.times * self.databases
    }
}
