//! Describes what lies under one directory, without touching it.

use std::fs;
use std::path::{Path, PathBuf};

use lab::environment::{Volume, VolumeKind};

use super::block_device::BlockDevice;
use super::error::MachineError;
use super::host::read_text;
use super::mountinfo::{Mount, mount_of, parse_mountinfo};

/// Describes the storage under a directory; the fsync probe is left out.
///
/// # Errors
/// When the directory is missing, is none, or cannot be looked at.
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

/// The directory as the mount table knows it: absolute, without symbolic links.
fn real_directory(dir: &Path) -> Result<PathBuf, MachineError> {
    let look = |source| MachineError::in_directory(dir, "look around", source);
    let real = fs::canonicalize(dir).map_err(look)?;
    if fs::metadata(&real).map_err(look)?.is_dir() {
        Ok(real)
    } else {
        Err(MachineError::NotADirectory { directory: dir.to_owned() })
    }
}

/// Describes the volume by its mount and device, in the file tree at `root`.
fn on_mount(root: &Path, mount: Option<&Mount>) -> Volume {
    let Some(mount) = mount else {
        return Volume::new("", VolumeKind::Unknown);
    };
    let device = BlockDevice::of_mount(root, mount);
    let name = device.as_ref().map(|device| device.name.as_str());
    let volume = Volume {
        file_system: Some(mount.file_system.clone()),
        mount_point: Some(mount.mount_point.clone()),
        mount_options: Some(mount.public_options()),
        ..Volume::new("", VolumeKind::classify(&mount.file_system, name))
    };
    match device {
        Some(device) => Volume {
            device: Some(device.name),
            model: device.model,
            rotational: device.rotational,
            write_cache: device.write_cache,
            fua: device.fua,
            ..volume
        },
        None => volume,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_not_a_directory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = describe_volume(file.path()).unwrap_err();
        assert!(
            matches!(&error, MachineError::NotADirectory { directory } if directory == file.path()),
            "{error:?}"
        );
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
}
