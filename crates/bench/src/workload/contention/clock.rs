//! The clock by which operations are begun and timed.
//!
//! Its moments are those of the system's monotonic clock, so that processes that share the work
//! agree on them, which [`std::time::Instant`] cannot tell another process. It is a trait because
//! what the pacing does when a worker stalls must be tested without waiting.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A moment or a time, in nanoseconds.
pub(in crate::workload) type Nanos = u64;

/// Something that tells the time and lets it pass.
pub(in crate::workload) trait Clock {
    /// The moment now.
    fn now(&self) -> Nanos;

    /// Returns at `moment` at the earliest; at once where that is over.
    fn wait_until(&self, moment: Nanos);
}

/// The system's monotonic clock.
#[derive(Clone, Copy)]
pub(in crate::workload) struct Monotonic;

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

/// Has the kernel wake this thread when it asked for that, instead of up to 50 µs later together
/// with others (prctl(2), `PR_SET_TIMERSLACK`). Where it cannot, the lateness is measured all the same.
pub(in crate::workload) fn wake_punctually() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
pub(in crate::workload) mod tests {
    use super::*;
    use std::cell::Cell;

    /// A clock that moves only when it is told to.
    #[derive(Default)]
    pub(in crate::workload::contention) struct Mock(pub Cell<Nanos>);

    impl Mock {
        pub(in crate::workload::contention) fn pass(&self, time: Nanos) {
            self.0.set(self.0.get() + time);
        }
    }

    impl Clock for Mock {
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
