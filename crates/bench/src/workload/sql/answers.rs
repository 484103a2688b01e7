//! What statements answer: rows, and a checksum that does not depend on their order.

use std::collections::BTreeMap;

use engine::{Connection, Statement, Value};
use lab::trial::Answer;
use twox_hash::XxHash3_64;

use super::client::{Client, Job};
use super::job;
use super::parameters::Parameters;
use super::stage::{self, Stage};
use super::suite::Suite;
use crate::error::TrialError;
use crate::target::sqlite;
use crate::trial::Trial;

/// What a statement answered so far.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(in crate::workload) struct Tally {
    pub(in crate::workload) executions: u64,
    rows: u64,
    sum: u64,
    /// Whether the answer may be another each time.
    volatile: bool,
}

impl Tally {
    pub(super) fn of(statement: &script::Statement) -> Tally {
        Tally::new(statement.volatile)
    }

    /// Nothing answered yet by a statement whose answer may be another each time, or not.
    pub(in crate::workload) fn new(volatile: bool) -> Tally {
        Tally { executions: 0, rows: 0, sum: 0, volatile }
    }

    /// Adds what the same statement has answered elsewhere.
    pub(in crate::workload) fn add(&mut self, other: Tally) {
        self.executions += other.executions;
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Adds the row on which a statement stands.
    pub(in crate::workload) fn row(&mut self, statement: &Statement<'_, '_>) {
        let mut hashed = Vec::new();
        for column in 0..statement.column_count() {
            let (kind, bytes) = match statement.column_value(column) {
                Value::Null => (0, Vec::new()),
                Value::Integer(value) => (1, value.to_le_bytes().to_vec()),
                Value::Real(value) => (2, value.to_bits().to_le_bytes().to_vec()),
                Value::Text(text) => (3, text.into_bytes()),
                Value::Blob(bytes) => (4, bytes),
            };
            hashed.push(kind);
            hashed.extend((bytes.len() as u64).to_le_bytes());
            hashed.extend(bytes);
        }
        self.rows += 1;
        self.sum = self.sum.wrapping_add(XxHash3_64::oneshot(&hashed));
    }

    pub(in crate::workload) fn answer(self) -> Answer {
        Answer {
            executions: self.executions,
            rows: self.rows,
            checksum: (!self.volatile).then(|| format!("{:016x}", self.sum)),
        }
    }
}

/// What the statements of all scripts answer, by name. Each script is executed several times with values that depend
/// on the seed alone. Scripts that write get a copy of their own.
///
/// # Errors
/// As the work itself.
pub(super) fn of(
    trial: &Trial<'_>,
    parameters: &Parameters,
    worked_on: &Stage,
) -> Result<BTreeMap<String, Answer>, TrialError> {
    let connection = sqlite::open(trial, &worked_on.path)?;
    let suite = Suite::read(parameters)?;
    if only_reads(&connection, &suite) {
        return answers(trial, parameters, connection);
    }
    connection.close()?;
    let directory = trial.directory.join("answers");
    let io = TrialError::io("make", &directory);
    std::fs::create_dir(&directory).map_err(io)?;
    let copy = stage::make(trial, parameters, &directory)?;
    let found = answers(trial, parameters, sqlite::open(trial, &copy.path)?);
    std::fs::remove_dir_all(&directory).map_err(TrialError::io("remove", &directory))?;
    found
}

fn only_reads(connection: &Connection, suite: &Suite) -> bool {
    let mut statements = suite.scripts.iter().flat_map(|script| &script.statements);
    statements.all(|it| connection.prepare(&it.sql).is_ok_and(|it| it.is_read_only()))
}

fn answers(
    trial: &Trial<'_>,
    parameters: &Parameters,
    connection: Connection,
) -> Result<BTreeMap<String, Answer>, TrialError> {
    let seed = trial.seed.child("answers");
    let job: Job = job(&connection, trial.settings, trial.directory, seed, 0)?;
    let mut client = Client::prepare(&connection, job)?;
    client.answer(parameters.answers)?;
    let tallies = client.tallies();
    let answers = tallies.map(|(name, tally)| (name.to_owned(), tally.answer())).collect();
    drop(client);
    connection.close()?;
    Ok(answers)
}
