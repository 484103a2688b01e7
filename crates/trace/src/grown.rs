//! A recorded database with what was written while recording, to try statements on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::time::Instant;

use engine::{Connection, EngineError, OpenFlags, Statement};
use script::effect::{first_word, literal};

use crate::plans::STEPS;
use crate::replay::{Call, Values};
use crate::{Result, Trace, TraceError};

/// Statements that change rows or the schema, by their first words. Others, such as `ATTACH` and `VACUUM INTO`, may change
/// other files.
const WRITES: [&str; 10] = [
    "insert", "replace", "update", "delete", "with", "create", "alter", "drop", "analyze",
    "reindex",
];

/// Texts and prepared statements that are kept: a program may write a new text for each row.
const KEPT: usize = 1000;

/// The fate of the recorded writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grown {
    /// Writes that were repeated.
    pub repeated: u64,
    /// Writes that could not be: their values are not in the trace, or they need the application.
    pub left_out: u64,
    /// Whether the time ended before the last write.
    pub is_partial: bool,
    /// The event of the last commit that was repeated; 0 without one.
    pub until: i64,
}

impl Trace {
    /// Writes a database as it was when recording began to a new file, and repeats in it what was committed, in the
    /// order of the recording, until the deadline.
    ///
    /// # Errors
    /// The trace lacks the database's contents, or the file exists or cannot be written.
    pub fn grow(&self, database: &str, path: &Path, deadline: Instant) -> Result<Grown> {
        if let Some(snapshot) = self.contents(database)? {
            self.restore(snapshot, path)?;
        }
        let failed = |source| TraceError::Database { path: path.to_owned(), source };
        let copy = Connection::open(self.library(), path, OpenFlags::default(), None);
        let copy = copy.and_then(|copy| {
            copy.limit_steps(STEPS)?;
            // Each write commits by itself: SQLite rolls a whole transaction back when it stops one of its writes.
            copy.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY")?;
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
        let ended = self.for_each_call_of(&changes_of(database), |call| {
            if Instant::now() > deadline { Err(Stop::Late) } else { Ok(writer.take(call)?) }
        });
        match ended {
            Ok(()) => {}
            Err(Stop::Late) => writer.grown.is_partial = true,
            Err(Stop::Failed(error)) => return Err(error),
        }
        let grown = writer.grown;
        drop(writer);
        copy.close().map_err(failed)?;
        Ok(grown)
    }
}

/// Why the repetition of writes stops.
enum Stop {
    Late,
    Failed(TraceError),
}

impl From<TraceError> for Stop {
    fn from(error: TraceError) -> Stop {
        Stop::Failed(error)
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
        let open = self.open.entry(call.connection).or_default();
        if call.result.is_some_and(|code| code != 0) {
            // SQLite itself ends a transaction after some failures, such as a full disk.
            if call.autocommit {
                open.clear();
            }
            return Ok(());
        }
        if self.texts.len() > KEPT {
            self.texts.clear();
        }
        let text = match self.texts.entry(call.statement) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.trace.statement(call.statement)?),
        };
        let word = first_word(text);
        let (is_committed, event) = (call.autocommit, call.event);
        if word == "rollback" {
            // Of a transaction that went back to a savepoint, it is not known which writes stay.
            self.grown.left_out += if is_committed { 0 } else { open.len() as u64 };
            open.clear();
        } else if WRITES.contains(&word.as_str()) {
            open.push(call);
        }
        if is_committed && !open.is_empty() {
            self.grown.until = event;
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
        if self.prepared.len() > KEPT {
            self.prepared.clear();
        }
        let statement = match self.prepared.entry(call.statement) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let Ok(text) = self.trace.statement(call.statement) else { return Ok(false) };
                entry.insert(self.copy.prepare(&text)?)
            }
        };
        for (index, value) in (1..).zip(values) {
            statement.bind_value(index, value.value())?;
        }
        statement.run().map(|()| true)
    }
}

/// Returns the SQL condition for events that change this database or end a transaction.
fn changes_of(database: &str) -> String {
    let ends = ["commit", "end", "rollback", "release"];
    let ends = ends.map(|word| format!("sql LIKE '{word}%'")).join(" OR ");
    format!(
        "connection IN (SELECT id FROM connection WHERE database = {}) AND statement IN (SELECT id FROM statement
           WHERE readonly = 0 OR normalised IN (SELECT id FROM normalised WHERE {ends}))",
        literal(database)
    )
}
