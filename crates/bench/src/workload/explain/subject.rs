//! The statements that can be explained, and what running them must bring about.

use engine::{Array, Connection, Library, Step};

use crate::error::TrialError;
use crate::workload::common::expect;

choice! {
    /// The kind of table that an INSERT goes to.
    enum Table {
        /// SQLite numbers the rows.
        Rowid = "rowid",
        /// The value is the rowid (<https://sqlite.org/lang_createtable.html#rowid>).
        IntegerPrimaryKey = "integer-primary-key",
        /// The table is a B-tree of its primary key (<https://sqlite.org/withoutrowid.html>).
        WithoutRowid = "without-rowid",
    }
}

choice! {
    /// What is joined.
    enum Joined {
        /// Two arrays of the program, by carray.
        Carrays = "carrays",
        /// Two tables.
        Tables = "tables",
    }
}

/// A statement to explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Insert(Table),
    Join(Joined),
}

/// What both sides of a join hold, by rowid.
const LEFT: [i64; 3] = [10, 20, 30];
const RIGHT: [i64; 3] = [1, 2, 3];

impl Subject {
    /// An engine without carray cannot explain a join of arrays.
    pub(super) fn check_engine(self, library: &Library) -> Result<(), TrialError> {
        if self == Subject::Join(Joined::Carrays) && !library.has_carray() {
            return Err(TrialError::cannot_run("this engine lacks carray"));
        }
        Ok(())
    }

    pub(super) fn schema(self) -> &'static str {
        match self {
            Subject::Insert(Table::Rowid) => "CREATE TABLE integers(value INTEGER)",
            Subject::Insert(Table::IntegerPrimaryKey) => {
                "CREATE TABLE integers(value INTEGER PRIMARY KEY)"
            }
            Subject::Insert(Table::WithoutRowid) => {
                "CREATE TABLE integers(value INT PRIMARY KEY) WITHOUT ROWID"
            }
            Subject::Join(Joined::Carrays) => "",
            Subject::Join(Joined::Tables) => {
                "CREATE TABLE a(value INTEGER); CREATE TABLE b(value INTEGER); \
                 INSERT INTO a VALUES (10), (20), (30); INSERT INTO b VALUES (1), (2), (3)"
            }
        }
    }

    pub(super) fn sql(self) -> &'static str {
        match self {
            Subject::Insert(_) => "INSERT INTO integers(value) VALUES (1)",
            Subject::Join(Joined::Carrays) => {
                "SELECT a.value, b.value FROM carray(?1) AS a CROSS JOIN carray(?2) AS b ON a.rowid = b.rowid"
            }
            Subject::Join(Joined::Tables) => {
                "SELECT a.value, b.value FROM a CROSS JOIN b ON a.rowid = b.rowid"
            }
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Subject::Insert(Table::Rowid) => "table with rowid",
            Subject::Insert(Table::IntegerPrimaryKey) => "INTEGER PRIMARY KEY",
            Subject::Insert(Table::WithoutRowid) => "WITHOUT ROWID",
            Subject::Join(Joined::Carrays) => "two arrays",
            Subject::Join(Joined::Tables) => "two tables",
        }
    }

    /// Runs the statement and checks what comes of it.
    pub(super) fn check_result(self, connection: &Connection) -> Result<(), TrialError> {
        match self {
            Subject::Insert(_) => {
                connection.execute(self.sql())?;
                let found =
                    connection.query_i64("SELECT count(*) * 10 + sum(value) FROM integers")?;
                expect("ten times the count of rows, plus their sum", found, 11)
            }
            Subject::Join(joined) => {
                let mut join = connection.prepare(self.sql())?;
                if joined == Joined::Carrays {
                    join.bind_array(1, Array::I64(&LEFT))?;
                    join.bind_array(2, Array::I64(&RIGHT))?;
                }
                let mut pairs = Vec::new();
                while join.step()? == Step::Row {
                    pairs.push((join.column_i64(0), join.column_i64(1)));
                }
                let wanted: Vec<(i64, i64)> = LEFT.into_iter().zip(RIGHT).collect();
                expect("the joined rows", format!("{pairs:?}"), format!("{wanted:?}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{OpenFlags, Source};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn a_statement_that_does_something_else_is_a_wrong_result() {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
        let (join, insert) = (Subject::Join(Joined::Tables), Subject::Insert(Table::Rowid));
        connection.execute(join.schema()).unwrap();
        assert!(join.check_result(&connection).is_ok());
        connection.execute("UPDATE b SET value = 7 WHERE value = 2").unwrap();
        assert!(join.check_result(&connection).is_err());
        connection.execute(insert.schema()).unwrap();
        assert!(insert.check_result(&connection).is_ok());
        assert!(insert.check_result(&connection).is_err(), "a second row");
    }
}
