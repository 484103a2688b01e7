//! The machine: what it is, what its disks do on an fsync, how noisy it is, which tools it has.
//!
//! Apart from the rest of the runner because nothing here knows of trials or runs: it reads the
//! kernel's own accounts (`/proc`, `/sys`, statvfs) and times small probes. The types and what
//! follows from them are in [`lab::environment`]. Parsers are pure functions over text, and readers
//! take the root of the file tree, so both are tested without the machine. On a system without
//! `/proc` and `/sys` the figures that would come from there are `None`.

mod accounts;
mod bounds;
mod error;
mod fsync;
mod host;
mod mountinfo;
mod tools;
mod volume;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use lab::environment::Environment;

pub use bounds::bounds;
pub use error::MachineError;
pub use fsync::{FSYNC_PROBE_LIMIT, FSYNC_PROBE_WRITES, fsync_median, noise_probe};
pub use host::Sampler;
pub use mountinfo::{Mount, mount_of, parse_mountinfo};
pub use tools::{Tool, ToolQuery, VERSION_TIMEOUT, find_executable, find_program, find_tools};
pub use volume::describe_volume;

/// Captures the machine and the given directories, each with an fsync probe (up to
/// [`FSYNC_PROBE_LIMIT`] for each directory, and less once `cancelled`).
///
/// # Errors
/// When a directory is missing or cannot be written and synced; the error names it. A figure that the system does not
/// offer is `None`.
pub fn capture(dirs: &[&Path], cancelled: &AtomicBool) -> Result<Environment, MachineError> {
    let mut environment = host::read(Path::new("/"));
    for dir in dirs {
        let mut volume = describe_volume(dir)?;
        volume.fsync = Some(fsync::probe(dir, volume.kind, volume.rotational, cancelled)?);
        environment.volumes.push(volume);
    }
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_captured_with_consistent_figures() {
        let dir = tempfile::tempdir().unwrap();
        let environment = capture(&[dir.path()], &AtomicBool::new(false)).unwrap();

        assert!(environment.system.kernel.is_some());
        assert!(environment.cpu.usable_cpus.is_some_and(|cpus| cpus >= 1));
        if let (Some(available), Some(total)) =
            (environment.memory.available_bytes, environment.memory.total_bytes)
        {
            assert!(available <= total);
        }
        let volume = environment.volume(dir.path()).unwrap();
        assert!(volume.free_bytes.unwrap() <= volume.total_bytes.unwrap());
        if let Some(mount_point) = &volume.mount_point {
            let real = dir.path().canonicalize().unwrap();
            assert!(real.starts_with(mount_point), "{real:?} {mount_point:?}");
        }
        let probe = volume.fsync.as_ref().unwrap();
        assert!((1..=FSYNC_PROBE_WRITES).contains(&probe.count));
        assert!(0 < probe.p50_ns && probe.p50_ns <= probe.p99_ns);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_offers_what_the_record_needs_most() {
        let environment = capture(&[], &AtomicBool::new(false)).unwrap();
        assert!(environment.cpu.logical_cpus.is_some());
        assert!(environment.memory.total_bytes.is_some());
        assert!(environment.load.load_average.is_some());
        assert!(environment.load.steal_fraction.is_some());
    }

    #[test]
    fn a_missing_directory_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("not there");
        let error = capture(&[dir.path(), &missing], &AtomicBool::new(false)).unwrap_err();
        let wanted = format!("the directory {} does not exist", missing.display());
        assert_eq!(error.to_string(), wanted);
    }
}
