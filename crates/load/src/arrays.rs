//! The strategy that uses SQL: a batch at a time, by a table-valued function that walks over its columns.
//!
//! Whatever SQL can do with a row happens here as always: triggers, constraints, defaults, generated
//! columns, foreign keys, virtual tables. A batch that fails is taken apart until the rows to blame are
//! found, which costs nothing as long as no row fails.

use std::ops::Range;

use arrow_array::Array;
use engine::{Columns, Connection, EngineError, ErrorKind, Statement, Step, ValueRef, ffi};

use crate::batch::Batch;
use crate::cells::{Cells, Rows};
use crate::error::LoadError;
use crate::feed::Feed;
use crate::rejects::refused;
use crate::table::quoted;
use crate::target::{Target, TargetColumn};

/// The table-valued function.
const FUNCTION: &str = "pragmark_columns";

/// Whether the transaction that is open may end before all rows are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commits {
    /// It may not: other connections would see half of them.
    Never,
    /// It ends and begins anew now and then. Nobody sees a database in the making, and its journal in
    /// memory would hold every page that rows go into: all of an index, where they come in no order.
    NowAndThen,
}

/// Batches in a transaction that may end.
const BATCHES: usize = 64;

/// Inserts the first batch and every further one of the feed, within the transaction that is open;
/// returns how many rows went in.
pub(crate) fn insert(
    connection: &Connection,
    target: &Target,
    first: Option<Batch>,
    feed: &mut Feed<'_>,
    commits: Commits,
) -> Result<u64, LoadError> {
    connection.create_columns_function(FUNCTION, target.columns.len())?;
    let mut inserter = Inserter {
        connection,
        target,
        statement: connection.prepare(&insert_sql(target, None))?,
        counting: Counting::prepare(connection, target)?,
        rows: 0,
    };
    let mut batches = 0;
    let mut next = first;
    while let Some(batch) = match next.take() {
        Some(batch) => Some(batch),
        None => feed.next()?,
    } {
        let rows = Rows::of(&batch)?;
        inserter.insert(&batch, &rows, feed)?;
        feed.loaded(batch.rows.num_rows() as u64)?;
        batches += 1;
        if commits == Commits::NowAndThen && batches % BATCHES == 0 {
            connection.execute("COMMIT; BEGIN")?;
        }
    }
    Ok(inserter.rows)
}

/// The INSERT of all columns but the one left out.
fn insert_sql(target: &Target, left_out: Option<usize>) -> String {
    let columns = target.columns.iter().enumerate();
    let (names, values): (Vec<String>, Vec<String>) = columns
        .filter(|(number, _)| Some(*number) != left_out)
        .map(|(number, column)| (quoted(&column.name), format!("c{number}")))
        .unzip();
    format!(
        "INSERT INTO main.{} ({}) SELECT {} FROM {FUNCTION}(?1)",
        quoted(&target.table),
        names.join(", "),
        values.join(", ")
    )
}

struct Inserter<'c> {
    connection: &'c Connection,
    target: &'c Target,
    statement: Statement<'c, 'static>,
    counting: Option<Counting<'c>>,
    rows: u64,
}

/// Rows whose primary keys are those that SQLite would give them: they are left to it, because a key
/// that is given is searched for in the table first, and one that SQLite gives is not.
struct Counting<'c> {
    alias: usize,
    /// The largest rowid.
    last: Statement<'c, 'static>,
    insert: Statement<'c, 'static>,
}

impl<'c> Counting<'c> {
    /// None where the key is no rowid, or where triggers or AUTOINCREMENT would see a difference.
    fn prepare(
        connection: &'c Connection,
        target: &Target,
    ) -> Result<Option<Counting<'c>>, EngineError> {
        let Some(alias) = target.rowid_alias.filter(|_| target.columns.len() > 1) else {
            return Ok(None);
        };
        let mut query = connection.prepare(
            "SELECT count(*) FROM (SELECT * FROM sqlite_master UNION ALL SELECT * FROM sqlite_temp_master) \
             WHERE lower(tbl_name) = lower(?1) AND (type = 'trigger' OR sql LIKE '%AUTOINCREMENT%')",
        )?;
        query.bind_text(1, &target.table)?;
        if query.step()? == Step::Row && query.column_i64(0) > 0 {
            return Ok(None);
        }
        let last = format!(
            "SELECT max({}) FROM main.{}",
            quoted(&target.columns[alias].name),
            quoted(&target.table)
        );
        Ok(Some(Counting {
            alias,
            last: connection.prepare(&last)?,
            insert: connection.prepare(&insert_sql(target, Some(alias)))?,
        }))
    }

    /// Whether SQLite would give these rows the keys that they have.
    fn fits(&mut self, rows: &Rows) -> Result<bool, EngineError> {
        let Cells::Integer(keys) = &rows.cells()[self.alias] else {
            return Ok(false);
        };
        if keys.null_count() > 0 {
            return Ok(false);
        }
        let last = match self.last.step()? {
            Step::Row => self.last.column_i64(0),
            Step::Done => 0,
        };
        self.last.reset()?;
        // In an empty table the largest is NULL, read as 0, and SQLite begins with 1.
        let keys = &keys.values()[rows.range()];
        Ok(last < i64::MAX - keys.len() as i64
            && (last + 1..).zip(keys).all(|(own, key)| own == *key))
    }
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
            let column = self.column_to_blame(&error);
            let reason = reason(&error) + &self.same_values(&error, rows);
            return feed.reject(refused(number, column, reason, rows));
        }
        for half in halves(range) {
            self.insert(batch, &rows.part(half), feed)?;
        }
        Ok(())
    }

    /// The values of a row that another row has already, where SQLite's message names their columns.
    fn same_values(&self, error: &EngineError, rows: &Rows) -> String {
        let message = reason(error);
        let Some(names) = message.strip_prefix("UNIQUE constraint failed: ") else {
            return String::new();
        };
        let value = |name: &str| {
            let mut columns = self.target.columns.iter();
            let is_named =
                |column: &TargetColumn| format!("{}.{}", self.target.table, column.name) == name;
            let at = columns.position(is_named)?;
            Some(literal(rows.value(0, at)))
        };
        let values: Option<Vec<String>> = names.split(", ").map(value).collect();
        values.map_or_else(String::new, |values| format!(": {}", values.join(", ")))
    }

    /// The column that SQLite's message does not name: a rowid that is no integer can stand in one alone.
    fn column_to_blame(&self, error: &EngineError) -> Option<String> {
        let alias = self.target.rowid_alias?;
        let is_mismatch = error.as_sqlite()?.primary() == ffi::SQLITE_MISMATCH;
        is_mismatch.then(|| self.target.columns[alias].name.clone())
    }

    /// Inserts rows, all or none.
    fn try_insert(&mut self, rows: &Rows) -> Result<(), EngineError> {
        let counts = match &mut self.counting {
            Some(counting) => counting.fits(rows)?,
            None => false,
        };
        let statement = match &mut self.counting {
            Some(counting) if counts => &mut counting.insert,
            _ => &mut self.statement,
        };
        self.connection.execute("SAVEPOINT pragmark_batch")?;
        let inserted = statement.with_borrowed(|statement| {
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
        error.kind() == ErrorKind::Constraint
            || matches!(error.primary(), ffi::SQLITE_MISMATCH | ffi::SQLITE_TOOBIG)
    })
}

/// A value as SQL writes it.
fn literal(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(text) => format!("'{}'", text.replace('\'', "''")),
        value => value.to_value().to_string(),
    }
}

/// SQLite's message without the statement, which is not the user's.
fn reason(error: &EngineError) -> String {
    error
        .as_sqlite()
        .map_or_else(|| error.to_string(), |error| error.message().to_owned())
}
