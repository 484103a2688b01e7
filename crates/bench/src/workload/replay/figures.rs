//! The figures of a replay.
//!
//! Execution times of the statements of a replay: of all statements, and of those that are reported apart.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use engine::{Connection, StandIn, locked};
use lab::trial::{DataTable, STAND_INS, StatementRecord};
use serde::{Deserialize, Serialize};

use super::coverage::Coverage;
use super::end_state::EndState;
use super::outcome::{DifferenceGroup, Summary};
use super::source::{Amount, Recording};
use crate::drive::messages::StatementCounters;
use crate::workload::common::StatementNames;
use crate::workload::prelude::*;

/// The sums of all threads.
pub(super) struct Totals {
    pub(super) times: Times,
    pub(super) summary: Summary,
    /// Duration of the work.
    pub(super) seconds: f64,
}

/// Notes rates and latencies of all statements.
///
/// # Errors
/// A histogram cannot be written.
pub(super) fn note_times(totals: &Totals, measured: &mut Measured) -> Result<()> {
    let Totals { times, summary, seconds } = totals;
    set_latency(measured, &times.latency)?;
    set(measured, "txns_per_s", times.transactions as f64 / seconds);
    set(measured, "statements_per_s", times.statements as f64 / seconds);
    set(measured, "busy_errors", summary.busy as f64);
    let mut all = StatementCounters::default();
    summary.counters.values().for_each(|counters| all.add(*counters));
    all.set_means(times.transactions, "", measured);
    Ok(())
}

pub(super) fn end_table(ends: &EndState) -> DataTable {
    let equal = ends.equal.iter().map(|name| (name.clone(), "equal".to_owned()));
    let differing = ends.differing.iter().cloned();
    let own = "a table of SQLite's own, which may differ between versions and builds";
    let apart = ends.apart.iter().map(|(name, how)| (name.clone(), format!("{own}: {how}")));
    let rest = ends.left_out.iter().chain(&ends.unknown);
    let rest = rest.map(|(name, why)| (name.clone(), format!("not compared: {why}")));
    let rows = differing.chain(apart).chain(rest).chain(equal).map(|(name, how)| vec![name, how]);
    DataTable::new("end state", &["table", "compared with the recording"], rows)
}

pub(super) fn stand_in_table(stand_ins: &[StandIn]) -> DataTable {
    let rows = stand_ins.iter().map(|StandIn { name, by }| vec![name.clone(), by.clone()]);
    DataTable::new(STAND_INS, &["of the application", "stand-in"], rows)
}

pub(super) fn missing_table(coverage: &Coverage) -> DataTable {
    let rows = coverage.missing.iter().map(|(what, calls)| vec![what.clone(), calls.to_string()]);
    DataTable::new("not replayed", &["missing", "statements"], rows)
}

pub(super) fn divergence_table(totals: &Totals, recording: &Recording) -> DataTable {
    let groups = totals.summary.differences.groups();
    let rows = groups.iter().map(|DifferenceGroup { count, first }| {
        let text = recording.texts.get(&first.statement);
        vec![
            count.to_string(),
            first.event.to_string(),
            first.what.clone(),
            text.map_or(String::new(), |text| shortened(&text.sql)),
        ]
    });
    let listed: u64 = groups.iter().map(|group| group.count).sum();
    let further = totals.summary.differences.count - listed;
    let further = (further > 0).then(|| {
        vec![further.to_string(), String::new(), "further ones".to_owned(), String::new()]
    });
    let columns = ["divergences", "first event", "first divergence", "statement"];
    DataTable::new("divergences", &columns, rows.chain(further))
}

/// Returns the reason for which a replay would have been refused, if that was accepted.
pub(super) fn accepted_table(why: Option<TrialError>) -> Option<DataTable> {
    why.map(|why| DataTable::new("accepted", &["divergence"], vec![vec![why.to_string()]]))
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
    totals: &Totals,
    slowest: &[(i64, String)],
    connection: Option<&Connection>,
    measured: &mut Measured,
) {
    let mut names = StatementNames::default();
    for (form, sql) in slowest {
        let name = names.name(sql);
        let counters = totals.summary.counters.get(form).copied().unwrap_or_default();
        counters.set_means(counters.executions, &format!(".{name}"), measured);
        if let Some(latency) = totals.times.of_forms.get(form) {
            measured.metrics.extend(latency.metrics_of_phase(&name));
        }
        measured.statements.push(StatementRecord {
            // A statement without a plan is reported by its execution.
            plan: connection
                .and_then(|connection| connection.query_plan(sql).ok())
                .unwrap_or_default(),
            answer: totals.summary.answers.get(form).map(|digest| digest.answer()),
            name,
            sql: sql.clone(),
            ..StatementRecord::default()
        });
    }
}

/// Returns the normalised statements that took the most time in the recording, each with one of its texts.
pub(super) fn slowest(recording: &Recording, most: usize) -> Vec<(i64, String)> {
    let mut times: HashMap<i64, (Amount, &str)> = HashMap::new();
    for (statement, executions) in &recording.survey.statements {
        let (replayed, _) = executions.fates(recording.left_out.get(statement));
        let text = recording.texts.get(statement);
        if let Some(text) = text.filter(|_| replayed.calls > 0) {
            let none = (Amount::default(), text.sql.as_str());
            times.entry(text.normalised).or_insert(none).0.add(replayed);
        }
    }
    let mut all: Vec<(i64, (Amount, &str))> = times.into_iter().collect();
    all.sort_by_key(|(form, (time, _))| (std::cmp::Reverse(time.time_ns as u64), *form));
    all.into_iter().take(most).map(|(form, (_, sql))| (form, sql.to_owned())).collect()
}

/// Execution time of one statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Its normalised statement.
    pub(super) form: i64,
    pub(super) time: Duration,
    /// Whether it ended outside of `BEGIN` and `COMMIT` in the recording.
    pub(super) ends: bool,
}

/// Execution times of statements.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Times {
    pub(super) statements: u64,
    /// Number of statements that ended outside of `BEGIN` and `COMMIT` in the recording.
    pub(super) transactions: u64,
    pub(super) latency: LatencyHistogram,
    /// Latencies of the statements that are reported apart, by normalised statement.
    pub(super) of_forms: HashMap<i64, LatencyHistogram>,
}

impl Times {
    /// No times yet. These normalised statements are reported apart.
    pub(super) fn new(forms: &[i64]) -> Times {
        let of_forms = forms.iter().map(|form| (*form, LatencyHistogram::default()));
        Times { of_forms: of_forms.collect(), ..Times::default() }
    }

    /// Adds the times of another process.
    pub(super) fn add(&mut self, other: &Times) {
        self.statements += other.statements;
        self.transactions += other.transactions;
        self.latency.add(&other.latency);
        for (form, latency) in &mut self.of_forms {
            if let Some(other) = other.of_forms.get(form) {
                latency.add(other);
            }
        }
    }

    fn note(&mut self, timed: Timing) {
        self.statements += 1;
        self.transactions += u64::from(timed.ends);
        self.latency.record(timed.time);
        if let Some(latency) = self.of_forms.get_mut(&timed.form) {
            latency.record(timed.time);
        }
    }
}

/// Collects the times of one thread, and adds them to the common ones from time to time: a histogram of its own for each
/// statement would need too much memory with many threads.
pub(super) struct TimingBuffer<'t> {
    times: &'t Mutex<Times>,
    timings: Vec<Timing>,
}

impl<'t> TimingBuffer<'t> {
    /// Number of times that are collected.
    const CAPACITY: usize = 1_024;

    pub(super) fn new(times: &'t Mutex<Times>) -> TimingBuffer<'t> {
        TimingBuffer { times, timings: Vec::with_capacity(TimingBuffer::CAPACITY) }
    }

    pub(super) fn note(&mut self, timed: Timing) {
        self.timings.push(timed);
        if self.timings.len() == TimingBuffer::CAPACITY {
            self.flush();
        }
    }

    pub(super) fn flush(&mut self) {
        let mut times = locked(self.times);
        self.timings.drain(..).for_each(|timed| times.note(timed));
    }
}
