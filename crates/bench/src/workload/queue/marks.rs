//! When operations ended: kept one by one while the clock runs, because a thousand histograms would
//! not fit into memory, and made into latencies and throughput afterwards.

use std::time::{Duration, Instant};

use lab::trial::Measured;

use crate::error::TrialError;
use crate::measure::LatencyHistogram;
use crate::parameters::Choice;
use crate::workload::common::set_latency;

/// Parts of the time for which throughput is given.
const WINDOWS: usize = 100;

choice! {
    /// A kind of operation; its name is that of its phase.
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

/// The operations of one worker, each of which begins when the last has ended.
#[derive(Debug)]
pub(super) struct Marks {
    began: Instant,
    /// How long after that the worker was awake: before, it is no operation's time.
    woke: Duration,
    /// What ended, how long after `began`, and how many operations it was.
    ends: Vec<(Op, Duration, u32)>,
}

impl Marks {
    /// For about so many operations.
    pub(super) fn with_room(operations: usize) -> Marks {
        Marks { began: Instant::now(), woke: Duration::ZERO, ends: Vec::with_capacity(operations) }
    }

    /// The clock has started at this moment.
    pub(super) fn start(&mut self, began: Instant) {
        self.began = began;
        self.woke = began.elapsed();
    }

    /// An operation has ended, or so many in one transaction.
    #[inline]
    pub(super) fn end(&mut self, op: Op, operations: u32) {
        self.ends.push((op, self.began.elapsed(), operations));
    }
}

/// The operations of all workers in all repetitions, one after the other.
#[derive(Debug, Default)]
pub(super) struct Course {
    marks: Vec<(Duration, Marks)>,
    length: Duration,
}

impl Course {
    /// Adds a repetition.
    pub(super) fn add(&mut self, marks: Vec<Marks>, seconds: f64) {
        let after = self.length;
        self.marks.extend(marks.into_iter().map(|marks| (after, marks)));
        self.length += Duration::from_secs_f64(seconds);
    }

    /// Notes latencies, of each kind of operation and of all changes together, and throughput over
    /// time.
    pub(super) fn note(&self, measured: &mut Measured) -> Result<(), TrialError> {
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
        for (_, marks) in &self.marks {
            let mut before = marks.woke;
            for (op, end, _) in &marks.ends {
                if *op == wanted {
                    histogram.record(end.saturating_sub(before));
                }
                before = *end;
            }
        }
        histogram
    }

    /// Operations a second in each hundredth of the time.
    fn windows(&self) -> Vec<f64> {
        let slot = self.length.as_secs_f64() / WINDOWS as f64;
        if slot <= 0.0 {
            return Vec::new();
        }
        let mut done = vec![0_u64; WINDOWS];
        for (after, marks) in &self.marks {
            for (_, end, operations) in &marks.ends {
                let place = (*after + *end).as_secs_f64() / slot;
                done[(place as usize).min(WINDOWS - 1)] += u64::from(*operations);
            }
        }
        done.into_iter().map(|done| done as f64 / slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(ends: &[(Op, u64)]) -> Marks {
        Marks {
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
        let mut course = Course::default();
        course.add(
            vec![marks(&[(Op::Insert, 10), (Op::Delete, 40)]), marks(&[(Op::Insert, 20)])],
            0.1,
        );
        let mut measured = Measured::default();
        course.note(&mut measured).unwrap();
        let metric = |name: &str| measured.metrics[name];
        assert!((metric("max_us.insert") / 20_000.0 - 1.0).abs() < 0.01);
        assert!((metric("max_us.delete") / 30_000.0 - 1.0).abs() < 0.01);
        assert!(!measured.metrics.contains_key("max_us.claim"));
        assert_eq!(measured.latency.unwrap().count, 3);
    }

    #[test]
    fn repetitions_follow_one_another_in_the_windows() {
        let mut course = Course::default();
        course.add(vec![marks(&[(Op::Get, 5)])], 0.05);
        course.add(vec![marks(&[(Op::Get, 25), (Op::Get, 50)])], 0.05);
        let windows = course.windows();
        assert_eq!(windows.len(), WINDOWS);
        let busy: Vec<usize> = (0..WINDOWS).filter(|at| windows[*at] > 0.0).collect();
        assert_eq!(busy, [5, 75, 99]);
        let done: f64 = windows.iter().map(|rate| rate * 0.001).sum();
        assert!((done - 3.0).abs() < 1e-9);
        assert!(Course::default().windows().is_empty());
    }
}
