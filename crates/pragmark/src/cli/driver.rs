//! Options of `pragmark driver`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Options of `driver`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark driver list                      which drivers are ready, and what the others need
  pragmark driver install go-mattn          download and build what one driver needs
  pragmark driver install                   all of them
  pragmark run bindings                     what a call through each costs")]
pub struct DriverArgs {
    /// Directory with drivers of your own, a folder for each language; a driver there replaces one of the
    /// same name. Use it to change a driver or to write one [default: PRAGMARK_DRIVERS, or
    /// pragmark/drivers in the user's data directory].
    #[arg(long, value_name = "DIR", global = true)]
    pub drivers: Option<PathBuf>,
    /// What to do with them.
    #[command(subcommand)]
    pub command: DriverCommand,
}

/// What to do with drivers.
#[derive(Debug, Subcommand)]
pub enum DriverCommand {
    /// List the drivers, each asked to describe itself.
    List {
        /// Print JSON, with compile options and defaults.
        #[arg(long)]
        json: bool,
    },
    /// Install drivers into the user's cache (or PRAGMARK_CACHE); may download packages.
    Install {
        /// Their names; all where none is given.
        names: Vec<String>,
    },
    /// Remove what was installed.
    Remove {
        /// Their names; all where none is given.
        names: Vec<String>,
    },
}
