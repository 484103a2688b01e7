//! Query plans of the statements of a trace, and the indexes that no statement uses.
//!
//! pragmark's own SQLite makes the plans on an empty copy of the snapshot's schema, with the recorded changes up to the
//! latest execution of each statement. Statistics of `ANALYZE` are copied, so the planner decides as it does on the
//! whole database.

mod indexes;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use engine::{Connection, EngineError, OpenFlags, Value};
use script::effect::first_word;

use self::indexes::Words;
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
}

impl Plans {
    /// Plans the statements of a trace.
    ///
    /// # Errors
    /// When the trace cannot be read. A snapshot that cannot be used becomes a reason in `unknown`.
    pub fn of(trace: &Trace, analysis: &Analysis) -> Result<Plans, TraceError> {
        let mut plans = Plans { patterns: indexes::of(trace, analysis)?, ..Plans::default() };
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
        if is_whole {
            let texts = steps.iter().filter_map(|(_, usage)| Some(usage.as_ref()?.sql.as_str()));
            let unused = indexes::unused(&copy, database, &used, &Words::of(texts));
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
        let memory = Path::new(":memory:");
        let connection = Connection::open(trace.library(), memory, OpenFlags::default(), None);
        let connection = connection.map_err(words)?;
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
        plan.map_err(|error| reason(&error))
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

/// SQLite's own words, without the statement.
fn reason(error: &EngineError) -> String {
    match error {
        EngineError::Sqlite(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}
