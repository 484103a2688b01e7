//! Resources that the kernel has accounted to this process.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::error::{Result, TrialError};

/// CPU time used so far, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuTime {
    pub(crate) user: f64,
    pub(crate) system: f64,
}

impl CpuTime {
    /// Returns the CPU time of all threads of this process so far.
    pub(crate) fn now() -> Result<CpuTime> {
        CpuTime::of(UsageWho::RUSAGE_SELF)
    }

    /// Returns the CPU time of the processes that this one has started and waited for so far, including their own processes.
    pub(crate) fn of_children() -> Result<CpuTime> {
        CpuTime::of(UsageWho::RUSAGE_CHILDREN)
    }

    fn of(who: UsageWho) -> Result<CpuTime> {
        let usage =
            getrusage(who).map_err(|error| TrialError::Measuring(format!("getrusage: {error}")))?;
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
    peak_memory_bytes_of("self")
}

/// Returns the largest resident set of a running process.
pub(crate) fn peak_memory_bytes_of(process: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0)
}
