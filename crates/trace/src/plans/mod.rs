//! Query plans of the statements of a trace, and the indexes that no statement uses.
//!
//! pragmark's own SQLite makes the plans on an empty copy of the snapshot's schema, with the recorded changes up to the
//! latest execution of each statement. Statistics of `ANALYZE` are copied, so the planner decides as it does on the
//! whole database.
//!
//! Indexes that nothing uses, and searches that no index helps.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use engine::{Connection, EngineError, OpenFlags, Value};
use script::effect::first_word;

use crate::analysis::{Analysis, Example, StatementUse};
use crate::{Trace, TraceError};

/// An index that no statement of the trace uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedIndex {
    /// The database.
    pub database: String,
    /// The index.
    pub index: String,
    /// Its table.
    pub table: String,
}

/// Plans of the statements of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plans {
    /// The plan of each statement that has one, a line for each node, by its normalised text.
    pub plans: BTreeMap<String, Vec<String>>,
    /// Why a statement has no plan, by its normalised text.
    pub unknown: BTreeMap<String, String>,
    /// Indexes of tables that statements name, which no plan uses. Unique indexes and those on columns of foreign keys
    /// are left out, because constraints need them; partial ones and those on columns of statements with `LIKE` or `GLOB`,
    /// because their use depends on values; databases with triggers or with a statement without a plan, too.
    pub unused: Vec<UnusedIndex>,
    /// Scanning statements that search texts for a pattern with a wildcard at its beginning, by their
    /// normalised text.
    pub patterns: Vec<String>,
    /// Databases whose tables have no foreign keys.
    pub without_foreign_keys: BTreeSet<String>,
}

impl Plans {
    /// Plans the statements of a trace.
    ///
    /// # Errors
    /// When the trace cannot be read. A snapshot that cannot be used becomes a reason in `unknown`.
    pub fn of(trace: &Trace, analysis: &Analysis) -> Result<Plans, TraceError> {
        let mut plans = Plans { patterns: of(trace, analysis)?, ..Plans::default() };
        let databases = trace.databases()?;
        for (database, steps) in steps(analysis, &databases) {
            plans.add_database(trace, &database, &steps)?;
        }
        Ok(plans)
    }

    fn add_database(
        &mut self,
        trace: &Trace,
        database: &str,
        steps: &[Step<'_>],
    ) -> Result<(), TraceError> {
        let copy = match SchemaCopy::of(trace, database) {
            Ok(copy) => copy,
            Err(why) => {
                let uses = steps.iter().filter_map(|(_, usage)| *usage);
                self.unknown.extend(uses.map(|statement| (statement.sql.clone(), why.clone())));
                return Ok(());
            }
        };
        let mut used = Vec::new();
        let mut is_whole = true;
        for (example, usage) in steps {
            let sql = trace.statement(example.statement)?;
            match usage {
                // A change that fails shows in the statements that need it.
                None => drop(copy.execute(&sql)),
                Some(usage) => is_whole &= self.add_statement(&copy, usage, &sql, &mut used),
            }
        }
        if copy.has_foreign_keys().is_ok_and(|has| !has) {
            self.without_foreign_keys.insert(database.to_owned());
        }
        if is_whole {
            let texts = steps.iter().filter_map(|(_, usage)| Some(usage.as_ref()?.sql.as_str()));
            let unused = unused(&copy, database, &used, &Words::of(texts));
            self.unused.extend(unused);
        }
        Ok(())
    }

    /// Returns whether the statement can be planned.
    fn add_statement(
        &mut self,
        copy: &SchemaCopy,
        usage: &StatementUse,
        sql: &str,
        used: &mut Vec<String>,
    ) -> bool {
        let plan = match copy.plan(sql) {
            Ok(plan) => plan,
            Err(why) => {
                self.unknown.insert(usage.sql.clone(), why);
                return false;
            }
        };
        used.extend(plan.iter().cloned());
        if !plan.is_empty() {
            self.plans.insert(usage.sql.clone(), plan);
        }
        true
    }
}

/// A change of the schema, or with its use the latest execution of a statement.
type Step<'a> = (Example, Option<&'a StatementUse>);

/// Returns whether SQLite makes plans for statements with this normalised text. Of some PRAGMAs it explains nothing but
/// an error.
pub fn is_planned(sql: &str) -> bool {
    let planned = ["select", "with", "values", "insert", "replace", "update", "delete"];
    planned.contains(&first_word(sql).as_str())
}

/// For each database, what is to be done on the copy of its schema, in order.
fn steps<'a>(
    analysis: &'a Analysis,
    databases: &HashMap<i64, String>,
) -> BTreeMap<String, Vec<Step<'a>>> {
    let changes = analysis.schema_changes.iter().map(|change| (*change, None));
    let uses = analysis.statements.iter().filter(|statement| is_planned(&statement.sql));
    let mut all: Vec<Step<'a>> =
        changes.chain(uses.map(|statement| (statement.latest, Some(statement)))).collect();
    all.sort_by_key(|(example, _)| example.moment());
    let mut of_databases: BTreeMap<String, Vec<Step<'a>>> = BTreeMap::new();
    for step in all {
        let database = databases.get(&step.0.connection).cloned();
        of_databases.entry(database.unwrap_or_default()).or_default().push(step);
    }
    of_databases
}

/// The most instructions of SQLite's virtual machine for one statement: a schema from elsewhere may contain
/// `CREATE TABLE … AS` with a query that does not end.
pub(crate) const STEPS: u32 = 50_000_000;

/// A schema without rows, which statements can be planned with and schema changes applied to.
struct SchemaCopy {
    connection: Connection,
}

impl SchemaCopy {
    /// Returns the schema of a database as it was when recording began.
    ///
    /// # Errors
    /// Why it is missing.
    fn of(trace: &Trace, database: &str) -> Result<SchemaCopy, String> {
        let words = |error: EngineError| error.to_string();
        let connection = Connection::in_memory(trace.library()).map_err(words)?;
        connection.limit_steps(STEPS).map_err(words)?;
        let copy = SchemaCopy { connection };
        let contents = trace.contents(database).map_err(|error| error.to_string())?;
        if let Some(snapshot) = contents {
            copy.fill(trace, snapshot)?;
        }
        Ok(copy)
    }

    fn fill(&self, trace: &Trace, snapshot: i64) -> Result<(), String> {
        let folder = tempfile::tempdir();
        let folder = folder.map_err(|error| format!("there is no temporary folder: {error}"))?;
        let path = folder.path().join("snapshot");
        trace.restore(snapshot, &path).map_err(|error| error.to_string())?;
        self.fill_from(trace, &path)
            .map_err(|error| format!("the snapshot cannot be read: {error}"))
    }

    fn fill_from(&self, trace: &Trace, path: &Path) -> Result<(), EngineError> {
        let from = Connection::open(trace.library(), path, OpenFlags::default(), None)?;
        let schema = from.query_all(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
             ORDER BY rowid",
        )?;
        for row in &schema {
            if let [Value::Text(sql)] = row.as_slice() {
                // The tables within a virtual table exist already; what cannot be made shows in the statements
                // that need it.
                drop(self.connection.execute(sql));
            }
        }
        self.copy_statistics(&from)
    }

    fn copy_statistics(&self, from: &Connection) -> Result<(), EngineError> {
        let exists = "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'";
        if from.query_i64(exists)? == 0 {
            return Ok(());
        }
        self.connection.execute("ANALYZE")?;
        let mut insert = self.connection.prepare("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)")?;
        for row in from.query_all("SELECT tbl, idx, stat FROM sqlite_stat1")? {
            for (index, value) in (1..).zip(&row) {
                insert.bind_value(index, value)?;
            }
            insert.run()?;
        }
        drop(insert);
        self.connection.execute("ANALYZE sqlite_schema")
    }

    fn has_foreign_keys(&self) -> Result<bool, EngineError> {
        let keys = "SELECT count(*) FROM sqlite_schema AS it, pragma_foreign_key_list(it.name)";
        Ok(self.connection.query_i64(keys)? > 0)
    }

    /// Changes the schema.
    fn execute(&self, sql: &str) -> Result<(), EngineError> {
        self.connection.execute(sql)
    }

    /// Returns the plan of a statement.
    ///
    /// # Errors
    /// Why SQLite cannot prepare it.
    fn plan(&self, sql: &str) -> Result<Vec<String>, String> {
        let plan = self.connection.query_plan(sql.trim_end_matches([';', ' ', '\n']));
        plan.map_err(|error| error.message())
    }

    /// Returns the rows of a query, all of texts.
    fn texts(&self, sql: &str) -> Vec<Vec<String>> {
        let rows = self.connection.query_all(sql).unwrap_or_default();
        let text = |value: &Value| match value {
            Value::Text(text) => text.clone(),
            _ => String::new(),
        };
        rows.iter().map(|row| row.iter().map(text).collect()).collect()
    }
}

/// The words of statements, in small letters.
pub struct Words {
    all: BTreeSet<String>,
    /// Columns that statements compare with a pattern.
    of_patterns: BTreeSet<String>,
}

impl Words {
    /// Returns the words of these texts.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Words {
        let mut words = Words { all: BTreeSet::new(), of_patterns: BTreeSet::new() };
        for text in texts {
            let lower = text.to_lowercase();
            let own = lower.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let own: Vec<String> = own.map(str::to_owned).collect();
            if own.iter().any(|word| word == "like" || word == "glob") {
                words.of_patterns.extend(own.iter().cloned());
            }
            words.all.extend(own);
        }
        words
    }

    /// Returns whether the plans of the texts say whether an index is used: statements name its table, and none of them
    /// compares its column with a pattern, whose value decides.
    fn decide(&self, table: &str, column: &str) -> bool {
        let has = |words: &BTreeSet<String>, name: &str| {
            let lower = name.to_lowercase();
            let mut parts = lower.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            parts.all(|part| words.contains(part))
        };
        has(&self.all, table) && !has(&self.of_patterns, column)
    }
}

/// Returns the indexes that no plan uses and no constraint needs, as far as plans can tell. It returns none if triggers
/// run statements without plans.
fn unused(copy: &SchemaCopy, database: &str, plans: &[String], words: &Words) -> Vec<UnusedIndex> {
    if !copy.texts("SELECT name FROM sqlite_schema WHERE type = 'trigger'").is_empty() {
        return Vec::new();
    }
    let used: BTreeSet<&str> = plans.iter().filter_map(|line| index_of(line)).collect();
    let rows = copy.texts(
        "SELECT name, tbl_name, (SELECT coalesce(name, '') FROM pragma_index_info(it.name) WHERE seqno = 0)
         FROM sqlite_schema AS it WHERE type = 'index' AND sql IS NOT NULL
         AND (SELECT \"unique\" = 0 AND partial = 0 FROM pragma_index_list(it.tbl_name) AS list
           WHERE list.name = it.name)
         AND NOT EXISTS (SELECT 1 FROM pragma_foreign_key_list(it.tbl_name) AS k
           JOIN pragma_index_info(it.name) AS i ON i.seqno = 0 AND i.name = k.\"from\" COLLATE NOCASE)
         ORDER BY rowid",
    );
    let indexes = rows.into_iter().filter_map(|row| <[String; 3]>::try_from(row).ok());
    indexes
        .filter(|[index, table, column]| {
            !used.contains(index.as_str()) && words.decide(table, column)
        })
        .map(|[index, table, _]| UnusedIndex { database: database.to_owned(), index, table })
        .collect()
}

/// Returns the index that a node of a plan uses.
fn index_of(line: &str) -> Option<&str> {
    let (_, rest) =
        line.split_once(" USING INDEX ").or_else(|| line.split_once(" USING COVERING INDEX "))?;
    Some(rest.rsplit_once(" (").map_or(rest, |(name, _)| name))
}

/// The fewest steps in full scans from which on a search is named.
const SCANS: u64 = 10_000;

/// Scanning statements with such a pattern, by the values of their latest execution.
pub fn of(trace: &Trace, analysis: &Analysis) -> Result<Vec<String>, TraceError> {
    let mut all = Vec::new();
    for usage in analysis.statements.iter().filter(|statement| may_search(statement)) {
        let text = trace.statement(usage.latest.statement)?;
        let values = trace.values(usage.latest.event)?;
        if has_pattern(&text, &values) {
            all.push(usage.sql.clone());
        }
    }
    Ok(all)
}

fn may_search(usage: &StatementUse) -> bool {
    let text = usage.sql.to_ascii_uppercase();
    usage.scan_steps >= SCANS && (text.contains(" LIKE ") || text.contains(" GLOB "))
}

/// Returns whether the text or a bound value has a wildcard at the beginning.
fn has_pattern(sql: &str, values: &str) -> bool {
    let text = sql.to_ascii_uppercase();
    let written = ["LIKE", "GLOB"].iter().any(|word| {
        let rests = text.split(word).skip(1);
        rests
            .map(|rest| rest.trim_start_matches([' ', '\n', '\t', '(']))
            .any(|rest| rest.starts_with("'%") || rest.starts_with("'*"))
    });
    let values = serde_json::from_str::<Vec<serde_json::Value>>(values).unwrap_or_default();
    let bound =
        values.iter().filter_map(|value| value.as_str()).any(|value| value.starts_with(['%', '*']));
    written || bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_decide_about_tables_in_statements_without_patterns() {
        let words =
            Words::of(["SELECT a FROM \"my table\" WHERE b LIKE ?", "DELETE FROM t"].into_iter());
        for (table, column, decide) in [
            ("T", "x", true),
            ("my table", "c", true),
            ("t", "B", false),
            ("other", "x", false),
            ("my other", "x", false),
        ] {
            assert_eq!(words.decide(table, column), decide, "{table} {column}");
        }
    }

    #[test]
    fn a_node_names_its_index() {
        for (line, index) in [
            ("SEARCH t USING INDEX by_a (a=? AND b>?)", Some("by_a")),
            ("  SCAN t USING COVERING INDEX by (b)", Some("by")),
            ("SCAN t USING COVERING INDEX by_b", Some("by_b")),
            ("SEARCH t USING INTEGER PRIMARY KEY (rowid=?)", None),
            ("SCAN t", None),
        ] {
            assert_eq!(index_of(line), index, "{line}");
        }
    }

    #[test]
    fn a_wildcard_at_the_beginning_is_seen_in_texts_and_values() {
        for (sql, values, has) in [
            ("SELECT * FROM t WHERE a LIKE '%x'", "", true),
            ("SELECT * FROM t WHERE a LIKE '%' || ? || '%'", "[\"x\"]", true),
            ("SELECT * FROM t WHERE a LIKE ? ESCAPE '\\'", "[\"%x%\"]", true),
            ("SELECT * FROM t WHERE a LIKE ?", "[\"x%\"]", false),
            ("SELECT * FROM t WHERE a LIKE 'x%'", "", false),
        ] {
            assert_eq!(has_pattern(sql, values), has, "{sql} {values}");
        }
    }
}
