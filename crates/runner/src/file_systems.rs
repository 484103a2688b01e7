//! File systems made for a run: in files of a given size, mounted by loop devices, and removed.
//!
//! Claims are about file systems that a machine may not have. Those created here are on the disk of a
//! given directory and share its speed: they show how file systems differ, not how a disk of their own
//! would perform. The system's own tools create and mount them, which requires root.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use process::{Group, Limits, Process, ProcessError};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::process::geteuid;

use crate::error::{Context, RunError};
use crate::machine::{Mount, parse_mountinfo};
use crate::workdir::{self, WorkDir};

/// The beginning of the name of a directory of file systems, unlike those of runs.
const MARK: &str = "file-systems-";

/// How often unmounting a file system that is still in use is tried, and the pause between.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// A kind of file system that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystemKind {
    /// ext4, as `mkfs.ext4` makes it by default.
    Ext4,
    /// XFS, as `mkfs.xfs` makes it by default.
    Xfs,
    /// btrfs, as `mkfs.btrfs` makes it by default.
    Btrfs,
    /// Memory; no loop device.
    Tmpfs,
}

impl FileSystemKind {
    /// All of them.
    pub const ALL: [FileSystemKind; 4] =
        [FileSystemKind::Ext4, FileSystemKind::Xfs, FileSystemKind::Btrfs, FileSystemKind::Tmpfs];

    /// The name that the kernel gives it.
    pub fn name(self) -> &'static str {
        match self {
            FileSystemKind::Ext4 => "ext4",
            FileSystemKind::Xfs => "xfs",
            FileSystemKind::Btrfs => "btrfs",
            FileSystemKind::Tmpfs => "tmpfs",
        }
    }

    /// The smallest size that its tool accepts, in bytes, with some room.
    pub fn smallest(self) -> u64 {
        match self {
            FileSystemKind::Ext4 | FileSystemKind::Tmpfs => 16 << 20,
            FileSystemKind::Xfs => 320 << 20,
            FileSystemKind::Btrfs => 128 << 20,
        }
    }

    /// The tool with its arguments ahead of the file, and the package that has it; none where nothing
    /// has to be made.
    fn tool(self) -> Option<(&'static str, &'static [&'static str], &'static str)> {
        match self {
            FileSystemKind::Ext4 => Some(("mkfs.ext4", &["-q", "-F"], "e2fsprogs")),
            FileSystemKind::Xfs => Some(("mkfs.xfs", &["-q", "-f"], "xfsprogs")),
            FileSystemKind::Btrfs => Some(("mkfs.btrfs", &["-q", "-f"], "btrfs-progs")),
            FileSystemKind::Tmpfs => None,
        }
    }
}

impl FromStr for FileSystemKind {
    type Err = String;

    fn from_str(name: &str) -> Result<FileSystemKind, String> {
        let known = FileSystemKind::ALL;
        known.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names = known.map(FileSystemKind::name).join(", ");
            format!("must be one of {names}")
        })
    }
}

/// Why file systems cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FileSystemError {
    /// This process may not mount.
    #[error("only root can create and mount file systems")]
    NotRoot,
    /// The size is below what the tool accepts.
    #[error("{} needs at least {} MiB", kind.name(), kind.smallest() >> 20)]
    TooSmall {
        /// The kind.
        kind: FileSystemKind,
    },
    /// A tool is not installed.
    #[error(
        "{tool} is not installed; install it with `apt install {package}` or `dnf install {package}`"
    )]
    NoTool {
        /// The tool.
        tool: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// A tool failed.
    #[error("{tool} failed for {}: {said}", path.display())]
    Tool {
        /// The tool.
        tool: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What it said.
        said: String,
    },
    /// A tool could not be run.
    #[error(transparent)]
    Process(ProcessError),
    /// A file or directory could not be used.
    #[error(transparent)]
    Directory(#[from] RunError),
}

/// File systems that are mounted as long as this value lives.
#[derive(Debug)]
pub struct FileSystems {
    mounted: Vec<PathBuf>,
    work: WorkDir,
}

impl FileSystems {
    /// Makes and mounts one of each kind, of `size` bytes each, below `parent`, after unmounting what
    /// a killed process has left there.
    ///
    /// # Errors
    /// When this process may not, a tool is missing or fails, or the disk is full; whatever was made
    /// until then is removed.
    pub fn make(
        kinds: &[FileSystemKind],
        size: u64,
        parent: &Path,
    ) -> Result<FileSystems, FileSystemError> {
        if !geteuid().is_root() {
            return Err(FileSystemError::NotRoot);
        }
        if let Some(kind) = kinds.iter().find(|kind| size < kind.smallest()) {
            return Err(FileSystemError::TooSmall { kind: *kind });
        }
        unmount_forgotten(parent);
        let work = WorkDir::create(parent, &format!("{MARK}{}", std::process::id()))?;
        // A server on one of them runs as another user.
        work.let_others_pass()?;
        let mut made = FileSystems { mounted: Vec::new(), work };
        for kind in kinds {
            made.add(*kind, size)?;
        }
        Ok(made)
    }

    /// The directories on which they are mounted, in the order given.
    pub fn directories(&self) -> &[PathBuf] {
        &self.mounted
    }

    /// Runs a command to its end while they are mounted. When `stop` is set, the command is asked to end:
    /// by itself only Ctrl-C on a terminal reaches it.
    ///
    /// # Errors
    /// When it cannot be started or waited for.
    pub fn attend(
        &self,
        command: &mut Command,
        stop: &AtomicBool,
    ) -> Result<ExitStatus, ProcessError> {
        attend(command, stop)
    }

    fn add(&mut self, kind: FileSystemKind, size: u64) -> Result<(), FileSystemError> {
        let directory = self.work.path().join(kind.name());
        std::fs::create_dir(&directory).context("create", &directory)?;
        let mut mount = Command::new("mount");
        match kind.tool() {
            Some((tool, arguments, package)) => {
                let image = directory.with_extension("img");
                allocate(&image, size)?;
                let mut make = Command::new(tool);
                make.args(arguments).arg(&image);
                run(make, tool, package, &image)?;
                mount.args(["-t", kind.name(), "-o", "loop"]).arg(&image);
            }
            None => {
                let size = format!("size={size}");
                mount.args(["-t", kind.name(), "-o", &size, kind.name()]);
            }
        }
        mount.arg(&directory);
        self.mounted.push(directory.clone());
        run(mount, "mount", "mount", &directory).inspect_err(|_| {
            // A tool that was killed may have done its work before.
            if !is_mounted(&directory) {
                self.mounted.pop();
            }
        })
    }

    /// Unmounts and removes them.
    ///
    /// # Errors
    /// The first that could not be unmounted; it was then detached, and disappears with its last user.
    pub fn remove(mut self) -> Result<(), FileSystemError> {
        self.unmount()
    }

    fn unmount(&mut self) -> Result<(), FileSystemError> {
        let mut result = Ok(());
        while let Some(directory) = self.mounted.pop() {
            let unmounted = unmount(&directory);
            if result.is_ok() {
                result = unmounted;
            }
        }
        result
    }
}

impl Drop for FileSystems {
    fn drop(&mut self) {
        // No one is left to handle the error; the next `make` tries again.
        let _ = self.unmount();
    }
}

/// Runs a command to its end, and asks it once to end when `stop` is set.
fn attend(command: &mut Command, stop: &AtomicBool) -> Result<ExitStatus, ProcessError> {
    let mut process = Process::start(command, Group::Shared)?;
    if let Some(status) = process.wait_within(&Limits::cancelled(stop))? {
        return Ok(status);
    }
    process.terminate();
    process.wait()
}

/// A file of this size whose blocks are all there, so that the disk below cannot run full later.
fn allocate(image: &Path, size: u64) -> Result<(), FileSystemError> {
    let file = File::create_new(image).context("create", image)?;
    fallocate(&file, FallocateFlags::empty(), 0, size).context("allocate", image)?;
    Ok(())
}

/// Unmounts, and detaches what does not go.
fn unmount(directory: &Path) -> Result<(), FileSystemError> {
    let with = |options: &[&str]| {
        let mut command = Command::new("umount");
        command.args(options).arg(directory);
        run(command, "umount", "mount", directory)
    };
    for _ in 1..TRIES {
        if with(&[]).is_ok() {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    with(&[]).inspect_err(|_| {
        // The error reported is why it could not be unmounted; all that is left is to detach it.
        let _ = with(&["--lazy"]);
    })
}

/// Unmounts what processes that were killed have left mounted in `parent`.
fn unmount_forgotten(parent: &Path) {
    let Ok(parent) = parent.canonicalize() else {
        return;
    };
    for mount in mounts() {
        let Some(owner) = mount.mount_point.parent() else {
            continue;
        };
        let is_ours = owner.parent() == Some(&parent) && workdir::is_named(owner, MARK);
        if is_ours && workdir::owner_is_gone(owner) {
            // One that cannot be unmounted now stays mounted.
            let _ = unmount(&mount.mount_point);
        }
    }
}

/// Whether something is mounted on the directory, which mounts name by its true path.
fn is_mounted(directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else {
        return false;
    };
    mounts().iter().any(|mount| mount.mount_point == directory)
}

/// What is mounted; nothing where the system does not report it.
fn mounts() -> Vec<Mount> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    parse_mountinfo(&table)
}

/// Runs a tool to its end. Ctrl-C on a terminal does not reach it: it could be killed after its work and
/// before it reports success.
fn run(
    mut command: Command,
    tool: &'static str,
    package: &'static str,
    path: &Path,
) -> Result<(), FileSystemError> {
    let finished = process::run(&mut command, Group::Own, &Limits::default());
    let finished = finished.map_err(|error| match error.is_missing_program() {
        true => FileSystemError::NoTool { tool, package },
        false => FileSystemError::Process(error),
    })?;
    if finished.end.is_success() {
        return Ok(());
    }
    Err(FileSystemError::Tool { tool, path: path.to_owned(), said: finished.errors })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::mount_of;

    /// The file systems, or nothing where this machine does not allow them.
    fn made(kinds: &[FileSystemKind], parent: &Path) -> Option<FileSystems> {
        match FileSystems::make(kinds, 384 << 20, parent) {
            Ok(made) => Some(made),
            Err(
                error @ (FileSystemError::NotRoot
                | FileSystemError::NoTool { .. }
                | FileSystemError::Tool { tool: "mount", .. }),
            ) => {
                eprintln!("not tested: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn each_kind_is_mounted_on_a_directory_of_its_own_and_nothing_is_left() {
        let parent = tempfile::tempdir().unwrap();
        for kind in FileSystemKind::ALL {
            let Some(made) = made(&[kind], parent.path()) else {
                continue;
            };
            let directory = made.directories()[0].clone();
            std::fs::write(directory.join("file"), "text").unwrap();
            let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
            let mounts = parse_mountinfo(&mounts);
            let mount = mount_of(&mounts, &directory).unwrap();
            assert_eq!(mount.file_system, kind.name());
            made.remove().unwrap();
            assert!(!directory.exists());
            assert_eq!(parent.path().read_dir().unwrap().count(), 0);
        }
    }

    #[test]
    fn one_that_is_in_use_is_reported_and_does_not_stay() {
        let parent = tempfile::tempdir().unwrap();
        let Some(made) = made(&[FileSystemKind::Tmpfs], parent.path()) else {
            return;
        };
        let held = File::create(made.directories()[0].join("held")).unwrap();
        let error = made.remove().unwrap_err().to_string();
        assert!(error.contains("umount failed"), "{error}");
        drop(held);
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn the_kernel_says_what_is_mounted() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(is_mounted(Path::new("/proc")), cfg!(target_os = "linux"));
        assert!(!is_mounted(directory.path()));
        assert!(!is_mounted(&directory.path().join("missing")));
    }

    #[test]
    fn a_command_is_asked_to_end_when_this_process_is() {
        let mut sleep = Command::new("sleep");
        let ended = attend(sleep.arg("600"), &AtomicBool::new(true)).unwrap();
        assert_eq!(process::described(ended), "signal 15");
        let by_itself = attend(&mut Command::new("true"), &AtomicBool::new(false));
        assert!(by_itself.unwrap().success());
    }

    #[test]
    fn too_small_a_size_and_an_unknown_kind_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let small = FileSystems::make(&[FileSystemKind::Xfs], 1 << 20, parent.path());
        match small.unwrap_err() {
            FileSystemError::NotRoot => {}
            error => assert_eq!(error.to_string(), "xfs needs at least 320 MiB"),
        }
        assert!("ext5".parse::<FileSystemKind>().unwrap_err().contains("ext4, xfs"));
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
    }
}
