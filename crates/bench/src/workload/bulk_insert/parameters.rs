//! The parameters of `bulk-insert`, and which of them go together.

use std::num::NonZeroUsize;
use std::time::Duration;

use lab::catalogue::{Accepts, WorkloadInfo};
use lab::level::{Level, Settings};
use lab::seed::Seed;
use lab::target;

use super::method::Method;
use super::table::Table;
use crate::error::TrialError;
use crate::generate::{Integers, Order, Values};
use crate::settings::Reader;
use crate::workload::common::{MAX_HOST_PARAMETERS, by_name, from, names, parameter};

/// Elements that one array bound to carray may have: a C `int` counts them
/// (<https://sqlite.org/carray.html>).
const MAX_ARRAY_ELEMENTS: usize = i32::MAX as usize;

/// What the rows are given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// SQLite, by one of the methods of SQL.
    Sqlite,
    /// The bulk loader, which writes the B-tree pages of a new database without SQL.
    Pages,
}

const TARGETS: &[(&str, Target)] = &[(target::SQLITE, Target::Sqlite), ("pages", Target::Pages)];

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
    pub(super) const NAMES: &[(&str, Index)] = &[
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

/// The name of the order in which values stay as they were generated.
const NO_ORDER: &str = "none";

/// The parameters of one trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    pub(super) rows: usize,
    pub(super) values: Values,
    /// The order of the keys that are inserted instead of `values`.
    pub(super) order: Option<Order>,
    pub(super) table: Table,
    pub(super) index: Index,
    pub(super) target: Target,
    pub(super) method: Method,
    pub(super) statement: Statement,
    /// Rows in one statement; all are written as their number.
    pub(super) rows_per_statement: usize,
    /// None for all rows in one transaction.
    pub(super) rows_per_txn: Option<NonZeroUsize>,
    pub(super) stop_after: Option<Duration>,
}

impl Parameters {
    pub(super) fn read(settings: &Settings) -> Result<Parameters, TrialError> {
        let reader = Reader(settings);
        let stop_after = reader.count("stop_after_ms")?;
        let rows = reader.count("rows")?;
        let parameters = Parameters {
            rows,
            values: reader.name("values", Values::parse)?,
            order: reader.name("order", order)?,
            table: reader.name("table", |name| by_name(Table::NAMES, name))?,
            index: reader.name("index", |name| by_name(Index::NAMES, name))?,
            target: target(settings)?,
            method: reader.name("method", |name| by_name(Method::NAMES, name))?,
            statement: reader.name("statement", |name| by_name(Statement::NAMES, name))?,
            rows_per_statement: match reader.count("rows_per_statement")? {
                0 => rows,
                some => some,
            },
            rows_per_txn: NonZeroUsize::new(reader.count("rows_per_txn")?),
            stop_after: (stop_after > 0).then(|| Duration::from_millis(stop_after as u64)),
        };
        parameters.go_together(settings)?;
        Ok(parameters)
    }

    /// The values to be inserted, in the order of their coming.
    pub(super) fn generate(&self, seed: Seed) -> Integers {
        let mut data = Integers::zeroed(self.rows);
        match self.order {
            Some(order) => order.fill(&mut data, seed),
            None => self.values.fill(&mut data, seed),
        }
        data
    }

    /// Checks what no single parameter can tell, and says what must be different.
    fn go_together(&self, settings: &Settings) -> Result<(), TrialError> {
        let wrong =
            |name: &str, wanted: &str| TrialError::setting(name, settings.get(name), wanted);
        let rows = self.rows_per_statement;
        match self.method {
            _ if self.target == Target::Pages => self.takes_everything(&wrong),
            Method::Values if rows > MAX_HOST_PARAMETERS => Err(wrong(
                "rows_per_statement",
                "from 1 to 32766 where each row has a parameter of its own",
            )),
            Method::Carray if rows > MAX_ARRAY_ELEMENTS => Err(wrong(
                "rows_per_statement",
                "at most 2147483647 with the method `carray`",
            )),
            method if method.copies() => self.takes_everything(&wrong),
            _ => Ok(()),
        }?;
        if self.table.is_keyed_by_value() && self.order.is_none() {
            let wanted = "an order of keys, since the values of this table must be distinct";
            return Err(wrong("order", wanted));
        }
        Ok(())
    }

    /// What copies or writes a table does so at once, in the order in which the rows come.
    fn takes_everything(&self, wrong: &dyn Fn(&str, &str) -> TrialError) -> Result<(), TrialError> {
        if self.rows_per_statement != self.rows {
            let wanted = "0 where a method takes all rows at once";
            return Err(wrong("rows_per_statement", wanted));
        }
        if self.rows_per_txn.is_some() {
            let wanted = "0 where a method takes all rows at once";
            return Err(wrong("rows_per_txn", wanted));
        }
        if self.index == Index::BeforeSorted {
            let wanted = "another one where no application sorts the rows";
            return Err(wrong("index", wanted));
        }
        Ok(())
    }
}

/// The target; SQLite where none is named, as in runs from before there was another.
fn target(settings: &Settings) -> Result<Target, TrialError> {
    by_name(TARGETS, target::of(settings)).ok_or_else(|| {
        TrialError::setting(
            target::SETTING,
            settings.get(target::SETTING),
            "sqlite or pages",
        )
    })
}

/// The order of this name, none for the values as they were generated; no such name: none at all.
fn order(name: &str) -> Option<Option<Order>> {
    match name {
        NO_ORDER => Some(None),
        other => by_name(Order::NAMES, other).map(Some),
    }
}

fn order_names() -> Accepts {
    let orders = Order::NAMES.iter().map(|(name, _)| *name);
    Accepts::choice(&[NO_ORDER].into_iter().chain(orders).collect::<Vec<_>>())
}

/// The description of the workload.
pub(super) fn info() -> WorkloadInfo {
    let up_to = |max| Accepts::Int { min: 0, max };
    let choice = |name: &str, accepts, default: &str, about: &str| {
        parameter(name, accepts, Level::from(default), about)
    };
    WorkloadInfo {
        name: "bulk-insert".to_owned(),
        about: "inserts integers into one table".to_owned(),
        parameters: vec![
            parameter("rows", from(1), 100_000.into(), "rows to insert"),
            choice(
                "values",
                names(Values::NAMES),
                "int32",
                "which integers where no order is given: all alike, 0 or 1, or uniform over so many bits, signed",
            ),
            choice("order", order_names(), NO_ORDER, ABOUT_ORDER),
            choice("table", names(Table::NAMES), "rowid", ABOUT_TABLE),
            choice(
                "index",
                names(Index::NAMES),
                "none",
                "when an index on the value is made; before-sorted: the application sorts the rows first, within the measured time",
            ),
            choice(
                target::SETTING,
                names(TARGETS),
                target::SQLITE,
                "what the rows are given to: sqlite, or pages: pragmark load, which writes the B-tree pages of a new database past SQLite, and whose time holds the making and the syncing of it",
            ),
            choice("method", names(Method::NAMES), "values", ABOUT_METHOD),
            choice(
                "statement",
                names(Statement::NAMES),
                "reused",
                "whether the INSERT is prepared once or for each use",
            ),
            parameter(
                "rows_per_statement",
                up_to(MAX_ARRAY_ELEMENTS as i64),
                1.into(),
                "rows in the VALUES list or the array of one INSERT; 0: all rows",
            ),
            parameter(
                "rows_per_txn",
                from(0),
                0.into(),
                "rows in a transaction; 0: all; 1: no BEGIN, each INSERT commits itself",
            ),
            parameter(
                "stop_after_ms",
                from(0),
                0.into(),
                "milliseconds after which no further transaction begins; 0: never. For variants whose speeds differ a hundredfold",
            ),
        ],
        phases: vec!["load".to_owned(), "index".to_owned()],
        counts: true,
    }
}

const ABOUT_ORDER: &str = "the order in which the keys 0 to rows-1 arrive instead of values; \
none: the values as they were generated; outside-in: smallest, largest, next smallest, …; \
inside-out: the same backwards; odds-then-evens: 1, 3, 5, …, then 0, 2, 4, …; evens-then-odds: \
the same backwards; sawtooth-10: 0, 10, 20, …, then 1, 11, 21, … and so on to 9";

const ABOUT_TABLE: &str = "which table: rowid: value INTEGER; integer-primary-key: value INTEGER \
PRIMARY KEY; without-rowid: value INT PRIMARY KEY, WITHOUT ROWID; auto-key and autoincrement: a \
key that SQLite gives, INTEGER PRIMARY KEY without and with AUTOINCREMENT, beside the value";

const ABOUT_METHOD: &str = "how rows come into SQLite: values: bound one by one to the VALUES list; \
carray: selected from an array of the program; columns: the same by a function that knows any number of \
arrays, that of pragmark load; attach-value and attach-star: SELECT value or \
SELECT * from a table of the same form in an attached database that was made before the clock";

#[cfg(test)]
mod tests {
    use crate::workload::common::tests::problem;

    #[test]
    fn parameters_that_do_not_go_together_are_named() {
        let value = |name: &str| lab::level::Level::from(name);
        let cases = [
            (vec![("rows_per_statement", 0.into())], "rows_per_statement"),
            (vec![("rows_per_statement", 32_767.into())], "32766"),
            (vec![("method", value("attach-star"))], "rows_per_statement"),
            (
                vec![
                    ("method", value("attach-value")),
                    ("rows_per_statement", 0.into()),
                    ("rows_per_txn", 10.into()),
                ],
                "rows_per_txn",
            ),
            (
                vec![
                    ("method", value("attach-star")),
                    ("rows_per_statement", 0.into()),
                    ("index", value("before-sorted")),
                ],
                "index",
            ),
            (vec![("table", value("without-rowid"))], "order"),
            (vec![("order", value("alphabetical"))], "alphabetical"),
        ];
        for (over, named) in cases {
            let problem = problem("bulk-insert", &over);
            assert!(problem.contains(named), "{over:?}: {problem}");
        }
    }
}
