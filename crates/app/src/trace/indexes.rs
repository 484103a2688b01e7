//! Indexes for all recorded statements of a database together, by the advisor of `explain`.

use std::time::{Duration, Instant};

use explain::advisor::Advice;
use explain::{Needs, Subject};
use report::document::{Block, Cell, Sentence};
use report::sql::shortened;
use trace::analysis::{Analysis, StatementUse, scans_much};
use trace::{Grown, Trace, TraceError};

use crate::error::{Error, Result};
use crate::explain::document::{changes, not_tried, to_paste};
use crate::explain::recorded::{GROWN, by_database, statement};
use crate::explain::{Explained, advice_for, observe_each};
use crate::files::work_folder;
use crate::words::plural;

/// The most statements of a database that are tried, those with most of the time.
const MOST: usize = 60;

/// Sorts from which on an index with the order may be worth it.
const SORTS: u64 = 20;

/// How much of a statement is quoted, in characters.
const QUOTED: usize = 60;

/// Time for trying indexes for one database.
const TRIED: Duration = Duration::from_secs(10);

/// Indexes that were tried for the statements of a database.
pub(super) struct Tried {
    database: String,
    statements: Vec<Explained>,
    /// Statements of the database, tried or not.
    recorded: usize,
    advice: Advice,
    grown: Grown,
}

/// Tries indexes for each database with a statement that scans or sorts much.
///
/// # Errors
/// The trace cannot be read, or there is no room for a copy of a database.
pub(super) fn tried(trace: &Trace, analysis: &Analysis) -> Result<Vec<Tried>> {
    let mut all = Vec::new();
    for (database, uses) in by_database(trace, analysis)? {
        let reads_much = |usage: &StatementUse| scans_much(usage) || usage.sorts >= SORTS;
        if !uses.iter().any(|(_, usage)| reads_much(usage)) {
            continue;
        }
        let folder = work_folder(&std::env::temp_dir())?;
        let copy = folder.path.join("copy.db");
        let grown = match trace.grow(&database, &copy, Instant::now() + GROWN) {
            Ok(grown) => grown,
            // The page lists missing snapshots elsewhere.
            Err(TraceError::NoSnapshot(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let recorded = uses.len();
        let statements = uses.iter().take(MOST).map(|(number, usage)| {
            let mut statement = statement(trace, *number, usage)?;
            statement.name.clone_from(&usage.sql);
            Ok(statement)
        });
        let statements = statements.collect::<Result<Vec<_>, TraceError>>()?;
        let subject = Subject::open(&copy, None, Needs::default()).map_err(Error::unusable)?;
        let (statements, left_out) = observe_each(&subject, statements, &[], true)?;
        let mut advice = advice_for(&subject, &statements, TRIED, 1)?;
        advice
            .failed
            .extend(left_out.why.into_iter().map(|(sql, why)| (shortened(&sql, QUOTED), why)));
        all.push(Tried { database, statements, recorded, advice, grown });
    }
    Ok(all)
}

/// Returns the indexes of a database with what each recorded statement gains or loses; nothing without a change that helps.
pub(super) fn blocks(tried: &Tried) -> Vec<Block> {
    let Advice { made, dropped, analyzed, .. } = &tried.advice;
    let what = match (made.is_empty(), analyzed.is_some(), dropped.is_empty()) {
        (false, ..) => "Indexes make",
        (_, true, _) => "ANALYZE makes",
        (_, _, false) => "Fewer indexes make",
        _ => return Vec::new(),
    };
    let statements = if tried.recorded > MOST {
        format!("the {MOST} slowest of {} recorded statements", tried.recorded)
    } else {
        "the recorded statements".to_owned()
    };
    let name = if tried.database.is_empty() { "the database in memory" } else { &tried.database };
    let what = Sentence::from(format!("{what} {statements} of "))
        .and_code(name)
        .words(" cheaper as a whole, tried on a copy with what was recorded:");
    let cell = |explained: &Explained| {
        let mut cell = Cell::code(shortened(&explained.query.name, QUOTED));
        cell.title = Some(explained.query.name.clone());
        cell
    };
    let left_out = tried.grown.left_out;
    let lacks = match (tried.grown.is_partial, left_out) {
        (false, 0) => None,
        (false, _) => {
            let writes = plural(left_out, "recorded write", "recorded writes");
            Some(format!("{writes} could not be repeated on the copy."))
        }
        (true, _) => {
            Some("Time ran out before all recorded writes were repeated on the copy.".to_owned())
        }
    };
    let table = changes(&tried.statements, &tried.advice.changes, cell);
    [vec![Block::paragraph(what)], to_paste(&tried.advice, ""), vec![table]]
        .into_iter()
        .flatten()
        .chain(not_tried(&tried.advice))
        .chain(lacks.map(Block::small))
        .collect()
}
