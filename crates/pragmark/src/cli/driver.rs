//! Options of `driver`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::action::{Action, DriverAction};

/// Options of `driver`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark driver list               which drivers are ready; what others need
  pragmark driver install go-mattn   download and build one driver
  pragmark driver install            install all drivers
  pragmark run bindings              measure the cost of a call through each")]
pub struct DriverArgs {
    /// Directory of your own drivers, one folder per language; a driver replaces an included one of the
    /// same name. Use it to write or change a driver [default: PRAGMARK_DRIVERS, otherwise
    /// pragmark/drivers in the user's data directory].
    #[arg(long, value_name = "DIR", global = true)]
    pub drivers: Option<PathBuf>,
    /// The command.
    #[command(subcommand)]
    pub command: DriverCommand,
}

/// Commands of `driver`.
#[derive(Debug, Subcommand)]
pub enum DriverCommand {
    /// List drivers with their versions, and what is missing.
    List {
        /// Print JSON, including compile options and default PRAGMAs.
        #[arg(long)]
        json: bool,
    },
    /// Install drivers into the user's cache or PRAGMARK_CACHE; may download packages.
    Install {
        /// Drivers to install [default: all].
        names: Vec<String>,
    },
    /// Remove installed drivers.
    Remove {
        /// Drivers to remove [default: all].
        names: Vec<String>,
    },
}

impl DriverArgs {
    /// Resolves the options.
    pub fn resolve(self) -> Action {
        let action = match self.command {
            DriverCommand::List { json } => DriverAction::List { json },
            DriverCommand::Install { names } => DriverAction::Install { names },
            DriverCommand::Remove { names } => DriverAction::Remove { names },
        };
        Action::Driver { directory: self.drivers, action }
    }
}
