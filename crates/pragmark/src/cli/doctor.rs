//! Options of `doctor`.

use std::path::PathBuf;

use app::Result;
use app::doctor::DatabaseRequest;
use clap::Args;

use crate::commands::{doctor, examination};
use crate::exit::Exit;

/// Duration of the noise probe, in seconds.
const NOISE_S: f64 = 10.0;

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark doctor                   check the current directory
  pragmark doctor --dir /data       check another disk
  pragmark doctor --db app.db --quick-check --through python-sqlite3")]
pub struct DoctorArgs {
    /// Directory whose disk to check; repeat it for several disks. With --db, where to put a copy of the database
    /// [default: the current directory].
    #[arg(long = "dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Examine this database instead of the machine: version and settings that a connection gets, space,
    /// statistics, indexes, keys. A copy is examined; the file, its WAL and its journal are only read.
    #[arg(long, value_name = "FILE")]
    pub db: Option<PathBuf>,
    /// Also run quick_check and foreign_key_check; exit code 3 if the database is damaged.
    #[arg(long, requires = "db")]
    pub quick_check: bool,
    /// Driver whose binding your application uses (`pragmark driver list`); its version and defaults are
    /// reported [default: the system's SQLite].
    #[arg(long, value_name = "DRIVER", requires = "db", conflicts_with = "engine")]
    pub through: Option<String>,
    /// SQLite library that your application loads: see `pragmark engine list`.
    #[arg(long, value_name = "ENGINE", requires = "db")]
    pub engine: Option<String>,
}

impl DoctorArgs {
    /// Checks the machine, or examines the database.
    pub fn execute(self) -> Result<Exit> {
        let mut directories = self.dirs;
        if directories.is_empty() {
            directories.push(PathBuf::from("."));
        }
        let Some(database) = self.db else {
            return doctor::execute(&directories, NOISE_S, self.json);
        };
        let request = DatabaseRequest {
            database,
            directory: directories.swap_remove(0),
            quick_check: self.quick_check,
            through: self.through,
            engine: self.engine,
        };
        examination::execute(&request, self.json)
    }
}
