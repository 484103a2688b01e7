//! The command line: every option with what it does and when it is worth using.

mod crash;
mod doctor;
mod driver;
mod engine;
mod load;
mod reading;
mod run;
mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::failure::EXIT_CODES;

pub use crash::{CrashArgs, CrashFormat};
pub use doctor::DoctorArgs;
pub use driver::{DriverArgs, DriverCommand};
pub use engine::{BuildArgs, EngineCommand};
pub use load::{FormatArg, LoadArgs, OnErrorArg, StrategyArg};
pub use reading::{
    ExportArgs, ExportFormat, ListArgs, ReportArgs, ReportFormat, SettingsArgs, ShowArgs,
};
pub use run::RunArgs;

/// A performance laboratory for SQLite.
///
/// pragmark measures on your machine how fast SQLite is, which settings make it faster, and
/// whether published claims hold here. Without arguments, `pragmark run` takes a tour of the most
/// telling experiments in less than five minutes and ends in a page to read.
#[derive(Debug, Parser)]
#[command(name = "pragmark", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run experiments; without names, a tour of the most telling ones.
    Run(Box<RunArgs>),
    /// List the experiments, or what experiment files may name.
    List(ListArgs),
    /// Show an experiment: its question, variants and claims, and what a run of it would do.
    Show(ShowArgs),
    /// Write or print the report of a run again.
    Report(ReportArgs),
    /// Print the settings that a run recommends, ready to paste into a program.
    Settings(SettingsArgs),
    /// Write the data of a run as CSV or JSON for other tools.
    Export(ExportArgs),
    /// Load CSV, Parquet or Arrow files into a table of a SQLite database, as fast as the disk allows.
    Load(Box<LoadArgs>),
    /// Look at this machine: disk, fsync, noise, engines, services found.
    Doctor(DoctorArgs),
    /// List, install or remove drivers: the programs that do the work through bindings of other
    /// languages.
    Driver(DriverArgs),
    /// Measure what crashes do to databases, by settings and by what storage may lose.
    Crash(Box<CrashArgs>),
    /// List, build, add, remove or show the SQLite libraries that can be put under test.
    #[command(subcommand)]
    Engine(EngineCommand),
    /// Print completions for a shell.
    #[command(
        after_help = "Example: pragmark completions bash > ~/.local/share/bash-completion/completions/pragmark"
    )]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page, in roff.
    #[command(after_help = "Example: pragmark man | man -l -")]
    Man,
    /// Run one trial: a specification on standard input, messages on standard output.
    #[command(hide = true)]
    Trial,
    /// Do the part of one process in a trial whose work several share: a specification and orders on
    /// standard input, answers on standard output.
    #[command(hide = true)]
    ContentionWorker,
    /// Write to a database until killed, as a specification on standard input says.
    #[command(hide = true)]
    WriteUntilKilled,
    /// Start a driver in another language, which then ends with its parent.
    #[command(hide = true)]
    Become(BecomeArgs),
    /// Describe an engine as JSON.
    #[command(hide = true)]
    DescribeEngine {
        /// The engine.
        engine: String,
    },
}

/// How large the data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScaleArg {
    /// A fraction of a second a trial: for a first look.
    Quick,
    /// Some seconds a trial: figures to rely on.
    Default,
    /// The published sizes: hours, and much disk space.
    Paper,
}

impl From<ScaleArg> for lab::experiment::Scale {
    fn from(scale: ScaleArg) -> Self {
        match scale {
            ScaleArg::Quick => lab::experiment::Scale::Quick,
            ScaleArg::Default => lab::experiment::Scale::Default,
            ScaleArg::Paper => lab::experiment::Scale::Paper,
        }
    }
}

/// The program that pragmark is to become.
#[derive(Debug, Args)]
pub struct BecomeArgs {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<std::ffi::OsString>,
}
