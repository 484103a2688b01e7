//! Query plans of the statements of a trace, with the indexes that SQLite would use and the indexes that no statement
//! uses.
//!
//! pragmark's own SQLite makes the plans on an empty copy of the snapshot's schema, with the recorded changes up to the
//! latest execution of each statement. Statistics of `ANALYZE` are copied, so the planner decides as it does on the
//! whole database.

mod copy;
mod indexes;
mod pattern;
mod sorting;

use std::collections::{BTreeMap, HashMap};

use crate::analysis::{Analysis, Example, StatementUse};
use crate::{Trace, TraceError};
use copy::SchemaCopy;
use indexes::Words;

/// An index that SQLite would use if it existed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingIndex {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
}

/// An index with which SQLite would not sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortingIndex {
    /// The table.
    pub table: String,
    /// The columns, quoted, with their directions.
    pub columns: Vec<String>,
}

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
    /// For statements that scan much, the index that SQLite would use instead, by their normalised text.
    pub missing: BTreeMap<String, MissingIndex>,
    /// For statements that sort for their ORDER BY, the index with which SQLite would not, by their normalised text.
    pub sorting: BTreeMap<String, SortingIndex>,
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
        let mut plans = Plans { patterns: pattern::of(trace, analysis)?, ..Plans::default() };
        let databases: HashMap<i64, String> = trace
            .connections()?
            .into_iter()
            .map(|connection| (connection.id, connection.database))
            .collect();
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
                let uses = steps.iter().filter_map(|(_, it)| *it);
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
            let texts = steps.iter().filter_map(|(_, it)| Some(it.as_ref()?.sql.as_str()));
            let unused = indexes::unused(&copy, database, &used, &Words::of(texts));
            self.unused.extend(unused);
        }
        Ok(())
    }

    /// Whether the statement can be planned.
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
        if let Some(missing) = indexes::missing(copy, usage, sql, &plan) {
            self.missing.insert(usage.sql.clone(), missing);
        }
        if let Some(index) = sorting::of(copy, usage, sql, &plan) {
            self.sorting.insert(usage.sql.clone(), index);
        }
        if !plan.is_empty() {
            self.plans.insert(usage.sql.clone(), plan);
        }
        true
    }
}

/// A change of the schema, or with its use the latest execution of a statement.
type Step<'a> = (Example, Option<&'a StatementUse>);

/// Whether SQLite makes plans for statements with this normalised text. Of some PRAGMAs it explains nothing but an error.
fn is_planned(sql: &str) -> bool {
    let word = sql.split(|c: char| !c.is_ascii_alphabetic()).next();
    let word = word.unwrap_or_default().to_ascii_uppercase();
    let planned = ["SELECT", "WITH", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"];
    planned.contains(&word.as_str())
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
