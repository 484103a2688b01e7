//! The command line: what each option does and when to use it.

mod anonymize;
mod compare;
mod completions;
mod crash;
mod doctor;
#[cfg(test)]
mod documents;
mod driver;
mod engine;
mod fleet;
mod guard;
mod history;
mod load;
mod measure;
mod new;
mod reading;
mod run;
mod runs;
mod traffic;
mod tune;
mod values;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use lab::experiment::nearest;

use crate::failure::EXIT_CODES;

pub use anonymize::AnonymizeArgs;
pub use compare::{CompareArgs, CompareFormat};
pub use completions::CompletionsArgs;
pub use crash::{CrashArgs, CrashFormat};
pub use doctor::DoctorArgs;
pub use driver::{DriverArgs, DriverCommand};
pub use engine::{BuildArgs, EngineCommand};
pub use fleet::{AccessArgs, AgentArgs, FleetCommand, FleetRunArgs};
pub use guard::{GuardArgs, UndecidedArg};
pub use history::HistoryArgs;
pub use load::{DatesArg, DecimalsArg, FormatArg, LoadArgs, OnErrorArg, StrategyArg};
pub use measure::{MeasureArgs, ModeArg};
pub use new::{NewCommand, NewDriverArgs};
pub use reading::{
    AcceptedLoss, ExportArgs, ExportFormat, ListArgs, ReportArgs, ReportFormat, SettingsArgs,
    ShowArgs,
};
pub use run::RunArgs;
pub use runs::{OpenArgs, PruneArgs, RunsArgs, RunsCommand};
pub use traffic::{
    CutArgs, DoorArg, ExportTraceArgs, RecordArgs, ToScriptArgs, TraceArgs, TraceCommand, TraceForm,
};
pub use tune::{GoalArg, TuneArgs};
pub use values::Names;

/// A performance laboratory for SQLite.
///
/// pragmark measures how fast SQLite is on your machine, which settings make it faster, how safe
/// they are, and whether published claims hold. To start, use `pragmark run`: it runs the most
/// informative experiments in less than five minutes and writes an HTML report.
#[derive(Debug, Parser)]
#[command(name = "pragmark", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// The command; without one, a quick start is printed.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The definition of the command line.
pub fn command() -> clap::Command {
    Cli::command()
}

/// The command line of this process; one that is wrong ends it with a message, and `--help` with a text.
pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| with_suggestion(error).exit())
}

/// The error of an unknown command with the nearest one ahead of those that clap suggests: `rnu` is a slip for `run`, which is
/// too short to be like it by clap's measure.
fn with_suggestion(mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    let given = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(given)) => given.clone(),
        _ => return error,
    };
    let cli = Cli::command();
    let commands = cli.get_subcommands().filter(|command| !command.is_hide_set());
    let Some(nearest) = nearest(&given, commands.map(clap::Command::get_name)) else {
        return error;
    };
    let mut suggested = vec![nearest.to_owned()];
    if let Some(ContextValue::Strings(others)) = error.get(ContextKind::SuggestedSubcommand) {
        suggested.extend(others.iter().filter(|it| *it != nearest).cloned());
    }
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(suggested));
    error
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run experiments, or a five-minute tour when none is named.
    Run(Box<RunArgs>),
    /// Measure your own SQL on a copy of your own database.
    Measure(Box<MeasureArgs>),
    /// Compare two runs; or two engines, databases, files of SQL or settings exactly, by what is counted.
    Compare(Box<CompareArgs>),
    /// Search for fast settings for a workload at a given safety, and measure what each brings.
    Tune(Box<TuneArgs>),
    /// Check in continuous integration that a change makes a project's database work no slower and no less safe.
    Guard(Box<GuardArgs>),
    /// Show how figures go over many runs, and where their level changed.
    History(HistoryArgs),
    /// List experiments, workloads, PRAGMAs or metrics.
    List(ListArgs),
    /// Show an experiment: its question, variants and claims, and the plan of a run.
    Show(ShowArgs),
    /// Print the report of a run, or write it to a file.
    Report(ReportArgs),
    /// Open the page of a run in the browser: of the latest one, unless another is named.
    Open(OpenArgs),
    /// List runs with question, answer, age and size, or remove old ones.
    Runs(RunsArgs),
    /// Print the settings that a run recommends, ready to paste into a program.
    Settings(SettingsArgs),
    /// Export the data of runs as CSV, JSON, SQLite or Parquet, or in the formats of services that track benchmarks.
    Export(ExportArgs),
    /// Load CSV, JSON Lines, Parquet or Arrow files into a SQLite table at disk speed.
    Load(Box<LoadArgs>),
    /// Record what a program does with SQLite, without changing the program.
    Record(RecordArgs),
    /// Show what a recorded application does, or make other traces of its trace.
    Trace(TraceArgs),
    /// Copy a database with other texts and blobs, to share it with its workload.
    Anonymize(AnonymizeArgs),
    /// Check this machine: disk, fsync latency, noise, engines and tools.
    Doctor(DoctorArgs),
    /// List, install or remove drivers for the bindings of other languages.
    Driver(DriverArgs),
    /// Write an experiment of your own, or a driver for your own code, ready to be measured and changed.
    #[command(subcommand)]
    New(NewCommand),
    /// Measure what a crash can destroy, for each choice of settings and storage model.
    Crash(Box<CrashArgs>),
    /// List, build, add, remove or show engines: the SQLite libraries to measure.
    #[command(subcommand)]
    Engine(EngineCommand),
    /// Carry out blocks of runs over a fleet on this machine, until stopped.
    Agent(Box<AgentArgs>),
    /// Show the agents and runs of a fleet, have agents end, or remove a run.
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Print or install shell completions: of commands, options, experiments, engines, bindings and runs.
    Completions(CompletionsArgs),
    /// Print the manual page in roff format.
    #[command(after_help = "Example: pragmark man | man -l -")]
    Man,
    /// Run one trial: read a specification from standard input, write messages to standard output.
    #[command(hide = true)]
    Trial,
    /// Act as one of several worker processes of a trial: read a specification and orders from
    /// standard input, write answers to standard output.
    #[command(hide = true)]
    ContentionWorker,
    /// Execute the part of a replay that is given to one process: read it and orders from standard input, write answers
    /// to standard output.
    #[command(hide = true)]
    ReplayWorker,
    /// Note the signals of a process group: for each line of standard input with the number of a signal, write whether it
    /// has arrived.
    #[command(hide = true)]
    SignalListener,
    /// Write to a database until killed; read the specification from standard input.
    #[command(hide = true)]
    WriteUntilKilled,
    /// Start a driver in another language so that it ends with its parent.
    #[command(hide = true)]
    Become(BecomeArgs),
    /// Commit with an engine after a line of standard input; print the syncs that SQLite requested.
    #[command(name = ::crash::syncs::COMMAND, hide = true)]
    MakeSyncedCommits {
        /// The engine.
        engine: String,
    },
    /// Describe an engine as JSON.
    #[command(hide = true)]
    DescribeEngine {
        /// The engine.
        engine: String,
    },
}

/// Data size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScaleArg {
    /// Less than a second per trial, for a first impression.
    Quick,
    /// A few seconds per trial, for reliable figures.
    Default,
    /// The published sizes: takes hours and much disk space.
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

/// The program that replaces this process.
#[derive(Debug, Args)]
pub struct BecomeArgs {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<std::ffi::OsString>,
}
