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
  pragmark doctor --dir /data
  sudo pragmark doctor --make-fs ext4,xfs,btrfs --in /data
  sudo pragmark doctor --make-fs ext4,btrfs,tmpfs -- pragmark run queue-tasks {dirs}")]
pub struct DoctorArgs {
    /// Directory whose disk is looked at; may be given several times [default: the current
    /// directory].
    #[arg(long = "dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Seconds for the noise probe.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = seconds)]
    pub noise_seconds: f64,
    /// Print it as JSON.
    #[arg(long)]
    pub json: bool,
    /// Instead of looking, make these file systems (ext4, xfs, btrfs, tmpfs), as root, in files that are
    /// mounted by loop devices; print their directories and remove everything at Ctrl-C, or run the
    /// command after `--` meanwhile. Use it for claims about file systems that this machine has not.
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', conflicts_with_all = ["dirs", "json"])]
    pub make_fs: Vec<FileSystemKind>,
    /// Size of each of them, such as 512M or 2G.
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = bytes, requires = "make_fs")]
    pub size: u64,
    /// Directory on whose disk they are made [default: the current directory].
    #[arg(long = "in", value_name = "DIR", requires = "make_fs")]
    pub parent: Option<PathBuf>,
    /// What to run while they are there; `{dirs}` stands for `--dir` and each directory.
    #[arg(last = true, value_name = "COMMAND", requires = "make_fs")]
    pub command: Vec<OsString>,
}
