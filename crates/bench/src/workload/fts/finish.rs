//! What may be done with a full-text index once it is filled.

use std::time::Instant;

use engine::Connection;

use super::table::{Kind, TABLE, TableOptions};
use crate::error::TrialError;

choice! {
    /// What is done with the index after the last commit.
    enum Finish {
        /// Nothing.
        Nothing = "nothing",
        /// FTS5's command `optimize`: all segments are merged into one.
        Optimize = "optimize",
        /// FTS5's command `merge` in steps until all segments are merged.
        Merge = "merge",
        /// The same for the segments of levels with at least `usermerge` of them.
        MergeLevels = "merge-levels",
        /// FTS5's command `rebuild`: the index is rebuilt from the texts.
        Rebuild = "rebuild",
    }
}

/// Pages that one step of merging writes, about; SQLite's documentation suggests hundreds
/// (<https://sqlite.org/fts5.html>, section 6.8).
const STEP: i64 = 500;

impl Finish {
    /// Why it cannot be done to a table with these options; none where it can.
    pub(super) fn why_not(self, options: &TableOptions) -> Option<&'static str> {
        match self {
            Finish::Nothing => None,
            _ if options.kind != Kind::Fts5 => {
                Some("finish requires table = fts5: a plain table has no full-text index")
            }
            Finish::Rebuild if !options.keeps_texts() => {
                Some("rebuild needs the texts, which a contentless table does not keep")
            }
            _ => None,
        }
    }

    /// Does it, and says how many seconds it took; none where there was nothing to do.
    pub(super) fn run(self, connection: &Connection) -> Result<Option<f64>, TrialError> {
        let command = |name| format!("INSERT INTO {TABLE}({TABLE}) VALUES ('{name}')");
        let start = Instant::now();
        match self {
            Finish::Nothing => return Ok(None),
            Finish::Optimize => connection.execute(&command("optimize"))?,
            Finish::Rebuild => connection.execute(&command("rebuild"))?,
            Finish::Merge => merge(connection, -STEP)?,
            Finish::MergeLevels => merge(connection, STEP)?,
        }
        Ok(Some(start.elapsed().as_secs_f64()))
    }
}

/// Merges until a step changes nothing but its own record. A first step with a negative number
/// takes up segments of any level, as the documentation says, and the steps after it go on with
/// these; with positive numbers alone only levels with as many segments as `usermerge` are merged.
fn merge(connection: &Connection, first: i64) -> Result<(), TrialError> {
    let mut step = first;
    loop {
        let before = connection.total_changes();
        connection
            .execute(&format!("INSERT INTO {TABLE}({TABLE}, rank) VALUES ('merge', {step})"))?;
        if connection.total_changes() - before < 2 {
            return Ok(());
        }
        step = STEP;
    }
}
