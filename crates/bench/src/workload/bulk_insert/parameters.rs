//! The parameters of `bulk-insert`.

use std::num::NonZeroUsize;
use std::time::Duration;

use lab::catalogue::{Accepts, Parameter, Scope, WorkloadInfo};
use lab::level::{Level, Settings};

use crate::error::TrialError;
use crate::generate::Values;
use crate::settings::Reader;

/// Host parameters that one statement may have in every SQLite since 3.32
/// (<https://sqlite.org/limits.html>, section 9).
const MAX_HOST_PARAMETERS: i64 = 32_766;

/// When the index is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// Not at all.
    None,
    /// Before the rows.
    Before,
    /// After the rows; its building counts as work.
    After,
    /// Before the rows, which the application sorts first; the sorting counts as work.
    BeforeSorted,
}

impl Index {
    const NAMES: &[(&str, Index)] = &[
        ("none", Index::None),
        ("before", Index::Before),
        ("after", Index::After),
        ("before-sorted", Index::BeforeSorted),
    ];

    pub(super) fn is_before(self) -> bool {
        matches!(self, Index::Before | Index::BeforeSorted)
    }
}

/// Whether a statement is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// Prepared once, then bound and stepped for each use.
    Reused,
    /// Prepared, bound, stepped and finalised for each use.
    PreparedEachTime,
}

impl Statement {
    const NAMES: &[(&str, Statement)] = &[
        ("reused", Statement::Reused),
        ("prepared-each-time", Statement::PreparedEachTime),
    ];
}

/// The parameters of one trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    pub(super) rows: usize,
    pub(super) values: Values,
    pub(super) index: Index,
    pub(super) statement: Statement,
    pub(super) rows_per_statement: usize,
    /// None for all rows in one transaction.
    pub(super) rows_per_txn: Option<NonZeroUsize>,
    pub(super) stop_after: Option<Duration>,
}

impl Parameters {
    pub(super) fn read(settings: &Settings) -> Result<Parameters, TrialError> {
        let reader = Reader(settings);
        let stop_after = reader.count("stop_after_ms")?;
        Ok(Parameters {
            rows: reader.count("rows")?,
            values: reader.name("values", Values::parse)?,
            index: reader.name("index", |name| by_name(Index::NAMES, name))?,
            statement: reader.name("statement", |name| by_name(Statement::NAMES, name))?,
            rows_per_statement: reader.count("rows_per_statement")?,
            rows_per_txn: NonZeroUsize::new(reader.count("rows_per_txn")?),
            stop_after: (stop_after > 0).then(|| Duration::from_millis(stop_after as u64)),
        })
    }
}

fn by_name<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
}

fn names<T>(names: &[(&str, T)]) -> Accepts {
    Accepts::Choice(names.iter().map(|(name, _)| (*name).to_owned()).collect())
}

/// The description of the workload.
pub(super) fn info() -> WorkloadInfo {
    let parameter = |name: &str, accepts: Accepts, default: Level, about: &str| Parameter {
        name: name.to_owned(),
        accepts,
        default: Some(default),
        about: about.to_owned(),
        scope: Scope::Workload,
        crash_relevant: false,
    };
    let count = |min, max| Accepts::Int { min, max };
    WorkloadInfo {
        name: "bulk-insert".to_owned(),
        about: "inserts rows into the table integers(value INTEGER)".to_owned(),
        parameters: vec![
            parameter("rows", count(1, i64::MAX), 100_000.into(), "rows to insert"),
            parameter(
                "values",
                names(Values::NAMES),
                "int32".into(),
                "which integers: all alike, or uniform over so many bits",
            ),
            parameter(
                "index",
                names(Index::NAMES),
                "none".into(),
                "when an index on the value is made; before-sorted: the application sorts the rows first, within the measured time",
            ),
            parameter(
                "statement",
                names(Statement::NAMES),
                "reused".into(),
                "whether the INSERT is prepared once or for each use",
            ),
            parameter(
                "rows_per_statement",
                count(1, MAX_HOST_PARAMETERS),
                1.into(),
                "rows in the VALUES list of one INSERT",
            ),
            parameter(
                "rows_per_txn",
                count(0, i64::MAX),
                0.into(),
                "rows in a transaction; 0: all; 1: no BEGIN, each INSERT commits itself",
            ),
            parameter(
                "stop_after_ms",
                count(0, i64::MAX),
                0.into(),
                "milliseconds after which no further transaction begins; 0: never. For arms whose speeds differ a hundredfold",
            ),
        ],
        phases: vec!["load".to_owned(), "index".to_owned()],
    }
}
