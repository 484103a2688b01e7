//! The clock by which operations are begun and timed.
//!
//! It reads the system's monotonic clock, so that several processes agree on a moment, which [`std::time::Instant`] cannot
//! tell another process. It is a trait so that the pacing of a stalled worker can be tested without waiting.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

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
    use super::*;
    use std::cell::Cell;

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
