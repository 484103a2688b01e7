//! The fsync probe: what a synced 4 KiB write costs in a directory.

use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::environment::{FsyncProbe, NoiseProbe, VolumeKind};
use lab::seed::Seed;
use tempfile::NamedTempFile;

use crate::machine::error::MachineError;

/// How many synced writes are timed at most.
pub const FSYNC_PROBE_WRITES: u32 = 300;

/// The wall-clock time after which no further write begins; a slow disk gets fewer writes.
pub const FSYNC_PROBE_LIMIT: Duration = Duration::from_secs(3);

/// How many synced writes a probe within a run times at most.
const REPEATED_WRITES: u32 = 40;

/// The same for the time: a tenth of a second, so that blocks of short trials do not take much longer.
const REPEATED_LIMIT: Duration = Duration::from_millis(100);

/// Returns a short probe within a run, like `probe`: the median in nanoseconds.
///
/// # Errors
/// When the directory is missing, not writable or full, or a write or sync fails.
pub fn fsync_median(dir: &Path) -> Result<u64, MachineError> {
    let times = times(dir, REPEATED_WRITES, REPEATED_LIMIT, &AtomicBool::new(false))?;
    Ok(nearest_rank(&times, 50))
}

/// Times single 4 KiB writes, each with an fdatasync, into a temporary file in `dir`: up to
/// [`FSYNC_PROBE_WRITES`] of them within [`FSYNC_PROBE_LIMIT`], and at least one. The file is
/// removed, also after an error. It ends early once `cancelled`.
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

/// Returns a duration in whole nanoseconds (u64 holds 584 years).
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the percentile of sorted values by nearest rank; 0 for an empty list, which no probe gives.
fn nearest_rank(sorted: &[u64], percent: usize) -> u64 {
    sorted.get((sorted.len() * percent).div_ceil(100).max(1) - 1).copied().unwrap_or_default()
}

/// Size of one write, in bytes: SQLite's default page.
const PAGE_BYTES: usize = 4096;

/// Pages in the file; later writes start over.
const PAGES: u64 = 300;

/// A file of allocated, synced pages; removed when dropped.
pub(super) struct ProbeFile {
    file: NamedTempFile,
    page: Box<[u8; PAGE_BYTES]>,
    written: u64,
}

impl ProbeFile {
    /// Creates the file in `dir` and lends it to `measure`; the file is removed in any case.
    pub(super) fn with<T>(
        dir: &Path,
        measure: impl FnOnce(&mut Self) -> io::Result<T>,
    ) -> Result<T, MachineError> {
        let failed = |source| MachineError::in_directory(dir, "write and sync a file", source);
        let mut probe = Self::create(dir).map_err(failed)?;
        let figures = measure(&mut probe).map_err(failed)?;
        probe
            .file
            .close()
            .map_err(|source| MachineError::in_directory(dir, "remove a file", source))?;
        Ok(figures)
    }

    fn create(dir: &Path) -> io::Result<Self> {
        let file = tempfile::Builder::new().prefix(".pragmark-probe-").tempfile_in(dir)?;
        let mut probe = Self { file, page: Box::new([0; PAGE_BYTES]), written: 0 };
        for _ in 0..PAGES {
            probe.write_page()?;
        }
        probe.file.as_file().sync_all()?;
        Ok(probe)
    }

    /// Writes the next page and waits until the device has it (fdatasync; `F_FULLFSYNC` on macOS).
    pub(super) fn write_and_sync(&mut self) -> io::Result<()> {
        self.write_page()?;
        self.file.as_file().sync_data()
    }

    fn write_page(&mut self) -> io::Result<()> {
        fill(&mut self.page, self.written);
        let offset = (self.written % PAGES) * PAGE_BYTES as u64;
        self.file.as_file().write_all_at(self.page.as_slice(), offset)?;
        self.written += 1;
        Ok(())
    }
}

/// Fills a page with numbers that depend on the count of pages written (splitmix64, Steele, Lea and
/// Flood, OOPSLA 2014): about a microsecond, and nothing to compress.
fn fill(page: &mut [u8; PAGE_BYTES], count: u64) {
    let mut random = Seed(count << 32).generator();
    for word in page.as_chunks_mut::<8>().0 {
        *word = random.next_u64().to_le_bytes();
    }
}

/// The shortest burst of integer work; doubling may choose up to twice this.
const CPU_BURST: Duration = Duration::from_micros(2_500);

/// Synced writes in a burst.
const SYNCS: u32 = 8;

/// Pairs that are measured whatever the budget: fewer show no noise.
const MIN_PAIRS: usize = 2;

/// Measures pairs of equal bursts until `budget` is used up: integer work of 2.5 to 5 ms, and eight
/// synced 4 KiB writes to a temporary file in `dir`. At least two pairs are measured, so that a very
/// slow disk may exceed the budget. About ten seconds give a useful prediction. It ends early once
/// `cancelled`.
///
/// # Errors
/// When the directory is missing, not writable or full, or a write or sync fails.
pub fn noise_probe(
    dir: &Path,
    budget: Duration,
    cancelled: &AtomicBool,
) -> Result<NoiseProbe, MachineError> {
    let begin = Instant::now();
    let (cpu, fsync) = ProbeFile::with(dir, |file| {
        let steps = choose_steps(CPU_BURST);
        sync_burst(file)?;
        measure_pairs(
            || begin.elapsed() >= budget || cancelled.load(Ordering::Relaxed),
            || Ok(integer_work(steps)),
            || sync_burst(file),
        )
    })?;
    Ok(NoiseProbe::from_pairs(&cpu, &fsync, nanoseconds(begin.elapsed())))
}

/// Pairs of durations in nanoseconds.
type Pairs = Vec<(u64, u64)>;

/// Alternates pairs of the two bursts until `done`.
fn measure_pairs(
    done: impl Fn() -> bool,
    mut work: impl FnMut() -> io::Result<u64>,
    mut sync: impl FnMut() -> io::Result<()>,
) -> io::Result<(Pairs, Pairs)> {
    let (mut cpu, mut fsync) = (Vec::new(), Vec::new());
    while cpu.len() < MIN_PAIRS || !done() {
        cpu.push((time(&mut work)?, time(&mut work)?));
        fsync.push((time(&mut sync)?, time(&mut sync)?));
    }
    Ok((cpu, fsync))
}

fn time<T>(action: &mut impl FnMut() -> io::Result<T>) -> io::Result<u64> {
    let start = Instant::now();
    black_box(action()?);
    Ok(nanoseconds(start.elapsed()))
}

fn sync_burst(file: &mut ProbeFile) -> io::Result<()> {
    (0..SYNCS).try_for_each(|_| file.write_and_sync())
}

/// Returns the number of steps, a power of two, that takes at least `target` now; this also warms the CPU.
fn choose_steps(target: Duration) -> u64 {
    let mut steps = 1 << 12;
    loop {
        let start = Instant::now();
        black_box(integer_work(steps));
        if start.elapsed() >= target {
            return steps;
        }
        steps *= 2;
    }
}

/// Deterministic integer work without memory traffic: a xorshift generator (Marsaglia, "Xorshift
/// RNGs", 2003), whose steps depend on one another.
fn integer_work(steps: u64) -> u64 {
    let mut state: u64 = black_box(88_172_645_463_325_252);
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs;

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
        let probe = probe(dir.path(), VolumeKind::Disk, None, &AtomicBool::new(false)).unwrap();
        assert!(probe.count >= 1 && probe.p50_ns <= probe.p99_ns);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    fn entries(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn the_file_keeps_its_size_and_is_removed_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let size = ProbeFile::with(dir.path(), |probe| {
            assert_eq!(entries(dir.path()), 1);
            probe.write_and_sync()?;
            Ok(probe.file.as_file().metadata()?.len())
        });
        assert_eq!(size.unwrap(), PAGES * PAGE_BYTES as u64);
        assert_eq!(entries(dir.path()), 0);
    }

    #[test]
    fn the_file_is_removed_after_an_error_too() {
        let dir = tempfile::tempdir().unwrap();
        let result: Result<(), _> = ProbeFile::with(dir.path(), |_| {
            assert_eq!(entries(dir.path()), 1);
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(result.unwrap_err().to_string().starts_with("no space is left in the directory"));
        assert_eq!(entries(dir.path()), 0);
    }

    #[test]
    fn successive_pages_differ() {
        let (mut first, mut second) = ([0; PAGE_BYTES], [0; PAGE_BYTES]);
        fill(&mut first, 7);
        fill(&mut second, 8);
        assert_ne!(first, second);
        assert_ne!(first[..8], first[8..16]);
    }

    #[test]
    fn integer_work_is_deterministic_and_depends_on_every_step() {
        // The first number of Marsaglia's xorshift64 with his seed.
        assert_eq!(integer_work(1), 8_748_534_153_485_358_512);
        assert_eq!(integer_work(1000), integer_work(1000));
        assert_ne!(integer_work(1000), integer_work(999));
    }

    #[test]
    fn the_chosen_work_takes_at_least_the_time_asked_for() {
        assert!(choose_steps(Duration::ZERO) == 1 << 12);
        assert!(choose_steps(Duration::from_millis(1)) > 1 << 12);
    }

    #[test]
    fn pairs_are_measured_until_done_and_at_least_two() {
        let (work, syncs) = (Cell::new(0), Cell::new(0));
        let run = |pairs: usize| {
            measure_pairs(
                || work.get() >= 2 * pairs,
                || {
                    work.set(work.get() + 1);
                    Ok(0)
                },
                || {
                    syncs.set(syncs.get() + 1);
                    Ok(())
                },
            )
            .unwrap()
        };
        let (cpu, fsync) = run(5);
        assert_eq!((cpu.len(), fsync.len()), (5, 5));
        assert_eq!(syncs.get(), 10);
        work.set(100);
        assert_eq!(run(0).0.len(), 2);
    }

    #[test]
    fn a_probe_of_this_machine_gives_both_figures_and_removes_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let probe =
            noise_probe(dir.path(), Duration::from_millis(50), &AtomicBool::new(false)).unwrap();
        assert!(probe.pairs >= 2);
        assert!(probe.cpu_sd.unwrap().is_finite() && probe.fsync_sd.unwrap().is_finite());
        assert!(probe.duration_ns >= 50_000_000);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_cancelled_probe_ends_after_the_fewest_pairs() {
        let dir = tempfile::tempdir().unwrap();
        let long = Duration::from_secs(3_600);
        let probe = noise_probe(dir.path(), long, &AtomicBool::new(true)).unwrap();
        assert_eq!(probe.pairs as usize, MIN_PAIRS);
    }
}
