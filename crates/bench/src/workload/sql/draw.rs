//! Values for parameters, drawn from the columns of the database itself.

use std::collections::BTreeSet;
use std::path::Path;

use lab::experiment::nearest;
use lab::trial::DRAWN;
use script::effect::quoted;
use script::{Draw, Hint, Popularity, Prng, Script, Slot, Variables};
use serde::{Deserialize, Serialize};

use super::parameters::{Drawing, Parameters};
use super::statement::store;
use super::suite::Suite;
use crate::workload::Trial;
use crate::workload::prelude::*;

/// Number of values of a column that are kept at most.
const MOST_VALUES: usize = 10_000;

/// Bytes of texts and blobs of a column, after which no more values are kept.
const MOST_BYTES: usize = 64 << 20;

/// Rowids that are tried at most, to find random rows of a table with more values.
const MOST_TRIES: u64 = 1 << 15;

/// Parameter of Zipf's law, unless a script names another.
const ZIPF: f64 = 1.1;

/// The values of one column, the most popular first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Column(Vec<Value>);

impl Column {
    fn of(mut values: Vec<Value>, seed: Seed) -> Column {
        seed.generator().shuffle(&mut values);
        Column(values)
    }

    /// Returns the value that a random number chooses.
    #[inline]
    fn draw(&self, zipf: Option<f64>, random: u64) -> &Value {
        let most = self.0.len() as i64 - 1;
        let mut prng = Prng::new(random);
        // The bounds and the parameter are in range.
        let rank = match zipf {
            None => prng.up_to(most as u64) as i64,
            Some(zipf) => prng.zipfian(0, most, zipf).unwrap_or(0),
        };
        &self.0[rank as usize]
    }
}

/// Values that are kept.
#[derive(Default)]
struct Kept {
    values: Vec<Value>,
    bytes: usize,
}

impl Kept {
    fn has_room(&self) -> bool {
        self.values.len() < MOST_VALUES && self.bytes < MOST_BYTES
    }

    fn add(&mut self, value: Value) {
        self.bytes += match &value {
            Value::Text(text) => text.len(),
            Value::Blob(bytes) => bytes.len(),
            _ => 0,
        };
        self.values.push(value);
    }
}

/// The values of one variable.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pool {
    script: usize,
    slot: usize,
    /// The hash of its name, so that its values do not depend on its position.
    name: u64,
    /// The number of the column.
    column: usize,
    /// Parameter of Zipf's law; `None` if all values are equally likely.
    zipf: Option<f64>,
}

/// The values of all variables that are drawn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pools {
    /// Columns by table and name.
    columns: Vec<((String, String), Column)>,
    pools: Vec<Pool>,
}

impl Pools {
    /// Reads up to 10,000 values of each column that a script draws from. Columns that another side of the comparison has read keep its
    /// values.
    ///
    /// # Errors
    /// A parameter has no column, or its column no values; with the file and line that use it.
    pub(super) fn of(
        connection: &Connection,
        suite: &Suite,
        parameters: &Parameters,
        trial: &Trial<'_>,
    ) -> Result<Pools, TrialError> {
        let (schema, set) = (Schema::read(connection)?, suite.set_by_gset());
        let is_shared = trial.directory.join(DRAWN).exists();
        let shared = is_shared.then(|| Pools::read(trial.directory)).transpose()?;
        let mut drawn = Pools { pools: Vec::new(), ..shared.unwrap_or_default() };
        let columns = Columns { connection, seed: trial.seed.child("draws") };
        for (number, script) in suite.scripts.iter().enumerate() {
            for (draw, line) in draws(script, suite, (&schema, connection), &set)? {
                let column = drawn.number(&draw.table, &draw.column, &columns).map_err(|why| {
                    at(script, line, format!("{why}{}", schema.suggestion(&draw)))
                })?;
                // The name of a numbered parameter begins with its file and query.
                let name = suite.names.name(draw.slot);
                let name = name.rsplit_once('?').map_or(name, |(_, number)| number);
                drawn.pools.push(Pool {
                    script: number,
                    slot: draw.slot.0,
                    name: Seed(0).child(name).0,
                    column,
                    zipf: zipf(draw.popularity, parameters.draw),
                });
            }
        }
        Ok(drawn)
    }

    /// Returns the number of a column, whose values are read once.
    fn number(&mut self, table: &str, column: &str, of: &Columns<'_>) -> Result<usize, String> {
        let key = (table.to_owned(), column.to_owned());
        if let Some(number) = self.columns.iter().position(|(known, _)| *known == key) {
            return Ok(number);
        }
        let values = of.read(table, column).map_err(|error| error.message())?;
        if values.is_empty() {
            return Err(format!("{table}.{column} has no values from which to draw"));
        }
        self.columns.push((key, Column::of(values, of.seed)));
        Ok(self.columns.len() - 1)
    }

    /// Keeps them for clients in other processes.
    pub(super) fn write(&self, directory: &Path) -> Result<(), TrialError> {
        let path = directory.join(DRAWN);
        let bytes = postcard::to_stdvec(self)
            .map_err(|error| TrialError::Measuring(format!("{}: {error}", path.display())))?;
        std::fs::write(&path, bytes).map_err(TrialError::io("write", &path))
    }

    /// Reads what [`Pools::write`] kept.
    pub(super) fn read(directory: &Path) -> Result<Pools, TrialError> {
        let path = directory.join(DRAWN);
        let bytes = std::fs::read(&path).map_err(TrialError::io("read", &path))?;
        postcard::from_bytes(&bytes)
            .map_err(|error| TrialError::Measuring(format!("{}: {error}", path.display())))
    }

    /// Gives the variables of a script new values. Takes one number from the generator, however many variables there are.
    #[inline]
    pub(super) fn draw(&self, script: usize, variables: &mut Variables, prng: &mut Prng) {
        let mut random = None;
        for pool in self.pools.iter().filter(|pool| pool.script == script) {
            let random = random.get_or_insert_with(|| Seed(prng.next_u64()));
            let (_, column) = &self.columns[pool.column];
            let value = column.draw(pool.zipf, random.nth(pool.name).0);
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

/// The database whose columns have the values.
struct Columns<'c> {
    connection: &'c Connection,
    seed: Seed,
}

impl Columns<'_> {
    /// Returns all values, or values of random rows if there are more; without rowids, the first values.
    fn read(&self, table: &str, column: &str) -> Result<Vec<Value>, EngineError> {
        let table = quoted(table);
        // With its table, because SQLite takes a quoted name alone for a text unless such a column exists.
        let column = format!("{table}.{}", quoted(column));
        // Two look-ups: SQLite scans the table for both at once.
        let bounds =
            format!("SELECT (SELECT min(rowid) FROM {table}), (SELECT max(rowid) FROM {table})");
        let bounds = self.connection.query_all(&bounds).unwrap_or_default();
        let from = format!("FROM {table} WHERE {column} IS NOT NULL");
        // In the order of rowids, which no index changes.
        let order = if bounds.is_empty() { "" } else { " ORDER BY rowid" };
        let mut statement = self.connection.prepare(&format!("SELECT {column} {from}{order}"))?;
        let mut kept = Kept::default();
        while statement.step()? == Step::Row {
            if !kept.has_room() {
                if let Some([Value::Integer(min), Value::Integer(max)]) =
                    bounds.first().map(Vec::as_slice)
                {
                    kept = self.random(&format!("SELECT rowid, {column} {from}"), (*min, *max))?;
                }
                break;
            }
            kept.add(statement.column_value(0));
        }
        Ok(kept.values)
    }

    /// Returns the values of random rows of a query: each the first one at or after a random rowid.
    fn random(&self, from: &str, (min, max): (i64, i64)) -> Result<Kept, EngineError> {
        let next = format!("{from} AND rowid >= ?1 ORDER BY rowid LIMIT 1");
        let mut statement = self.connection.prepare(&next)?;
        let mut generator = self.seed.generator();
        let rowids = max.abs_diff(min).saturating_add(1);
        let (mut kept, mut known) = (Kept::default(), BTreeSet::new());
        for _ in 0..MOST_TRIES {
            if !kept.has_room() {
                break;
            }
            statement.bind_i64(1, min.wrapping_add_unsigned(generator.below(rowids)))?;
            if statement.step()? == Step::Row && known.insert(statement.column_i64(0)) {
                kept.add(statement.column_value(1));
            }
            statement.reset()?;
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use engine::{Library, OpenFlags, Source};

    use super::*;

    /// Returns what is drawn from `t.a` after this SQL.
    fn column(sql: &str) -> Column {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
        connection.execute(&format!("CREATE TABLE t(id INTEGER PRIMARY KEY, a); {sql}")).unwrap();
        let columns = Columns { connection: &connection, seed: Seed(7) };
        Column::of(columns.read("t", "a").unwrap(), columns.seed)
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
        (0..2000).map(|_| column.draw(zipf, prng.next_u64()).to_string()).collect()
    }

    #[test]
    fn every_value_of_a_small_table_is_kept_once() {
        let small = column(&rows(100, "i * 100000, zeroblob(1000) || i", "TRUE"));
        let different: BTreeSet<String> = small.0.iter().map(Value::to_string).collect();
        assert_eq!((small.0.len(), different.len()), (100, 100));
        // The last row is far away, and so follows most rowids.
        let all = rows(9_999, "i, i", "TRUE") + "INSERT INTO t VALUES (1000000000, 0);";
        assert_eq!(column(&all).0.len(), 10_000);
        let large = column(&rows(100, "i, zeroblob(1000000)", "TRUE"));
        assert_eq!(large.0.len(), 68, "after 64 MiB, no more are kept");
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
    fn an_index_changes_no_values() {
        let plain = rows(500, "i, i * 7919 % 41", "TRUE");
        let indexed = format!("{plain} CREATE INDEX of_a ON t(a);");
        assert_eq!(draws(&column(&plain), None), draws(&column(&indexed), None));
    }

    #[test]
    fn a_large_table_may_have_few_values() {
        let few = column(&rows(200_000, "i, iif(i IN (7, 90000, 90001), i, NULL)", "TRUE"));
        let mut values: Vec<String> = few.0.iter().map(Value::to_string).collect();
        values.sort_unstable();
        assert_eq!(values, ["7", "90000", "90001"]);
    }

    #[test]
    fn rowids_may_be_negative_far_from_zero_or_the_largest_ones() {
        for first in ["-15000", "1700000000000", "-9223372036854775808", "9223372036854755000"] {
            let column = column(&rows(20_000, &format!("{first} + i, i"), "TRUE"));
            assert!(column.0.len() > 9_000, "{first}: {}", column.0.len());
        }
        let ends = "INSERT INTO t VALUES (-9223372036854775808, 1), (9223372036854775807, 2);";
        let ends = ends.to_owned() + &rows(10_000, "i * 900000000000000, i", "TRUE");
        assert!(column(&ends).0.len() > 7_500);
    }
}
