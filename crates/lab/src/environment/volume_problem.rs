//! What is wrong, for measuring, with the storage under one directory.
//!
//! Apart from the warnings about the machine because a problem belongs to its directory: the same
//! machine may offer a better one, which is usually the advice.

use super::warning::gibibytes;
use super::{FsyncVerdict, Volume, VolumeKind};

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
        "on a network or shared file system ({file_system}): times include the far side, and SQLite's locks and WAL cannot be relied on there; choose a local disk"
    )]
    Network {
        /// File system type; empty if not known.
        file_system: String,
    },
    /// The kind of storage is not known.
    #[error(
        "on storage of unknown kind: whether an fsync reaches a medium is not known; judge durability comparisons with care, or choose a directory on a known disk"
    )]
    UnknownStorage,
    /// Cache flushes are turned off.
    #[error(
        "mounted with {option}: an fsync does not flush the disk's cache, so a power failure can corrupt any database; mount without it, or compare speeds only"
    )]
    BarrierDisabled {
        /// The mount option that does it.
        option: String,
    },
    /// An fsync is quicker than any medium.
    #[error("a synced write takes {}, quicker than any medium: the sync does nothing, or the device has power-loss protection; check which before trusting durability", microseconds(*p50_ns))]
    SyncTooFast {
        /// Median of write and fdatasync, in nanoseconds.
        p50_ns: u64,
    },
    /// A disk that says it rotates answers quicker than it can turn.
    #[error("a synced write takes {} {}", microseconds(*p50_ns), cause_of_speed(*hypervisor))]
    RotationalWithCache {
        /// Median of write and fdatasync, in nanoseconds.
        p50_ns: u64,
        /// Whether this is a virtual machine, where the disk's word about rotation is worth little.
        hypervisor: bool,
    },
    /// There is little free space.
    #[error("only {} free: experiments at the default scale may fill the disk; free some space, choose another directory, or keep to the quick scale", gibibytes(*free_bytes))]
    LittleDisk {
        /// Free bytes.
        free_bytes: u64,
    },
}

/// Every problem of a directory: its kind, then its syncs, then its space.
pub(super) fn all(volume: &Volume, hypervisor: bool) -> Vec<VolumeProblem> {
    let barrier = volume
        .barrier_disabled()
        .map(|option| VolumeProblem::BarrierDisabled { option: option.to_owned() });
    let space = volume
        .free_bytes
        .filter(|bytes| *bytes < LITTLE_DISK_BYTES)
        .map(|free_bytes| VolumeProblem::LittleDisk { free_bytes });
    [of_kind(volume), barrier, of_sync(volume, hypervisor), space].into_iter().flatten().collect()
}

fn of_kind(volume: &Volume) -> Option<VolumeProblem> {
    match volume.kind {
        VolumeKind::Disk => None,
        VolumeKind::Memory => Some(VolumeProblem::InMemory),
        VolumeKind::Overlay => Some(VolumeProblem::Overlay),
        VolumeKind::Network => Some(VolumeProblem::Network {
            file_system: volume.file_system.clone().unwrap_or_default(),
        }),
        VolumeKind::Unknown => Some(VolumeProblem::UnknownStorage),
    }
}

fn of_sync(volume: &Volume, hypervisor: bool) -> Option<VolumeProblem> {
    let probe = volume.fsync.as_ref()?;
    let p50_ns = probe.p50_ns;
    match probe.verdict {
        FsyncVerdict::NoOpOrPowerLossProtection => Some(VolumeProblem::SyncTooFast { p50_ns }),
        FsyncVerdict::RotationalWithCache => {
            Some(VolumeProblem::RotationalWithCache { p50_ns, hypervisor })
        }
        // Of memory, the kind of the volume already says enough.
        FsyncVerdict::Memory | FsyncVerdict::Plain => None,
    }
}

/// Why the sync of a disk that says it rotates takes less than a turn, and what to do.
fn cause_of_speed(hypervisor: bool) -> &'static str {
    if hypervisor {
        "on a virtual disk that says it rotates: it is no rotating disk, or its cache answers; ask the provider \
         what an fsync reaches"
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
    use crate::environment::FsyncProbe;

    fn probed(p50_ns: u64, rotational: bool) -> Volume {
        Volume {
            fsync: Some(FsyncProbe::new(300, p50_ns, p50_ns, VolumeKind::Disk, Some(rotational))),
            ..Volume::new("/db", VolumeKind::Disk)
        }
    }

    #[test]
    fn an_honest_disk_with_room_has_no_problem() {
        let disk = Volume { free_bytes: Some(LITTLE_DISK_BYTES), ..probed(900_000, false) };
        assert_eq!(all(&disk, false), []);
    }

    #[test]
    fn every_kind_but_a_disk_is_a_problem() {
        let problem = |kind| all(&Volume::new("/db", kind), false);
        assert_eq!(problem(VolumeKind::Disk), []);
        assert_eq!(problem(VolumeKind::Memory), [VolumeProblem::InMemory]);
        assert_eq!(problem(VolumeKind::Overlay), [VolumeProblem::Overlay]);
        assert_eq!(problem(VolumeKind::Unknown), [VolumeProblem::UnknownStorage]);
        let share =
            Volume { file_system: Some("nfs4".into()), ..Volume::new("/db", VolumeKind::Network) };
        assert!(all(&share, false)[0].to_string().contains("(nfs4)"));
    }

    #[test]
    fn a_sync_too_quick_for_its_medium_is_noticed() {
        assert_eq!(
            all(&probed(12_400, false), false),
            [VolumeProblem::SyncTooFast { p50_ns: 12_400 }]
        );
        assert_eq!(
            all(&probed(450_000, true), true),
            [VolumeProblem::RotationalWithCache { p50_ns: 450_000, hypervisor: true }]
        );
        assert_eq!(all(&probed(450_000, false), true), []);
    }

    #[test]
    fn several_problems_of_one_directory_are_all_named() {
        let volume = Volume {
            mount_options: Some(vec!["rw".into(), "nobarrier".into()]),
            free_bytes: Some(LITTLE_DISK_BYTES - 1),
            ..probed(12_400, false)
        };
        let problems = all(&volume, false);
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
        let text = |hypervisor| all(&probed(450_000, true), hypervisor)[0].to_string();
        assert!(text(true).contains("ask the provider"));
        assert!(text(false).contains("hdparm"));
    }
}
