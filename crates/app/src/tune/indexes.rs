//! Indexes as a change of the application, by the advisor of `explain`.

use std::path::Path;
use std::time::Duration;

use explain::advisor::Advice as Indexes;
use explain::observe::Cost;
use explain::{Needs, Subject};
use lab::level::Level;
use lab::metric::Unit;
use lab::tuning_plan::Advice;
use report::figures::with_unit;

use crate::error::{Error, Result};
use crate::explain::{Statement, advice_for, observe_each};
use crate::words::grouped;

/// Time for the commit of a statement, at most.
const COMMIT: Duration = Duration::from_millis(5);

/// Facts about statements that need no trial.
pub(super) struct Known {
    /// The indexes that help them as a whole, as one change; none if there are none.
    pub(super) advice: Option<Advice>,
    /// The time in which each is executed as often as its weight says, the rarest one once.
    pub(super) round: Duration,
}

/// Executes these statements on a copy of the database, which is changed and changed back, and tries indexes for this time.
///
/// # Errors
/// The copy is not a database, or the disk is full.
pub(super) fn known(
    copy: &Path,
    stand_ins: &str,
    statements: Vec<Statement>,
    time: Duration,
) -> Result<Known> {
    let (indexes, round) = tried(copy, stand_ins, statements, time)?;
    Ok(Known { advice: advice(&indexes), round })
}

fn advice(indexes: &Indexes) -> Option<Advice> {
    if indexes.made.is_empty() {
        return None;
    }
    let named = indexes.made.iter().map(|made| made.on.as_str());
    let noun = if indexes.made.len() == 1 { "an index on" } else { "indexes on" };
    let bytes = indexes.made.iter().map(|made| made.bytes).sum::<i64>() as f64;
    let (size, sql) = (with_unit(bytes, Unit::Bytes), indexes.sql());
    Some(Advice {
        change: format!("{noun} {} of {size}", named.collect::<Vec<&str>>().join(", ")),
        settings: [("schema_change".to_owned(), Level::Text(sql.join(" ")))].into(),
        counted: Some(counted(indexes)),
        sql: Some(sql.join("\n")),
    })
}

/// Returns what the statements cost with all indexes that these make cheaper or dearer by more than a tenth.
fn counted(indexes: &Indexes) -> String {
    let changed = indexes.changes.iter().filter(|change| {
        let (before, after) = (change.before.total() as f64, change.after.total() as f64);
        (after - before).abs() > 0.1 * before
    });
    let words = changed.map(|change| {
        let of = |cost: &Cost| [(cost.steps, "steps"), (cost.pages, "pages")];
        let both = of(&change.before).into_iter().zip(of(&change.after));
        let factor = |((before, _), (after, _)): &((i64, _), (i64, _))| {
            ((after + 1) as f64 / (before + 1) as f64).ln().abs()
        };
        // The figure that changes most.
        let largest = both.max_by(|a, b| factor(a).total_cmp(&factor(b)));
        let ((before, noun), (after, _)) = largest.unwrap_or_default();
        format!("{} {} → {} {noun}", change.name, grouped(before as u64), grouped(after as u64))
    });
    words.collect::<Vec<String>>().join(", ")
}

fn tried(
    copy: &Path,
    stand_ins: &str,
    statements: Vec<Statement>,
    time: Duration,
) -> Result<(Indexes, Duration)> {
    let needs = Needs { stand_ins, ..Needs::default() };
    let subject = Subject::open(copy, None, needs).map_err(Error::unusable)?;
    // What cannot be executed here is not tried: values may be missing, or break a constraint.
    let (all, _) = observe_each(&subject, statements, &[], true)?;
    let whole = all.iter().filter(|explained| !explained.observation.is_partial);
    let weights = all.iter().map(|explained| explained.query.weight).filter(|weight| *weight > 0.0);
    let least = weights.fold(f64::INFINITY, f64::min);
    let round = whole.map(|explained| {
        (explained.observation.time + COMMIT).mul_f64(explained.query.weight / least)
    });
    Ok((advice_for(&subject, &all, time, 1)?, round.sum()))
}
