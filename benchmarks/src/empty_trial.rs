//! The cost of a trial itself.

use std::path::Path;
use std::time::Instant;

use lab::level::Settings;
use lab::stats::quantile;
use runner::workdir::WorkDir;

use crate::Failure;
use crate::program::{measure, specification};

/// Measures trials of the workload `empty`, including directory and process.
pub fn run(pragmark: &Path, trials: usize) -> Result<(), Failure> {
    let parent = tempfile::tempdir()?;
    let work = WorkDir::create(parent.path(), "benchmark")?;
    let mut milliseconds = Vec::with_capacity(trials);
    for seed in 0..trials {
        let start = Instant::now();
        let directory = work.trial()?;
        measure(pragmark, &specification("empty", Settings::new(), &directory.path, seed as u64))?;
        drop(directory);
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let at = |fraction| quantile(&milliseconds, fraction).unwrap_or(f64::NAN);
    println!(
        "empty trial, {trials} times: p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms (target: 30 ms)",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    Ok(())
}
