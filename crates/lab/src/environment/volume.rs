//! The storage under one measured directory: file system and device.
//!
//! Apart from the rest because durability is a property of the directory, not of the machine: one
//! machine commonly has a disk, a tmpfs and a network file system side by side.
//!
//! The system says what kind of storage it is; the measured fsync says how it behaves. The two may disagree.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One measured directory and what it lies on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// The directory as it was given; bytes that are not UTF-8 are replaced, so that the record can
    /// always be written.
    pub path: PathBuf,
    /// The kind of storage.
    pub kind: VolumeKind,
    /// File system type, from proc_pid_mountinfo(5), for example `ext4`.
    pub file_system: Option<String>,
    /// Where the file system is mounted, from the same file.
    pub mount_point: Option<PathBuf>,
    /// Options of the mount, then of the file system, from the same file. Options that name hosts,
    /// accounts or layers of a container are left out.
    pub mount_options: Option<Vec<String>>,
    /// Name of the block device in the kernel, for example `sda1` or `dm-0`; the first one where a
    /// file system spans several.
    pub device: Option<String>,
    /// Model of the disk that carries the device, from `device/model` of its sysfs directory.
    pub model: Option<String>,
    /// Whether the disk says that it rotates (`queue/rotational`). Virtual disks often say so
    /// whatever is underneath.
    pub rotational: Option<bool>,
    /// Whether it is the disk of a virtual machine.
    #[serde(default)]
    pub is_virtual: bool,
    /// The kind of write cache the kernel reckons with (`queue/write_cache`).
    pub write_cache: Option<WriteCache>,
    /// Whether the disk can force a single write to the medium (`queue/fua`).
    pub fua: Option<bool>,
    /// Bytes that an unprivileged user can still write (statvfs(3): `f_bavail` × `f_frsize`).
    pub free_bytes: Option<u64>,
    /// Size of the file system in bytes (statvfs(3): `f_blocks` × `f_frsize`).
    pub total_bytes: Option<u64>,
    /// The measured price of an fsync in this directory.
    pub fsync: Option<FsyncProbe>,
}

impl Volume {
    /// A volume with nothing known but its kind.
    pub fn new(path: impl Into<PathBuf>, kind: VolumeKind) -> Self {
        Self { path: path.into(), kind, ..Self::default() }
    }

    /// Returns whether variants that differ in crash safety may be compared here. Memory keeps nothing across a
    /// restart, so that no setting is any safer than another; other doubts are warnings.
    pub fn supports_durability_comparison(&self) -> bool {
        self.kind != VolumeKind::Memory
    }

    /// Returns the median time of a 4 KiB write and fdatasync, in nanoseconds, if it was probed.
    pub fn fsync_median_ns(&self) -> Option<u64> {
        self.fsync.as_ref().map(|probe| probe.p50_ns)
    }

    /// Returns the mount option that turns off cache flushes, if there is one: with it an fsync does not
    /// reach the medium (ext4(5): `barrier=0`, `nobarrier`; also btrfs and, formerly, XFS).
    pub fn barrier_disabled(&self) -> Option<&str> {
        self.mount_options
            .iter()
            .flatten()
            .map(String::as_str)
            .find(|option| matches!(*option, "nobarrier" | "barrier=0"))
    }
}

/// The kind of storage under a directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeKind {
    /// A file system on a block device of this machine.
    Disk,
    /// tmpfs, ramfs, or a file system on a device made of memory (zram, ram).
    Memory,
    /// Layers of a container; the layer that takes the writes cannot be seen from inside.
    Overlay,
    /// Served by another machine, or by the host of this virtual machine.
    Network,
    /// Anything else.
    #[default]
    Unknown,
}

impl VolumeKind {
    /// Classifies by file system type as in proc_pid_mountinfo(5) and, where there is one, the
    /// name of the block device.
    pub fn classify(file_system: &str, device: Option<&str>) -> Self {
        match file_system {
            "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => Self::Memory,
            "overlay"
            | "overlayfs"
            | "aufs"
            | "unionfs"
            | "fuse.fuse-overlayfs"
            | "fuse.unionfs-fuse"
            | "fuse.mergerfs" => Self::Overlay,
            name if NETWORK.contains(&name) => Self::Network,
            _ if device.is_some_and(is_memory_device) => Self::Memory,
            _ if device.is_some() => Self::Disk,
            // These manage their own devices, which the mount table does not give.
            "zfs" | "btrfs" | "bcachefs" | "apfs" => Self::Disk,
            _ => Self::Unknown,
        }
    }
}

/// File systems whose medium is across a network, or across the border of a virtual machine.
const NETWORK: [&str; 24] = [
    "9p", "afs", "beegfs", "ceph", "cifs", "drvfs", "fakeowner", "fuse.glusterfs", "fuse.grpcfuse",
    "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse", "glusterfs", "gpfs", "lustre",
    "ncpfs", "nfs", "nfs4", "prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs",
];

fn is_memory_device(name: &str) -> bool {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    numbered("zram") || numbered("ram")
}

/// The kind of write cache the kernel reckons with (kernel documentation,
/// `ABI/stable/sysfs-block`: `queue/write_cache`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// Writes may wait in a volatile cache; the kernel flushes it on fsync.
    WriteBack,
    /// No volatile cache, or one said to be protected; the kernel sends no flush on fsync.
    WriteThrough,
}

/// A 4 KiB write and fdatasync quicker than this, in nanoseconds, did not wait for a flash or
/// magnetic medium: tmpfs, a sync that does nothing, or a cache with power-loss protection.
pub const NO_OP_BELOW_NS: u64 = 30_000;

/// A rotating disk quicker than this, in nanoseconds, answered from its cache: at 7,200 revolutions
/// a minute one turn takes 8.3 ms.
pub const ROTATION_BELOW_NS: u64 = 2_000_000;

/// The median fsync, in nanoseconds, from which a claim about the cost of fsync can be judged.
/// Where a sync is cheaper no cost can be shown and the claim is *not applicable here*.
pub const FSYNC_CLAIM_MEDIAN_NS: u64 = 200_000;

/// The measured price of an fsync: single 4 KiB writes, each followed by fdatasync(2), one after
/// another into space that was allocated beforehand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FsyncProbe {
    /// How many writes were timed; fewer than planned on a slow disk.
    pub count: u32,
    /// Median time of write and fdatasync, in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of the same, in nanoseconds (nearest rank; the maximum below 100 writes).
    pub p99_ns: u64,
    /// The verdict on the device by the median.
    pub verdict: FsyncVerdict,
}

impl FsyncProbe {
    /// The figures of a probe together with what they mean on this kind of storage.
    pub fn new(
        count: u32,
        p50_ns: u64,
        p99_ns: u64,
        kind: VolumeKind,
        rotational: Option<bool>,
    ) -> Self {
        Self { count, p50_ns, p99_ns, verdict: FsyncVerdict::judge(p50_ns, kind, rotational) }
    }
}

/// The verdict on a device by its median fsync time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FsyncVerdict {
    /// The directory is in memory: there is nothing to sync to.
    Memory,
    /// Quicker than any medium. Either the sync does nothing, or the device protects its cache
    /// against power loss; the two cannot be distinguished without cutting the power.
    NoOpOrPowerLossProtection,
    /// Quicker than a turn of the disk: the answer came from a cache, volatile or battery-backed.
    RotationalWithCache,
    /// Nothing in the figure speaks against the device. That does not prove its honesty.
    Plain,
}

impl FsyncVerdict {
    /// Judges a median in nanoseconds. Storage in memory is named as such however slow it is.
    pub fn judge(p50_ns: u64, kind: VolumeKind, rotational: Option<bool>) -> Self {
        match (kind, rotational) {
            (VolumeKind::Memory, _) => Self::Memory,
            _ if p50_ns < NO_OP_BELOW_NS => Self::NoOpOrPowerLossProtection,
            (_, Some(true)) if p50_ns < ROTATION_BELOW_NS => Self::RotationalWithCache,
            _ => Self::Plain,
        }
    }
}

/// The price of an fsync while an experiment ran: each block begins with a short probe, because a disk that
/// others use too changes its price within minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FsyncLatency {
    /// How many probes there were.
    pub probes: usize,
    /// The median of their medians, in nanoseconds.
    pub median_ns: u64,
    /// The smallest of their medians, in nanoseconds.
    pub low_ns: u64,
    /// The largest of their medians, in nanoseconds.
    pub high_ns: u64,
}

impl FsyncLatency {
    /// Sums up the medians of probes, in nanoseconds; `None` if there were none. Of an even number the lower
    /// of the two in the middle.
    pub fn of(mut medians: Vec<u64>) -> Option<FsyncLatency> {
        medians.sort_unstable();
        Some(FsyncLatency {
            probes: medians.len(),
            median_ns: *medians.get(medians.len().checked_sub(1)? / 2)?,
            low_ns: *medians.first()?,
            high_ns: *medians.last()?,
        })
    }

    /// Returns whether a sync takes long enough for claims about its price.
    pub fn has_a_price(&self) -> bool {
        self.median_ns >= FSYNC_CLAIM_MEDIAN_NS
    }
}

impl fmt::Display for FsyncLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |ns: u64| ns as f64 / 1e6;
        write!(f, "{:.3} ms", ms(self.median_ns))?;
        if self.low_ns == self.high_ns {
            return Ok(());
        }
        let (low, high, probes) = (ms(self.low_ns), ms(self.high_ns), self.probes);
        write!(f, " ({low:.3} to {high:.3} ms in {probes} probes)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_are_classified_by_type_and_device() {
        let cases = [
            ("ext4", Some("sda1"), VolumeKind::Disk),
            ("ext4", Some("zram0"), VolumeKind::Memory),
            ("ext4", Some("ram0"), VolumeKind::Memory),
            ("ext4", Some("ramdisk"), VolumeKind::Disk),
            ("btrfs", None, VolumeKind::Disk),
            ("zfs", None, VolumeKind::Disk),
            ("fuseblk", Some("sdb1"), VolumeKind::Disk),
            ("tmpfs", None, VolumeKind::Memory),
            ("ramfs", None, VolumeKind::Memory),
            ("overlay", None, VolumeKind::Overlay),
            ("nfs4", None, VolumeKind::Network),
            ("virtiofs", None, VolumeKind::Network),
            ("fuse.sshfs", None, VolumeKind::Network),
            ("fuse.something", None, VolumeKind::Unknown),
            ("", None, VolumeKind::Unknown),
        ];
        for (file_system, device, expected) in cases {
            assert_eq!(
                VolumeKind::classify(file_system, device),
                expected,
                "{file_system} on {device:?}"
            );
        }
    }

    #[test]
    fn a_disabled_barrier_is_found_among_the_mount_options() {
        let with = |options: &[&str]| Volume {
            mount_options: Some(options.iter().map(|option| option.to_string()).collect()),
            ..Volume::new("/db", VolumeKind::Disk)
        };
        assert_eq!(with(&["rw", "nobarrier"]).barrier_disabled(), Some("nobarrier"));
        assert_eq!(with(&["rw", "barrier=0"]).barrier_disabled(), Some("barrier=0"));
        assert_eq!(with(&["rw", "barrier=1"]).barrier_disabled(), None);
        assert_eq!(Volume::new("/db", VolumeKind::Disk).barrier_disabled(), None);
    }

    #[test]
    fn the_price_while_an_experiment_ran_is_the_median_of_its_probes() {
        let course = FsyncLatency::of(vec![4_000_000, 85_000, 310_000]).unwrap();
        assert_eq!((course.median_ns, course.probes), (310_000, 3));
        assert!(course.has_a_price());
        assert_eq!(course.to_string(), "0.310 ms (0.085 to 4.000 ms in 3 probes)");
        // Between two the lower decides: a claim applies only where most probes show a price.
        let between = FsyncLatency::of(vec![210_000, 85_000]).unwrap();
        assert!(!between.has_a_price());
        assert_eq!(FsyncLatency::of(vec![85_000]).unwrap().to_string(), "0.085 ms");
        assert_eq!(FsyncLatency::of(Vec::new()), None);
    }

    #[test]
    fn verdicts_change_exactly_at_their_thresholds() {
        use FsyncVerdict::*;
        let cases = [
            (1_500, VolumeKind::Memory, None, Memory),
            (60_000, VolumeKind::Memory, None, Memory),
            (29_999, VolumeKind::Disk, Some(false), NoOpOrPowerLossProtection),
            (29_999, VolumeKind::Disk, Some(true), NoOpOrPowerLossProtection),
            (30_000, VolumeKind::Disk, Some(false), Plain),
            (30_000, VolumeKind::Disk, None, Plain),
            (30_000, VolumeKind::Disk, Some(true), RotationalWithCache),
            (1_999_999, VolumeKind::Disk, Some(true), RotationalWithCache),
            (2_000_000, VolumeKind::Disk, Some(true), Plain),
        ];
        for (p50_ns, kind, rotational, expected) in cases {
            assert_eq!(
                FsyncVerdict::judge(p50_ns, kind, rotational),
                expected,
                "{p50_ns} ns on {kind:?}, rotational {rotational:?}"
            );
        }
    }
}
