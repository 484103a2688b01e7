//! One period of work by all workers, and the figures of their reports.

use std::time::Duration;

use lab::trial::Measured;

use super::messages::{BusyCounts, TaskReport};
use super::pacing::{Clock, Monotonic, Nanos, Progress, SLOTS, Task};
use super::pool::WorkerPool;
use crate::error::Result;
use crate::measure::{CpuTime, LatencyHistogram};
use crate::workload::common::{add, set, set_cpu};

/// Time between the request and the start of the work, in which it reaches every worker.
const LEAD: Duration = Duration::from_millis(5);

/// Returns the moment at which a period starts whose tasks are given out now.
pub(crate) fn next_start() -> Nanos {
    Monotonic.now() + LEAD.as_nanos() as u64
}

/// The reports of all workers on one period of work.
pub(crate) struct Period {
    /// In the order of the workers.
    pub(crate) reports: Vec<TaskReport>,
    start: Nanos,
    duration: Duration,
    cpu: CpuTime,
}

impl Period {
    /// Lets each worker do its task, all from the same moment on. `duration` is zero if a number of operations ends the
    /// work.
    pub(crate) fn run(pool: &mut WorkerPool, tasks: &[Task], duration: Duration) -> Result<Period> {
        let cpu = CpuTime::now()?;
        let reports = pool.work(tasks)?;
        Ok(Period {
            reports,
            start: tasks.first().map_or(0, |task| task.start),
            duration,
            cpu: CpuTime::now()?.since(cpu),
        })
    }

    /// Returns the time from the begin to the end of the last operation, or of the time in which they arrive.
    pub(crate) fn seconds(&self) -> f64 {
        let last = self.reports.iter().map(|report| report.progress.last_end).max();
        let worked = Duration::from_nanos(last.unwrap_or(0).saturating_sub(self.start));
        worked.max(self.duration).as_secs_f64()
    }

    /// Notes the CPU time of the trial itself and of worker processes.
    pub(crate) fn note_cpu(&self, measured: &mut Measured) {
        let workers = self.reports.iter().filter_map(|report| report.cpu);
        set_cpu(measured, workers.fold(self.cpu, CpuTime::plus));
    }

    /// Notes how often locks stood in the way of connections with this busy timeout.
    pub(crate) fn note_busy(&self, busy_timeout: Duration, measured: &mut Measured) {
        let mut busy = BusyCounts::default();
        for report in &self.reports {
            busy.add(report.busy);
        }
        let given_up: usize =
            self.reports.iter().map(|report| report.progress.given_up.len()).sum();
        set(measured, "busy_errors", busy.errors as f64);
        set(measured, "busy_snapshots", busy.snapshots as f64);
        set(measured, "retries", busy.retries as f64);
        set(measured, "given_up", given_up as f64);
        // Without a timeout every refusal is at once.
        if !busy_timeout.is_zero() {
            set(measured, "busy_at_once", busy.at_once as f64);
        }
    }

    /// Notes the file operations and page cache counters of all connections together, in a counting trial.
    pub(crate) fn note_counts(&self, measured: &mut Measured) {
        for (metric, count) in self.reports.iter().flat_map(|report| &report.counts) {
            add(measured, metric, *count);
        }
    }

    /// Notes how many operations arrived, and how many of them were served.
    pub(crate) fn note_arrivals(&self, measured: &mut Measured) {
        let sum = |count: fn(&Progress) -> u64| -> f64 {
            self.reports.iter().map(|report| count(&report.progress)).sum::<u64>() as f64
        };
        let time =
            if self.duration.is_zero() { self.seconds() } else { self.duration.as_secs_f64() };
        let offered = sum(|progress| progress.offered) / time;
        let achieved = done(&self.reports) as f64 / self.seconds();
        set(measured, "offered_per_s", offered);
        set(measured, "unserved", sum(|progress| progress.unserved));
        if offered > 0.0 {
            set(measured, "served_percent", 100.0 * achieved / offered);
        }
        let mut late = LatencyHistogram::default();
        for report in &self.reports {
            late.add(&report.progress.late);
        }
        if late.count() > 0 {
            set(measured, "timer_late_us", late.quantile_us(0.99));
        }
    }

    /// Returns the operations a second in each hundredth of the time.
    pub(crate) fn windows(&self) -> Vec<f64> {
        let slot_s = self.duration.as_secs_f64() / SLOTS as f64;
        let done = |slot: usize| -> u64 {
            self.reports.iter().map(|report| report.progress.slots[slot]).sum()
        };
        (0..SLOTS).map(|slot| done(slot) as f64 / slot_s).collect()
    }
}

/// Returns the number of operations that were done.
pub(crate) fn done(reports: &[TaskReport]) -> u64 {
    reports.iter().map(|report| report.progress.done()).sum()
}

/// Returns the latencies of all operations.
pub(crate) fn latencies(reports: &[TaskReport]) -> LatencyHistogram {
    let mut all = LatencyHistogram::default();
    for report in reports {
        all.add(&report.progress.latency);
    }
    all
}
