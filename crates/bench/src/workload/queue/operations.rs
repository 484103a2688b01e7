//! The ends of operations. They are kept one by one while the clock runs, because a thousand histograms would not fit into
//! memory, and become latencies and throughput afterwards.

use std::time::{Duration, Instant};

use lab::trial::Measured;

use crate::drive::pacing::SLOTS;
use crate::error::Result;
use crate::measure::LatencyHistogram;
use crate::parameters::Choice;
use crate::workload::common::set_latency;

choice! {
    /// A kind of operation, with the name of its phase.
    enum Op {
        /// A task is added.
        Insert = "insert",
        /// Its status changes.
        Status = "status",
        /// Its output changes.
        Output = "output",
        /// It is removed.
        Delete = "delete",
        /// The task that is due first is taken.
        Claim = "claim",
        /// A task is read.
        Get = "get",
        /// Tasks of a status are listed.
        List = "list",
        /// Several statements and the commit.
        Transaction = "transaction",
    }
}

/// The operations of one worker. Each begins when the last has ended.
#[derive(Debug)]
pub(super) struct OperationLog {
    began: Instant,
    /// Delay until the worker was awake, which belongs to no operation.
    woke: Duration,
    /// The kind of each operation, its end after `began`, and the number of operations.
    ends: Vec<(Op, Duration, u32)>,
}

impl OperationLog {
    /// Allocates memory for about this number of operations.
    pub(super) fn with_room(operations: usize) -> OperationLog {
        OperationLog {
            began: Instant::now(),
            woke: Duration::ZERO,
            ends: Vec::with_capacity(operations),
        }
    }

    /// Starts the log at the moment at which the clock has started.
    pub(super) fn start(&mut self, began: Instant) {
        self.began = began;
        self.woke = began.elapsed();
    }

    /// Notes the end of an operation, or of several in one transaction.
    #[inline]
    pub(super) fn end(&mut self, op: Op, operations: u32) {
        self.ends.push((op, self.began.elapsed(), operations));
    }
}

/// The operations of all workers in all repetitions, one after the other.
#[derive(Debug, Default)]
pub(super) struct Operations {
    logs: Vec<(Duration, OperationLog)>,
    length: Duration,
}

impl Operations {
    /// Adds a repetition.
    pub(super) fn add(&mut self, logs: Vec<OperationLog>, seconds: f64) {
        let after = self.length;
        self.logs.extend(logs.into_iter().map(|log| (after, log)));
        self.length += Duration::from_secs_f64(seconds);
    }

    /// Notes latencies, of each kind of operation and of all together, and throughput over time.
    pub(super) fn note(&self, measured: &mut Measured) -> Result<()> {
        let mut all = LatencyHistogram::new();
        for (op, phase, _) in Op::ALL {
            let of_kind = self.latencies(*op);
            if of_kind.count() == 0 {
                continue;
            }
            all.add(&of_kind);
            measured.metrics.extend(of_kind.metrics_of_phase(phase));
        }
        set_latency(measured, &all)?;
        measured.windows = self.windows();
        Ok(())
    }

    fn latencies(&self, wanted: Op) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        for (_, log) in &self.logs {
            let mut before = log.woke;
            for (op, end, _) in &log.ends {
                if *op == wanted {
                    histogram.record(end.saturating_sub(before));
                }
                before = *end;
            }
        }
        histogram
    }

    /// Returns the operations a second in each hundredth of the time.
    fn windows(&self) -> Vec<f64> {
        let slot = self.length.as_secs_f64() / SLOTS as f64;
        if slot <= 0.0 {
            return Vec::new();
        }
        let mut done = vec![0_u64; SLOTS];
        for (after, log) in &self.logs {
            for (_, end, operations) in &log.ends {
                let place = (*after + *end).as_secs_f64() / slot;
                done[(place as usize).min(SLOTS - 1)] += u64::from(*operations);
            }
        }
        done.into_iter().map(|done| done as f64 / slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(ends: &[(Op, u64)]) -> OperationLog {
        OperationLog {
            began: Instant::now(),
            woke: Duration::ZERO,
            ends: ends
                .iter()
                .map(|(op, millis)| (*op, Duration::from_millis(*millis), 1))
                .collect(),
        }
    }

    #[test]
    fn a_latency_is_the_time_since_the_last_operation_of_the_worker() {
        let mut operations = Operations::default();
        operations
            .add(vec![log(&[(Op::Insert, 10), (Op::Delete, 40)]), log(&[(Op::Insert, 20)])], 0.1);
        let mut measured = Measured::default();
        operations.note(&mut measured).unwrap();
        let metric = |name: &str| measured.metrics[name];
        assert!((metric("max_us.insert") / 20_000.0 - 1.0).abs() < 0.01);
        assert!((metric("max_us.delete") / 30_000.0 - 1.0).abs() < 0.01);
        assert!(!measured.metrics.contains_key("max_us.claim"));
        assert_eq!(measured.latency.unwrap().count, 3);
    }

    #[test]
    fn repetitions_follow_one_another_in_the_windows() {
        let mut operations = Operations::default();
        operations.add(vec![log(&[(Op::Get, 5)])], 0.05);
        operations.add(vec![log(&[(Op::Get, 25), (Op::Get, 50)])], 0.05);
        let windows = operations.windows();
        assert_eq!(windows.len(), SLOTS);
        let busy: Vec<usize> = (0..SLOTS).filter(|at| windows[*at] > 0.0).collect();
        assert_eq!(busy, [5, 75, 99]);
        let done: f64 = windows.iter().map(|rate| rate * 0.001).sum();
        assert!((done - 3.0).abs() < 1e-9);
        assert!(Operations::default().windows().is_empty());
    }
}
