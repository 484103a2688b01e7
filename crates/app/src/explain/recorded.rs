//! Statements of a trace, with the values of their latest executions.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use trace::analysis::{Analysis, StatementUse};
use trace::plans::is_planned;
use trace::{Trace, TraceError, Values};

use super::Statement;
use crate::error::Error;
use crate::files::{built_in_library, work_folder};

/// Time for repeating recorded writes.
pub(crate) const GROWN: Duration = Duration::from_secs(5);

/// Statements of one database, with their numbers from 1 among all statements of the trace.
pub(crate) type Uses<'a> = Vec<(usize, &'a StatementUse)>;

/// Returns the statements that have a plan, those with most of the time first, by the database of their latest execution.
pub(crate) fn by_database<'a>(
    trace: &Trace,
    analysis: &'a Analysis,
) -> Result<BTreeMap<String, Uses<'a>>, TraceError> {
    let databases = trace.databases()?;
    let mut all: BTreeMap<String, Uses<'a>> = BTreeMap::new();
    for (place, usage) in analysis.statements.iter().enumerate() {
        if is_planned(&usage.sql) {
            let database = databases.get(&usage.latest.connection).cloned().unwrap_or_default();
            all.entry(database).or_default().push((place + 1, usage));
        }
    }
    Ok(all)
}

/// Makes the recorded database of a statement, or the only one, and returns this statement, or all of the database.
pub(super) fn statements(
    path: &Path,
    number: Option<usize>,
    stand_ins: &str,
    copy: &Path,
) -> Result<Vec<Statement>, Error> {
    let library = built_in_library()?;
    if !stand_ins.is_empty() {
        bench::missing_in_trace(path, &work_folder(&std::env::temp_dir())?.path, stand_ins)?;
        library.stand_in(stand_ins).map_err(Error::mistake)?;
    }
    let trace = Trace::open(&library, path)?;
    let analysis = trace.analysed()?;
    let mut all = by_database(&trace, &analysis)?;
    if let Some(number) = number {
        all.values_mut().for_each(|uses| uses.retain(|(other, _)| *other == number));
        all.retain(|_, uses| !uses.is_empty());
        if all.is_empty() {
            let message =
                match number.checked_sub(1).and_then(|place| analysis.statements.get(place)) {
                    Some(usage) => format!("statement {number} has no plan: {}", usage.sql),
                    None => {
                        format!(
                            "the trace has {} statements, numbered from 1",
                            analysis.statements.len()
                        )
                    }
                };
            return Err(Error::mistake(message)
                .hint("`pragmark trace FILE` lists the statements in the order of their numbers"));
        }
    }
    let (Some((database, uses)), 1) = (all.first_key_value(), all.len()) else {
        let recorded = match all.len() {
            0 => "no recorded statement has a plan".to_owned(),
            several => format!("{several} databases were recorded"),
        };
        let message = format!("{}: {recorded}", path.display());
        return Err(Error::unusable(message).hint(
            "choose a statement by its number, `pragmark explain FILE NUMBER`, or name one database and its statements: `pragmark explain --db app.db queries.sql`",
        ));
    };
    trace.grow(database, copy, Instant::now() + GROWN)?;
    let statements = uses.iter().map(|(number, usage)| statement(&trace, *number, usage));
    Ok(statements.collect::<Result<_, TraceError>>()?)
}

/// Returns a statement with the values of its latest execution, as far as the trace has them.
pub(crate) fn statement(
    trace: &Trace,
    number: usize,
    usage: &StatementUse,
) -> Result<Statement, TraceError> {
    let (mut sql, mut values) = (trace.statement(usage.latest.statement)?, None);
    match trace.bound_values(usage.latest.event)? {
        Values::Bound(bound) => {
            values = Some(vec![bound.iter().map(|value| value.value().clone()).collect()]);
        }
        Values::Expanded(text) => sql = text,
        Values::Missing(_) => {}
    }
    Ok(Statement {
        name: format!("statement {number}"),
        sql,
        weight: usage.count as f64,
        values,
        has_changed: usage.changes > 0,
        place: None,
    })
}
