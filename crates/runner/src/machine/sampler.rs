//! Samples what disturbs the machine during a block.

use std::path::Path;
use std::time::Instant;

use lab::environment::Covariates;

use super::accounts::CpuTime;
use super::fsync::nanoseconds;
use super::host::{read_cpu_time, read_pressure};

/// An interval that has begun.
#[derive(Debug)]
pub struct Sampler {
    begin: Instant,
    cpu_time: Option<CpuTime>,
}

impl Sampler {
    /// Begins an interval.
    pub fn start() -> Self {
        Self::start_in(Path::new("/"))
    }

    /// Ends the interval and returns its covariates. Steal covers the interval; pressure is the kernel's average over
    /// the last ten seconds, whatever the length of the interval.
    pub fn finish(self) -> Covariates {
        self.finish_in(Path::new("/"))
    }

    fn start_in(root: &Path) -> Self {
        Self { begin: Instant::now(), cpu_time: read_cpu_time(root) }
    }

    fn finish_in(self, root: &Path) -> Covariates {
        let pressure = read_pressure(root);
        Covariates {
            duration_ns: nanoseconds(self.begin.elapsed()),
            steal_fraction: self
                .cpu_time
                .zip(read_cpu_time(root))
                .and_then(|(before, after)| after.steal_fraction_since(before)),
            cpu_pressure_avg10: pressure.cpu_avg10,
            io_pressure_avg10: pressure.io_avg10,
            memory_pressure_avg10: pressure.memory_avg10,
            fsync_p50_ns: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn steal_is_that_of_the_interval_and_pressure_that_of_its_end() {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        fs::create_dir_all(proc.join("pressure")).unwrap();
        let write = |path: &str, text: &str| fs::write(proc.join(path), text).unwrap();
        write("stat", "cpu  0 0 0 500 0 0 0 500\n");
        write("pressure/cpu", "some avg10=50.00 avg60=0.00\n");
        let sampler = Sampler::start_in(root.path());
        write("stat", "cpu  0 0 0 598 0 0 0 502\n");
        write("pressure/cpu", "some avg10=2.50 avg60=0.00\n");

        let covariates = sampler.finish_in(root.path());
        assert_eq!(covariates.steal_fraction, Some(0.02));
        assert_eq!(covariates.cpu_pressure_avg10, Some(2.5));
        assert_eq!(covariates.io_pressure_avg10, None);
        assert!(covariates.duration_ns > 0);
    }

    #[test]
    fn without_accounts_the_covariates_are_unknown() {
        let root = tempfile::tempdir().unwrap();
        let covariates = Sampler::start_in(root.path()).finish_in(root.path());
        assert_eq!(
            covariates,
            Covariates { duration_ns: covariates.duration_ns, ..Covariates::default() }
        );
    }
}
