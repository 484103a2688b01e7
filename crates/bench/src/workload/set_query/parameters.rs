//! The parameters of `set-query`.

use std::time::Duration;

use engine::Library;
use lab::catalogue::WorkloadInfo;
use lab::level::Settings;

use crate::error::TrialError;
use crate::settings::Reader;
use crate::workload::common::{MAX_HOST_PARAMETERS, by_name, from, names, parameter};

/// How the set gets into the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// The array itself is bound and read as a table (<https://sqlite.org/carray.html>).
    Carray,
    /// The values are inserted into a temporary table first.
    TempTable,
    /// Each value is a parameter of `IN (?, ?, …)`.
    InList,
    /// The values are one JSON text (<https://sqlite.org/json1.html#jeach>).
    JsonEach,
}

pub(super) const METHODS: &[(&str, Method)] = &[
    ("carray", Method::Carray),
    ("temp-table", Method::TempTable),
    ("in-list", Method::InList),
    ("json-each", Method::JsonEach),
];

/// The type of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Text,
    Blob,
}

pub(super) const TYPES: &[(&str, Type)] = &[
    ("integer", Type::Integer),
    ("text", Type::Text),
    ("blob", Type::Blob),
];

/// How rows are found by their key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The key is the INTEGER PRIMARY KEY.
    PrimaryKey,
    /// The key has an index.
    Index,
}

const LOOKUPS: &[(&str, Lookup)] = &[
    ("primary-key", Lookup::PrimaryKey),
    ("index", Lookup::Index),
];

/// The parameters of one trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    pub(super) rows: usize,
    pub(super) kind: Type,
    pub(super) lookup: Lookup,
    pub(super) method: Method,
    pub(super) set_size: usize,
    pub(super) queries: usize,
    pub(super) stop_after: Option<Duration>,
}

impl Parameters {
    pub(super) fn read(settings: &Settings) -> Result<Parameters, TrialError> {
        let reader = Reader(settings);
        let stop_after = reader.count("stop_after_ms")?;
        let parameters = Parameters {
            rows: reader.count("rows")?,
            kind: reader.name("type", |name| by_name(TYPES, name))?,
            lookup: reader.name("lookup", |name| by_name(LOOKUPS, name))?,
            method: reader.name("method", |name| by_name(METHODS, name))?,
            set_size: reader.count("set_size")?,
            queries: reader.count("queries")?,
            stop_after: (stop_after > 0).then(|| Duration::from_millis(stop_after as u64)),
        };
        parameters.check()?;
        Ok(parameters)
    }

    fn check(&self) -> Result<(), TrialError> {
        let (size, rows) = (self.set_size, self.rows);
        let why = if self.method == Method::InList && size > MAX_HOST_PARAMETERS {
            format!(
                "a list of {size} values is longer than the {MAX_HOST_PARAMETERS} parameters that a statement can have"
            )
        } else if (self.method, self.kind) == (Method::JsonEach, Type::Blob) {
            "JSON has no blobs".to_owned()
        } else if self.lookup == Lookup::PrimaryKey && self.kind != Type::Integer {
            "an INTEGER PRIMARY KEY holds integers only".to_owned()
        } else if size > rows.saturating_mul(2) {
            format!(
                "sets of {size} values, half of them in the table, need at least {} rows",
                size.div_ceil(2)
            )
        } else {
            return Ok(());
        };
        Err(TrialError::CannotRun(why))
    }

    pub(super) fn check_engine(&self, library: &Library) -> Result<(), TrialError> {
        if self.method == Method::Carray && !library.has_carray() {
            return Err(TrialError::CannotRun(
                "this engine has no carray".to_owned(),
            ));
        }
        Ok(())
    }
}

/// The description of the workload.
pub(super) fn info() -> WorkloadInfo {
    WorkloadInfo {
        name: "set-query".to_owned(),
        about: "counts and sums the rows whose key is in a set of the program's, half of which is in the table".to_owned(),
        parameters: vec![
            parameter("rows", from(1), 100_000.into(), "rows in the table"),
            parameter(
                "type",
                names(TYPES),
                "integer".into(),
                "type of the keys: integers, texts of 16 characters or blobs of 16 bytes",
            ),
            parameter(
                "lookup",
                names(LOOKUPS),
                "index".into(),
                "whether the key is the INTEGER PRIMARY KEY or a column with an index",
            ),
            parameter(
                "method",
                names(METHODS),
                "carray".into(),
                "how the set gets into the query: a bound array, a temporary table filled for each query, a parameter for each value, or a bound JSON text",
            ),
            parameter("set_size", from(1), 1_000.into(), "values in a set, all different"),
            parameter("queries", from(1), 1_000.into(), "queries, each with another of a few sets"),
            parameter(
                "stop_after_ms",
                from(0),
                0.into(),
                "milliseconds after which no further query begins; 0: never",
            ),
        ],
        phases: Vec::new(),
        counts: true,
    }
}
