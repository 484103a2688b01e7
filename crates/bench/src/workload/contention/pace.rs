//! The pacing of one worker: operations one after another, or as they arrive.
//!
//! In an open loop the latency of an operation counts from the moment at which it should have
//! begun. A worker that was held up begins the next ones late, and their users waited all that
//! time; measured from the actual begin, just the worst moments would hardly be measured at all
//! ("coordinated omission", Gil Tene, "How NOT to measure latency", 2013).

use std::time::Duration;

use lab::seed::Seed;
use serde::{Deserialize, Serialize};

use super::arrivals::Arrivals;
use super::clock::{Clock, Nanos};
use crate::error::TrialError;
use crate::measure::LatencyHistogram;

/// Parts that the time of the work is divided into, for the throughput over its course.
pub(in crate::workload) const SLOTS: usize = 100;

/// When operations begin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::workload) enum Pace {
    /// Closed loop: each when the one before it has ended.
    Closed,
    /// Open loop: as they arrive.
    Arrivals {
        /// How many a second for this worker.
        per_s: f64,
        /// From which the schedule derives.
        seed: Seed,
    },
}

/// A piece of work for one worker. Moments are those of the monotonic clock, the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::workload) struct Task {
    /// When operations begin.
    pub(in crate::workload) pace: Pace,
    /// When the work begins.
    pub(in crate::workload) start: Nanos,
    /// From when on none begins or arrives any more.
    pub(in crate::workload) end: Nanos,
    /// From when on those that have arrived are not begun any more: the end of an overload.
    pub(in crate::workload) stop: Nanos,
    /// Operations after which the work ends; 0 for no such end.
    #[serde(default)]
    pub(in crate::workload) most: u64,
    /// Time between two operations of a closed loop.
    #[serde(default)]
    pub(in crate::workload) think: Nanos,
}

impl Task {
    /// Whether so many operations are all there are to be.
    fn is_full(&self, operations: u64) -> bool {
        self.most > 0 && operations >= self.most
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::workload) struct Ended {
    /// Whether it was done; otherwise it was given up.
    pub(in crate::workload) done: bool,
    /// When, if that is known: reading the clock takes as long as a tenth of a short statement.
    pub(in crate::workload) at: Option<Nanos>,
}

impl From<bool> for Ended {
    fn from(done: bool) -> Ended {
        Ended { done, at: None }
    }
}

/// What became of a worker's operations.
pub(in crate::workload) struct Course {
    /// Latencies of the operations that were done, and of those that still waited in the end.
    pub(in crate::workload) latency: LatencyHistogram,
    /// How late an idle worker was woken for an operation.
    pub(in crate::workload) late: LatencyHistogram,
    /// Operations that arrived, or that were begun in a closed loop.
    pub(in crate::workload) offered: u64,
    /// Those that were begun.
    pub(in crate::workload) attempted: u64,
    /// The numbers of those that were begun and given up, ascending.
    pub(in crate::workload) given_up: Vec<u64>,
    /// Those that were not begun before the stop.
    pub(in crate::workload) unserved: u64,
    /// Operations done in each hundredth of the time.
    pub(in crate::workload) slots: Vec<u64>,
    /// When the last operation ended.
    pub(in crate::workload) last_end: Nanos,
}

/// Carries out a task. `operation` gets the number of each operation, from `first` on, and the present moment,
/// and says how it ended.
///
/// # Errors
/// The first of `operation`, which ends the work.
pub(in crate::workload) fn carry_out(
    clock: &impl Clock,
    task: &Task,
    first: u64,
    operation: impl FnMut(u64, Nanos) -> Result<Ended, TrialError>,
) -> Result<Course, TrialError> {
    let mut pacer = Pacer {
        clock,
        task,
        first,
        operation,
        slot: 0,
        slot_end: 0,
        course: Course {
            latency: LatencyHistogram::new(),
            late: LatencyHistogram::new(),
            offered: 0,
            attempted: 0,
            given_up: Vec::new(),
            unserved: 0,
            slots: vec![0; SLOTS],
            last_end: task.start,
        },
    };
    clock.wait_until(task.start);
    match task.pace {
        Pace::Closed => pacer.closed()?,
        Pace::Arrivals { per_s, seed } => pacer.open(Arrivals::new(seed, per_s))?,
    }
    Ok(pacer.course)
}

struct Pacer<'a, C, F> {
    clock: &'a C,
    task: &'a Task,
    first: u64,
    operation: F,
    /// The hundredth of the time in which the last operation ended, and when that hundredth ends.
    slot: usize,
    slot_end: Nanos,
    course: Course,
}

impl<C: Clock, F: FnMut(u64, Nanos) -> Result<Ended, TrialError>> Pacer<'_, C, F> {
    fn closed(&mut self) -> Result<(), TrialError> {
        let mut now = self.clock.now();
        // A worker that is woken after the end does one operation, so that every trial has a rate.
        while self.course.offered == 0
            || (now < self.task.end && !self.task.is_full(self.course.offered))
        {
            self.course.offered += 1;
            now = self.attempt(now, now)?;
            if self.task.think > 0 {
                self.clock.wait_until(now + self.task.think);
                now = self.clock.now();
            }
        }
        Ok(())
    }

    fn open(&mut self, arrivals: Arrivals) -> Result<(), TrialError> {
        let (start, end) = (self.task.start, self.task.end);
        let arrivals = arrivals.map(|after| start.saturating_add(after));
        for intended in arrivals.take_while(|intended| *intended < end) {
            if self.task.is_full(self.course.offered) {
                break;
            }
            self.course.offered += 1;
            let mut now = self.clock.now();
            if now >= self.task.stop {
                self.course.unserved += 1;
                self.course.latency.record(between(intended, now));
                continue;
            }
            if now < intended {
                self.clock.wait_until(intended);
                now = self.clock.now();
                self.course.late.record(between(intended, now));
            }
            self.attempt(intended, now)?;
        }
        Ok(())
    }

    /// One operation, timed from `intended`; the moment of its end.
    fn attempt(&mut self, intended: Nanos, now: Nanos) -> Result<Nanos, TrialError> {
        let number = self.first + self.course.attempted;
        self.course.attempted += 1;
        let Ended { done, at } = (self.operation)(number, now)?;
        let ended = at.unwrap_or_else(|| self.clock.now());
        if done {
            self.course.latency.record(between(intended, ended));
            self.count(ended);
        } else {
            self.course.given_up.push(number);
        }
        self.course.last_end = ended;
        Ok(ended)
    }

    /// Counts an operation in its hundredth of the time, which is looked for when the one before is over: a division
    /// takes as long as a tenth of a short statement.
    fn count(&mut self, ended: Nanos) {
        if ended >= self.slot_end {
            self.find_slot(ended);
        }
        if let Some(done) = self.course.slots.get_mut(self.slot) {
            *done += 1;
        }
    }

    #[cold]
    fn find_slot(&mut self, ended: Nanos) {
        let whole = (self.task.end - self.task.start).max(1);
        let passed = ended.saturating_sub(self.task.start);
        // A hundred times as long as any trial lasts still fits.
        let slot = passed.saturating_mul(SLOTS as u64) / whole;
        let next = whole.saturating_mul(slot + 1).div_ceil(SLOTS as u64);
        self.slot = slot as usize;
        self.slot_end = self.task.start.saturating_add(next);
    }
}

fn between(from: Nanos, to: Nanos) -> Duration {
    Duration::from_nanos(to.saturating_sub(from))
}

#[cfg(test)]
mod tests {
    use super::super::clock::tests::Mock;
    use super::*;
    use proptest::prelude::*;

    const MILLI: Nanos = 1_000_000;

    fn task(pace: Pace, end: Nanos, stop: Nanos) -> Task {
        Task { pace, start: 0, end, stop, most: 0, think: 0 }
    }

    fn arrivals(per_s: f64) -> Pace {
        Pace::Arrivals { per_s, seed: Seed(5) }
    }

    #[test]
    fn after_a_stall_latency_counts_from_the_intended_start() {
        // A hundred operations a second for a second; the first takes half a second, each other
        // 1 ms. About fifty arrive during the stall, and must be seen to have waited for it.
        let clock = Mock::default();
        let task = task(arrivals(100.0), 1_000 * MILLI, 9_000 * MILLI);
        let course = carry_out(&clock, &task, 0, |number, _| {
            clock.pass(if number == 0 { 500 * MILLI } else { MILLI });
            Ok(true.into())
        })
        .unwrap();
        let expected: Vec<Nanos> = {
            let mut free = 0;
            Arrivals::new(Seed(5), 100.0)
                .take_while(|at| *at < 1_000 * MILLI)
                .enumerate()
                .map(|(number, at)| {
                    free = at.max(free) + if number == 0 { 500 * MILLI } else { MILLI };
                    free - at
                })
                .collect()
        };
        assert_eq!(course.latency.count(), expected.len() as u64);
        let slow = expected.iter().filter(|at| **at > 100 * MILLI).count();
        assert!(slow > 30, "the test needs a queue: {slow}");
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        for quantile in [0.5, 0.9, 1.0] {
            let rank = ((sorted.len() as f64 * quantile).ceil() as usize).max(1);
            let wanted = sorted[rank - 1] as f64 / 1e3;
            let found = course.latency.quantile_us(quantile);
            assert!((found / wanted - 1.0).abs() < 0.002, "{found} {wanted}");
        }
    }

    #[test]
    fn a_closed_loop_measures_service_alone_and_hides_the_waiting() {
        let clock = Mock::default();
        let task = task(Pace::Closed, 1_000 * MILLI, 1_000 * MILLI);
        let course = carry_out(&clock, &task, 7, |number, _| {
            clock.pass(if number == 7 { 500 * MILLI } else { MILLI });
            Ok(true.into())
        })
        .unwrap();
        assert_eq!((course.attempted, course.offered), (501, 501));
        assert!(course.latency.quantile_us(0.99) < 1_002.0);
        assert_eq!(course.last_end, 1_000 * MILLI);
        assert_eq!(course.slots.iter().sum::<u64>(), 500);
    }

    #[test]
    fn what_an_overload_leaves_unserved_is_counted_with_the_wait_it_had() {
        let clock = Mock::default();
        let task = task(arrivals(1_000.0), 1_000 * MILLI, 2_000 * MILLI);
        let course = carry_out(&clock, &task, 0, |_, _| {
            clock.pass(10 * MILLI);
            Ok(true.into())
        })
        .unwrap();
        assert!(course.unserved > 700, "{}", course.unserved);
        assert_eq!(course.attempted + course.unserved, course.offered);
        assert_eq!(course.latency.count(), course.offered);
        assert!(course.latency.quantile_us(1.0) >= 999_000.0);
    }

    #[test]
    fn what_is_given_up_is_numbered_and_has_no_latency() {
        let clock = Mock::default();
        let task = task(Pace::Closed, 10 * MILLI, 10 * MILLI);
        let course = carry_out(&clock, &task, 100, |number, _| {
            clock.pass(MILLI);
            Ok((number % 3 != 0).into())
        })
        .unwrap();
        assert_eq!(course.given_up, [102, 105, 108]);
        assert_eq!((course.attempted, course.latency.count()), (10, 7));
    }

    #[test]
    fn a_number_of_operations_ends_the_work_and_thinking_is_no_latency() {
        let clock = Mock::default();
        let closed =
            Task { most: 5, think: 10 * MILLI, ..task(Pace::Closed, 1_000 * MILLI, 1_000 * MILLI) };
        let pass = |_, _| {
            clock.pass(MILLI);
            Ok(true.into())
        };
        let course = carry_out(&clock, &closed, 0, pass).unwrap();
        assert_eq!((course.attempted, course.offered), (5, 5));
        assert_eq!((course.last_end, clock.now()), (45 * MILLI, 55 * MILLI));
        assert!(course.latency.quantile_us(1.0) < 1_002.0);
        let open = Task { most: 5, ..task(arrivals(100.0), 1_000 * MILLI, 9_000 * MILLI) };
        let course = carry_out(&Mock::default(), &open, 0, |_, _| Ok(true.into())).unwrap();
        assert_eq!((course.attempted, course.offered), (5, 5));
    }

    #[test]
    fn an_error_ends_the_work() {
        let clock = Mock::default();
        let task = task(Pace::Closed, MILLI, MILLI);
        let failed =
            carry_out(&clock, &task, 0, |_, _| Err(TrialError::Measuring("as told".to_owned())));
        assert!(failed.is_err());
    }

    proptest! {
        #[test]
        fn every_arrival_is_done_given_up_or_unserved(
            seed: u64,
            per_s in 10.0..5_000.0,
            service in 1..5_000_000_u64,
            refuse in 1..10_u64,
        ) {
            let clock = Mock::default();
            let pace = Pace::Arrivals { per_s, seed: Seed(seed) };
            let task = task(pace, 300 * MILLI, 600 * MILLI);
            let course = carry_out(&clock, &task, 0, |number, _| {
                clock.pass(service);
                Ok((number % refuse != 0).into())
            })
            .unwrap();
            let done = course.attempted - course.given_up.len() as u64;
            prop_assert_eq!(done + course.unserved, course.latency.count());
            prop_assert_eq!(course.attempted + course.unserved, course.offered);
            prop_assert!(course.slots.iter().sum::<u64>() <= done);
        }
    }
}
