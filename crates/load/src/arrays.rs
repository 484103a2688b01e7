//! The strategy that uses SQL: a batch at a time, by a table-valued function that walks over its columns.
//!
//! SQL does everything with these rows that it always does: triggers, constraints, defaults, generated
//! columns, foreign keys, virtual tables. A batch that fails is bisected until the failing rows are
//! found, which costs nothing as long as no row fails.

use arrow_array::Array;
use engine::{Columns, Connection, EngineError, SqliteError, Statement, Step, ValueRef, ffi};

use crate::batch::Batch;
use crate::cells::{Cells, Rows};
use crate::error::{LoadError, Result};
use crate::feed::Feed;
use crate::rejects::refused;
use crate::request::Duplicates;
use crate::schema::object;
use crate::sql::{list, quoted, same};
use crate::target::{Target, TargetColumn};

/// The table-valued function.
const FUNCTION: &str = "pragmark_columns";

/// Whether the transaction that is open may end before all rows are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commits {
    /// Never: other connections would see an incomplete load.
    Never,
    /// It is committed at intervals. No other connection sees an unfinished database, and its journal in
    /// memory would hold every changed page: a whole index, if its entries come in no order.
    NowAndThen,
}

/// Batches in a transaction that may end.
const BATCHES: usize = 64;

/// Numbers of rows that were inserted or left out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Inserted {
    /// How many went in.
    pub(crate) rows: u64,
    /// How many SQLite ignored: other rows have their keys, or the definition of the table or one of its
    /// triggers ignores them.
    pub(crate) ignored: u64,
}

/// Inserts the first batch and every further one of the feed, within the transaction that is open.
pub(crate) fn insert(
    connection: &Connection,
    (target, duplicates): (&Target, &Duplicates),
    first: Option<Batch>,
    feed: &mut Feed<'_>,
    commits: Commits,
) -> Result<Inserted> {
    // A text without rows names no columns.
    if target.columns.is_empty() {
        return Ok(Inserted::default());
    }
    connection.create_columns_function(FUNCTION, target.columns.len())?;
    let sql = insert_sql(target, None) + &on_conflict(target, duplicates)?;
    let mut inserter = Inserter {
        connection,
        target,
        statement: (connection.prepare(&sql)).map_err(|error| no_key(error, target, duplicates))?,
        sequential: match duplicates {
            Duplicates::Refuse => SequentialKeys::prepare(connection, target)?,
            _ => None,
        },
        counts_changes: object(connection, &target.table)?.as_deref() != Some("view"),
        inserted: Inserted::default(),
    };
    let mut batches = 0;
    let mut next = first;
    while let Some(batch) = match next.take() {
        Some(batch) => Some(batch),
        None => feed.next()?,
    } {
        let rows = Rows::of(&batch);
        inserter.insert(&batch, &rows, feed)?;
        feed.loaded(batch.rows.num_rows() as u64)?;
        batches += 1;
        if commits == Commits::NowAndThen && batches % BATCHES == 0 {
            connection.execute("COMMIT; BEGIN")?;
        }
    }
    Ok(inserter.inserted)
}

/// Returns the INSERT of all columns but the one left out.
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

/// Returns the end of the INSERT: the conflict clause for rows whose keys exist.
fn on_conflict(target: &Target, duplicates: &Duplicates) -> Result<String> {
    // Without a condition SQLite would read ON as the condition of a join.
    let keys = match duplicates {
        Duplicates::Refuse => return Ok(String::new()),
        Duplicates::Ignore => return Ok(" WHERE true ON CONFLICT DO NOTHING".to_owned()),
        Duplicates::Update(keys) => keys,
    };
    let is_named = |key: &String| target.columns.iter().any(|column| same(&column.name, key));
    if let Some(stranger) = keys.iter().find(|key| !is_named(key)) {
        let reason = format!("the input has no column {stranger}, by which rows are to be updated");
        return Err(LoadError::Definition(reason));
    }
    let is_key = |column: &&TargetColumn| keys.iter().any(|key| same(key, &column.name));
    let others = target.columns.iter().filter(|column| !is_key(column));
    let set = others.map(|column| format!("{0} = excluded.{0}", quoted(&column.name)));
    let set: Vec<String> = set.collect();
    let action = if set.is_empty() {
        "NOTHING".to_owned()
    } else {
        format!("UPDATE SET {}", set.join(", "))
    };
    Ok(format!(" WHERE true ON CONFLICT ({}) DO {action}", list(keys)))
}

/// Explains the error of a table without a key for updates.
fn no_key(error: EngineError, target: &Target, duplicates: &Duplicates) -> LoadError {
    match duplicates {
        Duplicates::Update(keys)
            if error.message().contains("ON CONFLICT clause does not match") =>
        {
            LoadError::Definition(format!(
                "rows are updated by a primary key or unique index; {} has none of exactly {}",
                target.table,
                keys.join(", ")
            ))
        }
        _ => error.into(),
    }
}

struct Inserter<'c> {
    connection: &'c Connection,
    target: &'c Target,
    statement: Statement<'c, 'static>,
    sequential: Option<SequentialKeys<'c>>,
    /// Whether SQLite counts the rows that go in; it does not if triggers of a view take them.
    counts_changes: bool,
    inserted: Inserted,
}

/// Rows whose primary keys are the ones that SQLite would assign. SQLite assigns them, because it searches the table
/// for a given key first, and not for an assigned one.
struct SequentialKeys<'c> {
    alias: usize,
    /// The largest rowid.
    last: Statement<'c, 'static>,
    insert: Statement<'c, 'static>,
}

impl<'c> SequentialKeys<'c> {
    /// Returns `None` if the key is not the rowid, or if triggers or AUTOINCREMENT would see a difference. If the
    /// table handles conflicts, an ignored row leaves its key to the next one.
    fn prepare(
        connection: &'c Connection,
        target: &Target,
    ) -> Result<Option<SequentialKeys<'c>>, EngineError> {
        let Some(alias) = target.rowid_alias.filter(|_| target.columns.len() > 1) else {
            return Ok(None);
        };
        let mut query = connection.prepare(
            "SELECT count(*) FROM (SELECT * FROM sqlite_master UNION ALL SELECT * FROM sqlite_temp_master) \
             WHERE lower(tbl_name) = lower(?1) \
             AND (type = 'trigger' OR sql LIKE '%AUTOINCREMENT%' OR sql LIKE '%CONFLICT%')",
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
        Ok(Some(SequentialKeys {
            alias,
            last: connection.prepare(&last)?,
            insert: connection.prepare(&insert_sql(target, Some(alias)))?,
        }))
    }

    /// Returns whether SQLite would assign these rows the keys that they have.
    fn fits(&mut self, rows: &Rows) -> Result<bool, EngineError> {
        let Cells::Integer(keys) = &rows.cells[self.alias] else { return Ok(false) };
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
    /// Inserts some rows of a batch, or bisects them to find the failing ones.
    fn insert(&mut self, batch: &Batch, rows: &Rows, feed: &mut Feed<'_>) -> Result<()> {
        let range = rows.range();
        if range.is_empty() {
            return Ok(());
        }
        let error = match self.try_insert(rows) {
            Ok(inserted) => {
                self.inserted.rows += inserted;
                self.inserted.ignored += range.len() as u64 - inserted;
                return Ok(());
            }
            Err(error) => error,
        };
        // A trigger or constraint may have rolled back the whole transaction.
        if !blames_row(&error) || !self.connection.in_transaction() {
            return Err(error.into());
        }
        if range.len() == 1 {
            let number = batch.numbers.number(range.start);
            let column = self.column_to_blame(&error);
            let reason = error.message() + &self.same_values(&error, rows);
            return feed.reject(refused(number, column, reason, rows));
        }
        let middle = range.start + range.len() / 2;
        self.insert(batch, &rows.part(range.start..middle), feed)?;
        self.insert(batch, &rows.part(middle..range.end), feed)
    }

    /// Returns the values of a row that another row has already, where SQLite's message names their columns.
    fn same_values(&self, error: &EngineError, rows: &Rows) -> String {
        let message = error.message();
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

    /// Returns the column that SQLite's message does not name: only the rowid must be an integer.
    fn column_to_blame(&self, error: &EngineError) -> Option<String> {
        let alias = self.target.rowid_alias?;
        let is_mismatch = error.as_sqlite()?.primary() == ffi::SQLITE_MISMATCH;
        is_mismatch.then(|| self.target.columns[alias].name.clone())
    }

    /// Inserts rows, all or none except for those that are to be ignored; returns how many went in.
    fn try_insert(&mut self, rows: &Rows) -> Result<u64, EngineError> {
        let is_sequential = match &mut self.sequential {
            Some(sequential) => sequential.fits(rows)?,
            None => false,
        };
        let statement = match &mut self.sequential {
            Some(sequential) if is_sequential => &mut sequential.insert,
            _ => &mut self.statement,
        };
        self.connection.execute("SAVEPOINT pragmark_batch")?;
        let inserted = statement.with_borrowed(|statement| {
            statement.bind_columns(1, rows)?;
            statement.run()?;
            Ok(if self.counts_changes {
                self.connection.changes() as u64
            } else {
                rows.range().len() as u64
            })
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

fn blames_row(error: &EngineError) -> bool {
    let code = error.as_sqlite().map(SqliteError::primary);
    matches!(code, Some(ffi::SQLITE_CONSTRAINT | ffi::SQLITE_MISMATCH | ffi::SQLITE_TOOBIG))
}

/// Returns a value as an SQL literal.
fn literal(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(text) => format!("'{}'", text.replace('\'', "''")),
        value => value.to_value().to_string(),
    }
}
