//! Statements of a trace, with the values of their latest executions.

use std::path::Path;

use trace::analysis::{Analyser, StatementUse};
use trace::plans::is_planned;
use trace::{Trace, TraceError, Values};

use super::Statement;
use crate::error::Error;
use crate::files::built_in_library;

/// Restores the only database of a trace, and returns the statements that have a plan, those with most of the time first.
pub(super) fn statements(
    path: &Path,
    number: Option<usize>,
    copy: &Path,
) -> Result<Vec<Statement>, Error> {
    let trace = Trace::open(&built_in_library()?, path)?;
    let snapshots = trace.snapshots()?;
    let taken: Vec<_> = snapshots.iter().filter(|snapshot| snapshot.state == "taken").collect();
    let [snapshot] = taken[..] else {
        let recorded = match taken.len() {
            0 => "no database had contents when recording began".to_owned(),
            several => format!("{several} databases were recorded"),
        };
        let message = format!("{}: {recorded}", path.display());
        return Err(Error::unusable(message).hint(
            "name one database and its statements: `pragmark explain --db app.db queries.sql`",
        ));
    };
    trace.restore(snapshot.id, copy)?;
    let mut analyser = Analyser::new(trace.meta()?.duration_us, trace.normalised()?);
    trace.for_each_event(|event| analyser.take(event))?;
    let analysis = analyser.finish();
    let statement = |(place, usage): (usize, &StatementUse)| statement(&trace, place + 1, usage);
    let chosen = analysis.statements.iter().enumerate().filter(|(place, usage)| match number {
        Some(number) => number == place + 1,
        None => is_planned(&usage.sql),
    });
    let statements: Result<Vec<Statement>, TraceError> = chosen.map(statement).collect();
    let statements = statements?;
    if statements.is_empty() {
        let count = analysis.statements.len();
        return Err(Error::mistake(format!("the trace has {count} statements, numbered from 1"))
            .hint("`pragmark trace FILE` lists them in this order"));
    }
    Ok(statements)
}

/// Returns a statement with the values of its latest execution, as far as the trace has them.
fn statement(trace: &Trace, number: usize, usage: &StatementUse) -> Result<Statement, TraceError> {
    let (mut sql, mut values) = (trace.statement(usage.latest.statement)?, None);
    match trace.bound_values(usage.latest.event)? {
        Values::Bound(bound) => {
            values = Some(vec![bound.iter().map(|value| value.value().clone()).collect()]);
        }
        Values::Expanded(text) => sql = text,
        Values::Missing(_) => {}
    }
    Ok(Statement { name: format!("statement {number}"), sql, weight: usage.count as f64, values })
}
