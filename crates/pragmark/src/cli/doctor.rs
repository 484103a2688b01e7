//! Options of `doctor`.

use std::path::PathBuf;

use app::Result;
use clap::Args;

use crate::commands::doctor;
use crate::exit::Exit;

/// Duration of the noise probe, in seconds.
const NOISE_S: f64 = 10.0;

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark doctor                   check the current directory
  pragmark doctor --dir /data       check another disk
  pragmark inspect app.db           examine a database")]
pub struct DoctorArgs {
    /// Directory whose disk to check; repeat it for several disks [default: the current directory].
    #[arg(long = "dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

impl DoctorArgs {
    /// Checks the machine.
    pub fn execute(self) -> Result<Exit> {
        let mut directories = self.dirs;
        if directories.is_empty() {
            directories.push(PathBuf::from("."));
        }
        doctor::execute(&directories, NOISE_S, self.json)
    }
}
