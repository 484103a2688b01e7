//! Warnings about conclusions drawn in an environment.
//!
//! Apart from the environment because each warning is both a rule (when it holds) and a text (what
//! it means, what to do), and the two must be read side by side.

use std::path::PathBuf;

use super::{
    Environment, FsyncVerdict, Limit, MAX_CPU_PRESSURE_AVG10, MAX_STEAL_FRACTION, Volume,
    VolumeKind,
};

/// Usable memory below which larger experiments run out of page cache, in bytes: 1 GiB. Our choice.
pub const LITTLE_MEMORY_BYTES: u64 = 1 << 30;

/// One thing in an environment that the reader must know. Its text says what it means and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The frequency governor saves power.
    #[error(
        "the CPU frequency governor is powersave: short trials may run below full speed and noise grows; choose performance for the run (cpupower frequency-set --governor performance)"
    )]
    PowersaveGovernor,
    /// The hypervisor took CPU time since boot.
    #[error("the hypervisor has given {:.1} % of all CPU time since boot to others: expect dropped blocks and wider intervals; use a machine with dedicated CPUs", .0 * 100.0)]
    Steal(f64),
    /// Other work waits for the CPUs now.
    #[error(
        "the machine was busy before the run: tasks waited for a CPU {0:.0} % of ten seconds, so results will be noisy; stop other programs first"
    )]
    CpuPressure(f64),
    /// Another run of pragmark is under way.
    #[error(
        "another run of pragmark was under way (process {0}): the two disturb each other; run one after the other"
    )]
    OtherRun(u32),
    /// A control group gives less CPU time than there are CPUs.
    #[error(
        "a control group allows {cpus:.2} of {of} CPUs: a trial that uses up its share is paused, which shows as latency; raise the quota, or pin to whole CPUs instead"
    )]
    CpuQuota {
        /// CPU time per wall-clock time, in CPUs.
        cpus: f64,
        /// Logical CPUs online.
        of: u32,
    },
    /// There is little memory.
    #[error("only {} of memory can be used: databases larger than that are measured against the disk, not the page cache; free memory, or keep to the quick scale", gibibytes(*.0))]
    LittleMemory(u64),
    /// Something is wrong, for measuring, with what lies under a measured directory.
    #[error("{}: {}", .0.display(), .1)]
    Volume(PathBuf, VolumeProblem),
}

impl Warning {
    /// Returns whether it matters only to work that syncs.
    pub fn is_about_syncs(&self) -> bool {
        use VolumeProblem::{RotationalWithCache, SyncTooFast};
        matches!(self, Warning::Volume(_, RotationalWithCache { .. } | SyncTooFast(_)))
    }
}

/// Returns every warning of an environment: the machine first, then each directory.
pub(super) fn all(environment: &Environment) -> Vec<Warning> {
    let mut warnings = of_machine(environment);
    let hypervisor = environment.cpu.hypervisor == Some(true);
    for volume in &environment.volumes {
        let problems = problems_of(volume, hypervisor).into_iter();
        warnings.extend(problems.map(|problem| Warning::Volume(volume.path.clone(), problem)));
    }
    warnings
}

fn of_machine(environment: &Environment) -> Vec<Warning> {
    let governor = environment.cpu.governor.as_deref().unwrap_or_default();
    let powersave = governor.contains("powersave").then_some(Warning::PowersaveGovernor);
    let steal = environment
        .load
        .steal_fraction
        .filter(|fraction| *fraction > MAX_STEAL_FRACTION)
        .map(Warning::Steal);
    let pressure = environment
        .load
        .pressure
        .cpu_avg10
        .filter(|avg10| *avg10 > MAX_CPU_PRESSURE_AVG10)
        .map(Warning::CpuPressure);
    let memory = environment
        .usable_memory_bytes()
        .filter(|bytes| *bytes < LITTLE_MEMORY_BYTES)
        .map(Warning::LittleMemory);
    let others = environment.load.other_runs.iter();
    [powersave, steal, pressure, cpu_quota(environment), memory]
        .into_iter()
        .flatten()
        .chain(others.map(|process| Warning::OtherRun(*process)))
        .collect()
}

fn cpu_quota(environment: &Environment) -> Option<Warning> {
    match (environment.limits.cpu_quota, environment.cpu.logical_cpus) {
        (Some(Limit::At(cpus)), Some(of)) if cpus < f64::from(of) => {
            Some(Warning::CpuQuota { cpus, of })
        }
        _ => None,
    }
}

/// Returns a size as a reader wants it: one decimal, in GiB.
pub(super) fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

/// Free space below which experiments at their default scale may fill the disk, in bytes: 4 GiB. Our
/// choice.
pub const LITTLE_DISK_BYTES: u64 = 4 << 30;

/// One problem of one measured directory. Its text says what it means and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeProblem {
    /// The directory is in memory; durability comparisons are refused.
    #[error(
        "in memory (tmpfs, or a device made of memory): nothing here survives a restart, so durability comparisons are refused; choose a directory on a disk"
    )]
    InMemory,
    /// The directory is on the layers of a container.
    #[error(
        "on the layers of a container: the first write to a file copies it, and what an fsync reaches cannot be seen; choose a directory on a mounted volume"
    )]
    Overlay,
    /// The directory is on a network or shared file system.
    #[error(
        "on a network or shared file system ({0}): times include the far side, and SQLite's locks and WAL cannot be relied on there; choose a local disk"
    )]
    Network(String),
    /// The kind of storage is not known.
    #[error(
        "on storage of unknown kind: whether an fsync reaches a medium is not known; judge durability comparisons with care, or choose a directory on a known disk"
    )]
    UnknownStorage,
    /// Cache flushes are turned off.
    #[error(
        "mounted with {0}: an fsync does not flush the disk's cache, so a power failure can corrupt any database; mount without it, or compare speeds only"
    )]
    BarrierDisabled(String),
    /// An fsync is quicker than any medium.
    #[error("a synced write takes {}, quicker than any medium: the sync does nothing, or the device has power-loss protection; check which before trusting durability", microseconds(*.0))]
    SyncTooFast(u64),
    /// A disk that says it rotates answers quicker than it can turn.
    #[error("a synced write takes {} {}", microseconds(*p50_ns), cause_of_speed(*hypervisor))]
    RotationalWithCache {
        /// Median of write and fdatasync, in nanoseconds.
        p50_ns: u64,
        /// Whether this is a virtual machine, where the disk's word about rotation is worth little.
        hypervisor: bool,
    },
    /// There is little free space.
    #[error("only {} free: experiments at the default scale may fill the disk; free some space, choose another directory, or keep to the quick scale", gibibytes(*.0))]
    LittleDisk(u64),
}

/// Returns every problem of a directory: its kind, then its syncs, then its space.
fn problems_of(volume: &Volume, hypervisor: bool) -> Vec<VolumeProblem> {
    let barrier =
        volume.barrier_disabled().map(|option| VolumeProblem::BarrierDisabled(option.to_owned()));
    let space =
        volume.free_bytes.filter(|bytes| *bytes < LITTLE_DISK_BYTES).map(VolumeProblem::LittleDisk);
    [of_kind(volume), barrier, of_sync(volume, hypervisor), space].into_iter().flatten().collect()
}

fn of_kind(volume: &Volume) -> Option<VolumeProblem> {
    match volume.kind {
        VolumeKind::Disk => None,
        VolumeKind::Memory => Some(VolumeProblem::InMemory),
        VolumeKind::Overlay => Some(VolumeProblem::Overlay),
        VolumeKind::Network => {
            Some(VolumeProblem::Network(volume.file_system.clone().unwrap_or_default()))
        }
        VolumeKind::Unknown => Some(VolumeProblem::UnknownStorage),
    }
}

fn of_sync(volume: &Volume, hypervisor: bool) -> Option<VolumeProblem> {
    let probe = volume.fsync.as_ref()?;
    let p50_ns = probe.p50_ns;
    match probe.verdict {
        FsyncVerdict::NoOpOrPowerLossProtection => Some(VolumeProblem::SyncTooFast(p50_ns)),
        FsyncVerdict::RotationalWithCache => {
            Some(VolumeProblem::RotationalWithCache { p50_ns, hypervisor })
        }
        // Of memory, the kind of the volume already says enough.
        FsyncVerdict::Memory | FsyncVerdict::Plain => None,
    }
}

/// Returns why the sync of a disk that says it rotates takes less than a turn, and what to do.
fn cause_of_speed(hypervisor: bool) -> &'static str {
    if hypervisor {
        "though the virtual disk reports that it rotates: a cache may answer; ask the provider whether \
         an fsync survives a power cut"
    } else {
        "on a rotating disk, less than a turn: its cache answers; check that it is battery-backed, or turn it \
         off (hdparm -W 0)"
    }
}

fn microseconds(ns: u64) -> String {
    format!("{:.0} µs", ns as f64 / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{FsyncProbe, Volume, VolumeKind};

    #[test]
    fn a_machine_that_reports_nothing_gives_no_warning() {
        assert_eq!(all(&Environment::default()), []);
    }

    #[test]
    fn a_quiet_machine_gives_no_warning() {
        let mut quiet = Environment::default();
        quiet.cpu.governor = Some("performance".into());
        quiet.cpu.logical_cpus = Some(4);
        quiet.limits.cpu_quota = Some(Limit::At(4.0));
        quiet.load.steal_fraction = Some(0.01);
        quiet.load.pressure.cpu_avg10 = Some(5.0);
        quiet.memory.available_bytes = Some(LITTLE_MEMORY_BYTES);
        assert_eq!(all(&quiet), []);
    }

    #[test]
    fn each_weakness_of_the_machine_is_named_with_its_figure() {
        let mut weak = Environment::default();
        weak.cpu.governor = Some("performance, powersave".into());
        weak.cpu.logical_cpus = Some(4);
        weak.limits.cpu_quota = Some(Limit::At(1.5));
        weak.limits.memory_max_bytes = Some(Limit::At(1 << 29));
        weak.memory.available_bytes = Some(64 << 30);
        weak.load.steal_fraction = Some(0.02);
        weak.load.pressure.cpu_avg10 = Some(30.0);
        weak.load.other_runs = vec![4711];
        assert_eq!(
            all(&weak),
            [
                Warning::PowersaveGovernor,
                Warning::Steal(0.02),
                Warning::CpuPressure(30.0),
                Warning::CpuQuota { cpus: 1.5, of: 4 },
                Warning::LittleMemory(1 << 29),
                Warning::OtherRun(4711),
            ]
        );
    }

    #[test]
    fn a_warning_about_a_directory_names_it() {
        let environment = Environment {
            volumes: vec![Volume::new("/dev/shm", VolumeKind::Memory)],
            ..Environment::default()
        };
        let warnings = all(&environment);
        assert_eq!(warnings.len(), 1);
        let text = warnings[0].to_string();
        assert!(text.starts_with("/dev/shm: "), "{text}");
        assert!(text.contains("durability comparisons are refused"), "{text}");
    }

    #[test]
    fn a_warning_says_the_figure_and_what_to_do() {
        assert_eq!(
            Warning::LittleMemory(1 << 29).to_string(),
            "only 0.5 GiB of memory can be used: databases larger than that are measured against \
             the disk, not the page cache; free memory, or keep to the quick scale"
        );
    }

    fn probed(p50_ns: u64, rotational: bool) -> Volume {
        Volume {
            fsync: Some(FsyncProbe::new(300, p50_ns, p50_ns, VolumeKind::Disk, Some(rotational))),
            ..Volume::new("/db", VolumeKind::Disk)
        }
    }

    #[test]
    fn an_honest_disk_with_room_has_no_problem() {
        let disk = Volume { free_bytes: Some(LITTLE_DISK_BYTES), ..probed(900_000, false) };
        assert_eq!(problems_of(&disk, false), []);
    }

    #[test]
    fn every_kind_but_a_disk_is_a_problem() {
        let problem = |kind| problems_of(&Volume::new("/db", kind), false);
        assert_eq!(problem(VolumeKind::Disk), []);
        assert_eq!(problem(VolumeKind::Memory), [VolumeProblem::InMemory]);
        assert_eq!(problem(VolumeKind::Overlay), [VolumeProblem::Overlay]);
        assert_eq!(problem(VolumeKind::Unknown), [VolumeProblem::UnknownStorage]);
        let share =
            Volume { file_system: Some("nfs4".into()), ..Volume::new("/db", VolumeKind::Network) };
        assert!(problems_of(&share, false)[0].to_string().contains("(nfs4)"));
    }

    #[test]
    fn a_sync_too_quick_for_its_medium_is_noticed() {
        assert_eq!(
            problems_of(&probed(12_400, false), false),
            [VolumeProblem::SyncTooFast(12_400)]
        );
        assert_eq!(
            problems_of(&probed(450_000, true), true),
            [VolumeProblem::RotationalWithCache { p50_ns: 450_000, hypervisor: true }]
        );
        assert_eq!(problems_of(&probed(450_000, false), true), []);
    }

    #[test]
    fn several_problems_of_one_directory_are_all_named() {
        let volume = Volume {
            mount_options: Some(vec!["rw".into(), "nobarrier".into()]),
            free_bytes: Some(LITTLE_DISK_BYTES - 1),
            ..probed(12_400, false)
        };
        let problems = problems_of(&volume, false);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(
            problems[0].to_string(),
            "mounted with nobarrier: an fsync does not flush the disk's cache, so a power \
             failure can corrupt any database; mount without it, or compare speeds only"
        );
        assert!(problems[1].to_string().contains("takes 12 µs"), "{}", problems[1]);
        assert!(problems[2].to_string().contains("4.0 GiB free"), "{}", problems[2]);
    }

    #[test]
    fn advice_on_a_rotating_disk_depends_on_whether_it_is_virtual() {
        let text = |hypervisor| problems_of(&probed(450_000, true), hypervisor)[0].to_string();
        assert!(text(true).contains("ask the provider"));
        assert!(text(false).contains("hdparm"));
    }
}
