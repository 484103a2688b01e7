//! Instruments: clocks, histograms, throughput windows and the process's own accounts.
//!
//! They are made before the clock starts and read after it has stopped; what runs in between is a
//! clock reading at most once an operation.
//!
//! Throughput over the course of a trial, in about a hundred parts of its work.
//!
//! Resources that the kernel has accounted to this process.

mod histogram;

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};

use crate::error::{Result, TrialError};

pub(crate) use histogram::LatencyHistogram;

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
    /// The units a second in each whole part.
    pub(crate) rates: Vec<f64>,
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
}

/// CPU time used so far, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CpuTime {
    pub(crate) user: f64,
    pub(crate) system: f64,
}

impl CpuTime {
    /// Returns the CPU time of all threads of this process so far.
    pub(crate) fn now() -> Result<CpuTime> {
        let usage = getrusage(UsageWho::RUSAGE_SELF)
            .map_err(|error| TrialError::Measuring(format!("getrusage: {error}")))?;
        Ok(CpuTime { user: seconds(usage.user_time()), system: seconds(usage.system_time()) })
    }

    /// Returns the sum of both times.
    pub(crate) fn plus(self, other: CpuTime) -> CpuTime {
        CpuTime { user: self.user + other.user, system: self.system + other.system }
    }

    /// Returns the CPU time used since an earlier moment.
    pub(crate) fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime { user: self.user - earlier.user, system: self.system - earlier.system }
    }
}

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

/// Returns the largest resident set of this process in bytes, if the system reports it.
///
/// It is read from `VmHWM` rather than `ru_maxrss`, which a process started with vfork inherits from
/// its parent on Linux.
pub fn peak_memory_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0)
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
        assert_eq!(by_work.rates, [500.0, 500.0]);
        assert_eq!(Windows::new(1_000, 7, None).step, 14);

        let mut by_time = Windows::new(1_000_000, 1, Some(Duration::from_secs(1)));
        by_time.start(start);
        by_time.tick(1, after(4));
        by_time.tick(1, after(10));
        by_time.tick(1, after(12));
        assert_eq!(by_time.rates, [200.0]);
    }
}
