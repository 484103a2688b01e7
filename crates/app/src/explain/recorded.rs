//! Statements of a trace, with the values of their latest executions.

use std::path::Path;

use engine::Value;
use serde_json::Value as Json;
use trace::analysis::{Analyser, StatementUse};
use trace::{Trace, TraceError};

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
        let message = format!("{}: {} databases were recorded", path.display(), taken.len());
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
        None => has_plan(&usage.sql),
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

fn statement(trace: &Trace, number: usize, usage: &StatementUse) -> Result<Statement, TraceError> {
    let values = trace.values(usage.latest.event)?;
    let values: Vec<Json> = serde_json::from_str(&values).unwrap_or_default();
    Ok(Statement {
        name: format!("statement {number}"),
        sql: trace.statement(usage.latest.statement)?,
        weight: usage.count as f64,
        values: Some(vec![values.iter().map(value).collect()]),
    })
}

/// Returns whether a statement is one that SQLite plans.
fn has_plan(sql: &str) -> bool {
    let word = script::effect::first_word(sql);
    ["select", "with", "values", "insert", "replace", "update", "delete"].contains(&word.as_str())
}

/// Returns the value that a recorded one stands for; NULL for a long one, which the trace has elsewhere.
fn value(json: &Json) -> Value {
    match json {
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::Integer(integer),
            None => number.as_f64().map_or(Value::Null, Value::Real),
        },
        Json::String(text) => Value::Text(text.clone()),
        _ => Value::Null,
    }
}
