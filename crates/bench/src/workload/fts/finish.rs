//! What may be done with a full-text index once it is filled.

use std::time::Instant;

use engine::Connection;
use lab::catalogue::Parameter;

use super::table::{Kind, TABLE, TableOptions};
use crate::error::TrialError;
use crate::settings::Reader;
use crate::workload::common::{by_name, names, parameter};

/// What is done with the index after the last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    Nothing,
    /// All segments are merged into one.
    Optimize,
    /// Segments of all levels are merged, a little at a time, until nothing is left to do.
    Merge,
    /// So are the segments of each level that has as many as `usermerge` says.
    MergeLevels,
    /// The index is made anew from the texts.
    Rebuild,
}

const FINISHES: &[(&str, Finish)] = &[
    ("nothing", Finish::Nothing),
    ("optimize", Finish::Optimize),
    ("merge", Finish::Merge),
    ("merge-levels", Finish::MergeLevels),
    ("rebuild", Finish::Rebuild),
];

/// Pages that one step of merging writes, about; SQLite's documentation suggests hundreds
/// (<https://sqlite.org/fts5.html>, section 6.8).
const STEP: i64 = 500;

/// The parameter that names it.
pub(super) fn finish_parameter() -> Parameter {
    parameter(
        "finish",
        names(FINISHES),
        "nothing".into(),
        "what is done with the full-text index after it is filled, timed apart: nothing, or FTS5's command `optimize`, `merge` (in steps until it is done: of all segments, or with `merge-levels` of levels with as many as `usermerge` says) or `rebuild`",
    )
}

impl Finish {
    pub(super) fn read(reader: &Reader<'_>, options: &TableOptions) -> Result<Finish, TrialError> {
        let finish = reader.name("finish", |name| by_name(FINISHES, name))?;
        match finish.why_not(options) {
            None => Ok(finish),
            Some(why) => Err(TrialError::CannotRun(why.to_owned())),
        }
    }

    /// Why it cannot be done to a table with these options; none where it can.
    fn why_not(self, options: &TableOptions) -> Option<&'static str> {
        match self {
            Finish::Nothing => None,
            _ if options.kind != Kind::Fts5 => {
                Some("a plain table has no full-text index to merge or rebuild")
            }
            Finish::Rebuild if !options.keeps_texts() => {
                Some("an index is rebuilt from the texts, which a contentless table does not keep")
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
        connection.execute(&format!(
            "INSERT INTO {TABLE}({TABLE}, rank) VALUES ('merge', {step})"
        ))?;
        if connection.total_changes() - before < 2 {
            return Ok(());
        }
        step = STEP;
    }
}
