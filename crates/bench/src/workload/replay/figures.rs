//! What a replay has measured, and what it says of itself.

use std::collections::HashMap;

use engine::Connection;
use lab::trial::{DataTable, Measured, StatementRecord};

use super::coverage::Coverage;
use super::ends::Ends;
use super::message::Summary;
use super::source::Recording;
use super::survey::{Amount, Survey};
use super::times::Times;
use crate::error::TrialError;
use crate::workload::common::{set, set_latency};
use crate::workload::contention::message::Counters;

/// What lanes have done, put together.
pub(super) struct Sum {
    pub(super) times: Times,
    pub(super) done: Summary,
}

/// Notes rates and latencies of all statements.
///
/// # Errors
/// A histogram cannot be made.
pub(super) fn note_times(
    sum: &Sum,
    seconds: f64,
    measured: &mut Measured,
) -> Result<(), TrialError> {
    let times = &sum.times;
    set_latency(measured, &times.latency)?;
    set(measured, "txns_per_s", times.transactions as f64 / seconds);
    let statements_per_s = times.statements as f64 / seconds;
    set(measured, "statements_per_s", statements_per_s);
    set(measured, "busy_errors", sum.done.busy as f64);
    let mut all = Counters::default();
    let counters = &sum.done.counters;
    counters.values().for_each(|counters| all.add(*counters));
    all.set_means(times.transactions, "", measured);
    Ok(())
}

/// Notes how much was replayed, and how much of it did the same as in the recording.
pub(super) fn note_agreement(
    sum: &Sum,
    coverage: &Coverage,
    ends: &Ends,
    (recording, survey): (&Recording, &Survey),
    measured: &mut Measured,
) {
    set(measured, "coverage_percent", coverage.percent());
    set(measured, "coverage_time_percent", coverage.time_percent());
    set(measured, "agreement_percent", sum.done.agreement());
    set(measured, "divergences", sum.done.differences.count as f64);
    if ends.unknown.is_empty() {
        set(measured, "differing_tables", ends.differing.len() as f64);
    }
    set(measured, "recorded_s", survey.seconds());
    measured.tables = [end_table(ends), missing_table(coverage), divergence_table(sum, recording)]
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect();
}

fn table(title: &str, columns: &[&str], rows: Vec<Vec<String>>) -> DataTable {
    DataTable {
        title: title.to_owned(),
        columns: columns.iter().map(|it| (*it).to_owned()).collect(),
        rows,
    }
}

fn end_table(ends: &Ends) -> DataTable {
    let equal = ends.equal.iter().map(|name| (name.clone(), "equal".to_owned()));
    let differing = ends.differing.iter().cloned();
    let rest = ends.left_out.iter().chain(&ends.unknown);
    let rest = rest.map(|(name, why)| (name.clone(), format!("not compared: {why}")));
    let rows = differing.chain(rest).chain(equal);
    let rows = rows.map(|(name, how)| vec![name, how]);
    table("end state", &["table", "compared with the recording"], rows.collect())
}

fn missing_table(coverage: &Coverage) -> DataTable {
    let rows = coverage.missing.iter();
    let rows = rows.map(|(what, calls)| vec![what.clone(), calls.to_string()]);
    table("not replayed", &["missing", "statements"], rows.collect())
}

fn divergence_table(sum: &Sum, recording: &Recording) -> DataTable {
    let rows = sum.done.differences.first.iter().map(|difference| {
        let text = recording.texts.get(&difference.statement);
        vec![
            difference.event.to_string(),
            difference.what.clone(),
            text.map_or(String::new(), |text| shortened(&text.sql)),
        ]
    });
    table("divergences", &["event", "divergence", "statement"], rows.collect())
}

fn shortened(sql: &str) -> String {
    const LENGTH: usize = 120;
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Notes the statements that took the most time in the recording, with their figures and plans. A counting trial has no
/// latencies, and so may have very many statements.
pub(super) fn note_statements(
    sum: &Sum,
    slowest: Vec<(i64, String)>,
    connection: Option<&Connection>,
    measured: &mut Measured,
) {
    let mut labels: HashMap<String, u32> = HashMap::new();
    for (form, sql) in slowest {
        let name = name(&sql, &mut labels);
        let counters = sum.done.counters.get(&form).copied().unwrap_or_default();
        counters.set_means(counters.executions, &format!(".{name}"), measured);
        if let Some(latency) = sum.times.of_forms.get(&form) {
            measured.metrics.extend(latency.metrics_of_phase(&name));
        }
        measured.statements.push(StatementRecord {
            // A statement without a plan was executed all the same.
            plan: connection
                .and_then(|connection| connection.query_plan(&sql).ok())
                .unwrap_or_default(),
            answer: sum.done.answers.get(&form).map(|it| it.answer()),
            name,
            sql,
        });
    }
}

/// A name of its own for a statement: its label, with a number from the second one of the same label on.
fn name(sql: &str, labels: &mut HashMap<String, u32>) -> String {
    let label = script::effect::label(sql);
    let count = labels.entry(label.clone()).or_default();
    *count += 1;
    match count {
        1 => label,
        count => format!("{label}_{count}"),
    }
}

/// The normalised statements that took the most time in the recording, each with one of its texts.
pub(super) fn slowest(recording: &Recording, survey: &Survey, most: usize) -> Vec<(i64, String)> {
    let mut times: HashMap<i64, (Amount, &str)> = HashMap::new();
    for (statement, executions) in &survey.statements {
        let (replayed, _) = executions.fates(recording.left_out.get(statement));
        let text = recording.texts.get(statement);
        if let Some(text) = text.filter(|_| replayed.calls > 0) {
            let none = (Amount::default(), text.sql.as_str());
            times.entry(text.normalised).or_insert(none).0.add(replayed);
        }
    }
    let mut all: Vec<(i64, (Amount, &str))> = times.into_iter().collect();
    all.sort_by_key(|(form, (time, _))| (std::cmp::Reverse(time.time_ns as u64), *form));
    let all = all.into_iter().take(most);
    all.map(|(form, (_, sql))| (form, sql.to_owned())).collect()
}
