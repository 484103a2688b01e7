//! The schema of a database without its rows, in memory.

use std::path::Path;

use engine::{Connection, EngineError, OpenFlags, Value};

use crate::{Trace, is_in_memory};

/// The most instructions of SQLite's virtual machine for one statement: a schema from elsewhere may contain
/// `CREATE TABLE … AS` with a query that does not end.
const STEPS: u32 = 50_000_000;

/// A schema without rows, which statements can be planned with and schema changes applied to.
pub struct SchemaCopy {
    connection: Connection,
}

impl SchemaCopy {
    /// The schema of a database as it was when recording began.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn of(trace: &Trace, database: &str) -> Result<SchemaCopy, String> {
        let words = |error: EngineError| error.to_string();
        let memory = Path::new(":memory:");
        let connection = Connection::open(trace.library(), memory, OpenFlags::default(), None);
        let connection = connection.map_err(words)?;
        connection.limit_steps(STEPS).map_err(words)?;
        let copy = SchemaCopy { connection };
        let snapshots = trace.snapshots().map_err(|error| error.to_string())?;
        let snapshot = snapshots.iter().find(|snapshot| snapshot.database == database);
        match snapshot.map(|snapshot| (snapshot.id, snapshot.state.as_str())) {
            Some((id, "taken")) => copy.fill(trace, id)?,
            // A new database, or one in memory.
            Some((_, "empty")) => {}
            None if is_in_memory(database) => {}
            _ => return Err("there is no snapshot of the database".to_owned()),
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
    pub fn execute(&self, sql: &str) -> Result<(), EngineError> {
        self.connection.execute(sql)
    }

    /// The plan of a statement.
    ///
    /// # Errors
    /// Why SQLite cannot prepare it, in words.
    pub fn plan(&self, sql: &str) -> Result<Vec<String>, String> {
        let plan = self.connection.query_plan(sql.trim_end_matches([';', ' ', '\n']));
        plan.map_err(|error| reason(&error))
    }

    /// The rows of a query, all of texts.
    pub fn texts(&self, sql: &str) -> Vec<Vec<String>> {
        let rows = self.connection.query_all(sql).unwrap_or_default();
        let text = |value: &Value| match value {
            Value::Text(text) => text.clone(),
            _ => String::new(),
        };
        rows.iter().map(|row| row.iter().map(text).collect()).collect()
    }

    /// The plan of a statement with a change of the schema, which is undone.
    pub fn plan_with(&self, change: &str, sql: &str) -> Option<Vec<String>> {
        self.execute("SAVEPOINT pragmark").ok()?;
        let plan = self.execute(change).ok().and_then(|()| self.plan(sql).ok());
        self.execute("ROLLBACK TO pragmark; RELEASE pragmark").ok()?;
        plan
    }
}

/// SQLite's own words, without the statement.
fn reason(error: &EngineError) -> String {
    match error {
        EngineError::Sqlite(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}
