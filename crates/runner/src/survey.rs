//! The look at the machine ahead of a run.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::record::{EngineRecord, EnvironmentFile, FORMAT, PlannedExperiment, RunPlan};

use crate::machine::{MachineError, capture, noise_probe};

/// Returns the machine, the disks of the measured directories, and the noise on the first of them, which is probed for
/// `probe_s` seconds; `on_probe` is called before. No noise is probed in no time, and probes end early once
/// `cancelled`.
///
/// # Errors
/// When a directory cannot be used.
pub fn survey(
    plan: &RunPlan,
    engines: Vec<EngineRecord>,
    probe_s: f64,
    cancelled: &AtomicBool,
    on_probe: impl FnOnce(),
) -> Result<EnvironmentFile, MachineError> {
    let on_disk = plan.experiments.iter().filter(|planned| is_on_disk(planned));
    let mut directories: Vec<&Path> = on_disk.map(|planned| planned.directory.as_path()).collect();
    directories.sort();
    directories.dedup();
    let machine = capture(&directories, cancelled)?;
    let noise = directories.first().filter(|_| probe_s > 0.0).map(|directory| {
        on_probe();
        noise_probe(directory, Duration::from_secs_f64(probe_s), cancelled)
    });
    Ok(EnvironmentFile { format: FORMAT, machine, engines, noise: noise.transpose()? })
}

/// Returns whether the disk has a part in what is measured. What works in memory says nothing of a disk.
pub(crate) fn is_on_disk(planned: &PlannedExperiment) -> bool {
    planned.experiment.measures().uses_disk()
}
