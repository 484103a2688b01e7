//! Resources that a trial needs from the operating system, and whether its limits allow them.
//!
//! It stands apart from the environment because it is judged before anything is measured: a trial
//! with thousands of databases would otherwise fail in its middle, with an error of some call that
//! does not name the limit. Reading the limits is I/O and lives with the side that starts trials.

use crate::text::grouped;

use std::fmt;

/// Resources that one trial needs at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// File handles of one process.
    pub open_files: u64,
    /// Threads and processes together.
    pub threads: u64,
    /// Mappings in the address space of one process: libraries, stacks, shared memory of logs.
    pub mappings: u64,
    /// Bytes on the measured disk, at least.
    pub disk_bytes: u64,
    /// Files on the measured disk.
    pub files: u64,
}

impl Needs {
    /// Returns the larger of both, for each resource.
    #[must_use]
    pub fn max(self, other: Needs) -> Needs {
        Needs {
            open_files: self.open_files.max(other.open_files),
            threads: self.threads.max(other.threads),
            mappings: self.mappings.max(other.mappings),
            disk_bytes: self.disk_bytes.max(other.disk_bytes),
            files: self.files.max(other.files),
        }
    }

    /// Returns how much is needed of what a bound limits, and what that is.
    fn of(&self, bound: Bound) -> (u64, &'static str) {
        match bound {
            Bound::OpenFiles | Bound::OpenFilesOfAnyProcess | Bound::OpenFilesOfSystem => {
                (self.open_files, "open files")
            }
            Bound::ThreadsOfUser
            | Bound::ThreadsOfSystem
            | Bound::ProcessNumbers
            | Bound::ThreadsOfGroup => (self.threads, "threads"),
            Bound::Mappings => (self.mappings, "memory mappings"),
            Bound::DiskBytes => (self.disk_bytes, "bytes"),
            Bound::DiskFiles => (self.files, "files"),
        }
    }
}

/// The limit of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum Bound {
    /// Open files of a process: the hard limit `RLIMIT_NOFILE` (getrlimit(2)); the soft limit is
    /// raised to it by the trial itself.
    #[strum(to_string = "the hard limit of this process (RLIMIT_NOFILE)")]
    OpenFiles,
    /// The largest hard limit that the kernel allows: `fs.nr_open` (proc_sys_fs(5)).
    #[strum(to_string = "the kernel's limit for a process (fs.nr_open)")]
    OpenFilesOfAnyProcess,
    /// Open files of all processes: `fs.file-max`.
    #[strum(to_string = "the kernel's limit for all processes (fs.file-max)")]
    OpenFilesOfSystem,
    /// Threads of this user: the hard limit `RLIMIT_NPROC`.
    #[strum(to_string = "the hard limit of this user (RLIMIT_NPROC)")]
    ThreadsOfUser,
    /// Threads of all processes: `kernel.threads-max` (proc_sys_kernel(5)).
    #[strum(to_string = "the kernel's limit for all threads (kernel.threads-max)")]
    ThreadsOfSystem,
    /// Numbers for processes and threads: `kernel.pid_max`.
    #[strum(to_string = "the kernel's limit for process IDs (kernel.pid_max)")]
    ProcessNumbers,
    /// Threads of the control group of a service or container: `pids.max`.
    #[strum(to_string = "the limit of this control group (pids.max)")]
    ThreadsOfGroup,
    /// Mappings of a process: `vm.max_map_count` (proc_sys_vm(5)).
    #[strum(to_string = "the kernel's limit for a process (vm.max_map_count)")]
    Mappings,
    /// Free bytes of the measured disk.
    #[strum(to_string = "free disk space")]
    DiskBytes,
    /// Free inodes of the measured disk.
    #[strum(to_string = "free inodes")]
    DiskFiles,
}

/// A bound and what it leaves for a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The bound.
    pub bound: Bound,
    /// Where it stands: files, threads, mappings or bytes.
    pub at: u64,
    /// The amount in use by others.
    pub used: u64,
}

/// A need that a limit does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// The limit.
    pub limit: Limit,
    /// The amount needed.
    pub needed: u64,
}

/// Returns every limit that is too low, in the order of `limits`.
pub fn shortfalls(needs: &Needs, limits: &[Limit]) -> Vec<Shortfall> {
    let shortfalls =
        limits.iter().map(|limit| Shortfall { limit: *limit, needed: needs.of(limit.bound).0 });
    shortfalls.filter(|shortfall| shortfall.needed > shortfall.free()).collect()
}

impl Shortfall {
    fn free(&self) -> u64 {
        self.limit.at.saturating_sub(self.limit.used)
    }

    /// Returns the remedy: a command if there is one.
    pub fn remedy(&self) -> String {
        let wanted = self.needed.saturating_add(self.limit.used);
        let sysctl = |name: &str| format!("sudo sysctl -w {name}={wanted}");
        match self.limit.bound {
            Bound::OpenFiles => {
                format!("sudo prlimit --nofile={wanted}:{wanted} --pid $$")
            }
            Bound::OpenFilesOfAnyProcess => sysctl("fs.nr_open"),
            Bound::OpenFilesOfSystem => sysctl("fs.file-max"),
            Bound::ThreadsOfUser => format!("sudo prlimit --nproc={wanted}:{wanted} --pid $$"),
            Bound::ThreadsOfSystem => sysctl("kernel.threads-max"),
            Bound::ProcessNumbers => sysctl("kernel.pid_max"),
            Bound::Mappings => sysctl("vm.max_map_count"),
            Bound::ThreadsOfGroup => format!(
                "allow the container or service {wanted} tasks (--pids-limit={wanted}, TasksMax={wanted})"
            ),
            Bound::DiskBytes | Bound::DiskFiles => {
                "name a directory on a larger disk with --dir".to_owned()
            }
        }
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [needed, at, used] = [self.needed, self.limit.at, self.limit.used]
            .map(|number| grouped(&number.to_string()));
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        match self.limit.bound {
            Bound::DiskBytes => write!(
                f,
                "the disk is too small: at least {:.2} GB are needed, {:.2} GB are free",
                gigabytes(self.needed),
                gigabytes(self.limit.at)
            ),
            Bound::DiskFiles => {
                write!(f, "the disk is too small: {needed} files are needed, {at} inodes are free")
            }
            bound => {
                let (_, resource) = Needs::default().of(bound);
                write!(f, "{needed} {resource} are needed, but {bound} is {at}")?;
                match self.limit.used {
                    0 => Ok(()),
                    _ => write!(f, ", of which {used} are in use"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limit(bound: Bound, at: u64, used: u64) -> Limit {
        Limit { bound, at, used }
    }

    #[test]
    fn what_fits_exactly_is_enough_and_one_more_is_not() {
        let limits = [
            limit(Bound::OpenFiles, 1_024, 0),
            limit(Bound::OpenFilesOfSystem, 2_000, 976),
            limit(Bound::ThreadsOfGroup, 50, 40),
        ];
        let needs = |open_files, threads| Needs { open_files, threads, ..Needs::default() };
        assert!(shortfalls(&needs(1_024, 10), &limits).is_empty());
        let short = shortfalls(&needs(1_025, 11), &limits);
        let bounds: Vec<Bound> = short.iter().map(|short| short.limit.bound).collect();
        assert_eq!(bounds, [Bound::OpenFiles, Bound::OpenFilesOfSystem, Bound::ThreadsOfGroup]);
    }

    #[test]
    fn a_shortfall_names_the_limit_the_need_and_the_command() {
        let needs = Needs { open_files: 165_064, disk_bytes: 3_000_000_000, ..Needs::default() };
        let limits = [
            limit(Bound::OpenFiles, 20_000, 0),
            limit(Bound::OpenFilesOfSystem, 100_000, 7_000),
            limit(Bound::DiskBytes, 1_500_000_000, 0),
        ];
        let short = shortfalls(&needs, &limits);
        assert_eq!(
            short[0].to_string(),
            "165,064 open files are needed, but the hard limit of this process (RLIMIT_NOFILE) is 20,000"
        );
        assert_eq!(short[0].remedy(), "sudo prlimit --nofile=165064:165064 --pid $$");
        assert_eq!(short[1].remedy(), "sudo sysctl -w fs.file-max=172064");
        assert_eq!(
            short[2].to_string(),
            "the disk is too small: at least 3.00 GB are needed, 1.50 GB are free"
        );
        assert!(short[2].remedy().contains("--dir"));
    }

    proptest! {
        #[test]
        fn a_limit_is_too_low_exactly_where_less_is_left_than_needed(
            needed in 0..1_000_u64,
            at in 0..1_000_u64,
            used in 0..1_000_u64,
        ) {
            let needs = Needs { mappings: needed, ..Needs::default() };
            let short = shortfalls(&needs, &[limit(Bound::Mappings, at, used)]);
            prop_assert_eq!(short.is_empty(), needed <= at.saturating_sub(used));
        }
    }
}
