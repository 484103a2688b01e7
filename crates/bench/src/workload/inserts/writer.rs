//! The connection that fills a new table.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use crate::target::sqlite::Counts;
use crate::workload::prelude::*;

/// A connection to a new database with its tables.
pub(super) struct Writer {
    pub(super) connection: Connection,
    /// Path of the database; `None` in memory.
    file: Option<PathBuf>,
}

impl Writer {
    /// Creates a database file of this name, or a database in memory without one, and executes the schema.
    pub(super) fn open(trial: &Trial<'_>, file: Option<&str>, schema: &str) -> Result<Writer> {
        let file = file.map(|name| trial.directory.join(name));
        let path = file.clone().unwrap_or_else(|| PathBuf::from(":memory:"));
        let connection = sqlite::open(trial, &path)?;
        connection.execute(schema)?;
        Ok(Writer { connection, file })
    }

    /// Times the work, which inserts `rows` rows, and counts its file operations in a counting trial. The work gets the
    /// moment at which the clock started.
    pub(super) fn time(
        &self,
        trial: &Trial<'_>,
        rows: usize,
        work: impl FnOnce(Instant) -> Result<()>,
    ) -> Result<Measured> {
        let counts = Counts::begin(trial, &self.connection)?;
        let watch = Stopwatch::start()?;
        work(watch.started())?;
        let elapsed = watch.stop()?;
        let mut measured = elapsed.measured(rows);
        set_peak_memory(&mut measured);
        set_counts(&mut measured, counts, &self.connection)?;
        Ok(measured)
    }

    /// Closes the connection and adds the size of the database, in all and for each of `rows` rows.
    pub(super) fn close(self, rows: usize, measured: &mut Measured) -> Result<()> {
        close(self.connection, self.file.as_deref(), measured)?;
        set_bytes_per_row(measured, rows);
        Ok(())
    }
}

/// BEGIN and COMMIT, prepared.
pub(super) struct Transaction<'c>(pub(super) Option<[Statement<'c, 'static>; 2]>);

impl<'c> Transaction<'c> {
    /// Prepares this BEGIN, and COMMIT.
    pub(super) fn prepare(connection: &'c Connection, begin: &str) -> Result<Transaction<'c>> {
        Ok(Transaction(Some([connection.prepare(begin)?, connection.prepare("COMMIT")?])))
    }

    #[inline]
    pub(super) fn begin(&mut self) -> Result<()> {
        if let Some([begin, _]) = &mut self.0 {
            begin.run()?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn commit(&mut self) -> Result<()> {
        if let Some([_, commit]) = &mut self.0 {
            commit.run()?;
        }
        Ok(())
    }

    /// Inserts `rows` rows in one transaction. A transaction longer than a window is watched while it runs; its commit
    /// counts to the last window.
    #[inline]
    pub(super) fn insert(
        &mut self,
        rows: usize,
        windows: &mut Windows,
        mut insert: impl FnMut(Range<usize>) -> Result<()>,
    ) -> Result<()> {
        self.begin()?;
        let step = windows.step;
        let mut from = 0;
        while from < rows {
            let to = (from + step).min(rows);
            insert(from..to)?;
            if to == rows {
                self.commit()?;
            }
            windows.tick(to - from, Instant::now());
            from = to;
        }
        Ok(())
    }
}

/// An INSERT of many rows, and one of a single row for the rest.
pub(super) struct Inserts<'c, 'd> {
    pub(super) many: Statement<'c, 'd>,
    pub(super) one: Statement<'c, 'd>,
    /// Rows of `many`.
    pub(super) rows: usize,
}

impl<'c, 'd> Inserts<'c, 'd> {
    /// Prepares both; `into` is the table with its columns, `row` the values of a row in SQL.
    pub(super) fn prepare(
        connection: &'c Connection,
        into: &str,
        row: &str,
        rows: usize,
    ) -> Result<Inserts<'c, 'd>> {
        Ok(Inserts {
            many: connection.prepare(&insert_sql(into, row, rows))?,
            one: connection.prepare(&insert_sql(into, row, 1))?,
            rows,
        })
    }
}

/// Returns an INSERT with a VALUES list of `rows` times the same row.
pub(super) fn insert_sql(into: &str, row: &str, rows: usize) -> String {
    format!("INSERT INTO {into} VALUES {}", vec![row; rows].join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::common::tests::memory_database;

    #[test]
    fn windows_cover_every_row_of_a_transaction_once_and_it_is_committed_at_the_end() {
        let connection = memory_database("CREATE TABLE t(a)");
        for (rows, total) in [(250, 250), (1, 1), (10, 1_000), (9, 300), (7, 100)] {
            let mut inserted = Vec::new();
            let mut transaction = Transaction::prepare(&connection, "BEGIN").unwrap();
            let mut windows = Windows::new(total, 7, None);
            let all = transaction.insert(rows, &mut windows, |range| {
                assert!(connection.execute("BEGIN").is_err());
                inserted.extend(range);
                Ok(())
            });
            assert!(all.is_ok());
            connection.execute("BEGIN; ROLLBACK").unwrap();
            assert_eq!(inserted, (0..rows).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_values_list_has_a_place_for_every_row() {
        assert_eq!(insert_sql("t(a)", "(?,?)", 2), "INSERT INTO t(a) VALUES (?,?),(?,?)");
    }
}
