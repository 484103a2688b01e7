//! One period of work by all workers, and what their reports add up to.

use std::time::Duration;

use lab::trial::Measured;

use super::clock::{Clock, Monotonic};
use super::crew::Crew;
use super::message::{BusyCounts, Kind, Report};
use super::pace::{Pace, SLOTS, Task};
use super::parameters::Parameters;
use super::verify::Acknowledged;
use super::worker;
use crate::error::TrialError;
use crate::measure::{CpuTime, LatencyHistogram};
use crate::workload::common::{add, set};

/// Time between the order and the start of the work, in which every worker gets it.
pub(in crate::workload) const LEAD: Duration = Duration::from_millis(5);

/// The operations acknowledged to each writer so far.
pub(super) struct Writers(pub(super) Vec<Acknowledged>);

impl Writers {
    pub(super) fn new(writers: u32) -> Writers {
        let none = |_| Acknowledged { attempted: 0, given_up: Vec::new() };
        Writers((0..writers).map(none).collect())
    }

    pub(super) fn add(&mut self, shift: &Shift) {
        for (acknowledged, report) in self.0.iter_mut().zip(&shift.reports) {
            acknowledged.attempted += report.attempted;
            acknowledged.given_up.extend(&report.given_up);
        }
    }
}

/// The reports of all workers on one period of work.
pub(in crate::workload) struct Shift {
    /// In the order of the workers: writers first.
    pub(in crate::workload) reports: Vec<Report>,
    writers: usize,
    start: u64,
    duration: Duration,
    cpu: CpuTime,
}

impl Shift {
    /// Lets every worker work for `duration`, each at its pace.
    pub(super) fn run(
        crew: &mut Crew,
        parameters: &Parameters,
        duration: Duration,
        pace: impl Fn(usize) -> Pace,
    ) -> Result<Shift, TrialError> {
        let start = Monotonic.now() + LEAD.as_nanos() as u64;
        let workers = (parameters.writers + parameters.readers) as usize;
        let tasks: Vec<_> =
            (0..workers).map(|index| worker::task(pace(index), start, duration)).collect();
        Shift::carry_out(crew, &tasks, parameters.writers as usize, duration)
    }

    /// Lets each worker do its task, all from the same moment on. `duration` is zero where the work ends by a number
    /// of operations.
    pub(in crate::workload) fn carry_out(
        crew: &mut Crew,
        tasks: &[Task],
        writers: usize,
        duration: Duration,
    ) -> Result<Shift, TrialError> {
        let cpu = CpuTime::now()?;
        let reports = crew.work(tasks)?;
        Ok(Shift {
            reports,
            writers,
            start: tasks.first().map_or(0, |task| task.start),
            duration,
            cpu: CpuTime::now()?.since(cpu),
        })
    }

    fn of(&self, kind: Kind) -> &[Report] {
        let (writers, readers) = self.reports.split_at(self.writers);
        match kind {
            Kind::Writer => writers,
            Kind::Reader | Kind::Client => readers,
        }
    }

    /// From the begin to the end of the last operation, or of the time in which they arrive.
    pub(in crate::workload) fn seconds(&self) -> f64 {
        let last = self.reports.iter().map(|report| report.last_end).max();
        let worked = Duration::from_nanos(last.unwrap_or(0).saturating_sub(self.start));
        worked.max(self.duration).as_secs_f64()
    }

    /// Operations done a second.
    pub(super) fn per_s(&self, kind: Kind) -> f64 {
        done(self.of(kind)) as f64 / self.seconds()
    }

    pub(super) fn note_capacity(&self, measured: &mut Measured) {
        for (kind, metric) in
            [(Kind::Writer, "txns_per_s.capacity"), (Kind::Reader, "queries_per_s.capacity")]
        {
            if !self.of(kind).is_empty() {
                set(measured, metric, self.per_s(kind));
            }
        }
    }

    pub(super) fn note(
        &self,
        rates: Option<(f64, f64)>,
        parameters: &Parameters,
        measured: &mut Measured,
    ) -> Result<(), TrialError> {
        set(measured, "seconds", self.seconds());
        self.note_cpu(measured);
        measured.windows = self.windows();
        for (kind, metric, phase) in
            [(Kind::Writer, "txns_per_s", "write"), (Kind::Reader, "queries_per_s", "read")]
        {
            if !self.of(kind).is_empty() {
                set(measured, metric, self.per_s(kind));
                let latencies = latencies(self.of(kind))?;
                measured.metrics.extend(latencies.metrics_of_phase(phase));
                // One distribution is kept whole: that of writes, where there are any.
                measured.latency.get_or_insert(latencies.latency()?);
            }
        }
        self.note_hindrances(parameters.busy_timeout.0, measured);
        self.note_counts(measured);
        match rates {
            Some(_) => self.note_offer(measured),
            None => Ok(()),
        }
    }

    /// The trial's own CPU time, and that of workers which are processes.
    pub(in crate::workload) fn note_cpu(&self, measured: &mut Measured) {
        let others = self.reports.iter().filter_map(|report| report.cpu);
        let (user, system) = others
            .fold((self.cpu.user, self.cpu.system), |sum, cpu| (sum.0 + cpu.0, sum.1 + cpu.1));
        set(measured, "cpu_user_s", user);
        set(measured, "cpu_system_s", system);
    }

    /// What stood in the way of connections that wait so long for a lock.
    pub(in crate::workload) fn note_hindrances(&self, patience: Duration, measured: &mut Measured) {
        let mut busy = BusyCounts::default();
        for report in &self.reports {
            busy.add(report.busy);
        }
        let given_up: usize = self.reports.iter().map(|r| r.given_up.len()).sum();
        set(measured, "busy_errors", busy.errors as f64);
        set(measured, "busy_snapshots", busy.snapshots as f64);
        set(measured, "retries", busy.retries as f64);
        set(measured, "given_up", given_up as f64);
        // Without a timeout every refusal is at once.
        if !patience.is_zero() {
            set(measured, "busy_at_once", busy.at_once as f64);
        }
    }

    /// What all connections together did to files and to their page caches, in a counting trial.
    pub(in crate::workload) fn note_counts(&self, measured: &mut Measured) {
        for (metric, count) in self.reports.iter().flat_map(|report| &report.counts) {
            add(measured, metric, *count);
        }
    }

    pub(in crate::workload) fn note_offer(
        &self,
        measured: &mut Measured,
    ) -> Result<(), TrialError> {
        let sum = |count: fn(&Report) -> u64| self.reports.iter().map(count).sum::<u64>() as f64;
        let time = match self.duration.is_zero() {
            true => self.seconds(),
            false => self.duration.as_secs_f64(),
        };
        let offered = sum(|report| report.offered) / time;
        let achieved = done(&self.reports) as f64 / self.seconds();
        set(measured, "offered_per_s", offered);
        set(measured, "unserved", sum(|report| report.unserved));
        if offered > 0.0 {
            set(measured, "served_percent", 100.0 * achieved / offered);
        }
        let mut late = LatencyHistogram::new();
        for report in &self.reports {
            late.add(&LatencyHistogram::read(&report.late)?);
        }
        if late.count() > 0 {
            set(measured, "timer_late_us", late.quantile_us(0.99));
        }
        Ok(())
    }

    /// Operations a second in each hundredth of the time.
    pub(in crate::workload) fn windows(&self) -> Vec<f64> {
        let slot_s = self.duration.as_secs_f64() / SLOTS as f64;
        let done = |slot: usize| -> u64 { self.reports.iter().map(|r| r.slots[slot]).sum() };
        (0..SLOTS).map(|slot| done(slot) as f64 / slot_s).collect()
    }
}

pub(in crate::workload) fn done(reports: &[Report]) -> u64 {
    let of = |report: &Report| report.attempted - report.given_up.len() as u64;
    reports.iter().map(of).sum()
}

pub(in crate::workload) fn latencies(reports: &[Report]) -> Result<LatencyHistogram, TrialError> {
    let mut all = LatencyHistogram::new();
    for report in reports {
        all.add(&LatencyHistogram::read(&report.latency)?);
    }
    Ok(all)
}
