//! What lies under one measured directory: file system and device.
//!
//! Apart from the rest because durability is a property of the directory, not of the machine: one
//! machine commonly has a disk, a tmpfs and a network file system side by side.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::FsyncProbe;

/// One measured directory and what it lies on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// The directory as it was given; bytes that are not UTF-8 are replaced, so that the record can
    /// always be written.
    pub path: PathBuf,
    /// What kind of storage this is.
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
    /// A volume of which only the kind is known.
    pub fn new(path: impl Into<PathBuf>, kind: VolumeKind) -> Self {
        Self { path: path.into(), kind, ..Self::default() }
    }

    /// Whether variants that differ in crash safety may be compared here. Memory keeps nothing across a
    /// restart, so that no setting is any safer than another; other doubts are warnings.
    pub fn supports_durability_comparison(&self) -> bool {
        self.kind != VolumeKind::Memory
    }

    /// The median time of a 4 KiB write and fdatasync, in nanoseconds, if it was probed.
    pub fn fsync_median_ns(&self) -> Option<u64> {
        self.fsync.as_ref().map(|probe| probe.p50_ns)
    }

    /// The mount option that turns off cache flushes, if there is one: with it an fsync does not
    /// reach the medium (ext4(5): `barrier=0`, `nobarrier`; likewise btrfs and, formerly, XFS).
    pub fn barrier_disabled(&self) -> Option<&str> {
        self.mount_options
            .iter()
            .flatten()
            .map(String::as_str)
            .find(|option| matches!(*option, "nobarrier" | "barrier=0"))
    }
}

/// What kind of storage a directory lies on.
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
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "drvfs",
    "fakeowner",
    "fuse.glusterfs",
    "fuse.grpcfuse",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "fuse.vmhgfs-fuse",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "prl_fs",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
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
}
