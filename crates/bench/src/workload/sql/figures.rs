//! The figures of a trial, from the reports of its clients.

use std::collections::BTreeMap;

use super::parameters::Parameters;
use super::suite::Suite;
use crate::drive::messages::{PartReport, StatementCounters};
use crate::drive::period::{Period, done, latencies};
use crate::workload::prelude::*;

/// Notes all figures of a period of work.
pub(super) fn note(
    period: &Period,
    parameters: &Parameters,
    suite: &Suite,
    measured: &mut Measured,
) -> Result<()> {
    let transactions = done(&period.reports);
    set(measured, "seconds", period.seconds());
    // Executions of scripts that share a transaction are as much work as those with one of their own.
    let executions = transactions * parameters.group.max(1) as u64;
    set(measured, "txns_per_s", executions as f64 / period.seconds());
    let latency = latencies(&period.reports);
    if !parameters.latency_limit.is_zero() {
        set(measured, "over_limit_percent", latency.percent_above(parameters.latency_limit));
    }
    set_latency(measured, &latency)?;
    period.note_cpu(measured);
    period.note_busy(parameters.retrying.busy_timeout.0, measured);
    period.note_counts(measured);
    if parameters.is_timed() {
        measured.windows = period.windows();
    }
    if parameters.rate > 0 {
        period.note_arrivals(measured);
    }
    note_parts(period, transactions, suite, measured);
    Ok(())
}

/// Notes figures of each statement and, if there are several, of each script.
fn note_parts(period: &Period, transactions: u64, suite: &Suite, measured: &mut Measured) {
    let mut parts: BTreeMap<&str, Part> = BTreeMap::new();
    for report in period.reports.iter().flat_map(|report| &report.parts) {
        parts.entry(&report.name).or_default().add(report);
    }
    note_typical(&parts, suite, measured);
    let scripts = parts.values().filter(|part| part.counters.is_none()).count();
    let mut sum = StatementCounters::default();
    for (name, part) in &parts {
        if let Some(counters) = part.counters {
            sum.add(counters);
            counters.set_means(counters.executions, &format!(".{name}"), measured);
        }
        if part.counters.is_some() || scripts > 1 {
            measured.metrics.extend(part.latency.metrics_of_phase(name));
        }
    }
    sum.set_means(transactions, "", measured);
}

/// Notes the geometric mean over the statements of the mean latency of each, if all of several were executed: each counts by its
/// weight, however long it takes.
fn note_typical(parts: &BTreeMap<&str, Part>, suite: &Suite, measured: &mut Measured) {
    let weighted = suite.weighted().filter(|(_, weight)| *weight > 0);
    let terms = weighted.map(|(statement, weight)| {
        let part = parts.get(statement.name.as_str()).filter(|part| part.counters.is_some())?;
        let mean = part.latency.mean_us();
        (mean > 0.0).then(|| (f64::from(weight), f64::from(weight) * mean.ln()))
    });
    let terms: Option<Vec<(f64, f64)>> = terms.collect();
    if let Some(terms) = terms.filter(|terms| terms.len() > 1) {
        let (weights, logs): (Vec<f64>, Vec<f64>) = terms.into_iter().unzip();
        let typical = logs.iter().sum::<f64>() / weights.iter().sum::<f64>();
        set(measured, "typical_us", typical.exp());
    }
}

/// A script or a statement on all clients. A script of one statement has the name of the statement, whose report counts.
#[derive(Default)]
struct Part {
    latency: LatencyHistogram,
    counters: Option<StatementCounters>,
}

impl Part {
    fn add(&mut self, report: &PartReport) {
        match (self.counters.as_mut(), report.counters) {
            (Some(_), None) => return,
            (Some(sum), Some(counters)) => sum.add(counters),
            (None, Some(counters)) => {
                *self = Part { counters: Some(counters), ..Part::default() };
            }
            (None, None) => {}
        }
        self.latency.add(&report.latency);
    }
}
