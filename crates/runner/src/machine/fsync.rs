//! The fsync probe: what a synced 4 KiB write costs in a directory.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::environment::{FsyncProbe, VolumeKind};

use super::error::MachineError;
use super::probe_file::ProbeFile;
use super::volume::describe_volume;

/// How many synced writes are timed at most.
pub const FSYNC_PROBE_WRITES: u32 = 300;

/// The wall-clock time after which no further write begins; a slow disk gets fewer writes.
pub const FSYNC_PROBE_LIMIT: Duration = Duration::from_secs(3);

/// Times single 4 KiB writes, each with an fdatasync, into a temporary file in `dir`: up to
/// [`FSYNC_PROBE_WRITES`] of them within [`FSYNC_PROBE_LIMIT`], and at least one. The file is
/// removed, also after an error.
///
/// # Errors
/// When the directory is missing, not writable or full, or a write or sync fails.
pub fn fsync_probe(dir: &Path) -> Result<FsyncProbe, MachineError> {
    let volume = describe_volume(dir)?;
    probe(dir, volume.kind, volume.rotational, &AtomicBool::new(false))
}

/// How many synced writes a probe within a run times at most.
const REPEATED_WRITES: u32 = 40;

/// The same for the time: a tenth of a second, so that blocks of short trials do not take much longer.
const REPEATED_LIMIT: Duration = Duration::from_millis(100);

/// A short probe within a run, like [`fsync_probe`]: the median in nanoseconds.
///
/// # Errors
/// When the directory is missing, not writable or full, or a write or sync fails.
pub fn fsync_median(dir: &Path) -> Result<u64, MachineError> {
    let times = times(dir, REPEATED_WRITES, REPEATED_LIMIT, &AtomicBool::new(false))?;
    Ok(nearest_rank(&times, 50))
}

/// The same for a directory that has been described already. It ends early once `cancelled`.
pub(super) fn probe(
    dir: &Path,
    kind: VolumeKind,
    rotational: Option<bool>,
    cancelled: &AtomicBool,
) -> Result<FsyncProbe, MachineError> {
    let times = times(dir, FSYNC_PROBE_WRITES, FSYNC_PROBE_LIMIT, cancelled)?;
    Ok(FsyncProbe::new(
        u32::try_from(times.len()).unwrap_or(u32::MAX),
        nearest_rank(&times, 50),
        nearest_rank(&times, 99),
        kind,
        rotational,
    ))
}

/// Times of up to `count` synced writes in nanoseconds, the shortest first; none begins after `limit` or once
/// `cancelled`, except the first.
fn times(
    dir: &Path,
    count: u32,
    limit: Duration,
    cancelled: &AtomicBool,
) -> Result<Vec<u64>, MachineError> {
    let mut times = ProbeFile::with(dir, |file| {
        let begin = Instant::now();
        let is_over = || begin.elapsed() >= limit || cancelled.load(Ordering::Relaxed);
        time_repeatedly(count, is_over, || file.write_and_sync())
    })?;
    times.sort_unstable();
    Ok(times)
}

/// Durations in nanoseconds of up to `count` calls; none begins once it `is_over`, except the first.
fn time_repeatedly(
    count: u32,
    is_over: impl Fn() -> bool,
    mut action: impl FnMut() -> io::Result<()>,
) -> io::Result<Vec<u64>> {
    let mut times = Vec::new();
    for _ in 0..count {
        if !times.is_empty() && is_over() {
            break;
        }
        let start = Instant::now();
        action()?;
        times.push(nanoseconds(start.elapsed()));
    }
    Ok(times)
}

/// A duration in whole nanoseconds (u64 holds 584 years).
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The percentile of sorted values by nearest rank; 0 for an empty list, which no probe gives.
fn nearest_rank(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_by_nearest_rank() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(nearest_rank(&hundred, 50), 50);
        assert_eq!(nearest_rank(&hundred, 99), 99);
        let three_hundred: Vec<u64> = (1..=300).collect();
        assert_eq!(nearest_rank(&three_hundred, 99), 297);
        assert_eq!(nearest_rank(&[7], 50), 7);
        assert_eq!(nearest_rank(&[7, 8, 9], 99), 9);
    }

    #[test]
    fn a_slow_disk_gets_fewer_writes_but_at_least_one() {
        let slow = || {
            std::thread::sleep(Duration::from_millis(2));
            Ok(())
        };
        let begin = Instant::now();
        let is_over = || begin.elapsed() >= Duration::from_millis(5);
        let times = time_repeatedly(1_000_000, is_over, slow).unwrap();
        assert!((1..=3).contains(&times.len()), "{}", times.len());
        assert!(times.iter().all(|ns| *ns >= 2_000_000));
        let once = time_repeatedly(10, || true, || Ok(())).unwrap();
        assert_eq!(once.len(), 1);
    }

    #[test]
    fn a_fast_disk_gets_all_writes() {
        let times = time_repeatedly(300, || false, || Ok(())).unwrap();
        assert_eq!(times.len(), 300);
    }

    #[test]
    fn the_first_error_ends_the_probe() {
        let mut calls = 0;
        let result = time_repeatedly(
            10,
            || false,
            || {
                calls += 1;
                Err(io::ErrorKind::StorageFull.into())
            },
        );
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(calls, 1);
    }

    #[test]
    fn a_probe_of_this_machine_leaves_the_directory_empty() {
        let dir = tempfile::tempdir().unwrap();
        assert!(fsync_median(dir.path()).unwrap() > 0);
        let probe = fsync_probe(dir.path()).unwrap();
        assert!(probe.count >= 1 && probe.p50_ns <= probe.p99_ns);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
