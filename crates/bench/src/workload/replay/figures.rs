//! What a replay has measured, and what it says of itself.

use std::collections::HashMap;
use std::time::Duration;

use engine::Connection;
use lab::trial::{DataTable, Measured, StatementRecord};

use super::coverage::Coverage;
use super::ends::Ends;
use super::lane::Report;
use super::outcome::Difference;
use super::source::{Fate, Recording};
use crate::error::TrialError;
use crate::measure::LatencyHistogram;
use crate::workload::common::{set, set_latency};
use crate::workload::contention::message::Counters;
use crate::workload::sql::answers::Tally;

/// Divergences that are named.
pub(super) const NAMED: usize = 20;

/// What lanes have done, put together.
#[derive(Default)]
pub(super) struct Sum {
    times: Vec<(usize, u64)>,
    pub(super) differences: Vec<Difference>,
    compared: u64,
    busy: u64,
    counters: HashMap<i64, Counters>,
    answers: HashMap<i64, Tally>,
}

impl Sum {
    /// Adds up reports; differences are in the order of their events.
    pub(super) fn of(reports: Vec<Report>) -> Sum {
        let mut sum = Sum::default();
        for report in reports {
            sum.times.extend(report.times);
            sum.differences.extend(report.differences);
            sum.compared += report.compared;
            sum.busy += report.busy;
            for (form, counters) in report.counters {
                sum.counters.entry(form).or_default().add(counters);
            }
            for (form, tally) in report.answers {
                let entry = sum.answers.entry(form);
                entry.and_modify(|it| it.add(tally)).or_insert(tally);
            }
        }
        sum.differences.sort_by_key(|it| it.event);
        sum
    }

    /// The share of compared statements that did the same as in the recording, in percent.
    pub(super) fn agreement(&self) -> f64 {
        match self.compared {
            0 => 100.0,
            compared => 100.0 * (1.0 - self.differences.len() as f64 / compared as f64),
        }
    }
}

/// Notes rates and latencies of all statements.
///
/// # Errors
/// A histogram cannot be made.
pub(super) fn note_times(
    sum: &Sum,
    recording: &Recording,
    seconds: f64,
    measured: &mut Measured,
) -> Result<(), TrialError> {
    let mut latency = LatencyHistogram::new()?;
    for (_, time) in &sum.times {
        latency.record(Duration::from_nanos(*time));
    }
    set_latency(measured, &latency)?;
    let ends = |(call, _): &&(usize, u64)| recording.calls[*call].autocommit;
    let transactions = sum.times.iter().filter(ends).count() as u64;
    set(measured, "txns_per_s", transactions as f64 / seconds);
    set(
        measured,
        "statements_per_s",
        sum.times.len() as f64 / seconds,
    );
    set(measured, "busy_errors", sum.busy as f64);
    let mut all = Counters::default();
    sum.counters
        .values()
        .for_each(|counters| all.add(*counters));
    all.set_means(transactions, "", measured);
    Ok(())
}

/// Notes how much was replayed, and how much of it did the same as in the recording.
pub(super) fn note_agreement(
    sum: &Sum,
    coverage: &Coverage,
    ends: &Ends,
    recording: &Recording,
    measured: &mut Measured,
) {
    set(measured, "coverage_percent", coverage.percent());
    set(measured, "coverage_time_percent", coverage.time_percent());
    set(measured, "agreement_percent", sum.agreement());
    set(measured, "divergences", sum.differences.len() as f64);
    if ends.unknown.is_empty() {
        set(measured, "differing_tables", ends.differing.len() as f64);
    }
    set(measured, "recorded_s", recorded_s(recording));
    measured.tables = [
        end_table(ends),
        missing_table(coverage),
        divergence_table(sum, recording),
    ]
    .into_iter()
    .filter(|table| !table.rows.is_empty())
    .collect();
}

/// The time from the first to the last statement of the recording.
fn recorded_s(recording: &Recording) -> f64 {
    let calls = || recording.calls.iter();
    let first = calls().map(|it| it.start_us).min().unwrap_or(0);
    let end = |call: &trace::Call| call.start_us + call.duration_ns.unwrap_or(0) / 1_000;
    let last = calls().map(end).max().unwrap_or(0);
    (last - first) as f64 / 1e6
}

fn table(title: &str, columns: &[&str], rows: Vec<Vec<String>>) -> DataTable {
    DataTable {
        title: title.to_owned(),
        columns: columns.iter().map(|it| (*it).to_owned()).collect(),
        rows,
    }
}

fn end_table(ends: &Ends) -> DataTable {
    let equal = ends
        .equal
        .iter()
        .map(|name| (name.clone(), "equal".to_owned()));
    let differing = ends.differing.iter().cloned();
    let rest = ends.left_out.iter().chain(&ends.unknown);
    let rest = rest.map(|(name, why)| (name.clone(), format!("not compared: {why}")));
    let rows = differing.chain(rest).chain(equal);
    let rows = rows.map(|(name, how)| vec![name, how]);
    table(
        "end state",
        &["table", "compared with the recording"],
        rows.collect(),
    )
}

fn missing_table(coverage: &Coverage) -> DataTable {
    let rows = coverage.missing.iter();
    let rows = rows.map(|(what, calls)| vec![what.clone(), calls.to_string()]);
    table("not replayed", &["missing", "statements"], rows.collect())
}

fn divergence_table(sum: &Sum, recording: &Recording) -> DataTable {
    let rows = sum.differences.iter().take(NAMED).map(|difference| {
        let call = &recording.calls[difference.call];
        let text = recording.texts.get(&call.statement);
        vec![
            difference.event.to_string(),
            difference.what.clone(),
            text.map_or(String::new(), |text| shortened(&text.sql)),
        ]
    });
    table(
        "divergences",
        &["event", "divergence", "statement"],
        rows.collect(),
    )
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
///
/// # Errors
/// A histogram cannot be made.
pub(super) fn note_statements(
    sum: &Sum,
    recording: &Recording,
    connection: Option<&Connection>,
    most: usize,
    measured: &mut Measured,
) -> Result<(), TrialError> {
    let mut latencies: HashMap<i64, LatencyHistogram> = HashMap::new();
    let slowest = slowest(recording, most);
    let timed = slowest.iter().filter(|_| sum.answers.is_empty());
    for (form, _) in timed {
        latencies.insert(*form, LatencyHistogram::new()?);
    }
    for (call, time) in &sum.times {
        let text = recording.texts.get(&recording.calls[*call].statement);
        if let Some(latency) = text.and_then(|text| latencies.get_mut(&text.normalised)) {
            latency.record(Duration::from_nanos(*time));
        }
    }
    let mut labels: HashMap<String, u32> = HashMap::new();
    for (form, sql) in slowest {
        let name = name(&sql, &mut labels);
        let counters = sum.counters.get(&form).copied().unwrap_or_default();
        counters.set_means(counters.executions, &format!(".{name}"), measured);
        if let Some(latency) = latencies.get(&form) {
            measured.metrics.extend(latency.metrics_of_phase(&name));
        }
        measured.statements.push(StatementRecord {
            // A statement without a plan was executed all the same.
            plan: connection
                .and_then(|connection| connection.query_plan(&sql).ok())
                .unwrap_or_default(),
            answer: sum.answers.get(&form).map(|it| it.answer()),
            name,
            sql,
        });
    }
    Ok(())
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
fn slowest(recording: &Recording, most: usize) -> Vec<(i64, String)> {
    let mut times: HashMap<i64, (i64, &str)> = HashMap::new();
    for call in &recording.calls {
        let Some(text) = recording.texts.get(&call.statement) else {
            continue;
        };
        if recording.fate(call) == Fate::Replayed {
            let time = times.entry(text.normalised).or_insert((0, &text.sql));
            time.0 += call.duration_ns.unwrap_or(0);
        }
    }
    let mut all: Vec<(i64, (i64, &str))> = times.into_iter().collect();
    all.sort_by_key(|(form, (time, _))| (-time, *form));
    let all = all.into_iter().take(most);
    all.map(|(form, (_, sql))| (form, sql.to_owned())).collect()
}
