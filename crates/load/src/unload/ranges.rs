//! A table in ranges of rowids, which several connections read at the same time, all in the same state of the database.

use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::{Connection, EngineError, Library, OpenFlags, Statement};

use super::rows::Refusal;
use crate::error::Result;
use crate::schema::rowid_name;
use crate::sql::quoted;
use crate::threads::{Give, in_order};

/// Bytes of the database for a range, at least.
const RANGE_BYTES: u64 = 1 << 20;
/// The ranges from which types are learned.
const FEW: usize = 4;
/// The most ranges.
const MOST_RANGES: u64 = 16_384;
/// How often all connections begin anew because a commit came between them.
const ATTEMPTS: u32 = 5;
/// How long a connection that is not the first waits for a lock: another one that wants to write may wait for the first.
const PATIENCE: Duration = Duration::from_millis(100);

/// Connections that see the same state of a database, each in a read transaction.
pub(super) struct Snapshot {
    pub(super) first: Connection,
    others: Vec<Connection>,
}

impl Snapshot {
    /// Opens a database; with as many connections as threads can read it, if it is large and this can be done.
    ///
    /// # Errors
    /// SQLite's.
    pub(super) fn open(library: &Arc<Library>, path: &Path, threads: usize) -> Result<Snapshot> {
        let open =
            || Connection::open(library, path, OpenFlags::READ_ONLY | OpenFlags::NO_MUTEX, None);
        let first = open()?;
        first.busy_timeout(Duration::from_secs(5))?;
        let is_large = path.metadata().is_ok_and(|file| file.len() >= 2 * RANGE_BYTES);
        let wanted = if is_large { threads } else { 1 };
        let others = (1..wanted).map(|_| {
            let connection = open()?;
            connection.busy_timeout(PATIENCE)?;
            Ok(connection)
        });
        let mut others = others.collect::<Result<Vec<_>, EngineError>>().unwrap_or_default();
        if others.is_empty() || !begin_together(&open()?, &first, &others)? {
            others.clear();
            first.execute(BEGIN)?;
        }
        Ok(Snapshot { first, others })
    }

    /// Returns the rows of a query, in ranges if several connections can read its table.
    ///
    /// # Errors
    /// SQLite's.
    pub(super) fn rows<'s>(
        &'s mut self,
        input: &'s str,
        query: &str,
        table: Option<&str>,
    ) -> Result<Rows<'s>> {
        let (mut sql, mut found) = (query.to_owned(), Vec::new());
        if !self.others.is_empty()
            && let Some(table) = table
            && let Some(rowid) = rowid_name(&self.first, table)?
        {
            let rowid = format!("{}.{}", quoted(table), quoted(&rowid));
            let between = format!("{query} WHERE {rowid} BETWEEN ?1 AND ?2");
            // It fails for views and tables without rowids.
            if self.first.prepare(&between).is_ok() {
                let from = format!("FROM main.{} WHERE {rowid} BETWEEN ?1 AND ?2", quoted(table));
                // Each is found at one end; both in one query would read all rows.
                let ends =
                    format!("SELECT (SELECT min({rowid}) {from}), (SELECT max({rowid}) {from})");
                (sql, found) = (between, ranges(&self.first, &ends)?);
            }
        }
        let connections = std::iter::once(&mut self.first).chain(&mut self.others).collect();
        Ok(Rows { input, connections, sql, ranges: found })
    }
}

/// Begins a transaction that sees the database as it is now, and not as it is at the first use.
const BEGIN: &str = "BEGIN; SELECT 1 FROM sqlite_master";

/// Returns whether the connections have begun a transaction each, with no commit between the first and the last: the
/// version of the data that `watcher` sees changes at each (<https://sqlite.org/pragma.html#pragma_data_version>).
fn begin_together(watcher: &Connection, first: &Connection, others: &[Connection]) -> Result<bool> {
    // Each may meet a lock for which only the first connection waits.
    let version = || watcher.query_i64("PRAGMA data_version").ok();
    for _ in 0..ATTEMPTS {
        let before = version();
        first.execute(BEGIN)?;
        let have_begun = others.iter().all(|other| other.execute(BEGIN).is_ok());
        if have_begun && before.is_some() && version() == before {
            return Ok(true);
        }
        for connection in others.iter().chain([first]).filter(|each| each.in_transaction()) {
            connection.execute("ROLLBACK")?;
        }
    }
    Ok(false)
}

/// Returns the ends of ranges, by a query for the first and the last rowid between two others. The widest range is divided
/// at its middle again and again, and what remains ends at rows, so that a few distant rowids do not leave all others to one
/// range.
fn ranges(connection: &Connection, ends: &str) -> Result<Vec<(i64, i64)>> {
    let bytes =
        connection.query_i64("PRAGMA page_count")? * connection.query_i64("PRAGMA page_size")?;
    let wanted = (bytes.unsigned_abs() / RANGE_BYTES).min(MOST_RANGES);
    let mut ends = connection.prepare(ends)?;
    let mut within = |low: i64, high: i64| -> Result<Option<(u64, i64, i64)>> {
        ends.reset()?;
        ends.bind_i64(1, low)?;
        ends.bind_i64(2, high)?;
        ends.step()?;
        let [low, high] = [0, 1].map(|column| ends.column_i64(column));
        Ok((!ends.column_is_null(0)).then(|| (high.abs_diff(low), low, high)))
    };
    let mut ranges = BinaryHeap::from_iter(within(i64::MIN, i64::MAX)?);
    while (ranges.len() as u64) < wanted
        && let Some(&(width, low, high)) = ranges.peek()
        && width > 0
    {
        ranges.pop();
        let middle = low.wrapping_add_unsigned(width / 2);
        ranges.extend(within(low, middle)?);
        ranges.extend(within(middle + 1, high)?);
    }
    let mut ranges: Vec<_> = ranges.into_iter().map(|(_, low, high)| (low, high)).collect();
    ranges.sort_unstable();
    Ok(ranges)
}

/// Rows of a query, or of a table in ranges.
pub(super) struct Rows<'s> {
    pub(super) input: &'s str,
    connections: Vec<&'s mut Connection>,
    /// The query; for the rows between two rowids if there are ranges.
    sql: String,
    ranges: Vec<(i64, i64)>,
}

/// The ranges to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    All,
    /// A few ranges, at equal distances.
    Few,
}

/// A part of a range, or its end with the number of rows.
enum Part<T> {
    Some(T),
    End(Result<u64, Refusal>),
}

impl Rows<'_> {
    /// Returns the connection for queries that are not divided.
    pub(super) fn first(&self) -> &Connection {
        self.connections[0]
    }

    /// Returns whether several threads read the rows.
    pub(super) fn are_divided(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Reads the rows. On some thread, `read` makes parts of the rows of a range and returns how many
    /// rows there were. `take` gets the parts of all ranges in order.
    ///
    /// # Errors
    /// Those of both.
    pub(super) fn each<T: Send>(
        &mut self,
        which: Which,
        read: impl Fn(&mut Statement<'_, '_>, Give<'_, T>) -> Result<u64, Refusal> + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        if self.ranges.is_empty() {
            let read = read(&mut self.first().prepare(&self.sql)?, &mut take);
            return read.map(drop).map_err(|refusal| refusal.error(self.input, 0));
        }
        let step = match which {
            Which::All => 1,
            Which::Few => self.ranges.len().div_ceil(FEW).max(2),
        };
        let sql = &self.sql;
        let mut before = 0;
        in_order(
            self.connections.iter_mut(),
            self.ranges.iter().step_by(step).copied().map(Ok),
            |connection, (low, high), give| {
                let end = (|| {
                    let mut statement = connection.prepare(sql)?;
                    statement.bind_i64(1, low)?;
                    statement.bind_i64(2, high)?;
                    read(&mut statement, &mut |part| give(Part::Some(part)))
                })();
                give(Part::End(end))
            },
            |part| match part {
                Part::Some(part) => take(part),
                Part::End(Ok(rows)) => {
                    before += rows;
                    Ok(())
                }
                Part::End(Err(refusal)) => Err(refusal.error(self.input, before)),
            },
        )
    }
}
