//! The parameters of `user-insert`.

use lab::catalogue::{Accepts, WorkloadInfo};
use lab::level::Settings;
use lab::seed::Seed;

use crate::error::TrialError;
use crate::generate::Users;
use crate::settings::Reader;
use crate::workload::common::{MAX_HOST_PARAMETERS, by_name, from, names, parameter};

/// What is inserted and how it gets into the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// The same constants in every row, in the text of the statement.
    Literals,
    /// The same constants in every row, bound anew for every statement.
    BoundConstants,
    /// Random data, bound for every statement.
    BoundRandom,
}

const DATA: &[(&str, Data)] = &[
    ("literals", Data::Literals),
    ("bound-constants", Data::BoundConstants),
    ("bound-random", Data::BoundRandom),
];

/// When random data is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generate {
    /// Before the clock starts.
    Before,
    /// While it runs, part by part.
    During,
}

const GENERATE: &[(&str, Generate)] = &[("before", Generate::Before), ("during", Generate::During)];

/// Where the database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// In a file.
    File,
    /// In memory, as `:memory:` (<https://sqlite.org/inmemorydb.html>).
    Memory,
}

const WHERE: &[(&str, Where)] = &[("file", Where::File), ("memory", Where::Memory)];

/// Columns with a parameter: area, age and active.
const BOUND_COLUMNS: usize = 3;

/// Rows handed over at a time, rounded up to whole statements: enough that the handing over
/// between threads costs little for each row, few enough to stay in a processor's cache.
const ROWS_PER_PART: usize = 10_000;

/// The parameters of one trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    pub(super) rows: usize,
    pub(super) data: Data,
    pub(super) rows_per_statement: usize,
    pub(super) area_nulls: usize,
    pub(super) generate: Generate,
    pub(super) generator_threads: usize,
    pub(super) place: Where,
}

impl Parameters {
    pub(super) fn read(settings: &Settings) -> Result<Parameters, TrialError> {
        let reader = Reader(settings);
        let parameters = Parameters {
            rows: reader.count("rows")?,
            data: reader.name("data", |name| by_name(DATA, name))?,
            rows_per_statement: reader.count("rows_per_statement")?,
            area_nulls: reader.count("area_nulls")?,
            generate: reader.name("generate", |name| by_name(GENERATE, name))?,
            generator_threads: reader.count("generator_threads")?,
            place: reader.name("where", |name| by_name(WHERE, name))?,
        };
        parameters.check()?;
        Ok(parameters)
    }

    fn check(&self) -> Result<(), TrialError> {
        let generating = (self.data, self.generate) == (Data::BoundRandom, Generate::During);
        if self.generator_threads > 0 && !generating {
            let why = "generator threads have nothing to do unless data = bound-random and generate = during";
            return Err(TrialError::CannotRun(why.to_owned()));
        }
        let places = self.rows_per_statement.saturating_mul(BOUND_COLUMNS);
        if self.data != Data::Literals && places > MAX_HOST_PARAMETERS {
            return Err(TrialError::CannotRun(format!(
                "{} rows need {places} parameters, but a statement can have {MAX_HOST_PARAMETERS}",
                self.rows_per_statement
            )));
        }
        Ok(())
    }

    pub(super) fn rows_per_part(&self) -> usize {
        ROWS_PER_PART.next_multiple_of(self.rows_per_statement)
    }

    /// The random rows of the trial.
    pub(super) fn users(&self, seed: Seed) -> Users {
        Users::new(
            seed,
            self.rows,
            self.rows_per_part(),
            self.area_nulls as u64,
        )
    }
}

/// The description of the workload.
pub(super) fn info() -> WorkloadInfo {
    let up_to = |min, max| Accepts::Int { min, max };
    WorkloadInfo {
        name: "user-insert".to_owned(),
        about: "inserts rows into user(id INTEGER NOT NULL PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL), in one transaction; SQLite chooses the id".to_owned(),
        parameters: vec![
            parameter("rows", from(1), 100_000.into(), "rows to insert"),
            parameter(
                "data",
                names(DATA),
                "bound-random".into(),
                "the same constants in every row, as literals in the SQL or bound, or random data, bound",
            ),
            parameter(
                "rows_per_statement",
                up_to(1, MAX_HOST_PARAMETERS as i64),
                20.into(),
                "rows in the VALUES list of one INSERT",
            ),
            parameter(
                "area_nulls",
                up_to(0, 100),
                50.into(),
                "per cent of random areas that are NULL; the others are six digits",
            ),
            parameter(
                "generate",
                names(GENERATE),
                "before".into(),
                "whether random data is generated before the measured work or as part of it",
            ),
            parameter(
                "generator_threads",
                up_to(0, 256),
                0.into(),
                "threads that generate and hand rows to the one that inserts; 0: it generates them itself",
            ),
            parameter(
                "where",
                names(WHERE),
                "file".into(),
                "whether the database is a file or in memory (:memory:)",
            ),
        ],
        phases: Vec::new(),
        counts: true,
    }
}
