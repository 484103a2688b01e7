//! Options of `doctor`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use runner::FileSystemKind;

use super::values::{bytes, seconds};

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark doctor                   check the current directory
  pragmark doctor --dir /data       check another disk
  sudo pragmark doctor --make-fs ext4,xfs,btrfs --in /data
  sudo pragmark doctor --make-fs ext4,tmpfs -- pragmark run queue-tasks {dirs}")]
pub struct DoctorArgs {
    /// Directory whose disk to check; repeat it for several disks [default: the current directory].
    #[arg(long = "dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Duration of the noise probe.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = seconds)]
    pub noise_seconds: f64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Create temporary file systems (ext4, xfs, btrfs, tmpfs) on loop devices instead of checking
    /// the machine; requires root. Prints their directories and removes them at Ctrl-C, or after
    /// the command that follows `--`. Use it to measure file systems that this machine does not have.
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', conflicts_with_all = ["dirs", "json"])]
    pub make_fs: Vec<FileSystemKind>,
    /// Size of each file system, such as 512M or 2G.
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = bytes, requires = "make_fs")]
    pub size: u64,
    /// Directory in which to create the file systems [default: the current directory].
    #[arg(long = "in", value_name = "DIR", requires = "make_fs")]
    pub parent: Option<PathBuf>,
    /// Command to run on the file systems; `{dirs}` is replaced by `--dir` and each directory.
    #[arg(last = true, value_name = "COMMAND", requires = "make_fs")]
    pub command: Vec<OsString>,
}
