//! New traces from others: a part of one, several in one, or one without texts.
//!
//! The new trace gets its name when it is whole; the others are only read.
//!
//! A trace that is being written from others, which are attached to it.

mod cut;
mod merge;
mod redact;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Connection, EngineError, Library, Value};

use crate::schema::run;
use crate::seal::{Unfinished, open_new};
use crate::{Result, Trace, TraceError};

pub use cut::{Part, cut};
pub use merge::merge;
pub use redact::redact;

/// How many events are in memory at a time.
const BATCH: i64 = 10_000;

/// A trace without a name yet.
pub struct Draft {
    connection: Connection,
    unfinished: Unfinished,
    out: PathBuf,
}

impl Draft {
    /// Creates an empty trace, which becomes `out` when it is complete.
    pub fn new(library: &Arc<Library>, out: &Path) -> Result<Draft> {
        if out.exists() {
            return Err(TraceError::Exists(out.to_owned()));
        }
        let unfinished = Unfinished::of(out);
        Ok(Draft {
            connection: open_new(library, unfinished.path())?,
            unfinished,
            out: out.to_owned(),
        })
    }

    /// Attaches a trace as `source`, in place of the one before; returns its reader.
    pub fn attach(&self, path: &Path) -> Result<Trace> {
        let trace = Trace::open(self.connection.library(), path)?;
        let name = path.to_str().ok_or_else(|| TraceError::Name(path.to_owned()))?;
        self.run("ATTACH ? AS source", &[Value::Text(name.to_owned())])?;
        Ok(trace)
    }

    /// Detaches `source`, which a transaction does not allow: what was written until now is kept.
    pub fn detach(&self) -> Result<()> {
        self.execute("COMMIT; DETACH source; BEGIN")
    }

    fn named<T>(&self, result: Result<T, EngineError>) -> Result<T> {
        result.map_err(|source| TraceError::Database { path: self.out.clone(), source })
    }

    /// Executes statements without values.
    pub fn execute(&self, sql: &str) -> Result<()> {
        self.named(self.connection.execute(sql))
    }

    /// Executes one statement.
    pub fn run(&self, sql: &str, values: &[Value]) -> Result<()> {
        let prepared = self.connection.prepare(sql);
        self.named(prepared.and_then(|mut statement| run(&mut statement, values)))
    }

    /// Returns the integer that a query returns.
    pub fn number(&self, sql: &str) -> Result<i64> {
        self.named(self.connection.query_i64(sql))
    }

    /// Returns the rows of a query.
    pub fn rows(&self, sql: &str) -> Result<Vec<Vec<Value>>> {
        self.named(self.connection.query_all(sql))
    }

    /// Writes the values of events of `source` anew, those for which the condition holds; their numbers grow by
    /// `offset`.
    pub fn rewrite_values(
        &self,
        condition: &str,
        offset: i64,
        mut rewrite: impl FnMut(&str) -> String,
    ) -> Result<()> {
        self.for_each_values(condition, |id, values| {
            let values = [Value::Text(rewrite(values)), Value::Integer(id + offset)];
            self.run(
                "UPDATE main.execution SET \"values\" = substr(?1, 2, length(?1) - 2) WHERE id = ?2",
                &values,
            )
        })
    }

    /// Visits the values of events of `source` for which the condition holds.
    pub fn for_each_values(
        &self,
        condition: &str,
        mut visit: impl FnMut(i64, &str) -> Result<()>,
    ) -> Result<()> {
        let mut after = 0;
        loop {
            let batch = self.rows(&format!(
                "SELECT id, \"values\" FROM source.event WHERE id > {after} AND {condition} ORDER BY id LIMIT {BATCH}"
            ))?;
            for row in &batch {
                let [Value::Integer(id), Value::Text(values)] = row.as_slice() else { continue };
                visit(*id, values)?;
                after = *id;
            }
            if batch.len() < BATCH as usize {
                return Ok(());
            }
        }
    }

    /// States the facts that follow from the events, and gives the trace its name; returns its events.
    pub fn finish(self) -> Result<u64> {
        self.execute(
            "INSERT OR REPLACE INTO meta SELECT 'events', count(*) FROM execution;
             INSERT OR REPLACE INTO meta SELECT 'duration_us',
               coalesce(max(start_us + coalesce(duration_ns, 0) / 1000), 0) FROM execution;
             INSERT OR REPLACE INTO meta SELECT 'tickets', coalesce(max(ticket), 0) FROM execution;
             COMMIT",
        )?;
        let events = self.number("SELECT value FROM meta WHERE name = 'events'")?;
        let closed = self.connection.close();
        closed.map_err(|source| TraceError::Database { path: self.out.clone(), source })?;
        self.unfinished.name(&self.out)?;
        Ok(events.unsigned_abs())
    }
}
