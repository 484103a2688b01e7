//! The pacing of one worker: operations one after another (closed loop), or as they arrive (open loop).
//!
//! In an open loop the latency of an operation counts from the moment at which it should have begun. A stalled worker begins
//! the next operations late, and their users wait all that time. Measured from the actual begin, just the worst moments would
//! hardly be measured ("coordinated omission", Gil Tene, "How NOT to measure latency", 2013).
//!
//! The clock by which operations are begun and timed.
//!
//! It reads the system's monotonic clock, so that several processes agree on a moment, which [`std::time::Instant`] cannot
//! tell another process. It is a trait so that the pacing of a stalled worker can be tested without waiting.

use std::time::Duration;

use lab::seed::{Seed, SplitMix64};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::measure::LatencyHistogram;

/// Parts that the time of the work is divided into, for the throughput over time.
pub(crate) const SLOTS: usize = 100;

/// The rule by which operations begin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Pacing {
    /// Closed loop: each when the one before it has ended.
    Closed,
    /// Open loop: as they arrive at the rate of this worker.
    Arrivals { per_s: f64, seed: Seed },
}

/// A piece of work for one worker. Its moments are readings of the monotonic clock, which all workers share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The rule by which operations begin.
    pub(crate) pacing: Pacing,
    /// The moment at which the work begins.
    pub(crate) start: Nanos,
    /// The moment from which no operation begins or arrives.
    pub(crate) end: Nanos,
    /// The moment from which no operation begins, even if it arrived before: the end of an overload.
    pub(crate) stop: Nanos,
    /// Number of operations after which the work ends; 0 for no limit.
    #[serde(default)]
    pub(crate) most: u64,
    /// Number of operations of a closed loop that are carried out even after the end; at least one, so that every trial has a
    /// rate.
    #[serde(default)]
    pub(crate) least: u64,
    /// Time between two operations of a closed loop.
    #[serde(default)]
    pub(crate) think: Nanos,
}

impl Task {
    /// Returns a task that lasts for `duration` from `start` on, and is stopped after the same time again.
    pub(crate) fn timed(pacing: Pacing, start: Nanos, duration: Duration) -> Task {
        let duration = duration.as_nanos() as u64;
        let end = start + duration;
        Task { pacing, start, end, stop: end + duration, most: 0, least: 1, think: 0 }
    }

    /// Returns whether this is the last operation.
    fn is_full(&self, operations: u64) -> bool {
        self.most > 0 && operations >= self.most
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// Whether it was done or given up.
    pub(crate) done: bool,
    /// The moment, if known: reading the clock takes as long as a tenth of a short statement.
    pub(crate) at: Option<Nanos>,
}

impl From<bool> for Ended {
    fn from(done: bool) -> Ended {
        Ended { done, at: None }
    }
}

/// The outcomes of a worker's operations.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Latencies of the operations that were done or still waited in the end.
    pub(crate) latency: LatencyHistogram,
    /// Delays with which an idle worker was woken for an operation.
    pub(crate) late: LatencyHistogram,
    /// Number of operations that arrived, or that were begun in a closed loop.
    pub(crate) offered: u64,
    /// Number of operations that were begun.
    pub(crate) attempted: u64,
    /// The numbers of the operations that were given up, ascending.
    pub(crate) given_up: Vec<u64>,
    /// Number of operations that were not begun before the stop.
    pub(crate) unserved: u64,
    /// Number of operations that were done in each hundredth of the time.
    pub(crate) slots: Vec<u64>,
    /// End of the last operation.
    pub(crate) last_end: Nanos,
}

impl Progress {
    /// Returns the number of operations that were done.
    pub(crate) fn done(&self) -> u64 {
        self.attempted - self.given_up.len() as u64
    }
}

/// Carries out a task. `operation` gets the number of each operation, from `first` on, and the present moment, and returns
/// how it ended.
///
/// # Errors
/// The first error of `operation`, which ends the work.
pub(crate) fn run_task(
    clock: &impl Clock,
    task: &Task,
    first: u64,
    operation: impl FnMut(u64, Nanos) -> Result<Ended>,
) -> Result<Progress> {
    let mut running = Loop {
        clock,
        task,
        first,
        operation,
        slot: 0,
        slot_end: 0,
        progress: Progress { slots: vec![0; SLOTS], last_end: task.start, ..Progress::default() },
    };
    clock.wait_until(task.start);
    match task.pacing {
        Pacing::Closed => running.closed()?,
        Pacing::Arrivals { per_s, seed } => running.open(Arrivals::new(seed, per_s))?,
    }
    Ok(running.progress)
}

/// The moments at which operations of an open loop arrive, counted from the start, without end: a Poisson process, which is
/// what many independent users produce together. The sequence is a pure function of seed and rate.
#[derive(Clone, Debug)]
struct Arrivals {
    generator: SplitMix64,
    mean_gap_ns: f64,
    at_ns: f64,
}

impl Arrivals {
    /// Arrivals at `per_s` operations a second on average, and none at a rate that is not above zero.
    fn new(seed: Seed, per_s: f64) -> Arrivals {
        Arrivals { generator: seed.generator(), mean_gap_ns: 1e9 / per_s, at_ns: 0.0 }
    }
}

impl Iterator for Arrivals {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        if !self.mean_gap_ns.is_finite() || self.mean_gap_ns <= 0.0 {
            return None;
        }
        // 53 random bits as a number from 0 to below 1; gaps are exponentially distributed.
        let uniform = (self.generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        self.at_ns += -(1.0 - uniform).ln() * self.mean_gap_ns;
        Some(self.at_ns as Nanos)
    }
}

struct Loop<'a, C, F> {
    clock: &'a C,
    task: &'a Task,
    first: u64,
    operation: F,
    /// The hundredth of the time in which the last operation ended, and its end.
    slot: usize,
    slot_end: Nanos,
    progress: Progress,
}

impl<C: Clock, F: FnMut(u64, Nanos) -> Result<Ended>> Loop<'_, C, F> {
    fn closed(&mut self) -> Result<()> {
        let mut now = self.clock.now();
        while self.progress.offered < self.task.least.max(1)
            || (now < self.task.end && !self.task.is_full(self.progress.offered))
        {
            self.progress.offered += 1;
            now = self.attempt(now, now)?;
            if self.task.think > 0 {
                self.clock.wait_until(now + self.task.think);
                now = self.clock.now();
            }
        }
        Ok(())
    }

    fn open(&mut self, arrivals: Arrivals) -> Result<()> {
        let (start, end) = (self.task.start, self.task.end);
        let arrivals = arrivals.map(|after| start.saturating_add(after));
        for intended in arrivals.take_while(|intended| *intended < end) {
            if self.task.is_full(self.progress.offered) {
                break;
            }
            self.progress.offered += 1;
            let mut now = self.clock.now();
            if now >= self.task.stop {
                self.progress.unserved += 1;
                self.progress.latency.record(between(intended, now));
                continue;
            }
            if now < intended {
                self.clock.wait_until(intended);
                now = self.clock.now();
                self.progress.late.record(between(intended, now));
            }
            self.attempt(intended, now)?;
        }
        Ok(())
    }

    /// Carries out one operation, timed from `intended`. Returns the moment of its end.
    fn attempt(&mut self, intended: Nanos, now: Nanos) -> Result<Nanos> {
        let number = self.first + self.progress.attempted;
        self.progress.attempted += 1;
        let Ended { done, at } = (self.operation)(number, now)?;
        let ended = at.unwrap_or_else(|| self.clock.now());
        if done {
            self.progress.latency.record(between(intended, ended));
            self.count(ended);
        } else {
            self.progress.given_up.push(number);
        }
        self.progress.last_end = ended;
        Ok(ended)
    }

    /// Counts an operation in its hundredth of the time. The slot is computed only when the previous one is over, because a
    /// division takes as long as a tenth of a short statement.
    fn count(&mut self, ended: Nanos) {
        if ended >= self.slot_end {
            self.find_slot(ended);
        }
        if let Some(done) = self.progress.slots.get_mut(self.slot) {
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

/// A moment or a time, in nanoseconds.
pub(crate) type Nanos = u64;

/// A clock that can be waited for.
pub(crate) trait Clock {
    /// Returns the present moment.
    fn now(&self) -> Nanos;

    /// Waits until `moment`, which may be over.
    fn wait_until(&self, moment: Nanos);
}

/// The system's monotonic clock.
#[derive(Clone, Copy)]
pub(crate) struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Nanos {
        let time = clock_gettime(ClockId::Monotonic);
        // Neither part is ever negative.
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    fn wait_until(&self, moment: Nanos) {
        loop {
            let left = moment.saturating_sub(self.now());
            if left == 0 {
                return;
            }
            std::thread::sleep(Duration::from_nanos(left));
        }
    }
}

/// Asks the kernel to wake this thread on time instead of up to 50 µs later together with others (prctl(2),
/// `PR_SET_TIMERSLACK`). Lateness is measured whether or not it can.
pub(crate) fn request_precise_wakeups() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::error::TrialError;

    const MILLI: Nanos = 1_000_000;

    fn task(pacing: Pacing, end: Nanos, stop: Nanos) -> Task {
        Task { pacing, start: 0, end, stop, most: 0, least: 1, think: 0 }
    }

    fn arrivals(per_s: f64) -> Pacing {
        Pacing::Arrivals { per_s, seed: Seed(5) }
    }

    #[test]
    fn after_a_stall_latency_counts_from_the_intended_start() {
        // A hundred operations a second for a second; the first takes half a second, each other
        // 1 ms. About fifty arrive during the stall, and must be seen to have waited for it.
        let clock = MockClock::default();
        let task = task(arrivals(100.0), 1_000 * MILLI, 9_000 * MILLI);
        let progress = run_task(&clock, &task, 0, |number, _| {
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
        assert_eq!(progress.latency.count(), expected.len() as u64);
        let slow = expected.iter().filter(|at| **at > 100 * MILLI).count();
        assert!(slow > 30, "the test needs a queue: {slow}");
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        for quantile in [0.5, 0.9, 1.0] {
            let rank = ((sorted.len() as f64 * quantile).ceil() as usize).max(1);
            let wanted = sorted[rank - 1] as f64 / 1e3;
            let found = progress.latency.quantile_us(quantile);
            assert!((found / wanted - 1.0).abs() < 0.002, "{found} {wanted}");
        }
    }

    #[test]
    fn a_closed_loop_measures_service_alone_and_hides_the_waiting() {
        let clock = MockClock::default();
        let task = task(Pacing::Closed, 1_000 * MILLI, 1_000 * MILLI);
        let progress = run_task(&clock, &task, 7, |number, _| {
            clock.pass(if number == 7 { 500 * MILLI } else { MILLI });
            Ok(true.into())
        })
        .unwrap();
        assert_eq!((progress.attempted, progress.offered), (501, 501));
        assert!(progress.latency.quantile_us(0.99) < 1_002.0);
        assert_eq!(progress.last_end, 1_000 * MILLI);
        assert_eq!(progress.slots.iter().sum::<u64>(), 500);
    }

    #[test]
    fn what_an_overload_leaves_unserved_is_counted_with_the_wait_it_had() {
        let clock = MockClock::default();
        let task = task(arrivals(1_000.0), 1_000 * MILLI, 2_000 * MILLI);
        let progress = run_task(&clock, &task, 0, |_, _| {
            clock.pass(10 * MILLI);
            Ok(true.into())
        })
        .unwrap();
        assert!(progress.unserved > 700, "{}", progress.unserved);
        assert_eq!(progress.attempted + progress.unserved, progress.offered);
        assert_eq!(progress.latency.count(), progress.offered);
        assert!(progress.latency.quantile_us(1.0) >= 999_000.0);
    }

    #[test]
    fn what_is_given_up_is_numbered_and_has_no_latency() {
        let clock = MockClock::default();
        let task = task(Pacing::Closed, 10 * MILLI, 10 * MILLI);
        let progress = run_task(&clock, &task, 100, |number, _| {
            clock.pass(MILLI);
            Ok((number % 3 != 0).into())
        })
        .unwrap();
        assert_eq!(progress.given_up, [102, 105, 108]);
        assert_eq!((progress.attempted, progress.latency.count()), (10, 7));
    }

    #[test]
    fn a_number_of_operations_ends_the_work_and_thinking_is_no_latency() {
        let clock = MockClock::default();
        let closed = Task {
            most: 5,
            think: 10 * MILLI,
            ..task(Pacing::Closed, 1_000 * MILLI, 1_000 * MILLI)
        };
        let pass = |_, _| {
            clock.pass(MILLI);
            Ok(true.into())
        };
        let progress = run_task(&clock, &closed, 0, pass).unwrap();
        assert_eq!((progress.attempted, progress.offered), (5, 5));
        assert_eq!((progress.last_end, clock.now()), (45 * MILLI, 55 * MILLI));
        assert!(progress.latency.quantile_us(1.0) < 1_002.0);
        let open = Task { most: 5, ..task(arrivals(100.0), 1_000 * MILLI, 9_000 * MILLI) };
        let progress = run_task(&MockClock::default(), &open, 0, |_, _| Ok(true.into())).unwrap();
        assert_eq!((progress.attempted, progress.offered), (5, 5));
    }

    #[test]
    fn an_error_ends_the_work() {
        let clock = MockClock::default();
        let task = task(Pacing::Closed, MILLI, MILLI);
        let failed =
            run_task(&clock, &task, 0, |_, _| Err(TrialError::Measuring("as told".to_owned())));
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
            let clock = MockClock::default();
            let pacing = Pacing::Arrivals { per_s, seed: Seed(seed) };
            let task = task(pacing, 300 * MILLI, 600 * MILLI);
            let progress = run_task(&clock, &task, 0, |number, _| {
                clock.pass(service);
                Ok((number % refuse != 0).into())
            })
            .unwrap();
            let done = progress.attempted - progress.given_up.len() as u64;
            prop_assert_eq!(done + progress.unserved, progress.latency.count());
            prop_assert_eq!(progress.attempted + progress.unserved, progress.offered);
            prop_assert!(progress.slots.iter().sum::<u64>() <= done);
        }
    }

    fn first(seed: u64, per_s: f64, count: usize) -> Vec<Nanos> {
        Arrivals::new(Seed(seed), per_s).take(count).collect()
    }

    proptest! {
        #[test]
        fn the_schedule_is_a_pure_function_of_seed_and_rate(seed: u64, per_s in 0.1..1e6) {
            prop_assert_eq!(first(seed, per_s, 200), first(seed, per_s, 200));
            prop_assert_ne!(first(seed, per_s, 200), first(seed ^ 1, per_s, 200));
        }

        #[test]
        fn arrivals_are_in_order(seed: u64, per_s in 0.1..1e6) {
            prop_assert!(first(seed, per_s, 500).is_sorted());
        }

        #[test]
        fn twice_the_rate_halves_every_gap(seed: u64, per_s in 1.0..1e5) {
            let slow = first(seed, per_s, 100);
            let fast = first(seed, per_s * 2.0, 100);
            for (slow, fast) in slow.iter().zip(fast) {
                prop_assert!((slow / 2).abs_diff(fast) <= 1, "{slow} {fast}");
            }
        }

        /// The mean of 10,000 gaps varies by 1 %, so 6 % is six standard deviations.
        #[test]
        fn the_rate_is_kept_on_average(seed: u64, per_s in 1.0..1e5) {
            let last = *first(seed, per_s, 10_000).last().unwrap() as f64;
            let rate = 10_000.0 / (last / 1e9);
            prop_assert!((rate / per_s - 1.0).abs() < 0.06, "{rate} {per_s}");
        }
    }

    #[test]
    fn a_rate_of_nothing_has_no_arrivals() {
        for per_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Arrivals::new(Seed(1), per_s).next(), None, "{per_s}");
        }
    }

    /// A clock that moves only when a test says so.
    #[derive(Default)]
    pub(crate) struct MockClock(pub Cell<Nanos>);

    impl MockClock {
        pub(crate) fn pass(&self, time: Nanos) {
            self.0.set(self.0.get() + time);
        }
    }

    impl Clock for MockClock {
        fn now(&self) -> Nanos {
            self.0.get()
        }

        fn wait_until(&self, moment: Nanos) {
            self.0.set(self.0.get().max(moment));
        }
    }

    #[test]
    fn the_monotonic_clock_waits_at_least_as_long_as_asked() {
        let start = Monotonic.now();
        Monotonic.wait_until(start + 2_000_000);
        assert!(Monotonic.now() >= start + 2_000_000);
        Monotonic.wait_until(0);
    }
}
