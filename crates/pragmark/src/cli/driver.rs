//! Options of `driver`.

use app::Result;
use clap::{Args, Subcommand};

use crate::commands::driver;
use crate::exit::Exit;

/// Options of `driver`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark driver list               which drivers are ready; what others need
  pragmark driver install go-mattn   download and build one driver
  pragmark driver install browser    install all drivers of a folder
  pragmark driver install            install all drivers
  pragmark run bindings              measure the cost of a call through each

PRAGMARK_DRIVERS names a directory of your own drivers, one folder per language, or the folder of one driver; a driver \
replaces an included one of the same name [default: pragmark/drivers in the user's data directory].")]
pub struct DriverArgs {
    /// The command.
    #[command(subcommand)]
    pub command: DriverCommand,
}

/// Commands of `driver`.
#[derive(Debug, Subcommand)]
pub enum DriverCommand {
    /// List drivers with their versions and missing parts; `pragmark doctor --json` prints the same
    /// as JSON.
    List,
    /// Install drivers into the user's cache or PRAGMARK_CACHE; may download packages.
    Install {
        /// Drivers, or folders of drivers, to install [default: all].
        names: Vec<String>,
    },
    /// Remove installed drivers.
    Remove {
        /// Drivers, or folders of drivers, to remove [default: all].
        names: Vec<String>,
    },
}

impl DriverArgs {
    /// Lists, installs or removes drivers.
    pub fn execute(self) -> Result<Exit> {
        match self.command {
            DriverCommand::List => driver::list(),
            DriverCommand::Install { names } => driver::install(&names),
            DriverCommand::Remove { names } => driver::remove(&names),
        }
    }
}
