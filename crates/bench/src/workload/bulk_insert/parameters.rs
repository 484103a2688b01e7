//! The parameters of `bulk-insert`, and the rules between them.

use std::num::NonZeroUsize;

use lab::catalogue::Accepts;
use lab::level::{Level, Settings};
use lab::seed::Seed;

use super::method::Method;
use super::table::Table;
use crate::error::TrialError;
use crate::generate::{Integers, Order, Values};
use crate::parameters::{Bounds, Choice, Kind, Limit, Rows, RowsOrAll, meaning};
use crate::workload::common::MAX_HOST_PARAMETERS;

/// Elements that one array bound to carray may have: a C `int` counts them
/// (<https://sqlite.org/carray.html>).
const MAX_ARRAY_ELEMENTS: i64 = i32::MAX as i64;

choice! {
    /// What the rows are written with.
    enum Target {
        /// SQL, by one of the methods.
        Sqlite = "sqlite",
        /// Pragmark load, which writes the B-tree pages of a new database without SQLite; its time
        /// includes creating and syncing the database.
        Pages = "pages",
    }
}

choice! {
    /// When the index is created.
    enum Index {
        /// Never.
        None = "none",
        /// Before the rows.
        Before = "before",
        /// After the rows, within the measured time.
        After = "after",
        /// Before the rows, which the application sorts first, within the measured time.
        BeforeSorted = "before-sorted",
    }
}

impl Index {
    pub(super) fn is_before(self) -> bool {
        matches!(self, Index::Before | Index::BeforeSorted)
    }
}

choice! {
    /// Whether a statement is reused.
    enum Statement {
        /// Prepared once.
        Reused = "reused",
        /// Prepared and finalised for each use.
        PreparedEachTime = "prepared-each-time",
    }
}

/// An order of keys, or none for the values as they were generated.
pub(crate) enum KeyOrder {}

const NO_ORDER: &str = "none";

impl Kind for KeyOrder {
    type Value = Option<Order>;
    type Default = &'static str;

    fn accepts(_: Bounds) -> Accepts {
        let names = KeyOrder::meanings().into_iter();
        Accepts::Choice(names.map(|(name, _)| name.to_owned()).collect())
    }

    fn level(default: &'static str) -> Option<Level> {
        Some(default.into())
    }

    fn value(level: Option<&Level>) -> Option<Option<Order>> {
        match level?.as_text()? {
            NO_ORDER => Some(None),
            name => Order::named(name).map(Some),
        }
    }

    fn meanings() -> Vec<(&'static str, String)> {
        let orders = Order::ALL.iter().map(|(_, name, lines)| (*name, meaning(lines)));
        [(NO_ORDER, "the values as generated".to_owned())].into_iter().chain(orders).collect()
    }
}

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Rows to insert.
        rows: Rows = 100_000, 1..;
        /// Values to insert where no order is given.
        values: Values = Values::Int32;
        /// Order in which the keys 0 to rows-1 arrive instead of values.
        order: KeyOrder = NO_ORDER;
        /// Table to insert into.
        table: Table = Table::Rowid;
        /// When an index on the value is created.
        index: Index = Index::None;
        /// What the rows are written with.
        target: Target = Target::Sqlite;
        /// How rows get into SQLite.
        method: Method = Method::Values;
        /// Whether the INSERT is reused.
        statement: Statement = Statement::Reused;
        /// Rows in the VALUES list or the array of one INSERT; 0: all rows.
        per_statement as "rows_per_statement": RowsOrAll = 1, 0..=MAX_ARRAY_ELEMENTS;
        /// Rows per transaction; 0: all rows; 1: no BEGIN, each INSERT commits by itself.
        rows_per_txn: RowsOrAll = 0;
        /// Time after which no further transaction begins; 0: no limit. For variants whose speeds
        /// differ a hundredfold.
        stop_after as "stop_after_ms": Limit = 0;
    }
}

impl Parameters {
    /// Rows in one statement.
    pub(super) fn rows_per_statement(&self) -> usize {
        self.per_statement.map_or(self.rows, NonZeroUsize::get)
    }

    /// The values to be inserted, in the order of their arrival.
    ///
    /// # Errors
    /// Where there is no memory for them.
    pub(super) fn generate(&self, seed: Seed) -> Result<Integers, TrialError> {
        let mut data = Integers::zeroed(self.rows)?;
        match self.order {
            Some(order) => order.fill(&mut data, seed),
            None => self.values.fill(&mut data, seed),
        }
        Ok(data)
    }

    /// The rules between parameters.
    pub(super) fn check(&self, settings: &Settings) -> Result<(), TrialError> {
        let wrong =
            |name: &str, wanted: &str| TrialError::setting(name, settings.get(name), wanted);
        let rows = self.rows_per_statement();
        match self.method {
            _ if self.target == Target::Pages => self.check_all_at_once(&wrong),
            Method::Values if rows > MAX_HOST_PARAMETERS => Err(wrong(
                "rows_per_statement",
                "from 1 to 32766 with the method `values`, which binds each row",
            )),
            Method::Carray if rows > MAX_ARRAY_ELEMENTS as usize => {
                Err(wrong("rows_per_statement", "at most 2147483647 with the method `carray`"))
            }
            method if method.copies() => self.check_all_at_once(&wrong),
            _ => Ok(()),
        }?;
        if self.table.is_keyed_by_value() && self.order.is_none() {
            let wanted = "an order of keys, since the values of this table must be distinct";
            return Err(wrong("order", wanted));
        }
        Ok(())
    }

    /// What copies or writes a table does so at once, in the order in which the rows arrive.
    fn check_all_at_once(
        &self,
        wrong: &dyn Fn(&str, &str) -> TrialError,
    ) -> Result<(), TrialError> {
        let wanted = "0 where a method inserts all rows at once";
        if self.rows_per_statement() != self.rows {
            return Err(wrong("rows_per_statement", wanted));
        }
        if self.rows_per_txn.is_some() {
            return Err(wrong("rows_per_txn", wanted));
        }
        if self.index == Index::BeforeSorted {
            let wanted = "none, before or after where the application does not sort the rows";
            return Err(wrong("index", wanted));
        }
        Ok(())
    }
}

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
