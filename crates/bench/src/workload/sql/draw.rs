//! Values for parameters, drawn from the columns of the database itself.

use std::collections::BTreeMap;
use std::path::Path;

use engine::{Connection, EngineError, Value};
use lab::experiment::nearest;
use lab::seed::Seed;
use script::effect::quoted;
use script::{Draw, Hint, Popularity, Prng, Script, Slot, Variables};
use serde::{Deserialize, Serialize};

use super::parameters::{Drawing, Parameters};
use super::statement::store;
use super::suite::Suite;
use crate::error::TrialError;

/// Number of values of a column that are kept at most.
const MOST_VALUES: usize = 10_000;

/// Parameter of Zipf's law, unless a script names another.
const ZIPF: f64 = 1.1;

/// The file in the directory of a trial from which its clients read the values.
const FILE: &str = "drawn.values";

/// The values of one variable.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pool {
    script: usize,
    slot: usize,
    values: Vec<Value>,
    /// Parameter of Zipf's law; `None` if all values are equally likely.
    zipf: Option<f64>,
}

/// The values of all variables that are drawn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pools(Vec<Pool>);

impl Pools {
    /// Takes up to 10,000 values of each column that a script draws from. `set` lists the variables that get their values
    /// otherwise.
    ///
    /// # Errors
    /// A parameter has no column, or its column no values; with the file and line that use it.
    pub(super) fn of(
        connection: &Connection,
        suite: &Suite,
        parameters: &Parameters,
        set: &[Slot],
        seed: Seed,
    ) -> Result<Pools, TrialError> {
        let schema = Schema::read(connection)?;
        let mut columns = Columns { connection, seed: seed.child("draws"), known: BTreeMap::new() };
        let mut pools = Vec::new();
        for (number, script) in suite.scripts.iter().enumerate() {
            for (draw, line) in draws(script, suite, (&schema, connection), set)? {
                let values = columns.values(&draw.table, &draw.column).map_err(|why| {
                    at(script, line, format!("{why}{}", schema.suggestion(&draw)))
                })?;
                pools.push(Pool {
                    script: number,
                    slot: draw.slot.0,
                    values,
                    zipf: zipf(draw.popularity, parameters.draw),
                });
            }
        }
        Ok(Pools(pools))
    }

    /// Keeps them for clients in other processes.
    pub(super) fn write(&self, directory: &Path) -> Result<(), TrialError> {
        let path = directory.join(FILE);
        let bytes = postcard::to_stdvec(self)
            .map_err(|error| TrialError::Measuring(format!("{}: {error}", path.display())))?;
        std::fs::write(&path, bytes).map_err(TrialError::io("write", &path))
    }

    /// Reads what [`Pools::write`] kept.
    pub(super) fn read(directory: &Path) -> Result<Pools, TrialError> {
        let path = directory.join(FILE);
        let bytes = std::fs::read(&path).map_err(TrialError::io("read", &path))?;
        postcard::from_bytes(&bytes)
            .map_err(|error| TrialError::Measuring(format!("{}: {error}", path.display())))
    }

    /// Gives the variables of a script new values.
    #[inline]
    pub(super) fn draw(&self, script: usize, variables: &mut Variables, prng: &mut Prng) {
        for pool in self.0.iter().filter(|pool| pool.script == script) {
            let most = pool.values.len() - 1;
            let number = match pool.zipf {
                None => prng.up_to(most as u64) as usize,
                // Both bounds and the parameter are in range.
                Some(zipf) => prng.zipfian(0, most as i64, zipf).unwrap_or(0) as usize,
            };
            store(&pool.values[number], Slot(pool.slot), variables);
        }
    }
}

fn zipf(popularity: Option<Popularity>, drawing: Drawing) -> Option<f64> {
    match (popularity, drawing) {
        (Some(Popularity::Zipfian(parameter)), _) => Some(parameter),
        (None, Drawing::Zipfian) => Some(ZIPF),
        _ => None,
    }
}

fn at(script: &Script, line: usize, why: impl Into<String>) -> TrialError {
    TrialError::Script { file: script.file.clone(), line, why: why.into() }
}

/// Returns the draws of a script: those that it names, and those that its parameters need.
fn draws(
    script: &Script,
    suite: &Suite,
    (schema, connection): (&Schema, &Connection),
    set: &[Slot],
) -> Result<Vec<(Draw, usize)>, TrialError> {
    let mut draws: Vec<(Draw, usize)> =
        script.draws.iter().map(|draw| (draw.clone(), draw.line)).collect();
    for need in script.needs.iter().filter(|need| !set.contains(&need.slot)) {
        let column = need.hint.as_ref().and_then(|hint| schema.column(hint));
        let Some((table, column)) = column else {
            if let Some((line, why)) = refused(script, need.line, connection) {
                return Err(at(script, line, why));
            }
            let near = suite.names.nearest(need.slot).filter(|_| need.name.starts_with(':'));
            let near = near.map_or(String::new(), |name| format!("; did you mean `:{name}`?"));
            let why = format!(
                "the parameter {} has no value: it is compared with no column of a table from which values could be drawn; set it with \\set, or \\draw it from a column{near}",
                need.name
            );
            return Err(at(script, need.line, why));
        };
        let draw = Draw { slot: need.slot, table, column, popularity: None, line: need.line };
        draws.push((draw, need.line));
    }
    Ok(draws)
}

/// Returns the first line of the statement at a line and why SQLite refuses it, if it has other mistakes than a parameter without
/// a value.
fn refused(script: &Script, line: usize, connection: &Connection) -> Option<(usize, String)> {
    let before = script.statements.iter().filter(|statement| statement.line <= line);
    let statement = before.max_by_key(|statement| statement.line)?;
    let error = connection.prepare(&statement.sql).err()?;
    Some((statement.line, error.message()))
}

/// Tables and views with their columns.
struct Schema(Vec<(String, Vec<String>)>);

impl Schema {
    fn read(connection: &Connection) -> Result<Schema, TrialError> {
        let names = connection.query_rows(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid",
            |row| Ok(row.column_text(0)?.to_owned()),
        )?;
        let mut tables = Vec::new();
        for name in names {
            let statement = connection.prepare(&format!("SELECT * FROM {}", quoted(&name)));
            // A view may refer to tables that are gone.
            let Ok(statement) = statement else { continue };
            let columns = 0..statement.column_count();
            let columns = columns.filter_map(|column| statement.column_name(column));
            tables.push((name, columns.collect()));
        }
        Ok(Schema(tables))
    }

    /// Returns the table and column of a hint.
    fn column(&self, hint: &Hint) -> Option<(String, String)> {
        let named = hint.table.iter().chain(hint.tables.iter().filter(|_| hint.table.is_none()));
        named.into_iter().find_map(|wanted| {
            let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
            let (table, columns) = self.0.iter().find(|(table, _)| same(table, wanted))?;
            let column = columns.iter().find(|column| same(column, &hint.column))?;
            Some((table.clone(), column.clone()))
        })
    }

    /// Suggests an existing name for a table or column that does not exist.
    fn suggestion(&self, draw: &Draw) -> String {
        let same = |name: &str, wanted: &str| name.eq_ignore_ascii_case(wanted);
        let table = self.0.iter().find(|(table, _)| same(table, &draw.table));
        let near = match table {
            None => nearest(&draw.table, self.0.iter().map(|(table, _)| table.as_str())),
            Some((_, columns)) if columns.iter().any(|column| same(column, &draw.column)) => None,
            Some((_, columns)) => nearest(&draw.column, columns.iter().map(String::as_str)),
        };
        near.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
    }
}

/// Columns whose values were taken, so that each is read once.
struct Columns<'c> {
    connection: &'c Connection,
    seed: Seed,
    known: BTreeMap<(String, String), Vec<Value>>,
}

impl Columns<'_> {
    fn values(&mut self, table: &str, column: &str) -> Result<Vec<Value>, String> {
        let key = (table.to_owned(), column.to_owned());
        if let Some(values) = self.known.get(&key) {
            return Ok(values.clone());
        }
        let values = self.sample(table, column)?;
        if values.is_empty() {
            return Err(format!("{table}.{column} has no values from which to draw"));
        }
        self.known.insert(key, values.clone());
        Ok(values)
    }

    /// Returns values of random rows: each of the first row at or after a random rowid, so that databases draw the same values
    /// if few of their rows differ; or the first values of what has no rowids.
    fn sample(&self, table: &str, column: &str) -> Result<Vec<Value>, String> {
        let table_sql = quoted(table);
        // With its table, because SQLite takes a quoted name alone for a text unless such a column exists.
        let column_sql = format!("{table_sql}.{}", quoted(column));
        // Two look-ups: SQLite scans the table for both at once.
        let bounds = format!(
            "SELECT (SELECT min(rowid) FROM {table_sql}), (SELECT max(rowid) FROM {table_sql})"
        );
        let bounds = self.connection.query_all(&bounds).unwrap_or_default();
        let sampled = match bounds.first().map(Vec::as_slice) {
            Some([Value::Integer(min), Value::Integer(max)]) => {
                let rowids = (0..MOST_VALUES as u64).map(|number| self.rowid(number, *min, *max));
                if max.saturating_sub(*min) >= MOST_VALUES as i64 {
                    self.near(rowids, &column_sql, &table_sql)
                } else {
                    self.near_of_all(rowids, &column_sql, &table_sql)
                }
            }
            _ => {
                let all = format!(
                    "SELECT {column_sql} FROM {table_sql} WHERE {column_sql} IS NOT NULL LIMIT {MOST_VALUES}"
                );
                self.connection.query_all(&all).map(|rows| rows.into_iter().flatten().collect())
            }
        };
        sampled.map_err(|error| error.message())
    }

    /// Returns a random number in a range of rowids. Ranges of about the same end have the same ones.
    fn rowid(&self, number: u64, min: i64, max: i64) -> i64 {
        let mut prng = Prng::new(self.seed.nth(number).0);
        let range = max.abs_diff(min);
        let largest = u64::MAX.checked_shr(range.leading_zeros()).unwrap_or(0);
        let mut within = std::iter::repeat_with(|| prng.up_to(largest));
        min.wrapping_add(within.find(|random| *random <= range).unwrap_or(0) as i64)
    }

    /// Looks up the row for each rowid; one with NULL has the value before it.
    fn near(
        &self,
        rowids: impl Iterator<Item = i64>,
        column: &str,
        table: &str,
    ) -> Result<Vec<Value>, EngineError> {
        let sql = format!("SELECT {column} FROM {table} WHERE rowid >= ?1 ORDER BY rowid LIMIT 1");
        let mut statement = self.connection.prepare(&sql)?;
        let mut values = Vec::new();
        for rowid in rowids {
            statement.bind_i64(1, rowid)?;
            statement.step()?;
            let value = Some(statement.column_value(0)).filter(|value| *value != Value::Null);
            values.extend(value.or_else(|| values.last().cloned()));
            statement.reset()?;
        }
        Ok(values)
    }

    /// Returns the same of a table that is read at once.
    fn near_of_all(
        &self,
        rowids: impl Iterator<Item = i64>,
        column: &str,
        table: &str,
    ) -> Result<Vec<Value>, EngineError> {
        let sql = format!(
            "SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY rowid"
        );
        let rows =
            self.connection.query_rows(&sql, |row| Ok((row.column_i64(0), row.column_value(1))))?;
        let value = |rowid: i64| {
            let at = rows.partition_point(|(own, _)| *own < rowid);
            Some(rows.get(at).or(rows.last())?.1.clone())
        };
        Ok(rowids.filter_map(value).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engine::{Library, OpenFlags, Source};

    use super::*;

    /// Returns the values that are drawn from a table with these rows, in which every third has none.
    fn drawn(rows: &str) -> Vec<Value> {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
        connection
            .execute(&format!(
                "CREATE TABLE t(id INTEGER PRIMARY KEY, a);
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
                 INSERT INTO t SELECT i, iif(i % 3, 'value ' || i, NULL) FROM n WHERE {rows}"
            ))
            .unwrap();
        let mut columns =
            Columns { connection: &connection, seed: Seed(7), known: BTreeMap::new() };
        columns.values("t", "a").unwrap()
    }

    #[test]
    fn databases_with_few_other_rows_draw_the_same_values() {
        for rows in [400, 29_000] {
            let base = drawn(&format!("i <= {rows}"));
            let other = drawn(&format!("i <= {rows} + 1 AND i <> 100"));
            assert_eq!((base.len(), other.len()), (MOST_VALUES, MOST_VALUES));
            let differing = base.iter().zip(&other).filter(|(base, other)| base != other).count();
            assert!(differing < MOST_VALUES / 50, "{rows} rows: {differing}");
            let distinct: std::collections::BTreeSet<String> =
                base.iter().map(Value::to_string).collect();
            assert!(distinct.len() > 200, "{rows} rows: {}", distinct.len());
        }
    }
}
