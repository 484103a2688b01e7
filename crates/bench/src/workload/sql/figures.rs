//! What the reports of the clients add up to.

use std::collections::BTreeMap;

use lab::trial::Measured;

use super::parameters::Parameters;
use crate::error::TrialError;
use crate::measure::LatencyHistogram;
use crate::workload::common::{set, set_latency};
use crate::workload::contention::message::{Counters, PartReport};
use crate::workload::contention::shift::{Shift, done, latencies};

/// Notes everything that one period of work says.
pub(super) fn note(
    shift: &Shift,
    parameters: &Parameters,
    measured: &mut Measured,
) -> Result<(), TrialError> {
    let transactions = done(&shift.reports);
    set(measured, "seconds", shift.seconds());
    // Executions of scripts that share a transaction are as much work as those with one of their own.
    let executions = transactions * parameters.group.max(1) as u64;
    set(measured, "txns_per_s", executions as f64 / shift.seconds());
    let latency = latencies(&shift.reports)?;
    if !parameters.latency_limit.is_zero() {
        let over = latency.percent_above(parameters.latency_limit);
        set(measured, "over_limit_percent", over);
    }
    set_latency(measured, &latency)?;
    shift.note_cpu(measured);
    shift.note_hindrances(parameters.busy_timeout.0, measured);
    shift.note_counts(measured);
    if parameters.is_timed() {
        measured.windows = shift.windows();
    }
    if parameters.rate > 0 {
        shift.note_offer(measured)?;
    }
    note_parts(shift, transactions, measured)
}

/// Notes figures of each statement and, where there are several, of each script.
fn note_parts(shift: &Shift, transactions: u64, measured: &mut Measured) -> Result<(), TrialError> {
    let mut parts: BTreeMap<&str, Part> = BTreeMap::new();
    let all = shift.reports.iter().flat_map(|report| &report.parts);
    for report in all {
        Part::of(&mut parts, report)?.add(report)?;
    }
    let scripts = parts.values().filter(|part| part.counters.is_none()).count();
    let mut sum = Counters::default();
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
    Ok(())
}

/// What became of a script or a statement on all clients.
struct Part {
    latency: LatencyHistogram,
    counters: Option<Counters>,
}

impl Part {
    /// The part of a report's name: a script that is one statement is that statement.
    fn of<'m, 'r>(
        parts: &'m mut BTreeMap<&'r str, Part>,
        report: &'r PartReport,
    ) -> Result<&'m mut Part, TrialError> {
        let empty = Part { latency: LatencyHistogram::new(), counters: None };
        let part = parts.entry(&report.name).or_insert(empty);
        if part.counters.is_none() && report.counters.is_some() {
            part.latency = LatencyHistogram::new();
        }
        Ok(part)
    }

    fn add(&mut self, report: &PartReport) -> Result<(), TrialError> {
        if report.counters.is_none() && self.counters.is_some() {
            return Ok(());
        }
        if let Some(counters) = report.counters {
            self.counters.get_or_insert_default().add(counters);
        }
        self.latency.add(&LatencyHistogram::read(&report.latency)?);
        Ok(())
    }
}
