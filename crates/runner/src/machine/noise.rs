//! The noise probe: how far two measurements of the same thing differ on this machine.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::environment::NoiseProbe;

use super::error::MachineError;
use super::fsync::nanoseconds;
use super::probe_file::ProbeFile;

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

/// The number of steps, a power of two, that takes at least `target` now; this also warms the CPU.
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
    use std::cell::Cell;

    use super::*;

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
