//! Values for parameters, drawn from the columns of the database itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engine::{Connection, EngineError, Step, Value};
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

/// Bytes of texts and blobs of a column, after which no more values are kept.
const MOST_BYTES: usize = 64 << 20;

/// Rowids that are tried at most, to find random rows of a table with more values.
const MOST_TRIES: u64 = 1 << 15;

/// Points of a ring, about.
const POINTS: f64 = 32_768.0;

/// Parameter of Zipf's law, unless a script names another.
const ZIPF: f64 = 1.1;

/// The file in the directory of a trial from which its clients read the values.
const FILE: &str = "drawn.values";

/// The values of one column. A few values more or less change few draws, so that databases with about the same rows draw the same
/// values.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Column {
    values: Vec<Value>,
    /// Points of a ring, in order, each with the number of the value that is drawn up to it. All values have about equally many.
    ring: Vec<(u64, u32)>,
    /// The numbers of the values, the most popular first.
    ranks: Vec<u32>,
}

impl Column {
    fn of(rows: Rows, seed: Seed) -> Column {
        let points = POINTS / rows.values.len().max(1) as f64;
        let mut ring = Vec::new();
        let mut unranked = BTreeSet::new();
        for (number, key) in (0..).zip(&rows.keys) {
            let mut random = seed.nth(key.cast_unsigned()).generator();
            unranked.insert((random.next_u64(), number));
            let own = (points + random.uniform()) as usize;
            ring.extend(std::iter::repeat_with(|| (random.next_u64(), number)).take(own.max(1)));
        }
        ring.sort_unstable();
        let ranks = (0..rows.keys.len() as u64).filter_map(|rank| {
            let from = (seed.nth(rank).0, 0);
            let next = unranked.range(from..).next().or(unranked.first());
            let point = *next?;
            unranked.remove(&point);
            Some(point.1)
        });
        Column { ranks: ranks.collect(), values: rows.values, ring }
    }

    /// Returns a random value. It takes one number of the generator, whatever the values are.
    #[inline]
    fn draw(&self, zipf: Option<f64>, prng: &mut Prng) -> &Value {
        let random = prng.next_u64();
        let number = match zipf {
            None => {
                let at = self.ring.partition_point(|(point, _)| *point < random);
                self.ring.get(at).unwrap_or(&self.ring[0]).1
            }
            Some(zipf) => {
                let most = self.ranks.len() as i64 - 1;
                // Both bounds and the parameter are in range.
                self.ranks[Prng::new(random).zipfian(0, most, zipf).unwrap_or(0) as usize]
            }
        };
        &self.values[number as usize]
    }
}

/// Rows whose values are kept, each with its rowid or another number.
#[derive(Default)]
struct Rows {
    keys: Vec<i64>,
    values: Vec<Value>,
    bytes: usize,
}

impl Rows {
    fn has_room(&self) -> bool {
        self.values.len() < MOST_VALUES && self.bytes < MOST_BYTES
    }

    fn add(&mut self, key: i64, value: Value) {
        self.bytes += match &value {
            Value::Text(text) => text.len(),
            Value::Blob(bytes) => bytes.len(),
            _ => 0,
        };
        self.keys.push(key);
        self.values.push(value);
    }
}

/// Returns a number from 0 to `most`, all equally likely. Few seeds get another one with a `most` that differs little (Lamping
/// and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014).
#[inline]
fn stable(mut seed: u64, most: u64) -> u64 {
    let (mut number, mut next) = (0, 0);
    while next <= most {
        number = next;
        seed = seed.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((number as f64 + 1.0) * (2_f64.powi(31) / ((seed >> 33) + 1) as f64)) as u64;
    }
    number
}

/// The values of one variable.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pool {
    script: usize,
    slot: usize,
    /// The number of the column.
    column: usize,
    /// Parameter of Zipf's law; `None` if all values are equally likely.
    zipf: Option<f64>,
}

/// The values of all variables that are drawn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pools {
    columns: Vec<Column>,
    pools: Vec<Pool>,
}

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
        let mut columns = Columns::new(connection, seed.child("draws"));
        let mut pools = Vec::new();
        for (number, script) in suite.scripts.iter().enumerate() {
            for (draw, line) in draws(script, suite, (&schema, connection), set)? {
                let column = columns.number(&draw.table, &draw.column).map_err(|why| {
                    at(script, line, format!("{why}{}", schema.suggestion(&draw)))
                })?;
                pools.push(Pool {
                    script: number,
                    slot: draw.slot.0,
                    column,
                    zipf: zipf(draw.popularity, parameters.draw),
                });
            }
        }
        Ok(Pools { columns: columns.columns, pools })
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
        for pool in self.pools.iter().filter(|pool| pool.script == script) {
            let value = self.columns[pool.column].draw(pool.zipf, prng);
            store(value, Slot(pool.slot), variables);
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
    columns: Vec<Column>,
    known: BTreeMap<(String, String), usize>,
}

impl<'c> Columns<'c> {
    fn new(connection: &'c Connection, seed: Seed) -> Columns<'c> {
        Columns { connection, seed, columns: Vec::new(), known: BTreeMap::new() }
    }

    fn number(&mut self, table: &str, column: &str) -> Result<usize, String> {
        let key = (table.to_owned(), column.to_owned());
        if let Some(number) = self.known.get(&key) {
            return Ok(*number);
        }
        let rows = self.read(table, column).map_err(|error| error.message())?;
        if rows.values.is_empty() {
            return Err(format!("{table}.{column} has no values from which to draw"));
        }
        self.columns.push(Column::of(rows, self.seed));
        self.known.insert(key, self.columns.len() - 1);
        Ok(self.columns.len() - 1)
    }

    /// Returns all values, or values of random rows if there are more; without rowids, the first values.
    fn read(&self, table: &str, column: &str) -> Result<Rows, EngineError> {
        let table = quoted(table);
        // With its table, because SQLite takes a quoted name alone for a text unless such a column exists.
        let column = format!("{table}.{}", quoted(column));
        // Two look-ups: SQLite scans the table for both at once.
        let bounds =
            format!("SELECT (SELECT min(rowid) FROM {table}), (SELECT max(rowid) FROM {table})");
        let bounds = self.connection.query_all(&bounds).unwrap_or_default();
        let bounds = match bounds.first().map(Vec::as_slice) {
            Some([Value::Integer(min), Value::Integer(max)]) => Some((*min, *max)),
            _ => None,
        };
        let (key, order) = bounds.map_or(("0", ""), |_| ("rowid", "ORDER BY rowid"));
        let from = format!("SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL");
        let mut statement = self.connection.prepare(&format!("{from} {order}"))?;
        let mut rows = Rows::default();
        while statement.step()? == Step::Row {
            match bounds {
                _ if rows.has_room() => {}
                Some(bounds) => return self.random(&from, bounds),
                None => break,
            }
            let number = rows.keys.len() as i64;
            let key = bounds.map_or(number, |_| statement.column_i64(0));
            rows.add(key, statement.column_value(1));
        }
        Ok(rows)
    }

    /// Returns random rows of a query: each the first one at or after a random rowid.
    fn random(&self, from: &str, (min, max): (i64, i64)) -> Result<Rows, EngineError> {
        let next = format!("{from} AND rowid >= ?1 ORDER BY rowid LIMIT 1");
        let mut statement = self.connection.prepare(&next)?;
        // About the same first and last rowids result in the same random ones.
        let bits = u64::MAX >> max.abs_diff(min).leading_zeros().clamp(1, 63);
        let start = min & !bits.cast_signed();
        let range = max.abs_diff(start).min(u64::MAX - 1);
        let (mut rows, mut known) = (Rows::default(), BTreeSet::new());
        for number in 0..MOST_TRIES {
            if !rows.has_room() {
                break;
            }
            let offset = stable(self.seed.nth(number).0, range);
            statement.bind_i64(1, start.wrapping_add_unsigned(offset))?;
            if statement.step()? == Step::Row && known.insert(statement.column_i64(0)) {
                rows.add(statement.column_i64(0), statement.column_value(1));
            }
            statement.reset()?;
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engine::{Library, OpenFlags, Source};

    use super::*;

    /// Returns what is drawn from `t.a` after this SQL.
    fn column(sql: &str) -> Column {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
        connection.execute(&format!("CREATE TABLE t(id INTEGER PRIMARY KEY, a); {sql}")).unwrap();
        let mut columns = Columns::new(&connection, Seed(7));
        columns.number("t", "a").unwrap();
        columns.columns.remove(0)
    }

    /// Rows with the numbers from 1 in `i`.
    fn rows(many: usize, row: &str, with: &str) -> String {
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {many})
             INSERT INTO t SELECT {row} FROM n WHERE {with};"
        )
    }

    fn draws(column: &Column, zipf: Option<f64>) -> Vec<String> {
        let mut prng = Prng::new(3);
        (0..2000).map(|_| column.draw(zipf, &mut prng).to_string()).collect()
    }

    #[test]
    fn databases_with_few_other_rows_draw_the_same_values() {
        // Every third row has no value.
        let of = |many, with: &str| column(&rows(many, "i, iif(i % 3, 'value ' || i, NULL)", with));
        for (many, most) in [(400, 80), (9_999, 20), (65_536, 10)] {
            let base = of(many, "TRUE");
            let others = [of(many + 1, "TRUE"), of(many, "i <> 1"), of(many + 1, "i <> 100")];
            for zipf in [None, Some(ZIPF)] {
                let own = draws(&base, zipf);
                for (number, other) in others.iter().map(|other| draws(other, zipf)).enumerate() {
                    let differing = own.iter().zip(&other).filter(|(own, other)| own != other);
                    let differing = differing.count();
                    assert!(differing <= most, "{many} rows, {number}, {zipf:?}: {differing}");
                }
            }
        }
    }

    #[test]
    fn every_value_of_a_small_table_is_kept_once() {
        let small = column(&rows(100, "i * 100000, zeroblob(1000) || i", "TRUE"));
        assert_eq!((small.values.len(), small.ranks.len()), (100, 100));
        let mut ranks = small.ranks.clone();
        ranks.sort_unstable();
        assert_eq!(ranks, (0..100).collect::<Vec<_>>());
        // The last row is far away, and so follows most rowids.
        let all = rows(9_999, "i, i", "TRUE") + "INSERT INTO t VALUES (1000000000, 0);";
        assert_eq!(column(&all).values.len(), 10_000);
        let large = column(&rows(100, "i, zeroblob(1000000)", "TRUE"));
        assert_eq!(large.values.len(), 68, "after 64 MiB, no more are kept");
    }

    #[test]
    fn values_are_equally_likely_or_have_the_frequencies_of_zipfs_law() {
        let column = column(&rows(10, "i, i", "TRUE"));
        let shares = |zipf| {
            let mut shares: BTreeMap<String, usize> = BTreeMap::new();
            draws(&column, zipf)
                .into_iter()
                .for_each(|value| *shares.entry(value).or_default() += 1);
            let mut shares: Vec<usize> = shares.into_values().collect();
            shares.sort_unstable();
            shares
        };
        let equal = shares(None);
        assert!(equal.len() == 10 && equal[0] > 160 && equal[9] < 240, "{equal:?}");
        // 1 / (1 + 2^-1.1 + … + 10^-1.1) of 2,000, and a twelfth of it.
        let zipf = shares(Some(ZIPF));
        assert!(zipf.len() == 10 && zipf[9].abs_diff(746) < 60 && zipf[0] < 90, "{zipf:?}");
    }

    #[test]
    fn a_large_table_may_have_few_values() {
        let few = column(&rows(200_000, "i, iif(i IN (7, 90000, 90001), i, NULL)", "TRUE"));
        let mut values: Vec<String> = few.values.iter().map(Value::to_string).collect();
        values.sort_unstable();
        assert_eq!(values, ["7", "90000", "90001"]);
    }

    #[test]
    fn rowids_may_be_negative_far_from_zero_or_the_largest_ones() {
        for first in ["-15000", "1700000000000", "-9223372036854775808", "9223372036854755000"] {
            let column = column(&rows(20_000, &format!("{first} + i, i"), "TRUE"));
            assert!(column.values.len() > 9_000, "{first}: {}", column.values.len());
        }
        let ends = "INSERT INTO t VALUES (-9223372036854775808, 1), (9223372036854775807, 2);";
        let ends = ends.to_owned() + &rows(10_000, "i * 900000000000000, i", "TRUE");
        assert!(column(&ends).values.len() > 7_500);
    }
}
