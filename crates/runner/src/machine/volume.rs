//! Describes what lies under one directory, without touching it.

use std::fs;
use std::path::{Path, PathBuf};

use lab::environment::{Volume, VolumeKind, WriteCache};

use crate::machine::error::MachineError;
use crate::machine::host::{read_text, read_trimmed};
use crate::machine::mountinfo::{Mount, mount_of, parse_mountinfo};

/// Describes the storage under a directory; the fsync probe is left out.
///
/// # Errors
/// When the directory is missing, is not a directory, or cannot be examined.
pub fn describe_volume(dir: &Path) -> Result<Volume, MachineError> {
    let real = real_directory(dir)?;
    let root = Path::new("/");
    let table = read_text(&root.join("proc/self/mountinfo")).unwrap_or_default();
    let mut volume = on_mount(root, mount_of(&parse_mountinfo(&table), &real));
    volume.path = PathBuf::from(dir.to_string_lossy().into_owned());

    let space = rustix::fs::statvfs(&real)
        .map_err(|errno| MachineError::in_directory(dir, "measure the free space", errno.into()))?;
    volume.free_bytes = space.f_bavail.checked_mul(space.f_frsize);
    volume.total_bytes = space.f_blocks.checked_mul(space.f_frsize);
    Ok(volume)
}

/// Returns the directory as the mount table knows it: absolute, without symbolic links.
fn real_directory(dir: &Path) -> Result<PathBuf, MachineError> {
    let look = |source| MachineError::in_directory(dir, "look around", source);
    let real = fs::canonicalize(dir).map_err(look)?;
    if fs::metadata(&real).map_err(look)?.is_dir() {
        Ok(real)
    } else {
        Err(look(std::io::ErrorKind::NotADirectory.into()))
    }
}

/// Describes the volume by its mount and device, in the file tree at `root`.
fn on_mount(root: &Path, mount: Option<&Mount>) -> Volume {
    let Some(mount) = mount else { return Volume::new("", VolumeKind::Unknown) };
    let device = block_device(root, mount).unwrap_or_default();
    Volume {
        kind: VolumeKind::classify(&mount.file_system, device.device.as_deref()),
        file_system: Some(mount.file_system.clone()),
        mount_point: Some(mount.mount_point.clone()),
        mount_options: Some(mount.public_options()),
        ..device
    }
}

/// Returns what sysfs says of the block device under a mount, if it has one, in the file tree at `root`. A partition
/// has the figures of its disk.
fn block_device(root: &Path, mount: &Mount) -> Option<Volume> {
    let directory = directory_by_number(root, mount.device)
        .or_else(|| directory_by_source(root, &mount.source))?;
    let disk = if directory.join("partition").exists() { directory.parent()? } else { &directory };
    let model = read_trimmed(&disk.join("device/model"));
    Some(Volume {
        device: Some(directory.file_name()?.to_string_lossy().into_owned()),
        rotational: read_flag(&disk.join("queue/rotational")),
        is_virtual: is_virtual(disk, model.as_deref()),
        model,
        write_cache: read_write_cache(&disk.join("queue/write_cache")),
        fua: read_flag(&disk.join("queue/fua")),
        ..Volume::default()
    })
}

/// Returns whether a disk is one of a virtual machine, by its driver or its model.
fn is_virtual(disk: &Path, model: Option<&str>) -> bool {
    const DRIVERS: [&str; 3] = ["virtio", "vbd-", "xvd"];
    const MODELS: [&str; 4] = ["QEMU", "VBOX", "VMware", "Virtual"];
    let begins = |part: std::path::Component<'_>| {
        let part = part.as_os_str().to_string_lossy();
        DRIVERS.iter().any(|driver| part.starts_with(driver))
    };
    disk.components().any(begins)
        || model.is_some_and(|model| MODELS.iter().any(|of| model.contains(of)))
}

fn directory_by_number(root: &Path, (major, minor): (u32, u32)) -> Option<PathBuf> {
    fs::canonicalize(root.join(format!("sys/dev/block/{major}:{minor}"))).ok()
}

/// File systems that span devices (btrfs) have a made-up number, but name their first device as the
/// source of the mount. In a container the name may be all that there is.
fn directory_by_source(root: &Path, source: &str) -> Option<PathBuf> {
    let device = source.strip_prefix("/dev/")?;
    let node = root.join("dev").join(device);
    let node = fs::canonicalize(&node).unwrap_or(node);
    fs::canonicalize(root.join("sys/class/block").join(node.file_name()?)).ok()
}

fn read_flag(path: &Path) -> Option<bool> {
    match read_trimmed(path)?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn read_write_cache(path: &Path) -> Option<WriteCache> {
    match read_trimmed(path)?.as_str() {
        "write back" => Some(WriteCache::WriteBack),
        "write through" => Some(WriteCache::WriteThrough),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::mountinfo::parse_mountinfo;
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_not_a_directory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = describe_volume(file.path()).unwrap_err();
        assert_eq!(error.to_string(), format!("{} is not a directory", file.path().display()));
    }

    #[test]
    fn without_a_mount_table_the_kind_is_unknown() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(on_mount(root.path(), None).kind, VolumeKind::Unknown);
    }

    #[test]
    fn a_mount_without_device_keeps_what_the_table_says() {
        let root = tempfile::tempdir().unwrap();
        let mounts = parse_mountinfo("1 1 0:50 / /mnt rw - nfs4 server:/x rw,hard,addr=10.0.0.9");
        let volume = on_mount(root.path(), mounts.first());
        assert_eq!(volume.kind, VolumeKind::Network);
        assert_eq!(volume.file_system.as_deref(), Some("nfs4"));
        assert_eq!(volume.mount_point.as_deref(), Some(Path::new("/mnt")));
        assert_eq!(volume.mount_options.unwrap(), ["rw", "hard"]);
        assert_eq!((volume.device, volume.rotational), (None, None));
    }

    #[test]
    fn a_directory_behind_a_symbolic_link_keeps_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        let (direct, linked) =
            (describe_volume(dir.path()).unwrap(), describe_volume(&link).unwrap());
        assert_eq!(linked.path, link);
        assert_eq!(linked.mount_point, direct.mount_point);
    }

    /// Returns a file tree with a disk `nvme0n1`, its partition `nvme0n1p2` and a mapped device `dm-0`.
    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let disk = "sys/devices/pci0/block/nvme0n1";
        write(&format!("{disk}/queue/rotational"), "0\n");
        write(&format!("{disk}/queue/write_cache"), "write through\n");
        write(&format!("{disk}/queue/fua"), "1\n");
        write(&format!("{disk}/device/model"), "FAST 9000   \n");
        write(&format!("{disk}/nvme0n1p2/partition"), "2\n");
        write("sys/devices/virtual/block/dm-0/queue/rotational", "1\n");
        write("sys/devices/virtual/block/dm-0/queue/write_cache", "write back\n");
        write("sys/devices/virtual/block/dm-0/queue/fua", "odd\n");
        for directory in ["sys/dev/block", "sys/class/block", "dev/mapper"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let link = |target: &str, at: &str| symlink(target, root.path().join(at)).unwrap();
        let partition = "../../devices/pci0/block/nvme0n1/nvme0n1p2";
        link(partition, "sys/dev/block/259:2");
        link(partition, "sys/class/block/nvme0n1p2");
        link("../../devices/virtual/block/dm-0", "sys/class/block/dm-0");
        write("dev/dm-0", "");
        link("../dm-0", "dev/mapper/vg-data");
        root
    }

    fn device(mount: &str) -> Option<Volume> {
        let root = tree();
        block_device(root.path(), &parse_mountinfo(mount)[0])
    }

    #[test]
    fn a_partition_has_the_figures_of_its_disk() {
        assert_eq!(
            device("1 1 259:2 / / rw - ext4 /dev/root rw"),
            Some(Volume {
                device: Some("nvme0n1p2".into()),
                model: Some("FAST 9000".into()),
                rotational: Some(false),
                is_virtual: false,
                write_cache: Some(WriteCache::WriteThrough),
                fua: Some(true),
                ..Volume::default()
            })
        );
    }

    #[test]
    fn a_virtual_disk_is_known_by_its_driver_or_its_model() {
        let physical = Path::new("/sys/devices/pci0000:00/ata1/host0/block/sda");
        assert!(is_virtual(Path::new("/sys/devices/pci0000:00/virtio2/block/vda"), None));
        assert!(is_virtual(Path::new("/sys/devices/vbd-51712/block/xvda"), None));
        assert!(is_virtual(physical, Some("QEMU HARDDISK")));
        assert!(!is_virtual(physical, Some("WDC WD40EFRX")) && !is_virtual(physical, None));
    }

    #[test]
    fn a_made_up_number_is_resolved_through_the_source() {
        let found = device("1 1 0:45 /@ / rw - btrfs /dev/nvme0n1p2 rw").unwrap();
        assert_eq!(found.device.as_deref(), Some("nvme0n1p2"));
        assert_eq!(found.rotational, Some(false));
    }

    #[test]
    fn a_mapped_device_is_found_through_its_link_and_odd_figures_are_unknown() {
        let found = device("1 1 0:46 / / rw - btrfs /dev/mapper/vg-data rw").unwrap();
        assert_eq!(found.device.as_deref(), Some("dm-0"));
        assert_eq!(found.rotational, Some(true));
        assert_eq!(found.write_cache, Some(WriteCache::WriteBack));
        assert_eq!((found.fua, found.model), (None, None));
    }

    #[test]
    fn without_a_block_device_there_is_none() {
        assert_eq!(device("1 1 0:50 / / rw - nfs4 server:/export rw"), None);
        assert_eq!(device("1 1 0:51 / / rw - tmpfs tmpfs rw"), None);
        assert_eq!(device("1 1 0:52 / / rw - fuse /dev/fuse rw"), None);
    }
}
