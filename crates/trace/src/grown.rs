//! A recorded database with what was written while recording, to try statements on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::time::Instant;

use engine::{Connection, EngineError, OpenFlags, Statement};
use script::effect::{first_word, literal};

use crate::replay::{Call, Values};
use crate::{Result, Trace, TraceError, is_in_memory};

/// Statements that change rows or the schema, by their first words. Others, such as `ATTACH` and `VACUUM INTO`, may change
/// other files.
const WRITES: [&str; 10] = [
    "insert", "replace", "update", "delete", "with", "create", "alter", "drop", "analyze",
    "reindex",
];

/// Prepared statements that are kept: a program may write a new text for each row.
const PREPARED: usize = 1000;

/// The most instructions of SQLite's virtual machine for one statement of a program that is not trusted.
const STEPS: u32 = 50_000_000;

/// The fate of the recorded writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grown {
    /// Writes that were repeated.
    pub repeated: u64,
    /// Writes that could not be: their values are not in the trace, or they need the application.
    pub left_out: u64,
    /// Whether the time ended before the last write.
    pub is_partial: bool,
}

impl Trace {
    /// Writes a database as it was when recording began to a new file, and repeats in it what was committed, in the order of the
    /// commits, until the deadline.
    ///
    /// # Errors
    /// The trace lacks the database's contents, or the file exists or cannot be written.
    pub fn grow(&self, database: &str, path: &Path, deadline: Instant) -> Result<Grown> {
        let snapshots = self.snapshots()?;
        let snapshot = snapshots.iter().find(|snapshot| snapshot.database == database);
        match snapshot.map(|snapshot| (snapshot.id, snapshot.state.as_str())) {
            Some((id, "taken")) => self.restore(id, path)?,
            Some((_, "empty")) => {}
            None if is_in_memory(database) => {}
            _ => return Err(TraceError::NoSnapshot(database.to_owned())),
        }
        let failed = |source| TraceError::Database { path: path.to_owned(), source };
        let copy = Connection::open(self.library(), path, OpenFlags::default(), None);
        let copy = copy.and_then(|copy| {
            copy.limit_steps(STEPS)?;
            copy.execute("BEGIN")?;
            Ok(copy)
        });
        let copy = copy.map_err(failed)?;
        let mut writer = Writer {
            trace: self,
            copy: &copy,
            texts: HashMap::new(),
            prepared: HashMap::new(),
            open: HashMap::new(),
            grown: Grown::default(),
        };
        self.for_each_call_of(&changes_of(database), |call| {
            writer.grown.is_partial |= Instant::now() > deadline;
            if writer.grown.is_partial { Ok(()) } else { writer.take(call) }
        })?;
        let grown = writer.grown;
        drop(writer);
        copy.execute("COMMIT").and_then(|()| copy.close()).map_err(failed)?;
        Ok(grown)
    }
}

/// Repeats writes once they are committed.
struct Writer<'c> {
    trace: &'c Trace,
    copy: &'c Connection,
    texts: HashMap<i64, String>,
    prepared: HashMap<i64, Statement<'c, 'c>>,
    /// The writes of each connection's open transaction.
    open: HashMap<i64, Vec<Call>>,
    grown: Grown,
}

impl Writer<'_> {
    fn take(&mut self, call: Call) -> Result<()> {
        if call.result.is_some_and(|code| code != 0) {
            return Ok(());
        }
        let text = match self.texts.entry(call.statement) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.trace.statement(call.statement)?),
        };
        let word = first_word(text);
        let (connection, is_committed) = (call.connection, call.autocommit);
        let open = self.open.entry(connection).or_default();
        if word == "rollback" && is_committed {
            open.clear();
        } else if WRITES.contains(&word.as_str()) {
            open.push(call);
        }
        if is_committed {
            std::mem::take(open).into_iter().for_each(|call| self.repeat(&call));
        }
        Ok(())
    }

    fn repeat(&mut self, call: &Call) {
        match self.execute(call) {
            Ok(true) => self.grown.repeated += 1,
            Ok(false) | Err(_) => self.grown.left_out += 1,
        }
    }

    /// Returns whether the values are known.
    fn execute(&mut self, call: &Call) -> std::result::Result<bool, EngineError> {
        let values = match &call.values {
            Values::Bound(values) => values,
            Values::Expanded(text) => return self.copy.execute(text).map(|()| true),
            Values::Missing(_) => return Ok(false),
        };
        if self.prepared.len() > PREPARED {
            self.prepared.clear();
        }
        let statement = match self.prepared.entry(call.statement) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let text = self.texts.get(&call.statement).map_or("", String::as_str);
                entry.insert(self.copy.prepare(text)?)
            }
        };
        for (index, value) in (1..).zip(values) {
            statement.bind_value(index, value.value())?;
        }
        statement.run().map(|()| true)
    }
}

/// Returns the condition of the events that change a database, or end a transaction, with those of nothing else.
fn changes_of(database: &str) -> String {
    format!(
        "connection IN (SELECT id FROM connection WHERE database = {})
         AND statement IN (SELECT id FROM statement WHERE readonly = 0
           OR sql LIKE 'commit%' OR sql LIKE 'end%' OR sql LIKE 'rollback%' OR sql LIKE 'release%')",
        literal(database)
    )
}
