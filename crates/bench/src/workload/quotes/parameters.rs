//! What the workload can be asked to do.

use lab::catalogue::{Accepts, Parameter};
use lab::level::Settings;

use crate::error::TrialError;
use crate::settings::Reader;
use crate::workload::common::{from, parameter};

/// Databases at once, each with a thread: enough for "eight or more threads", and few enough for
/// any machine's limits. Thousands of databases are a workload of their own.
const MAX_DATABASES: i64 = 64;

/// The parameters of a trial.
pub(super) struct Parameters {
    /// Quotes that are inserted at a time into each database.
    pub(super) rows: usize,
    /// How many times they are inserted.
    pub(super) times: usize,
    pub(super) securities: usize,
    /// Rows in a transaction; 0 for one transaction each time.
    pub(super) rows_per_txn: usize,
    pub(super) databases: usize,
    pub(super) copies: usize,
}

impl Parameters {
    pub(super) fn describe() -> Vec<Parameter> {
        let up_to = |min, max| Accepts::Int { min, max };
        vec![
            parameter(
                "rows",
                from(1),
                50_000.into(),
                "quotes that are inserted at a time into each database",
            ),
            parameter(
                "times",
                up_to(1, 1_000),
                1.into(),
                "how many times the same quotes are inserted, one after another",
            ),
            parameter(
                "securities",
                up_to(1, 1_000_000),
                50.into(),
                "securities that take turns in the quotes",
            ),
            parameter(
                "rows_per_txn",
                from(0),
                0.into(),
                "rows in a transaction; 0: one transaction each time",
            ),
            parameter(
                "databases",
                up_to(1, MAX_DATABASES),
                1.into(),
                "databases at once, each with a connection and a thread of its own",
            ),
            parameter(
                "copies",
                up_to(0, 1_000),
                0.into(),
                "how many times the database is then copied: a new database, ATTACH, CREATE TABLE, INSERT … SELECT *, DETACH",
            ),
        ]
    }

    pub(super) fn read(settings: &Settings) -> Result<Parameters, TrialError> {
        let reader = Reader(settings);
        let parameters = Parameters {
            rows: reader.count("rows")?,
            times: reader.count("times")?,
            securities: reader.count("securities")?,
            rows_per_txn: reader.count("rows_per_txn")?,
            databases: reader.count("databases")?,
            copies: reader.count("copies")?,
        };
        if parameters.copies > 0 && parameters.databases > 1 {
            return Err(TrialError::CannotRun(format!(
                "{} databases and {} copies: copies are made of one database only",
                parameters.databases, parameters.copies
            )));
        }
        Ok(parameters)
    }

    /// Rows inserted into all databases together.
    pub(super) fn inserted(&self) -> usize {
        self.rows * self.times * self.databases
    }
}
