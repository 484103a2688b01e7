//! Indexes of a copy that the planner is shown and not shown again without being made anew: a row of `sqlite_schema` decides. One that does
//! not exist yet can be shown, too, with statistics from a sample of its table, to learn in milliseconds whether SQLite would use it.

use std::collections::{BTreeMap, BTreeSet};

use engine::schema::{Part, PartOf, Schema};
use engine::{Connection, EngineError, Value};
use script::effect::{literal, quoted};

use crate::candidates::Candidate;
use crate::schema::{ends, sql_of};

/// Indexes by their places on the shelf.
pub(crate) type Set = BTreeSet<usize>;

/// Has the cache hold most pages that are read while indexes are tried.
pub(crate) const CACHE: &str = "PRAGMA cache_size = -262144";

/// Has SQLite sort runs that fit into the processor's cache, which takes less than half the time: 2.0 instead of 4.8 s for 4 million rows.
const SORTING: &str = "PRAGMA cache_size = -2000";

/// The beginning of the names of candidates.
pub(crate) const PREFIX: &str = "pragmark_candidate_";

/// Rows of a table from which the statistics of an index are estimated.
const SAMPLE: i64 = 10_000;

/// The least number of pages of a database in which indexes are planned with before they are made: each takes the number of a page, and
/// those of a smaller one are made as fast.
const LEAST_PAGES: i64 = 2000;

/// Indexes of a database, those that exist and those that might.
pub(crate) struct Shelf<'s> {
    connection: &'s Connection,
    schema: &'s Schema,
    indexes: Vec<Shelved>,
    /// Those in the schema now.
    shown: Set,
    /// For each table the sample as FROM has it, and the number of rows of the table.
    samples: BTreeMap<String, Option<(String, f64)>>,
    is_small: bool,
}

struct Shelved {
    name: String,
    table: String,
    sql: String,
    candidate: Option<Candidate>,
    /// The root of its tree, if it was made.
    root: Option<i64>,
    /// About the bytes of its entries, and of the terms that only spare look-ups; 0 for one that existed.
    bytes: (f64, f64),
}

impl<'s> Shelf<'s> {
    /// Takes the existing indexes, except those of constraints.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn new(
        connection: &'s Connection,
        schema: &'s Schema,
    ) -> Result<Shelf<'s>, EngineError> {
        let rows = connection.query_all(
            "SELECT name, tbl_name, sql, rootpage FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL",
        )?;
        let existing = rows.iter().map(|row| Shelved {
            name: row[0].to_string(),
            table: row[1].to_string(),
            sql: row[2].to_string(),
            candidate: None,
            root: integer(&row[3]),
            bytes: (0.0, 0.0),
        });
        let indexes: Vec<Shelved> = existing.collect();
        let shown = (0..indexes.len()).collect();
        let is_small = connection.query_i64("PRAGMA page_count")? < LEAST_PAGES;
        Ok(Shelf { connection, schema, indexes, shown, samples: BTreeMap::new(), is_small })
    }

    /// Returns the indexes in the schema now.
    pub(crate) fn visible(&self) -> Set {
        self.shown.clone()
    }

    /// Returns the place of an index by its name in the schema.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|index| index.name == name)
    }

    /// Returns the candidate at a place; none for an index that existed.
    pub(crate) fn candidate(&self, place: usize) -> Option<&Candidate> {
        self.indexes[place].candidate.as_ref()
    }

    /// Returns about how many bytes an index takes, and how many its terms take that only spare look-ups.
    pub(crate) fn expected(&self, place: usize) -> (f64, f64) {
        self.indexes[place].bytes
    }

    /// Returns the bytes that an index takes.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn bytes(&self, place: usize) -> Result<i64, EngineError> {
        let name = literal(&self.indexes[place].name);
        let sql = format!("SELECT ifnull(sum(pgsize), 0) FROM dbstat WHERE name = {name}");
        self.connection.query_i64(&sql)
    }

    /// Puts a candidate on the shelf, if it is not there, with statistics. Returns its place, or nothing if SQLite refuses such an index,
    /// as it does with one on a function that may differ each time, or that fails for a row.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn add(&mut self, candidate: &Candidate) -> Result<Option<usize>, EngineError> {
        let same = |index: &Shelved| {
            index.candidate.as_ref().is_some_and(|other| other.is_same(candidate))
        };
        if let Some(place) = self.indexes.iter().position(same) {
            return Ok(Some(place));
        }
        let place = self.indexes.len();
        let name = format!("{PREFIX}{place}");
        let sql = candidate.create(self.schema, &name);
        let prepared = self.connection.prepare(&sql).map(drop);
        if let Err(error) = prepared.and_then(|()| self.evaluate(candidate)) {
            return if error.is_not_understood() { Ok(None) } else { Err(error) };
        }
        let table = candidate.table.clone();
        self.indexes.push(Shelved {
            name,
            table,
            sql,
            candidate: Some(candidate.clone()),
            root: None,
            bytes: (0.0, 0.0),
        });
        if self.is_small || !self.estimate(place)? {
            self.make(place)?;
        }
        self.indexes[place].bytes = self.expected_bytes(place, candidate);
        Ok(Some(place))
    }

    /// Returns about how many bytes the entries of an index on the shelf have, by the first rows of its table, and those of its terms that
    /// only spare look-ups; 0 where a collation of the table is missing.
    fn expected_bytes(&self, place: usize, candidate: &Candidate) -> (f64, f64) {
        const ROWID: f64 = 8.0;
        let Some(table) = self.schema.table(&candidate.table) else { return (0.0, 0.0) };
        let count = |sql: &str| self.connection.query_i64(sql).unwrap_or(0) as f64;
        let name = literal(&self.indexes[place].name);
        let rows = count(&format!(
            "SELECT sum(CAST(stat AS INTEGER)) FROM sqlite_stat1 WHERE idx = {name}"
        ));
        let width = |parts: &[Part]| {
            let length = |part: &Part| {
                let term = sql_of(table, &Part { is_descending: false, ..part.clone() });
                format!("+ ifnull(length(CAST({term} AS BLOB)), 0)")
            };
            let sum: String = parts.iter().map(length).collect();
            let first = format!("(SELECT * FROM {} LIMIT 1000)", quoted(&candidate.table));
            count(&format!("SELECT sum(0 {sum}) / count(*) FROM {first}"))
        };
        let covered = &candidate.parts[candidate.parts.len() - candidate.covering..];
        (rows * (ROWID + width(&candidate.parts)), rows * width(covered))
    }

    /// Evaluates the expressions of a candidate for all rows.
    fn evaluate(&self, candidate: &Candidate) -> Result<(), EngineError> {
        for part in &candidate.parts {
            if let PartOf::Expression(text) = &part.of {
                let table = quoted(&candidate.table);
                let rows = candidate.condition.as_deref().unwrap_or("true");
                let sql = format!("SELECT count({text}) FROM {table} WHERE {rows}");
                self.connection.query_i64(&sql)?;
            }
        }
        Ok(())
    }

    /// Makes the missing ones among these indexes. Returns whether there were any.
    ///
    /// # Errors
    /// SQLite's, such as a full disk.
    pub(crate) fn make_all(&mut self, group: &Set) -> Result<bool, EngineError> {
        let is_made = |place: &&usize| self.indexes[**place].root.is_some();
        let missing: Vec<usize> = group.iter().filter(|place| !is_made(place)).copied().collect();
        missing.iter().try_for_each(|place| self.make(*place))?;
        Ok(!missing.is_empty())
    }

    fn make(&mut self, place: usize) -> Result<(), EngineError> {
        let mut shown = self.visible();
        shown.remove(&place);
        self.show(&shown)?;
        let Shelved { name, sql, .. } = &self.indexes[place];
        let sql = format!("{SORTING}; {sql}; {CACHE}; ANALYZE {}", quoted(name));
        self.connection.execute(&sql)?;
        let root = format!("SELECT rootpage FROM sqlite_schema WHERE name = {}", literal(name));
        self.indexes[place].root = Some(self.connection.query_i64(&root)?);
        self.shown.insert(place);
        Ok(())
    }

    /// Makes exactly these indexes visible to the planner. No statement may be executed while one is that was not made.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn show(&mut self, set: &Set) -> Result<(), EngineError> {
        if *set == self.shown {
            return Ok(());
        }
        self.connection.execute("PRAGMA writable_schema = ON")?;
        let roots = self.connection.query_all("SELECT rootpage FROM sqlite_schema")?;
        let made = self.indexes.iter().filter_map(|index| index.root);
        let taken: BTreeSet<i64> =
            roots.iter().filter_map(|row| integer(&row[0])).chain(made).collect();
        let mut free = (2..).filter(|page| !taken.contains(page));
        for place in self.shown.difference(set) {
            let name = literal(&self.indexes[*place].name);
            self.connection.execute(&format!("DELETE FROM sqlite_schema WHERE name = {name}"))?;
            self.count_for(*place, "")?;
        }
        for place in set.difference(&self.shown) {
            let Shelved { name, table, sql, root, .. } = &self.indexes[*place];
            // Two indexes of a table must not have the same page.
            let root = root.unwrap_or_else(|| free.next().unwrap_or_default());
            let [name, table, sql] = [name, table, sql].map(|text| literal(text));
            let insert = format!(
                "INSERT INTO sqlite_schema VALUES ('index', {name}, {table}, {root}, {sql})"
            );
            self.connection.execute(&insert)?;
            self.count_for(*place, &self.indexes[*place].table)?;
        }
        self.shown.clone_from(set);
        self.connection.execute("PRAGMA writable_schema = RESET")
    }

    /// Assigns the statistics of a partial index to a table. SQLite takes statistics of an index that is not in the schema for statistics of
    /// the table.
    fn count_for(&self, place: usize, table: &str) -> Result<(), EngineError> {
        if self.candidate(place).is_none_or(|candidate| candidate.condition.is_none()) {
            return Ok(());
        }
        let [table, name] = [table, &self.indexes[place].name].map(literal);
        self.connection
            .execute(&format!("UPDATE sqlite_stat1 SET tbl = {table} WHERE idx = {name}"))
    }

    /// Notes how many rows have the same values in the first, the first two, … terms of an index, from a sample of its table. Returns whether
    /// that is possible: one of few rows is made as fast.
    fn estimate(&mut self, place: usize) -> Result<bool, EngineError> {
        let candidate = self.candidate(place).filter(|candidate| candidate.condition.is_none());
        let Some(candidate) = candidate.cloned() else { return Ok(false) };
        if !self.samples.contains_key(&candidate.table) {
            let sample = self.sample(&candidate.table)?;
            self.samples.insert(candidate.table.clone(), sample);
        }
        let sample = self.samples.get(&candidate.table).and_then(Option::as_ref);
        let (Some((source, rows)), Some(table)) = (sample, self.schema.table(&candidate.table))
        else {
            return Ok(false);
        };
        let mut stat = rows.to_string();
        let mut terms: Vec<String> = Vec::new();
        for part in &candidate.parts {
            terms.push(sql_of(table, &Part { is_descending: false, ..part.clone() }));
            let counts = format!(
                "SELECT count(*), sum(n), sum(n = 1), sum(n = 2) FROM (SELECT count(*) AS n FROM {source} GROUP BY {})",
                terms.join(", ")
            );
            let row = self.connection.query_all(&counts)?.remove(0);
            let [different, drawn, once, twice] =
                [0, 1, 2, 3].map(|at| integer(&row[at]).unwrap_or_default() as f64);
            // Chao's estimate of values that were not drawn.
            let unseen = if drawn >= *rows { 0.0 } else { once * once / (2.0 * twice.max(0.5)) };
            stat += &format!(" {}", (rows / (different + unseen).clamp(1.0, *rows)).ceil());
        }
        let [name, table] = [&self.indexes[place].name, &candidate.table].map(|text| literal(text));
        let insert = format!("INSERT INTO sqlite_stat1 VALUES ({table}, {name}, '{stat}')");
        self.connection.execute(&insert)?;
        Ok(true)
    }

    /// Returns the rows of a table that are a sample of it, as FROM has them, and how many rows it has; nothing without statistics.
    fn sample(&self, table: &str) -> Result<Option<(String, f64)>, EngineError> {
        let rows = format!(
            "SELECT CAST(stat AS INTEGER) FROM sqlite_stat1 WHERE tbl = {}",
            literal(table)
        );
        let rows = self.connection.query_all(&rows).unwrap_or_default();
        let Some(rows) = rows.first().and_then(|row| integer(&row[0])).filter(|rows| *rows > 0)
        else {
            return Ok(None);
        };
        let name = quoted(table);
        if rows <= 2 * SAMPLE {
            return Ok(Some((name, rows as f64)));
        }
        let sample = format!("pragmark_sample_{}", self.samples.len());
        // Pseudo-random places among the rowids, the same each time. SQLite refuses that for a table without rowids.
        let [least, most] = ends(&name);
        let draw = format!(
            "CREATE TEMP TABLE {sample}(id INTEGER PRIMARY KEY);
             WITH RECURSIVE draw(i, x) AS (SELECT 1, 1 UNION ALL SELECT i + 1, (x * 1103515245 + 12345) % 2147483648 FROM draw WHERE i < {SAMPLE}),
               ends(least, span) AS MATERIALIZED (SELECT {least}, {most} - {least})
             INSERT OR IGNORE INTO {sample}
               SELECT (SELECT rowid FROM {name} WHERE rowid >= least + CAST(x / 2147483648.0 * span AS INTEGER) LIMIT 1) FROM draw, ends"
        );
        let source = match self.connection.execute(&draw) {
            Ok(()) => format!("{name} WHERE rowid IN {sample}"),
            Err(error) if error.is_not_understood() => {
                format!("(SELECT * FROM {name} LIMIT {SAMPLE})")
            }
            Err(error) => return Err(error),
        };
        Ok(Some((source, rows as f64)))
    }
}

fn integer(value: &Value) -> Option<i64> {
    if let Value::Integer(integer) = value { Some(*integer) } else { None }
}
