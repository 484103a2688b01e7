//! The environment of a run: what the machine said about itself when the run began.
//!
//! These are types and pure judgements only. Reading the machine is I/O and lives with the side that
//! starts the trials, so that a recorded environment can be loaded, compared and judged on any other
//! machine. A figure that could not be had is `None`, never zero: a machine that does not report CPU
//! steal is not a machine without steal. The name of the host is deliberately not recorded.

mod covariates;
mod volume;
mod warning;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use covariates::{
    Covariates, Disturbance, MAX_CPU_PRESSURE_AVG10, MAX_STEAL_FRACTION, NoiseProbe,
};
pub use volume::{
    FSYNC_CLAIM_MEDIAN_NS, FsyncLatency, FsyncProbe, FsyncVerdict, NO_OP_BELOW_NS,
    ROTATION_BELOW_NS, Volume, VolumeKind, WriteCache,
};
pub use warning::{LITTLE_DISK_BYTES, LITTLE_MEMORY_BYTES, VolumeProblem, Warning};

/// The machine and the measured directories, as captured at the start of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Operating system, kernel and architecture.
    pub system: System,
    /// The processors.
    pub cpu: Cpu,
    /// Main memory.
    pub memory: Memory,
    /// Limits of the control group (container, service manager) of this process.
    pub limits: CgroupLimits,
    /// How busy the machine was at the moment of capture.
    pub load: Load,
    /// One entry per measured directory, in the order given.
    pub volumes: Vec<Volume>,
}

/// Operating system, kernel and architecture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Name and version of the distribution (`PRETTY_NAME` of os-release(5)), or else the name of
    /// the operating system alone.
    pub operating_system: Option<String>,
    /// Name and release of the kernel, as in uname(2), for example `Linux 6.12.1`.
    pub kernel: Option<String>,
    /// Instruction set of the running kernel, as in uname(2), for example `x86_64`.
    pub architecture: Option<String>,
}

/// The processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Model of the first processor, from `/proc/cpuinfo`.
    pub model: Option<String>,
    /// Logical CPUs that are online, from `/sys/devices/system/cpu/online`.
    pub logical_cpus: Option<u32>,
    /// Logical CPUs that this process may use, after affinity and control group quota, rounded down
    /// (`std::thread::available_parallelism`).
    pub usable_cpus: Option<u32>,
    /// Frequency governors in use, from `cpufreq/scaling_governor` of every CPU; joined with a comma
    /// where CPUs differ.
    pub governor: Option<String>,
    /// Whether frequencies above nominal are allowed, from `intel_pstate/no_turbo` or
    /// `cpufreq/boost`.
    pub turbo: Option<bool>,
    /// Whether a hypervisor is present: the CPUID flag on x86, otherwise `/sys/hypervisor/type`.
    pub hypervisor: Option<bool>,
}

/// Main memory, from `/proc/meminfo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// All memory, in bytes (`MemTotal`).
    pub total_bytes: Option<u64>,
    /// Memory that can be had without swapping, in bytes (`MemAvailable`).
    pub available_bytes: Option<u64>,
}

/// A limit that may be absent; an unreadable limit is `None` around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit<T> {
    /// There is a control group and it sets no limit.
    Unlimited,
    /// The tightest limit from the process's own group up to the root.
    At(T),
}

/// Limits of the control groups of this process (version 1 or 2; kernel documentation, `cgroup-v2`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// CPU time per wall-clock time, in CPUs (`cpu.max`, or `cpu.cfs_quota_us` ÷ `cpu.cfs_period_us`).
    pub cpu_quota: Option<Limit<f64>>,
    /// Memory, in bytes (`memory.max`, or `memory.limit_in_bytes`).
    pub memory_max_bytes: Option<Limit<u64>>,
}

/// How busy the machine was at the moment of capture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Tasks running or waiting, averaged over 1, 5 and 15 minutes, from `/proc/loadavg`.
    pub load_average: Option<[f64; 3]>,
    /// Pressure-stall information.
    pub pressure: Pressure,
    /// Share of all CPU time since boot, 0 to 1, that the hypervisor gave to others, from `/proc/stat`.
    pub steal_fraction: Option<f64>,
    /// Processes in which pragmark was measuring something else, from `/proc/*/cmdline`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_runs: Vec<u32>,
}

/// Pressure-stall information: per cent of the last ten seconds, 0 to 100, in which some task waited
/// for the resource (`some avg10` of `/proc/pressure/*`; kernel documentation, `accounting/psi`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Waiting for a CPU.
    pub cpu_avg10: Option<f64>,
    /// Waiting for storage.
    pub io_avg10: Option<f64>,
    /// Waiting for memory.
    pub memory_avg10: Option<f64>,
}

impl Environment {
    /// Returns the entry of one measured directory, named as it was given to the capture.
    pub fn volume(&self, directory: &Path) -> Option<&Volume> {
        self.volumes.iter().find(|volume| volume.path.as_path() == directory)
    }

    /// Returns the memory that this process can really use, in bytes: what the machine has available, or
    /// the limit of the control group where that is tighter.
    pub fn usable_memory_bytes(&self) -> Option<u64> {
        match (self.memory.available_bytes, self.limits.memory_max_bytes) {
            (Some(available), Some(Limit::At(limit))) => Some(available.min(limit)),
            (None, Some(Limit::At(limit))) => Some(limit),
            (available, _) => available,
        }
    }

    /// Returns the warnings about conclusions drawn in this environment; the machine first,
    /// then each directory.
    pub fn warnings(&self) -> Vec<Warning> {
        warning::all(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probed(path: &str, p50_ns: u64) -> Volume {
        Volume {
            fsync: Some(FsyncProbe::new(300, p50_ns, p50_ns, VolumeKind::Disk, None)),
            ..Volume::new(path, VolumeKind::Disk)
        }
    }

    #[test]
    fn usable_memory_is_the_tighter_of_machine_and_control_group() {
        let mut environment = Environment::default();
        assert_eq!(environment.usable_memory_bytes(), None);
        environment.memory.available_bytes = Some(1000);
        environment.limits.memory_max_bytes = Some(Limit::Unlimited);
        assert_eq!(environment.usable_memory_bytes(), Some(1000));
        environment.limits.memory_max_bytes = Some(Limit::At(400));
        assert_eq!(environment.usable_memory_bytes(), Some(400));
        environment.memory.available_bytes = None;
        assert_eq!(environment.usable_memory_bytes(), Some(400));
    }

    #[test]
    fn an_environment_survives_json_and_keeps_unavailable_figures_apart_from_zero() {
        let environment = Environment {
            limits: CgroupLimits {
                cpu_quota: Some(Limit::At(1.5)),
                memory_max_bytes: Some(Limit::Unlimited),
            },
            load: Load { steal_fraction: Some(0.0), ..Load::default() },
            volumes: vec![probed("/db", 900_000)],
            ..Environment::default()
        };
        let json = serde_json::to_value(&environment).unwrap();
        assert!(json["load"]["load_average"].is_null());
        assert_eq!(json["load"]["steal_fraction"], 0.0);
        let back: Environment = serde_json::from_value(json).unwrap();
        assert_eq!(back, environment);
    }

    #[test]
    fn the_name_of_the_host_has_no_field() {
        let json = serde_json::to_string(&Environment::default()).unwrap();
        assert!(!json.contains("host"), "{json}");
    }
}
