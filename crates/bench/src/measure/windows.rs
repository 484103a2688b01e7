//! Throughput over the course of a trial, in about a hundred parts of its work.

use std::time::{Duration, Instant};

/// Number of parts of a trial's work.
const WINDOWS: usize = 100;

/// Notes the time whenever another part of the work is done: a hundredth of it or, if the clock ends the work, the work of a
/// hundredth of the time.
pub(crate) struct Windows {
    /// The units of work in each part.
    pub(crate) step: usize,
    slot: Option<Duration>,
    began: Instant,
    done: usize,
    rates: Vec<f64>,
}

impl Windows {
    /// Divides work of `total` units, done in indivisible pieces of `piece` units, that ends after `limit` if there is one. Call
    /// [`Windows::start`] when the clock starts.
    pub(crate) fn new(total: usize, piece: usize, limit: Option<Duration>) -> Windows {
        Windows {
            step: total.div_ceil(WINDOWS).next_multiple_of(piece.max(1)),
            slot: limit.map(|limit| limit / WINDOWS as u32),
            began: Instant::now(),
            done: 0,
            rates: Vec::with_capacity(2 * WINDOWS),
        }
    }

    pub(crate) fn start(&mut self, now: Instant) {
        self.began = now;
    }

    /// Notes that `units` more were done by `now`.
    #[inline]
    pub(crate) fn tick(&mut self, units: usize, now: Instant) {
        self.done += units;
        let elapsed = now.duration_since(self.began);
        if self.done >= self.step || self.slot.is_some_and(|slot| elapsed >= slot) {
            if !elapsed.is_zero() {
                self.rates.push(self.done as f64 / elapsed.as_secs_f64());
            }
            self.began = now;
            self.done = 0;
        }
    }

    /// Returns the units a second in each whole part.
    pub(crate) fn rates(self) -> Vec<f64> {
        self.rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_closes_by_work_or_by_time() {
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        let mut by_work = Windows::new(1_000, 1, None);
        by_work.start(start);
        for tick in 1..=5 {
            by_work.tick(5, after(tick * 10));
        }
        assert_eq!(by_work.rates(), [500.0, 500.0]);
        assert_eq!(Windows::new(1_000, 7, None).step, 14);

        let mut by_time = Windows::new(1_000_000, 1, Some(Duration::from_secs(1)));
        by_time.start(start);
        by_time.tick(1, after(4));
        by_time.tick(1, after(10));
        by_time.tick(1, after(12));
        assert_eq!(by_time.rates(), [200.0]);
    }
}
