//! The way through SQL: a batch at a time, by a table-valued function that walks over its columns.
//!
//! Whatever SQL can do with a row happens here as always: triggers, constraints, defaults, generated
//! columns, foreign keys, virtual tables. A batch that fails is taken apart until the rows to blame are
//! found, which costs nothing as long as no row fails.

use std::ops::Range;

use engine::{Connection, EngineError, ErrorKind, Statement};

use crate::batch::Batch;
use crate::cells::Rows;
use crate::error::LoadError;
use crate::loader::Feed;
use crate::rejects::refused;
use crate::table::quoted;
use crate::target::Target;

/// The table-valued function.
const FUNCTION: &str = "pragmark_columns";
/// Result codes that blame the row: `SQLITE_MISMATCH` for a rowid that is no integer, `SQLITE_TOOBIG`
/// for a row above the limit (<https://sqlite.org/rescode.html>).
const MISMATCH: i32 = 20;
const TOO_BIG: i32 = 18;

/// Inserts the first batch and every further one of the feed, within the transaction that is open;
/// returns how many rows went in.
pub(crate) fn insert(
    connection: &Connection,
    target: &Target,
    first: Option<Batch>,
    feed: &mut Feed<'_>,
) -> Result<u64, LoadError> {
    connection.create_columns_function(FUNCTION, target.columns.len())?;
    let mut inserter = Inserter {
        connection,
        statement: connection.prepare(&insert_sql(target))?,
        rows: 0,
    };
    let mut next = first;
    while let Some(batch) = match next.take() {
        Some(batch) => Some(batch),
        None => feed.next()?,
    } {
        let rows = Rows::of(&batch)?;
        inserter.insert(&batch, &rows, feed)?;
        feed.loaded(batch.rows.num_rows() as u64)?;
    }
    Ok(inserter.rows)
}

fn insert_sql(target: &Target) -> String {
    let names: Vec<String> = target
        .columns
        .iter()
        .map(|column| quoted(&column.name))
        .collect();
    let values: Vec<String> = (0..names.len())
        .map(|number| format!("c{number}"))
        .collect();
    format!(
        "INSERT INTO main.{} ({}) SELECT {} FROM {FUNCTION}(?1)",
        quoted(&target.table),
        names.join(", "),
        values.join(", ")
    )
}

struct Inserter<'c> {
    connection: &'c Connection,
    statement: Statement<'c, 'static>,
    rows: u64,
}

impl Inserter<'_> {
    /// Inserts some rows of a batch, or finds the ones to blame by halves.
    fn insert(&mut self, batch: &Batch, rows: &Rows, feed: &mut Feed<'_>) -> Result<(), LoadError> {
        let range = rows.range();
        if range.is_empty() {
            return Ok(());
        }
        let Err(error) = self.try_insert(rows) else {
            self.rows += range.len() as u64;
            return Ok(());
        };
        // A trigger or constraint may have ended the whole transaction, of which nothing is left then.
        if !blames_row(&error) || !self.connection.in_transaction() {
            return Err(error.into());
        }
        if range.len() == 1 {
            let number = batch.numbers.number(range.start);
            let reason = reason(&error);
            return feed.reject(refused(number, None, reason, rows));
        }
        for half in halves(range) {
            self.insert(batch, &rows.part(half), feed)?;
        }
        Ok(())
    }

    /// Inserts rows, all or none.
    fn try_insert(&mut self, rows: &Rows) -> Result<(), EngineError> {
        self.connection.execute("SAVEPOINT pragmark_batch")?;
        let inserted = self.statement.with_borrowed(|statement| {
            statement.bind_columns(1, rows)?;
            statement.run()
        });
        if inserted.is_err() && self.connection.in_transaction() {
            self.connection.execute("ROLLBACK TO pragmark_batch")?;
        }
        if self.connection.in_transaction() {
            self.connection.execute("RELEASE pragmark_batch")?;
        }
        inserted
    }
}

fn halves(range: Range<usize>) -> [Range<usize>; 2] {
    let middle = range.start + range.len() / 2;
    [range.start..middle, middle..range.end]
}

fn blames_row(error: &EngineError) -> bool {
    error.as_sqlite().is_some_and(|error| {
        error.kind() == ErrorKind::Constraint || matches!(error.primary(), MISMATCH | TOO_BIG)
    })
}

/// SQLite's message without the statement, which is not the user's.
fn reason(error: &EngineError) -> String {
    error
        .as_sqlite()
        .map_or_else(|| error.to_string(), |error| error.message().to_owned())
}
