//! Counters that many threads share while they work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::locks::{locked, unlocked};
use crate::measure::LatencyHistogram;

/// Histograms that threads share: one for each of thousands of threads would take hundreds of megabytes, and one for all
/// would be contended.
const SHARES: usize = 16;

/// Latencies of many threads.
pub(super) struct Latencies(Vec<Mutex<LatencyHistogram>>);

impl Latencies {
    pub(super) fn new() -> Latencies {
        let shares = (0..SHARES).map(|_| Mutex::new(LatencyHistogram::new()));
        Latencies(shares.collect())
    }

    /// Records a latency of the thread of this number.
    pub(super) fn record(&self, thread: usize, latency: Duration) {
        let share = &self.0[thread % SHARES];
        locked(share).record(latency);
    }

    /// Returns all of them together.
    pub(super) fn collect(self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        for share in self.0 {
            all.add(&unlocked(share));
        }
        all
    }
}

/// Work done in each part of the time.
pub(super) struct Throughput {
    slot: Duration,
    done: Vec<AtomicU64>,
}

impl Throughput {
    pub(super) fn new(whole: Duration, slots: u32) -> Throughput {
        Throughput {
            slot: (whole / slots).max(Duration::from_nanos(1)),
            done: (0..slots).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Records that `units` were done at this time after the start.
    pub(super) fn note(&self, elapsed: Duration, units: u64) {
        let slot = elapsed.as_nanos() / self.slot.as_nanos();
        if let Some(done) = usize::try_from(slot).ok().and_then(|slot| self.done.get(slot)) {
            done.fetch_add(units, Ordering::Relaxed);
        }
    }

    /// Returns units a second in each part.
    pub(super) fn rates(&self) -> Vec<f64> {
        let slot_s = self.slot.as_secs_f64();
        let rate = |done: &AtomicU64| done.load(Ordering::Relaxed) as f64 / slot_s;
        self.done.iter().map(rate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_note_is_all_there_in_the_end() {
        let latencies = Latencies::new();
        let throughput = Throughput::new(Duration::from_secs(1), 10);
        std::thread::scope(|scope| {
            for thread in 0..40 {
                let (latencies, throughput) = (&latencies, &throughput);
                scope.spawn(move || {
                    for number in 0..100 {
                        latencies.record(thread, Duration::from_micros(number));
                        throughput.note(Duration::from_millis(number * 11), 1);
                    }
                });
            }
        });
        assert_eq!(latencies.collect().count(), 4_000);
        let rates = throughput.rates();
        // 10 ms × 11 = 110 ms: ten numbers in the first tenth; those after the end are left out.
        assert_eq!(rates[0], 40.0 * 10.0 / 0.1);
        assert!(rates.iter().sum::<f64>() * 0.1 < 4_000.0);
    }
}
