//! File systems of the kernel, made and mounted by the programs of the system.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system, and how it is made.
#[derive(Debug)]
pub struct FileSystem {
    /// Its name, as `mount -t` takes it.
    pub name: &'static str,
    /// The size of its disk: little more than the least that it takes.
    pub size: u64,
    /// The program that makes it, and its options.
    make: &'static [&'static str],
    /// Options of a mount of a copy.
    again: &'static str,
}

/// Those that are compared.
pub const FILE_SYSTEMS: [FileSystem; 3] = [
    FileSystem {
        name: "ext4",
        size: 48 << 20,
        make: &["mke2fs", "-q", "-F", "-t", "ext4"],
        again: "loop,noatime",
    },
    FileSystem {
        name: "xfs",
        size: 320 << 20,
        make: &["mkfs.xfs", "-q", "-f"],
        again: "loop,noatime,nouuid",
    },
    FileSystem {
        name: "btrfs",
        size: 160 << 20,
        make: &["mkfs.btrfs", "-q", "-f"],
        again: "loop,noatime",
    },
];

impl FileSystem {
    /// Makes it on a disk.
    ///
    /// # Errors
    /// Its program is not there, or fails.
    pub(super) fn make(&self, disk: &Path) -> Result<(), Box<dyn Error>> {
        let mut command = Command::new(self.make[0]);
        command.args(&self.make[1..]).arg(disk);
        run(&mut command)
    }
}

/// A mounted file system; unmounted when it is dropped.
#[derive(Debug)]
pub(super) struct Mounted {
    at: Option<PathBuf>,
}

impl Mounted {
    /// Mounts a disk for the first time.
    pub(super) fn first(
        system: &FileSystem,
        disk: &Path,
        at: &Path,
    ) -> Result<Mounted, Box<dyn Error>> {
        Mounted::with(system.name, "loop,noatime", disk, at)
    }

    /// Mounts what a power cut left of a disk; the file system recovers itself.
    pub(super) fn again(
        system: &FileSystem,
        disk: &Path,
        at: &Path,
    ) -> Result<Mounted, Box<dyn Error>> {
        Mounted::with(system.name, system.again, disk, at)
    }

    fn with(name: &str, options: &str, disk: &Path, at: &Path) -> Result<Mounted, Box<dyn Error>> {
        let mut command = Command::new("mount");
        command.args(["-t", name, "-o", options]).arg(disk).arg(at);
        run(&mut command)?;
        let at = Some(at.to_owned());
        Ok(Mounted { at })
    }

    /// Unmounts it, which writes back everything.
    pub(super) fn end(mut self) -> Result<(), Box<dyn Error>> {
        match self.at.take() {
            Some(at) => run(Command::new("umount").arg(at)),
            None => Ok(()),
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(at) = self.at.take() {
            // An error is on the way already.
            let _ = run(Command::new("umount").arg(at));
        }
    }
}

/// Writes back what is not on the disk, as the system does from time to time.
pub(super) fn sync(mount: &Path) -> Result<(), Box<dyn Error>> {
    run(Command::new("sync").arg("-f").arg(mount))
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot start {program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{program} failed ({}): {}", output.status, said.trim()).into())
        }
    }
}
