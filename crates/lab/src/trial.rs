//! The trial: what a driver is asked, what it answers, and how a trial can end.
//!
//! These types are the protocol between the parent and any driver (one JSON specification on
//! standard input, JSON lines on standard output; `docs/protocol.md`), and the outcome is what a
//! record keeps of every trial.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::durability::Durability;
use crate::level::Settings;
use crate::tier::{ModelSafety, Schedules};

/// Version of the protocol between parent and driver.
pub const PROTOCOL: u32 = 1;

/// The environment variable with the directory to which the SQL of a trial and of the processes that it starts is confined.
pub const CONFINED_TO: &str = "PRAGMARK_CONFINED_TO";

/// A subdirectory of the trial's directory. The runner hands it with its files, copies of databases, to the next trial of the run.
pub const COPIES: &str = "copies";

/// The file in a trial's directory with the values drawn for its parameters. Both sides of a comparison get the same file.
pub const DRAWN: &str = "drawn.values";

/// A request to a driver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialSpec {
    /// Version of the protocol; a driver refuses one that it does not know.
    pub protocol: u32,
    /// The workload.
    pub workload: String,
    /// Every setting of the variant: parameters, PRAGMAs, connection settings.
    pub settings: Settings,
    /// The engine to load: `default`, `system` or the path of a library.
    pub engine: String,
    /// A directory of this trial's own, on the file system to be measured; empty but for [`COPIES`] and [`DRAWN`].
    pub directory: PathBuf,
    /// Seed of everything random in the trial.
    pub seed: u64,
    /// Whether this trial counts what the work does to files instead of timing it: a driver that
    /// cannot count answers `skipped`.
    #[serde(default)]
    pub counting: bool,
    /// Where a PostgreSQL server listens, for trials with the target `postgres`: a connection URI
    /// as libpq and the drivers of other languages read it. The trial keeps to one schema of its own
    /// and removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postgres: Option<String>,
    /// Where files that are a result of the trial are kept, such as databases that show what a crash
    /// destroyed. The driver makes this directory if it has any; without it nothing is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<PathBuf>,
    /// The binding through which the work is to be done, where that is not the native driver's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<BindingSpec>,
    /// Whether SQL was sent to this machine by another: it may open files in the directory of the trial only, and load
    /// no code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// Whether other trials' answers are compared statement by statement, so that the trial tests which of them SQL leaves open. A search
    /// compares its answers as a whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tests_open: bool,
}

/// The setting that names the driver; a variant without it is run by the native one.
pub const DRIVER: &str = "driver";

/// The native driver, which is pragmark itself.
pub const NATIVE: &str = "native";

/// Hints to a driver in another language besides the settings, so that it need not know which
/// of them are PRAGMAs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BindingSpec {
    /// Name of the driver.
    pub driver: String,
    /// The PRAGMAs of the settings as SQL, in the order in which each connection must execute them.
    #[serde(default)]
    pub pragmas: Vec<String>,
    /// The PRAGMAs to be read, by name: on a fresh connection before anything is set, and on every
    /// connection that took part.
    #[serde(default)]
    pub read_back: Vec<String>,
}

/// One line of a driver's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A phase has begun; for progress displays.
    Phase(String),
    /// The end of the trial; the last line.
    Outcome(Outcome),
}

/// How a trial ended. Never silence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The work was done and its result verified.
    Measured(Box<Measured>),
    /// The variant cannot be run here.
    Skipped {
        /// Why not.
        why: String,
    },
    /// The trial was run and something was wrong.
    Failed {
        /// The problem.
        why: String,
        /// Whether it is a mistake in the user's SQL.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        mistake: bool,
    },
    /// The trial was stopped at its time limit.
    TimedOut {
        /// The limit in seconds.
        limit_s: f64,
    },
}

impl Outcome {
    /// Makes the outcome of a trial in which something was wrong that is not the user's mistake.
    pub fn failed(why: impl Into<String>) -> Outcome {
        Outcome::Failed { why: why.into(), mistake: false }
    }

    /// Returns whether the user's SQL is the problem.
    pub fn is_mistake(&self) -> bool {
        matches!(self, Outcome::Failed { mistake: true, .. })
    }

    /// The reason in words if a measurement is missing.
    pub fn problem(&self) -> Option<String> {
        match self {
            Outcome::Measured(_) => None,
            Outcome::Skipped { why } => Some(format!("skipped: {why}")),
            Outcome::Failed { why, .. } => Some(format!("failed: {why}")),
            Outcome::TimedOut { limit_s } => {
                Some(format!("stopped at its time limit of {limit_s} s"))
            }
        }
    }
}

/// The results of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Figures by metric name (see `lab::metric`).
    pub metrics: BTreeMap<String, f64>,
    /// Latency of single operations, where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Throughput of about a hundred equal parts of the work, operations or rows a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<f64>,
    /// The library that did the work.
    pub engine: EngineMark,
    /// Every configuration PRAGMA read back, for each connection that took part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<ReadBack>,
    /// Data other than figures, such as a query plan or the bytecode of a statement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<DataTable>,
    /// Changes by the work itself of settings that decide what a crash can destroy, such as `s3:2 sets synchronous`:
    /// the tier of the variant's settings says nothing of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets_itself: Vec<String>,
    /// Findings of crashes, by storage model; from the workload `crash` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub safety: Vec<ModelSafety>,
    /// Durability of an acknowledged change, if the target states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    /// Results of two connections that met at chosen moments; from the workload `crash` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<Schedules>,
    /// The binding that did the work, from workloads that compare bindings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<BindingMark>,
    /// Files that the trial has put into the directory for artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// The user's own statements, from workloads that execute some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<StatementRecord>,
    /// The tables that the statements wrote, with their contents as answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<StatementRecord>,
    /// Identity of the questions: a checksum of database, statements and seed. Trials in which it is equal
    /// must have equal answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Checksum of the result, equal for trials that did the same work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

/// One of the user's own statements, as a trial executed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatementRecord {
    /// Its name, which its metrics have as their suffix.
    pub name: String,
    /// Its text.
    pub sql: String,
    /// Its query plan, a line for each node, indented by depth.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<String>,
    /// Its answer, if answers were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Its answers in the first of these executions, to be compared with a trial that had fewer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_answers: Vec<Answer>,
    /// The rows of its answers, an entry for each execution, as far as they were kept to show a difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<AnswerRows>,
}

/// The rows of one execution of a statement. Values are written as in SQL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerRows {
    /// The values of its parameters, by name.
    pub values: Vec<(String, String)>,
    /// The columns.
    pub columns: Vec<String>,
    /// The first rows.
    pub rows: Vec<Vec<String>>,
    /// Whether more rows followed.
    pub is_cut: bool,
}

impl StatementRecord {
    /// Sets its answers, each over more executions than the one before.
    pub fn set_answers(&mut self, mut answers: Vec<Answer>) {
        self.answer = answers.pop();
        self.earlier_answers = answers;
    }

    /// Returns its answers, each over more executions than the one before.
    pub fn answers(&self) -> impl DoubleEndedIterator<Item = &Answer> {
        self.earlier_answers.iter().chain(&self.answer)
    }
}

/// The answers of a statement over several executions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Executions.
    pub executions: u64,
    /// Rows of all executions together.
    pub rows: u64,
    /// Checksum of all rows in any order; `None` if the answer depends on chance or on the present time, and it was not tested
    /// how much of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// Checksums of single facets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facets: BTreeMap<Facet, String>,
    /// The facets that SQL leaves open: they differed when the rows of the tables were read in another order.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub open: BTreeSet<Facet>,
    /// Whether it was not tested what SQL leaves open, because it would have taken too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untested: bool,
    /// Whether it may depend on chance or on the present time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_chance: bool,
}

impl Answer {
    /// Returns the checksum of a facet, if it is known.
    pub fn facet(&self, facet: &Facet) -> Option<&String> {
        if *facet == Facet::Rows { self.checksum.as_ref() } else { self.facets.get(facet) }
    }

    /// Marks that it was not tested which facets are open. Of an answer that may depend on chance, only the columns are then known.
    pub fn set_untested(&mut self) {
        self.untested = true;
        if self.by_chance {
            self.checksum = None;
            self.facets.retain(|facet, _| matches!(facet, Facet::Names | Facet::Schema));
        }
    }

    /// Returns the facets whose checksums are known, the coarsest first.
    pub fn known(&self) -> Vec<Facet> {
        let rows = self.checksum.iter().map(|_| Facet::Rows);
        let mut known: Vec<Facet> = self.facets.keys().cloned().chain(rows).collect();
        known.sort();
        known
    }
}

/// A part of an answer that is compared by itself, since SQL may leave others open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", from = "String")]
#[schemars(with = "String")]
pub enum Facet {
    /// The number of rows.
    Number,
    /// The number of columns, their names and declared types.
    Names,
    /// The definition of a table that was written.
    Schema,
    /// `changes()` and `last_insert_rowid()` after each execution.
    Changes,
    /// All rows, in any order.
    Rows,
    /// All rows in their order.
    Order,
    /// The values of the first terms of ORDER BY, this many of them, in the order of the rows.
    Keys(usize),
    /// The values of a column, in any order.
    Column(String),
    /// The values of a column, in the order of the rows.
    InOrder(String),
    /// The values of a column with their words in any order: members of a group_concat, and sums to 9 digits.
    Members(String),
    /// All rows, with the results of expressions to 9 digits.
    Rounded,
    /// All rows that the statement has without its LIMIT, in any order.
    Unlimited,
}

impl Facet {
    /// Returns what differs if this facet does.
    pub fn words(&self) -> String {
        match self {
            Facet::Number => "another number of rows".to_owned(),
            Facet::Names => "other names or types of columns".to_owned(),
            Facet::Schema => "another definition of the table".to_owned(),
            Facet::Changes => "another changes() or last_insert_rowid()".to_owned(),
            Facet::Order | Facet::Keys(_) => "another order".to_owned(),
            Facet::InOrder(name) => format!("another order of `{name}`"),
            Facet::Column(name) | Facet::Members(name) => format!("other values of `{name}`"),
            Facet::Rows | Facet::Rounded => "other content".to_owned(),
            Facet::Unlimited => "other rows without its LIMIT".to_owned(),
        }
    }

    /// Returns whether it depends on the values of the rows.
    pub fn is_of_content(&self) -> bool {
        !matches!(self, Facet::Number | Facet::Names | Facet::Schema | Facet::Changes)
    }
}

/// A facet is one text in records: its kind, or the kind and the column.
impl From<Facet> for String {
    fn from(facet: Facet) -> String {
        match facet {
            Facet::Column(name) => format!("column {name}"),
            Facet::InOrder(name) => format!("in-order {name}"),
            Facet::Members(name) => format!("members {name}"),
            Facet::Keys(terms) => format!("keys {terms}"),
            whole => {
                WHOLE.iter().find(|(_, of)| *of == whole).map_or("", |(word, _)| word).to_owned()
            }
        }
    }
}

impl From<String> for Facet {
    fn from(text: String) -> Facet {
        match text.split_once(' ') {
            Some(("column", name)) => Facet::Column(name.to_owned()),
            Some(("in-order", name)) => Facet::InOrder(name.to_owned()),
            Some(("members", name)) => Facet::Members(name.to_owned()),
            Some(("keys", terms)) => Facet::Keys(terms.parse().unwrap_or(0)),
            _ => match WHOLE.iter().find(|(word, _)| *word == text) {
                Some((_, facet)) => facet.clone(),
                // Of a later version.
                None => Facet::Column(text),
            },
        }
    }
}

/// The facets of whole answers, as records name them.
const WHOLE: [(&str, Facet); 8] = [
    ("number", Facet::Number),
    ("names", Facet::Names),
    ("schema", Facet::Schema),
    ("changes", Facet::Changes),
    ("rows", Facet::Rows),
    ("order", Facet::Order),
    ("rounded", Facet::Rounded),
    ("unlimited", Facet::Unlimited),
];

/// A file or folder that is a result of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// Where it is: as a driver says it, below the directory for artifacts; in a record, below the
    /// folder of the run.
    pub path: PathBuf,
    /// Its kind.
    pub about: String,
}

/// A small table of text that a trial found out, for the reader of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataTable {
    /// Its title, such as `bytecode of the INSERT`.
    pub title: String,
    /// The headings.
    pub columns: Vec<String>,
    /// The rows, each as long as the headings.
    pub rows: Vec<Vec<String>>,
}

/// Title of the table with stand-ins for collations and functions that only a recorded application has.
pub const STAND_INS: &str = "stand-ins";

/// Returns the stand-ins among the tables of a trial, each as `NAME=COLLATION` or `NAME=EXPRESSION`.
pub fn stand_ins(tables: &[DataTable]) -> Vec<String> {
    let found = tables.iter().filter(|table| table.title == STAND_INS);
    found.flat_map(|table| &table.rows).map(|row| row.join("=")).collect()
}

impl DataTable {
    /// Makes a table.
    pub fn new(
        title: &str,
        columns: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> DataTable {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        DataTable { title: title.to_owned(), columns, rows: rows.into_iter().collect() }
    }
}

/// The distribution of latencies in one trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Operations.
    pub count: u64,
    /// HdrHistogram in its compressed V2 interchange form, base64, nanoseconds, 3 digits.
    pub histogram: String,
}

/// Which library did the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineMark {
    /// `sqlite3_libversion()`.
    pub version: String,
    /// `sqlite3_sourceid()`.
    pub source_id: String,
}

/// The binding between a program and SQLite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BindingMark {
    /// Language and binding with their versions, such as `Python 3.11.7, apsw 3.54.1.0`.
    pub name: String,
    /// The compile options of its SQLite, sorted, without `SQLITE_`.
    #[serde(default)]
    pub compile_options: Vec<String>,
    /// The PRAGMAs of a fresh connection, opened as the binding's documentation opens one, before
    /// anything is set.
    pub defaults: BTreeMap<String, String>,
}

/// The PRAGMAs of one connection as SQLite answered them after the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBack {
    /// The connection's role, such as `writer`.
    pub connection: String,
    /// Value by PRAGMA name.
    pub pragmas: BTreeMap<String, String>,
}
